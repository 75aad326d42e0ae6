"""A model's turn in an agent run: offered, answered, judged, taken over.

Rules that no transition shows: one skipped call keeps all calls of its turn from running; a turn without
words or calls is not kept; the output tool is advertised and allowed, and never runs.
"""

from msgspec.structs import replace

from inspector.model.values import Value
from inspector.runner import output
from inspector.runner.batch import NOT_EXECUTED, laid_out, refusal
from inspector.runner.data import (
    Advancing,
    Advertised,
    Awaiting,
    Executing,
    Failed,
    FailureKind,
    Finished,
    Held,
    ModelCall,
    Preparing,
    Resolving,
    RunData,
    ToolChoice,
)
from inspector.runner.effects import Begin, Record, Resolve, Retry, Turn
from inspector.runner.errors import RequestError
from inspector.runner.messages import AnyPart, Call, Message, Text, Usage, is_blank

RETRY = "There is no tool {name!r}. Call only the tools that are offered."


def fail(data: RunData, kind: FailureKind, message: str) -> None:
    """The run is over; what stood open stays visible."""
    phase = data.phase
    slots = tuple(phase.slots) if isinstance(phase, Executing) else ()
    held = phase.turn if isinstance(phase, Resolving | Advancing) else None
    data.phase = Failed(kind, message, slots, held)


def begin(data: RunData, event: Begin) -> None:
    """Spend the turn. Raises RequestError when the request cannot be made; nothing is spent then."""
    if data.turn >= data.max_turns:
        raise RequestError("turn", f"none is left of {data.max_turns}")
    tools = event.tools
    if tools is None and event.known and data.advertised is not None:
        tools = data.advertised.tools
    allowed = None
    if tools is not None:
        executable = tuple(tool.name for tool in tools if tool.name != event.output_tool)
        allowed = _allowed(event.choice, executable, event.output_tool)
    data.turn += 1
    data.tries += 1
    data.foreign = None
    data.advertised = Advertised(data.turn, tools, allowed, event.choice)
    if event.output_tool is not None:
        data.output.tool = event.output_tool
    if event.model is not None:
        data.previous_model = event.model
    data.phase = Awaiting()


def _allowed(choice: ToolChoice, executable: tuple[str, ...], output_tool: str | None) -> tuple[str, ...]:
    extra = (output_tool,) if output_tool else ()
    if choice == "none":
        return extra
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        raise RequestError("tool_choice", f"{choice!r} is none of auto, none, required, or a list of tools")
    if choice == "required" and not (executable or extra):
        raise RequestError("tool_choice", "'required', but no tool is offered")
    if isinstance(choice, tuple):
        if not choice:
            raise RequestError("tool_choice", "names no tool")
        if missing := [name for name in choice if name not in executable and name not in extra]:
            raise RequestError("tool_choice", f"names what is not offered: {', '.join(missing)}")
        return (*choice, *(name for name in extra if name not in choice))
    return (*executable, *extra)


def record(data: RunData, event: Record) -> None:
    """Count a call whose stream has not ended yet."""
    data.usage += event.usage or type(data.usage)()
    data.calls.append(ModelCall(len(data.calls), event.usage, event.message_id))
    data.phase = Awaiting(recorded=True)


def rollback(data: RunData) -> None:
    """The turn is given back; what was billed stays counted."""
    data.turn -= 1
    data.phase = Preparing()


def absorb(data: RunData, event: Turn) -> None:
    """Take in the answer; a call of a tool that was not on offer must be resolved first."""
    turn = event.turn
    if isinstance(data.phase, Preparing):
        begin(data, Begin(known=False))
    assert isinstance(data.phase, Awaiting)
    call = ModelCall(
        len(data.calls),
        turn.usage,
        turn.message_id,
        turn.response_id,
        turn.request_id,
        turn.finish_reason,
        turn.model,
        turn.raw,
    )
    if data.phase.recorded:
        told = data.calls.pop().usage
        call = replace(call, index=len(data.calls), usage=turn.usage or told)
        data.usage -= told or Usage()
    data.calls.append(call)
    data.usage += call.usage or Usage()
    data.tries = 0
    parts = _named(data.turn, turn.content)
    held = Held(parts, parts, turn.message_id, streamed=event.streamed, finish_reason=turn.finish_reason)
    scan(data, held, 0)


def _named(turn: int, parts: tuple[AnyPart, ...]) -> tuple[AnyPart, ...]:
    """The parts with the run's own id on each call: by its place, so that calls that share a provider's id
    stay apart."""
    found: list[AnyPart] = []
    place = 0
    for part in parts:
        if isinstance(part, Call):
            place += 1
            internal = part.internal_id or f"{turn}.{place}"
            part = replace(part, internal_id=internal, call_id=part.call_id or f"call_{internal}")
        found.append(part)
    return tuple(found)


