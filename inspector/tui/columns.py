"""The whole run in two bytes a step: what each step is and how long it took.

Made by one pass over the steps in the background, it answers what no single page of steps can: which
steps a filter shows, where the next failure is, and where the time went. Times are kept on a scale of
seven to a doubling, so within a tenth: enough for a bar.
"""

from array import array
from itertools import compress, pairwise
from math import log2
from typing import get_args

from msgspec import Struct

from inspector.model.run import Record, StepKind, StepStatus

KINDS: tuple[StepKind, ...] = get_args(StepKind)
STATUSES: tuple[StepStatus, ...] = get_args(StepStatus)
ODD: tuple[StepStatus, ...] = ("failed", "pending", "running")
"""Statuses at which somebody may want to stop."""

SMALLEST = 1e-6
PER_DOUBLING = 7
BLOCK = 256
"""Steps of which sums are kept, so that a picture of a long run costs little."""

SECONDS = [0.0, *(SMALLEST * 2 ** (level / PER_DOUBLING) for level in range(255))]


class Filter(Record, frozen=True, kw_only=True):
    """Which steps are shown: those of any of these kinds and statuses; an empty tuple lets all pass."""

    kinds: tuple[StepKind, ...] = ()
    statuses: tuple[StepStatus, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds or self.statuses)

    def accepts(self, kind: StepKind, status: StepStatus) -> bool:
        """Whether a step is shown."""
        return (not self.kinds or kind in self.kinds) and (not self.statuses or status in self.statuses)

    def table(self) -> bytes:
        """For `bytes.translate`: 1 where a step's mark is let through."""
        return bytes(
            mark < len(KINDS) * len(STATUSES)
            and self.accepts(KINDS[mark // len(STATUSES)], STATUSES[mark % len(STATUSES)])
            for mark in range(256)
        )


class Chunk(Struct, frozen=True):
    """The columns of the steps from `start` on."""

    start: int
    marks: bytes
    times: bytes


class Bucket(Struct, frozen=True):
    """A stretch of the run: its steps, seconds, and how many failed or are open."""

    steps: int
    seconds: float
    failed: int
    open: int


MARKS: dict[tuple[StepKind, StepStatus], int] = {
    (kind, status): place * len(STATUSES) + number
    for place, kind in enumerate(KINDS)
    for number, status in enumerate(STATUSES)
}
"""A step's byte."""


def level(seconds: float | None) -> int:
    """A duration's byte: 0 where it is unknown or none."""
    if seconds is None or seconds < SMALLEST:
        return 0
    return min(round(log2(seconds / SMALLEST) * PER_DOUBLING) + 1, 255)


def _table(*statuses: StepStatus) -> bytes:
    return Filter(statuses=statuses).table()


ODD_TABLE = _table(*ODD)
FAILED_TABLE = _table("failed")
OPEN_TABLE = _table("pending", "running")


class Columns:
    """The columns of steps 1 to `len`."""

    def __init__(self) -> None:
        self.version = 0
        """Changes with what is known."""
        self._marks = bytearray()
        self._times = bytearray()
        self._seconds, self._failed, self._open = array("d"), array("I"), array("I")  # of each whole block
        self._longest = 0

    def __len__(self) -> int:
        return len(self._marks)

    def put(self, chunk: Chunk) -> None:
        """Take in a chunk; what was known from its start on is forgotten."""
        self.version += 1
        at = chunk.start - 1
        del self._marks[at:], self._times[at:]
        for sums in (self._seconds, self._failed, self._open):
            del sums[at // BLOCK :]
        self._marks += chunk.marks
        self._times += chunk.times
        self._longest = max(self._longest if at else 0, max(chunk.times, default=0))
        while (begin := len(self._seconds) * BLOCK) + BLOCK <= len(self._marks):
            block = self._sum(begin, begin + BLOCK)
            self._seconds.append(block.seconds)
            self._failed.append(block.failed)
            self._open.append(block.open)

    def cut(self, length: int) -> None:
        """Forget the steps after `length`."""
        self.put(Chunk(length + 1, b"", b""))

    @property
    def longest(self) -> float:
        """The longest duration that was seen, in seconds."""
        return SECONDS[self._longest]

    def odd(self, seq: int, direction: int) -> int | None:
        """The nearest step after (1) or before (-1) `seq` that failed or is open."""
        found = bytes(self._marks).translate(ODD_TABLE)
        at = found.find(1, seq) if direction > 0 else found.rfind(1, 0, max(seq - 1, 0))
        return None if at < 0 else at + 1

    def matching(self, filter: Filter, start: int = 1) -> "array[int]":
        """The steps from `start` on that a filter shows."""
        shown = bytes(self._marks[start - 1 :]).translate(filter.table())
        return array("Q", compress(range(start, start + len(shown)), shown))

    def counts(self) -> dict[tuple[StepKind, StepStatus], int]:
        """How many steps there are of each kind and status."""
        numbers = {key: self._marks.count(mark) for key, mark in MARKS.items()}
        return {key: number for key, number in numbers.items() if number}

    def overview(self, width: int, total: int) -> list[Bucket]:
        """The run of `total` steps in `width` stretches of equal length, as far as it is known; fewer where
        there are fewer steps."""
        width = min(width, total)
        edges = [total * column // width for column in range(width + 1)] if width else [0]
        whole = total > BLOCK * width
        return [self._blocked(begin, end) if whole else self._sum(begin, end) for begin, end in pairwise(edges)]

    def _sum(self, begin: int, end: int) -> Bucket:
        marks = bytes(self._marks[begin:end])
        seconds = sum(map(SECONDS.__getitem__, self._times[begin:end]))
        return Bucket(len(marks), seconds, sum(marks.translate(FAILED_TABLE)), sum(marks.translate(OPEN_TABLE)))

    def _blocked(self, begin: int, end: int) -> Bucket:
        blocks = slice(begin // BLOCK, end // BLOCK)
        steps, last = len(self._seconds[blocks]) * BLOCK, len(self._seconds) * BLOCK
        rest = Bucket(0, 0.0, 0, 0)
        if begin < len(self._marks) <= end or (last <= begin < len(self._marks)):
            rest = self._sum(max(last, begin), len(self._marks))
        return Bucket(
            steps + rest.steps,
            sum(self._seconds[blocks]) + rest.seconds,
            sum(self._failed[blocks]) + rest.failed,
            sum(self._open[blocks]) + rest.open,
        )
