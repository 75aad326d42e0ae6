"""The neutral run: what every run has, whoever wrote it.

`None` means that the source does not hold it; an empty tuple means that there is none. Texts are
clean (see `text.clean`), times are RFC 3339, naive where the source is naive. Field names are those
of `runinspect show --json`. What can be long (messages, tokens) may be a lazy sequence.
"""

from collections.abc import Collection, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from inspector.model.values import Value

RunKind = Literal["agent", "dataflow", "workflow", "trace"]
RunStatus = Literal["running", "suspended", "completed", "failed", "interrupted", "cancelled", "unknown"]
StepKind = Literal["model", "tools", "firing", "node", "input", "event"]
StepStatus = Literal["done", "failed", "replayed", "pending", "running", "unknown"]
PendingKind = Literal["tool", "model", "firing", "node", "input"]
PendingStatus = Literal["waiting", "ready", "in_flight", "ambiguous", "answered", "approved", "denied"]
Contents = Literal["complete", "last", "size", "unknown"]
ToolsKnown = Literal["registry", "advertised", "called", "none"]
Severity = Literal["error", "warning"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The base of the model: frozen, built by name."""


class Problem(Record, frozen=True, kw_only=True):
    """Something wrong with the source, and where: `FILE:LINE byte OFFSET` in a text file (lines
    from 1, offset from the start of the file), else the narrowest place known."""

    severity: Severity
    where: str
    message: str


class SourceInfo(Record, frozen=True, kw_only=True):
    """Which file, of which format; `version` is the format's own, None where it has none."""

    path: str
    format: str
    version: str | None = None


class RunLink(Record, frozen=True, kw_only=True):
    """The run, and its step, that a run continues or is nested in. `path` is where that was then, on that host."""

    run: str
    step: int | None = None
    path: str | UnsetType = UNSET


class RunError(Record, frozen=True, kw_only=True):
    """Why a run failed, as far as the source says: `where` is the path of actors or nodes, `frames` are the places in
    the code, the innermost last."""

    message: str | None = None
    type: str | None = None
    step: int | None = None
    where: tuple[str, ...] | None = None
    frames: tuple[str, ...] | None = None


class Usage(Record, frozen=True, kw_only=True):
    """Tokens spent."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Run(Record, frozen=True, kw_only=True):
    """One execution as a whole; `steps` is their number as far as it is known, None where nothing tells it yet.
    `parent` is the run, and the last step before, of which this one is a part."""

    id: str | None = None
    name: str | None = None
    kind: RunKind
    status: RunStatus
    reason: str | None = None
    steps: int | None
    started: str | None = None
    ended: str | None = None
    resumed_from: RunLink | None = None
    parent: RunLink | None = None
    replaced_by: str | None = None
    error: RunError | None = None
    usage: Usage | None = None


class RunRow(Record, frozen=True, kw_only=True):
    """One line of a list of runs."""

    id: str
    name: str | None = None
    kind: RunKind
    status: RunStatus
    reason: str | None = None
    steps: int | None = None
    started: str | None = None
    updated: str | None = None
    holder: str | None = None
    resumed_from: RunLink | None = None
    parent: RunLink | None = None
    thread: str | None = None
    turn: str | None = None


class Tool(Record, frozen=True, kw_only=True):
    """A tool of the registry; `digest` is SHA-256 over the canonical JSON of its definition."""

    name: str
    description: str | None = None
    schema: Value = None
    digest: str | None = None
    idempotency: Literal["supported", "unsupported", "unknown"] | None = None
    needs_approval: bool | None = None


class Node(Record, frozen=True, kw_only=True):
    """A node of the graph; `id` is the path joined by `/`, `class_` the class or type it names. What follows does not
    decide whether a run fits, but is shown when it changed: `parameters`; `body`, the digest of its source; `state`,
    what its state is at the beginning; `timeout` in seconds, None: it has none."""

    id: str
    kind: str | None = None
    class_: str | None = msgspec.field(default=None, name="class")
    parameters: Value = None
    body: str | None = None
    idempotency: Literal["supported", "unsupported", "unknown"] | None = None
    state: Value | UnsetType = UNSET
    timeout: float | UnsetType | None = UNSET


class Edge(Record, frozen=True, kw_only=True):
    """An edge of the graph, by its own identity. `capacity` is how many tokens it may hold, None: any number; it does
    not decide whether a run fits, but is shown when it changed."""

    id: str
    from_: str | None = msgspec.field(default=None, name="from")
    to: str | None = None
    capacity: int | UnsetType | None = UNSET


class Graph(Record, frozen=True, kw_only=True):
    """The graph as far as the source tells; `complete` is False where only parts are known."""

    digest: str | None = None
    nodes: tuple[Node, ...] | None = None
    edges: tuple[Edge, ...] | None = None
    complete: bool = True


class Hook(Record, frozen=True, kw_only=True):
    """A registered hook: the event it hears and its stable name, in the order they run."""

    event: str | None = None
    name: str


class Definition(Record, frozen=True, kw_only=True):
    """What the code was that made the run."""

    tools: tuple[Tool, ...] | None = None
    tools_known: ToolsKnown = "none"
    graph: Graph | None = None
    hooks: tuple[Hook, ...] | None = None
    model: str | None = None
    settings: dict[str, Any] | UnsetType = UNSET
    """What else decides what a run does: instructions, the answer's type, parameters of the model."""
    digest: str | None = None


class Consumed(Record, frozen=True, kw_only=True):
    """Tokens that a step took from a queue; `tokens` None where only their number is known."""

    queue: str
    count: int
    tokens: tuple[Value, ...] | None = None


class Produced(Record, frozen=True, kw_only=True):
    """Tokens that a step put on a queue."""

    queue: str
    tokens: tuple[Value, ...] | None = None
    count: int | None = None


class Step(Record, frozen=True, kw_only=True):
    """One unit of progress a user would name. `seq` counts from 1; `parent` is the seq of the step
    this one is nested in; `trace_step` is the source's own number where it has another."""

    seq: int
    kind: StepKind
    name: str
    status: StepStatus
    started: str | None = None
    ended: str | None = None
    summary: str | None = None
    consumed: tuple[Consumed, ...] | None = None
    produced: tuple[Produced, ...] | None = None
    usage: Usage | None = None
    error: str | None = None
    parent: int | None = None
    trace_step: int | None = None


class Queue(Record, frozen=True, kw_only=True):
    """A queue between two steps; `contents` says how much of it `tokens` (head first) holds. `id`,
    `from` and `to` are relative to `scope`, the instance path; equal ids are told apart by their
    order."""

    id: str
    scope: tuple[str, ...] = ()
    from_: str | None = msgspec.field(default=None, name="from")
    to: str | None = None
    size: int | None = None
    contents: Contents
    tokens: Sequence[Value] | None = None


class Pending(Record, frozen=True, kw_only=True):
    """Work that is not done. `status` is per call: `waiting` for somebody's answer, `ready` to run,
    `in_flight` with a live owner, `ambiguous` (may have happened), `answered`, `approved` or `denied`
    but not yet carried out."""

    kind: PendingKind
    name: str
    status: PendingStatus
    call_id: str | None = None
    internal_call_id: str | None = None
    arguments: Value = None
    result: Value = None
    since: str | None = None
    note: str | None = None


class Call(Record, frozen=True, kw_only=True):
    """A tool call that a model's message asks for."""

    name: str
    call_id: str | None = None
    internal_call_id: str | None = None
    arguments: Value = None


class Message(Record, frozen=True, kw_only=True):
    """One message of the conversation, or one tool result (role `tool`, with its `call_id`)."""

    role: str
    text: str | None = None
    calls: tuple[Call, ...] | None = None
    call_id: str | None = None
    name: str | None = None


class Actor(Record, frozen=True, kw_only=True):
    """An actor's own state; `unfinished` is set while a composite firing is cut short in it."""

    id: str
    scope: tuple[str, ...] = ()
    fire_count: int | None = None
    state: Value = None
    unfinished: Value = None


class State(Record, frozen=True, kw_only=True):
    """All that exists between two steps, after step `step` (0: before the first)."""

    step: int
    queues: tuple[Queue, ...] | None = None
    pending: tuple[Pending, ...] | None = None
    actors: tuple[Actor, ...] | None = None
    messages: Sequence[Message] | None = None
    values: dict[str, Any] | None = None
    hooks: tuple[Hook, ...] | None = None


class Resume(Record, frozen=True, kw_only=True):
    """Whether, and by which driver, the run can be continued from its last step; `from_` are other
    steps it can start from, `reasons` are codes of `runinspect check`."""

    possible: bool = False
    driver: str | None = None
    from_: tuple[int, ...] | None = msgspec.field(default=None, name="from")
    reasons: tuple[str, ...] = ()


def resumable_here(resume: Resume, drivers: Collection[str]) -> Resume:
    """What a reader says of resuming, held against the drivers that there are: a run that only a driver which is
    not here could continue is `not_resumable`."""
    if resume.driver is None or resume.driver in drivers:
        return resume
    return Resume(reasons=("not_resumable", *(reason for reason in resume.reasons if reason != "not_resumable")))


class RawRecord(Record, frozen=True, kw_only=True):
    """A step's record as it stands in the file, already clean, and where it stands."""

    where: str
    text: str
