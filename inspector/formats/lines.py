"""The line index: where each line of a file begins, found at the speed of scanning it.

Eight bytes a line, filled in batches that a reader can stop at; a line ends at `\\n` alone (strings
may hold raw U+2028 or U+0085), and a last line without one is a line too.
"""

from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate

from inspector.formats.files import CHUNK, File
from inspector.formats.jsontext import Place


class Lines:
    """The lines of a file, known up to `scanned` bytes. `seen`, when given, is called with each batch
    of new lines (without their ends) and the index of the first of them; the batch's last line may be
    unfinished, in which case it is seen again, whole, with the next batch."""

    def __init__(self, file: File, seen: Callable[[list[bytes], int], None] | None = None) -> None:
        self.file = file
        self.starts = array("Q", [file.start])
        self.scanned = file.start
        self._seen = seen

    def __len__(self) -> int:
        """How many lines are known; an empty line behind the last newline is none."""
        return len(self.starts) - (1 if self.starts[-1] >= self.scanned else 0)

    def scan(self, batch: int = CHUNK) -> Iterator[tuple[int, int]]:
        """Index up to the end of the file; yields (bytes scanned, bytes in all) per batch. A line that
        was unfinished is scanned again from its start."""
        while self.scanned < self.file.size:
            first = len(self.starts) - 1
            begin = self.starts[-1]
            # A line longer than the batch must not be scanned over and over: take twice as much.
            piece = self.file.read(begin, max(batch, 2 * (self.scanned - begin)))
            if begin + len(piece) <= self.scanned:
                return
            lines = piece.split(b"\n")
            ends = accumulate((len(line) + 1 for line in lines[:-1]), initial=begin)
            next(ends)
            self.starts.extend(ends)
            self.scanned = begin + len(piece)
            if not lines[-1]:
                lines.pop()
            if self._seen and lines:
                self._seen(lines, first)
            yield self.scanned, self.file.size

    def read(self, index: int) -> bytes:
        """Line `index` (from 0) without its end."""
        begin = self.starts[index]
        end = self.starts[index + 1] if index + 1 < len(self.starts) else self.scanned
        return self.file.read(begin, end - begin).rstrip(b"\r\n")

    def finished(self, index: int) -> bool:
        """Whether the line has its newline."""
        return index + 1 < len(self.starts)

    def place(self, index: int) -> Place:
        """Where line `index` stands, for problems."""
        return Place(self.file.label, index + 1, self.starts[index])
