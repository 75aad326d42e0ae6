"""What a machine may ask for, and what an agent run may be told.

A machine is asked `next()` for an effect; whoever drives it performs the effect and tells it what came of
it. `drive.py` knows only `Effect`: whether effects may overlap, and whether the run is over with it.
"""

from typing import Any, ClassVar

import msgspec

from inspector.model.run import Tool
from inspector.model.values import Value
from inspector.runner.data import FailureKind, Output, ToolChoice, WaitReason
from inspector.runner.messages import (
    AnyPart,
    Call,
    ErrorKind,
    Json,
    Media,
    Message,
    ModelTurn,
    Outcome,
    Text,
    Usage,
)


class Effect(msgspec.Struct, frozen=True):
    """The base. An `exclusive` effect is performed before the machine is asked again; an `ending` one says
    that nothing is left to perform."""

    exclusive: ClassVar[bool] = True
    ending: ClassVar[bool] = False


class Busy(Effect, frozen=True):
    """Nothing can begin before one of the effects under way has ended."""


class CallModel(Effect, frozen=True):
    """Ask the model: `turn` is the number it would have. `messages` is the whole conversation, `prompt`
    its last message."""

    turn: int
    messages: tuple[Message, ...]
    choice: ToolChoice
    output: Output
    previous_model: str | None

    @property
    def prompt(self) -> Message:
        return self.messages[-1]


class ResolveCall(Effect, frozen=True):
    """The model called a tool that was not on offer: decide with `resolve`."""

    call: Call
    available: tuple[str, ...]
    allowed: tuple[str, ...]
    choice: ToolChoice


class Hear(Effect, frozen=True):
    """A turn was accepted: the hooks on it are due, then `heard`."""

    turn: int
    parts: tuple[AnyPart, ...]
    streamed: bool


class ToRun(msgspec.Struct, frozen=True):
    """One call of a batch that is to be run: `arguments` are those to run it with. `approved`: somebody
    said yes; `attempt` counts from 1."""

    name: str
    call_id: str
    internal_id: str
    arguments: Value
    approved: bool
    attempt: int
    call: Call


class CallTools(Effect, frozen=True):
    """Run these calls, and answer each by itself, in any order."""

    calls: tuple[ToRun, ...]


class Wait(Effect, frozen=True):
    """The run can only go on with a decision on these calls: it is suspended."""

    ending: ClassVar[bool] = True
    reason: WaitReason
    calls: tuple[ToRun, ...]


class Done(Effect, frozen=True):
    """The run is over. `output` is the answer; `value` the structured one."""

    ending: ClassVar[bool] = True
    output: str
    value: Value = None


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag=str.lower):
    """The base of what an agent run is told. Events are its journal: the same events on the same run make
    the same run."""


class Announce(Event, frozen=True):
    """The hooks on the run's start have run; `prompt` is what they made of the prompt."""

    prompt: Message | None = None


class Begin(Event, frozen=True):
    """A model call begins: the turn is spent. `tools` None: those of the turn before."""

    tools: tuple[Tool, ...] | None = None
    known: bool = True
    choice: ToolChoice = None
    model: str | None = None
    executable: tuple[str, ...] | None = None
    output_tool: str | None = None


class Record(Event, frozen=True):
    """A stream told its usage before it ended."""

    usage: Usage | None = None
    message_id: str | None = None


class Rollback(Event, frozen=True):
    """The model call came to nothing: the turn is given back, what was billed stays."""


class Turn(Event, frozen=True):
    """The model's answer."""

    turn: ModelTurn
    streamed: bool = False


class Resolve(Event, frozen=True):
    """What becomes of a call of a tool that was not on offer: `fail`, `retry` with a feedback, `repair` to
    a name, `skip` with a reason, `stop` with a reason."""

    how: str
    text: str | None = None


class Heard(Event, frozen=True):
    """The hooks on the turn have run."""


class Retry(Event, frozen=True):
    """The turn is to be made again; with a feedback the model sees it and why."""

    feedback: str | None = None


class Hold(Event, frozen=True):
    """A call waits for somebody."""

    call: str
    why: WaitReason = "approval"
    question: Value = None


class Start(Event, frozen=True):
    """A call begins to run."""

    call: str


class Answer(Event, frozen=True):
    """What came of a call: a `value`, or `parts` where it is more than words or JSON."""

    call: str
    value: Value
    outcome: Outcome = "success"
    kind: ErrorKind | None = None
    parts: tuple[Text | Json | Media, ...] = ()


class Approve(Event, frozen=True):
    """A call that waits may run."""

    call: str


class Deny(Event, frozen=True):
    """A call that waits does not run; the reason is its result."""

    call: str
    reason: str | None = None


class Edit(Event, frozen=True):
    """A call is to run with other arguments."""

    call: str
    arguments: Value


class Again(Event, frozen=True):
    """A call that may have run is to run again."""

    call: str


class Steer(Event, frozen=True):
    """A message for the model, before its next call."""

    message: Message


class Stop(Event, frozen=True):
    """The run is to end now."""

    reason: str


class Fail(Event, frozen=True):
    """The run cannot go on."""

    kind: FailureKind
    message: str


class Configure(Event, frozen=True):
    """Other limits; None keeps one. A run that failed for its budget goes on."""

    max_turns: int | None = None
    max_invalid_retries: int | None = None
    token_budget: int | None = None
    choice: ToolChoice = None


class Remembered(Event, frozen=True):
    """The memory has taken in the run."""


class Scratch(Event, frozen=True):
    """The hooks' scratchpad, as a whole."""

    values: dict[str, Any]


AnyEvent = (
    Announce
    | Begin
    | Record
    | Rollback
    | Turn
    | Resolve
    | Heard
    | Retry
    | Hold
    | Start
    | Answer
    | Approve
    | Deny
    | Edit
    | Again
    | Steer
    | Stop
    | Fail
    | Configure
    | Remembered
    | Scratch
)
