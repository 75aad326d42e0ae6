"""What is known of the open run and where one stands in it: plain Python, one frozen snapshot per pane.

The screen hands reports in and keys on, and asks for snapshots; what has to be fetched is told by
`wanted_rows` and `cursor`. Steps are named by their seq; step 0, the state before the first, is a row too.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace
from rich.cells import cell_len

from inspector.model.run import Problem, RunStatus, resumable_here
from inspector.tui.columns import Bucket, Columns, Filter
from inspector.tui.fetch import Progress
from inspector.tui.reports import Facts, Fetched, Known, Opened, Scanned, Searched, Stood
from inspector.tui.snapshots import Heading, Overview, Row
from inspector.tui.snapshots import StateSnapshot as StateSnapshot
from inspector.tui.times import Timed

KEPT = 2048
"""Steps that are kept after they were shown."""

NARROWEST = 5
"""Cells of the column of names at least."""

INDENT = 2
"""Cells by which a nested step is indented."""

UNENDED: tuple[RunStatus, ...] = ("failed", "suspended", "interrupted", "running")
"""Statuses of a run at whose last step somebody may want to stop."""

WIDEST = 40
"""Cells of a name that are shown at most."""


class Session:
    """The open run. Methods that change where one stands return whether anything changed."""

    def __init__(self, *, step: int | None = None, follow: bool = False, ascii: bool = False) -> None:
        self.ascii = ascii
        self.following = follow
        self.facts: Facts | None = None
        self.driven = False
        """Whether it is driven here, whatever its files tell."""
        self.badges: tuple[str, ...] = ()
        """What the header tells of the screen itself."""
        self.cursor = 0
        self.marked: int | None = None
        self.filter = Filter()
        self.text = ""
        self.search: Progress | None = None
        """How far the search is; None when there is none."""
        self.search_number = 0
        """The number of the last search: reports of an earlier one are stale."""
        self.seeking = 0
        """The direction in which an odd step is looked for in what is still unknown; 0: none is."""
        self.columns = Columns()
        self.damage: dict[int, Problem] = {}
        self.name_width = NARROWEST
        """Cells of the longest name that was seen, nesting included."""
        self.timed = False
        """Whether any step that was seen has a time."""
        self._came_from = 0
        self._asked = step
        self._moved = False
        self._overview: tuple[object, tuple[Bucket, ...]] = (None, ())
        self._shown: array[int] | None = None
        self._rows: OrderedDict[int, Timed] = OrderedDict()
        self._stood: Stood | None = None

    @property
    def last(self) -> int:
        """The last step that is known."""
        return self.facts.known if self.facts else 0

    def __len__(self) -> int:
        """How many rows the timeline has."""
        if self.facts is None:
            return 0
        return self.last + 1 if self._shown is None else len(self._shown)

    def seq(self, row: int) -> int:
        """The step of a row."""
        return row if self._shown is None else self._shown[row]

    def row_of(self, seq: int) -> int:
        """The row of a step, or of the next one that the filter shows."""
        if self._shown is None:
            return min(seq, self.last)
        return min(bisect_left(self._shown, seq), max(len(self._shown) - 1, 0))

    def opened(self, report: Opened) -> None:
        """Another run is open."""
        self.facts = report.facts
        self.columns, self._overview = Columns(), (None, ())
        self.damage = {}
        self.marked, self.search, self.seeking = None, None, 0
        self.filter, self._shown = Filter(), None
        self._rows.clear()
        self._stood = None
        self.cursor, self._moved = 0, False
        self._settle()
        if report.rows:
            self._keep(report.rows)

    def known(self, report: Known) -> None:
        """More of the run is known, or it has changed."""
        # With a filter, which of the new steps is the last one that it shows is known when their columns are.
        at_end = self.facts is not None and self.cursor == self.last and self._shown is None
        shorter = report.facts.known < self.last
        other = self.facts is not None and _identity(self.facts) != _identity(report.facts)
        self.facts = report.facts
        if report.revised is not None:
            for seq in [seq for seq in self._rows if seq >= report.revised]:
                del self._rows[seq]
            if other and not self._rows:  # another file stands at this path
                self.name_width, self.timed = NARROWEST, False
            if report.rows:
                self._keep(report.rows)
            self._stood = None
        if shorter:
            self.columns.cut(self.last)
            self._show()
            self.cursor = min(self.cursor, self.last)
        if report.revised is not None and self.following and at_end:
            self.cursor = self.last
        self._settle()

    def _settle(self) -> None:
        """Go to the step that was asked for, or to the last, unless a key has been there first."""
        assert self.facts is not None
        if self._moved:
            return
        if self._asked is not None:
            self.cursor = min(self._asked, self.last)
            self._moved = self.last >= self._asked or self.facts.done
        elif self.facts.done:
            self.cursor, self._moved = self.last, True

    def forget(self) -> None:
        """What was fetched is to be fetched anew."""
        self._rows.clear()
        self._stood = None

    def fetched(self, report: Fetched) -> Iterable[int]:
        """Steps have come in; the rows that show them."""
        self._keep(report.rows)
        return [self.row_of(seq) for seq in report.rows]

    def _keep(self, rows: Mapping[int, Timed]) -> None:
        self._rows.update(rows)
        widths = (cell_len(row.step.name[:WIDEST]) + INDENT * row.depth for row in rows.values())
        self.name_width = min(max(self.name_width, *widths), WIDEST)
        self.timed = self.timed or any(row.since is not None or row.took is not None for row in rows.values())
        while len(self._rows) > KEPT:
            self._rows.popitem(last=False)

    def stood(self, report: Stood) -> bool:
        """A state has come in."""
        if report.step != self.cursor:
            return False
        self._stood = report
        return True

    def scanned(self, report: Scanned) -> bool:
        """Columns have come in; True when the rows of the timeline changed."""
        self.columns.put(report.chunk)
        if self._shown is None:
            return False
        at_end = bool(self._shown) and self.cursor >= self._shown[-1]
        del self._shown[bisect_left(self._shown, report.chunk.start) :]
        self._shown.extend(self.columns.matching(self.filter, report.chunk.start))
        if self._shown and self.following and at_end:
            self.cursor = self._shown[-1]
        return True

    def searched(self, report: Searched) -> bool:
        """The search has come further; False where nobody waits for it any more."""
        if self.search is None or report.number != self.search_number:
            return False
        self.search = None if report.ended else report.progress
        if report.seq is not None:
            self.go(report.seq)
        return True

    def begin_search(self) -> int:
        """The number of a new search."""
        self.search = Progress(done=0, total=0)
        self.search_number += 1
        return self.search_number

    def go(self, seq: int) -> bool:
        """Stand on a step, as near as there is one."""
        before, self.cursor = self.cursor, max(min(seq, self.last), 0)
        self._moved = True
        return before != self.cursor

    def mark(self) -> None:
        """Mark the step, or take the mark off it."""
        self.marked = None if self.marked == self.cursor else self.cursor

    def to_mark(self) -> int | None:
        """The marked step, from there the one that one came from; None where no step is marked."""
        if self.marked is not None and self.cursor != self.marked:
            self._came_from = self.cursor
            return self.marked
        return None if self.marked is None else self._came_from

    def odd(self, direction: int) -> int | None:
        """The next or previous step that failed or is open, or at which the run failed or is open; None where
        there is none, or none is known yet: then `seeking` is set until it is."""
        ahead = [seq for seq in self._unended() if (seq - self.cursor) * direction > 0]
        among = self.columns.odd(self.cursor, direction)
        ahead += [] if among is None else [among]
        found = min(ahead, key=lambda seq: abs(seq - self.cursor), default=None)
        unknown = len(self.columns) < self.last or not (self.facts and self.facts.done)
        waits = unknown if direction > 0 else unknown and len(self.columns) < self.cursor - 1
        self.seeking = direction if waits and (among is None or direction < 0) else 0
        return None if self.seeking else found

    def _unended(self) -> tuple[int, ...]:
        """Steps after which a run stands that failed or is open, though the steps themselves are done: in most
        formats what failed or waits is no step yet."""
        if self.facts is None or not self.facts.done or self.facts.run.status not in UNENDED:
            return ()
        error = self.facts.run.error
        return (self.last,) if error is None or error.step is None else (min(error.step, self.last), self.last)

    @property
    def waits_for_columns(self) -> bool:
        """Whether something on the screen waits for the pass over all steps."""
        return bool(self.seeking or self.filter) and len(self.columns) < self.last

    def choose(self, filter: Filter) -> None:
        """Show only the steps of a filter."""
        self.filter = filter
        self._show()
        if self._shown:
            self.cursor = self._shown[self.row_of(self.cursor)]

    def _show(self) -> None:
        self._shown = self.columns.matching(self.filter) if self.filter else None

    def wanted_rows(self, rows: range) -> list[tuple[int, int]]:
        """The ranges of steps that these rows need and that are not there."""
        ranges: list[tuple[int, int]] = []
        for row in rows:
            seq = self.seq(row) if 0 <= row < len(self) else 0
            if seq == 0 or seq in self._rows:
                continue
            if ranges and ranges[-1][1] == seq:
                ranges[-1] = (ranges[-1][0], seq + 1)
            else:
                ranges.append((seq, seq + 1))
        return ranges

    def row(self, index: int) -> Row:
        """The snapshot of a row."""
        seq = self.seq(index)
        if seq in self._rows:
            self._rows.move_to_end(seq)
        behind = self.damage.get(seq + 1) if seq == self.last else None
        return Row(
            seq=seq,
            timed=self._rows.get(seq),
            longest=self.columns.longest,
            found=self.text,
            marked=seq == self.marked,
            continues=self.facts.run.resumed_from if seq == 0 and self.facts is not None else None,
            untold=seq == 0 and self.facts is not None and self.facts.untold,
            seam=seq in self.facts.seams if self.facts is not None else False,
            damage=self.damage.get(seq) or behind,
            behind=behind is not None and seq not in self.damage,
        )

    def part(self, step: int) -> tuple[int, int]:
        """(how many runs stand behind the one that a step is of, its number in that one)."""
        seams = self.facts.seams if self.facts is not None else ()
        at = bisect_right(seams, step)
        return len(seams) - at, step - (seams[at - 1] if at else 0)

    @property
    def driverless(self) -> bool:
        """Whether there is no driver here that resumes runs like this one, whatever the code is."""
        if self.facts is None or self.facts.resume.driver is None:
            return self.facts is not None
        from inspector.resume.drivers import names

        return resumable_here(self.facts.resume, names()).driver is None

    def uneditable(self) -> str | None:
        """Why nothing of the run can be edited for a resume, in words; None where it can."""
        from inspector.resume.jobs import all_drivers

        name = self.facts.resume.driver if self.facts is not None else None
        driver = next((driver for driver in all_drivers() if driver.name == name), None)
        if driver is None or driver.edits:
            return None
        return f"the driver {name} takes its files as they are: nothing can be edited"

    def heading(self) -> Heading | None:
        """The snapshot of the header; None before a run is open."""
        if self.facts is None:
            return None
        shown, facts = None if self._shown is None else len(self._shown), self.facts
        if self.driven and facts.run.status == "interrupted":  # as long as its files do not tell
            facts = replace(facts, run=replace(facts.run, status="running", reason=None))
        return Heading(facts=facts, step=self.cursor, shown=shown, following=self.following, badges=self.badges)

    def state(self) -> StateSnapshot | None:
        """The snapshot of the state pane; None before a run is open."""
        if self.facts is None:
            return None
        stood = self._stood if self._stood and self._stood.step == self.cursor else None
        return StateSnapshot(
            step=self.cursor,
            last=self.last,
            state=stood.state if stood else None,
            before=stood.before if stood else None,
            step_record=stood.step_record if stood else None,
            raw=stood.raw if stood else None,
            definition=self.facts.definition,
            source=self.facts.source,
            ascii=self.ascii,
            loading=stood is None,
        )

    def overview(self, width: int) -> Overview:
        """The snapshot of the strip below the timeline."""
        key = (width, self.last, self.columns.version)
        if self._overview[0] != key:
            self._overview = key, tuple(self.columns.overview(width, self.last))
        buckets = self._overview[1]
        at = (max(self.cursor, 1) * len(buckets) - 1) // self.last if buckets else None
        return Overview(buckets=buckets, at=at, timed=self.columns.longest > 0)


def _identity(facts: Facts) -> tuple[object, ...]:
    return facts.source.format, facts.run.id, facts.run.name, facts.run.started
