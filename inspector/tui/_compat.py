"""What has to reach into Textual: one place, with a test for each use."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from rich.console import Console, RenderableType
from rich.control import Control
from rich.segment import Segment
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.screen import Screen
from textual.strip import Strip

ERASE = "\x1b[K"
"""Has the rest of the line be empty."""

ODD = re.compile("[^ -~\xa0-\xac\xae-\u024f\u2010-\u2027\u2190-\u21ff\u2500-\u25fc✓✗]")
"""Characters other than letters and signs of one cell: Latin, dashes and quotes, arrows, and those that boxes and bars
are drawn with."""

FEW = 4
"""Lines that are worth moving."""

Known = Sequence[Segment]
"""The pieces of a line that stands on the terminal."""
Piece = tuple[int, int, list[Strip]]
"""What is painted from a column of a line on."""
Stretch = tuple[int, int, Known]
"""What is known to stand on a line from one column to another."""


class Quiet(App[Any]):
    """An app whose defects end it with the terminal restored and no traceback: `defect` is the exception. Over a slow
    link it costs what changes: lines that stand there already are not sent again."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lines: dict[int, list[Stretch]] = {}

    @property
    def defect(self) -> Exception | None:
        """What ended the app, None where it ended by itself."""
        return self._exception

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    def forget_terminal(self) -> None:
        """What stands on the terminal is not known any more: all of it is sent again."""
        self._lines.clear()

    def action_repaint(self) -> None:
        """Send everything again."""
        self.forget_terminal()
        self.refresh(layout=True)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Resize):
            self.forget_terminal()
        await super().on_event(event)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        shown: Any = renderable
        seen = self._running and not self._closed and not self.is_headless and not self._batch_count
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and seen and not self.is_inline:
            text = _Lean(renderable, self._lines, self.size.width).render_segments(self.console)
            cursor = self.screen.outer_size.clamp_offset(self.cursor_position)
            shown = _Sent(text) if text or cursor != self._previous_cursor_position else None
        super()._display(screen, shown)


class _Sent(CompositorUpdate):
    """An update that is made already."""

    def __init__(self, text: str) -> None:
        self._text = text

    def render_segments(self, console: Console) -> str:
        return self._text


class _Lean(CompositorUpdate):
    """An update without the lines that are `known` to stand there, without the pieces of others before and behind
    what has changed in them, and without the spaces at their ends."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, known: dict[int, list[Stretch]], width: int) -> None:
        self._update, self._known, self._width = update, known, width

    def render_segments(self, console: Console) -> str:
        update = self._update
        pieces = list(_of_layout(update) if isinstance(update, LayoutUpdate) else _of_chops(update))
        sent = [self._moved(pieces)]
        for x, y, strips in pieces:
            line, text = [segment for strip in strips for segment in strip], None
            end = x + _width(strips)
            ends = end == self._width
            begin, stop = _changed(self._stands(y, x, end, line), line)
            if begin == stop:
                continue
            if begin or stop < len(line):
                x, ends = x + _cells(line[:begin]), ends and stop == len(line)
                text = Strip(line[begin:stop]).render(console)
            text = text or "".join(strip.render(console) for strip in strips)
            short = text.rstrip(" ")
            if ends and len(text) - len(short) > len(ERASE):
                text = short + ERASE
            sent += (Control.move_to(x, y).segment.text, text)
        return "".join(sent)

    def _stands(self, y: int, x: int, end: int, line: Known) -> Known | None:
        """What stands on a line from `x` to `end`, None where that is unknown; `line` is known to be there from now."""
        stretches = self._known.get(y, [])
        for number, (begin, stop, before) in enumerate(stretches):
            if (begin, stop) == (x, end):
                stretches[number] = (x, end, line)
                return before
        inside = [part for stretch in stretches if (part := _part(stretch, x, end))]
        edges = ((0, x), (end, self._width))
        outside = [part for stretch in stretches for edge in edges if (part := _part(stretch, *edge))]
        self._known[y] = sorted([*outside, (x, end, line)], key=itemgetter(0))
        covered = sum(stop - begin for begin, stop, _ in inside) == end - x
        return [segment for *_, known in inside for segment in known] if covered else None

    def _whole(self, y: int) -> Known | None:
        """What stands on a line, where it was painted as a whole."""
        match self._known.get(y):
            case [(0, self._width, line)]:
                return line
        return None

    def _moved(self, pieces: Sequence[Piece]) -> str:
        """Have the terminal itself move lines up or down that are painted some lines further, as a list that is
        scrolled, and know it then."""
        whole = ((y, strips) for x, y, strips in pieces if x == 0 and _width(strips) == self._width)
        lines = {y: line for y, strips in whole if (line := [piece for strip in strips for piece in strip])}
        stood = {tuple(before): y for y in lines if (before := self._whole(y)) is not None}
        away = {y: stood[key] - y for y, line in lines.items() if (key := tuple(line)) in stood}
        by, count = Counter(away.values()).most_common(1)[0] if away else (0, 0)
        moved = [y for y, distance in away.items() if distance == by]
        if not by or count < FEW:
            return ""
        top, bottom = min(moved) + min(by, 0), max(moved) + max(by, 0)
        places = range(top, bottom + 1)
        if any(y not in lines for y in places) or sum(self._whole(y) == lines[y] for y in places) > count:
            return ""
        known = {y: self._known.pop(y) for y in places if y in self._known}
        self._known |= {y - by: line for y, line in known.items() if y - by in places}
        edge, move = (bottom, "\n" * by) if by > 0 else (top, "\x1bM" * -by)
        return f"\x1b[{top + 1};{bottom + 1}r\x1b[{edge + 1};1H{move}\x1b[r"


def _part(stretch: Stretch, x: int, end: int) -> Stretch | None:
    """What of a stretch lies between two columns; None for nothing."""
    begin, stop, line = stretch
    low, high = max(begin, x), min(stop, end)
    if low >= high:
        return None
    return low, high, list(Strip(line).crop(low - begin, high - begin))


def _changed(before: Known | None, line: Known) -> tuple[int, int]:
    """The first piece of a line that is not what stood there, and the one behind the last; an empty range for a line
    that stands there."""
    if before is None:
        return 0, len(line)
    if before == line:
        return 0, 0
    least = min(len(before), len(line))
    begin = next((at for at in range(least) if before[at] != line[at]), least)
    same = next((at for at in range(least - begin) if before[-1 - at] != line[-1 - at]), least - begin)
    if (begin or same) and any(ODD.search(segment.text) for segment in (*before, *line)):
        return 0, len(line)  # what terminals disagree about: in which column such a piece begins
    return begin, len(line) - same


def _width(strips: Sequence[Strip]) -> int:
    return sum(strip.cell_length for strip in strips)


def _cells(line: Known) -> int:
    """How wide pieces of a line are."""
    return sum(segment.cell_length for segment in line)


def _of_layout(update: LayoutUpdate) -> Iterator[Piece]:
    for y, line in enumerate(update.strips, update.region.y):
        yield update.region.x, y, list(line)


def _of_chops(update: ChopsUpdate) -> Iterator[Piece]:
    """The pieces of lines, as Textual itself cuts them."""
    for y, begin, stop in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x <= stop and end > begin:
                whole = stop > x >= begin and end <= stop
                yield x, y, [strip if whole else strip.crop(0, min(end, stop) - x)]


def send(app: App[Any], sequences: str) -> None:
    """Send escape sequences of our own making to the terminal."""
    if app._driver is not None:
        app._driver.write(sequences)
        app._driver.flush()
