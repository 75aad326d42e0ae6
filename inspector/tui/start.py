"""From the command to the screen, and back with an exit code.

The path is opened while Textual is being imported, so what there is to see is mostly there when the screen
comes up; until it is, reports are kept.
"""

import contextlib
import gc
import locale
import os
import sys
import threading
from collections.abc import Callable, Sequence

from msgspec import structs

from inspector import policy
from inspector.errors import UnreadableError, UsageError
from inspector.streams import complain
from inspector.tui.loader import Loader
from inspector.tui.means import LOOKING, Means
from inspector.tui.reports import Opened, Part, Report


class Opening:
    """A path that is being opened: its loader, and what that reports until somebody takes it. `behind`: the runs that
    the one there goes on from, and that are shown before it."""

    def __init__(
        self,
        path: str,
        *,
        run: str | None = None,
        step: int | None = None,
        format: str | None = None,
        behind: Sequence[Part] = (),
    ) -> None:
        self.path, self.format, self.step = path, format, step
        self._turn = threading.Lock()
        self._kept: list[Report] = []
        self._take: Callable[[Report], object] | None = None
        self.loader = Loader(self.post)
        self.loader.open(path, format, run, step, behind)

    def post(self, report: Report) -> None:
        """Take a report, from any thread."""
        with self._turn:
            if self._take is None:
                self._kept.append(report)
            else:
                self._take(report)

    def opened(self) -> Opened | None:
        """The run, where it is open already; it is not told again."""
        with self._turn:
            return self._kept.pop(0) if self._kept and isinstance(self._kept[0], Opened) else None  # type: ignore[return-value]

    def forward(self, take: Callable[[Report], object]) -> None:
        """Hand on what was kept, and from now on everything as it comes, from the loader's thread."""
        with self._turn:
            for report in self._kept:
                take(report)
            self._kept.clear()
            self._take = take


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
    if not (sys.stdout.isatty() and (sys.stdin.isatty() or path == "-")):
        raise UsageError(path, "the screen needs a terminal; `runinspect show` prints the run")
    term = os.environ.get("TERM", "")
    if term in ("", "dumb"):
        raise UsageError(f"TERM={term}", "this terminal cannot move its cursor; `runinspect show` prints the run")
    if term.startswith(("vt1", "vt2")) or term.endswith(("-m", "-mono")):
        os.environ.setdefault("NO_COLOR", "1")
    if path != "-" and not os.path.lexists(path):
        raise UnreadableError(path, "there is no such file or folder")
    if path == "-":
        _keys_from_terminal()
    if means.read_only:
        policy.set_read_only()
    means = structs.replace(means, read_only=policy.read_only())
    # What is imported stays: looking through it for garbage would take a tenth of the time to the first paint.
    gc.disable()
    # What a key leads to comes in two paints, and the second waits for up to two ticks of Textual's clock.
    os.environ.setdefault("TEXTUAL_FPS", "1000")
    opening = Opening(path, run=run, step=step, format=format)
    try:
        from inspector.tui.app import Inspector
        from inspector.tui.capture import own_terminal
        from inspector.tui.guard import guarding
    except BaseException:  # Ctrl-C too: a private copy of the file may be there already
        opening.loader.close()
        raise
    app = Inspector(path, opening, follow=follow, ascii=ascii or not unicode_locale(), means=means)
    with own_terminal():
        with guarding():
            app.run(mouse=mouse)
        for told in filter(None, (live.parting() for live in app.lives)):
            complain(told)
        if any(live.resumption.driven for live in app.lives):
            # Threads of a run that was given up would keep the process: what they do is lost either way.
            os._exit(app.return_code or 1)
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
