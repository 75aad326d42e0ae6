"""The records of our own journal, as they stand line by line in a trace file and row by row in a store.

    header      once, first: the run and its definition
    operation   one external effect, each time its status changes
    step        a step has ended: what it was, and how it changed the state
    checkpoint  the whole state after a step, so that no state is far from one; with what the machine
                needs to go on from there
    move        what the machine took in besides: with the events of operations, enough to make it again
    decision    what a person decided: who, when, why
    end         how the run ended, or that it is suspended; nothing follows but an attempt
    attempt     another process goes on with the run, in the same journal

Every line begins `{"record":"<kind>"`, and the kinds differ in their first letter, so that an index is
built without decoding. The state after step n is the last checkpoint at or before n with the changes of
the steps behind it applied; a checkpoint of step 0 stands behind the header.
"""

import re
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from inspector.model.changes import Change
from inspector.model.run import Definition, Record, RunError, RunKind, RunLink, RunStatus, State, Step, Usage
from inspector.model.values import Value

FORMAT = 1
KIND = re.compile(rb'\s*\{\s*"record"\s*:\s*"([a-z]+)"')
"""How the line of a record begins: with its kind."""
"""The number of this format; a reader refuses a higher one by name."""

OperationKind = Literal["model", "tool", "firing", "memory", "hook"]
OperationStatus = Literal["planned", "started", "succeeded", "failed", "ambiguous"]


class Program(Record, frozen=True, kw_only=True):
    """Who wrote the journal: so that a stuck run tells its holder."""

    name: str = "runinspect"
    version: str | None = None
    host: str | None = None
    pid: int | None = None
    user: str | None = None


class Header(Record, frozen=True, kw_only=True, tag_field="record", tag="header"):
    """The first record. `input` is what the run was given."""

    format: int = FORMAT
    id: str
    name: str | None = None
    kind: RunKind
    started: str | None = None
    resumed_from: RunLink | None = None
    parent: RunLink | None = None
    definition: Definition = msgspec.field(default_factory=Definition)
    program: Program | None = None
    input: Value = None
    source: str | None = None
    key: str | UnsetType = UNSET
    """What the run is called in a store of durable runs; thread, turn and metadata are of such a run too."""
    thread: str | UnsetType = UNSET
    turn: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Operation(Record, frozen=True, kw_only=True, tag_field="record", tag="operation", omit_defaults=True):
    """One change of an operation's status. `id` is the operation's own, the same in each of its records;
    `seq` the step it belongs to; `digest` SHA-256 of the canonical request."""

    id: str
    seq: int
    kind: OperationKind
    name: str
    status: OperationStatus
    at: str | None = None
    attempt: int = 1
    call_id: str | None = None
    internal_call_id: str | None = None
    digest: str | None = None
    idempotency: str | None = None
    idempotency_key: str | None = None
    request: Value = None
    result: Value = None
    error: RunError | None = None
    scope: tuple[str, ...] = ()
    event: Value = None
    """What the machine took in with it, in its own form; None where result and error say it all."""


def doubt(operation: Operation, who: str = "") -> str:
    """Why an operation may have happened, and under which key that can be looked up where it went; `who` began it."""
    if operation.error is not None:
        told = f"raised {operation.error.message}, which does not say what it did"
    else:
        told = f"started{who}, no result recorded"
    key = f" (idempotency key {operation.idempotency_key})" if operation.idempotency_key else ""
    return f"{told}: it may have happened{key}"


def begun_by(program: "Program | None") -> str:
    """Who began something, behind `started`; nothing where that is not known."""
    return f" by process {program.pid} on {program.host}" if program and program.pid and program.host else ""


class Move(Record, frozen=True, kw_only=True, tag_field="record", tag="move", omit_defaults=True):
    """What the machine took in that is no operation, in its own form, after step `seq`."""

    seq: int
    event: Value
    at: str | None = None


class StepRecord(Record, frozen=True, kw_only=True, tag_field="record", tag="step", omit_defaults=True):
    """A step that has ended, and what it changed. `replayed_from` is its seq in the run it came from."""

    step: Step
    change: Change = msgspec.field(default_factory=Change)


class Checkpoint(Record, frozen=True, kw_only=True, tag_field="record", tag="checkpoint", omit_defaults=True):
    """The whole state after step `seq`; `machine` is the resuming machine's own form of it."""

    seq: int
    state: State
    at: str | None = None
    reason: str | None = None
    machine: Value = None


class Decision(Record, frozen=True, kw_only=True, tag_field="record", tag="decision", omit_defaults=True):
    """What a person decided, about which call or warning."""

    what: str
    subject: str | None = None
    value: Value = None
    reason: str | None = None
    who: str | None = None
    at: str | None = None


class End(Record, frozen=True, kw_only=True, tag_field="record", tag="end", omit_defaults=True):
    """How the run ended, or that it is suspended and why, after how many steps. `final`: it can never go on."""

    status: RunStatus
    reason: str | None = None
    at: str | None = None
    error: RunError | None = None
    usage: Usage | None = None
    output: Value = None
    replaced_by: str | None = None
    steps: int | None = None
    final: bool = False


class Attempt(Record, frozen=True, kw_only=True, tag_field="record", tag="attempt", omit_defaults=True):
    """A process goes on with the run; what stands before it as the run's end counts no more. What was
    `started` then and has no end may have happened. `number` counts those that recovered the run, its first
    process being the first; `definition` is the code from here on, where somebody accepted another one."""

    number: int
    mode: Literal["continue", "recovery"]
    at: str | None = None
    program: Program | None = None
    definition: Definition | None = None


JournalRecord = Header | Operation | Move | StepRecord | Checkpoint | Decision | End | Attempt
RECORDS: dict[str, Any] = {
    "header": Header,
    "operation": Operation,
    "move": Move,
    "step": StepRecord,
    "checkpoint": Checkpoint,
    "decision": Decision,
    "end": End,
    "attempt": Attempt,
}
