"""Which span stands in which: the parents of a trace's spans, without rings and without those that are not
in the file."""

from collections.abc import Sequence

from inspector.formats.linefile import BROKEN
from inspector.formats.readers.opentelemetry.units import SpanFile
from inspector.model.run import Problem

WALKED = 200_000
"""Spans of a trace up to which all parents are looked at once; above, one by one when they are shown."""
REMEMBERED = 4096
"""Parents that are remembered where they are looked at one by one: neighbours share theirs, and one that stands far
away costs a walk over the ids of the file."""
ALIKE = 8
"""Spans of one id and the same times with which another is compared."""


class Parents:
    """The parents of the spans at `rows`, a trace of `file`; `problems` says what is wrong with them. `again`
    are rows that were left out."""

    def __init__(self, file: SpanFile, rows: Sequence[int], again: Sequence[int] = ()) -> None:
        self._file = file
        self.problems: list[Problem] = []
        self._above: dict[int, int] | None = None
        self._found: dict[tuple[int, int], int | None] = {}
        if len(rows) <= WALKED:
            self._above = self._all(rows)
            for ring in _rings(self._above):
                self._part(ring)
        if again:
            spans = "a span stands" if len(again) == 1 else f"{len(again)} spans stand"
            self._note(
                again[0], f"{spans} in the file once more, as an exporter that tries again leaves them: left out"
            )

    def above(self, row: int) -> int | None:
        """The row of a span's parent, None where it has none or none is known."""
        if self._above is not None:
            return self._above.get(row)
        file, key = self._file, (self._file.trace[row], self._file.parents[row])
        if key not in self._found:
            if len(self._found) >= REMEMBERED:
                self._found.clear()
            self._found[key] = file.row_of(key[1], row) if key[1] else None
        found = self._found[key]
        return found if found is not None and found != row and file.trace[found] == key[0] else None

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


def once(file: SpanFile, rows: Sequence[int]) -> tuple[list[int], list[int]]:
    """The rows without those of spans that stand in the file before, and those: the same span in all it says.
    Another span of the same id is none of them. Very large traces are not looked at."""
    if len(rows) > WALKED or len({file.ids[row] for row in rows}) == len(rows):
        return list(rows), []
    kept, again = [], []
    known: dict[tuple[int, int, int, int], list[int]] = {}
    for row in rows:
        key = (file.ids[row], file.parents[row], file.begins[row], file.ends[row])
        before = known.setdefault(key, [])
        if any(_same(file, other, row) for other in before[:ALIKE]):
            again.append(row)
        else:
            before.append(row)
            kept.append(row)
    return kept, again


def _same(file: SpanFile, one: int, other: int) -> bool:
    try:
        return file.span(one) == file.span(other)
    except BROKEN:
        return False


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
