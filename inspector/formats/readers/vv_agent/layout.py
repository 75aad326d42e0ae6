"""How a run's transcript and its cycle records make one timeline.

The store keeps both. The transcript is what the model is shown: shortened when it grew too long, and without
empty answers. The cycle records are one per model answer and whole. Where the transcript still ends in
exactly the recorded cycles it is the timeline, with the user messages between them; where it does not, the
timeline is made of the records. The same function serves the list of runs, which only counts.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.messages import calls_of, content
from inspector.formats.readers.vv_agent.shapes import mapping, sequence
from inspector.model.values import Value


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """The timeline's `letters` (as for `Conversation`), of which the first `prelude` belong to step 0.
    `rebuilt`: behind the prelude stand the cycle records, not the transcript."""

    prelude: int
    letters: str
    rebuilt: bool = False


def lay(
    messages: Sequence[Value] | None,
    cycles: Sequence[Value] | None,
    receipt: dict[str, Any] | None,
    history: int = 0,
) -> Layout:
    """The timeline of a run. None: not there, or too damaged to count. `receipt` is the answer of the open
    cycle, `history` the number of messages from before the run, where it is known."""
    marks = [_mark(value) for value in messages or ()]
    letters = "".join(letter for letter, _ in marks)
    last = "" if receipt is None else "c" if calls_of(receipt) else "a"
    answers = [at for at, letter in enumerate(letters) if letter in "ac"]
    prelude = next((at for at in answers if at > history), len(letters))
    if cycles is None or (messages is not None and not cycles):
        start = prelude if cycles is None else len(letters)
        return Layout(prelude=start, letters=letters + last)
    if messages is not None and len(answers) >= len(cycles):
        start = answers[-len(cycles)]
        if _ends_in(marks[start:], cycles):
            return Layout(prelude=start, letters=letters + last)
    made = "".join(letter for cycle in cycles for letter, _ in _marks_of(cycle))
    return Layout(prelude=prelude, letters=letters[:prelude] + made + last, rebuilt=True)


def _mark(value: Value) -> tuple[str, object]:
    """What a message is, and what tells it from others."""
    fields = mapping(value)
    said = content(fields.get("content"))
    if fields.get("role") == "assistant":
        calls = calls_of(fields)
        return ("c" if calls else "a"), hash((said or "", *map(_id, calls)))
    if fields.get("role") == "tool":
        return "t", hash((_id(fields, "tool_call_id"), said))
    return "i", None


def _marks_of(cycle: Value) -> Iterator[tuple[str, object]]:
    """The same for the messages that a cycle record makes."""
    fields = mapping(cycle)
    calls = calls_of(fields)
    yield ("c" if calls else "a"), hash((content(fields.get("assistant_message")) or "", *map(_id, calls)))
    for result in sequence(fields.get("tool_results")):
        told = mapping(result)
        yield "t", hash((_id(told, "tool_call_id"), content(told.get("content"))))


def _id(value: Value, key: str = "id") -> str | None:
    found = mapping(value).get(key)
    return found if isinstance(found, str) else None


def _ends_in(marks: list[tuple[str, object]], cycles: Sequence[Value]) -> bool:
    told = [mark for mark in marks if mark[0] != "i"]
    at = 0
    for cycle in cycles:
        for mark in _marks_of(cycle):
            if at >= len(told) or told[at] != mark:
                return False
            at += 1
    return at == len(told)
