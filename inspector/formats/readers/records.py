"""Any JSON lines as a timeline of records, for files that no reader knows: asked for by name only."""

from collections.abc import Sequence
from itertools import accumulate

import msgspec

from inspector.errors import UnreadableError
from inspector.formats.jsonlines import LineRun, visible
from inspector.formats.jsontext import Damaged
from inspector.formats.linefile import BROKEN, LONG
from inspector.formats.memory import OneRun
from inspector.formats.reader import Probe, Reader
from inspector.model.run import Definition, Problem, Resume, Run, SourceInfo, State, Step
from inspector.model.source import RunSet
from inspector.model.text import one_line, shorten
from inspector.model.values import Value, preview, tag

NAME = "unknown"
SUMMARY = 160
DECODED = LONG
"""Bytes of a record up to which it is decoded; of a longer one, its beginning is shown."""
NAMES = ("type", "event", "kind", "record", "name", "op", "operation", "action", "role", "level")
TIMES = ("timestamp", "time", "ts", "at", "started", "started_at", "created_at", "date", "@timestamp")
"""Keys whose value, when it is a text, says what a record is and when it was written."""

_sound = msgspec.json.Decoder(msgspec.Raw).decode


class RecordsRun(LineRun):
    """A run of which each line is a step."""

    def take(self, lines: list[bytes], begin: int) -> None:
        offsets = accumulate(map(len, lines[:-1]), initial=begin)
        if not self.checked and all(line[:1] == b"{" and line[-2:] == b"}\n" for line in lines):
            self.starts.extend(offsets)
            return
        for line, offset in zip(lines, offsets, strict=True):
            if line.strip() and self._is_record(line, offset):
                self.starts.append(offset)

    def _is_record(self, line: bytes, offset: int) -> bool:
        text = line.strip()
        if not self.checked:
            sound = text[:1] + text[-1:] in (b"{}", b"[]")
        else:
            try:
                _sound(text)
                sound = True
            except (msgspec.DecodeError, RecursionError):
                sound = False
        if sound:
            return True
        try:
            self.value(line, offset)
        except Damaged as damage:
            self.damaged(line, offset, damage)
            return False
        return True

    def shown(self, seq: int) -> bytes:
        return self.line(seq) if self.room(seq) <= DECODED else self.file.read(self.starts[seq - 1], 4 * SUMMARY)

    def read_step(self, seq: int, line: bytes, offset: int) -> Step:
        if self.room(seq) > DECODED:
            self._too_long(seq)
            return Step(seq=seq, kind="event", name="record", status="unknown", summary=shorten(visible(line), SUMMARY))
        value = self.value(line, offset)
        record = value if isinstance(value, dict) else {}
        rest = {key: item for key, item in record.items() if key not in TIMES} if record else value
        return Step(
            seq=seq,
            kind="event",
            name=shorten(_first(record, NAMES) or "record", SUMMARY),
            status="unknown",
            started=_first(record, TIMES),
            summary=preview(rest, SUMMARY),
        )

    def state(self, step: int) -> State | None:
        """The record of a step, as values: all that is known of the state."""
        if not 1 <= step <= len(self.starts):
            return State(step=0) if step == 0 else None
        if self.room(step) > DECODED:
            self._too_long(step)
            return State(step=step, values={"value": tag("cut", bytes=self.room(step))})
        try:
            value = self.value(self.line(step), self.starts[step - 1])
        except BROKEN:
            return None
        return State(step=step, values=value if isinstance(value, dict) else {"value": value})

    def _too_long(self, seq: int) -> None:
        message = f"a record of {self.room(seq):,} bytes: more than {DECODED:,} are not decoded, only its text is shown"
        where = str(self._scan.place(self.starts[seq - 1]))
        self.met(Problem(severity="warning", where=where, message=message))

    def run(self) -> Run:
        return Run(name=self.file.label, kind="trace", status="unknown", steps=len(self.starts))

    def definition(self) -> Definition:
        return Definition()

    def resume(self) -> Resume:
        return Resume(reasons=("not_resumable",))


def _first(record: dict[str, Value], keys: Sequence[str]) -> str | None:
    found = (record.get(key) for key in keys)
    return next((one_line(item) for item in found if isinstance(item, str) and item), None)


def _open(probe: Probe) -> RunSet:
    run = RecordsRun(probe.file, SourceInfo(path=one_line(probe.path), format=NAME), probe.head)
    for _ in run.index():
        if len(run):
            return OneRun(run, probe.file.label)
    found = "; ".join(f"{problem.where}: {problem.message}" for problem in run.problems()[:1])
    raise UnreadableError(probe.path, f"holds no JSON lines ({found or 'it is empty'})")


READER = Reader(
    name=NAME,
    what="any JSON lines, as a timeline of records (only by --format records)",
    claims=lambda probe: False,
    open=_open,
)
