"""Which span stands in which: the parents of a trace's spans, without rings and without those that are not
in the file."""

from collections.abc import Sequence

from inspector.formats.readers.opentelemetry.units import SpanFile
from inspector.model.run import Problem

WALKED = 200_000
"""Spans of a trace up to which all parents are looked at once; above, one by one when they are shown."""


class Parents:
    """The parents of the spans at `rows`, a trace of `file`; `problems` says what is wrong with them."""

    def __init__(self, file: SpanFile, rows: Sequence[int]) -> None:
        self._file = file
        self.problems: list[Problem] = []
        self._above: dict[int, int] | None = None
        if len(rows) <= WALKED:
            self._above = self._all(rows)
            for ring in _rings(self._above):
                self._part(ring)

    def above(self, row: int) -> int | None:
        """The row of a span's parent, None where it has none or none is known."""
        if self._above is not None:
            return self._above.get(row)
        file = self._file
        found = file.row_of(file.parents[row], row) if file.parents[row] else None
        return found if found is not None and found != row and file.trace[found] == file.trace[row] else None

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
