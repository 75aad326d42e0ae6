"""What the loader reports: made in its thread, taken in the screen's, and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from inspector.errors import InspectorError
from inspector.model.run import (
    Definition,
    Problem,
    RawRecord,
    Record,
    Resume,
    Run,
    RunRow,
    SourceInfo,
    State,
    Step,
)
from inspector.tui.columns import Chunk
from inspector.tui.fetch import Progress
from inspector.tui.times import Timed

if TYPE_CHECKING:  # nobody has to wait for what is not asked for yet
    from inspector.diff import Diff, Weighed
    from inspector.resume.judge import Verdict


class Part(NamedTuple):
    """Where a run is. `step` is the one that another run goes on from; None: that run says so, or after the last."""

    path: str
    run: str | None = None
    format: str | None = None
    step: int | None = None


class Facts(Record, frozen=True, kw_only=True):
    """The open run as far as it is known: `known` steps, `read` of it, `done` when that is all."""

    source: SourceInfo
    run: Run
    definition: Definition
    resume: Resume
    known: int
    problems: tuple[Problem, ...] = ()
    read: Progress | None = None
    done: bool = False
    seams: tuple[int, ...] = ()
    """The steps at which runs go on that stand behind others, in order."""
    claim: str | None = None
    """By what name the last of these runs is claimed."""

    @property
    def untold(self) -> bool:
        """Whether there is a state and nothing tells of the steps that led to it."""
        return self.done and not self.known and self.run.steps is None


class Listed(Struct, frozen=True):
    """The runs behind the path, newest last; `again` where they were listed before."""

    source: SourceInfo
    rows: tuple[RunRow, ...]
    problems: tuple[Problem, ...]
    again: bool = False


class Opened(Struct, frozen=True):
    """A run is open: everything that was known of another one is void. `rows` are steps that may be in sight."""

    run_id: str | None
    facts: Facts
    rows: Mapping[int, Timed] = MappingProxyType({})


class Known(Struct, frozen=True):
    """More of the run is known. Steps from `revised` on may have changed; `rows` are the last of them."""

    facts: Facts
    revised: int | None = None
    rows: Mapping[int, Timed] = MappingProxyType({})


class Fetched(Struct, frozen=True):
    """Steps that were asked for."""

    rows: Mapping[int, Timed]


class Stood(Struct, frozen=True):
    """The state that was asked for."""

    step: int
    state: State | None
    before: State | None
    step_record: Step | None
    raw: RawRecord | None


class Scanned(Struct, frozen=True):
    """Columns of some steps."""

    chunk: Chunk


class Damaged(Struct, frozen=True):
    """Where records are missing: what is wrong, by the step behind it; behind the last one at last + 1."""

    before: dict[int, Problem]


class Searched(Struct, frozen=True):
    """How far search `number` is; at its end the step it found, or None."""

    number: int
    progress: Progress
    ended: bool = False
    seq: int | None = None


class Exported(Struct, frozen=True):
    """How far the export is; at its end the file's path. `whole`: nothing in it is masked."""

    progress: Progress
    path: str
    ended: bool = False
    whole: bool = False


class Judged(Struct, frozen=True):
    """The verdict on today's code, for a step; None: for the last one."""

    target: str
    step: int | None
    verdict: Verdict


class Compared(Struct, frozen=True):
    """What was found different between `left` and `right`: `what` is `before`, `mark`, `other` or `code`,
    `step` the open run's step in it. `graphs`: whether there can be graphs; agents have none."""

    what: str
    left: str
    right: str
    step: int
    diff: Diff
    weighed: tuple[Weighed, ...]
    graphs: bool = True

    @property
    def unknown(self) -> tuple[str, ...]:
        """What one side does not record, where it could."""
        return tuple(part for part in self.diff.unknown if part != "graph" or self.graphs)


class Failed(Struct, frozen=True):
    """Something asked for could not be done: `what` names it, `fatal` where there is nothing to show."""

    what: str
    error: InspectorError
    fatal: bool = False


Report = (
    Listed | Opened | Known | Fetched | Stood | Scanned | Damaged | Searched | Exported | Judged | Compared | Failed
)
"""All that `Desk.take` is given."""
