"""Our own trace files: the records of `model.records`, one a line."""

import contextlib
import re
import sys
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from itertools import accumulate, compress
from operator import itemgetter
from typing import TypeVar

import msgspec

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.jsonlines import BROKEN, LineRun, visible
from inspector.formats.jsontext import Place, Reading
from inspector.formats.lines import Scan, line_at, line_end
from inspector.formats.memory import OneRun
from inspector.formats.owner import lives
from inspector.formats.reader import Probe, Reader
from inspector.formats.states import Known, States
from inspector.formats.traceops import operations, overlaid
from inspector.model.changes import Change
from inspector.model.records import FORMAT, RECORDS, Checkpoint, End, Header, JournalRecord, Operation, StepRecord
from inspector.model.run import Definition, Problem, RawRecord, Resume, Run, SourceInfo, State, Step
from inspector.model.source import RunSet
from inspector.model.text import one_line
from inspector.model.values import Value, clean_value, untag

Kind = TypeVar("Kind", bound=JournalRecord)

NAME = "runinspect"
LEAD = 12
"""Bytes of a line that say of what kind its record is."""
STEP, OPERATION = b'{"record":"s', b'{"record":"o'
TAIL = 16 << 10
"""Bytes at the end of a file that are looked at for how the run ended, before the file is indexed."""
APART, PLENTY = 8, 1 << 15
"""When the index holds PLENTY of checkpoints, it passes over those fewer steps than APART behind the last."""

LEADS = b'{"record":"'
SALVAGED, SALVAGES = 256 << 10, 8
"""Bytes of a damaged line up to which it is searched for whole records, and places where one is tried."""

_KIND = re.compile(rb'\s*\{\s*"record"\s*:\s*"([a-z]+)"')
_SEQ = re.compile(rb'^\{"record":"step","step":\{"seq":(\d{1,18}),', re.MULTILINE)
_before_end = itemgetter(-2)
_quick = msgspec.json.Decoder(JournalRecord)


