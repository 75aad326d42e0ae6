"""A connection to the SQLite file of a store: opened, brought up to date, and each transaction a whole."""

import contextlib
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import Any

from inspector import held
from inspector.errors import StoreError
from inspector.model.stored import APPLICATION, VERSION
from inspector.store.schema import SCRIPTS

BUSY_SECONDS = 10.0
"""How long a transaction waits for another process's."""

_CODES = {
    sqlite3.SQLITE_FULL: ("disk_full", "no space is left where the store is"),
    sqlite3.SQLITE_READONLY: ("read_only", "the store cannot be written to"),
    sqlite3.SQLITE_PERM: ("read_only", "the store cannot be written to"),
    sqlite3.SQLITE_CANTOPEN: ("unavailable", "the store cannot be opened"),
    sqlite3.SQLITE_BUSY: ("locked", f"another process kept the store locked for {BUSY_SECONDS:g} s"),
    sqlite3.SQLITE_LOCKED: ("locked", "another process keeps the store locked"),
    sqlite3.SQLITE_CORRUPT: ("damaged", "the store is damaged"),
    sqlite3.SQLITE_NOTADB: ("damaged", "is no SQLite database"),
    sqlite3.SQLITE_IOERR: ("unavailable", "the store cannot be read or written"),
}

_ERRNOS = {
    errno.EACCES: "read_only",
    errno.EPERM: "read_only",
    errno.EROFS: "read_only",
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
}


class Connection:
    """The file at `path`, made when it is not there. Raises StoreError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._synced = True
        with self.told():
            self._prepare_file()
            self._open()

    def _prepare_file(self) -> None:
        folder = os.path.dirname(os.path.abspath(self.path))
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            # Its log files get the mode that the database has.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _open(self) -> None:
        self._connection = sqlite3.connect(
            os.path.abspath(self.path), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._pid = os.getpid()
        self._held: held.Inode | None = held.hold(self.path)
        try:
            self._upgraded()
            for pragma in ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF", "cell_size_check = ON"):
                self._connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        self._connection.close()
        if self._held is not None:
            held.let_go(self._held)
            self._held = None

    def _upgraded(self) -> None:
        """Brought up to date. SQLite itself does not wait where others make the store's log, or clear it away."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with self.told():
                    return self._upgrade()
            except StoreError as error:
                if error.code != "locked" or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def _upgrade(self) -> None:
        connection = self._connection
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        # Last, since somebody else may make the store meanwhile: whoever sees its tables sees whose they are too.
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
        if not ours and (version or tables):
            raise StoreError(self.path, "version_unsupported", "is a SQLite database, but no store of runs")
        if version > VERSION:
            reason = f"is a store of version {version}; this program knows {VERSION}: a newer one is needed"
            raise StoreError(self.path, "version_unsupported", reason)
        if version < VERSION:
            connection.execute("PRAGMA journal_mode = WAL")
            with self.transaction():
                # Somebody else may have done it while this process waited.
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                for script in SCRIPTS[version:]:
                    for statement in script.split(";\n"):
                        connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction that nobody writes beside; all of it is kept, or nothing. `durable`: when it ends, it
        and all before it would survive the loss of power. Raises StoreError."""
        with self._lock, self.told():
            if self._pid != os.getpid():
                raise StoreError(self.path, "unavailable", "was opened in another process: open it in this one")
            if durable != self._synced:
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._synced = durable
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises StoreError."""
        with self._lock, self.told():
            return self._connection.execute(query, parameters).fetchall()

    def close(self) -> None:
        """Closed; the log is folded into the file when nobody else has it open."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._close()

    def __del__(self) -> None:
        # What a fork took along is its parent's to close.
        if getattr(self, "_pid", None) == os.getpid():
            self.close()

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """What SQLite and the system say, as StoreError."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            word, reason = _CODES.get((code or 0) & 0xFF, ("unavailable", "the store does not work"))
            if word == "unavailable":  # SQLite does not tell why a file beside it could not be made
                word, reason = _CODES.get(self._kept_out() or 0, (word, reason))
            raise StoreError(self.path, word, f"{reason} ({error})") from error
        except OSError as error:
            raise StoreError(
                self.path, _ERRNOS.get(error.errno or 0, "unavailable"), error.strerror or str(error)
            ) from error

    def _kept_out(self) -> int | None:
        """What keeps files from being made where the store is, as SQLite's code."""
        folder = os.path.dirname(os.path.abspath(self.path))
        try:
            disk = os.statvfs(folder)
        except OSError:
            return None
        if disk.f_flag & os.ST_RDONLY or not os.access(folder, os.W_OK):
            return sqlite3.SQLITE_READONLY
        return sqlite3.SQLITE_FULL if disk.f_bavail == 0 else None
