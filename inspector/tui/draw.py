"""From lines to what the terminal gets. The last gate: nothing that could act on a terminal passes it, and no
credential, wherever a line has its text from.

Only as much of a text is looked at as the window shows, so a line of 12 MB costs what a short one does.
"""

from collections.abc import Iterator
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from inspector.model.text import one_line
from inspector.tui.line import ASCII_SIGNS, COLOURS, Line
from inspector.tui.masking import masked

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
    base, mark = style_of(over) if over else None, style_of(over or "dim")
    end = Segment("~" if ascii else "…", mark)
    if shift:
        whole = Strip(_pieces(line, shift + width + 1, ascii, over)).crop(shift)
        shown = _fitted(whole, width, base, end)
        return shown if width < 2 else Strip([Segment("<", mark), *shown.crop(1, width)], width)
    segments: list[Segment] = []
    room = width
    for segment in _pieces(line, width + 1, ascii, over):
        text, style, _ = segment
        room -= len(text) if text.isascii() else segment.cell_length
        if segments and segments[-1].style is style:
            segments[-1] = Segment(segments[-1].text + text, style)
        else:
            segments.append(segment)
        if room < 0:
            return _fitted(Strip(segments), width, base, end)
    if room:
        segments.append(Segment(" " * room, base))
    return Strip(segments, width)


def _fitted(whole: Strip, width: int, base: Style | None, end: Segment) -> Strip:
    """In `width` cells; `end` stands in the last one where something is cut off."""
    if width < 2 or whole.cell_length <= width:
        return whole.crop(0, width).extend_cell_length(width, base)
    return Strip([*whole.crop(0, width - 1).extend_cell_length(width - 1, base), end], width)


def _pieces(line: Line, cells: int, ascii: bool, over: str | None) -> Iterator[Segment]:
    """The spans as segments, up to about `cells` cells."""
    for span in line.spans:
        # Characters without a width are rare: twice the room is enough for what people write.
        text = printable(masked(span.text[: 2 * cells]), ascii)
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
