"""What code of the user prints while it is imported or run here: lines for a pane, never on the screen.

File descriptors 1 and 2 lead into a pipe meanwhile, so what subprocesses of tools print goes there too. The
terminal itself is painted through a descriptor of its own (`own_terminal`), and keys are read through one.
"""

import contextlib
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator

from inspector.model.text import clean

KEPT = 5000
"""Lines that are kept."""
LONGEST = 10_000
"""Characters of a line that are kept."""
_LOOKS = re.compile(rb"\x1b\[[0-9;:]*[mK]")
"""Colours, and the erasing of what is written over: they say nothing where neither is done."""


class Output:
    """The last lines that were printed; `changed` is called from the reading thread. Its methods may be called
    from any thread."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=KEPT)
        self.count = 0
        self.changed: Callable[[], object] = lambda: None
        self._rest = b""

    def add(self, data: bytes) -> None:
        """Take what was printed."""
        *whole, rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._line(line)
        self._rest = _last(rest) + (b"\r" if rest.endswith(b"\r") else b"")
        if len(self._rest) > LONGEST:
            self._line(self._rest)
            self._rest = b""
        self.changed()

    def shown(self) -> list[str]:
        """The lines, also the one that has no end yet."""
        return [*self.lines, *([_text(self._rest)] if self._rest else [])]

    def end(self) -> None:
        """A line without its end is a line too."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""
            self.changed()

    def _line(self, line: bytes) -> None:
        self.lines.append(_text(line))
        self.count += 1


def _last(line: bytes) -> bytes:
    """What of a line is to be seen where its beginning is written over, as the bars of progress do."""
    return line.rstrip(b"\r").rpartition(b"\r")[2]


def _text(line: bytes) -> str:
    return clean(_LOOKS.sub(b"", _last(line)[:LONGEST]).decode("utf-8", "replace"))


class _Shared:
    """The one capture of the process: who is in it, and how it ends."""

    lock = threading.Lock()
    count = 0
    end: Callable[[], None] = staticmethod(lambda: None)


@contextlib.contextmanager
def capturing(output: Output) -> Iterator[None]:
    """Meanwhile what is printed in this process, or by its children, goes to `output`; while somebody else's
    captures, to that one's. Ends with the last who is in it."""
    with _Shared.lock:
        if not _Shared.count:
            _Shared.end = _begin(output)
        _Shared.count += 1
    try:
        yield
    finally:
        with _Shared.lock:
            _Shared.count -= 1
            if not _Shared.count:
                _Shared.end()


def _begin(output: Output) -> Callable[[], None]:
    read, write = os.pipe()
    kept = {number: os.dup(number) for number in (1, 2)}
    reader = threading.Thread(target=_read, args=(read, output), name="output", daemon=True)
    reader.start()
    stream = os.fdopen(write, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    for number in kept:
        os.dup2(write, number)
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = stream

    def end() -> None:
        if sys.stdout is stream:
            sys.stdout = before[0]
        if sys.stderr is stream:
            sys.stderr = before[1]
        for number, saved in kept.items():
            os.dup2(saved, number)
            os.close(saved)
        with contextlib.suppress(OSError, ValueError):
            stream.close()
        # A child that still runs keeps its end of the pipe: what it prints later is read as long as it does.
        reader.join(0.2)

    return end


def _read(read: int, output: Output) -> None:
    with os.fdopen(read, "rb", buffering=0) as stream:
        while data := stream.read(1 << 16):
            output.add(data)
    output.end()


@contextlib.contextmanager
def own_terminal() -> Iterator[None]:
    """Meanwhile the screen is painted, and keys are read, through descriptors of their own, and a program that
    reads the standard input finds it empty."""
    before = sys.__stdin__, sys.__stderr__
    assert before[1] is not None
    keys, screen, kept = os.dup(0), os.dup(2), os.dup(0)
    sys.__stdin__ = os.fdopen(keys, encoding="utf-8", errors="replace")  # type: ignore[misc]
    sys.__stderr__ = os.fdopen(screen, "w", encoding=before[1].encoding, errors=before[1].errors)  # type: ignore[misc]
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        sys.__stdin__.close()
        sys.__stderr__.close()
        sys.__stdin__, sys.__stderr__ = before  # type: ignore[misc]
