"""Values that somebody changes before a saved run goes on as a run of its own: what an edit is, and those of agents.

The run that is resumed stays as it is. An edit keeps to what the value was declared as, or is refused by name; what was
changed is written into the new run's journal.
"""

from collections.abc import Callable, Container, Mapping
from typing import Any

import msgspec

from inspector.model.places import FORMS, Place, read_place
from inspector.model.values import Value, to_json
from inspector.runner.data import Advancing, Executing, Finished, Resolving, RunData, Slot
from inspector.runner.errors import ResumeRefused
from inspector.runner.messages import AnyPart, Call, Json, Media, Message, Result, Text, result_parts
from inspector.runner.restore import decode
from inspector.runner.tools import AnyTool

CODE = "edit_invalid"


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """A value that was changed: where it stands (see `model.places`), what it was and what it is now."""

    path: str
    before: Value
    after: Value

    def told(self) -> Value:
        """What the journal says of it."""
        return {"before": self.before, "after": self.after}


def refused(path: str, why: str) -> ResumeRefused:
    """An edit that is not made."""
    return ResumeRefused(path, CODE, why)


def place_of(path: str) -> Place:
    """The place that an edit names. Raises ResumeRefused."""
    place = read_place(path)
    if place is None:
        raise refused(path, f"names nothing that can be edited: {FORMS}")
    return place


def edited(data: RunData, edits: Mapping[str, Value], tools: Mapping[str, AnyTool]) -> list[Edited]:
    """Change values of an agent's run. Arguments must fit the tool of today. Raises ResumeRefused."""
    if edits and isinstance(data.phase, Finished):
        path = next(iter(edits))
        raise refused(path, "the run is finished, and nothing would come of it: go on from an earlier step")
    return [_edit(data, path, after, tools) for path, after in edits.items()]


def _edit(data: RunData, path: str, after: Value, tools: Mapping[str, AnyTool]) -> Edited:
    place = place_of(path)
    if place.part == "messages":
        before = _message(data, place, path, after, tools)
    elif place.part == "pending":
        before = _pending(data, place, path, after, tools)
    elif place.part == "values":
        if place.name not in data.scratch:
            raise refused(path, f"the run keeps no value of this name; it keeps {_names(data.scratch)}")
        before = data.scratch[place.name]
        data.scratch[place.name] = after
    else:
        raise refused(path, "an agent has no queues and actors: its messages, calls and values can be edited")
    return Edited(path=path, before=before, after=after)


