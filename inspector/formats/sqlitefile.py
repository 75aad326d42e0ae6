"""SQLite databases, looked at without touching them.

Opening one in place can create `-wal` and `-shm`, fold a log that is evidence, or show an old state
(`immutable` ignores the log). So the files are copied to a private folder and the copy is opened (see
`sqlitecopy`). Only a large database without a log, or one that cannot be copied anywhere, is read in
place, as `immutable`, which neither locks nor writes. The copy of a large one that is being written to is kept,
so that only the log is copied again as long as nobody folds it into the main file. Of a damaged one, what can
be read is put into a sound database first (see `sqlitesalvage`), so that no reader has to care.
"""

import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.sqlitecopy import Stamp, copy, copy_log, logs, stamp
from inspector.formats.sqlitefolder import private_folder
from inspector.formats.sqlitekeys import Keys
from inspector.formats.sqlitelog import untaken
from inspector.formats.sqlitesalvage import quoted, salvage
from inspector.model.run import Problem
from inspector.model.text import one_line

COPY_LIMIT = 1 << 30
"""Bytes up to which a database without a log is copied; above, it is read in place."""
CHECK_LIMIT = 64 << 20
"""Bytes up to which the whole database is checked for damage at opening; above, only what is read."""
KEEP_SIZE = 4 << 20
"""Bytes from which on the copy of a main file beside a log keeps its name, to be used again."""
CELL_LIMIT = 1 << 28
"""Bytes of the longest cell that is read."""
QUERY_SECONDS = 60.0
"""How long SQLite may work for the rows of one query."""
OPEN_SECONDS = 5.0
"""How long a database may be checked, and a damaged one read, at opening: damage can send SQLite in circles."""
SETTLED_NS = 1_000_000_000
"""A log that was last written to so long ago is not being written to."""
BATCH = 64


