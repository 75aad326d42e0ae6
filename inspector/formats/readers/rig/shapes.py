"""What in a saved run has not the shape that rig gives it, in words: for a file that was damaged or edited. What
is missing has a default in one generation or another and is no fault; what is of another kind has a meaning in none."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.formats.contents import arguments_of
from inspector.formats.document import Fields
from inspector.formats.readers.rig.parts import kind_of
from inspector.model.text import one_line
from inspector.model.values import Number, Value

FIELDS = {
    "chat_history": "a list",
    "new_messages": "a list",
    "completion_calls": "a list",
    "usage": "an object",
    "turn_tools": "an object",
}
"""Fields of the run that are shown as what they stand for."""
BODIES = {
    "AwaitingAdvance": "an object",
    "ResolvingToolCalls": "an object",
    "ExecutingTools": "a list",
    "Done": "an object",
}
"""What the states hold that hold something."""
INNER = {
    "items": "a list",
    "original_choice": "a list",
    "skipped": "an object",
    "internal_call_ids": "a list",
    "block_ids": "a list",
    "executable_tool_names": "a list",
    "allowed_tool_names": "a list",
    "has_tool_calls": "true or false",
    "message_id": "text",
    "output": "text",
    "usage": "an object",
    "completion_calls": "a list",
    "messages": "a list",
    "content": "a list",
}
"""Fields inside of a state."""
ENTRY = {
    "tool_call": "an object",
    "preresolved_result": "an object",
    "internal_call_id": "text",
    "block_id": "text",
    "slots": "a list",
}
"""Fields of an entry of a batch."""
ANSWERS = ("Execute", "Malformed", "Answered")
LISTED = 20
"""Faults of one state that are told."""


def of_fields(document: Fields) -> Iterator[tuple[str, str]]:
    """(place, fault) of the fields of a run."""
    for name, wanted in FIELDS.items():
        found = _begins(document.raw(name)) if name in document else "null"
        if found not in ("null", wanted):
            yield document.where(name), f"{name} is {found}, where {wanted} is expected: it tells nothing"


def of_body(name: str, body: Value) -> str | None:
    """What is wrong with all that a state holds; None: nothing."""
    wanted = BODIES.get(name, "nothing or an object")
    fits = kind(body) == wanted if name in BODIES else body is None or isinstance(body, dict)
    if fits:
        return None
    return f"the state {name} holds {kind(body)}, where {wanted} is expected"


def of_state(name: str, body: Value) -> Iterator[str]:
    """The faults inside of what a state holds, each with the path to it."""
    if name == "ExecutingTools" and isinstance(body, list):
        slots = any(isinstance(entry, dict) and "slots" in entry for entry in body)
        for number, entry in enumerate(body):
            # Beside slots stands the policy of the turn, which is no entry.
            if not slots or (isinstance(entry, dict) and "slots" in entry):
                yield from _entry(f"{name}[{number}]", entry)
    elif isinstance(body, dict):
        yield from _of_kinds(name, body, INNER)
        for key in ("items", "original_choice", "content"):
            for number, part in enumerate(_list(body.get(key))):
                yield from _part(f"{name}.{key}[{number}]", part)
        for key, item in _pairs(body.get("skipped")):
            yield from _of_kind(f"{name}.skipped.{key}", item, "an object")
        for key in ("executable_tool_names", "allowed_tool_names"):
            for number, item in enumerate(_list(body.get(key))):
                yield from _of_kind(f"{name}.{key}[{number}]", item, "text")
        for key in ("internal_call_ids", "block_ids"):
            for number, pair in enumerate(_list(body.get(key))):
                if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(item, str) for item in pair)):
                    yield f"{name}.{key}[{number}] is no pair of ids"


def kind(value: Value) -> str:
    """The kind of a value, as one says it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float | Number):
        return "a number"
    return "text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def _begins(text: bytes) -> str:
    first = text[:1]
    known = {
        b"[": "a list",
        b"{": "an object",
        b'"': "text",
        b"n": "null",
        b"t": "true or false",
        b"f": "true or false",
    }
    return known.get(first, "a number")


def _entry(path: str, entry: Value) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{path} is {kind(entry)}, where an object is expected: it is no call that can be shown"
        return
    yield from _of_kinds(path, entry, ENTRY)
    if "slots" in entry:
        for number, slot in enumerate(_list(entry["slots"])):
            yield from _slot(f"{path}.slots[{number}]", slot)
    elif "tool_call" in entry:
        yield from _call(f"{path}.tool_call", entry["tool_call"])
    else:
        yield f"{path} has neither a tool_call nor slots: it is no call that can be shown"


def _slot(path: str, slot: Value) -> Iterator[str]:
    if not isinstance(slot, dict) or len(slot) != 1 or next(iter(slot)) not in ANSWERS:
        yield f"{path} is none of {', '.join(ANSWERS)}"
        return
    name, body = next(iter(slot.items()))
    if name == "Answered":
        yield from _of_kind(f"{path}.{name}", body, "an object")
    else:
        yield from _call(f"{path}.{name}", body)


def _part(path: str, part: Value) -> Iterator[str]:
    if kind_of(part) is None:
        yield f"{path} is no part of a message"
    elif kind_of(part) == "toolcall":
        yield from _call(path, part)


def _call(path: str, call: Value) -> Iterator[str]:
    if not isinstance(call, dict):
        yield f"{path} is {kind(call)}, where an object is expected"
        return
    function = call.get("function")
    if not isinstance(function, dict):
        yield f"{path}.function is {kind(function)}, where an object is expected: what is called is not known"
    elif not isinstance(function.get("name"), str):
        yield f"{path}.function.name is {kind(function.get('name'))}, where text is expected"
    else:
        told: list[str] = []
        arguments_of(function.get("arguments"), told.append)
        yield from (f"{path}.function: {message}" for message in told)
    for key in ("id", "call_id"):
        yield from _of_kind(f"{path}.{key}", call.get(key), "text")


def _of_kinds(path: str, value: Mapping[str, Any], wanted: Mapping[str, str]) -> Iterator[str]:
    for key, name in wanted.items():
        yield from _of_kind(f"{path}.{key}", value.get(key), name)


def _of_kind(path: str, value: Value, wanted: str) -> Iterator[str]:
    if value is not None and kind(value) != wanted:
        yield f"{one_line(path)} is {kind(value)}, where {wanted} is expected"


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _pairs(value: Value) -> list[tuple[str, Value]]:
    return list(value.items()) if isinstance(value, dict) else []
