"""A run whose steps are all in memory: the base of readers of small files."""

from collections.abc import Callable, Iterator, Sequence

from inspector.errors import UsageError
from inspector.model.run import (
    Definition,
    Problem,
    RawRecord,
    Resume,
    Run,
    RunRow,
    SourceInfo,
    State,
    Step,
)
from inspector.model.source import Held, RunSource

SEARCH_BATCH = 256


class MemoryRun:
    """A RunSource over what a reader has already read. `state` and `raw` are functions of the step."""

    def __init__(
        self,
        *,
        source: SourceInfo,
        run: Run,
        definition: Definition,
        steps: Sequence[Step],
        state: Callable[[int], State | None],
        resume: Resume,
        problems: Sequence[Problem] = (),
        raw: Callable[[int], RawRecord | None] = lambda step: None,
    ) -> None:
        self.source = source
        self._run, self._definition, self._steps = run, definition, steps
        self._state, self._resume, self._problems, self._raw = state, resume, problems, raw

    def __len__(self) -> int:
        return len(self._steps)

    def index(self) -> Iterator[tuple[int, int]]:
        yield from ()

    def refresh(self) -> bool:
        return False

    def run(self) -> Run:
        return self._run

    def definition(self) -> Definition:
        return self._definition

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        return self._steps[max(start, 1) - 1 : max(stop, 1) - 1]

    def state(self, step: int) -> State | None:
        return self._state(step)

    def raw(self, step: int) -> RawRecord | None:
        return self._raw(step)

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        last = len(self._steps)
        order = range(min(start, last), 0, -1) if backward else range(max(start, 1), last + 1)
        for count, seq in enumerate(order, 1):
            step = self._steps[seq - 1]
            raw = self._raw(seq)
            if any(text in part for part in (step.name, step.summary or "", raw.text if raw else "")):
                yield seq
            if count % SEARCH_BATCH == 0:
                yield count, len(order)

    def resume(self) -> Resume:
        return self._resume

    def problems(self) -> Sequence[Problem]:
        return self._problems

    def close(self) -> None:
        pass


def row(source: RunSource, fallback_id: str) -> RunRow:
    """The line of a list that stands for a run that has been opened."""
    run = source.run()
    return RunRow(
        id=run.id or fallback_id,
        name=run.name,
        kind=run.kind,
        status=run.status,
        reason=run.reason,
        steps=run.steps,
        started=run.started,
        holder=source.holder() if isinstance(source, Held) else None,
        resumed_from=run.resumed_from,
        parent=run.parent,
    )


class OneRun:
    """A RunSet of a single run."""

    def __init__(self, run: RunSource, run_id: str) -> None:
        self.source = run.source
        self._run, self._id = run, run_id

    def rows(self) -> Sequence[RunRow]:
        return (row(self._run, self._id),)

    def open(self, run_id: str | None = None) -> RunSource:
        known = self._run.run().id or self._id
        if run_id not in (None, known, self._id):
            raise UsageError(self.source.path, f"holds no run {run_id!r}; its only run is {known!r}")
        return self._run

    def problems(self) -> Sequence[Problem]:
        return ()

    def refresh(self) -> bool:
        return False

    def close(self) -> None:
        self._run.close()


class ManyRuns:
    """A RunSet of runs that are opened when asked for: `rows` lists them, newest last; `opener` opens
    one by its id."""

    def __init__(
        self,
        source: SourceInfo,
        rows: Sequence[RunRow],
        opener: Callable[[str], RunSource],
        problems: Sequence[Problem] = (),
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.source, self._rows, self._opener, self._problems = source, rows, opener, problems
        self._close = close

    def rows(self) -> Sequence[RunRow]:
        return self._rows

    def open(self, run_id: str | None = None) -> RunSource:
        ids = [row.id for row in self._rows]
        if run_id is None and len(ids) == 1:
            run_id = ids[0]
        if run_id is None:
            raise UsageError(self.source.path, f"holds {len(ids)} runs: choose one with --run")
        if run_id not in ids:
            shown = ", ".join(ids[-10:])
            raise UsageError(self.source.path, f"holds no run {run_id!r}; it holds {shown or 'none'}")
        return self._opener(run_id)

    def problems(self) -> Sequence[Problem]:
        return self._problems

    def refresh(self) -> bool:
        return False

    def close(self) -> None:
        self._close()