def _names(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "none"


def _pending(data: RunData, place: Place, path: str, after: Value, tools: Mapping[str, AnyTool]) -> Value:
    slots = data.phase.slots if isinstance(data.phase, Executing) else []
    slot = next((slot for slot in slots if place.name in (slot.call.internal_id, slot.call.call_id)), None)
    if slot is None:
        raise refused(path, f"no call {place.name!r} is open at this step")
    if place.field == "result":
        return _result_of(slot, path, after)
    if slot.status in ("answered", "denied", "started"):
        raise refused(path, f"the call is {slot.status}: it does not begin with other arguments")
    _fits(slot.call.name, path, after, tools)
    before = slot.effective
    slot.arguments = after
    return before


def _result_of(slot: Slot, path: str, after: Value) -> Value:
    if slot.result is None:
        raise refused(path, "the call has no result yet; an answer or `--reconcile` gives it one")
    before, slot.result = _with_result(slot.result, path, after)
    return before


def _fits(name: str, path: str, arguments: Value, tools: Mapping[str, AnyTool]) -> None:
    tool = tools.get(name)
    problem = tool.check(arguments) if tool is not None else None
    if problem is not None:
        raise refused(path, f"the arguments do not fit the tool {name}: {problem}")


def _message(data: RunData, place: Place, path: str, after: Value, tools: Mapping[str, AnyTool]) -> Value:
    """Change a message as the inspector counts them: one per message, and one per tool result."""
    left = place.at or 0
    slots = data.phase.slots if isinstance(data.phase, Executing) else ()
    still_open = {slot.call.internal_id for slot in slots if slot.result is None}
    for message, put in _messages(data):
        results = [at for at, part in enumerate(message.content) if isinstance(part, Result)]
        whole = not results or len(results) < len(message.content)
        if left < len(results):
            before, content = _in_result(message, results[left], place, path, after)
        elif left == len(results) and whole:
            before, content = _in_words(message, place, path, after, tools, still_open)
        else:
            left -= len(results) + whole
            continue
        put(content)
        return before
    raise refused(path, "there is no such message at this step")


Put = Callable[[tuple[AnyPart, ...]], object]


def _messages(data: RunData) -> list[tuple[Message, Put]]:
    """All messages, with what puts another content in the place of each."""
    found: list[tuple[Message, Put]] = []
    history = list(data.history or ())
    for at, message in enumerate(history):

        def into_history(content: tuple[AnyPart, ...], at: int = at) -> None:
            history[at] = msgspec.structs.replace(history[at], content=content)
            data.history = tuple(history)

        found.append((message, into_history))
    for at, message in enumerate(data.messages):

        def into_run(content: tuple[AnyPart, ...], at: int = at) -> None:
            data.messages[at] = msgspec.structs.replace(data.messages[at], content=content)

        found.append((message, into_run))
    phase = data.phase
    if isinstance(phase, Advancing | Resolving) and phase.turn.parts:
        turn = phase.turn
        found.append((Message("assistant", turn.parts), lambda content: setattr(turn, "parts", content)))
    if isinstance(phase, Executing) and all(slot.result is not None for slot in phase.slots):
        slots = phase.slots

        def into_batch(content: tuple[AnyPart, ...]) -> None:
            for slot, part in zip(slots, content, strict=True):
                slot.result = part if isinstance(part, Result) else slot.result

        parts = tuple(slot.result for slot in slots if slot.result is not None)
        found.append((Message("user", parts), into_batch))
    return found


def _in_result(message: Message, at: int, place: Place, path: str, after: Value) -> tuple[Value, tuple[AnyPart, ...]]:
    part = message.content[at]
    assert isinstance(part, Result)
    if place.field != "text":
        raise refused(path, "a tool's result has no calls")
    before, result = _with_result(part, path, after)
    return before, (*message.content[:at], result, *message.content[at + 1 :])


def _with_result(result: Result, path: str, after: Value) -> tuple[Value, Result]:
    if any(isinstance(part, Media) for part in result.content):
        raise refused(path, "the result holds pictures or the like, which cannot be edited")
    only = result.content[0] if len(result.content) == 1 else None
    before = only.value if isinstance(only, Json) else result.text
    if isinstance(only, Json) and isinstance(after, str) and not isinstance(before, str):
        # Its JSON is shown as text, and so it is edited.
        try:
            after = decode(after)
        except ValueError as error:
            raise refused(path, f"the tool gave JSON, and this is none: {error}") from error
    return before, msgspec.structs.replace(result, content=result_parts(after))


def _in_words(
    message: Message,
    place: Place,
    path: str,
    after: Value,
    tools: Mapping[str, AnyTool],
    still_open: Container[str],
) -> tuple[Value, tuple[AnyPart, ...]]:
    parts = list(message.content)
    if place.call is not None:
        calls = [at for at, part in enumerate(parts) if isinstance(part, Call)]
        if place.call >= len(calls):
            raise refused(path, f"the message has {len(calls)} calls")
        call = parts[calls[place.call]]
        assert isinstance(call, Call)
        if call.internal_id in still_open:
            raise refused(path, f"the call is open: edit pending.{call.call_id or call.internal_id}.arguments")
        _fits(call.name, path, after, tools)
        parts[calls[place.call]] = msgspec.structs.replace(call, arguments=after)
        return call.arguments, tuple(parts)
    if not isinstance(after, str):
        raise refused(path, f"a message's text is a text, not {to_json(after)[:80]}")
    words = [at for at, part in enumerate(parts) if isinstance(part, Text)]
    if not words or any(isinstance(part, Media) for part in parts):
        raise refused(path, "the message has no text" if not words else "the message holds more than text")
    before = message.text
    first = parts[words[0]]
    assert isinstance(first, Text)
    parts[words[0]] = msgspec.structs.replace(first, text=after)
    return before, tuple(part for at, part in enumerate(parts) if at not in words[1:])
