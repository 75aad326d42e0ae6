"""The documents of `show --json` and `runs --json`."""

from collections.abc import Collection

import msgspec

from inspector.model.run import (
    Definition,
    Problem,
    Record,
    Resume,
    Run,
    RunRow,
    SourceInfo,
    State,
    Step,
    resumable_here,
)
from inspector.model.source import RunSet, RunSource


class View(Record, frozen=True, kw_only=True):
    """`runinspect.view/1`: a run, its steps and its state at one of them."""

    schema: str = "runinspect.view/1"
    source: SourceInfo
    run: Run
    definition: Definition
    steps: list[Step]
    state: State | None
    resume: Resume
    problems: list[Problem]


class RunList(Record, frozen=True, kw_only=True):
    """`runinspect.runs/1`: the runs behind a path, newest last."""

    schema: str = "runinspect.runs/1"
    runs: list[RunRow]
    problems: list[Problem] = msgspec.field(default_factory=list)


def view(run: RunSource, step: int, start: int, stop: int, drivers: Collection[str] | None = None) -> View:
    """The document of a run that is fully indexed: its steps start..stop-1 and the state after `step`. `drivers` are
    the names of those that there are here; None: what the reader says of resuming stands as it is."""
    steps = list(run.steps(start, stop))
    state = run.state(step)
    return View(
        source=run.source,
        run=run.run(),
        definition=run.definition(),
        steps=steps,
        state=state,
        resume=run.resume() if drivers is None else resumable_here(run.resume(), drivers),
        problems=list(run.problems()),
    )


def run_list(runs: RunSet) -> RunList:
    """The document of a list of runs."""
    return RunList(runs=list(runs.rows()), problems=list(runs.problems()))
