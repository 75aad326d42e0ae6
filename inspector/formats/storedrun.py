"""One run of a store: a trace whose lines are rows."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import msgspec

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.largevalues import Apart
from inspector.formats.sqlitefile import Database
from inspector.formats.tracerun import NAME, TraceRun
from inspector.model.records import Program
from inspector.model.run import Problem, Resume, Run, SourceInfo
from inspector.model.stored import StoredRun, moment
from inspector.model.text import clean, one_line
from inspector.process import gone


class Rows:
    """The large values of a run of a store."""

    def __init__(self, database: Database, number: int, label: str) -> None:
        self._database, self._number, self.label = database, number, label

    def digests(self) -> Iterator[str]:
        if "large" in self._database.tables:
            query = "SELECT digest FROM large WHERE run = ? ORDER BY digest"
            found = self._database.rows(query, (self._number,))
            yield from [digest for (digest,) in found if isinstance(digest, str)]

    def read(self, digest: str, length: int | None) -> bytes:
        query = "SELECT data FROM large WHERE run = ? AND digest = ?"
        rows = self._database.rows(query, (self._number, digest)) if "large" in self._database.tables else ()
        for (data,) in rows:
            if isinstance(data, bytes):
                return data if length is None else data[:length]
        raise UnreadableError(self.label, "is not in the store")


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
        self._keys, self._ends = array("q"), array("Q")
        self._load()

    def _load(self) -> None:
        self._generation = self._database.generation
        if not self._goes_on():
            self._keys, self._ends, self.gaps = array("q"), array("Q"), False
        size, known = (self._ends[-1], self._keys[-1]) if self._ends else (0, -1 << 63)
        for begin, length in self._lines("begin > ?", known):
            self.gaps = self.gaps or begin != size
            size += length
            self._keys.append(begin)
            self._ends.append(size)
        self.size = size

    def _goes_on(self) -> bool:
        """Whether the first and the last line that are known are there still: then lines were added at most, and those
        alone are looked at."""
        places = sorted({0, len(self._ends) - 1}) if self._ends else ()
        told = [(self._keys[at], self._ends[at] - (self._ends[at - 1] if at else 0)) for at in places]
        return [line for key, _ in told for line in self._lines("begin = ?", key)] == told

    def _lines(self, which: str, key: int) -> Iterator[tuple[int, int]]:
        """Where lines begin, and their lengths."""
        # The length of what is no text SQLite knows without reading it.
        length = "CASE typeof(line) WHEN 'blob' THEN length(line) ELSE length(CAST(line AS BLOB)) END"
        query = f"SELECT begin, {length} FROM records WHERE run = ? AND {which} ORDER BY begin"
        for begin, found in self._database.rows(query, (self._number, key)):
            if isinstance(begin, int) and isinstance(found, int):
                yield begin, found

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

    def large(self) -> Rows:
        """The large values of the run."""
        return Rows(self._database, self._number, self.label)

    def refresh(self) -> bool:
        before = self.size
        self._look()
        if self._generation != self._database.generation:
            self._load()
        return self.size != before

    def close(self) -> None:
        """Nothing: the database is the set's."""


class StoreRun(TraceRun):
    """A run of a store. What it is and how it stands its row says, also where its journal is damaged."""

    def __init__(
        self,
        file: RowFile,
        path: str,
        stored: StoredRun,
        find: Callable[[str], StoredRun | None],
        now: Callable[[], int],
    ) -> None:
        self._find, self._now, self._rows = find, now, file
        self.stored = stored
        super().__init__(file, path)
        self.source = SourceInfo(path=one_line(path), format=NAME, version=f"store {self.header().format}")

    def apart(self) -> Apart:
        return self._rows.large()

    def run(self) -> Run:
        found, row = super().run(), self.stored
        status, reason = row.standing(self._now(), gone=not self.lives())
        return msgspec.structs.replace(
            found,
            id=clean(row.key),
            name=found.name if row.name is None else clean(row.name),
            kind=row.kind,
            started=found.started or moment(row.created),
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

    def over(self) -> str | None:
        return "terminal" if self.stored.final else "owned" if self.lives() else None

    def resume(self) -> Resume:
        found = super().resume()
        if found.possible and not self.whole:
            return msgspec.structs.replace(found, possible=False, reasons=("value_unreadable",))
        return found

    @property
    def whole(self) -> bool:
        """Whether all lines of its journal are there."""
        return not self._rows.gaps and self._rows.size >= self.stored.size

    def refresh(self) -> bool:
        before = self.run()
        changed = super().refresh()
        self.stored = self._find(self.stored.key) or self.stored
        return changed or self.run() != before

    def problems(self) -> Sequence[Problem]:
        if self.whole:
            return super().problems()
        message = "lines of its journal are missing: what follows them may not be what followed"
        return [*super().problems(), Problem(severity="error", where=self.file.label, message=message)]

    def journal(self) -> bytes:
        """All its lines."""
        return self.file.read(0, self.file.size)
