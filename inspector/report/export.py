"""Any opened run as a trace file of our own: JSON lines that `runinspect` opens, with credentials masked.

A trace of ours is exported record by record, and keeps what it says of each operation. Of any other run
come its steps and states. A part of a run is a run of its own, numbered from 1: `trace_step` says what a
step's number was. Whatever is masked, or only shown as an escape, cannot be driven on: only a trace of ours
that is exported raw, and as a whole, is the same file again.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from inspector.errors import UsageError
from inspector.model.changes import UNKNOWN, change
from inspector.model.records import Checkpoint, End, Header, JournalRecord, StepRecord
from inspector.model.redact import plain, redacted
from inspector.model.run import Run, State, Step
from inspector.model.source import Journaled, RunSource
from inspector.model.text import HIDDEN
from inspector.model.values import to_json

APART = 64
"""Steps between two checkpoints at least; more, until what lies between is as long as a checkpoint."""
BATCH = 256
_STAND_IN = "\ufdd0"
_UNPAIRED = re.compile(f"[\ud800-\udfff{_STAND_IN}]")


def lines(source: RunSource, start: int, stop: int, *, raw: bool = False) -> Iterator[bytes]:
    """The lines, with their ends, of a trace file of the steps start..stop-1 of a run that is fully
    indexed. `raw`: nothing is masked."""
    whole = start == 1 and stop == len(source) + 1
    if whole and isinstance(source, Journaled):
        if raw:
            yield from source.verbatim()
        else:
            yield from (_line(_without_machine(record), raw) for record in source.records())
        return
    since, size, steps = 0, 0, 0
    for record, state in _records(source, start, stop):
        line = _line(record, raw)
        yield line
        since, steps = since + len(line), steps + 1
        if isinstance(record, Checkpoint):
            since, size, steps = 0, len(line), 0
        elif isinstance(record, StepRecord) and state is not None and steps >= APART and since >= size:
            line = _line(Checkpoint(seq=record.step.seq, state=state), raw)
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


def _line(record: JournalRecord, raw: bool) -> bytes:
    text = _written(record if raw else redacted(record))
    # What could act on a terminal stands in strings alone, where JSON has an escape for it.
    return (HIDDEN.sub(_escaped, text) if HIDDEN.search(text) else text).encode() + b"\n"


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


def pour(found: Iterable[bytes]) -> None:
    """Write lines to standard output. Raises UsageError before bytes of a file as they stand would go to a
    terminal, which they could act on."""
    for line in found:
        if sys.stdout.isatty() and HIDDEN.search(line.decode(errors="surrogateescape")):
            raise UsageError("--raw", "the file holds characters that act on a terminal: give -o FILE, or pipe it on")
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def write(path: str, found: Iterable[bytes], *, overwrite: bool = False) -> None:
    """Write lines to a file: as a whole or not at all. Raises UsageError when the file exists and is not
    to be written over."""
    for _ in writing(path, found, overwrite=overwrite):
        pass


def writing(path: str, found: Iterable[bytes], *, overwrite: bool = False) -> Iterator[int]:
    """The same line by line: yields the bytes so far. To be closed before its end is to write nothing."""
    target = f"{path}.part-{os.getpid()}" if overwrite else path
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(path, "exists already: give another name, or --overwrite") from None
    try:
        with os.fdopen(fd, "wb", buffering=1 << 20) as file:
            size = 0
            for line in found:
                file.write(line)
                size += len(line)
                yield size
        if overwrite:
            os.replace(target, path)
    except BaseException:
        os.unlink(target)
        raise
