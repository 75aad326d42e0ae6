"""A run in a trace file of our own: the records of `model.records`, one a line."""

import contextlib
import re
from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from inspector.formats.files import File
from inspector.formats.largevalues import Apart, Beside, LargeValues, Nowhere
from inspector.formats.linefile import BROKEN
from inspector.formats.lines import line_at
from inspector.formats.owner import lives
from inspector.formats.states import Known, States
from inspector.formats.tracelines import TraceLines
from inspector.formats.traceops import Found, operations, overlaid
from inspector.model.changes import Change
from inspector.model.large import replaced
from inspector.model.records import FORMAT, Attempt, Checkpoint, End, Header, Move, Operation, Program, StepRecord
from inspector.model.run import Definition, Problem, Resume, Run, RunStatus, SourceInfo, State
from inspector.model.text import one_line

NAME = "runinspect"
TAIL, FURTHEST = 16 << 10, 48 << 10
"""Bytes at the end of a file that are looked at for how the run ended, before the file is indexed; where no record
among them tells how many steps there are, as many as FURTHEST."""
HEADED = 64
"""Bytes of a record in which its number stands."""

_SEQ = rb'(?m)^\{"record":(?:"step","step":\{|"checkpoint",)"seq":(\d{1,18}),'


class TraceRun(TraceLines):
    """A run in our own format. Opening it reads the header and the end; everything else is read when it is
    asked for. Raises UnreadableError for a format of a later version."""

    def __init__(self, file: File, path: str, head: bytes = b"") -> None:
        self._stood: RunStatus | None = None
        """How the run stood when somebody asked first since it was looked at anew: its process may end since."""
        super().__init__(file, SourceInfo(path=one_line(path), format=NAME), head)
        self.source = SourceInfo(path=one_line(path), format=NAME, version=str(self.header().format))

    def reset(self, head: bytes = b"") -> None:
        super().reset(head)
        self._large = LargeValues(self.apart(), self.met)
        self._states = States(self._nearest, self._load, self._change)
        self._header: Header | None = None
        self._ended: tuple[int, End | None] = (-1, None)
        self._peeked: tuple[int | None, End | None] | None = None
        self._open: tuple[int, Sequence[Found]] = (-1, ())
        self._machine = (-1, False)
        self._order: tuple[int, Problem | None] = (-1, None)

    def apart(self) -> Apart:
        """Where its large values stand."""
        return Beside(self.file.path) if self.file.path != "-" else Nowhere()

    def large(self) -> LargeValues:
        """Its large values."""
        return self._large

    def drop(self, seq: int, error: Exception) -> None:
        super().drop(seq, error)
        self._states.forget()

    def header(self) -> Header:
        """The header; an empty one, and a problem, where it cannot be read."""
        if self._header is None:
            found = self.record(self.began, Header)
            self._header = found or Header(format=FORMAT, id="", kind="trace")
        return self._header

    def refresh(self) -> bool:
        if self._scan.scanned < self._known:  # the last line may become another
            self._states.forget()
        grown, before, self._stood = super().refresh(), self._stood, None
        return grown or before not in (None, self.run().status)

    def run(self) -> Run:
        header, (steps, end) = self.header(), self._ending()
        alive = end is None and self.lives()
        status: RunStatus = end.status if end else "running" if alive else "interrupted"
        self._stood = self._stood or status
        return Run(
            id=header.id or None,
            name=header.name,
            kind=header.kind,
            status=status,
            reason=end.reason if end else None,
            steps=steps,
            started=header.started,
            ended=end.at if end else None,
            resumed_from=header.resumed_from,
            parent=header.parent,
            replaced_by=end.replaced_by if end else None,
            error=end.error if end else None,
            usage=end.usage if end else None,
        )

    def writer(self) -> tuple[Program | None, str | None]:
        """The process that wrote last, and since when."""
        attempt = self.record(self.attempts[-1], Attempt) if self.attempts else None
        if attempt is not None:
            return attempt.program, attempt.at
        return self.header().program, self.header().started

    def lives(self) -> bool:
        """Whether that process is still there."""
        return lives(*self.writer())

    def holder(self) -> str | None:
        """That process, as HOST:PID, while the run is running."""
        program = self.writer()[0]
        return one_line(f"{program.host}:{program.pid}") if program and self.run().status == "running" else None

    def _ending(self) -> tuple[int | None, End | None]:
        """How many steps there are and how the run ended, as far as it is known."""
        if not self.indexed:
            if self._peeked is None:
                self._peeked = self._peek()
            steps, end = self._peeked
            return None if steps is None else max(len(self.starts), steps), end
        place = self.ends[-1] if self.ends else -1
        if self.starts and place < self.starts[-1]:
            place = -1  # steps follow it: it is not the end
        if self.attempts and place < self.attempts[-1]:
            place = -1  # somebody went on behind it
        if self._ended[0] != place:
            self._ended = place, self.record(place, End) if place >= 0 else None
        return len(self.starts), self._ended[1]

    def _peek(self) -> tuple[int | None, End | None]:
        text = self._last(TAIL)
        last = text.rstrip().rpartition(b"\n")[2]
        end = None
        if last.startswith(b'{"record":"e'):
            with contextlib.suppress(*BROKEN):
                found = self.decode(last, 0)
                end = found if isinstance(found, End) else None
        if end is not None and end.steps is not None:
            return end.steps, end
        seqs = re.findall(_SEQ, text) or re.findall(_SEQ, self._last(FURTHEST))
        if not seqs and self.file.size - self.file.start > FURTHEST:
            return None, end
        return int(seqs[-1]) if seqs else 0, end

    def _last(self, length: int) -> bytes:
        begin = max(self.file.size - length, self.file.start)
        return self.file.read(begin, self.file.size - begin)

    def definition(self) -> Definition:
        return self._definition(self.attempts)

    def definition_at(self, step: int) -> Definition:
        """The code that a step ran in; behind the last one, what goes on."""
        if step >= len(self):
            return self.definition()
        return self._definition(self.attempts[: bisect_left(self.attempts, self.starts[step - 1] if step else 0)])

    def _definition(self, attempts: Sequence[int]) -> Definition:
        for offset in reversed(attempts):
            attempt = self.record(offset, Attempt)
            if attempt is not None and attempt.definition is not None:
                return attempt.definition
        return self.header().definition

    def resume(self) -> Resume:
        run = self.run()
        if run.kind not in ("agent", "dataflow"):
            return Resume(reasons=("not_resumable",))
        reason = self.over()
        if reason is None and self.indexed and not self._has_machine():
            reason = "not_resumable"
        return Resume(possible=reason is None, driver=run.kind, reasons=() if reason is None else (reason,))

    def over(self) -> str | None:
        """Why nobody needs to go on with the run, if that is so."""
        end = self._ending()[1]
        if end is not None and end.final:
            return "terminal"
        return {"completed": "terminal", "running": "owned"}.get(self.run().status)

    def _has_machine(self) -> bool:
        """Whether a checkpoint holds what a machine needs to go on: those of an exported run do not. A run that had
        not begun begins again from its input."""
        if not self.checkpoints and not self.starts:
            header = self.header()
            return header.input is not None and header.resumed_from is None and header.source is None
        if not self.checkpoints:
            return False
        if self._machine[0] != self.checkpoints[-1]:
            self._machine = self.checkpoints[-1], any(map(self._holds_machine, reversed(self.checkpoints)))
        return self._machine[1]

    def _holds_machine(self, offset: int) -> bool:
        line = line_at(self.file, offset)
        if b'"machine":' not in line:
            return False
        with contextlib.suppress(*BROKEN):
            found = self.decode(line.rstrip(), offset)
            return isinstance(found, Checkpoint) and isinstance(found.machine, dict) and bool(found.machine)
        return False

    def problems(self) -> Sequence[Problem]:
        found = super().problems()
        if found or not self.indexed:  # a damaged step is missing, too, and has been told
            return found
        if self._order[0] != self._known:
            self._order = self._known, self._disorder() or self._cut()
        return [self._order[1]] if self._order[1] else found

    def _disorder(self) -> Problem | None:
        """The first step whose number is not the one that it should have; only the last one's is always looked at."""
        right, wrong = 0, len(self.starts)
        if self._number(wrong) == wrong:
            return None
        while wrong - right > 1:
            middle = (right + wrong) // 2
            right, wrong = (middle, wrong) if self._number(middle) == middle else (right, middle)
        number = self._number(wrong)
        told = "is there again" if number < wrong else f"follows step {right}: what stood between them is missing"
        where = str(self._scan.place(self.starts[wrong - 1]))
        return Problem(
            severity="error",
            where=where,
            message=f"step {number} {told}; no state behind it is known before the next checkpoint",
        )

    def _cut(self) -> Problem | None:
        """A record behind the last step that tells of another number of steps."""
        for offset in (*self.checkpoints[-1:], *self.ends[-1:]):
            if self.starts and offset < self.starts[-1]:
                continue
            what, told = self._told_steps(offset)
            if told not in (None, len(self.starts)):
                return Problem(
                    severity="error",
                    where=str(self._scan.place(offset)),
                    message=f"{what} {told} follows step {len(self.starts)}: what stood between them is missing",
                )
        return None

    def _told_steps(self, offset: int) -> tuple[str, int | None]:
        """What stands there, and how many steps it tells of."""
        begun = re.match(_SEQ, self.file.read(offset, HEADED))  # a state may be large
        if begun:
            return "the checkpoint of step", int(begun[1])
        with contextlib.suppress(*BROKEN):
            record = self.decode(line_at(self.file, offset).rstrip(), offset)
            if isinstance(record, Checkpoint):
                return "the checkpoint of step", record.seq
            if isinstance(record, End):
                return "the end after step", record.steps
        return "", None

    def _number(self, step: int) -> int:
        """The number that the file gives a step."""
        found = self._change(step) if step else None
        return found[1] if found else step

    def state(self, step: int) -> State | None:
        if not 0 <= step <= len(self.starts):
            return None
        state = self._states.at(step)
        if 0 < step < len(self.starts) and self.problems() and self._states.number(step) != self._number(step):
            return None  # a checkpoint behind a step that is missing
        if state is not None:
            state = replaced(state, self._large.loader())
        if state is None or step < len(self.starts) or not self.indexed:
            return state
        end = self._ending()[1]
        if end is not None and end.status == "completed":
            return state
        return overlaid(state, self._operations(), self.writer()[0], end is None and self.lives())

    def _operations(self) -> Sequence[Found]:
        """What was recorded since the last checkpoint of operations, and of what was decided."""
        if self._open[0] != self._known:
            begin = self.checkpoints[-1] if self.checkpoints else self.file.start
            found = self._change(len(self.starts)) if self.starts else None
            self._open = self._known, operations(self.file, begin, found[1] if found else 0, self._operation)
        return self._open[1]

    def _operation(self, line: bytes, offset: int) -> Operation | Move | None:
        with contextlib.suppress(*BROKEN):
            record = self.decode(line.rstrip(), offset)
            return record if isinstance(record, Operation | Move) else None
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
