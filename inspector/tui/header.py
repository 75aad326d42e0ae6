"""The header: which run, how it stands, where one is, and how much of it is known."""

import os

from rich.cells import cell_len

from inspector.model.run import Run
from inspector.tui.bars import Bar
from inspector.tui.fetch import Progress
from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.session import Session
from inspector.tui.snapshots import Heading


def header(heading: Heading, width: int) -> Line:
    """The header in one line: what does not fit is cut from the run's name, never from the position."""
    right = "  ".join(part for part in _right(heading) if part) + " "
    left = " " + "  ".join(part for part in _left(heading.facts.run, heading.facts.source.path) if part)
    room = width - cell_len(right) - 2
    if room < 12:
        return Line((Span(right.strip()),))
    return Line((Span(cut(left, room)), Span("  "), Span(right)))


def trouble(run: Run) -> Line | None:
    """Why the run failed, in one line; None where it did not."""
    if run.error is None:
        return Line((Span(" failed: the file does not record why", "failed"),)) if run.status == "failed" else None
    error = run.error
    parts = (
        f"step {error.step}" if error.step is not None else "",
        "/".join(error.where or ()),
        error.type or "",
        error.message or "the reason is not recorded",
    )
    text = ": ".join(part for part in parts if part)
    return Line((Span(f" {text}", "failed"),), Opens("error", text))


def cut(text: str, cells: int) -> str:
    """`text` in exactly `cells` cells."""
    from inspector.tui.panes.cells import fit

    return fit(text, cells)


def _left(run: Run, path: str) -> list[str]:
    names = [run.name or run.id or os.path.basename(path.rstrip("/")) or path]
    if run.name and run.id and run.id != run.name:
        names.append(run.id)
    status = run.status + (f": {run.reason}" if run.reason else "")
    link = f"from {run.resumed_from.run}" if run.resumed_from else ""
    return [names[0], run.kind, status, *names[1:], link]


def _right(heading: Heading) -> list[str]:
    facts = heading.facts
    problems = len(facts.problems)
    return [
        f"step {heading.step}/{'?' if facts.untold else facts.known}{'' if facts.done else '+'}",
        "" if heading.shown is None else f"filter: {heading.shown}",
        f"{problems} problem{'' if problems == 1 else 's'}" if problems else "",
        "" if facts.done or facts.read is None else f"reading {percent(facts.read)}",
        "following" if heading.following else "",
        *heading.badges,
    ]


def percent(progress: Progress) -> str:
    """`45%`, or how much was done where the whole is unknown."""
    return f"{100 * progress.done // progress.total}%" if progress.total else amount(progress.done)


def rate(progress: Progress) -> str:
    """`45%, 230 MB/s`."""
    return f"{percent(progress)}, {amount(progress.rate)}/s"


def amount(size: float) -> str:
    """A number of bytes in few cells."""
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


class HeaderBar(Bar):
    """The widget."""

    def __init__(self, session: Session) -> None:
        super().__init__(over="title", id="header")
        self._session = session

    def lines(self) -> tuple[Line, ...]:
        heading = self._session.heading()
        return (header(heading, self.size.width) if heading else plain(" opening …"),)


class TroubleBar(Bar):
    """The line below the header that tells why a run failed; not there when it did not."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="trouble")
        self._session = session

    def lines(self) -> tuple[Line, ...]:
        facts = self._session.facts
        line = trouble(facts.run) if facts else None
        return (line,) if line else ()

    def update(self) -> None:
        super().update()
        self.display = bool(self.lines())
