"""The runs of a store of durable runs. Only what is shown is read: of a list the lines that are asked for, of a run
what it takes to find it."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from inspector.errors import UsageError
from inspector.formats.problems import Problems
from inspector.formats.sqlitefile import Database
from inspector.model.run import Problem, RunRow, SourceInfo
from inspector.model.source import RunSource
from inspector.model.stored import COLUMNS, LISTED, StoredRun, from_columns, listed
from inspector.model.text import clean, one_line
from inspector.process import gone

_CLAIMED = "final = 0 AND token IS NOT NULL AND expires > ?"
_STANDING = """CASE WHEN final = 1 THEN status WHEN token IS NOT NULL THEN 'interrupted'
    WHEN status = 'running' THEN 'interrupted' ELSE status END"""
"""How a run stands whose claim, if it has one, does not hold: for the database to choose rows by."""
NAMED = 10
"""How many runs are named to whoever asks for one that there is not."""


def milliseconds() -> int:
    """The time, by which leases are judged."""
    return int(time.time() * 1000)


class Runs:
    """The RunSet of a store."""

    def __init__(self, path: str, database: Database, now: Callable[[], int] = milliseconds) -> None:
        self._path, self._database, self._now = path, database, now
        self.source = SourceInfo(path=one_line(path), format="runinspect", version="store")
        self._forget()

    def _forget(self) -> None:
        self._generation = self._database.generation
        self._all: list[Sequence[Any]] | None = None
        self._problems = Problems()

    def _asked(self, columns: Sequence[str], rest: str, *given: str | int) -> Iterator[Sequence[Any]]:
        return self._database.rows(f"SELECT {', '.join(('no', *columns))} FROM runs {rest}", given)

    def _damaged(self, number: object, error: Exception) -> None:
        place = f"{self._database.label}: runs {number}"
        self._problems.append(Problem(severity="error", where=place, message=clean(f"a damaged row: {error}")))

    def _lines(self, rows: Iterable[Sequence[Any]], now: int) -> Iterator[RunRow]:
        for number, *values in rows:
            try:
                yield _cleaned(listed(values, now, gone))
            except (ValueError, TypeError, RecursionError) as error:
                self._damaged(number, error)

    def rows(self) -> Sequence[RunRow]:
        if self._all is None:
            self._all = list(self._asked(LISTED, "ORDER BY no"))
        return list(self._lines(self._all, self._now()))

    def some(self, status: str | None, name: str | None, limit: int | None = None) -> Sequence[RunRow]:
        terms, given, now = ["1"], list[str | int](), self._now()
        if status in ("running", "interrupted"):
            # Whether the holder of a claim is gone, the database cannot tell.
            terms.append(f"({_STANDING} = ? OR {_CLAIMED})")
            given += [status, now]
        elif status is not None:
            terms.append(f"{_STANDING} = ?")
            given.append(status)
        if name is not None:
            terms.append("(name = ? OR name GLOB '*[^ -~]*')")  # of the others, only what is shown can be compared
            given.append(name)
        found = list[RunRow]()
        newest_first = self._asked(LISTED, f"WHERE {' AND '.join(terms)} ORDER BY no DESC", *given)
        for row in self._lines(newest_first, now):
            if limit is not None and len(found) >= limit:
                break
            if status in (None, row.status) and name in (None, row.name):
                found.append(row)
        return found[::-1]

    def open(self, run_id: str | None = None) -> RunSource:
        number = self._number(run_id)
        stored = self._row("no = ?", number)
        if stored is None:
            raise UsageError(self._path, self._problems[-1].message if self._problems else "the run is gone")
        from inspector.formats.storedrun import RowFile, StoreRun

        label = f"{self._database.label}: {clean(stored.key)}"
        file = RowFile(self._database, number, self._path, label, self.refresh)
        return StoreRun(file, self._path, stored, lambda key: self._row("key = ?", key), self._now)

    def _number(self, run_id: str | None) -> int:
        """The row of the run that is meant. Raises UsageError."""
        if run_id is None:
            rows = list(self._asked((), "ORDER BY no LIMIT 2"))
        else:
            rows = list(self._asked((), "WHERE key = ? LIMIT 1", run_id))
            rows = rows or list(self._asked((), "WHERE id = ? ORDER BY no LIMIT 1", run_id))
            if not rows:
                every = self._asked(("key",), "ORDER BY no")
                rows = [row for row in every if isinstance(row[1], str) and clean(row[1]) == run_id][:1]
        if len(rows) == 1:
            if not isinstance(number := rows[0][0], int):  # whoever made the table did not say that it is one
                raise UsageError(self._path, "the run is damaged: its number is none")
            return number
        if run_id is None:
            count = sum(1 for _ in self._asked((), ""))
            raise UsageError(self._path, f"holds {count} runs: choose one with --run")
        newest = [clean(str(key)) for _, key in self._asked(("key",), f"ORDER BY no DESC LIMIT {NAMED}")]
        more = "; it is damaged, and others may be lost" if self.problems() else ""
        raise UsageError(self._path, f"holds no run {run_id!r}; it holds {', '.join(newest[::-1]) or 'none'}{more}")

    def _row(self, where: str, value: str | int) -> StoredRun | None:
        for number, *values in self._asked(COLUMNS, f"WHERE {where} LIMIT 1", value):
            try:
                return from_columns(values)
            except (ValueError, TypeError, RecursionError) as error:
                self._damaged(number, error)
        return None

    def problems(self) -> Sequence[Problem]:
        return [*self._database.problems, *self._problems]

    def refresh(self) -> bool:
        before = self.rows() if self._all is not None else None
        self._database.refresh()
        if self._generation != self._database.generation:
            self._forget()
        return before is not None and list(before) != list(self.rows())

    def close(self) -> None:
        self._database.close()


def _cleaned(told: RunRow) -> RunRow:
    texts = {name: getattr(told, name) for name in ("id", "name", "reason", "thread", "turn")}
    if all(text is None or (text.isascii() and text.isprintable()) for text in texts.values()):
        return told  # as nearly always
    return replace(told, **{name: None if text is None else clean(text) for name, text in texts.items()})
