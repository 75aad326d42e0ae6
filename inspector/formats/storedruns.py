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

    def __init__(self, file: RowFile, path: str, key: str, find: Callable[[str], StoredRun | None], now: Clock) -> None:
        self._find, self._now, self._key, self._rows = find, now, key, file
        found = find(key)
        assert found is not None
        self.stored = found
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
            steps=max(found.steps, row.steps) if not self.indexed else found.steps,
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
        self.stored = self._find(self._key) or self.stored
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
    """The RunSet of a store."""

    def __init__(self, path: str, database: Database, now: Clock = milliseconds) -> None:
        self._path, self._database, self._now = path, database, now
        self.source = SourceInfo(path=one_line(path), format=NAME, version="store")
        self._load()

    def _load(self) -> None:
        self._generation = self._database.generation
        self._runs: dict[str, tuple[int, StoredRun]] = {}
        self._problems: list[Problem] = []
        for number, *values in self._database.rows(f"SELECT no, {', '.join(COLUMNS)} FROM runs ORDER BY no"):
            try:
                found = from_columns(values)
            except (ValueError, TypeError, RecursionError) as error:
                where = f"{self._database.label}: runs {number}"
                self._problems.append(Problem(severity="error", where=where, message=clean(f"a damaged row: {error}")))
                continue
            self._runs[clean(found.key)] = (number, found)

    def rows(self) -> Sequence[RunRow]:
        now = self._now()
        return [self._row(found, now) for _, found in self._runs.values()]

    def _row(self, found: StoredRun, now: int) -> RunRow:
        told = row(found, now)
        return msgspec.structs.replace(
            told,
            id=clean(told.id),
            name=None if told.name is None else clean(told.name),
            reason=None if told.reason is None else clean(told.reason),
        )

    def open(self, run_id: str | None = None) -> RunSource:
        if run_id is None and len(self._runs) == 1:
            run_id = next(iter(self._runs))
        if run_id is None:
            raise UsageError(self._path, f"holds {len(self._runs)} runs: choose one with --run")
        shown = clean(run_id)
        if shown not in self._runs:
            shown = next((key for key, (_, found) in self._runs.items() if found.id == run_id), shown)
        if shown not in self._runs:
            names = ", ".join(list(self._runs)[-10:])
            raise UsageError(self._path, f"holds no run {run_id!r}; it holds {names or 'none'}")
        number, _ = self._runs[shown]
        file = RowFile(self._database, number, self._path, f"{self._database.label}: {shown}", self.refresh)
        return StoreRun(file, self._path, shown, self._find, self._now)

    def _find(self, key: str) -> StoredRun | None:
        found = self._runs.get(key)
        return None if found is None else found[1]

    def problems(self) -> Sequence[Problem]:
        return [*self._database.problems, *self._problems]

    def refresh(self) -> bool:
        before = self.rows()
        self._database.refresh()
        if self._generation != self._database.generation:
            self._load()
        return list(before) != list(self.rows())

    def close(self) -> None:
        self._database.close()
