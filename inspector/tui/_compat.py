"""What has to reach into Textual: one place, with a test for each use."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.control import Control
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.screen import Screen
from textual.strip import Strip

ERASE = "\x1b[K"
"""Has the rest of the line be empty."""


class Quiet(App[Any]):
    """An app whose defects end it with the terminal restored and no traceback: `defect` is the exception. Over a slow
    link it costs what changes: lines that stand there already are not sent again."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lines: dict[int, str] = {}

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
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and not self.is_inline:
            shown = _Lean(renderable, self._lines, self.size.width)
        super()._display(screen, shown)


class _Lean(CompositorUpdate):
    """An update without the lines that are `known` to stand there, and without the spaces at their ends."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, known: dict[int, str], width: int) -> None:
        self._update, self._known, self._width = update, known, width

    def render_segments(self, console: Console) -> str:
        update, sent = self._update, list[str]()
        for x, y, strips in _of_layout(update) if isinstance(update, LayoutUpdate) else _of_chops(update):
            text = "".join(strip.render(console) for strip in strips)
            ends = x + sum(strip.cell_length for strip in strips) == self._width
            if x or not ends:
                self._known.pop(y, None)
            elif self._known.get(y) == text:
                continue
            else:
                self._known[y] = text
            short = text.rstrip(" ")
            if ends and len(text) - len(short) > len(ERASE):
                text = short + ERASE
            sent += (Control.move_to(x, y).segment.text, text)
        return "".join(sent)


def _of_layout(update: LayoutUpdate) -> Iterator[tuple[int, int, list[Strip]]]:
    for y, line in enumerate(update.strips, update.region.y):
        yield update.region.x, y, list(line)


def _of_chops(update: ChopsUpdate) -> Iterator[tuple[int, int, list[Strip]]]:
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
