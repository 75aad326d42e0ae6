"""Performing a batch of calls: gates, hooks, the tools themselves; each answer is taken in by itself.

Calls that wait for somebody are held before anything runs; the others run, at most `concurrency` at a time. Hooks hear
of a call just before it runs. Where one gives it other arguments, its gate is asked about those, and somebody who has
let it through with the ones before is asked again.
When a hook stops the run, what has not begun never begins, what is under way ends, and of several stops
the one of the first call counts. Nothing is shown to a stream before all have ended.
"""

import asyncio

import msgspec

from inspector.model.records import Operation
from inspector.model.run import RunError
from inspector.model.values import Value
from inspector.runner import hookchain, toolrun, view
from inspector.runner.effects import Answer, CallTools, Edit, Hold, Start, Stop, ToRun
from inspector.runner.hooks import ToolCall, ToolResult
from inspector.runner.items import ToolCommitted, ToolReturned
from inspector.runner.leg import Leg
from inspector.runner.messages import Call
from inspector.runner.tools import AnyTool, Came, NeedsInput, ToolContext

KEY = 16
"""Digits of a digest that stand in an idempotency key."""
REWRITTEN = "a hook gave it other arguments, which nobody has let through yet"


class Ran(msgspec.Struct, frozen=True):
    """How one call ended, with the arguments that the hooks left it; `stop` when one ended the run there."""

    call: ToRun
    ran: bool = False
    stop: str | None = None


class Planned(msgspec.Struct, frozen=True):
    """A call that is to be run, its tool (None: nobody has it) and its operation."""

    call: ToRun
    tool: AnyTool | None
    operation: Operation


async def call_tools(leg: Leg, effect: CallTools) -> None:
    """Perform the effect."""
    tools = (await leg.tools()).tools
    leg.batch_started = leg.batch_started or leg.recorder.clock()
    free: list[Planned] = []
    for call in effect.calls:
        tool = tools.get(call.name)
        planned = Planned(call, tool, _operation(leg, call, tool))
        leg.recorder.operation(planned.operation, "planned", request=call.arguments)
        if tool is not None and not call.approved and await toolrun.needs_approval(tool, call):
            leg.tell(Hold(call.internal_id))
        else:
            free.append(planned)
    ended = await _all(leg, free)
    stops = [ran.stop for ran in ended if ran.stop is not None]
    if stops:
        close_batch(leg)
        leg.tell(Stop(stops[0]))
        return
    for ran in ended:
        _surface(leg, ran)
    if view.settled(leg.run.slots):
        close_batch(leg)


def close_batch(leg: Leg) -> None:
    """Write down the step that the batch is, as far as it came."""
    slots = leg.run.slots
    started = leg.batch_started or leg.recorder.clock()
    leg.batch_started = None
    leg.recorder.step(lambda seq: view.tools_step(seq, slots, started, leg.recorder.clock()))
    status = "done" if view.settled(slots) else "pending"
    leg.note(
        "step", seq=leg.recorder.seq, kind="tools", status=status, name=", ".join(slot.call.name for slot in slots)
    )


async def _all(leg: Leg, calls: list[Planned]) -> list[Ran]:
    if leg.setup.concurrency <= 1 or len(calls) < 2:
        ended: list[Ran] = []
        for call in calls:
            if leg.control.stopping or (ended and ended[-1].stop is not None):
                break
            ended.append(await _one(leg, call))
        return ended
    gate = asyncio.Semaphore(leg.setup.concurrency)
    stopped = False

    async def one(call: Planned) -> Ran | None:
        nonlocal stopped
        async with gate:
            if stopped or leg.control.stopping:
                return None
            ran = await _one(leg, call)
            stopped = stopped or ran.stop is not None
            return ran

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(call)) for call in calls]
    return [ran for task in tasks if (ran := task.result()) is not None]


async def _one(leg: Leg, planned: Planned) -> Ran:
    call, operation = planned.call, planned.operation
    event = ToolCall(
        **leg.heard(),
        name=call.name,
        call_id=call.call_id,
        internal_id=call.internal_id,
        arguments=call.arguments,
        approved=call.approved,
    )
    told, action = await hookchain.rewritten(leg.setup.hooks, event)
    if (reason := _kept(leg)) is not None:
        return Ran(call, stop=reason)
    # One that may have happened is run again as it was begun: with other arguments, and so another key, it would be
    # another call, and what it does is done twice.
    rewritten = call.attempt == 1 and _differ(told.arguments, call.arguments)
    if rewritten:
        call = msgspec.structs.replace(call, arguments=told.arguments)
        leg.tell(Edit(call.internal_id, call.arguments))
    if action.kind == "stop":
        return Ran(call, stop=action.value)
    if action.kind == "skip":
        return await _finish(leg, call, Came(action.value, "skipped"), None)
    request: dict[str, Value] = {}
    if rewritten:
        if planned.tool is not None and (call.approved or await toolrun.needs_approval(planned.tool, call)):
            leg.tell(Hold(call.internal_id, "approval", REWRITTEN))
            return Ran(call)
        operation = _operation(leg, call, planned.tool)
        request = {"request": call.arguments, "digest": operation.digest}
    leg.recorder.operation(operation, "started", durable=True, **request)
    leg.run.send(Start(call.internal_id))
    leg.note("operation", kind="tool", name=call.name, call_id=call.call_id, status="started", step=operation.seq)
    try:
        came = await _came(leg, call, planned.tool, operation)
    except NeedsInput as asked:
        held = Hold(call.internal_id, "input", asked.question)
        leg.recorder.operation(operation, "failed", error=RunError(type="input", message="asks"), event=held)
        leg.run.send(held)
        return Ran(call)
    if _may_have_happened(leg, came, planned.tool):
        error = RunError(type=came.kind, message=str(came.value))
        leg.recorder.operation(operation, "ambiguous", durable=True, error=error)
        leg.doubt(msgspec.structs.replace(operation, error=error))
        leg.note("operation", kind="tool", name=call.name, call_id=call.call_id, status="ambiguous")
        return Ran(call)
    return await _finish(leg, call, came, operation)


