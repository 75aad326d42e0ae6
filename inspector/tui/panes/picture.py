"""A picture of cells: boxes, lines and words, painted once and turned into spans row by row."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from rich.cells import cell_len

from inspector.tui.line import Span

NORTH, EAST, SOUTH, WEST = 1, 2, 4, 8
STROKES = {
    NORTH: "│",
    SOUTH: "│",
    NORTH | SOUTH: "│",
    EAST: "─",
    WEST: "─",
    EAST | WEST: "─",
    NORTH | EAST: "└",
    NORTH | WEST: "┘",
    SOUTH | EAST: "┌",
    SOUTH | WEST: "┐",
    NORTH | SOUTH | EAST: "├",
    NORTH | SOUTH | WEST: "┤",
    EAST | WEST | SOUTH: "┬",
    EAST | WEST | NORTH: "┴",
    NORTH | SOUTH | EAST | WEST: "┼",
}
"""The box character for each set of directions."""


class Picture:
    """Cells by row and column; what is painted later lies above, lines meet."""

    def __init__(self) -> None:
        self._words: dict[int, dict[int, tuple[str, str]]] = {}
        self._strokes: dict[int, dict[int, tuple[int, str]]] = {}

    def word(self, x: int, y: int, text: str, style: str = "") -> None:
        """Text of narrow and wide characters from a cell on; it takes `cell_len(text)` cells."""
        self._words.setdefault(y, {})[x] = (text, style)

    def line(self, points: Iterable[tuple[int, int]], style: str = "") -> None:
        """Straight strokes from point to point."""
        before: tuple[int, int] | None = None
        for x, y in points:
            if before is not None:
                self._stroke(before, (x, y), style)
            before = (x, y)

    def box(self, x: int, y: int, width: int, height: int, style: str = "") -> None:
        """A frame."""
        right, bottom = x + width - 1, y + height - 1
        self.line([(x, y), (right, y), (right, bottom), (x, bottom), (x, y)], style)

    def _stroke(self, start: tuple[int, int], end: tuple[int, int], style: str) -> None:
        (x1, y1), (x2, y2) = sorted((start, end))
        if y1 == y2:
            for x in range(x1, x2 + 1):
                self._join(x, y1, (EAST if x < x2 else 0) | (WEST if x > x1 else 0), style)
        else:
            y1, y2 = sorted((y1, y2))
            for y in range(y1, y2 + 1):
                self._join(x1, y, (SOUTH if y < y2 else 0) | (NORTH if y > y1 else 0), style)

    def _join(self, x: int, y: int, directions: int, style: str) -> None:
        row = self._strokes.setdefault(y, {})
        old, look = row.get(x, (0, style))
        row[x] = (old | directions, style or look)

    def row(self, y: int) -> list[Span]:
        """A row as spans, neighbours of one style together."""
        words, strokes = self._words.get(y, {}), self._strokes.get(y, {})
        pieces: list[tuple[str, str]] = []
        at = 0
        for x in sorted({*words, *strokes}):
            if x < at:
                continue
            if x > at:
                pieces.append((" " * (x - at), ""))
            if x in words:
                pieces.append(words[x])
                at = x + cell_len(words[x][0])
            else:
                directions, style = strokes[x]
                pieces.append((STROKES[directions], style))
                at = x + 1
        return [Span("".join(text for text, _ in run), style) for style, run in groupby(pieces, key=itemgetter(1))]
