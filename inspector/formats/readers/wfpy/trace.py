"""wfpy's own queue trace, `run.wf-queues.json`: sizes after each top-level firing.

It is no record of contents: a size and the last token put, nothing of firings inside nested workflows, and
with several workers a snapshot that counts firings in flight. It gives what the journal lacks: the order of
queues, firings of ifs, loops and nested workflows, and numbers to check against.
"""

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec

from inspector.formats.document import Document
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.readers.wfpy.tracesteps import TraceStep, TraceSteps
from inspector.model.run import Problem
from inspector.model.text import clean
from inspector.model.values import Value

LOADED = 1000
"""Steps that are read between two yields."""
NO_TOKEN: Any = msgspec.UNSET
_REFUSED = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


class Size(msgspec.Struct, rename="camel"):
    """One queue after a step, as the trace has it."""

    queue_id: str
    size: int = 0
    scope: str = ""
    last_token: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Sizes(msgspec.Struct, rename="camel"):
    queue_sizes: list[Size] = []


_step = msgspec.json.Decoder(TraceStep)
_sizes = msgspec.json.Decoder(_Sizes)


class Trace:
    """The trace of a run: `steps`, once `load` has run to its end. Damage becomes `problems`; a step that
    cannot be read is left out. Raises Damaged when it is no JSON object."""

    def __init__(self, file: File) -> None:
        self.label = file.label
        self._document = Document(file)
        self.problems: list[Problem] = self._document.problems
        self.name, self.finished = (self._text(field) for field in ("workflowName", "finishedAt"))
        self.version: Value = self._document.get("version")
        if self.version != 1:
            told = "a queue trace of another version than 1: read as well as can be"
            self.problems.append(Problem(severity="warning", where=self._document.where("version"), message=told))
        self._elements = self._document.elements("steps")
        self.steps = TraceSteps()
        self._fired: dict[str, array[int]] = {}
        self._next = 0

    def load(self) -> Iterator[None]:
        """Read on to the end; can be left at any yield and taken up again."""
        for _ in self._elements.scan() if self._elements is not None else ():
            yield
        while self._elements is not None and self._next < len(self._elements):
            for place in range(self._next, min(self._next + LOADED, len(self._elements))):
                self._add(place)
                self._next = place + 1
            yield

    def _text(self, field: str) -> str | None:
        value = self._document.get(field)
        return value if isinstance(value, str) else None

    def _add(self, place: int) -> None:
        assert self._elements is not None
        try:
            try:
                step = _step.decode(self._elements.raw(place))
            except _REFUSED:
                step = msgspec.convert(self._elements[place], TraceStep)
            step.place = place
            self.steps.append(step)
        except (*_REFUSED, ValueError, OverflowError):
            where, message = self._elements.where(place), "is no step of a queue trace; left out"
            self.problems.append(Problem(severity="error", where=where, message=message))
            return
        name = clean(step.actor_instance_name)
        self._fired.setdefault(name, array("I")).append(len(self.steps) - 1)

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def _by_entry(self) -> dict[int, int]:
        return {step.journal_seq: index for index, step in enumerate(self.steps) if step.journal_seq is not None}

    def at_entry(self, seq: int) -> int | None:
        """The last step behind an entry of the journal, if a step was recorded there."""
        return self._by_entry.get(seq)

    def counts(self, count: int) -> dict[str, int]:
        """How often each actor fired in the first `count` steps, in the order in which they began."""
        found = {}
        for name, places in self._fired.items():
            before = bisect_left(places, count)
            if not before:
                break
            found[name] = self.steps[places[before - 1]].actor_fire_count
        return found

    def where(self, index: int) -> str:
        """The place of a step."""
        return self._elements.where(self.steps[index].place) if self._elements is not None else self.label

    def raw(self, index: int) -> bytes:
        """The text of a step."""
        return self._elements.raw(self.steps[index].place) if self._elements is not None else b""

    def sizes(self, index: int) -> Sequence[Size]:
        """The queues after step number `index` (from 0), in the trace's order: the top plan first."""
        try:
            return _sizes.decode(self.raw(index)).queue_sizes
        except _REFUSED:
            return list(self._readable(index))

    def _readable(self, index: int) -> Iterator[Size]:
        """The same where a token among them is no sound JSON (NaN, half a surrogate pair)."""
        value = self._elements[self.steps[index].place] if self._elements is not None else None
        sizes = value.get("queueSizes") if isinstance(value, dict) else None
        for size in sizes if isinstance(sizes, list) else ():
            token = size.pop("lastToken", None) if isinstance(size, dict) else None
            try:
                found = msgspec.convert(size, Size)
            except _REFUSED:
                continue
            if isinstance(token, str):
                found.last_token = msgspec.Raw(json.dumps(token))
            yield found

    def last_token(self, size: Size) -> Value:
        """The last token put on a queue, as wfpy shows it; NO_TOKEN where there was none."""
        if isinstance(size.last_token, msgspec.UnsetType):
            return NO_TOKEN
        try:
            return parse(bytes(memoryview(size.last_token)), Place(self.label), [])
        except Damaged:
            return NO_TOKEN


def segments(sizes: Sequence[Size]) -> list[list[str]]:
    """The queue ids of each plan in a step of the trace, the top plan's first. Plans are told apart by the
    workflow's name, and two instances of one workflow by ids that begin again."""
    found: list[list[str]] = []
    scope: str | None = None
    for size in sizes:
        queue_id = clean(size.queue_id)
        again = len(found) > 1 and found[-1][0] == queue_id
        if scope != size.scope or again:
            found.append([])
            scope = size.scope
        found[-1].append(queue_id)
    return found
