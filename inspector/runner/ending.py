"""How a leg ends: the answer remembered, the hooks told, the journal closed."""

import asyncio
import contextlib

import msgspec

from inspector.errors import JournalError
from inspector.model.records import Operation
from inspector.model.run import RunError, RunStatus
from inspector.model.values import Value
from inspector.runner import hookchain, view
from inspector.runner.ambiguity import ABORTED
from inspector.runner.data import Advancing, Executing, Failed, Finished, Resolving, RunData
from inspector.runner.effects import Done, Effect, Remembered, Wait
from inspector.runner.errors import ModelError, RequestError, RunFailed
from inspector.runner.hookchain import Stopped
from inspector.runner.hooks import RunSettled
from inspector.runner.leg import Leg, run_error
from inspector.runner.messages import Call, words
from inspector.runner.threads import being_cancelled
from inspector.runner.toolstep import close_batch


class Ending(msgspec.Struct, frozen=True):
    """How a leg ended. `forgotten`: why the memory did not take in the answer."""

    status: RunStatus
    reason: str | None = None
    error: RunError | None = None
    output: Value = None
    forgotten: str | None = None


async def settle(leg: Leg, effect: Effect | None) -> Ending:
    """The ending that an effect (or a stop, None) is; the journal says so when this returns."""
    leg.close("stopped")
    if isinstance(effect, Done):
        forgotten = await remember(leg)
        output = effect.output if effect.value is None else effect.value
        ending = Ending("completed", None, None, output, forgotten)
    elif isinstance(effect, Wait):
        ending = Ending("suspended", effect.reason)
    else:
        phase = leg.data.phase
        calls = isinstance(phase, Executing) or (isinstance(phase, Advancing) and _has_calls(phase))
        unresolved = isinstance(phase, Resolving)
        reason = "tools" if calls else "invalid_tool_call" if unresolved else "stopped"
        ending = Ending("suspended" if calls or unresolved else "interrupted", reason)
        if leg.control.broke:
            ending = Ending("suspended", "breakpoint")
    return await _closed(leg, ending)


async def failed(leg: Leg, error: BaseException) -> Ending:
    """The ending of a run that failed."""
    leg.close("over")
    kind = error.kind if isinstance(error, RunFailed | ModelError | Stopped) else None
    status: RunStatus = "failed"
    if isinstance(error, ModelError):
        reason = "model"
    elif isinstance(error, RequestError):
        reason = "request"
    else:
        reason = ABORTED if kind == "aborted" else kind or "error"
    message = error.message if isinstance(error, RunFailed | ModelError) else str(error)
    if reason == "cancelled":
        status = "cancelled"
    return await _closed(leg, Ending(status, reason, RunError(type=kind or type(error).__name__, message=message)))


def interrupted(leg: Leg) -> None:
    """The task was cancelled: what was begun may have happened."""
    if leg.run.slots:
        close_batch(leg)
    with leg.recorder.together():
        leg.recorder.checkpoint("interrupted")
        leg.recorder.end("interrupted", "cancelled", None, None, False)


async def _closed(leg: Leg, ending: Ending) -> Ending:
    settled = ending.status not in ("suspended", "interrupted")
    # A journal that goes on tells of a batch that waits already, and one that has ended has its step.
    waits = ending.status == "suspended" and not leg.durable and not view.settled(leg.run.slots)
    if isinstance(leg.data.phase, Executing) and leg.run.slots and (leg.batch_started is not None or waits):
        close_batch(leg)
    if settled:
        message = ending.error.message if ending.error is not None else None
        event = RunSettled(**leg.heard(), status=ending.status, output=ending.output, error=message)
        with contextlib.suppress(Stopped):  # it is over already
            await hookchain.first(leg.setup.hooks, event)
        with contextlib.suppress(Stopped):
            hookchain.written(leg.data.scratch)
    with leg.recorder.together():
        leg.recorder.checkpoint(ending.status)
        leg.recorder.end(ending.status, ending.reason, ending.error, ending.output, is_final(leg.data))
    return ending


def is_final(data: RunData) -> bool:
    """Whether a run can never go on. A spent budget can be raised; what failed outside of the run, tried again."""
    phase = data.phase
    return isinstance(phase, Finished) or (isinstance(phase, Failed) and phase.kind not in ("max_turns", "budget"))


async def undecided(leg: Leg) -> Ending:
    """The ending of a leg that found a model call which may have happened, and no word on it."""
    leg.close("suspended")
    return await _closed(leg, Ending("suspended", "reconciliation"))


def _has_calls(phase: Advancing) -> bool:
    return any(isinstance(part, Call) for part in phase.turn.parts)


async def remember(leg: Leg) -> str | None:
    """Have the memory take in the run, once; why not, when it does not. The answer stands either way."""
    memory, data = leg.setup.memory, leg.data
    if memory is None or data.conversation is None or data.remembered or not isinstance(data.phase, Finished):
        return None
    operation = _memory_operation(leg, "append")
    leg.recorder.operation(operation, "planned")
    leg.recorder.operation(operation, "started", durable=True)
    try:
        await memory.append(data.conversation, tuple(data.messages), key=data.id)
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and being_cancelled():
            raise
        if leg.durable and isinstance(error, JournalError) and getattr(error, "code", None) != "session_conflict":
            raise  # a store that does not work now: the run goes on here when it does
        leg.recorder.operation(operation, "failed", error=run_error(error))
        return f"{type(error).__name__}: {words(error)}"
    leg.recorder.operation(operation, "succeeded", durable=True, event=Remembered())
    leg.run.send(Remembered())
    return None


async def recall(leg: Leg) -> None:
    """Load the conversation that a run belongs to, if that was not done. Raises what the memory raises."""
    memory, data = leg.setup.memory, leg.data
    if memory is None or data.conversation is None or data.history is not None:
        return
    operation = _memory_operation(leg, "load")
    leg.recorder.operation(operation, "planned")
    leg.recorder.operation(operation, "started")
    try:
        data.history = tuple(await memory.load(data.conversation))
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and being_cancelled():
            raise
        leg.recorder.operation(operation, "failed", error=run_error(error))
        if isinstance(error, asyncio.CancelledError):
            raise RuntimeError("the memory was cancelled from inside") from error
        raise
    with leg.recorder.together():
        leg.recorder.operation(operation, "succeeded")
        leg.recorder.begin()


def _memory_operation(leg: Leg, what: str) -> Operation:
    return Operation(
        id=f"memory-{what}",
        seq=leg.recorder.seq,
        kind="memory",
        name=f"memory.{what}",
        status="planned",
        idempotency="supported",
        idempotency_key=leg.data.id,
    )
