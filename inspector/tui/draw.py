"""From lines to what the terminal gets. The last gate: nothing that could act on a terminal passes it.

Only as much of a text is looked at as the window shows, so a line of 12 MB costs what a short one does.
"""

from collections.abc import Iterator
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from inspector.model.text import one_line
from inspector.tui.line import ASCII_SIGNS, COLOURS, Line

WIDEST = 10_000
"""Cells of a line that can be reached by scrolling sideways; a longer one is opened to be read."""

_SIGNS = str.maketrans(ASCII_SIGNS)


@lru_cache(maxsize=128)
def style_of(meaning: str) -> Style:
    """The look of a meaning."""
    return Style.parse(COLOURS[meaning] or "none")


def strip(line: Line, width: int, *, shift: int = 0, ascii: bool = False, over: str | None = None) -> Strip:
    """The line as `width` cells, from cell `shift` on; a mark stands where something is cut off. `over` is
    a meaning that takes the place of every span's own, but for what was searched."""
    segments = list(_pieces(line, shift + width + 1, ascii, over))
    whole = Strip(segments)
    base = style_of(over) if over else None
    if shift == 0 and whole.cell_length <= width:
        return whole.extend_cell_length(width, base)
    shown = whole.crop(shift, shift + width).extend_cell_length(width, base)
    mark = style_of(over or "dim")
    if width > 1 and whole.cell_length > shift + width:
        shown = Strip([*shown.crop(0, width - 1), Segment("~" if ascii else "…", mark)], width)
    if width > 1 and shift:
        shown = Strip([Segment("<", mark), *shown.crop(1, width)], width)
    return shown


def _pieces(line: Line, cells: int, ascii: bool, over: str | None) -> Iterator[Segment]:
    """The spans as segments, up to about `cells` cells."""
    for span in line.spans:
        # Characters without a width are rare: twice the room is enough for what people write.
        text = printable(span.text[: 2 * cells], ascii)
        yield Segment(text, style_of(span.style if span.style == "match" else over or span.style))
        cells -= len(text) if text.isascii() else Segment(text).cell_length
        if cells <= 0:
            return


def printable(text: str, ascii: bool) -> str:
    """`text` as it may go to a terminal: on one line, and with `ascii` in ASCII alone."""
    line = one_line(text)
    if ascii and not line.isascii():
        return line.translate(_SIGNS).encode("ascii", "backslashreplace").decode("ascii")
    return line
