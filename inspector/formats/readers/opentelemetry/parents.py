"""Which span stands in which: the parents of a trace's spans, without rings and without those that are not
in the file."""

from array import array
from collections.abc import Sequence
from functools import cached_property

from msgspec.structs import replace

from inspector.formats.linefile import BROKEN
from inspector.formats.readers.opentelemetry.units import UNKNOWN, SpanFile
from inspector.model.run import Problem

WALKED = 200_000
"""Spans of a trace up to which all parents are looked at once; above, one by one when they are shown."""
SCATTER = 0x9E3779B97F4A7C15
"""Ids are often counted up, in their first digits or in their last: multiplied by this they are scattered."""
ALIKE = 8
"""Spans of one id and the same times with which another is compared."""


class Parents:
    """The parents of the spans at `rows`, a trace of `file`; `problems` says what is wrong with them. `again`
    are rows that were left out."""

    def __init__(self, file: SpanFile, rows: Sequence[int], again: Sequence[int] = ()) -> None:
        self._file = file
        self.problems: list[Problem] = []
        self._above: dict[int, int] | None = None
        self._rows = rows
        if len(rows) <= WALKED:
            self._above = self._all(rows)
            for ring in _rings(self._above):
                self._part(ring)
        if again:
            spans = "a span stands" if len(again) == 1 else f"{len(again)} spans stand"
            self._note(
                again[0], f"{spans} in the file once more, as an exporter that tries again leaves them: left out"
            )

    @cached_property
    def _table(self) -> "Table":
        return Table(self._file.ids, self._rows)

    def above(self, row: int) -> int | None:
        """The row of a span's parent, None where it has none or none is known."""
        if self._above is not None:
            return self._above.get(row)
        found = self._table.row(parent) if (parent := self._file.parents[row]) else None
        return found if found != row else None

    def _all(self, rows: Sequence[int]) -> dict[int, int]:
        file = self._file
        places: dict[int, int] = {}
        for row in rows:
            places.setdefault(file.ids[row], row)
        above: dict[int, int] = {}
        lost = []
        for row in rows:
            if parent := file.parents[row]:
                if parent in places:
                    above[row] = places[parent]
                else:
                    lost.append(row)
        if lost:
            spans = "a span names" if len(lost) == 1 else f"{len(lost)} spans name"
            self._note(min(lost), f"{spans} a parent that is not in the file: it was not exported, or never ended")
        twice = len(rows) - len(places)
        if twice:
            self._note(rows[0], f"{twice} spans have an id that another span of the trace has too")
        return above

    def _part(self, ring: list[int]) -> None:
        assert self._above is not None
        words = "a span is its own parent" if len(ring) == 1 else f"{len(ring)} spans are each other's parents"
        for row in ring:
            del self._above[row]
            self._note(row, f"{words}: it is shown as if it had none")

    def _note(self, row: int, message: str) -> None:
        where = str(self._file.line_of(row))
        self.problems.append(Problem(severity="warning", where=where, message=message))


class Table:
    """The rows of a trace by the id of their span, at some eight bytes a row. Of rows of one id it has the first."""

    def __init__(self, ids: "array[int]", rows: Sequence[int]) -> None:
        self._ids = ids
        bits = (len(rows) * 3 // 2).bit_length()
        self._shift, self._mask = 64 - bits, (1 << bits) - 1
        self._slots = array("I", bytes(4 << bits))
        for row in rows:
            at = self._slot(ids[row])
            if not self._slots[at]:
                self._slots[at] = row + 1

    def row(self, number: int) -> int | None:
        """The row of an id; None where the trace has none."""
        row = self._slots[self._slot(number)]
        return row - 1 if row else None

    def _slot(self, number: int) -> int:
        """The slot in which an id stands, or would."""
        ids, slots, mask = self._ids, self._slots, self._mask
        at = (number * SCATTER & (1 << 64) - 1) >> self._shift
        while (row := slots[at]) and ids[row - 1] != number:
            at = at + 1 & mask
        return at


def once(file: SpanFile, rows: Sequence[int]) -> tuple[list[int], list[int]]:
    """The rows without those of spans that stand in the file once more, and those: the same span in all it says, or
    before it had an end, under whatever resource. Another span of the same id is none of them. Very large traces are
    not looked at."""
    if len(rows) > WALKED or len({file.ids[row] for row in rows}) == len(rows):
        return list(rows), []
    again: list[int] = []
    known: dict[tuple[int, int, int], list[int]] = {}
    for row in rows:
        before = known.setdefault((file.ids[row], file.parents[row], file.begins[row]), [])
        at = next((at for at, other in enumerate(before[:ALIKE]) if _same(file, other, row)), None)
        if at is None:
            before.append(row)
        elif file.ends[before[at]] == UNKNOWN:
            again.append(before[at])
            before[at] = row
        else:
            again.append(row)
    left = set(again)
    return [row for row in rows if row not in left], again


def _same(file: SpanFile, one: int, other: int) -> bool:
    try:
        left, right = file.span(one), file.span(other)
    except BROKEN:
        return False
    if (left.end is None) != (right.end is None):
        return left.name == right.name
    return left == replace(right, resource=left.resource, scope=left.scope)


def _rings(above: dict[int, int]) -> list[list[int]]:
    """The rings among links that lead from a row to another, each found once."""
    found, done = [], set[int]()
    for row in above:
        path: list[int] = []
        places: dict[int, int] = {}
        step: int | None = row
        while step is not None and step not in done:
            if step in places:
                found.append(path[places[step] :])
                break
            places[step] = len(path)
            path.append(step)
            step = above.get(step)
        done.update(path)
    return found
