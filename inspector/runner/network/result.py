"""What a run of a network came to."""

from typing import Any

import msgspec

from inspector.dataflow.codec import Unreadable, Values
from inspector.dataflow.machine import NetworkRun
from inspector.errors import UnreadableError
from inspector.model.run import RunError, RunStatus
from inspector.model.values import Value
from inspector.runner.errors import RunFailed
from inspector.runner.network import agents
from inspector.runner.network.bodies import repeatable
from inspector.runner.network.effects import Failure
from inspector.runner.network.report import Leftover
from inspector.runner.network.restore import SavedNetwork
from inspector.runner.network.values import LargeValues
from inspector.runner.network.watch import Watch

CHANGED = "parameter_changed"
"""The reason of a failure that was found when nothing fired any more: all firings are committed."""


class NetworkResult(msgspec.Struct, kw_only=True):
    """What a run of a network came to. `outputs` are the tokens at each output port, and
    `saved_outputs` their saved forms; `failures` every firing that
    failed; `leftovers` what stayed in queues and why; `steps` how many steps this process ran; `open` the firings
    that may have happened and wait for a decision, `pending` the calls of agents that wait for somebody."""

    status: RunStatus
    reason: str | None
    outputs: dict[str, list[Any]]
    saved_outputs: dict[str, list[Value]]
    run_id: str
    failures: list[Failure] = msgspec.field(default_factory=list)
    leftovers: list[Leftover] = msgspec.field(default_factory=list)
    stuck: RunError | None = None
    """Why nothing can go on, though it is not through: it has failed with that, and goes on where queues hold more."""
    open: list[str] = msgspec.field(default_factory=list)
    pending: list[dict[str, Value]] = msgspec.field(default_factory=list)
    trace: str | None = None
    steps: int = 0
    replayed: int = 0
    resumed_from: str | None = None

    @property
    def error(self) -> RunError | None:
        """The first failure, or why nothing can go on."""
        return self.failures[0].error if self.failures else self.stuck

    def raise_for_status(self) -> "NetworkResult":
        """This result; raises RunFailed when a firing failed."""
        if self.error is not None:
            raise RunFailed("/".join(self.error.where or ()), self.status, self.error.message or "")
        return self


def replayed(values: Values, saved: SavedNetwork, large: LargeValues, trace: str) -> NetworkResult:
    """What a run that is over came to, from its journal. Raises UnreadableError where a value of it is gone."""
    kept = saved.output if isinstance(saved.output, dict) else {}
    whole = values.beside(large)
    try:
        saved_outputs = {port: [whole.whole(token) for token in tokens] for port, tokens in kept.items()}
        outputs = {port: [whole.decode(token) for token in tokens] for port, tokens in kept.items()}
    except Unreadable as error:
        raise UnreadableError(saved.path, str(error)) from error
    return NetworkResult(
        status=saved.status or "unknown",
        reason=saved.reason,
        saved_outputs=saved_outputs,
        outputs=outputs,
        run_id=saved.header.id,
        trace=trace,
        replayed=saved.step,
    )


def only_waits(run: NetworkRun, saved: SavedNetwork, watch: Watch, trace: str) -> NetworkResult | None:
    """What a saved run comes to of which nothing can go on before somebody decides; None where something can."""
    open_ids = {happened.id for happened in saved.open}
    ready = run.ready()
    if any(f.id not in open_ids or repeatable(f) or watch.consulted(f.node.name) for f in ready):
        return None
    pending = list(agents.calls(run))
    if not (ready or pending):
        return None
    outputs = run.queues.outputs()
    return NetworkResult(
        status="suspended",
        reason="reconciliation" if ready else str(pending[0]["note"]),
        saved_outputs={port: [run.values.whole(token) for token in tokens] for port, tokens in outputs.items()},
        outputs={port: [run.values.decode(token) for token in tokens] for port, tokens in outputs.items()},
        run_id=saved.header.id,
        open=[firing.id for firing in ready],
        pending=pending,
        trace=trace,
        replayed=saved.step,
    )
