"""Models as the loop sees them: a request in, a turn out, whole or in pieces. Real ones are in `providers`."""

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

from inspector.model.run import Tool
from inspector.model.values import Value, to_json
from inspector.runner.data import ToolChoice
from inspector.runner.errors import ModelError
from inspector.runner.messages import AnyPart, Call, Message, ModelTurn, Part, Reasoning, Text, Usage


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked. `output` is the schema of a structured answer that the provider itself is to
    keep to; an output tool is among `tools` instead."""

    messages: tuple[Message, ...]
    instructions: str | None = None
    tools: tuple[Tool, ...] = ()
    choice: ToolChoice = None
    output: Value = None
    temperature: float | None = None
    max_tokens: int | None = None
    params: Mapping[str, Value] = {}


class Delta(msgspec.Struct, frozen=True):
    """A piece of a streamed turn: text, a thought, or of call number `place` (from 0) its name or more of
    its arguments. `usage` may come before the end."""

    text: str | None = None
    reasoning: str | None = None
    place: int | None = None
    name: str | None = None
    arguments: str | None = None
    usage: Usage | None = None


@runtime_checkable
class Model(Protocol):
    """A model. It raises ModelError when it does not answer."""

    name: str

    async def request(self, request: ModelRequest) -> ModelTurn:
        """The whole turn at once."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelTurn]:
        """The turn in pieces; the last item, and only that, is the whole of it."""


Scripted = str | ModelTurn | Exception | Sequence[str | Part]
Answering = Callable[[tuple[Message, ...]], Scripted | Awaitable[Scripted]]


class ScriptedModel:
    """A model that says what it was told to say: turn by turn, by the number of model turns that the
    conversation already holds, so that it goes on rightly after a resume; or what a function of the
    messages says. A turn is a text, calls (and texts), a ModelTurn, or an exception to raise. Calls without
    an id are `c1`, `c2`, ... in the order of the conversation."""

    def __init__(self, *script: Scripted | Answering, name: str = "scripted") -> None:
        self.name = name
        self._script = script

    async def request(self, request: ModelRequest) -> ModelTurn:
        held = [message for message in request.messages if message.role == "assistant"]
        said = await self._said(request.messages, len(held))
        if isinstance(said, Exception):
            raise said
        turn = said if isinstance(said, ModelTurn) else ModelTurn(parts=tuple(_parts(said)))
        turn = _with_ids(turn, sum(len(message.calls) for message in held))
        if turn.usage is None:
            turn = replace(turn, usage=_estimate(request, turn))
        if turn.finish_reason is None:
            has_calls = any(isinstance(part, Call) for part in turn.content)
            turn = replace(turn, finish_reason="tool_calls" if has_calls else "stop")
        return replace(turn, model=turn.model or self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelTurn]:
        turn = await self.request(request)
        place = -1
        for part in turn.content:
            if isinstance(part, Text):
                for word in re.findall(r"\s*\S+|\s+$", part.text):
                    yield Delta(text=word)
            elif isinstance(part, Reasoning):
                yield Delta(reasoning=part.text)
            elif isinstance(part, Call):
                place += 1
                yield Delta(place=place, name=part.name)
                yield Delta(place=place, arguments=to_json(part.arguments))
        yield turn

    async def _said(self, messages: tuple[Message, ...], turn: int) -> Scripted:
        if len(self._script) == 1 and callable(self._script[0]):
            found = self._script[0](messages)
            return await found if inspect.isawaitable(found) else found
        if turn >= len(self._script):
            raise ModelError(self.name, "other", f"the script has {len(self._script)} turns; this would be another")
        said = self._script[turn]
        if callable(said):
            found = said(messages)
            return await found if inspect.isawaitable(found) else found
        return said


def _parts(said: str | Sequence[str | Part] | Part) -> Iterable[AnyPart]:
    items = [said] if isinstance(said, str | Part) else said
    for item in items:
        yield Text(item) if isinstance(item, str) else item  # type: ignore[misc]


def _with_ids(turn: ModelTurn, before: int) -> ModelTurn:
    parts: list[AnyPart] = []
    number = before
    for part in turn.content:
        if isinstance(part, Call):
            number += 1
            part = replace(part, call_id=part.call_id or f"c{number}")
        parts.append(part)
    return replace(turn, parts=tuple(parts), text=None, calls=())


def _estimate(request: ModelRequest, turn: ModelTurn) -> Usage:
    """About what a provider would count: four characters a token."""
    given = sum(len(part.text) for message in request.messages for part in message.content if isinstance(part, Text))
    said = sum(len(to_json(part)) for part in turn.content)
    return Usage(given // 4 + 1, said // 4 + 1, given // 4 + said // 4 + 2)


def as_model(given: object) -> Model:
    """A model object as it stands, or the one that a name such as `openai:gpt-5-mini` means. Raises
    UsageError for a name that nobody knows, or when the extra `models` is not installed."""
    if isinstance(given, str):
        from inspector.runner.providers import named

        return named(given)
    if isinstance(given, Model):
        return given
    from inspector.runner.providers import adapted

    return adapted(given)
