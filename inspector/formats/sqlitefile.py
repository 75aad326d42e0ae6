"""SQLite databases, looked at without touching them.

Opening one in place can create `-wal` and `-shm`, fold a log that is evidence, or show an old state
(`immutable` ignores the log). So main file, `-wal` and `-journal` are copied to a private folder and
the copy is opened; a copy that was written to meanwhile is made again. Only a large database without
a log is read in place, as `immutable`, which neither locks nor writes.
"""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inspector.errors import UnreadableError
from inspector.model.run import Problem
from inspector.model.text import one_line

MAGIC = b"SQLite format 3\x00"
COPY_LIMIT = 1 << 30
"""Bytes up to which a database without a log is copied; above, it is read in place."""
CHECK_LIMIT = 64 << 20
"""Bytes up to which the whole database is checked for damage at opening; above, only what is read."""
QUERY_SECONDS = 60.0


class Database:
    """A private view of a SQLite file. `tables` maps each ordinary table to its columns, in order.
    Raises UnreadableError when nothing can be read of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.label = one_line(os.path.basename(path) or path)
        self.problems: list[Problem] = []
        self._folder: str | None = None
        self._stamp: tuple[object, ...] = ()
        self._connection = self._connect()
        try:
            self.tables = self._tables()
            self._check()
        except sqlite3.Error as error:
            self.close()
            raise UnreadableError(path, f"a SQLite database that cannot be read: {error}") from error

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one by one. Damage met on the way ends the rows and becomes a problem."""
        self._deadline = time.monotonic() + QUERY_SECONDS
        try:
            yield from self._connection.execute(query, parameters)
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            self._note(f"rows cannot be read: {error}")

    def changed(self) -> bool:
        """Whether the files are no longer what was copied."""
        return _stamp(self.path) != self._stamp

    def close(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _connect(self) -> sqlite3.Connection:
        logs = [suffix for suffix in ("-wal", "-journal") if _size(self.path + suffix)]
        try:
            if logs or _size(self.path) <= COPY_LIMIT:
                self._folder = tempfile.mkdtemp(prefix="runinspect-")
                name = self._copy(logs)
                mode = "mode=rw" if logs else "mode=ro&immutable=1"
            else:
                self._stamp, name, mode = _stamp(self.path), self.path, "mode=ro&immutable=1"
            connection = sqlite3.connect(
                f"{Path(os.path.abspath(name)).as_uri()}?{mode}",
                uri=True,
                check_same_thread=False,
                isolation_level=None,
            )
        except (OSError, sqlite3.Error, ValueError) as error:
            self.close()
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UnreadableError(self.path, f"cannot be copied for reading: {reason}") from error
        # A schema is code of a kind: no function it names may run, no view or trigger is asked for.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.text_factory = lambda raw: raw.decode(errors="backslashreplace")
        self._deadline = time.monotonic() + QUERY_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > self._deadline, 100_000)
        return connection

    def _copy(self, logs: list[str]) -> str:
        assert self._folder
        target = os.path.join(self._folder, "copy.db")
        for attempt in range(5):
            self._stamp = _stamp(self.path)
            for suffix in ["", *logs]:
                shutil.copyfile(self.path + suffix, target + suffix)
                os.chmod(target + suffix, 0o600)
            if _stamp(self.path) == self._stamp:
                return target
            time.sleep(0.05 * (attempt + 1))
        self._note("is being written to: this is a copy made while it changed")
        return target

    def _tables(self) -> dict[str, list[str]]:
        names = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' LIMIT 1000"
        ).fetchall()
        return {
            name: [row[1] for row in self._connection.execute("SELECT * FROM pragma_table_info(?)", (name,))]
            for (name,) in names
            if isinstance(name, str)
        }

    def _check(self) -> None:
        if _size(self.path) > CHECK_LIMIT:
            return
        try:
            found = [str(row[0]) for row in self._connection.execute("PRAGMA quick_check(5)")]
        except sqlite3.Error as error:
            found = [str(error)]
        if found != ["ok"]:
            self._note("damaged: " + "; ".join(found))

    def _note(self, message: str) -> None:
        self.problems.append(Problem(severity="error", where=self.label, message=one_line(message)))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _stamp(path: str) -> tuple[object, ...]:
    stamps: list[object] = []
    for suffix in ("", "-wal", "-journal"):
        try:
            found = os.stat(path + suffix)
            stamps.append((found.st_ino, found.st_size, found.st_mtime_ns))
        except OSError:
            stamps.append(None)
    return tuple(stamps)


def quoted(name: str) -> str:
    """A table or column name for use in a query."""
    return '"' + name.replace('"', '""') + '"'
