"""The app: opens a path, shows its run or the list of its runs, and ends with an exit code."""

import asyncio
import contextlib
import locale
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.screen import Screen

from inspector.errors import InspectorError, UnreadableError, UsageError
from inspector.tui import keys
from inspector.tui._compat import Quiet
from inspector.tui.bars import Footer
from inspector.tui.keys import Where, bindings
from inspector.tui.line import Line
from inspector.tui.loader import Loader
from inspector.tui.messages import Damaged, Exported, Failed, Fetched, Known, Listed, Opened, Scanned, Searched, Stood
from inspector.tui.page import Page
from inspector.tui.pages import ErrorPage, OpeningPage, Palette, help_page
from inspector.tui.rows import Rows
from inspector.tui.runscreen import RunScreen
from inspector.tui.runsscreen import RunsPage
from inspector.tui.session import Session


class Inspector(Quiet):
    """The screen of `runinspect PATH`. `now` is the clock of ages, `loader` whoever opens files."""

    CSS = "Screen { background: transparent; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        path: str,
        *,
        run: str | None = None,
        step: int | None = None,
        format: str | None = None,
        follow: bool = False,
        ascii: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.error: InspectorError | None = None
        self._path, self._run_id, self._format = path, run, format
        self._step, self._follow, self._ascii = step, follow, ascii
        self._now = now
        self.loader = Loader(self.post_message)
        Rows.ascii = ascii

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, NotImplementedError, RuntimeError):  # not in the main thread
                loop.add_signal_handler(number, self.exit, None, 128 + number)
        self.push_screen(OpeningPage(self._path))
        self.call_after_refresh(self.loader.open, self._path, self._format)

    def on_unmount(self) -> None:
        self.loader.close()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self.loader.touch()
            for footer in self.screen.query(Footer):
                footer.key_pressed()
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not keys.typing(self) or any(key.action == action for key in keys.KEYS if key.id in keys.ALWAYS)

    @property
    def run_screen(self) -> RunScreen | None:
        """The screen of the open run, also while another one covers it."""
        return next((screen for screen in self.screen_stack if isinstance(screen, RunScreen)), None)

    def on_listed(self, report: Listed) -> None:
        listing = next((screen for screen in self.screen_stack if isinstance(screen, RunsPage)), None)
        if listing is not None:
            listing.take(report)
        elif self._run_id is not None or len(report.rows) == 1:
            self.loader.open_run(self._run_id)
        elif report.again:
            return
        elif report.rows:
            self.switch_screen(RunsPage(report, self._now))
            self.loader.follow(True)
        else:
            self._fail(UnreadableError(self._path, "holds no run"))

    def on_runs_page_chosen(self, event: RunsPage.Chosen) -> None:
        self.loader.open_run(event.run_id)

    def on_opened(self, report: Opened) -> None:
        session = Session(step=self._step, follow=self._follow, ascii=self._ascii)
        session.opened(report)
        screen = RunScreen(session, self.loader)
        if isinstance(self.screen, RunsPage):
            self.push_screen(screen)
        else:
            self.switch_screen(screen)

    def on_known(self, report: Known) -> None:
        if self.run_screen:
            self.run_screen.known(report)

    def on_fetched(self, report: Fetched) -> None:
        if self.run_screen:
            self.run_screen.fetched(report)

    def on_stood(self, report: Stood) -> None:
        if self.run_screen:
            self.run_screen.stood(report)

    def on_scanned(self, report: Scanned) -> None:
        if self.run_screen:
            self.run_screen.scanned(report)

    def on_damaged(self, report: Damaged) -> None:
        if self.run_screen:
            self.run_screen.damaged(report)

    def on_searched(self, report: Searched) -> None:
        if self.run_screen:
            self.run_screen.searched(report)

    def on_exported(self, report: Exported) -> None:
        if self.run_screen:
            self.run_screen.exported(report)

    def on_failed(self, report: Failed) -> None:
        if self.run_screen:
            self.run_screen.failed(report)
        elif isinstance(self.screen, RunsPage):
            self.screen.footer.tell(str(report.error), "failed")
        else:
            self._fail(report.error)

    def _fail(self, error: InspectorError) -> None:
        self.error = error
        self.switch_screen(ErrorPage(error))

    def places(self) -> tuple[Where, ...]:
        """Whose keys work here."""
        screen: Screen[object] = self.screen
        if isinstance(screen, RunScreen):
            return ("run", "rows", "state", "app")
        return (*screen.PLACES[:-1], "rows", "app") if isinstance(screen, Page) else ("app",)

    def action_help(self) -> None:
        self.push_screen(help_page(*self.places()))

    def action_palette(self) -> None:
        below = self.screen
        choices = [key for key in keys.of(*self.places()) if key.where in ("run", "runs", "app")]

        def do(line: Line | None) -> None:
            if line and line.opens:
                target = self if any(key.action == line.opens.title for key in keys.of("app")) else below
                self.call_later(self.run_action, line.opens.title, target)

        self.push_screen(Palette(choices), do)

    def action_leave(self, escape: bool) -> None:
        screen = self.screen
        if isinstance(screen, RunScreen):
            if screen.back(escape):
                return
            if any(isinstance(below, RunsPage) for below in self.screen_stack):
                self.pop_screen()
                self.loader.leave_run()
                self.loader.follow(True)
                return
        elif isinstance(screen, Page) and screen.back():
            return
        if not escape:
            self.exit(return_code=self.error.exit_code if self.error else 0)


def run_app(
    path: str,
    *,
    run: str | None = None,
    step: int | None = None,
    format: str | None = None,
    follow: bool = False,
    ascii: bool = False,
    mouse: bool = False,
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
    app = Inspector(path, run=run, step=step, format=format, follow=follow, ascii=ascii or not unicode_locale())
    app.run(mouse=mouse)
    if app.defect is not None:
        raise app.defect
    if app.error is not None:
        raise app.error
    return app.return_code or 0


def unicode_locale() -> bool:
    """Whether the terminal is said to take UTF-8."""
    with contextlib.suppress(AttributeError):  # nl_langinfo is not on every system
        return locale.nl_langinfo(locale.CODESET).replace("-", "").upper() == "UTF8"
    return (sys.stdout.encoding or "").replace("-", "").upper() == "UTF8"
