"""Writing the journal of a network as it runs.

A firing is written started before its body runs, and as a step with all that it changed once it is committed; a
failed one is written failed. So the last checkpoint and the steps behind it are the run, whenever the process
ends, and a firing that is started and no more may have had its effects.
"""

from collections.abc import Callable, Mapping
from typing import Any

from inspector.dataflow.firing import Committed, Firing
from inspector.dataflow.machine import NetworkRun
from inspector.journal import Journal
from inspector.model.records import Checkpoint, End, Header, JournalRecord, Move, Operation, StepRecord
from inspector.model.run import Definition, RunError, RunLink, RunStatus
from inspector.model.values import Value
from inspector.process import program
from inspector.runner.ambiguity import ABORTED
from inspector.runner.network.bodies import idempotency_key
from inspector.runner.recorder import decision, now

STEPS_BETWEEN = 256
"""The least number of steps between two checkpoints. It is more where the state has more tokens, so that checkpoints
take a bounded part of the journal, and going to a step costs no more than reading a few states."""


class NetworkRecorder:
    """The journal of one run of a network; `steps` counts those of this process. Without a journal nothing is
    written."""

    def __init__(self, journal: Journal | None, run: NetworkRun, origin: str, clock: Callable[[], str] = now) -> None:
        self.journal, self.run, self.origin, self.clock = journal, run, origin, clock
        self.steps = 0
        self.kept: Callable[[], dict[str, Value]] = dict
        """What else a process that goes on needs."""
        self._next = STEPS_BETWEEN

    def write(self, *records: JournalRecord, durable: bool = False) -> None:
        """Add records as one, if there is a journal."""
        if self.journal is not None:
            self.journal.append(*records, durable=durable)

    def header(
        self,
        run_id: str,
        definition: Definition,
        inputs: Value,
        resumed_from: RunLink | None,
        source: str | None,
        mark: Callable[[], None] | None,
    ) -> None:
        """The first record, and the state before the first step. Behind the record, from which alone no run goes on,
        `mark` marks the run that this one resumes: what cannot be begun has not been resumed."""
        if self.journal is None:
            if mark is not None:
                mark()
            return
        header = Header(
            id=run_id,
            name=self.run.plan.name,
            kind="dataflow",
            started=self.clock(),
            resumed_from=resumed_from,
            definition=definition,
            program=program(),
            input=inputs,
            source=source,
        )
        if mark is not None:
            self.journal.append(header)
            mark()
            self.journal.append(self._checkpoint("start"), durable=True)
        else:
            self.journal.append(header, self._checkpoint("start"), durable=True)

    def operation(self, firing: Firing, status: Any, error: RunError | None = None, at: str | None = None) -> str:
        """A firing's body begins, has ended, has failed, or was given up, at this time (None: now); returns when."""
        at = at or self.clock()
        if self.journal is not None:
            self.journal.append(self._operation(firing, status, error, at, self.run.seq + 1))
        return at

    def _operation(self, firing: Firing, status: Any, error: RunError | None, at: str, seq: int) -> Operation:
        if status != "started":
            return Operation(
                id=firing.id,
                seq=seq,
                kind="firing",
                name=firing.node.name,
                status=status,
                at=at,
                call_id=firing.id,
                error=error,
            )
        actor = firing.node.actor
        return Operation(
            id=firing.id,
            seq=seq,
            kind="firing",
            name=firing.node.name,
            status="started",
            at=at,
            call_id=firing.id,
            idempotency=actor.idempotency if actor else None,
            idempotency_key=idempotency_key(self.origin, firing),
        )

    def step(self, done: Committed, firing: Firing | None = None, at: str | None = None) -> None:
        """A firing was committed; given it, and when, its body has ended well with that."""
        self.steps += 1
        if self.journal is None:
            return
        step = StepRecord(step=done.step, change=done.change)
        if firing is None:
            self.write(step)
        else:
            self.write(step, self._operation(firing, "succeeded", None, at or self.clock(), done.step.seq))
        if self.steps >= self._next:
            self._next = self.steps + max(STEPS_BETWEEN, sum(self.run.queues.sizes))
            self.checkpoint(None)

    def scratch(self, values: Mapping[str, Any]) -> None:
        """What hooks put into their scratchpad."""
        self.write(Move(seq=self.run.seq, event={"event": "scratch", "scratch": values}))

    def decision(self, what: str, subject: str | None, value: Value, reason: str | None) -> None:
        """What somebody decided."""
        if self.journal is not None:
            self.write(decision(what, subject, value, reason, self.clock()))

    def checkpoint(self, reason: str | None) -> None:
        """The whole state now; with a reason, it would survive the loss of power."""
        if self.journal is not None:
            self.write(self._checkpoint(reason), durable=reason is not None)

    def _checkpoint(self, reason: str | None) -> Checkpoint:
        machine = {"origin": self.origin, **self.run.machine(), **self.kept()}
        return Checkpoint(seq=self.run.seq, state=self.run.state(), at=self.clock(), reason=reason, machine=machine)

    def end(self, status: RunStatus, reason: str | None, error: RunError | None, output: Value) -> None:
        """How the run ended; nothing follows."""
        if self.journal is not None:
            self.checkpoint(reason or status)
            end = End(
                status=status,
                reason=reason,
                at=self.clock(),
                error=error,
                output=output,
                steps=self.run.seq,
                final=status == "completed" or reason == ABORTED,
            )
            self.write(end, durable=True)
