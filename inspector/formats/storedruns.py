"""The runs of a store of durable runs: each a trace whose lines are rows."""

import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence

import msgspec

from inspector.errors import UsageError
from inspector.formats.files import File
from inspector.formats.sqlitefile import Database
from inspector.formats.tracerun import NAME, TraceRun
from inspector.model.records import Program
from inspector.model.run import Problem, Resume, Run, RunRow, SourceInfo
from inspector.model.source import RunSource
from inspector.model.stored import COLUMNS, StoredRun, from_columns, moment, row
from inspector.model.text import clean, one_line
from inspector.process import gone

Clock = Callable[[], int]

_STANDING = """CASE WHEN final = 1 THEN status
    WHEN token IS NOT NULL THEN CASE WHEN expires > ? THEN 'running' ELSE 'interrupted' END
    WHEN status = 'running' THEN 'interrupted' ELSE status END"""
"""StoredRun.standing, for the database to choose rows by."""


def milliseconds() -> int:
    """The time, by which leases are judged."""
    return int(time.time() * 1000)


class RowFile(File):
    """The journal of a run as if it were a file: its lines one behind the other. `look` has the database read
    anew where it changed."""

    def __init__(self, database: Database, number: int, path: str, label: str, look: Callable[[], object]) -> None:
        self.path, self.label, self.start = path, one_line(label), 0
        self.gaps = False
        """Whether lines are missing between others."""
        self._database, self._number, self._look = database, number, look
        self._fd = -1
        self._generation = -1
        self._load()

    def _load(self) -> None:
        self._generation = self._database.generation
        self._keys, self._ends = array("q"), array("Q")
        size = 0
        query = "SELECT begin, length(CAST(line AS BLOB)) FROM records WHERE run = ? ORDER BY begin"
        for begin, length in self._database.rows(query, (self._number,)):
            if not isinstance(begin, int) or not isinstance(length, int):
                continue
            self.gaps = self.gaps or begin != size
            size += length
            self._keys.append(begin)
            self._ends.append(size)
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        stop = min(offset + length, self.size)
        if offset >= stop:
            return b""
        first, last = bisect_right(self._ends, offset), bisect_right(self._ends, stop - 1)
        query = "SELECT CAST(line AS BLOB) FROM records WHERE run = ? AND begin BETWEEN ? AND ? ORDER BY begin"
        rows = self._database.rows(query, (self._number, self._keys[first], self._keys[last]))
        data = b"".join(line for (line,) in rows if isinstance(line, bytes))
        begin = self._ends[first - 1] if first else 0
        return data[offset - begin : stop - begin]

    def refresh(self) -> bool:
        before = self.size
        self._look()
        if self._generation != self._database.generation:
            self._load()
        return self.size != before

    def close(self) -> None:
        """Nothing: the database is the set's."""


class StoreRun(TraceRun):
    """A run of a store. How it stands is what its row says, and whose claim it is."""

    def __init__(
        self, file: RowFile, path: str, stored: StoredRun, find: Callable[[str], StoredRun | None], now: Clock
    ) -> None:
        self._find, self._now, self._rows = find, now, file
        self.stored = stored
        super().__init__(file, path)
        self.source = SourceInfo(path=one_line(path), format=NAME, version=f"store {self.header().format}")

    def run(self) -> Run:
        found, row = super().run(), self.stored
        status, reason = row.standing(self._now())
        return msgspec.structs.replace(
            found,
            id=clean(row.key),
            status=status,
            reason=reason,
            steps=found.steps if self.indexed else max(found.steps or 0, row.steps),
            ended=None if row.ended is None else moment(row.ended),
        )

    def writer(self) -> tuple[Program | None, str | None]:
        claim = self.stored.claim
        return super().writer() if claim is None else (claim.program, moment(claim.taken))

    def lives(self) -> bool:
        owner = self.stored.owner(self._now())
        return owner is not None and not gone(owner.program, owner.born)

    def resume(self) -> Resume:
        if self.run().kind not in ("agent", "dataflow"):
            return Resume(reasons=("not_resumable",))
        reasons = ("terminal",) if self.stored.final else ("owned",) if self.lives() else ()
        return Resume(possible=not reasons, driver=self.run().kind, reasons=reasons)

    def refresh(self) -> bool:
        before = self.run()
        changed = super().refresh()
        self.stored = self._find(self.stored.key) or self.stored
        return changed or self.run() != before

    def problems(self) -> Sequence[Problem]:
        if not self._rows.gaps:
            return super().problems()
        message = "lines of its journal are missing: what follows them may not be what followed"
        return [*super().problems(), Problem(severity="error", where=self.file.label, message=message)]

    def journal(self) -> bytes:
        """All its lines."""
        return self.file.read(0, self.file.size)


