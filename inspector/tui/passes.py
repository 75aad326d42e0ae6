"""Long work over an open run: generators of reports, with None where there is only time to be given."""

from collections.abc import Callable, Iterator
from itertools import islice

from inspector.model.joined import Joined, parts
from inspector.model.run import Definition, Problem
from inspector.model.source import RunSource, claim_of
from inspector.tui import fetch
from inspector.tui.columns import Chunk, Filter
from inspector.tui.fetch import Progress
from inspector.tui.reports import Damaged, Facts, Known, Report, Scanned, Searched

OFTEN = 0.1
"""Seconds between two reports of the same work."""

PLACED = 50
"""Problems that are shown in the timeline too; each costs a look at some twenty records."""

Reports = Iterator[Report | None]


class Pace:
    """How often to report, and how fast work goes; `first`: report at once."""

    def __init__(self, clock: Callable[[], float], first: bool = True) -> None:
        self._clock = clock
        self._begun = self._told = clock()
        self._first = first

    def due(self) -> bool:
        """Whether it is time to report again."""
        now = self._clock()
        if self._first or now - self._told >= OFTEN:
            self._told, self._first = now, False
            return True
        return False

    def progress(self, done: int, total: int) -> Progress:
        """The work so far, with its rate."""
        return Progress(done=done, total=total, rate=done / max(self._clock() - self._begun, 0.001))


def facts(run: RunSource, definition: Definition, read: Progress | None = None, done: bool = False) -> Facts:
    """What is known of a run now."""
    return Facts(
        source=run.source,
        run=run.run(),
        definition=definition,
        resume=run.resume(),
        known=len(run),
        problems=tuple(run.problems()),
        read=read,
        done=done,
        seams=tuple(begin for _, begin in parts(run)[1:]),
        claim=claim_of(run.after if isinstance(run, Joined) else run),
    )


def index(run: RunSource, definition: Definition, pace: Pace) -> Reports:
    """Read on to the end."""
    for done, total in run.index():
        yield Known(facts(run, definition, pace.progress(done, total))) if pace.due() else None


def scan(run: RunSource, start: int, pace: Pace) -> Reports:
    """The columns of all steps from `start` on."""
    begin, marks, times = start, bytearray(), bytearray()
    while start <= len(run):
        found = fetch.chunk(run, start)
        if not found.marks:
            return
        start += len(found.marks)
        marks += found.marks
        times += found.times
        if start > len(run) or pace.due():
            yield Scanned(Chunk(begin, bytes(marks), bytes(times)))
            begin = start
            marks.clear()
            times.clear()
        else:
            yield None


def damage(run: RunSource) -> Reports:
    """Where in the timeline the first errors of the file stand."""
    before: dict[int, Problem] = {}
    runs = parts(run)
    for at, (part, begin) in enumerate(runs):
        seam = runs[at + 1][1] if at + 1 < len(runs) else None
        for problem in islice((one for one in part.problems() if one.severity == "error"), PLACED):
            step = fetch.step_behind(part, problem.where)
            # Of what another run goes on from, the steps behind that are not in the timeline.
            if step is not None and (seam is None or step + begin <= seam):
                before.setdefault(step + begin, problem)
            yield None
    yield Damaged(before)


def find(run: RunSource, number: int, text: str, start: int, backward: bool, filter: Filter, pace: Pace) -> Reports:
    """The first hit of a search."""
    progress = Progress(done=0, total=0)
    for item in fetch.search(run, text, start, backward, filter):
        if isinstance(item, int):
            yield Searched(number, progress, ended=True, seq=item)
            return
        progress = pace.progress(*item)
        yield Searched(number, progress) if pace.due() else None
    yield Searched(number, progress, ended=True)
