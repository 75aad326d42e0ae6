"""The app: what the keys that work everywhere do, and the way of reports from the loader's thread to the screen's."""

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from inspector.errors import InspectorError
from inspector.tui import keys
from inspector.tui._compat import Quiet
from inspector.tui.desk import Desk
from inspector.tui.guard import away
from inspector.tui.keys import bindings
from inspector.tui.means import LOOKING, Means
from inspector.tui.reports import Report
from inspector.tui.rows import Rows
from inspector.tui.start import Opening

if TYPE_CHECKING:
    from inspector.tui.live import Live


class Inspector(Quiet):
    """The screen of `runinspect PATH`. `now` is the clock of ages."""

    CSS = "Screen { background: transparent; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    ENABLE_COMMAND_PALETTE = False

    class Reported(Message, bubble=False):
        """A report of a loader, on its way from its thread to the screen's."""

        def __init__(self, desk: Desk, report: Report) -> None:
            super().__init__()
            self.desk, self.report = desk, report

    def __init__(
        self,
        path: str,
        opening: Opening | None = None,
        *,
        run: str | None = None,
        step: int | None = None,
        format: str | None = None,
        follow: bool = False,
        ascii: bool = False,
        means: Means = LOOKING,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.lives: list[Live] = []
        """The runs that were begun here."""
        self._path = path
        self._opening = opening or Opening(path, run=run, step=step, format=format)
        self.desk = Desk(self, self._opening, follow=follow, ascii=ascii, now=now, means=means)
        Rows.ascii = ascii

    def get_default_screen(self) -> Screen[Any]:
        opened = self._opening.opened()
        if opened:
            return self.desk.screen_of(opened)
        from inspector.tui.opening import OpeningScreen

        return OpeningScreen(self._path)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, NotImplementedError, RuntimeError):  # not in the main thread
                loop.add_signal_handler(number, self.exit, None, 128 + number)
        # Back from the shell, the terminal has forgotten everything, and Textual sends only what has changed.
        self.app_resume_signal.subscribe(self, lambda _: self.action_repaint())
        self.app_suspend_signal.subscribe(self, lambda _: away(True), immediate=True)
        self.app_resume_signal.subscribe(self, lambda _: away(False), immediate=True)
        self.listen(self._opening, self.desk)
        self.call_after_refresh(self._collect_garbage)

    def _collect_garbage(self) -> None:
        """From now on, but not of what has been imported."""
        gc.freeze()
        gc.enable()

    def listen(self, opening: Opening, desk: Desk) -> None:
        """Have a desk take what an opening reports."""
        opening.forward(lambda report: self.post_message(self.Reported(desk, report)))

    def on_inspector_reported(self, event: Reported) -> None:
        if self.is_running:  # else its screens are being taken down
            event.desk.take(event.report)

    def on_unmount(self) -> None:
        self.desk.close()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and self.desk.key_pressed(event.key, event.time):
            return
        ends = isinstance(event, events.Key) and event.key in ("enter", "escape") and keys.typing(self)
        prompt = getattr(self.screen, "prompt", None) if ends and not getattr(self.screen, "asks", False) else None
        await super().on_event(event)
        # What is typed behind it, in the same packet, is for the page and not for the field.
        if prompt is not None:
            await prompt.heard()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not keys.typing(self) or any(key.action == action for key in keys.KEYS if key.id in keys.ALWAYS)

    def action_help(self) -> None:
        self.desk.help()

    def action_palette(self) -> None:
        self.desk.palette()

    async def action_quit(self) -> None:
        if not self.desk.stops():
            self.exit()

    def action_leave(self, escape: bool) -> None:
        if not self.desk.back(escape) and not escape:
            self.exit(return_code=self.error.exit_code if self.error else 0)

    @property
    def error(self) -> InspectorError | None:
        """Why there is nothing to show."""
        return self.desk.error
