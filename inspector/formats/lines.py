"""The lines of a file, found at the speed of scanning it.

A line ends at `\\n` alone (strings may hold raw U+2028 or U+0085), and a last line without one is a line
too. `Scan` walks over lines and remembers next to nothing, for files of gigabytes of which only some lines
are wanted again; `Lines` remembers where each line begins.
"""

import io
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

from inspector.formats.files import CHUNK, File
from inspector.formats.jsontext import Place

BATCH = 128 << 10
"""Bytes of lines that are taken in at once: more would only take more memory."""
PEEK = 4 << 10
"""Bytes that are read of a line of unknown length at first."""
NARROW = 1 << 32
"""Bytes whose offsets fit in four bytes."""


class Scan:
    """A walk over the finished lines of a file that may grow, from the line at `begin` on. `scanned` is where
    the next line begins, `passed` how many lines were walked over. What `head` holds is not read again. Of a
    line longer than `cut` only some bytes of its beginning and its last two come out, and it comes alone; `long`
    has the lengths of such lines by their offsets."""

    def __init__(self, file: File, head: bytes = b"", begin: int | None = None, cut: int | None = None) -> None:
        self.file = file
        self.scanned = file.start if begin is None else begin
        self.passed = 0
        self.long: dict[int, int] = {}
        self._head = head
        self._cut = cut
        # One mark a batch: from the nearest one, a line's number is counted.
        self._marks = array("Q", [self.scanned])
        self._numbers = array("Q", [0])
        self._unfinished = (0, 0)

    def batches(self, size: int = BATCH) -> Iterator[tuple[list[bytes], int]]:
        """(lines with their ends, offset of the first) until no finished line is left. A batch is about
        `size` bytes, more where one line is longer."""
        want = size
        while self.scanned < self.file.size:
            begin = self.scanned
            piece, self._head = self._head or self.file.read(begin, want), b""
            lines = io.BytesIO(piece).readlines()
            rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
            end = begin + len(piece) - len(rest)
            if not lines:
                if not rest or begin + len(rest) >= self.file.size:
                    return
                want = max(2 * len(rest), size)
                if want <= min(CHUNK, self._cut or CHUNK):
                    continue
                end = line_end(self.file, begin + len(rest))
                if self.file.read(end - 1, 1) != b"\n":
                    return
                lines = [self._line(begin, end)]
            want = size
            self.scanned = end
            self.passed += len(lines)
            self._marks.append(self.scanned)
            self._numbers.append(self.passed)
            yield lines, begin

    def rest(self) -> bytes:
        """What stands behind the last finished line; of more than `cut` bytes, some of the beginning and the
        last two."""
        self._unfinished = self.scanned, self.file.size
        return self._line(self.scanned, self.file.size)

    def _line(self, begin: int, end: int) -> bytes:
        if self._cut is None or end - begin <= self._cut:
            return self.file.read(begin, end - begin)
        self.long[begin] = end - begin
        return self.file.read(begin, PEEK) + self.file.read(end - 2, 2)

    def number(self, offset: int) -> int:
        """The number, from 0, of the line that holds a byte that was scanned. Reads about a batch, and nothing of a
        line that is alone in its batch, as very long ones are."""
        at = bisect_right(self._marks, offset) - 1
        count = self._numbers[at]
        begin, end = self._unfinished
        if begin == self._marks[at] and begin <= offset < end:
            return count
        if at + 1 < len(self._numbers) and self._numbers[at + 1] == count + 1:
            return count
        for _, piece in self.file.chunks(self._marks[at], offset):
            count += piece.count(b"\n")
        return count

    def place(self, offset: int) -> Place:
        """Where a line that begins at `offset` stands, for problems."""
        return Place(self.file.label, self.number(offset) + 1, offset)


def line_at(file: File, offset: int, length: int = PEEK) -> bytes:
    """The line that begins at `offset`, without its end; `length` is what it is likely to be, its end
    included."""
    pieces = []
    want = min(length, PEEK)
    while True:
        piece = file.read(offset, want)
        end = piece.find(b"\n")
        pieces.append(piece if end < 0 else piece[:end])
        if end >= 0 or len(piece) < want:
            return b"".join(pieces).rstrip(b"\r")
        offset += want
        want = min(max(2 * want, PEEK), CHUNK)


def line_end(file: File, offset: int) -> int:
    """Where the line behind the one that holds `offset` begins."""
    for begin, piece in file.chunks(offset):
        end = piece.find(b"\n")
        if end >= 0:
            return begin + end + 1
    return file.size


class Lines:
    """All lines of a file, known up to `scanned` bytes. `seen`, when given, is called with each batch of
    new lines (without their ends) and the index of the first of them. A last line that has no end yet is
    seen too, and again, whole, when more of it stands there."""

    def __init__(self, file: File, seen: Callable[[list[bytes], int], None] | None = None) -> None:
        self.file = file
        self.starts = array("Q")
        self.scanned = file.start
        self._scan = Scan(file)
        self._seen = seen

    def __len__(self) -> int:
        """How many lines are known; an empty line behind the last newline is none."""
        return len(self.starts)

    def scan(self, batch: int = BATCH) -> Iterator[tuple[int, int]]:
        """Index up to the end of the file; yields (bytes scanned, bytes in all) per batch."""
        if self.scanned >= self.file.size:
            return
        del self.starts[self._scan.passed :]
        for lines, begin in self._scan.batches(batch):
            first = len(self.starts)
            self.starts.extend(accumulate(map(len, lines[:-1]), initial=begin))
            self.scanned = self._scan.scanned
            self._tell(lines, first)
            yield self.scanned, self.file.size
        rest = self._scan.rest()
        self.scanned = self._scan.scanned + len(rest)
        if rest:
            self.starts.append(self._scan.scanned)
            self._tell([rest], len(self.starts) - 1)
            yield self.scanned, self.file.size

    def _tell(self, lines: list[bytes], first: int) -> None:
        if self._seen:
            self._seen([line.removesuffix(b"\n") for line in lines], first)

    def read(self, index: int) -> bytes:
        """Line `index` (from 0) without its end."""
        begin = self.starts[index]
        end = self.starts[index + 1] if index + 1 < len(self.starts) else self.scanned
        return self.file.read(begin, end - begin).rstrip(b"\r\n")

    def finished(self, index: int) -> bool:
        """Whether the line has its newline."""
        return index < self._scan.passed

    def place(self, index: int) -> Place:
        """Where line `index` stands, for problems."""
        return Place(self.file.label, index + 1, self.starts[index])
