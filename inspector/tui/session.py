"""What is known of the open run and where one stands in it: plain Python, one frozen snapshot per pane."""

from inspector.model.run import Definition, RawRecord, Record, SourceInfo, State, Step


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
