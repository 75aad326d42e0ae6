"""What `.stream()` yields: pieces as they arrive, then what became part of the run, at last the result."""

from typing import Any

import msgspec

from inspector.model.values import Value
from inspector.runner.data import ModelCall
from inspector.runner.messages import Call, Result


class Item(msgspec.Struct, frozen=True, tag_field="type"):
    """The base of stream items."""


class TextDelta(Item, frozen=True, tag="textDelta"):
    """A piece of text."""

    text: str


class ReasoningDelta(Item, frozen=True, tag="reasoningDelta"):
    """A piece of a thought."""

    text: str


class CallDelta(Item, frozen=True, tag="toolCallDelta"):
    """A piece of a call: its name, or more of its arguments as JSON text."""

    internal_id: str
    name: str | None = None
    arguments: str | None = None


class ModelCalled(Item, frozen=True, tag="completionCall"):
    """A model call was answered."""

    call: ModelCall


class TurnRetried(Item, frozen=True, tag="modelTurnRetried"):
    """What was streamed of this turn does not count: it is made again."""

    turn: int


class ToolCommitted(Item, frozen=True, tag="toolExecutionCommitted"):
    """A call was run, with these arguments."""

    call: Call
    internal_id: str
    arguments: Value


class ToolReturned(Item, frozen=True, tag="streamUserItem"):
    """What the model will be told of a call."""

    result: Result
    internal_id: str


class Final(Item, frozen=True, tag="finalResponse"):
    """The last item: how the run ended, or that it is suspended."""

    result: Any
