"""The one list of the screen: any number of lines, of which only the visible ones exist.

A `Lines` builds a line when it is asked for; what was drawn is kept as strips. A cursor move draws two
strips, a scroll by one line one more. Nothing here measures or touches a line that is out of sight.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from inspector.tui.draw import WIDEST, strip, style_of
from inspector.tui.finished import Finished
from inspector.tui.keys import bindings
from inspector.tui.line import Line, Lines, Span

KEPT = 512
"""Strips that are kept."""

SIDEWAYS = 16
"""Cells of one step to the side."""


class Drawn(Struct, frozen=True):
    """A line as it was drawn, and all that decided how."""

    look: object
    strip: Strip


class Rows(ScrollView, Finished, can_focus=True):
    """Lines with a cursor. `built` counts the strips that were drawn, for tests."""

    DEFAULT_CSS = """
    Rows { overflow-x: hidden; overflow-y: auto; scrollbar-size: 0 0; background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("rows")
    ascii = False
    """Draw in ASCII alone; the app sets it on the class, once, before anything is drawn."""

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: "Rows", index: int) -> None:
            super().__init__()
            self.rows, self.index = rows, index

        @property
        def control(self) -> "Rows":
            return self.rows

    class Chosen(Message):
        """Enter on a row."""

        def __init__(self, line: Line, rows: "Rows", index: int) -> None:
            super().__init__()
            self.line, self.rows, self.index = line, rows, index

        @property
        def control(self) -> "Rows":
            return self.rows

    def __init__(self, lines: Lines = (), *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.lines: Lines = lines
        self.cursor = 0
        self.shift = 0
        self.built = 0
        self._length = 0
        self._width = -1
        self._strips: OrderedDict[int, Drawn] = OrderedDict()

    def on_mount(self) -> None:
        self._measure()

    def show(self, lines: Lines, cursor: int | None = None) -> None:
        """Show other lines, with the cursor where it is or at `cursor`. Those in sight that look as they did
        are not drawn again."""
        before, top = self._strips, self.scroll_offset.y
        self.lines, self._strips = lines, OrderedDict()
        self._measure()
        self.cursor = max(min(self.cursor if cursor is None else cursor, len(lines) - 1), 0)
        self._reveal()
        if self.scroll_offset.y != top:
            return
        for index in range(top, top + self.size.height):
            drawn = before.get(index)
            if drawn and index < len(lines) and drawn.look == self._look(index, lines[index]):
                self._strips[index] = drawn
            elif drawn or index < len(lines):
                self.refresh_line(index)

    def grown(self) -> None:
        """There may be more lines, or fewer; those that were there did not change."""
        length, before = len(self.lines), self._length
        if length == before:
            return
        self._measure()
        for index in [index for index in self._strips if index >= length]:
            del self._strips[index]
        self.move(self.cursor, tell=False)
        top = self.scroll_offset.y
        for index in range(max(min(before, length), top), min(max(before, length), top + self.size.height)):
            self.refresh_line(index)

    def changed(self, indices: Sequence[int] | None = None) -> None:
        """These lines changed (None: all of them); those in sight are drawn again."""
        in_sight = self.in_sight
        for index in list(self._strips) if indices is None else indices:
            self._strips.pop(index, None)
        for index in in_sight if indices is None else indices:
            if index in in_sight:
                self.refresh_line(index)

    @property
    def in_sight(self) -> range:
        """The lines in sight."""
        top = self.scroll_offset.y
        return range(top, min(top + self.size.height, len(self.lines)))

    def move(self, index: int, *, tell: bool = True) -> None:
        """Put the cursor on a row, as near as there is one, and bring it into sight."""
        index = max(min(index, len(self.lines) - 1), 0)
        before, self.cursor = self.cursor, index
        if before != index:
            self.changed((before, index))
        self._reveal()
        if tell and before != index:
            self.post_message(self.Moved(self, index))

    def strips(self, lines: Sequence[int]) -> list[Strip]:
        """These lines: from what was drawn before where possible."""
        width, top = self.size.width, self.scroll_offset.y
        if self._width != width:
            self._width = width
            self._strips.clear()
            self.widened()
        length = len(self.lines)
        return [self._strip(top + y) if top + y < length else Strip.blank(width) for y in lines]

    def render_line(self, y: int) -> Strip:
        return self.strips([y])[0]

    def _strip(self, index: int) -> Strip:
        if index not in self._strips:
            self.built += 1
            line = self.lines[index]
            self._strips[index] = Drawn(self._look(index, line), self._draw(index, line))
            while len(self._strips) > KEPT:
                self._strips.popitem(last=False)
        self._strips.move_to_end(index)
        return self._strips[index].strip

    def widened(self) -> None:
        """Lines are drawn in another width from now on."""

    def _look(self, index: int, line: Line) -> object:
        """All that decides how a line is drawn."""
        return line.spans, self._width, self.shift, index == self.cursor, self.has_focus

    def _draw(self, index: int, line: Line) -> Strip:
        here = index == self.cursor
        over = "selected" if here and self.has_focus else None
        mark = Span(">", "heading") if here else Span(" ")
        if not self.shift:
            return strip(Line((mark, *line.spans)), max(self._width, 1), ascii=self.ascii, over=over)
        left = Segment(mark.text, style_of(over or mark.style))
        return Strip([left, *strip(line, max(self._width - 1, 0), shift=self.shift, ascii=self.ascii, over=over)])

    def _measure(self) -> None:
        self._length = len(self.lines)
        # Set quietly: told of it, Textual would lay out the whole screen anew for scrollbars that are not there.
        self.set_reactive(ScrollView.virtual_size, Size(self.size.width, self._length))

    def _reveal(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if not height:
            return
        # Where there are fewer lines than before, the last of them stands at the bottom and not in the middle.
        wanted = max(min(top, self.cursor, len(self.lines) - height), self.cursor - height + 1, 0)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        self._measure()
        self._reveal()

    def on_focus(self) -> None:
        self.changed((self.cursor,))

    def on_blur(self) -> None:
        self.changed((self.cursor,))

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y
        if index < len(self.lines):
            chosen = index == self.cursor
            self.move(index)
            if chosen:
                self.action_choose()

    def action_row(self, by: int) -> None:
        """Move the cursor by rows."""
        self.move(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by screens, and the lines with it."""
        height = max(self.size.height - 1, 1)
        limit = max(len(self.lines) - self.size.height, 0)
        self.scroll_to(y=max(min(self.scroll_offset.y + by * height, limit), 0), animate=False, force=True)
        self.move(self.cursor + by * height)

    def action_first(self) -> None:
        """The first row."""
        self.move(0)

    def action_last(self) -> None:
        """The last row."""
        self.move(len(self.lines) - 1)

    def action_sideways(self, by: int) -> None:
        """Show what is further to the right or left."""
        shift = max(min(self.shift + by * SIDEWAYS, WIDEST), 0)
        if shift != self.shift:
            self.shift = shift
            self.changed()

    def action_choose(self) -> None:
        """Tell that Enter was pressed on the row."""
        if self.cursor < len(self.lines):
            self.post_message(self.Chosen(self.lines[self.cursor], self, self.cursor))
