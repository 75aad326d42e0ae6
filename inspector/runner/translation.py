"""Between our conversations and pydantic-ai's: requests there, answers back. Imported only with the extra.

What a provider must be given back untouched (signatures, ids of items, parts of kinds that we have no word
for) goes along in the parts.
"""

import base64
import json
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import messages as theirs
from pydantic_ai.models import Model as TheirModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from inspector.model.values import Number, Value, decimal, integer, to_json, transform
from inspector.runner.messages import (
    AnyPart,
    Call,
    Media,
    Message,
    ModelTurn,
    Reasoning,
    Result,
    Text,
    Usage,
    shown,
    sound,
)
from inspector.runner.models import Delta, ModelRequest

_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number)
_RESPONSE_PART: TypeAdapter[Any] = TypeAdapter(theirs.ModelResponsePart)
_OUTCOMES = {"success": "success", "error": "failed", "refused": "denied", "skipped": "interrupted"}
_URLS = {
    "image": theirs.ImageUrl,
    "audio": theirs.AudioUrl,
    "video": theirs.VideoUrl,
    "document": theirs.DocumentUrl,
}


def parameters(request: ModelRequest, model: "TheirModel[Any]") -> ModelRequestParameters:
    """Tools and the form of the answer."""
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.schema or {"type": "object", "properties": {}},
        )
        for tool in request.tools
    ]
    if request.output is None:
        return ModelRequestParameters(function_tools=tools)
    native = bool(model.profile.get("supports_json_schema_output", False))
    wanted = OutputObjectDefinition(json_schema=request.output, name="answer")
    return ModelRequestParameters(
        function_tools=tools, output_mode="native" if native else "prompted", output_object=wanted
    )


def settings(request: ModelRequest) -> ModelSettings:
    """Everything else that is set."""
    found: dict[str, Any] = {"max_retries": 0, **request.params}
    if request.temperature is not None:
        found["temperature"] = request.temperature
    if request.max_tokens is not None:
        found["max_tokens"] = request.max_tokens
    if request.choice is not None and request.tools:
        found["tool_choice"] = list(request.choice) if isinstance(request.choice, tuple) else request.choice
    made: ModelSettings = ModelSettings(**found)  # type: ignore[typeddict-item]
    return made


def messages(request: ModelRequest) -> list[theirs.ModelMessage]:
    """The conversation; neighbours that are not the model's become one request."""
    found: list[theirs.ModelMessage] = []
    for message in request.messages:
        if message.role == "assistant":
            found.append(theirs.ModelResponse(parts=[_response_part(part) for part in message.content]))
            continue
        parts = list(_request_parts(message))
        last = found[-1] if found else None
        if isinstance(last, theirs.ModelRequest):
            found[-1] = theirs.ModelRequest(parts=[*last.parts, *parts])
        else:
            found.append(theirs.ModelRequest(parts=parts))
    if request.instructions and isinstance(found[-1], theirs.ModelRequest):
        found[-1].instructions = request.instructions
    return found


def _request_parts(message: Message) -> Iterable[Any]:
    if message.role == "system":
        yield theirs.SystemPromptPart(message.text)
        return
    said: list[Any] = []
    for part in message.content:
        if isinstance(part, Result):
            yield from _result(part)
        elif isinstance(part, Media):
            said.append(_media(part))
        else:
            said.append(shown(part))
    if said:
        yield theirs.UserPromptPart(said[0] if len(said) == 1 and isinstance(said[0], str) else said)


def _result(result: Result) -> Iterable[Any]:
    media = [_media(part) for part in result.content if isinstance(part, Media)]
    words = [part for part in result.content if not isinstance(part, Media)]
    content: Any = "\n".join(shown(part) for part in words)
    outcome: Any = _OUTCOMES.get(result.outcome or "success", "success")
    yield theirs.ToolReturnPart(result.name, [content, *media] if media else content, result.call_id, outcome=outcome)


def _media(part: Media) -> Any:
    kind, value = part.data.get("type"), part.data.get("value")
    if kind == "url":
        return _URLS[part.kind](url=value)
    if kind == "base64":
        media_type = part.media_type or "application/octet-stream"
        full = media_type if "/" in media_type else f"{part.kind}/{media_type}"
        return theirs.BinaryContent(base64.b64decode(value), media_type=full)
    return f"[{part.kind} that this provider cannot be given]"


def _response_part(part: AnyPart) -> Any:
    if isinstance(part, Text):
        return theirs.TextPart(part.text, **_provider(part.extra))
    if isinstance(part, Call):
        arguments = part.arguments if isinstance(part.arguments, str) else to_json(part.arguments)
        extra = part.provider or {}
        return theirs.ToolCallPart(
            part.name,
            arguments,
            part.call_id,
            **({"id": extra["item_id"]} if "item_id" in extra else {}),
            **_provider(extra),
        )
    if isinstance(part, Reasoning):
        return _thinking(part)
    return theirs.TextPart(shown(part))


