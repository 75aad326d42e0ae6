"""What each pane shows, frozen: made by the session, and all that a pane knows."""

from inspector.model.run import Definition, Problem, RawRecord, Record, RunLink, SourceInfo, State, Step
from inspector.tui.columns import Bucket
from inspector.tui.reports import Facts
from inspector.tui.times import Timed


class StateSnapshot(Record, frozen=True, kw_only=True):
    """All that the state pane shows: the state after `step`, of steps 0 to `last`.

    `before` is the state of the step before, for what was taken and put; `state` is None while `loading`
    and where the source cannot tell it."""

    step: int
    last: int
    state: State | None = None
    before: State | None = None
    step_record: Step | None = None
    definition: Definition
    raw: RawRecord | None = None
    source: SourceInfo
    ascii: bool = False
    loading: bool = False


class Heading(Record, frozen=True, kw_only=True):
    """All that the header shows."""

    facts: Facts
    step: int
    shown: int | None
    """How many steps the filter shows; None without one."""
    following: bool
    badges: tuple[str, ...] = ()
    """What else is so of the screen: `read-only`, `revealed`."""


class Overview(Record, frozen=True, kw_only=True):
    """All that the strip below the timeline shows: the run in stretches, and in which of them one is."""

    buckets: tuple[Bucket, ...]
    at: int | None
    timed: bool
    """Whether any time is known; else the strip counts steps."""


class Row(Record, frozen=True, kw_only=True):
    """All that a row of the timeline shows; `timed` is None while it is being fetched and for step 0."""

    seq: int
    timed: Timed | None = None
    longest: float = 0.0
    found: str = ""
    marked: bool = False
    continues: RunLink | None = None
    """Of step 0: what the run goes on from."""
    untold: bool = False
    """Of step 0: whether the steps that led to the state are not recorded, nor how many they were."""
    seam: bool = False
    """Whether another run goes on here."""
    damage: Problem | None = None
    """What is missing before the step, or `behind` the last one."""
    behind: bool = False
