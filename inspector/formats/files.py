"""The only opener of files: read-only, by position, and never trusting that a file stays as it was.

`pread` and not mmap, since a file that is cut short under an mmap kills the process. What cannot be
read by position (stdin, a pipe) is copied to an unnamed temporary file first. A file grows or is
replaced behind our back: `refresh` notices both.
"""

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from itertools import chain

from inspector import held
from inspector.errors import UnreadableError
from inspector.model.text import one_line

CHUNK = 1 << 20
PATIENCE = 5
"""Seconds within which somebody must open the other end of a pipe."""
UTF8_MARK = b"\xef\xbb\xbf"
SQLITE = b"SQLite format 3\0"
"""How a database begins."""
HEAD = 64 << 10
"""Bytes that detection may read of a file."""


class File:
    """A file opened for reading. `path` is as the user gave it, `label` its clean short name for
    messages, `start` where its text begins (behind a UTF-8 byte order mark), `size` its length in
    bytes when last looked at. Of a stream that can be no run by its first bytes there are only those, unless it
    is wanted `whole`: it may have no end."""

    def __init__(self, path: str, label: str | None = None, *, whole: bool = True) -> None:
        self.path = path
        self.label = one_line(label or os.path.basename(path) or path)
        self._fd = _spool(sys.stdin.fileno(), path, whole) if path == "-" else _open(path, whole)
        if path == "-":
            self.label = "stdin"
        self.size = os.fstat(self._fd).st_size
        self.start = 3 if self.read(0, 3) == UTF8_MARK else 0

    def read(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes at `offset`; fewer at the end of the file or where it was cut."""
        pieces = []
        while length > 0:
            try:
                piece = os.pread(self._fd, min(length, 1 << 30), offset)
            except OSError as error:
                raise UnreadableError(self.path, f"cannot be read: {error.strerror}") from error
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def chunks(self, offset: int, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(offset, bytes) in pieces of at most 1 MiB, from `offset` to `stop` or the end."""
        end = self.size if stop is None else min(stop, self.size)
        while offset < end:
            piece = self.read(offset, min(CHUNK, end - offset))
            if not piece:
                return
            yield offset, piece
            offset += len(piece)

    def refresh(self) -> bool:
        """Look at the size again, and follow the path to a new file when it was replaced; True when
        anything changed. A file shorter than before, or another one, sets `size` anew: the caller
        compares."""
        before = self.size
        with contextlib.suppress(OSError, UnreadableError):
            if self.path != "-":
                now, then = os.stat(self.path), os.fstat(self._fd)
                if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino):
                    fd = _open(self.path)
                    held.close(self._fd)
                    self._fd, before = fd, -1
        self.size = os.fstat(self._fd).st_size
        return self.size != before

    def close(self) -> None:
        if self._fd >= 0:
            held.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.close()


def _open(path: str, whole: bool = True) -> int:
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not hang.
        kept = held.reopened(path)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK) if kept is None else kept
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be opened") from error
    except ValueError as error:  # a NUL in the path
        raise UnreadableError(path, str(error)) from error
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    if stat.S_ISFIFO(mode):
        try:
            first = _first(fd, path)
            os.set_blocking(fd, True)
            return _spool(fd, path, whole, first)
        finally:
            os.close(fd)
    os.close(fd)
    kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
    raise UnreadableError(path, f"is {kind}")


def _first(fd: int, path: str) -> bytes:
    """What a pipe holds once somebody has opened it for writing: before, it reads like an empty file. Raises
    UnreadableError when nobody does."""
    import select
    import time

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    until = time.monotonic() + PATIENCE
    while True:
        told = poll.poll(50)  # of bytes, or that the last writer has gone
        try:
            piece = os.read(fd, CHUNK)
        except BlockingIOError:  # a writer is there, and thinks
            return b""
        if piece or told:
            return piece
        if time.monotonic() > until:
            raise UnreadableError(path, f"is a pipe that nobody wrote to for {PATIENCE} seconds")


def _spool(stream: int, path: str, whole: bool, first: bytes = b"") -> int:
    """An unnamed temporary copy of `first` and what the stream of a descriptor still holds, which may take up half of
    the free space there; the copy's descriptor. Not `whole`: of what can be no run, not much more than its HEAD."""
    import tempfile

    try:
        # No buffered reader: while it waits for bytes it holds a lock, without which the process cannot end.
        with tempfile.TemporaryFile() as copy:
            free = os.fstatvfs(copy.fileno())
            most = free.f_bavail * free.f_frsize // 2
            head = b""
            for piece in chain((first,), iter(lambda: os.read(stream, CHUNK), b"")):
                copy.write(piece)
                most -= len(piece)
                if not whole and len(head) < HEAD:
                    head += piece
                    if len(head) >= HEAD and not _may_be_run(head):
                        break
                if most < 0:
                    raise UnreadableError(path, f"needs more than half of the free space in {tempfile.gettempdir()}")
            copy.flush()
            return os.dup(copy.fileno())
    except OSError as error:
        raise UnreadableError(path, f"cannot be copied to a temporary file: {error.strerror or error}") from error


def _may_be_run(head: bytes) -> bool:
    noise = len(head) - len(head.translate(None, bytes(range(1, 9))))
    return head.startswith(SQLITE) or (b"{" in head and noise * 100 < len(head))
