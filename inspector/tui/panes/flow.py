"""A text as rows of at most so many cells, found by arithmetic where the text is long.

A text of ordinary length is broken between words, wide characters counted as the terminal does. A long
one (a record of 12 MB on one line) is broken at a fixed number of characters, so that any row is a
slice and none is measured before it is seen.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from rich.cells import get_character_cell_size

from inspector.model.lazy import Lazy

LONG = 64 << 10
"""Characters from which on a text is broken by arithmetic."""
TAB = "    "


class Flow(Lazy[str]):
    """The rows of `text`. `text` here is as shown: tabs are spaces, and with `ascii` everything else
    outside ASCII is an escape; offsets are offsets in it."""

    def __init__(self, text: str, width: int, *, wrap: bool = True, ascii: bool = False) -> None:
        shown = text.replace("\t", TAB)
        if ascii and not shown.isascii():
            shown = shown.encode("ascii", "backslashreplace").decode()
        self.text, self.width, self.wrap = shown, max(width, 1), wrap
        lines = shown.split("\n")
        # Packed numbers: of a text of a million lines, lists of them would take ten times what the text does.
        self._starts = array("Q", accumulate((len(line) + 1 for line in lines), initial=0))
        self._breaks: list[int] | None = None
        if wrap and len(shown) <= LONG:
            starts = zip(self._starts, lines, strict=False)
            self._breaks = [start + at for start, line in starts for at in breaks(line, self.width)]
            return
        self._chunks = array("Q", map(self._chunk, lines)) if wrap else None
        self._ends = array("Q", accumulate(map(self._count, lines, self._chunks)) if self._chunks else ())

    def _chunk(self, line: str) -> int:
        # What is not ASCII may be two cells wide: half as many characters always fit.
        return self.width if line.isascii() else max(self.width // 2, 1)

    @staticmethod
    def _count(line: str, chunk: int) -> int:
        return -(-len(line) // chunk) or 1

    def __len__(self) -> int:
        if self._breaks is not None:
            return len(self._breaks)
        return self._ends[-1] if self._chunks else len(self._starts) - 1

    def item(self, at: int) -> str:
        start, stop = self.span(at)
        return self.text[start:stop]

    def span(self, index: int) -> tuple[int, int]:
        """Where row `index` begins and ends in the text, without the line's end or the space at which it is
        broken. Raises IndexError."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        if self._breaks is not None:
            start = self._breaks[index]
            line = bisect_right(self._starts, start) - 1
            end = self._starts[line + 1] - 1
            following = self._breaks[index + 1] if index + 1 < len(self._breaks) else end + 1
            if following <= end:
                return start, following - (self.text[following - 1] == " ")
            return start, end
        if not self._chunks:
            return self._starts[index], self._starts[index + 1] - 1
        line = bisect_right(self._ends, index)
        within = index - (self._ends[line - 1] if line else 0)
        start = self._starts[line] + within * self._chunks[line]
        return start, min(start + self._chunks[line], self._starts[line + 1] - 1)

    def row_of(self, offset: int) -> int:
        """The row in which the character at `offset` stands."""
        if self._breaks is not None:
            return max(bisect_right(self._breaks, offset) - 1, 0)
        line = min(bisect_right(self._starts, offset), len(self._starts) - 1) - 1
        if not self._chunks:
            return line
        first = self._ends[line - 1] if line else 0
        return min(first + (offset - self._starts[line]) // self._chunks[line], self._ends[line] - 1)


def breaks(line: str, width: int) -> Iterator[int]:
    """The offsets at which the rows of `line` begin: between words where a row has one, and never so that
    a row is wider than `width` cells, but for the space at which it is broken."""
    at = 0
    while True:
        yield at
        end = fitting(line, at, width)
        if end >= len(line):
            return
        space = line.rfind(" ", at + width // 2, end + 1)
        at = space + 1 if space >= 0 else end


def fitting(text: str, start: int, width: int) -> int:
    """The largest end for which text[start:end] takes at most `width` cells; at least one character."""
    end = min(start + width, len(text))
    if text.isascii():
        return max(end, start + 1)
    cells, at = 0, start
    # Characters of no width of their own end the row too, once they are as many as the row may have.
    while at < min(start + 2 * width, len(text)):
        cells += 1 if text[at] == "\ufe0f" else get_character_cell_size(text[at])
        if cells > width and at > start:
            break
        at += 1
    return at
