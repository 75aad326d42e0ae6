"""The app: paints at once, then imports, opens the path and shows what there is; ends with an exit code."""

import asyncio
import contextlib
import locale
import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from inspector.errors import InspectorError, UnreadableError, UsageError
from inspector.tui import keys
from inspector.tui._compat import Quiet
from inspector.tui.keys import bindings
from inspector.tui.means import LOOKING, Means
from inspector.tui.opening import OpeningScreen
from inspector.tui.rows import Rows

if TYPE_CHECKING:
    from inspector.tui.desk import Desk
    from inspector.tui.reports import Report


class Inspector(Quiet):
    """The screen of `runinspect PATH`. `now` is the clock of ages; `desk` is None until the first paint."""

    CSS = "Screen { background: transparent; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    ENABLE_COMMAND_PALETTE = False

    class Reported(Message, bubble=False):
        """A report of the loader, on its way from its thread to the screen's."""

        def __init__(self, report: "Report") -> None:
            super().__init__()
            self.report = report

    def __init__(
        self,
        path: str,
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
        self.desk: Desk | None = None
        self._path = path
        self._options: dict[str, Any] = {
            "run": run,
            "step": step,
            "format": format,
            "follow": follow,
            "ascii": ascii,
            "now": now,
            "means": means,
        }
        Rows.ascii = ascii

    def get_default_screen(self) -> OpeningScreen:
        return OpeningScreen(self._path)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, NotImplementedError, RuntimeError):  # not in the main thread
                loop.add_signal_handler(number, self.exit, None, 128 + number)
        # Half of what has to be imported is not needed for the first paint, so keys do not wait for it either.
        self.call_after_refresh(threading.Thread(target=self._import, daemon=True).start)

    def _import(self) -> None:
        import inspector.tui.desk  # noqa: F401

        self.call_later(self._begin)

    def _begin(self) -> None:
        from inspector.tui.desk import Desk

        self.desk = Desk(self, lambda report: self.post_message(self.Reported(report)), self._path, **self._options)

    def on_inspector_reported(self, event: Reported) -> None:
        if self.desk:
            self.desk.take(event.report)

    def on_unmount(self) -> None:
        if self.desk:
            self.desk.close()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and self.desk:
            self.desk.key_pressed()
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not keys.typing(self) or any(key.action == action for key in keys.KEYS if key.id in keys.ALWAYS)

    def action_help(self) -> None:
        if self.desk:
            self.desk.help()

    def action_palette(self) -> None:
        if self.desk:
            self.desk.palette()

    async def action_quit(self) -> None:
        if self.desk is None or not self.desk.stops():
            self.exit()

    def action_leave(self, escape: bool) -> None:
        if (self.desk is None or not self.desk.back(escape)) and not escape:
            self.exit(return_code=self.error.exit_code if self.error else 0)

    @property
    def error(self) -> InspectorError | None:
        """Why there is nothing to show."""
        return self.desk.error if self.desk else None


def run_app(
    path: str,
    *,
    run: str | None = None,
    step: int | None = None,
    format: str | None = None,
    follow: bool = False,
    ascii: bool = False,
    mouse: bool = False,
    means: Means = LOOKING,
) -> int:
    """Show a path until the user leaves; the exit code. Raises InspectorError where there is nothing to
    show, and what a defect of ours raised, in both cases with the terminal as it was."""
    term = os.environ.get("TERM", "")
    if term in ("", "dumb"):
        raise UsageError(f"TERM={term}", "this terminal cannot move its cursor; `runinspect show` prints the run")
    if term.startswith(("vt1", "vt2")) or term.endswith(("-m", "-mono")):
        os.environ.setdefault("NO_COLOR", "1")
    if path != "-" and not os.path.lexists(path):
        raise UnreadableError(path, "there is no such file or folder")
    if path == "-":
        _keys_from_terminal()
    ascii = ascii or not unicode_locale()
    from inspector.tui.capture import own_terminal

    app = Inspector(path, run=run, step=step, format=format, follow=follow, ascii=ascii, means=means)
    with own_terminal():
        app.run(mouse=mouse)
    if app.defect is not None:
        raise app.defect
    if app.error is not None:
        raise app.error
    return app.return_code or 0


def _keys_from_terminal() -> None:
    """Leave what is piped in to `sys.stdin`, and have keys come from the terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise UsageError("-", f"there is no terminal to read keys from: {error.strerror}") from error
    sys.stdin = os.fdopen(os.dup(0))
    os.dup2(terminal, 0)
    os.close(terminal)


def unicode_locale() -> bool:
    """Whether the terminal is said to take UTF-8."""
    with contextlib.suppress(AttributeError):  # nl_langinfo is not on every system
        return locale.nl_langinfo(locale.CODESET).replace("-", "").upper() == "UTF8"
    return (sys.stdout.encoding or "").replace("-", "").upper() == "UTF8"