class Runs:
    """The RunSet of a store. Rows are read when they are asked for: all for a list, one for a run."""

    def __init__(self, path: str, database: Database, now: Clock = milliseconds) -> None:
        self._path, self._database, self._now = path, database, now
        self.source = SourceInfo(path=one_line(path), format=NAME, version="store")
        self._forget()

    def _forget(self) -> None:
        self._generation = self._database.generation
        self._all: list[StoredRun] | None = None
        self._problems: list[Problem] = []

    def _read(self, where: str = "1", *given: str | int) -> list[tuple[int, StoredRun]]:
        query = f"SELECT no, {', '.join(COLUMNS)} FROM runs WHERE {where} ORDER BY no"
        found = []
        for number, *values in self._database.rows(query, given):
            try:
                found.append((number, from_columns(values)))
            except (ValueError, TypeError, RecursionError) as error:
                place = f"{self._database.label}: runs {number}"
                problem = Problem(severity="error", where=place, message=clean(f"a damaged row: {error}"))
                if problem not in self._problems:
                    self._problems.append(problem)
        return found

    def _runs(self) -> list[StoredRun]:
        if self._all is None:
            self._all = [found for _, found in self._read()]
        return self._all

    def rows(self) -> Sequence[RunRow]:
        now = self._now()
        return [_row(found, now) for found in self._runs()]

    def some(self, status: str | None, name: str | None) -> Sequence[RunRow]:
        """The rows that are so."""
        terms, given, now = ["1"], list[str | int](), self._now()
        if status is not None:
            terms.append(f"{_STANDING} = ?")
            given += [now, status]
        if name is not None:
            terms.append("(name = ? OR name GLOB '*[^ -~]*')")  # of the others, only what is shown can be compared
            given.append(name)
        rows = [_row(found, now) for _, found in self._read(" AND ".join(terms), *given)]
        return [row for row in rows if status in (None, row.status) and name in (None, row.name)]

    def open(self, run_id: str | None = None) -> RunSource:
        known = [] if run_id is None else self._read("key = ?", run_id) or self._read("id = ?", run_id)
        if not known:
            names = [clean(found.key) for found in self._runs()]
            if run_id is None and len(names) != 1:
                raise UsageError(self._path, f"holds {len(names)} runs: choose one with --run")
            shown = names[0] if run_id is None else run_id
            known = [item for item in self._read() if clean(item[1].key) == shown]
            if not known:
                listed = ", ".join(names[-10:])
                raise UsageError(self._path, f"holds no run {run_id!r}; it holds {listed or 'none'}")
        number, found = known[0]
        label = f"{self._database.label}: {clean(found.key)}"
        file = RowFile(self._database, number, self._path, label, self.refresh)
        return StoreRun(file, self._path, found, self._find, self._now)

    def _find(self, key: str) -> StoredRun | None:
        found = self._read("key = ?", key)
        return found[0][1] if found else None

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


def _row(found: StoredRun, now: int) -> RunRow:
    told = row(found, now)
    if all(text is None or (text.isascii() and text.isprintable()) for text in (told.id, told.name, told.reason)):
        return told  # as nearly always
    reason = None if told.reason is None else clean(told.reason)
    name = None if told.name is None else clean(told.name)
    return msgspec.structs.replace(told, id=clean(told.id), name=name, reason=reason)
