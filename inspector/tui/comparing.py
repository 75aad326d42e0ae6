"""What a run is compared with: jobs for the loader's thread, each a generator that ends with a report."""

import os
from collections.abc import Callable

from inspector.diff import Diff, Side, Weighed, compare, weigh
from inspector.errors import UsageError
from inspector.model.joined import part
from inspector.model.source import RunSource, definition_at
from inspector.resume.judge import Verdict, against
from inspector.tui.passes import Reports
from inspector.tui.reports import Compared

Job = Callable[[RunSource], Reports]


def steps(what: str, left: int, right: int) -> Job:
    """Two steps of the open run: what `right` has that `left` has not."""

    def job(source: RunSource) -> Reports:
        one, other = _side(source, left), _side(source, right)
        yield from _told(what, f"step {left}", f"step {right}", right, one, other, graphs=_graphs(source))

    return job


def another(place: str, step: int, format: str | None) -> Job:
    """Another run, `PATH` or `PATH@N`, beside the open one at a step."""

    def job(source: RunSource) -> Reports:
        from inspector.formats import open_path

        path, at, number = place.rpartition("@")
        wanted = int(number) if at and number.isdecimal() and not os.path.lexists(place) else None
        runs = open_path(os.path.expanduser(place if wanted is None else path), format)
        try:
            other = runs.open(None)
            for _ in other.index():
                yield None
            last = len(other)
            if wanted is not None and wanted > last:
                raise UsageError(place, f"the steps of this run are 0 to {last}")
            there = last if wanted is None else wanted
            name = f"{other.run().id or path} step {there}"
            yield from _told(
                "other",
                name,
                f"step {step}",
                step,
                _side(other, there),
                _side(source, step),
                graphs=_graphs(source, other),
            )
        finally:
            runs.close()

    return job


def code(target: str, step: int, verdict: Verdict) -> Job:
    """Today's code beside the open run at a step; the plan of the `verdict`, if it has one, is of that step."""

    def job(source: RunSource) -> Reports:
        if verdict.code is None:
            raise UsageError(target, verdict.error or "its definition cannot be told")
        run, own = part(source, step)
        diff, weighed = against(run, own, verdict.code, verdict.plan)
        yield Compared("code", f"step {step}", target, step, diff, weighed, _graphs(source))

    return job


def _side(source: RunSource, step: int) -> Side:
    run, own = part(source, step)
    return Side(definition=definition_at(run, own), state=run.state(own))


def _graphs(*sources: RunSource) -> bool:
    return any(source.run().kind != "agent" for source in sources)


def _told(what: str, left: str, right: str, step: int, one: Side, other: Side, *, graphs: bool) -> Reports:
    diff: Diff = compare(one, other, states=True)
    weighed: tuple[Weighed, ...] = weigh(other, diff)
    yield Compared(what, left, right, step, diff, weighed, graphs)