def _provider(extra: dict[str, Any] | None) -> dict[str, Any]:
    known = ("provider_name", "provider_details")
    return {name: extra[name] for name in known if name in extra} if extra else {}


def _thinking(part: Reasoning) -> Any:
    block = part.blocks[0] if part.blocks else {}
    if isinstance(block, dict) and "part" in block:
        return _RESPONSE_PART.validate_python(block["part"])
    texts = [_thought(item) for item in part.blocks]
    content = block.get("content") if isinstance(block, dict) else None
    signature = content.get("signature") if isinstance(content, dict) else None
    return theirs.ThinkingPart("".join(texts), id=part.id, signature=signature, **_provider(block))


def _thought(block: Value) -> str:
    content = block.get("content") if isinstance(block, dict) else None
    if isinstance(content, dict):
        return str(content.get("text") or "")
    return content if isinstance(content, str) and block.get("type") == "summary" else ""


def turn(response: theirs.ModelResponse) -> ModelTurn:
    """Their answer as ours."""
    reason = response.finish_reason
    return ModelTurn(
        parts=tuple(_part(part) for part in response.parts),
        usage=usage(response.usage),
        finish_reason="tool_calls" if reason == "tool_call" else reason,
        response_id=response.provider_response_id,
        model=response.model_name,
    )


def usage(found: RequestUsage) -> Usage | None:
    """What they counted; None where nothing was reported."""
    if not (found.input_tokens or found.output_tokens):
        return None
    return Usage(
        found.input_tokens,
        found.output_tokens,
        found.input_tokens + found.output_tokens,
        found.cache_read_tokens,
        found.cache_write_tokens,
        0,
        found.details.get("reasoning_tokens", 0),
    )


def _part(part: Any) -> AnyPart:
    if isinstance(part, theirs.TextPart):
        return Text(sound(part.content), _kept(part) or None)
    if isinstance(part, theirs.ToolCallPart):
        kept = _kept(part)
        if part.id is not None:
            kept |= {"call_id": part.tool_call_id, "item_id": part.id}
        return Call(part.tool_name, arguments(part.args), part.tool_call_id, "", kept or None)
    if isinstance(part, theirs.ThinkingPart):
        content = {"text": part.content} | ({"signature": part.signature} if part.signature else {})
        return Reasoning(({"type": "text", "content": content, **_kept(part)},), part.id)
    return Reasoning(({"type": "other", "part": _RESPONSE_PART.dump_python(part, mode="json")},))


def _kept(part: Any) -> dict[str, Any]:
    names = ("provider_name", "provider_details")
    return {name: getattr(part, name) for name in names if getattr(part, name, None) is not None}


def arguments(given: str | dict[str, Any] | None) -> Value:
    """The arguments as the model wrote them; a text that is no JSON stays text."""
    if not isinstance(given, str):
        return {} if given is None else given
    if not given.strip():
        return {}
    try:
        found = _decoder.decode(given)
    except (ValueError, RecursionError):
        return sound(given)
    return (
        transform(found, lambda leaf: sound(leaf) if isinstance(leaf, str) else leaf, sound)
        if "\\ud" in given
        else found
    )


class Pieces:
    """Their stream events as pieces of a turn; calls are counted in the order in which they begin."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def of(self, event: Any) -> Delta | None:
        """The piece that an event is, None for one without news."""
        if isinstance(event, theirs.PartStartEvent):
            return self._begun(event.index, event.part)
        if not isinstance(event, theirs.PartDeltaEvent):
            return None
        delta = event.delta
        if isinstance(delta, theirs.TextPartDelta):
            return Delta(text=delta.content_delta)
        if isinstance(delta, theirs.ThinkingPartDelta):
            return Delta(reasoning=delta.content_delta) if delta.content_delta else None
        if isinstance(delta, theirs.ToolCallPartDelta):
            given = delta.args_delta
            text = given if given is None or isinstance(given, str) else to_json(given)
            return Delta(place=self._place(event.index), name=delta.tool_name_delta, arguments=text)
        return None

    def _begun(self, index: int, part: Any) -> Delta | None:
        if isinstance(part, theirs.TextPart):
            return Delta(text=part.content) if part.content else None
        if isinstance(part, theirs.ThinkingPart):
            return Delta(reasoning=part.content) if part.content else None
        if isinstance(part, theirs.ToolCallPart):
            text = part.args if part.args is None or isinstance(part.args, str) else to_json(part.args)
            return Delta(place=self._place(index), name=part.tool_name, arguments=text)
        return None

    def _place(self, index: int) -> int:
        return self._places.setdefault(index, len(self._places))
