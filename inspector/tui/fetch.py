"""What the screen asks of a run, as functions over a RunSource: called in the loader's thread alone."""

import re
from collections.abc import Iterator, Sequence

from inspector.model.run import Record, State, Step
from inspector.model.source import RunSource
from inspector.tui import masking
from inspector.tui.columns import MARKS, Chunk, Filter, level
from inspector.tui.times import Timed, timed, took

DEEPEST = 12
"""Levels of nesting that are drawn; a ring of parents ends here too."""

CHUNK = 64
"""Steps per batch of a pass over the run: about a millisecond."""


class Nesting:
    """How deep each step is nested, found by following parents and kept while they are near."""

    def __init__(self, source: RunSource) -> None:
        self._source = source
        self._depths: dict[int, int] = {}

    def depth(self, step: Step) -> int:
        """0 for a step without a parent."""
        chain: list[int] = []
        at: Step | None = step
        while at is not None and at.seq not in self._depths and len(chain) < DEEPEST and at.seq not in chain:
            chain.append(at.seq)
            above = None if at.parent is None else self._source.steps(at.parent, at.parent + 1)
            at = above[0] if above else None
        found = -1 if at is None else self._depths.get(at.seq, DEEPEST)
        if len(self._depths) > 50_000:
            self._depths.clear()
        for seq in reversed(chain):
            found = min(found + 1, DEEPEST)
            self._depths[seq] = found
        return found


def rows(source: RunSource, nesting: Nesting, ranges: Sequence[tuple[int, int]]) -> dict[int, Timed]:
    """The steps of ranges (start, stop) with what their rows say."""
    found = {}
    for start, stop in ranges:
        before = None
        for step in source.steps(max(start - 1, 1), stop):
            if step.seq >= start:
                depth = nesting.depth(step) if step.parent is not None else 0
                found[step.seq] = timed(masking.step(step), before, depth)
            before = step
    return found


def chunk(source: RunSource, start: int, length: int = CHUNK) -> Chunk:
    """The columns of the steps from `start` on."""
    marks, times, before = bytearray(), bytearray(), None
    for step in source.steps(max(start - 1, 1), start + length):
        if step.seq >= start:
            marks.append(MARKS[step.kind, step.status])
            times.append(level(took(step, before)))
        before = step
    return Chunk(start, bytes(marks), bytes(times))


class Progress(Record, frozen=True, kw_only=True):
    """How far long work is: `done` of `total`, in bytes or steps, at `rate` a second."""

    done: int
    total: int
    rate: float = 0.0


def search(source: RunSource, text: str, start: int, backward: bool, filter: Filter) -> Iterator[int | tuple[int, int]]:
    """Hits of `RunSource.find` that a filter shows: from `start` to the end, then from the other end up to
    `start`; with the progress of each of the two passes."""
    last = len(source)
    if not 1 <= start <= last:
        start = last if backward else 1
    stop = start + 1 if backward else start - 1
    for begin, end in ((start, 1 if backward else last), (last if backward else 1, stop)):
        for item in source.find(text, begin, backward=backward):
            if isinstance(item, tuple):
                yield item
            elif (item < end) if backward else (item > end):
                break
            elif not filter or all(filter.accepts(step.kind, step.status) for step in source.steps(item, item + 1)):
                yield item


PLACE = r"(.*):\d+ byte (\d+)"


def step_behind(source: RunSource, where: str) -> int | None:
    """The first step whose record stands behind a place in the same file; one more than there are steps
    where none does, None where that cannot be told. Looks at as many records as halving takes."""
    place = re.fullmatch(PLACE, where)
    low, high = 1, len(source) + 1
    while place and low < high:
        middle = (low + high) // 2
        record = source.raw(middle)
        at = re.fullmatch(PLACE, record.where) if record else None
        if at is None or at[1] != place[1]:
            return None
        if int(at[2]) > int(place[2]):
            high = middle
        else:
            low = middle + 1
    return low if place else None


class States:
    """States by step, of which the last few are kept: a step forward has the one before at hand."""

    def __init__(self, source: RunSource) -> None:
        self._source = source
        self._kept: dict[int, State | None] = {}

    def at(self, step: int) -> State | None:
        """The state after `step`."""
        if step not in self._kept:
            while len(self._kept) >= 4:
                del self._kept[next(iter(self._kept))]
            self._kept[step] = self._source.state(step)
        return self._kept[step]
