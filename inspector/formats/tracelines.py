"""The lines of one of our own trace files: which is what, and the records that they are."""

import contextlib
import re
import sys
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import accumulate, compress
from operator import itemgetter, or_
from typing import TypeVar

import msgspec

from inspector.formats.jsonlines import LineRun
from inspector.formats.jsontext import Place
from inspector.formats.linefile import BROKEN, LONG, visible
from inspector.formats.lines import Scan, line_at, line_end
from inspector.model.records import KIND, RECORDS, JournalRecord, StepRecord
from inspector.model.run import Problem, RawRecord, Step
from inspector.model.text import HIDDEN
from inspector.model.values import Value, clean_value, untag

Kind = TypeVar("Kind", bound=JournalRecord)

LEAD = 12
"""Bytes of a line that say of what kind its record is."""
APART, PLENTY = 8, 1 << 15
"""When the index holds PLENTY of checkpoints, it passes over those fewer steps than APART behind the last."""

LEADS = b'{"record":"'
BEGINNING = 8 << 10
"""Bytes at the beginning of a file in which its header is looked for."""
SALVAGED, SALVAGES = 256 << 10, 8
"""Bytes of a damaged line up to which it is searched for whole records, and places where one is tried."""

_CONTROLS = bytes([*range(32), 127])
_ESCAPED = re.compile(rb"\\[ubfr]")
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_S, _O = b"so"
_IS_STEP = bytes(letter == _S for letter in range(256))
_IS_ODD = bytes(letter not in (_S, _O) for letter in range(256))
_IS_NO_END = bytes(letter != b"}"[0] for letter in range(256))
_letter, _before_end = itemgetter(LEAD - 1), itemgetter(-2)
_quick = msgspec.json.Decoder(JournalRecord)