def scan(data: RunData, held: Held, start: int) -> None:
    """Look for the next call that was not on offer, from part `start` on."""
    allowed = data.advertised.allowed if data.advertised is not None else None
    for place in range(start, len(held.parts)):
        part = held.parts[place]
        if isinstance(part, Call) and allowed is not None and part.name not in allowed:
            data.phase = Resolving(held, place)
            return
    # A turn that was mended is not what the model said: no hook hears of it.
    held.heard = held.recovered
    data.phase = Advancing(held)


def resolve(data: RunData, event: Resolve) -> None:
    """Decide on the call that was not on offer."""
    phase = data.phase
    assert isinstance(phase, Resolving)
    held, place = phase.turn, phase.index
    call = held.parts[place]
    assert isinstance(call, Call)
    advertised = data.advertised
    allowed = (advertised.allowed if advertised else None) or ()
    if event.how == "repair":
        if event.text not in allowed:
            raise RequestError(str(event.text), f"is not on offer; there are {', '.join(allowed) or 'no tools'}")
        held.parts = (*held.parts[:place], replace(call, name=event.text), *held.parts[place + 1 :])
        held.recovered = True
        scan(data, held, place)
    elif event.how == "skip":
        if advertised is not None and advertised.choice == "none":
            raise RequestError(call.name, "cannot be skipped: the model must not call tools in this turn")
        held.skipped[place] = refusal(call, event.text or RETRY.format(name=call.name), "skipped")
        held.recovered = True
        scan(data, held, place + 1)
    elif event.how == "retry" and data.invalid_retries < data.max_invalid_retries:
        _asked_again(data, held, place, event.text or RETRY.format(name=call.name))
    elif event.how == "stop":
        fail(data, "cancelled", event.text or "stopped")
    elif event.how in ("fail", "retry"):
        names = ", ".join(allowed) or "none"
        fail(data, "unknown_tool", event.text or f"the model called {call.name!r}; on offer were {names}")
    else:
        raise RequestError(event.how, "is none of fail, retry, repair, skip, stop")


def _asked_again(data: RunData, held: Held, place: int, feedback: str) -> None:
    data.invalid_retries += 1
    results = tuple(
        refusal(part, feedback if at == place else NOT_EXECUTED, "skipped")
        for at, part in enumerate(held.original)
        if isinstance(part, Call)
    )
    data.messages += [Message("assistant", held.original, held.message_id), Message("user", results)]
    data.phase = Preparing()


def retry(data: RunData, event: Retry) -> None:
    """The turn is made again; the model sees it and why only with a feedback."""
    assert isinstance(data.phase, Advancing)
    held = data.phase.turn
    if any(isinstance(part, Call) for part in held.parts):
        fail(data, "cancelled", "a turn that calls tools cannot be made again")
        return
    if event.feedback is not None:
        if not is_blank(held.parts):
            data.messages.append(Message("assistant", held.parts, held.message_id))
        data.messages.append(Message.user(event.feedback))
    data.phase = Preparing()


def advance(data: RunData) -> None:
    """Take the accepted turn over into the history, and see what follows from it."""
    assert isinstance(data.phase, Advancing)
    held = data.phase.turn
    calls = [part for part in held.parts if isinstance(part, Call)]
    if data.output.tool is not None:
        asked = next((call for call in calls if call.name == data.output.tool), None)
        if asked is not None:
            output.by_tool(data, held, asked)
            _reopen(data)
            return
    if calls:
        data.messages.append(Message("assistant", held.parts, held.message_id))
        data.output.retries = 0
        data.phase = Executing(laid_out(held, held.parts))
        return
    if not is_blank(held.parts):
        data.messages.append(Message("assistant", held.parts, held.message_id))
    answer = "".join(part.text for part in held.parts if isinstance(part, Text))
    if not answer and held.finish_reason in ("length", "content_filter"):
        _no_answer(data, held.finish_reason)
        return
    if data.output.schema is not None:
        output.by_text(data, held, answer)
    else:
        data.phase = Finished(answer, None, held.parts)
    _reopen(data)


def _no_answer(data: RunData, reason: Value) -> None:
    if reason == "length":
        fail(data, "truncated", "the model ran into its length limit before it answered: raise max_tokens")
    else:
        fail(data, "content_filter", "the provider's content filter took the answer: change the prompt")


def _reopen(data: RunData) -> None:
    """A message that came in the meantime opens the run again, if a turn is left for it."""
    phase = data.phase
    if not data.queued or not isinstance(phase, Finished):
        return
    if data.turn < data.max_turns:
        take_queued(data)
        data.phase = Preparing()
    else:
        data.phase = Finished(phase.output, phase.value, phase.content, tuple(data.queued))
        data.queued = []


def take_queued(data: RunData) -> None:
    """Deliver what was queued, in order."""
    data.messages += data.queued
    data.queued = []
