"""Lines and frames of a picture, joined cell by cell; each belongs to something whose look is asked for later."""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby, pairwise
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

Word = tuple[str, str]
"""A text and the meaning of its colour."""


class Picture:
    """The strokes, by row and column. `owner` is any number."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[int, tuple[int, tuple[int, ...]]]] = {}

    def line(self, points: Iterable[tuple[int, int]], owner: int) -> None:
        """Straight strokes from point to point."""
        for (x1, y1), (x2, y2) in pairwise(points):
            if y1 == y2:
                left, right = sorted((x1, x2))
                for x in range(left, right + 1):
                    self._join(x, y1, (EAST if x < right else 0) | (WEST if x > left else 0), owner)
            else:
                top, bottom = sorted((y1, y2))
                for y in range(top, bottom + 1):
                    self._join(x1, y, (SOUTH if y < bottom else 0) | (NORTH if y > top else 0), owner)

    def box(self, x: int, y: int, width: int, height: int, owner: int) -> None:
        """A frame."""
        right, bottom = x + width - 1, y + height - 1
        self.line([(x, y), (right, y), (right, bottom), (x, bottom), (x, y)], owner)

    def _join(self, x: int, y: int, directions: int, owner: int) -> None:
        row = self._rows.setdefault(y, {})
        old, owners = row.get(x, (0, ()))
        row[x] = (old | directions, owners if owner in owners else (*owners, owner))

    def row(self, y: int, words: Mapping[int, Word], look: Callable[[int], str]) -> list[Span]:
        """A row with words lying on it by their columns. Where strokes of several owners meet, one that is
        not dim is seen."""
        strokes = self._rows.get(y, {})
        pieces: list[Word] = []
        at = 0
        for x in sorted({*words, *strokes}):
            if x < at:
                continue
            if x > at:
                pieces.append((" " * (x - at), ""))
            if x in words:
                pieces.append(words[x])
                at = x + max(cell_len(words[x][0]), 1)
            else:
                directions, owners = strokes[x]
                looks = [look(owner) for owner in owners]
                pieces.append((STROKES.get(directions, " "), next((found for found in looks if found != "dim"), "dim")))
                at = x + 1
        return [Span("".join(text for text, _ in run), style) for style, run in groupby(pieces, key=itemgetter(1))]