class TraceRun(LineRun):
    """A run in our own format. Opening it reads the header and the end; everything else is read when it is
    asked for. Raises UnreadableError for a format of a later version."""

    def __init__(self, file: File, path: str, head: bytes = b"") -> None:
        super().__init__(file, SourceInfo(path=one_line(path), format=NAME), head)
        self.source = SourceInfo(path=one_line(path), format=NAME, version=str(self.header().format))

    def reset(self, head: bytes = b"") -> None:
        super().reset(head)
        self.checkpoints = array("Q")
        self._ends = array("Q")
        self._second = sys.maxsize  # where another run's header stands
        self._states = States(self._nearest, self._load, self._change)
        self._header: Header | None = None
        self._ended: tuple[int, End | None] = (-1, None)
        self._peeked: tuple[int, End | None] | None = None
        self._open: tuple[int, Sequence[Operation]] = (-1, ())

    # the index

    def take(self, lines: list[bytes], begin: int) -> None:
        if begin > self._second:
            return
        heads = [line[:LEAD] for line in lines]
        if not self.checked and heads.count(STEP) == len(lines) and _whole(lines):
            self.starts.extend(accumulate(map(len, lines[:-1]), initial=begin))
            return
        offsets = list(accumulate(map(len, lines[:-1]), initial=begin))
        self.starts.extend(compress(offsets, [head == STEP for head in heads]))
        for line, head, offset in zip(lines, heads, offsets, strict=True):
            if self.checked or (head != STEP and head != OPERATION) or line[-2:] != b"}\n":
                self._look(line, offset, head == STEP)

    def rewind(self, offset: int) -> None:
        super().rewind(offset)
        for part in (self.checkpoints, self._ends):
            del part[bisect_left(part, offset) :]
        if self._second >= offset:
            self._second = sys.maxsize

    def _look(self, line: bytes, offset: int, counted: bool) -> None:
        """Sort one line in by its kind; `counted`: it is in `starts` already."""
        if offset > self._second or not line.strip():
            return
        kind = self._kind(line, offset)
        if counted and kind != "step":
            del self.starts[bisect_left(self.starts, offset)]
        elif kind and not counted:
            self._sort(kind, offset)

    def _sort(self, kind: str, offset: int) -> None:
        if kind == "step":
            insort(self.starts, offset)
        elif kind == "end":
            self._ends.append(offset)
        elif kind == "checkpoint":
            far = len(self.checkpoints) < PLENTY or (
                bisect_left(self.starts, offset) - bisect_left(self.starts, self.checkpoints[-1]) >= APART
            )
            if far:
                self.checkpoints.append(offset)
        elif kind == "header" and offset > self.file.start:
            self._second = offset
            del self.starts[bisect_left(self.starts, offset) :]
            self.damage(offset, "another run begins here: what follows is not shown")

    def _kind(self, line: bytes, offset: int) -> str | None:
        """The kind of a line's record; None, and a problem, when the line is none of ours. Whole records
        on a damaged line are sorted in."""
        match = _KIND.match(line)
        if match and self._sound(line):
            kind = match[1].decode()
            if kind in RECORDS:
                return kind
        try:
            return self._kind_of(self.value(line, offset), offset)
        except BROKEN as error:
            self.damaged(line, offset, error)
        self._salvage(line, offset)
        return None

    def _salvage(self, line: bytes, offset: int) -> None:
        """Sort in the whole records on a damaged line: behind one another, or behind a torn one."""
        begin, tries = 0, SALVAGES if len(line) <= SALVAGED else 0
        while tries and (begin := line.find(LEADS, begin)) >= 0:
            tries -= 1
            reading = Reading(line[begin:], Place(self.file.label), [])
            try:
                kind = self._kind_of(clean_value(reading.value()), offset)
            except BROKEN:
                begin += len(LEADS)
                continue
            if kind:
                self._fused.add(offset + begin)
                self._sort(kind, offset + begin)
            begin += reading.position

    def _sound(self, line: bytes) -> bool:
        if not self.checked:
            return line.rstrip().endswith(b"}")
        try:
            _quick.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        return True

    def _kind_of(self, value: Value, offset: int) -> str | None:
        """The kind of a record; None, and a warning, when a later version wrote it. Raises one of BROKEN
        when it is no record."""
        kind = value.get("record") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            raise ValueError("no record of a trace")
        if kind not in RECORDS:
            where = str(self._scan.place(offset))
            self.met(Problem(severity="warning", where=where, message=f"a record of an unknown kind, {kind!r}"))
            return None
        msgspec.convert(value, RECORDS[kind])
        return kind

    # records

    def decode(self, line: bytes, offset: int) -> JournalRecord:
        """The record of a line. Raises one of BROKEN."""
        value = self.value(line, offset)
        if b'"number"' in line:
            value = untag(value)
        return msgspec.convert(value, JournalRecord)  # type: ignore[no-any-return]

    def record(self, offset: int, kind: type[Kind]) -> Kind | None:
        """The record of the line at `offset`; None, and a problem, when it is no sound one of that kind."""
        line = line_at(self.file, offset)
        try:
            record = self.decode(line, offset)
            if isinstance(record, kind):
                return record
            raise ValueError(f"no {kind.__name__.lower()} record")
        except BROKEN as error:
            self.damaged(line, offset, error)
            return None

    def read_step(self, seq: int, line: bytes, offset: int) -> Step:
        record = self.decode(line, offset)
        if not isinstance(record, StepRecord):
            raise ValueError("no step record")
        step = record.step
        if step.seq == seq:
            return step
        return msgspec.structs.replace(step, seq=seq, trace_step=step.trace_step or step.seq, parent=None)

    def drop(self, seq: int, error: Exception) -> None:
        super().drop(seq, error)
        self._states.forget()

    def searched(self, line: bytes) -> bool:
        match = _KIND.match(line)
        return match is not None and match[1] not in (b"header", b"step", b"checkpoint")

    # the run

    def header(self) -> Header:
        """The header; an empty one, and a problem, where it cannot be read."""
        if self._header is None:
            found = self.record(self.file.start, Header)
            self._header = found or Header(format=FORMAT, id="", kind="trace")
        return self._header

    def refresh(self) -> bool:
        if self._scan.scanned < self._known:  # the last line may become another
            self._states.forget()
        status = self.run().status
        return super().refresh() or self.run().status != status

    def run(self) -> Run:
        header, (steps, end) = self.header(), self._ending()
        alive = end is None and self._lives()
        return Run(
            id=header.id or None,
            name=header.name,
            kind=header.kind,
            status=end.status if end else "running" if alive else "interrupted",
            reason=end.reason if end else None,
            steps=steps,
            started=header.started,
            ended=end.at if end else None,
            resumed_from=header.resumed_from,
            error=end.error if end else None,
            usage=end.usage if end else None,
        )

    def _lives(self) -> bool:
        return lives(self.header().program, self.header().started)

    def _ending(self) -> tuple[int, End | None]:
        """How many steps there are and how the run ended, as far as it is known."""
        if not self.indexed:
            if self._peeked is None:
                self._peeked = self._peek()
            return max(len(self.starts), self._peeked[0]), self._peeked[1]
        place = self._ends[-1] if self._ends else -1
        if self.starts and place < self.starts[-1]:
            place = -1  # steps follow it: it is not the end
        if self._ended[0] != place:
            self._ended = place, self.record(place, End) if place >= 0 else None
        return len(self.starts), self._ended[1]

    def _peek(self) -> tuple[int, End | None]:
        begin = max(self.file.size - TAIL, self.file.start)
        text = self.file.read(begin, self.file.size - begin)
        seqs = _SEQ.findall(text)
        last = text.rstrip().rpartition(b"\n")[2]
        end = None
        if last.startswith(b'{"record":"e'):
            with contextlib.suppress(*BROKEN):
                found = self.decode(last, 0)
                end = found if isinstance(found, End) else None
        return int(seqs[-1]) if seqs else 0, end

    def definition(self) -> Definition:
        return self.header().definition

    def resume(self) -> Resume:
        run = self.run()
        if run.kind not in ("agent", "dataflow"):
            return Resume(reasons=("not_resumable",))
        reasons = {"completed": ("terminal",), "running": ("owned",)}.get(run.status, ())
        return Resume(possible=not reasons, driver=run.kind, reasons=reasons)

    # states

    def state(self, step: int) -> State | None:
        if not 0 <= step <= len(self.starts):
            return None
        state = self._states.at(step)
        if state is None or step < len(self.starts) or not self.indexed:
            return state
        end = self._ending()[1]
        if end is not None and end.status == "completed":
            return state
        return overlaid(state, self._operations(), self.header().program, end is None and self._lives())

    def _operations(self) -> Sequence[Operation]:
        """What the operations recorded since the last checkpoint say."""
        if self._open[0] != self._known:
            begin = self.checkpoints[-1] if self.checkpoints else self.file.start
            found = self._change(len(self.starts)) if self.starts else None
            self._open = self._known, operations(self.file, begin, found[1] if found else 0, self._operation)
        return self._open[1]

    def _operation(self, line: bytes, offset: int) -> Operation | None:
        with contextlib.suppress(*BROKEN):
            record = self.decode(line.rstrip(), offset)
            return record if isinstance(record, Operation) else None
        return None

    def _nearest(self, step: int) -> int | None:
        at = self._checkpoint(step)
        return None if at is None else bisect_left(self.starts, self.checkpoints[at])

    def _checkpoint(self, step: int) -> int | None:
        """Which of `checkpoints` is the last at or before a step."""
        end = self.starts[step] if step < len(self.starts) else self._known
        at = bisect_left(self.checkpoints, end)
        return at - 1 if at else None

    def _load(self, step: int) -> Known | None:
        at = self._checkpoint(step)
        if at is None:
            return None
        found = self.record(self.checkpoints[at], Checkpoint)
        if found is None:
            del self.checkpoints[at]
            return None
        return msgspec.structs.replace(found.state, step=step), found.seq

    def _change(self, step: int) -> tuple[Change, int] | None:
        with contextlib.suppress(*BROKEN):
            record = self.decode(self.line(step), self.starts[step - 1])
            if isinstance(record, StepRecord):
                return record.change, record.step.seq
        return None

    # as it stands in the file

    def raw(self, step: int) -> RawRecord | None:
        if step == 0:
            line = line_at(self.file, self.file.start)
            return RawRecord(where=str(self._scan.place(self.file.start)), text=visible(line))
        found = super().raw(step)
        if found is None:
            return None
        begin = line_end(self.file, self.starts[step - 2]) if step > 1 else self.file.start
        parts = [*self._between(begin, self.starts[step - 1]), found.text]
        if step == len(self.starts):
            parts += self._between(line_end(self.file, self.starts[step - 1]), self._known)
        return RawRecord(where=found.where, text="\n".join(parts))

    def _between(self, begin: int, end: int) -> Iterator[str]:
        """The lines in a part of the file that belong to the step behind them."""
        scan = Scan(self.file, begin=begin)
        offset = begin
        for lines, _ in scan.batches(64 << 10):
            for line in lines:
                if offset >= end:
                    return
                if self.searched(line):
                    yield visible(line.rstrip(b"\r\n"))
                offset += len(line)
        if scan.scanned < end and self.searched(rest := scan.rest()):
            yield visible(rest)


def _whole(lines: list[bytes]) -> bool:
    """Whether every line ends as a record does."""
    try:
        return bytes(map(_before_end, lines)).count(b"}") == len(lines)
    except IndexError:
        return False


def _claims(probe: Probe) -> bool:
    kinds = (_KIND.match(line) for line in probe.lines)
    return any(kind and kind[1].decode() in RECORDS for kind in kinds)


def _open(probe: Probe) -> RunSet:
    file = probe.file
    _refuse_later(probe)
    run = TraceRun(file, probe.path, probe.head)
    return OneRun(run, file.label)


def _refuse_later(probe: Probe) -> None:
    match = re.match(rb'\s*\{\s*"record"\s*:\s*"header"\s*,\s*"format"\s*:\s*(\d{1,9})', probe.head)
    if match and int(match[1]) > FORMAT:
        raise UnreadableError(
            probe.path,
            f"a trace of format {int(match[1])}: this runinspect reads up to {FORMAT}; a newer one is needed",
        )


READER = Reader(
    name=NAME,
    what="trace files that this runner writes (JSON lines)",
    driver="runner",
    claims=_claims,
    open=_open,
)
