"""The lines of a journal, read from its end or from a step: only what is asked for is read."""

import io
import os
from collections.abc import Callable, Iterator

import msgspec

from inspector.errors import UnreadableError

BLOCK = 64 << 10
"""Bytes that are read at once; more for a longer line."""
STEP = b'{"record":"step"'


class Named(msgspec.Struct):
    """What is looked at of a step that is not restored."""

    seq: int
    name: str


class _StepLine(msgspec.Struct):
    step: Named


class Lines:
    """The lines of a journal of `size` bytes, of which `read` gives those at an offset. A line's offset is where it
    begins; empty lines are none. `passed` counts the lines that were given out or looked at."""

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self._read, self.size = read, size
        self.passed = 0

    def forwards(self, begin: int) -> Iterator[tuple[int, bytes]]:
        """The lines from the one at `begin` on."""
        rest, offset = b"", begin
        while begin < self.size:
            piece = self._read(begin, min(max(BLOCK, len(rest)), self.size - begin))
            if not piece:
                break
            begin += len(piece)
            rest += piece
            cut = len(rest) if begin >= self.size else rest.rfind(b"\n") + 1
            for line in io.BytesIO(rest[:cut]):
                if line.strip():
                    self.passed += 1
                    yield offset, line
                offset += len(line)
            rest = rest[cut:]

    def backwards(self, end: int) -> Iterator[tuple[int, bytes]]:
        """The lines in front of `end`, which is where one begins or the end of all, the last one first."""
        rest = b""
        while end > 0:
            begin = max(0, end - max(BLOCK, len(rest)))
            data = self._read(begin, end - begin) + rest
            cut = 0 if begin == 0 else data.find(b"\n") + 1 or len(data)
            offset = begin + len(data)
            for line in reversed(io.BytesIO(data[cut:]).readlines()):
                offset -= len(line)
                if line.strip():
                    self.passed += 1
                    yield offset, line
            rest, end = data[:cut], begin

    def steps(self, begin: int, end: int | None = None) -> Iterator[tuple[int, Named]]:
        """The steps from the line at `begin` on that begin before `end`, each with its offset."""
        for offset, line in self.forwards(begin):
            if end is not None and offset >= end:
                return
            if line.startswith(STEP):
                yield offset, named(line)

    def step(self, seq: int) -> int:
        """Where the first step with this number or a higher one begins; `size` where there is none."""
        low, high = 0, self.size
        # `low` is where a line begins, and not behind the step; no step that begins behind `high` is before it.
        while high - low > BLOCK:
            middle = (low + high) // 2
            found = next(self.steps(self._line(middle), high), None)
            if found is not None and found[1].seq < seq:
                low = found[0]
            else:
                high = middle
        return next((offset for offset, step in self.steps(low) if step.seq >= seq), self.size)

    def _line(self, offset: int) -> int:
        """Where the first line behind the one that holds a byte begins."""
        while offset < self.size:
            piece = self._read(offset, BLOCK)
            end = piece.find(b"\n")
            if end >= 0:
                return offset + end + 1
            if not piece:
                break
            offset += len(piece)
        return self.size


def named(line: bytes) -> Named:
    """The number and the name of a step. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(line, type=_StepLine).step


def of_bytes(data: bytes) -> Lines:
    """The lines of a journal in memory."""
    return Lines(lambda offset, length: data[offset : offset + length], len(data))


def of_file(path: str) -> Lines:
    """The lines of a file as long as it is now; it is opened for each reading. Raises UnreadableError, also later."""

    def read(offset: int, length: int) -> bytes:
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error

    try:
        return Lines(read, os.stat(path).st_size)
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
