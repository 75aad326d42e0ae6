"""One stretch of an agent run from its journal's opening to its result. Both a new run and one that goes on end here,
in the same loop."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from inspector.errors import JournalError
from inspector.journal import Journal, TraceFile, refuse_existing
from inspector.model.run import RunLink
from inspector.model.values import Value
from inspector.runner import ending, modelstep, toolstep
from inspector.runner.claims import Claims
from inspector.runner.data import Awaiting
from inspector.runner.drive import drive
from inspector.runner.effects import CallModel, CallTools, Effect, Hear, ResolveCall
from inspector.runner.leg import Emit, Leg
from inspector.runner.machine import AgentRun
from inspector.runner.result import RunResult, pending_calls

if TYPE_CHECKING:
    from inspector.runner.driving import Driving


async def journaled(
    driving: "Driving[Any]",
    run: AgentRun,
    run_id: str,
    trace: str | None,
    journal: Journal | None,
    emit: Emit | None,
    resumed_from: RunLink | None,
    begin: Callable[[Leg], Awaitable[None]],
    *,
    goes_on: bool = False,
) -> RunResult:
    """Open the journal, claim the run while it is driven, and drive it. `goes_on`: in the journal that it has. Raises
    UsageError for a trace that exists, or an id that was used."""
    model = driving.agent.model  # a name that is not known is told before there is a file
    claims = driving._claims or Claims() if trace is not None or driving.claimed is not None else None
    holder = claims.take(run_id) if claims is not None and trace is not None else None
    opened: TraceFile | None = None
    try:
        if claims is not None and trace is not None:
            refuse_existing(trace)
            claims.begin(run_id, trace)
            opened = TraceFile(trace)
        leg = driving._leg(run, run_id, opened or journal, emit, model)
        for claim in (holder, driving.claimed):
            if claims is not None and claim is not None:
                leg.control.fence(partial(claims.holds, claim))
        telemetry = leg.setup.telemetry
        with telemetry.span("run", driving.agent.name, leg=leg) as span:  # the first checkpoint knows of it
            if not goes_on:
                prompt = run.data.messages[0].text if run.data.messages else None
                with leg.recorder.together():
                    leg.recorder.header(run_id, prompt, resumed_from, None)
                    if claims is not None and driving.claimed is not None:
                        leg.recorder.flush()  # what cannot be begun has not been resumed; from this alone none goes on
                        claims.succeeded(driving.claimed.run, run_id, trace)
                    leg.recorder.begin()
            leg.note("run", run=run_id, trace=trace)
            ended = await _driven(leg, begin)
            telemetry.ended(span, ended.status, ended.error)
        return result(driving, leg, ended, trace, resumed_from)
    finally:
        if opened is not None:
            opened.close()
        if claims is not None and holder is not None:
            claims.release(holder)


async def _driven(leg: Leg, begin: Callable[[Leg], Awaitable[None]]) -> ending.Ending:
    try:
        await begin(leg)
        if isinstance(leg.data.phase, Awaiting):
            return await ending.undecided(leg)
        effect = await drive(leg, lambda wanted: perform(leg, wanted), leg.control)
        return await ending.settle(leg, effect)
    except (asyncio.CancelledError, KeyboardInterrupt):
        with contextlib.suppress(JournalError):
            ending.interrupted(leg)
        raise
    except Exception as error:
        broken = _journal_error(error)
        if broken is not None:
            leg.close("over")
            broken.cut_short()
            raise broken from error
        first = _first(error)
    try:
        return await ending.failed(leg, first)
    except JournalError as error:
        error.cut_short()
        raise


def _first(error: BaseException) -> BaseException:
    """What ended a batch of calls that ran at the same time."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _journal_error(error: BaseException) -> JournalError | None:
    """What kept the journal from being written, also where several calls were under way."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _journal_error(inner))), None)
    return error if isinstance(error, JournalError) else None


async def perform(leg: Leg, effect: Effect) -> None:
    """Perform what an agent run asks for."""
    if isinstance(effect, CallModel):
        await modelstep.call_model(leg, effect)
    elif isinstance(effect, CallTools):
        await toolstep.call_tools(leg, effect)
    elif isinstance(effect, Hear):
        await modelstep.hear(leg, effect)
    else:
        assert isinstance(effect, ResolveCall)
        await modelstep.resolve(leg, effect)


def result(
    driving: "Driving[Any]", leg: Leg, ended: ending.Ending, trace: str | None, resumed_from: RunLink | None
) -> RunResult:
    """What a leg came to."""
    return RunResult(
        status=ended.status,
        reason=ended.reason,
        output=typed(driving.agent.output_type, ended.output),
        pending=pending_calls(leg.run),
        run=leg.run,
        run_id=leg.run_id,
        trace=trace,
        error=ended.error,
        steps=leg.recorder.seq - leg.recorder.first,
        forgotten=ended.forgotten,
        refused=tuple(leg.undelivered),
        resumed_from=resumed_from.run if resumed_from is not None else None,
    )


def typed(kind: Any, output: Value) -> Any:
    """The answer as an object of the agent's output type, where it is one; else as it came."""
    if kind is None or not isinstance(output, dict):
        return output
    try:
        return msgspec.convert(output, kind, strict=False)
    except msgspec.ValidationError:
        return output
