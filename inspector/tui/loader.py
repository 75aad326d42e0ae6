"""The owner of the open file: requests in from the screen, reports out to it.

Everything that touches a file happens in the thread of one `Schedule`, so a run is never asked two things
at once and the screen never waits for a disk.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from functools import partial
from itertools import islice

from inspector.errors import InspectorError
from inspector.model.joined import Joined, parts
from inspector.model.source import RunSet, RunSource
from inspector.tui import fetch, masking, passes
from inspector.tui.columns import Filter
from inspector.tui.fetch import Nesting, States
from inspector.tui.passes import Pace, Reports
from inspector.tui.reports import Exported, Failed, Fetched, Known, Listed, Opened, Part, Report, Stood
from inspector.tui.schedule import Schedule

PERIOD = 0.5
"""Seconds between two looks at a file that is followed."""
BURST, SKIPPED = 5, 2
"""Behind more new steps than this, so many looks are left out: nobody reads that fast, and a slow link would show for
long what is over."""

REVISED = 1000
"""Steps before the end that may still change while a run grows."""

AROUND = 64
"""Steps on either side of the first one to be looked at that come with the run."""

SMALL, SOON = 1 << 20, 0.03
"""Of a run that says that it is no longer than this, mostly in bytes, all is read before it is shown, if that takes no
more seconds: what would be shown before that is painted over at once."""

ENTRIES = 1000
"""Entries of a folder that are watched."""

OF_A_RUN = ("rows", "state", "near", "find", "index", "reopen", "scan", "damage", "export", "compare", "judge")


class Loader:
    """Opens paths and answers requests by reports to `post`. Requests return at once."""

    def __init__(self, post: Callable[[Report], object]) -> None:
        self._post = post
        self._plan = Schedule(
            asked=(
                "open",
                "run",
                "read_on",
                "follow",
                "look",
                "rows",
                "state",
                "near",
                "find",
                "export",
                "compare",
                "judge",
            ),
            long=("index", "reopen", "find", "export", "compare", "judge", "damage", "scan"),
            resting=("damage", "scan"),
            failed=self._failed,
            ended=self._ended,
        )
        self._hurried = False
        self._path = ""
        self._format: str | None = None
        self._stamp: object = None
        self._skips = 0
        """How many looks are left out."""
        self._runs: RunSet | None = None
        self._unlisted = False
        """Whether something has changed that the list of runs does not tell."""
        self._run: RunSource | None = None
        self._run_id: str | None = None
        self._reading: Reports | None = None  # the rest of the first reading, until it is asked for
        self._behind: Sequence[Part] = ()
        self._before: tuple[RunSource, int | None] | None = None
        """What stands before the run, and up to which step of that."""
        self._others: list[RunSet] = []

    def open(
        self,
        path: str,
        format: str | None,
        run_id: str | None = None,
        step: int | None = None,
        behind: Sequence[Part] = (),
    ) -> None:
        """Open a path, and a run of it when it is named or the only one; answered by Listed, Opened or a fatal
        Failed. `step` is where it will be looked at first. The run stands `behind` those that it goes on from."""
        self._behind = behind
        self._plan.start()
        self._plan.ask("open", partial(self._open, path, format, run_id, step))

    def open_run(self, run_id: str | None) -> None:
        """Open one of its runs; answered by Opened."""
        self._plan.ask("run", partial(self._open_run, run_id))

    def read_on(self) -> None:
        """Read the run that was opened to its end; answered by Known and Scanned until all is known."""
        self._plan.ask("read_on", self._read_on)

    def leave_run(self) -> None:
        """Let go of the run, for the list of runs."""
        self._plan.ask("run", self._back)

    def rows(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Fetch the steps of these ranges (start, stop); answered by Fetched."""
        self._plan.ask("rows", partial(self._rows, ranges))

    def near(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Fetch steps that may be looked at next: the same, after everything else that was asked for."""
        self._plan.ask("near", partial(self._rows, ranges))

    def state(self, step: int) -> None:
        """Fetch the state after a step; answered by Stood."""
        self._plan.ask("state", partial(self._state, step))

    def find(self, number: int, text: str, start: int, backward: bool, filter: Filter) -> None:
        """Search; answered by Searched with this number, until one of them has `ended`."""
        self._plan.ask("find", partial(self._find, number, text, start, backward, filter))

    def cancel_find(self) -> None:
        """Give up the search; reports may still be on their way."""
        self._plan.ask("find", lambda: self._plan.forget("find"))

    def export(self, path: str) -> None:
        """Write the run as a trace of our own; answered by Exported until one of them has `ended`."""
        self._plan.ask("export", partial(self._begin_export, path))

    def cancel_export(self) -> None:
        """Give up the export; nothing is left of it."""
        self._plan.ask("export", lambda: self._plan.forget("export"))

    def compare(self, kind: str, job: Callable[[RunSource], Reports]) -> None:
        """Compare the run with something (`compare`), or with its code (`judge`); the job's reports answer."""
        self._plan.ask(kind, partial(self._begin_compare, kind, job))

    def _begin_compare(self, kind: str, job: Callable[[RunSource], Reports]) -> None:
        if self._run is not None:
            self._begin(kind, job(self._run))

    def follow(self, on: bool) -> None:
        """Look for what is appended to the run, or to the list of runs; answered by Known or Listed."""
        self._skips = 0
        self._plan.ask("follow", lambda: self._plan.every(PERIOD if on else None, self._look))

    def look(self) -> None:
        """See once whether the run has changed; answered by Known where it has."""
        self._skips = 0
        self._plan.ask("look", self._look)

    def look_soon(self) -> None:
        """See now what is new of a run that is followed, unless more comes than anybody reads."""
        self._plan.ask("look", lambda: None if self._skips else self._look())

    def touch(self) -> None:
        """A key was pressed: work that nobody waits for rests for a while."""
        self._plan.touch()

    def hurry(self, on: bool) -> None:
        """Somebody waits for the pass over all steps, or nobody does any more."""
        if on != self._hurried:  # waking the thread costs more than a key
            self._hurried = on
            self._plan.hurry(on)

    @property
    def idle(self) -> bool:
        """Whether everything that was asked for is done."""
        return self._plan.idle

    def close(self) -> None:
        """End the thread, and give it a moment to remove private copies."""
        self._plan.close(wait=1.0)

    def _ended(self) -> None:
        for runs in (self._runs, *self._others):
            if runs is not None:
                runs.close()

    def _failed(self, kind: str, error: Exception) -> None:
        if isinstance(error, InspectorError):
            shown = error
        elif isinstance(error, OSError):
            shown = InspectorError(error.filename or self._path, error.strerror or str(error))
        elif isinstance(error, MemoryError):
            shown = InspectorError(self._path, "out of memory: the file is too large for what was asked")
        else:
            reason = f"internal error: {type(error).__name__}: {error}; please report it"
            shown = InspectorError(self._path, reason)
        self._post(Failed(kind, shown, fatal=kind == "open" or (kind == "run" and self._run is None)))

    def _open(self, path: str, format: str | None, run_id: str | None, step: int | None) -> None:
        from inspector.formats import open_path

        self._path, self._format = path, format
        self._stamp = look_of(path)
        self._runs = open_path(path, format)
        if run_id is not None or len(self._runs.rows()) == 1:
            self._open_run(run_id, step)
        else:
            self._list(again=False)

    def _list(self, again: bool) -> None:
        assert self._runs is not None
        self._unlisted = False
        rows, problems = tuple(self._runs.rows()), tuple(self._runs.problems())
        self._post(Listed(self._runs.source, rows, problems, again))

    def _open_run(self, run_id: str | None, step: int | None = None) -> None:
        assert self._runs is not None
        self._leave_run()
        run = self._joined(self._runs.open(run_id))
        self._adopt(run, run_id)
        facts, reading = passes.facts(run, self._definition), self._index(run)
        until = self._plan.clock() + SOON
        for report in reading:
            facts = report.facts if isinstance(report, Known) else facts
            # The rest is read when the first batch can be seen; of a small file there is none.
            if facts.done or facts.read is None:
                break
            small = facts.read.total <= SMALL and self._plan.clock() < until
            if facts.read.done < facts.read.total and not small:
                break
        self._reading = reading
        at = min(step, facts.known) if step is not None else facts.known if facts.done else 0
        around = (max(at - AROUND, 1), min(at + AROUND, facts.known) + 1)
        self._post(Opened(run_id, facts, fetch.rows(run, self._nesting, [around])))

    def _joined(self, run: RunSource) -> RunSource:
        """The run behind those that it goes on from. One of those that cannot be opened any more is left out, with all
        that is before it."""
        from inspector.formats import open_path

        parts, self._behind = self._behind, ()  # opened once, however often the run is opened anew
        for part in parts:
            try:
                runs = open_path(part.path, part.format)
                self._others.append(runs)
                found = runs.open(part.run)
            except InspectorError:
                self._before = None
            else:
                self._before = (self._behind_it(found), part.step)
        return self._behind_it(run)

    def _behind_it(self, run: RunSource) -> RunSource:
        if self._before is None:
            return run
        (before, step), link = self._before, run.run().resumed_from
        return Joined(before, link.step if step is None and link is not None else step, run)

    def _read_on(self) -> None:
        if self._reading is not None:
            self._begin("index", self._reading)
            self._reading = None

    def _adopt(self, run: RunSource, run_id: str | None) -> None:
        self._run, self._run_id = run, run_id
        self._nesting, self._states = Nesting(run), States(run)
        self._definition = run.definition()

    def _leave_run(self) -> None:
        self._plan.forget(*OF_A_RUN)
        self._run = self._reading = None

    def _back(self) -> None:
        self._leave_run()
        if self._unlisted:
            self._stamp = None  # the next look reads anew

    def _begin(self, kind: str, reports: Reports) -> None:
        """Go on with long work and post what it reports."""

        def work() -> Generator[None]:
            for report in reports:
                if report is not None:
                    self._post(report)
                yield

        self._plan.begin(kind, work())

    def _index(self, run: RunSource, before: int | None = None) -> Reports:
        """Read on; `before` is how many steps the run had before it changed."""
        yield from passes.index(run, self._definition, Pace(self._plan.clock, first=before is None))
        self._definition = run.definition()
        # A run that became shorter is another one.
        revised = None if before is None else max(before - REVISED, 1) if len(run) >= before else 1
        self._skips = SKIPPED if before is not None and len(run) - before > BURST else 0
        yield self._all_known(run, revised)
        self._pass_over(run, revised or 1)

    def _all_known(self, run: RunSource, revised: int | None) -> Known:
        """What is known of a run that was read. The rows that are seen next come with it: they are painted once."""
        facts = passes.facts(run, self._definition, done=True)
        newest = [(max(revised, facts.known - AROUND), facts.known + 1)] if revised is not None else []
        return Known(facts, revised, fetch.rows(run, self._nesting, newest))

    def _pass_over(self, run: RunSource, start: int) -> None:
        self._begin("scan", passes.scan(run, start, Pace(self._plan.clock, first=False)))
        self._begin("damage", passes.damage(run))

    def _rows(self, ranges: Sequence[tuple[int, int]]) -> None:
        if self._run is not None:
            self._post(Fetched(fetch.rows(self._run, self._nesting, ranges)))

    def _state(self, step: int) -> None:
        run = self._run
        if run is None:
            return
        before = None
        with contextlib.suppress(InspectorError):  # told at the step it belongs to
            before = self._states.at(step - 1) if step else None
        record = run.steps(step, step + 1) if step else ()
        state, raw = self._states.at(step), run.raw(step)
        self._post(Stood(step, state, before, record[0] if record else None, masking.raw(raw)))
        if step and not record and state is None and raw is None:
            self._look()  # nothing is left of the step: the file was cut short

    def _find(self, number: int, text: str, start: int, backward: bool, filter: Filter) -> None:
        if self._run is not None:
            pace = Pace(self._plan.clock)
            self._begin("find", passes.find(self._run, number, text, start, backward, filter, pace))

    def _begin_export(self, path: str) -> None:
        if self._run is not None:
            self._begin("export", self._export(parts(self._run)[-1][0], path))

    def _export(self, run: RunSource, path: str) -> Reports:
        from inspector.audit import record
        from inspector.report.export import lines
        from inspector.report.output import writing
        from inspector.resume.handback import SUFFIX, as_rig

        rig = path.endswith(SUFFIX)
        if not rig:
            record("export", run.run().id, path=self._path, to=path)
        pace, size = Pace(self._plan.clock), 0
        for size in writing(
            path, lambda keep: as_rig(run, self._path, path) if rig else lines(run, 1, len(run) + 1, keep=keep)
        ):
            yield Exported(pace.progress(size, 0), path) if pace.due() else None
        yield Exported(pace.progress(size, 0), path, ended=True, whole=rig)

    def _look(self) -> None:
        """See whether what is followed has changed."""
        if self._runs is None or self._reading is not None or self._plan.at_work("index", "reopen"):
            return
        if self._skips:
            self._skips -= 1
            return
        stamp, self._stamp = self._stamp, look_of(self._path)
        before = len(self._run) if self._run is not None else 0
        if self._run is not None and self._run.refresh():
            self._nesting, self._states = Nesting(self._run), States(self._run)
            self._unlisted = True
            self._begin("index", self._index(self._run, before))
        elif self._run is None and self._runs.refresh():
            self._list(again=True)
        elif self._stamp != stamp:
            self._begin("reopen", self._reopen())

    def _reopen(self) -> Reports:
        """Read a source that cannot take in what is new once more, and go on as if it had."""
        from inspector.formats import open_path

        self._unlisted = True
        runs, run = open_path(self._path, self._format), None
        if self._run is not None:
            run = self._joined(runs.open(self._run_id))
            for _ in run.index():
                yield None
        old, self._runs = self._runs, runs
        if run is None:
            self._list(again=True)
        else:
            self._adopt(run, self._run_id)
            yield self._all_known(run, revised=1)
            self._pass_over(run, 1)
        if old:
            old.close()


def look_of(path: str) -> object:
    """What changes when a file, or anything in a folder, does."""
    from inspector.formats.open import stamp

    if path == "-":
        return None
    try:
        with os.scandir(path) as entries:
            return [stamp(path), *(stamp(entry.path) for entry in islice(entries, ENTRIES))]
    except OSError:
        return stamp(path)
