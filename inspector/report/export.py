"""Any opened run as a trace file of our own: JSON lines that `runinspect` opens, with credentials masked.

A trace of ours is exported record by record, and keeps what it says of each operation. Of any other run
come its steps and states. A part of a run is a run of its own, numbered from 1: `trace_step` says what a
step's number was. The large values that a trace of ours names, and does not hold, go along. Whatever is masked,
or only shown as an escape, cannot be driven on: only a trace of ours that is exported raw, and as a whole, is the
same again.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from inspector.model.changes import UNKNOWN, change
from inspector.model.large import reference, referred
from inspector.model.records import Checkpoint, End, Header, JournalRecord, StepRecord
from inspector.model.redact import plain, redacted
from inspector.model.run import Run, State, Step
from inspector.model.source import Journaled, Large, RunSource
from inspector.model.text import HIDDEN
from inspector.model.values import Value, to_json

APART = 64
"""Steps between two checkpoints at least; more, until what lies between is as long as a checkpoint."""
BATCH = 256
Keep = Callable[[str, bytes], None]
"""Takes a large value: its digest, and its bytes."""
_STAND_IN = "\ufdd0"
_UNPAIRED = re.compile(f"[\ud800-\udfff{_STAND_IN}]")


def lines(source: RunSource, start: int, stop: int, *, raw: bool = False, keep: Keep | None = None) -> Iterator[bytes]:
    """The lines, with their ends, of a trace file of the steps start..stop-1 of a run that is fully
    indexed. `raw`: nothing is masked. `keep` takes the large values that the lines name; without it only their names
    are there."""
    whole = start == 1 and stop == len(source) + 1
    moving = _Moving(source.large(), keep, raw) if isinstance(source, Journaled) and keep is not None else None
    if whole and isinstance(source, Journaled):
        if raw and moving is not None:
            moving.all()
        if raw:
            yield from source.verbatim()
        else:
            yield from (_line(_without_machine(record), raw, moving) for record in source.records())
        return
    since, size, steps = 0, 0, 0
    for record, state in _records(source, start, stop):
        line = _line(record, raw, moving)
        yield line
        since, steps = since + len(line), steps + 1
        if isinstance(record, Checkpoint):
            since, size, steps = 0, len(line), 0
        elif isinstance(record, StepRecord) and state is not None and steps >= APART and since >= size:
            line = _line(Checkpoint(seq=record.step.seq, state=state), raw, moving)
            yield line
            since, size, steps = 0, len(line), 0


def _records(source: RunSource, start: int, stop: int) -> Iterator[tuple[JournalRecord, State | None]]:
    """The records of a run that has none of its own, each with the state behind it."""
    run, shift = source.run(), start - 1
    yield (
        Header(
            id=run.id or "",
            name=run.name,
            kind=run.kind,
            started=run.started,
            resumed_from=run.resumed_from,
            parent=run.parent,
            definition=source.definition(),
            source=f"{source.source.format}: {source.source.path}",
        ),
        None,
    )
    state = _state(source, shift, 0)
    if state is not None:
        yield Checkpoint(seq=0, state=state), state
    for step in _steps(source, start, stop):
        seq = step.seq - shift
        after = _state(source, step.seq, seq)
        told = UNKNOWN if state is None or after is None else change(state, after)
        yield StepRecord(step=_renumbered(step, seq), change=told), after
        if state is None and after is not None:
            yield Checkpoint(seq=seq, state=after), after
        state = after
    if stop > len(source):
        yield _end(run), state


def _end(run: Run) -> End:
    return End(
        status=run.status,
        reason=run.reason,
        at=run.ended,
        error=run.error,
        usage=run.usage,
        replaced_by=run.replaced_by,
    )


def _steps(source: RunSource, start: int, stop: int) -> Iterator[Step]:
    for begin in range(start, min(stop, len(source) + 1), BATCH):
        yield from source.steps(begin, min(begin + BATCH, stop))


def _state(source: RunSource, step: int, seq: int) -> State | None:
    state = source.state(step)
    return None if state is None else msgspec.structs.replace(state, step=seq)


def _renumbered(step: Step, seq: int) -> Step:
    if step.seq == seq:
        return step
    shift = step.seq - seq
    parent = step.parent - shift if step.parent is not None and step.parent > shift else None
    number = step.seq if step.trace_step is None else step.trace_step
    return msgspec.structs.replace(step, seq=seq, parent=parent, trace_step=number)


def _without_machine(record: JournalRecord) -> JournalRecord:
    """A machine that would go on with masks in place of what was masked must not."""
    if isinstance(record, Checkpoint) and record.machine is not None:
        return msgspec.structs.replace(record, machine=None)
    return record


class _Moving:
    """The large values of a run on their way to where an exported one has them."""

    def __init__(self, values: Large, keep: Keep, raw: bool) -> None:
        self._values, self._keep, self._raw = values, keep, raw
        self._known: dict[str, Value] = {}

    def all(self) -> None:
        """Every one as it is."""
        for digest in self._values.digests():
            self._same(digest)

    def named(self, record: Value) -> Value:
        """A record, changed in place, that names what was kept of each large value."""
        stack = [record]
        while stack:
            holder = stack.pop()
            for place, item in [*(holder.items() if isinstance(holder, dict) else enumerate(holder))]:
                if (digest := referred(item)) is not None:
                    if digest not in self._known:
                        self._known[digest] = self._moved(item, digest)
                    holder[place] = self._known[digest]
                elif isinstance(item, dict | list):
                    stack.append(item)
        return record

    def _moved(self, old: Value, digest: str) -> Value:
        if self._raw:
            self._same(digest)
            return old
        value = self._values.value(digest)
        if value is None:
            return old
        masked = redacted(value)
        data = _text(masked)
        found = reference(masked, data)
        self._keep(found["sha256"], data)
        return found

    def _same(self, digest: str) -> None:
        data = self._values.data(digest)
        if data is not None:
            self._keep(digest, data)


def _line(record: JournalRecord, raw: bool, moving: _Moving | None = None) -> bytes:
    value = record if raw else redacted(record)
    data = _text(value)
    if moving is not None and b'"large"' in data:
        data = _text(moving.named(plain(record) if raw else value))
    return data + b"\n"


def _text(value: Any) -> bytes:
    text = _written(value)
    # What could act on a terminal stands in strings alone, where JSON has an escape for it.
    return (HIDDEN.sub(_escaped, text) if HIDDEN.search(text) else text).encode()


def _written(value: Any) -> str:
    try:
        return to_json(value)
    except UnicodeEncodeError:  # halves of surrogate pairs, that only an escape can write
        marked = to_json(plain(value, lambda text: _UNPAIRED.sub(_marked, text)))
        return re.sub(f"{_STAND_IN}([0-9a-f]{{4}})", r"\\u\1", marked)


def _marked(found: re.Match[str]) -> str:
    return f"{_STAND_IN}{ord(found[0]):04x}"


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
