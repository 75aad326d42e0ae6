"""Exported lines on their way out: to standard output, or to a file with its large values beside it."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator

from inspector.errors import UsageError
from inspector.model.large import NAMED, folder, named
from inspector.model.text import HIDDEN
from inspector.report.export import Keep


def pour(found: Iterable[bytes]) -> None:
    """Write lines to standard output. Raises UsageError before bytes of a file as they stand would go to a
    terminal, which they could act on."""
    for line in found:
        if sys.stdout.isatty() and HIDDEN.search(line.decode(errors="surrogateescape")):
            raise UsageError("--raw", "the file holds characters that act on a terminal: give -o FILE, or pipe it on")
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


TAKEN = "exists already: give another name"


class ValueFiles:
    """The large values beside a file that is exported: written as they come, given up with it."""

    def __init__(self, path: str, *, overwrite: bool = False) -> None:
        self._folder, self._overwrite = folder(path), overwrite
        self._kept: set[str] = set()
        self._new: list[str] = []
        if os.path.lexists(self._folder) and not overwrite:
            raise UsageError(self._folder, TAKEN)

    def keep(self, digest: str, data: bytes) -> None:
        """One of them."""
        path = os.path.join(self._folder, named(digest))
        if path in self._kept:
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._kept.add(path)
        part = f"{path}.part-{os.getpid()}"
        if not os.path.exists(path):
            self._new.append(path)
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(data)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            raise

    def settle(self) -> None:
        """Those of the file that was written over go with it."""
        if self._overwrite and os.path.isdir(self._folder):
            for name in os.listdir(self._folder):
                path = os.path.join(self._folder, name)
                if path not in self._kept and NAMED.fullmatch(name):
                    os.unlink(path)
            self._leave()

    def give_up(self) -> None:
        """The file was not written."""
        for path in self._new:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self._leave()

    def _leave(self) -> None:
        with contextlib.suppress(OSError):  # it is not there, or others are in it
            os.rmdir(self._folder)


Lines = Callable[[Keep | None], Iterable[bytes]]
"""Lines, whose large values are kept as is said."""


def send(to: str, found: Lines, *, overwrite: bool = False) -> None:
    """Write lines to standard output (`-`), or to a file. Raises UsageError."""
    if to == "-":
        pour(found(None))
        return
    try:
        for _ in writing(to, found, overwrite=overwrite):
            pass
    except UsageError as error:
        # Only the command line has that flag: the screen writes too.
        raise UsageError(error.place, f"{TAKEN}, or --overwrite") if error.reason == TAKEN else error from None


def writing(path: str, found: Lines, *, overwrite: bool = False) -> Iterator[int]:
    """Write lines to a file, with the large values beside it, as a whole or not at all: yields the bytes so far. To be
    closed before its end is to write nothing. Raises UsageError when the file exists and is not to be written over."""
    if overwrite and os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(path, "is no regular file, and cannot be written over: give another name")
    values = ValueFiles(path, overwrite=overwrite)
    target = f"{path}.part-{os.getpid()}" if overwrite else path
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(path, TAKEN) from None
    try:
        with os.fdopen(fd, "wb", buffering=1 << 20) as file:
            size = 0
            for line in found(values.keep):
                file.write(line)
                size += len(line)
                yield size
        if overwrite:
            os.replace(target, path)
        values.settle()
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(target)
        values.give_up()
        raise