def _differ(left: Value, right: Value) -> bool:
    return left is not right and view.digest(left) != view.digest(right)


def _may_have_happened(leg: Leg, came: Came, tool: AnyTool | None) -> bool:
    """Whether a failure leaves open what came of the call, so that somebody must look: in a durable run, where
    neither the error nor the tool says that nothing was done, and doing it again is not without harm."""
    if not (leg.durable or leg.in_store) or came.definite or tool is None or leg.setup.ambiguity.raised == "failed":
        return False
    return tool.spec.idempotency != "supported" and getattr(tool, "failure", "unknown") != "definite"


async def _came(leg: Leg, call: ToRun, tool: AnyTool | None, operation: Operation) -> Came:
    if tool is None:
        return toolrun.not_found(call.name)
    context = ToolContext(
        run_id=leg.data.id,
        agent=leg.setup.name,
        turn=leg.data.turn,
        call_id=call.call_id,
        internal_id=call.internal_id,
        idempotency_key=operation.idempotency_key or "",
        attempt=call.attempt,
        conversation=leg.data.conversation,
        scratch=leg.data.scratch,
        metadata=leg.setup.metadata,
    )
    with leg.setup.telemetry.span("tool", call.name, leg=leg, call=call, arguments=call.arguments) as span:
        came = await toolrun.came(tool, call.arguments, context)
        leg.setup.telemetry.came(span, came)
    return came


async def _finish(leg: Leg, call: ToRun, came: Came, operation: Operation | None) -> Ran:
    """The hooks on the result, then the answer is written down and taken in."""
    event = ToolResult(
        **leg.heard(),
        name=call.name,
        call_id=call.call_id,
        internal_id=call.internal_id,
        arguments=call.arguments,
        raw=came.value,
        value=came.value,
        outcome=came.outcome,
        error_kind=came.kind,
    )
    told, action = await hookchain.rewritten(leg.setup.hooks, event)
    reason = _kept(leg)  # what the call came to is written down all the same
    parts = came.parts if told.value is came.value else ()
    answer = Answer(call.internal_id, told.value, came.outcome, came.kind, parts)
    if operation is None:
        leg.tell(answer)
    else:
        failed = came.outcome == "error"
        error = RunError(type=came.kind, message=str(came.value)) if failed else None
        leg.recorder.operation(
            operation,
            "failed" if failed else "succeeded",
            durable=True,
            result=told.value,
            error=error,
            event=None if came.outcome == "success" and not parts else answer,
        )
        leg.run.send(answer)
        leg.note(
            "operation", kind="tool", name=call.name, call_id=call.call_id, status="failed" if failed else "succeeded"
        )
    stop = action.value if action.kind == "stop" else reason
    return Ran(call, operation is not None, stop)


def _kept(leg: Leg) -> str | None:
    """Write the scratchpad down; why the run stops, where that cannot be done."""
    try:
        leg.keep_scratch()
    except hookchain.Stopped as stopped:
        return stopped.reason
    return None


def _surface(leg: Leg, ran: Ran) -> None:
    slot = leg.run.slot(ran.call.internal_id) if leg.emit is not None else None
    if slot is None or slot.result is None:
        return
    if ran.ran:
        leg.send(ToolCommitted(slot.call, slot.call.internal_id, ran.call.arguments))
    leg.send(ToolReturned(slot.result, slot.call.internal_id))


def idempotency_key(run_id: str, call: Call, arguments: Value) -> str:
    """The key of a call with these arguments: the same in every process that runs it, also of a run that goes on from
    an earlier step, and another one for a call that stands in its place there and is not the same."""
    return _key(run_id, call.internal_id, _digest(call.name, arguments))


def _digest(name: str, arguments: Value) -> str:
    return view.digest([name, arguments])


def _key(run_id: str, internal_id: str, digest: str) -> str:
    return f"{run_id}:{internal_id}:{digest[:KEY]}"


def _operation(leg: Leg, call: ToRun, tool: AnyTool | None) -> Operation:
    spec = tool.spec if tool is not None else None
    digest = _digest(call.name, call.arguments)
    return Operation(
        id=f"tool-{call.internal_id}.{call.attempt}",
        seq=leg.recorder.seq + 1,
        kind="tool",
        name=call.name,
        status="planned",
        attempt=call.attempt,
        call_id=call.call_id,
        internal_call_id=call.internal_id,
        digest=digest if leg.recorder.journal is not None else None,
        idempotency=spec.idempotency if spec is not None else None,
        idempotency_key=_key(leg.data.id, call.internal_id, digest),
    )
