"""The steps of a queue trace as columns: a large trace has as many as its run has firings."""

from array import array

import msgspec

from inspector.model.lazy import Lazy
from inspector.model.text import clean

NONE = -(1 << 63)
"""Stands in a column for no number."""


class TraceStep(msgspec.Struct, rename="camel"):
    """One top-level firing; `place` is where it stands in the trace, from 0."""

    step: int = 0
    actor_instance_name: str = ""
    actor_kind: str = ""
    actor_fire_count: int = 0
    journal_seq: int | None = None
    replayed: bool = False
    place: int = 0


class TraceSteps(Lazy[TraceStep]):
    """The steps, each made when it is looked at, at some forty bytes."""

    def __init__(self) -> None:
        self._numbers, self._fired, self._seqs = array("q"), array("q"), array("q")
        self._names, self._kinds, self._places = array("I"), array("I"), array("I")
        self._replayed = bytearray()
        self._texts: list[str] = []
        self._known: dict[str, int] = {}

    def append(self, step: TraceStep) -> None:
        """Takes in the next. Raises OverflowError, and takes in nothing, where a number is too large."""
        seq = NONE if step.journal_seq is None else step.journal_seq
        array("q", (step.step, step.actor_fire_count, seq))
        self._numbers.append(step.step)
        self._fired.append(step.actor_fire_count)
        self._seqs.append(seq)
        self._names.append(self._text(step.actor_instance_name))
        self._kinds.append(self._text(step.actor_kind))
        self._places.append(step.place)
        self._replayed.append(step.replayed)

    def _text(self, text: str) -> int:
        number = self._known.get(text)
        if number is None:
            number = self._known[text] = len(self._texts)
            self._texts.append(clean(text))
        return number

    def __len__(self) -> int:
        return len(self._numbers)

    def item(self, at: int) -> TraceStep:
        seq = self._seqs[at]
        return TraceStep(
            self._numbers[at],
            self._texts[self._names[at]],
            self._texts[self._kinds[at]],
            self._fired[at],
            None if seq == NONE else seq,
            bool(self._replayed[at]),
            self._places[at],
        )
