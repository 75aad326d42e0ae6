"""An agent run as data: everything that exists between two steps, and the phases it goes through.

Nothing here acts. `format` numbers the JSON form; a reader refuses a number it does not know, by name.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from inspector.model.run import Definition, Tool
from inspector.model.values import Value
from inspector.runner.messages import AnyPart, Call, Message, Result, Usage

FORMAT = 1

FailureKind = Literal[
    "max_turns",
    "budget",
    "unknown_tool",
    "cancelled",
    "aborted",
    "truncated",
    "content_filter",
    "model",
    "memory",
    "unknown",
]
SlotStatus = Literal["ready", "waiting", "approved", "denied", "started", "answered"]
WaitReason = Literal["approval", "input", "reconciliation"]
WAITS: dict[str, WaitReason] = {"approve": "approval", "answer": "input", "reconcile": "reconciliation"}
"""What a run waits for, by the decision that is owed to it."""
ToolChoice = str | tuple[str, ...] | None
"""None, "auto", "none", "required", or the names of which one must be called."""


class ModelCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of a model. `usage` None: not reported."""

    index: int
    usage: Usage | None = None
    message_id: str | None = None
    response_id: str | None = None
    request_id: str | None = None
    finish_reason: Value = None
    model: str | None = None
    raw: Value = None


class Advertised(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the model was offered in a turn: the reply and the calls are judged by this, never by the
    registry of today. `tools` None: not known."""

    turn: int
    tools: tuple[Tool, ...] | None = None
    allowed: tuple[str, ...] | None = None
    """Names that a reply may call; None: any."""
    choice: ToolChoice = None


class Held(msgspec.Struct, omit_defaults=True):
    """A model's turn that is not yet part of the history. `skipped`: results in place of calls, by the
    place of the call; `heard`: the hooks on it have run."""

    parts: tuple[AnyPart, ...]
    original: tuple[AnyPart, ...]
    message_id: str | None = None
    skipped: dict[int, Result] = msgspec.field(default_factory=dict)
    recovered: bool = False
    streamed: bool = False
    heard: bool = False
    finish_reason: Value = None


class Slot(msgspec.Struct, omit_defaults=True):
    """One call of a batch. `arguments` are those it runs with, where they are not the model's;
    `preresolved`: answered without running, so no hook hears of it."""

    call: Call
    status: SlotStatus = "ready"
    result: Result | None = None
    preresolved: bool = False
    arguments: Value | UnsetType = UNSET
    why: WaitReason | None = None
    """What it waits for."""
    question: Value = None
    attempt: int = 0
    """How many times it was started."""

    @property
    def effective(self) -> Value:
        """The arguments it runs with."""
        return self.call.arguments if self.arguments is UNSET else self.arguments


class Phase(msgspec.Struct, omit_defaults=True, tag_field="phase"):
    """The base of the phases."""


class Preparing(Phase, tag="preparing"):
    """The next model call is due. `owed`: the record of an abandoned stream was still to come."""

    owed: bool = False


class Awaiting(Phase, tag="awaiting"):
    """A model call is under way. `recorded`: its usage is already counted."""

    recorded: bool = False


class Resolving(Phase, tag="resolving"):
    """Part number `index` of the turn calls a tool that was not on offer; somebody must decide."""

    turn: Held
    index: int


class Advancing(Phase, tag="advancing"):
    """A turn is accepted and waits to be taken over into the history."""

    turn: Held


class Executing(Phase, tag="executing"):
    """A batch of calls; each is answered by itself."""

    slots: list[Slot]


class Finished(Phase, tag="finished"):
    """The run is over. `output` is the answer's text, `value` the structured answer; `undelivered` are
    messages that came too late."""

    output: str
    value: Value = None
    content: tuple[AnyPart, ...] = ()
    undelivered: tuple[Message, ...] = ()


class Failed(Phase, tag="failed"):
    """The run is over, and why. `slots`: the batch that was open."""

    kind: FailureKind
    message: str
    slots: tuple[Slot, ...] = ()
    turn: Held | None = None
    """The turn that was not taken over."""


AnyPhase = Preparing | Awaiting | Resolving | Advancing | Executing | Finished | Failed


class Output(msgspec.Struct, omit_defaults=True):
    """The structured answer that is asked for. `tool` is the name of the output tool, once chosen."""

    schema: Value = None
    tool: str | None = None
    retries: int = 0
    max_retries: int = 1


class RunData(msgspec.Struct):
    """An agent run. What is not in here is the agent's: model, tools, hooks, instructions."""

    format: int = FORMAT
    id: str = ""
    """Stays the same when the run is resumed."""
    agent: str | None = None
    max_turns: int = 10
    max_invalid_retries: int = 1
    token_budget: int | None = None
    tool_choice: ToolChoice = None
    output: Output = msgspec.field(default_factory=Output)
    history: tuple[Message, ...] | None = None
    """What came before the prompt."""
    messages: list[Message] = msgspec.field(default_factory=list)
    """The prompt and all that came of it."""
    turn: int = 0
    usage: Usage = Usage()
    calls: list[ModelCall] = msgspec.field(default_factory=list)
    tries: int = 0
    """How often the call that is due or under way was begun before: in all processes together."""
    invalid_retries: int = 0
    advertised: Advertised | None = None
    previous_model: str | None = None
    conversation: str | None = None
    announced: bool = False
    """The hooks on the run's start have run."""
    remembered: bool = False
    """The memory has taken in the run."""
    scratch: dict[str, Any] = msgspec.field(default_factory=dict)
    telemetry: dict[str, str] = msgspec.field(default_factory=dict)
    """What links the spans of the next process to those of the last one."""
    queued: list[Message] = msgspec.field(default_factory=list)
    """Messages that wait for the next model call."""
    definition: Definition | None = None
    """What the code was when the run last went on."""
    foreign: dict[str, Any] | None = None
    """What another program's file held that is nothing to us, kept until the next model call."""
    phase: AnyPhase = msgspec.field(default_factory=Preparing)
