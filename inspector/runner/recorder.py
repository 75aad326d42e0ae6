"""Writing a run's journal as it goes on.

An operation is written planned, started, and succeeded or failed, before and after it happens; what the
machine takes in is written before the machine takes it in. So the last whole checkpoint and the events
behind it are the machine, whenever the process ends.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from inspector.journal import Journal
from inspector.model.changes import change
from inspector.model.records import (
    Checkpoint,
    Decision,
    End,
    Header,
    JournalRecord,
    Move,
    Operation,
    StepRecord,
)
from inspector.model.run import RunError, RunLink, RunStatus, State, Step
from inspector.model.values import Value
from inspector.process import operator, program
from inspector.runner import view
from inspector.runner.data import RunData
from inspector.runner.effects import Event
from inspector.runner.view import View

FIRST_CHECKPOINT = 16
"""The step of the first checkpoint; each of the following is twice as far, so that all checkpoints of a run
together are no longer than a few times its end."""


def now() -> str:
    """The time as RFC 3339, in UTC."""
    second, rest = divmod(time.time_ns() // 1000, 1_000_000)
    return f"{_second(second)}.{rest:06}Z"


@functools.lru_cache(maxsize=2)
def _second(number: int) -> str:
    return datetime.fromtimestamp(number, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def decision(what: str, subject: str | None, value: Value, reason: str | None, at: str) -> Decision:
    """What somebody decides who is here."""
    return Decision(what=what, subject=subject, value=value, reason=reason, who=operator(), at=at)


class Recorder:
    """The journal of one run. Without a journal nothing is written, and `seq` still counts the steps; `first` is
    what it was when this process began."""

    def __init__(self, journal: Journal | None, data: RunData, shown: View, clock: Callable[[], str] = now) -> None:
        self.journal, self.data, self.shown, self.clock = journal, data, shown, clock
        self.seq = self.first = 0
        self._held: list[JournalRecord] | None = None
        self._held_durable = False
        self._last: State | None = None
        self._checkpoint_at = FIRST_CHECKPOINT

    def write(self, record: JournalRecord, *, durable: bool = False) -> None:
        """Add a record, if there is a journal."""
        if self._held is not None:
            self._held.append(record)
            self._held_durable = self._held_durable or durable
        elif self.journal is not None:
            self.journal.append(record, durable=durable)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """What is written inside is in the journal as a whole, or not at all, but for what is flushed before. It is
        written as it is at the end: a checkpoint inside is behind all that the machine is told here."""
        self._held, self._held_durable = [], False
        try:
            yield
            self.flush()
        finally:
            self._held = None

    def flush(self) -> None:
        """Have what was written in `together` so far in the journal."""
        if self._held:
            if self.journal is not None:
                self.journal.append(*self._held, durable=self._held_durable)
            self._held.clear()
            self._held_durable = False

    def header(self, run_id: str, prompt: Value, resumed_from: RunLink | None, source: str | None) -> None:
        """The first record."""
        if self.journal is None:
            return
        definition = self.data.definition
        assert definition is not None
        self.write(
            Header(
                id=run_id,
                name=self.data.agent,
                kind="agent",
                started=self.clock(),
                resumed_from=resumed_from,
                definition=definition,
                program=program(),
                input=prompt,
                source=source,
            )
        )

    def operation(
        self, planned: Operation, status: Any, *, durable: bool = False, event: Event | None = None, **fields: Any
    ) -> None:
        """One change of an operation's status; `event` is what the machine is told with it."""
        if self.journal is None:
            return
        if event is not None:
            fields["event"] = event
        kept = planned if status == "planned" else msgspec.structs.replace(planned, request=None, digest=None)
        self.write(msgspec.structs.replace(kept, status=status, at=self.clock(), **fields), durable=durable)

    def move(self, event: Event) -> None:
        """What the machine is about to be told."""
        if self.journal is not None:
            self.write(Move(seq=self.seq, event=event, at=self.clock()))

    def decision(self, what: str, subject: str | None, value: Value, reason: str | None) -> None:
        """What somebody decided."""
        if self.journal is not None:
            self.write(decision(what, subject, value, reason, self.clock()))

    def begin(self) -> None:
        """The state before the first step of this process."""
        if self.journal is not None:
            self._last = self.shown.state(self.seq)
            self._write_checkpoint("resumed" if self.seq else "start", durable=self.seq > 0)

    def after(self, step: int) -> None:
        """The journal has `step` steps already."""
        self.seq = self.first = step
        self._checkpoint_at = max(FIRST_CHECKPOINT, step * 2)

    def step(self, make: Callable[[int], Step]) -> None:
        """A step has ended; `make` builds it from its number."""
        self.seq += 1
        if self.journal is None:
            return
        state = self.shown.state(self.seq)
        assert self._last is not None
        self.write(StepRecord(step=make(self.seq), change=change(self._last, state)))
        self._last = state
        if self.seq >= self._checkpoint_at:
            self._checkpoint_at = self.seq * 2
            self._write_checkpoint(None)

    def checkpoint(self, reason: str) -> None:
        """The whole state now, and the machine."""
        if self.journal is not None:
            self._last = self.shown.state(self.seq)
            self._write_checkpoint(reason, durable=True)

    def _write_checkpoint(self, reason: str | None, *, durable: bool = False) -> None:
        assert self._last is not None
        self.write(
            Checkpoint(seq=self.seq, state=self._last, at=self.clock(), reason=reason, machine=self.data),
            durable=durable,
        )

    def end(self, status: RunStatus, reason: str | None, error: RunError | None, output: Value, final: bool) -> None:
        """How the run ended, or that it is suspended; nothing follows. `final`: it can never go on."""
        if self.journal is None:
            return
        end = End(
            status=status,
            reason=reason,
            at=self.clock(),
            error=error,
            usage=view.as_usage(self.data.usage),
            output=output,
            steps=self.seq,
            final=final,
        )
        self.write(end, durable=True)
