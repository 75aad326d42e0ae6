"""A screen that is one list under a heading: help, problems, the palette, filters, what went wrong."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.screen import Screen

from inspector.tui.bars import Bar, Footer
from inspector.tui.keys import Where, typing
from inspector.tui.line import Line, Lines, plain
from inspector.tui.prompt import Prompt
from inspector.tui.rows import Rows


class Page(Screen[Line | None]):
    """Header, heading, rows, footer. Enter or leaving dismisses it, with the row that was chosen or None."""

    AUTO_FOCUS = "#rows"
    PLACES: ClassVar[tuple[Where, ...]] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = []
    asks: ClassVar[bool] = False
    """Whether it is there for its prompt alone, and goes with that: a key that was typed behind the Enter would act
    before what was entered does, and is dropped."""

    def __init__(self, title: str, lines: Lines = (), *, heading: Line | None = None, cursor: int = 0) -> None:
        super().__init__()
        self._title = title
        self._heading = heading
        self._cursor = cursor
        self.rows = Rows(lines, id="rows")
        self.footer = Footer(*self.PLACES)
        self.prompt = Prompt()

    def compose(self) -> ComposeResult:
        yield Bar(plain(f" {self._title}", "title"), over="title", id="header")
        if self._heading is not None:
            yield Bar(self._heading, id="heading")
        yield self.rows
        yield self.footer
        yield self.prompt

    def on_mount(self) -> None:
        self.rows.move(self._cursor, tell=False)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.chosen(event.line, event.index)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not typing(self)

    def chosen(self, line: Line, index: int) -> None:
        """Enter on a row."""
        self.dismiss(line)

    def dismiss(self, result: Line | None = None) -> AwaitComplete:
        """Goes away, with an answer. A second Esc or Enter that was typed before comes to a page that has gone, or
        that another covers: it does nothing, where Textual would take away whatever is on top."""
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def leave(self) -> None:
        """Goes away unasked, with whatever covers it."""
        while not self.is_active:
            self.app.pop_screen()
        self.dismiss(None)

    def back(self) -> bool:
        """Esc or q; False where there is nothing to go back to."""
        self.dismiss(None)
        return True
