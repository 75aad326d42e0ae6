"""What a run of a network came to."""

from typing import Any

import msgspec

from inspector.model.run import RunError, RunStatus
from inspector.model.values import Value
from inspector.runner.errors import RunFailed
from inspector.runner.network.effects import Failure
from inspector.runner.network.report import Leftover


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
    open: list[str] = msgspec.field(default_factory=list)
    pending: list[dict[str, Value]] = msgspec.field(default_factory=list)
    trace: str | None = None
    steps: int = 0
    replayed: int = 0
    resumed_from: str | None = None

    @property
    def error(self) -> RunError | None:
        """The first failure."""
        return self.failures[0].error if self.failures else None

    def raise_for_status(self) -> "NetworkResult":
        """This result; raises RunFailed when a firing failed."""
        if self.error is not None:
            raise RunFailed("/".join(self.error.where or ()), self.status, self.error.message or "")
        return self
