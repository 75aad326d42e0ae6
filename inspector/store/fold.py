"""What records say of a run: its steps, operations, events and end. A store keeps this beside the journal; it
can always be made again from it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from inspector.errors import StoreError
from inspector.model.records import (
    Attempt,
    Decision,
    End,
    Header,
    JournalRecord,
    Operation,
    OperationStatus,
    StepRecord,
)
from inspector.model.run import Record
from inspector.model.text import shorten
from inspector.model.values import Value, to_json

MOVES: dict[OperationStatus | None, set[OperationStatus]] = {
    None: {"planned", "started"},
    "planned": {"planned", "started", "failed"},
    "started": {"succeeded", "failed", "ambiguous"},
    "ambiguous": {"planned", "started", "succeeded", "failed", "ambiguous"},
    "succeeded": set(),
    "failed": set(),
}
"""Which status of an operation may follow which."""
AGAIN = frozenset({"firing", "memory"})
"""Kinds of operations that keep their id when they are made anew after a failure."""


class Draft(Record, frozen=True, kw_only=True):
    """An event before it has its place in the outbox."""

    id: str
    kind: str
    payload: str

    @property
    def digest(self) -> str:
        """SHA-256 of the payload."""
        return hashlib.sha256(self.payload.encode()).hexdigest()


class Batch(Record, frozen=True, kw_only=True):
    """Records, ready to be written: each line with its kind, and what they say."""

    lines: tuple[tuple[str, bytes], ...]
    steps: int
    operations: tuple[Operation, ...]
    events: tuple[Draft, ...]

    @property
    def size(self) -> int:
        """Bytes of the lines."""
        return sum(len(line) for _, line in self.lines)


def batch(run: str, attempt: int, steps: int, records: Sequence[JournalRecord]) -> Batch:
    """What is to be written of records of the run with id `run`, which has `steps` steps. Raises StoreError
    `record_invalid` for a step that does not follow."""
    lines: list[tuple[str, bytes]] = []
    operations: list[Operation] = []
    for record in records:
        kind = str(record.__struct_config__.tag)
        lines.append((kind, to_json(record).encode() + b"\n"))
        if isinstance(record, StepRecord):
            steps += 1
            if record.step.seq != steps:
                raise StoreError(run, "record_invalid", f"step {record.step.seq} does not follow step {steps - 1}")
        elif isinstance(record, Operation):
            operations.append(record)
    events = tuple(draft for record in records if (draft := event(run, attempt, record)) is not None)
    return Batch(lines=tuple(lines), steps=steps, operations=tuple(operations), events=events)


def moved(run: str, before: OperationStatus | None, operation: Operation) -> None:
    """Raises StoreError `operation_invalid` when an operation cannot go from a status to its next."""
    allowed = MOVES[before]
    if before == "failed" and operation.kind in AGAIN:
        allowed = {"planned", "started"}
    if operation.status not in allowed:
        detail = f"{operation.id} is {before or 'not planned'}, and cannot become {operation.status}"
        raise StoreError(run, "operation_invalid", detail)


def merged(before: Operation | None, after: Operation) -> Operation:
    """An operation's row after a record: what a later record leaves out, an earlier one has told. What went
    out and came back is left to the journal."""
    after = msgspec.structs.replace(after, event=None, request=None, result=None)
    if before is None:
        return after
    kept = {
        name: getattr(before, name)
        for name in ("digest", "idempotency", "idempotency_key", "call_id", "internal_call_id")
        if getattr(after, name) is None
    }
    return msgspec.structs.replace(after, **kept)


def recovered(operation: Operation) -> Operation:
    """What an operation is once its process is gone."""
    return msgspec.structs.replace(operation, status="ambiguous") if operation.status == "started" else operation


def event_id(run: str, kind: str, *coordinates: object) -> str:
    """An event's id: the same whenever it is made of the same."""
    text = "\0".join(map(str, (run, kind, *coordinates)))
    return f"evt_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def event(run: str, attempt: int, record: JournalRecord) -> Draft | None:
    """The event that a record is to those who follow the run from outside; None where it is none."""
    if isinstance(record, Operation):
        if record.status == "planned":
            return None
        session = record.status == "succeeded" and record.name == "memory.append"
        return _draft(
            run,
            "session_persisted" if session else f"operation_{record.status}",
            (record.id, record.attempt, attempt if record.status == "ambiguous" else ""),
            {
                "at": record.at,
                "operation": record.id,
                "kind": record.kind,
                "name": record.name,
                "step": record.seq,
                "call_id": record.call_id,
                "error": None if record.error is None else record.error.message,
            },
        )
    if isinstance(record, StepRecord):
        step = record.step
        told = {"at": step.ended, "step": step.seq, "kind": step.kind, "name": step.name, "status": step.status}
        return _draft(run, "step", (step.seq,), told)
    if isinstance(record, Decision) and record.what.startswith("reconcile"):
        told = {"at": record.at, "call_id": record.subject, "decided": record.value, "who": record.who}
        return _draft(run, "reconciliation_resolved", (attempt, record.subject, record.at), told)
    if isinstance(record, Header):
        return _draft(run, "run_started", (), {"at": record.started, "name": record.name})
    if isinstance(record, Attempt):
        told = {"at": record.at, "attempt": record.number, "mode": record.mode}
        return _draft(run, "run_resumed", (record.number, record.mode, record.at), told)
    if isinstance(record, End):
        told = {"at": record.at, "status": record.status, "reason": record.reason}
        kind = "run_ended" if record.final else "run_suspended"
        return _draft(run, kind, () if record.final else (attempt, record.at), told)
    return None


def _draft(run: str, kind: str, coordinates: Iterable[object], told: Mapping[str, Value]) -> Draft:
    known = {name: shorten(value, 400) if isinstance(value, str) else value for name, value in told.items()}
    said = {name: value for name, value in known.items() if value is not None}
    payload = to_json({"event": kind, "run": run, **said})
    return Draft(id=event_id(run, kind, *coordinates), kind=kind, payload=payload)
