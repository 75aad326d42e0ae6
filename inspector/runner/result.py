"""What a run came to."""

from typing import Any

import msgspec

from inspector.model.run import RunError, RunStatus
from inspector.model.values import Value
from inspector.runner.data import Finished, WaitReason
from inspector.runner.errors import RunFailed
from inspector.runner.machine import AgentRun
from inspector.runner.messages import Message, Usage


class PendingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits: `why` for whom, `question` what a tool asked."""

    name: str
    call_id: str
    internal_id: str
    arguments: Value
    why: WaitReason
    question: Value = None


class RunResult(msgspec.Struct, kw_only=True):
    """How a run ended, or that it is suspended. `run` is the machine, to be saved or resumed; `trace` the
    file that tells it all; `steps` how many steps this process ran; `forgotten` why the memory did not take
    in the answer."""

    status: RunStatus
    reason: str | None
    output: Any
    pending: list[PendingCall]
    run: AgentRun
    run_id: str
    trace: str | None = None
    error: RunError | None = None
    steps: int = 0
    forgotten: str | None = None
    refused: tuple[str, ...] = ()
    resumed_from: str | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt and all that came of it; history is not among them."""
        return self.run.new_messages

    @property
    def usage(self) -> Usage:
        """Tokens of the whole run, in all its processes."""
        return self.run.data.usage

    @property
    def undelivered(self) -> tuple[Message, ...]:
        """Messages that came too late for a turn."""
        phase = self.run.data.phase
        late = phase.undelivered if isinstance(phase, Finished) else ()
        return (*late, *(Message.user(text) for text in self.refused))

    def raise_for_status(self) -> "RunResult":
        """This result; raises RunFailed when the run failed."""
        if self.status in ("failed", "cancelled"):
            message = self.error.message if self.error is not None else None
            raise RunFailed(self.run_id, self.reason or self.status, message or "the reason is not recorded")
        return self


def pending_calls(run: AgentRun) -> list[PendingCall]:
    """The calls of a run that wait for somebody."""
    found = []
    for slot in run.slots:
        why: WaitReason | None = "reconciliation" if slot.status == "started" else slot.why
        if slot.status in ("waiting", "started") and why is not None:
            found.append(
                PendingCall(
                    name=slot.call.name,
                    call_id=slot.call.call_id,
                    internal_id=slot.call.internal_id,
                    arguments=slot.effective,
                    why=why,
                    question=slot.question if slot.status == "waiting" else None,
                )
            )
    return found