class TraceLines(LineRun):
    """The part of a run in our own format that is about its lines. `checkpoints`, `ends` and `attempts` are where
    those records begin."""

    def reset(self, head: bytes = b"") -> None:
        super().reset(head)
        self.checkpoints = array("Q")
        self.ends = array("Q")
        self.attempts = array("Q")
        self._second = sys.maxsize  # where another run's header stands
        self._began: int | None = None

    @property
    def began(self) -> int:
        """Where the run's header stands, if it has one: behind blank and damaged lines at most."""
        if self._began is None:
            self._began = at = self.file.start
            end = at + BEGINNING
            for line in self.file.read(at, BEGINNING).split(b"\n"):
                match = KIND.match(line)
                # One that goes on behind what was read is taken as it is.
                if match and not (match[1] == b"header" and at + len(line) < end and not self._is_record(line, at)):
                    self._began = at if match[1] == b"header" else self._began
                    break
                at += len(line) + 1
        return self._began

    def _is_record(self, line: bytes, offset: int) -> bool:
        try:
            self.decode(line, offset)
        except BROKEN:
            return False
        return True

    def take(self, lines: list[bytes], begin: int) -> None:
        if begin > self._second:
            return
        offsets = accumulate(map(len, lines[:-1]), initial=begin)
        try:
            kinds, ends = bytes(map(_letter, lines)), bytes(map(_before_end, lines))
        except IndexError:
            kinds = ends = b""
        if self.checked or not kinds:
            for line, offset in zip(lines, offsets, strict=True):
                self._look(line, offset, False)
        elif kinds.count(b"s") == ends.count(b"}") == len(lines):
            self.starts.extend(offsets)
        else:
            self._take_mixed(lines, list(offsets), kinds, ends)

    def _take_mixed(self, lines: list[bytes], offsets: list[int], kinds: bytes, ends: bytes) -> None:
        """Take in lines of which some are no steps. Each is told by a byte of its beginning and one of its
        end: what looks like a step and is none turns out to be damaged when it is decoded."""
        self.starts.extend(compress(offsets, kinds.translate(_IS_STEP)))
        odd = kinds.translate(_IS_ODD)
        if ends.count(b"}") < len(lines):
            odd = bytes(map(or_, odd, ends.translate(_IS_NO_END)))
        at = odd.find(1)
        while at >= 0:
            self._look(lines[at], offsets[at], kinds[at] == _S)
            at = odd.find(1, at + 1)

    def rewind(self, offset: int) -> None:
        super().rewind(offset)
        for part in (self.checkpoints, self.ends, self.attempts):
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
            self.ends.append(offset)
        elif kind == "attempt":
            self.attempts.append(offset)
        elif kind == "checkpoint":
            far = len(self.checkpoints) < PLENTY or (
                bisect_left(self.starts, offset) - bisect_left(self.starts, self.checkpoints[-1]) >= APART
            )
            if far:
                self.checkpoints.append(offset)
        elif kind == "header" and offset > self.began:
            self._second = offset
            del self.starts[bisect_left(self.starts, offset) :]
            self.damage(offset, "another run begins here: what follows is not shown")

    def _kind(self, line: bytes, offset: int) -> str | None:
        """The kind of a line's record; None, and a problem, when the line is none of ours. Whole records
        on a damaged line are sorted in."""
        match = KIND.match(line)
        if match and self._sound(line):
            kind = match[1].decode()
            if kind in RECORDS:
                return kind
        if self.crowded and b'"record"' not in line:
            self.damage(offset, "")
            return None
        try:
            return self._kind_of(self.value(line, offset), offset)
        except BROKEN as error:
            self.damaged(line, offset, error)
        self._salvage(line, offset)
        return None

    def _salvage(self, line: bytes, offset: int) -> None:
        """Sort in the whole records on a damaged line: behind one another, or behind a torn one."""
        from inspector.formats.jsonreading import Reading

        begin, tries = 0, SALVAGES if len(line) <= SALVAGED else 0
        while tries and (begin := line.find(LEADS, begin)) >= 0:
            tries -= 1
            reading = Reading(line[begin:], Place(self.file.label), [])
            try:
                kind = self._kind_of(clean_value(reading.value()), offset)
            except BROKEN:
                begin += len(LEADS)
                continue
            # One that another part of its record follows stands inside of it, as an agent's in a network's.
            if kind and line[begin + reading.position :].lstrip()[:1] not in (b",", b"]", b"}"):
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

    def decode(self, line: bytes, offset: int) -> JournalRecord:
        """The record of a line. Raises one of BROKEN."""
        if not self.checked and plain(line):
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                return _quick.decode(line)
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

    def records(self) -> Iterator[JournalRecord]:
        """All records in the order of the file, but for those that cannot be read."""
        scan, offset = Scan(self.file), self.file.start
        for lines, _ in scan.batches():
            for line in lines:
                yield from self._records(line, offset)
                offset += len(line)
        yield from self._records(scan.rest(), scan.scanned)

    def _records(self, line: bytes, offset: int) -> Iterator[JournalRecord]:
        if not line.strip() or offset >= self._second:
            return
        whole = [begin - offset for begin in sorted(self._fused) if offset <= begin < offset + len(line)]
        for begin in whole or [0]:
            with contextlib.suppress(*BROKEN):
                yield self.decode(line[begin:].rstrip(), offset + begin)

    def verbatim(self) -> Iterator[bytes]:
        """The bytes of the file."""
        for _, piece in self.file.chunks(0):
            yield piece

    def read_step(self, seq: int, line: bytes, offset: int) -> Step:
        record = self.decode(line, offset)
        if not isinstance(record, StepRecord):
            raise ValueError("no step record")
        step = record.step
        if step.seq == seq:
            return step
        return msgspec.structs.replace(step, seq=seq, trace_step=step.trace_step or step.seq, parent=None)

    def searched(self, line: bytes) -> bool:
        match = KIND.match(line)
        return match is not None and match[1] not in (b"header", b"step", b"checkpoint")

    def raw(self, step: int) -> RawRecord | None:
        if step == 0:
            line = line_at(self.file, self.began)
            return RawRecord(where=str(self._scan.place(self.began)), text=visible(line))
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
        scan = Scan(self.file, begin=begin, cut=LONG)
        offset = begin
        for lines, _ in scan.batches(64 << 10):
            for line in lines:
                if offset >= end:
                    return
                if self.searched(line):
                    yield visible(line_at(self.file, offset, scan.long.get(offset, len(line))))
                offset += scan.long.get(offset, len(line))
        if scan.scanned < end and self.searched(scan.rest()):
            yield visible(line_at(self.file, scan.scanned))


def plain(line: bytes) -> bool:
    """Whether the standard parser reads a line as the careful one does: nothing hidden is in it, and no number
    that it would write otherwise. Says no when in doubt."""
    if len(line.translate(None, _CONTROLS)) < len(line) or b'"$type"' in line:
        return False
    text = line
    if b"\\" in line:
        if _ESCAPED.search(line):
            return False
        text = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Outside of texts; no pattern, which takes seconds for millions of numbers.
    numbers = b"".join(text.split(b'"')[::2])
    zeros = numbers.translate(_ZEROS)
    if b"-0" in numbers or b"0." in zeros or b"0e" in zeros or b"0E" in zeros or b"0" * 16 in zeros:
        return False
    return line.isascii() or not HIDDEN.search(line.decode(errors="surrogateescape"))