class Database:
    """A private view of a SQLite file. `tables` maps each ordinary table to its columns, in order, without
    those that are computed. `file` is what was opened at `path`, for what can be read only once (stdin, a
    pipe); `generation` counts how often a change was taken in. Raises UnreadableError when nothing can be
    read of it."""

    def __init__(self, path: str, file: File | None = None) -> None:
        self.path = path
        self.label = one_line(file.label if file else os.path.basename(path) or path)
        self._base = os.path.realpath(path)
        self._file = None if file is None or os.path.isfile(self._base) else file
        self.generation = 0
        self._stamp: Stamp = ()
        self._logged: str | None = None
        """The copy of the main file, when a log came with it."""
        self._kept: str | None = None
        """The copy of the main file that can be used again; None when it has no name any more."""
        self._open()

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one by one. Damage met on the way ends the rows and becomes a problem; so does
        more than QUERY_SECONDS of SQLite's time, however fast single rows come: pages that lead back to each
        other give rows without end."""
        spent = 0.0
        try:
            begun = time.monotonic()
            self._deadline = begun + QUERY_SECONDS
            cursor = self._connection.execute(query, parameters)
            while batch := cursor.fetchmany(BATCH):
                spent += time.monotonic() - begun
                yield from batch
                if spent > QUERY_SECONDS:
                    self._note(f"rows cannot all be read: there is no end of them after {QUERY_SECONDS:g} s")
                    return
                begun = time.monotonic()
                self._deadline = begun + QUERY_SECONDS - spent
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            self._note(f"rows cannot be read: {error or type(error).__name__}")

    def keyed(self, table: str, *columns: str) -> str:
        """What to name in a query that finds rows of `table` by these columns, one by one: itself, or where it has
        no index for that a copy of the columns and of `rowid`. It holds until the next query."""
        self._deadline = time.monotonic() + QUERY_SECONDS
        return self._keys.table(self._connection, table, columns)

    def changed(self) -> bool:
        """Whether the files are no longer what was copied."""
        return self._file is None and stamp(self._base) != self._stamp

    def refresh(self) -> bool:
        """Looks at the files anew when they have changed; True when they had. When they cannot be read
        any more, what was read before stays."""
        if not self.changed():
            return False
        if self._take_log():
            self.generation += 1
            return True
        before = dict(self.__dict__)
        try:
            self._open()
        except UnreadableError:
            self.__dict__.update(before)
            return False
        before["_connection"].close()
        before["_remove"]()
        self.generation += 1
        return True

    def close(self) -> None:
        """Gives back the copy."""
        if hasattr(self, "_connection"):
            self._connection.close()
        self._remove()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _open(self) -> None:
        self.problems: list[Problem] = []
        self._deadline = time.monotonic() + OPEN_SECONDS
        self._remove: Any = lambda: None
        self.__dict__.pop("_connection", None)  # what was open before stays so until this has worked
        try:
            self._connection, self._keys = self._connect(), Keys()
            self.tables = self._tables()
            words = self._untaken()
            self._check()
            if words is not None:
                self._note(words)
        except (OSError, sqlite3.Error, ValueError, MemoryError) as error:
            self.close()
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UnreadableError(self.path, f"a SQLite database that cannot be read: {reason}") from error
        except UnreadableError:
            self.close()
            raise
        if self.problems:
            self._kept = None
        if sys.platform == "linux" and self._kept is None:
            # Everything is open by now: what has no name cannot be left behind, even by a kill.
            self._remove()

    def _untaken(self) -> str | None:
        """What SQLite did not take of the log, in words."""
        if self._logged is None:
            return None
        written = self._stamp[1]
        settled = written is not None and time.time_ns() - written[2] > SETTLED_NS
        return untaken(self._logged, settled)

    def _take_log(self) -> bool:
        """Whether it was enough to copy the log again: its pages stand over those of the kept main file."""
        if self._kept is None:
            return False
        following = os.path.join(os.path.dirname(self._kept), "next.db")
        try:
            found = copy_log(self._base, following, self._stamp)
        except (OSError, UnreadableError):
            return False
        if found is None:
            return False
        self._connection.close()  # which folds its log into the kept file: what was before is there
        self._deadline = time.monotonic() + OPEN_SECONDS
        try:
            _remove_log(self._kept)
            os.rename(following + "-wal", self._kept + "-wal")
            self._connection, self._keys = self._guarded(self._kept, "mode=rw"), Keys()
            self.tables = self._tables()
        except (OSError, sqlite3.Error, ValueError, MemoryError):
            self._connection.close()
            with contextlib.suppress(OSError, sqlite3.Error):
                _remove_log(self._kept)
                self._connection, self._keys = self._guarded(self._kept, "mode=rw"), Keys()
            return False
        self._stamp = found
        return True

    def _connect(self) -> sqlite3.Connection:
        self._stamp = stamp(self._base)
        self._kept = self._logged = None
        path, mode = self._base, "mode=ro&immutable=1"
        alone = self._file is None and not logs(self._base)
        if not alone or os.path.getsize(self._base) <= COPY_LIMIT:
            try:
                folder, self._remove = private_folder(self)
            except OSError:
                if not alone:
                    raise
            else:
                copied = copy(self._base, folder, self._note, self._file)
                path, self._stamp = copied.path, copied.stamp
                if copied.has_log:
                    mode, self._logged = "mode=rw", path
                if self._stamp[1] is not None and copied.has_log and os.path.getsize(path) >= KEEP_SIZE:
                    self._kept = path
        return self._guarded(path, mode)

    def _guarded(self, path: str, mode: str) -> sqlite3.Connection:
        return _guarded(path, mode, lambda: time.monotonic() > self._deadline)

    def _tables(self) -> dict[str, list[str]]:
        # A real table's text begins so, whoever wrote it; a view or a virtual table would run code.
        names = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 "
            "AND sql LIKE 'CREATE TABLE %' LIMIT 1000"
        ).fetchall()
        return {
            name: [row[1] for row in self._connection.execute("SELECT * FROM pragma_table_info(?)", (name,))]
            for (name,) in names
            if isinstance(name, str)
        }

    def _check(self) -> None:
        cut = bool(self.problems)
        if not cut and os.path.exists(self._base) and os.path.getsize(self._base) > CHECK_LIMIT:
            return
        try:
            rows = self._connection.execute("PRAGMA quick_check(5)")
            found = [line for row in rows for line in str(row[0]).splitlines() if not line.startswith("***")]
        except sqlite3.Error as error:
            overdue = error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
            found = ["ok"] if overdue else [str(error)]
        if found == ["ok"]:
            return
        self._note("damaged: " + "; ".join(found))
        self._deadline = time.monotonic() + OPEN_SECONDS
        damaged, self._connection = self._connection, salvage(self._connection, self.tables, self._note)
        damaged.close()
        _limit(self._connection, lambda: time.monotonic() > self._deadline)

    def _note(self, message: str) -> None:
        problem = Problem(severity="error", where=self.label, message=one_line(message))
        if problem not in self.problems:
            self.problems.append(problem)


def _remove_log(path: str) -> None:
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def _guarded(path: str, mode: str, overdue: Any) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{Path(path).as_uri()}?{mode}", uri=True, check_same_thread=False, isolation_level=None
    )
    try:
        # A schema is code of a kind: no function it names may run, no view or trigger is asked for.
        for pragma in (
            "trusted_schema = OFF",
            "cell_size_check = ON",
            "ignore_check_constraints = ON",
            "synchronous = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        connection.close()
        raise
    _limit(connection, overdue)
    return connection


def _limit(connection: sqlite3.Connection, overdue: Any) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_LIMIT)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = lambda raw: raw.decode(errors="backslashreplace")
    connection.set_progress_handler(overdue, 100_000)


__all__ = ["Database", "quoted"]
