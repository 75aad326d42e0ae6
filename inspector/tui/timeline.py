"""The timeline: a row per step, however many there are, of which only those in sight are fetched."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from rich.cells import cell_len
from textual.message import Message
from textual.strip import Strip

from inspector.model.run import StepKind, StepStatus
from inspector.tui.bars import Bar
from inspector.tui.draw import printable
from inspector.tui.line import STEP_SIGNS, Line, Span, plain
from inspector.tui.panes.cells import fit
from inspector.tui.rows import Rows
from inspector.tui.session import INDENT, Session
from inspector.tui.snapshots import Row
from inspector.tui.times import Timed, duration

EIGHTHS = " ▏▎▍▌▋▊▉█"
SINCE, KIND, SIGN = 6, 6, 6
PATHS: tuple[StepKind, ...] = ("firing", "node")
"""Kinds whose names are paths of nested actors or nodes."""

NAME_STYLES: dict[StepStatus, str] = {
    "failed": "failed",
    "pending": "waiting",
    "running": "running",
    "replayed": "replayed",
    "unknown": "dim",
}


class Columns(Struct, frozen=True):
    """Widths of what is not the same everywhere, in cells."""

    number: int
    since: int
    bar: int
    name: int

    @classmethod
    def of(cls, width: int, last: int, name: int, timed: bool = True) -> "Columns":
        """For a timeline of this width, a run of this length and names of that width; `timed`: its steps have
        times."""
        number = max(len(str(last)), 2)
        bar = 0 if not timed else 1 if width < 64 else 4 if width < 100 else 8
        since = SINCE + 2 if timed else 0
        fixed = number + 1 + since + bar + 1 + KIND + 1 + SIGN + 1
        return cls(number, since, bar, max(min((width - fixed) // 2, name), 8))


def titles(columns: Columns) -> Line:
    """The line above the rows."""
    text = (
        f"{'#':>{columns.number}} {'+t ' if columns.since else '':>{columns.since}}{'':{columns.bar}} {'kind':{KIND}}"
        f" {'name':{columns.name}} {'status':{SIGN}} what happened"
    )
    return Line((Span(text, "dim"),))


def line(row: Row, columns: Columns, ascii: bool = False) -> Line:
    """A row of the timeline."""
    sign = Span("!", "problem") if row.damage else Span("*", "accent") if row.marked else Span(" ")
    number = Span(f"{row.seq:>{columns.number}}", "" if row.timed or not row.seq else "dim")
    if row.seq == 0:
        return Line((number, sign, Span(" " * (columns.since + columns.bar)), *_start(row)))
    if row.timed is None:
        return Line((number, sign, Span(" " * (columns.since + columns.bar)), Span(" …", "dim")))
    step = row.timed.step
    if row.seam:
        return Line((number, sign, Span(" ── ", "accent"), *_found(step.summary or "", row.found, "accent")))
    late = row.timed.since is not None and row.timed.since < 0
    style = NAME_STYLES.get(step.status, "")
    name = printable(" " * min(row.timed.depth * INDENT, columns.name // 2) + step.name[: columns.name * 2], ascii)
    said = (step.error if step.status == "failed" else None) or step.summary or ""
    word = STEP_SIGNS[step.status]
    return Line(
        (
            number,
            sign,
            Span(f" {duration(row.timed.since):>{SINCE}} "[: columns.since], "problem" if late else "dim"),
            Span(bar(row.timed, row.longest, columns.bar), "dim" if row.timed.took_since else "bar"),
            Span(f" {step.kind:{KIND}} ", "dim"),
            *_found(_shown(name, columns.name, step.kind in PATHS), row.found, style),
            Span(f" {word.text:{SIGN}} ", word.style),
            *_damage(row),
            *_found(said, row.found, "failed" if step.status == "failed" and step.error else "dim" if late else ""),
        )
    )


def _start(row: Row) -> tuple[Span, ...]:
    """What stands before the first step: nothing, or the run that this one goes on from."""
    link = row.continues
    if row.untold:
        return (Span(" state  the steps that led to it are not recorded", "dim"),)
    if link is None:
        return (Span(" start  before the first step", "dim"),)
    told = f" continues {link.run}" if link.step is None else f" continues step {link.step} of {link.run}"
    return (Span(told, "accent"), Span("  Enter opens it", "dim"))


def _shown(name: str, width: int, path: bool) -> str:
    """A name in exactly `width` cells. Of a path that is too long the end is kept: it tells more."""
    if not path or "/" not in name or cell_len(name) <= width:
        return fit(name, width)
    end = name[-width + 1 :]
    while cell_len(end) > width - 1:
        end = end[1:]
    return fit("…" + end, width)


def bar(timed: Timed, longest: float, width: int) -> str:
    """The step's time as a bar, against the longest of the run."""
    took = timed.took or 0.0
    if took <= 0 or longest <= 0:
        return " " * width
    eighths = max(min(round(took / longest * width * 8), width * 8), 1)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def _found(text: str, found: str, style: str) -> list[Span]:
    """`text` with what was searched for made visible."""
    at = text.find(found) if found else -1
    if at < 0:
        return [Span(text, style)]
    return [Span(text[:at], style), Span(found, "match"), Span(text[at + len(found) :], style)]


