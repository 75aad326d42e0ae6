"""What the loader reports. Posted from its thread, handled on the screen's; each is small and frozen."""

from dataclasses import dataclass

from textual.message import Message

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


class Report(Message, bubble=False):
    """The base of reports."""


@dataclass
class Listed(Report):
    """The runs behind the path, newest last; `again` where they were listed before."""

    source: SourceInfo
    rows: tuple[RunRow, ...]
    problems: tuple[Problem, ...]
    again: bool = False


@dataclass
class Opened(Report):
    """A run is open: everything that was known of another one is void."""

    run_id: str | None
    facts: Facts


@dataclass
class Known(Report):
    """More of the run is known. Steps from `revised` on may have changed."""

    facts: Facts
    revised: int | None = None


@dataclass
class Fetched(Report):
    """Steps that were asked for."""

    rows: dict[int, Timed]


@dataclass
class Stood(Report):
    """The state that was asked for."""

    step: int
    state: State | None
    before: State | None
    step_record: Step | None
    raw: RawRecord | None


@dataclass
class Scanned(Report):
    """Columns of some steps."""

    chunk: Chunk


@dataclass
class Damaged(Report):
    """Where records are missing: what is wrong, by the step behind it; behind the last one at last + 1."""

    before: dict[int, Problem]


@dataclass
class Searched(Report):
    """How far the search is; at its end the step it found, or None."""

    progress: Progress
    ended: bool = False
    seq: int | None = None


@dataclass
class Exported(Report):
    """How far the export is; at its end the file's path."""

    progress: Progress
    path: str
    ended: bool = False


@dataclass
class Failed(Report):
    """Something asked for could not be done: `what` names it, `fatal` where there is nothing to show."""

    what: str
    error: InspectorError
    fatal: bool = False
