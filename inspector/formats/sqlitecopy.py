"""A private copy of a SQLite database and its logs, made without a lock and without touching them.

Without a log beside it, a database is its main file. Otherwise the newest commits stand in `-wal`, or a
half-done transaction has its undo in `-journal`: both are part of the copy. Somebody may be writing
meanwhile, so a copy counts only when the files were the same before and after; a log that was appended
to is fine, since SQLite reads it up to the last whole commit.
"""

import os
import stat
import struct
import time
from collections.abc import Callable
from typing import NamedTuple

from inspector.errors import UnreadableError
from inspector.formats.files import File

LOGS = ("-wal", "-journal")
ATTEMPTS = 5
TICK_NS = 20_000_000
"""A file changed less than this ago may change again without its time telling (clocks tick coarsely)."""
WAL_HEADER = 32
JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
PADDING_LIMIT = 1 << 34

Stamp = tuple[tuple[int, int, int] | None, ...]
Note = Callable[[str], None]


class Copied(NamedTuple):
    """Where the copy is, whether a log came with it, and what the files were like."""

    path: str
    has_log: bool
    stamp: Stamp


def stamp(base: str) -> Stamp:
    """(inode, size, time) of the main file, `-wal` and `-journal`; None for what is no regular file."""
    return tuple(_look(base + suffix) for suffix in ("", *LOGS))


def logs(base: str) -> list[str]:
    """The suffixes of the logs that are not empty."""
    found = zip(LOGS, stamp(base)[1:], strict=True)
    return [suffix for suffix, seen in found if seen is not None and seen[1] > 0]


def copy(base: str, folder: str, note: Note, main: File | None = None) -> Copied:
    """Copies the database at `base` into `folder`, or `main` where it cannot be read by its path. What is
    unsafe or doubtful about the copy is said through `note`. Raises OSError and UnreadableError."""
    target = os.path.join(folder, "copy.db")
    for attempt in range(ATTEMPTS):
        before = stamp(base)
        present = [] if main else logs(base)
        began = time.time_ns()
        _write(main or File(base), target)
        for suffix in LOGS:
            if os.path.exists(target + suffix):
                os.unlink(target + suffix)
        missed = [suffix for suffix in present if not _log(base + suffix, target + suffix)]
        if main or _settled(base, target, before, began):
            break
        time.sleep(0.03 * (attempt + 1))
    else:
        note("is being written to: this is a copy made while it changed")
    for suffix in missed:
        note(f"its log {suffix} cannot be read: the newest changes may be missing")
    _pad(target, note)
    _defuse(target + "-journal", note)
    return Copied(target, any(os.path.exists(target + suffix) for suffix in LOGS), before)


def copy_log(base: str, target: str, known: Stamp) -> Stamp | None:
    """Copies only the `-wal` of the database at `base` to `target`-wal, and says what the files were like; None
    when the main file is not, for sure, as it was `known` to be: then it needs a whole copy. Raises OSError and
    UnreadableError."""
    before, began = stamp(base), time.time_ns()
    if before[0] is None or before[0] != known[0] or before[1] is None or before[2] is not None:
        return None
    _write(File(base + "-wal"), target + "-wal")
    return before if _settled(base, target, before, began) else None


def _look(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _log(source: str, target: str) -> bool:
    try:
        _write(File(source), target)
    except (OSError, UnreadableError):
        return False
    return True


def _write(source: File, target: str) -> None:
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as out:
        for _, piece in source.chunks(0):
            out.write(piece)


def _settled(base: str, target: str, before: Stamp, began: int) -> bool:
    after = stamp(base)
    if (before[0], before[2]) != (after[0], after[2]):
        return False
    if any(seen is not None and seen[2] > began - TICK_NS for seen in (before[0], before[2])):
        return False
    if before[1] == after[1]:
        return True
    if before[1] is None or after[1] is None or before[1][0] != after[1][0] or before[1][1] > after[1][1]:
        return False
    return _head(base + "-wal") == _head(target + "-wal")


def _head(path: str) -> bytes:
    try:
        return File(path).read(0, WAL_HEADER)
    except UnreadableError:
        return b""


def _pad(target: str, note: Note) -> None:
    """Gives a database that was cut short its length back, so that its sound pages can be read."""
    with open(target, "r+b") as file:
        header = file.read(100)
        size = file.seek(0, os.SEEK_END)
        if len(header) < 100:
            return
        page_size = struct.unpack(">H", header[16:18])[0]
        page_size = 65536 if page_size == 1 else page_size
        counted, changed = struct.unpack(">I", header[28:32])[0], header[24:28] == header[92:96]
        whole = counted * page_size
        # With a log, pages may rightly stand there alone; a count is valid only for its own change.
        if changed and size < whole <= PADDING_LIMIT and not os.path.exists(target + "-wal"):
            note(f"cut short: {size} of {whole} bytes are there")
            file.truncate(whole)


def _defuse(journal: str, note: Note) -> None:
    """A journal can name another file, which SQLite would read, and delete once the journal is rolled
    back. The copy must not reach out of its folder: the name is taken out. SQLite's own rule is kept: if
    the named file is gone, the transaction was committed and its journal counts no more."""
    if not os.path.exists(journal):
        return
    with open(journal, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 16, 0))
        tail = file.read()
        if len(tail) < 16 or tail[8:] != JOURNAL_MAGIC:
            return
        length = struct.unpack(">I", tail[:4])[0]
        file.seek(max(size - 16 - min(length, 4096), 0))
        name = file.read(min(length, 4096))
        file.seek(size - 8)
        file.write(bytes(8))
    note("its journal is part of a transaction over several databases, of which only this one is looked at")
    if not os.path.lexists(os.fsdecode(name.rstrip(b"\x00"))):
        os.unlink(journal)