def _damage(row: Row) -> list[Span]:
    if row.damage is None:
        return []
    return [Span(f"[damage {'behind' if row.behind else 'before'} this] ", "problem")]


class TimelineLines:
    """The rows of a session as lines. `missing` is set when a row was asked for that is not there."""

    def __init__(self, session: Session, columns: Columns) -> None:
        self.session, self.columns = session, columns
        self.missing = False

    def __len__(self) -> int:
        return len(self.session)

    def __getitem__(self, index: int) -> Line:
        row = self.session.row(index)
        if row.seq and row.timed is None:
            self.missing = True
        return line(row, self.columns, self.session.ascii)


class Timeline(Rows):
    """The widget. Rows that are in sight and not there are asked for by Wanted."""

    class Wanted(Message):
        """Ranges of steps (start, stop) to fetch: those in sight, and those that a key may bring into it."""

        def __init__(self, ranges: Sequence[tuple[int, int]], near: Sequence[tuple[int, int]]) -> None:
            super().__init__()
            self.ranges, self.near = ranges, near

    def __init__(self, session: Session, moved: Callable[[int], None]) -> None:
        super().__init__(id="timeline")
        self.session = session
        self._moved = moved
        self._asking = False
        self._wanted: object = None
        """What was asked for last, and has not come."""
        self.lay_out()

    def lay_out(self) -> bool:
        """Lay out the columns for the width and the length of the run; True when they changed."""
        width = self.size.width
        if not width and isinstance(self.lines, TimelineLines):  # hidden: it comes back as it was
            return False
        columns = Columns.of(width - 1, self.session.last, self.session.name_width, self.session.timed)
        if isinstance(self.lines, TimelineLines) and self.lines.columns == columns:
            return False
        self.lines = TimelineLines(self.session, columns)
        return True

    @property
    def columns(self) -> Columns:
        self.lay_out()
        assert isinstance(self.lines, TimelineLines)
        return self.lines.columns

    def sync(self, *, rows: bool = False) -> None:
        """Take over the session's length and cursor; `rows`: its rows changed too."""
        if self.lay_out() or rows:
            self.changed()
        self.grown()
        self.move(self.session.row_of(self.session.cursor), tell=False)

    def move(self, index: int, *, tell: bool = True) -> None:
        before = self.cursor
        super().move(index, tell=False)
        if tell and self.cursor != before:
            # Called and not posted, so that all that a key changes is painted at once.
            self._moved(self.session.seq(self.cursor))

    def widened(self) -> None:
        self.lay_out()

    def strips(self, lines: Sequence[int]) -> list[Strip]:
        drawn = super().strips(lines)
        assert isinstance(self.lines, TimelineLines)
        if self.lines.missing:
            self._ask_soon()
        return drawn

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._ask_soon()

    def _ask_soon(self) -> None:
        if not self._asking:
            self._asking = True
            self.call_later(self._ask)

    def _ask(self) -> None:
        self._asking = False
        assert isinstance(self.lines, TimelineLines)
        self.lines.missing = False
        sight = self.in_sight
        ranges = self.session.wanted_rows(sight)
        above = self.session.wanted_rows(range(sight.start - len(sight), sight.start))
        below = self.session.wanted_rows(range(sight.stop, sight.stop + len(sight)))
        near = [*above, *below]
        # What is on its way is not asked for twice.
        if (ranges or near) and self._wanted != (ranges, near):
            self._wanted = ranges, near
            self.post_message(self.Wanted(ranges, near))

    def fetched(self, rows: Sequence[int]) -> None:
        """These rows have come in."""
        self._wanted = None
        if self.lay_out():
            self.changed()
        self.changed(rows)


class TitlesBar(Bar):
    """The names of the timeline's columns."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(id="titles")
        self._timeline = timeline

    def lines(self) -> tuple[Line, ...]:
        return (Line((*plain(" ").spans, *titles(self._timeline.columns).spans)),)
