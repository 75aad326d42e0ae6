"""The first screen: painted before anything else is imported or read."""

from textual.app import ComposeResult
from textual.screen import Screen

from inspector.tui.bars import Bar, Footer
from inspector.tui.line import Line, Span, plain


class OpeningScreen(Screen[None]):
    """Until a path is open."""

    DEFAULT_CSS = "OpeningScreen #rest { height: 1fr; }"

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path, self._seconds = path, 0
        self._told = Bar(self._line(), id="rest")
        self.footer = Footer("app")

    def compose(self) -> ComposeResult:
        yield Bar(plain(" runinspect", "title"), over="title", id="header")
        yield self._told
        yield self.footer

    def on_mount(self) -> None:
        self._clock = self.set_interval(1.0, self._tick)

    def on_screen_suspend(self) -> None:
        self._clock.stop()

    def _line(self) -> Line:
        waited = f"  {self._seconds} s" if self._seconds else ""
        return Line((Span(" opening ", "dim"), Span(self._path), Span(f" …{waited}", "dim")))

    def _tick(self) -> None:
        self._seconds += 1
        self._told.set(self._line())
