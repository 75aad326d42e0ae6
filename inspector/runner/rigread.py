"""Reading the JSON of a serialized rig `AgentRun`: 0.39, 0.40 and 0.41, 0.42, and formats 1 and 2.

Older generations are first brought into the form of 0.42. What names another generation is refused by name,
never guessed at. The text is read as it stands: nothing is made visible, since it goes back to models.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from inspector.model.run import Tool
from inspector.model.values import Number, Value, decimal, integer, to_json
from inspector.runner.data import (
    Advancing,
    Advertised,
    AnyPhase,
    Awaiting,
    Executing,
    Failed,
    Finished,
    Held,
    ModelCall,
    Output,
    Preparing,
    Resolving,
    RunData,
    Slot,
    ToolChoice,
)
from inspector.runner.errors import RequestError
from inspector.runner.messages import AnyPart, Call, Json, Media, Message, Reasoning, Result, Text, Usage
from inspector.runner.rigold import modern

_MEDIA = ("image", "audio", "video", "document")
_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number)


def from_rig(text: str | bytes) -> RunData:
    """The run that rig saved. Raises RequestError: no JSON, no rig run, a generation that is not known."""
    try:
        value = _decoder.decode(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:
        raise RequestError("rig run", f"is no JSON: {error}") from error
    if not isinstance(value, dict) or "new_messages" not in value or "state" not in value:
        raise RequestError("rig run", "has no new_messages and state: not a saved rig run")
    if "$schemaVersion" in value:
        raise RequestError("rig run", f"has the schema version {value['$schemaVersion']!r}, which no release had")
    number = value.get("format")
    if number not in (None, 1, 2):
        raise RequestError("rig run", f"has the format {number!r}; known are none (0.39 to 0.42), 1 and 2")
    try:
        return _checked(_run(modern(value)))
    except msgspec.ValidationError as error:
        raise RequestError("rig run", f"is damaged: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise RequestError("rig run", f"is damaged: {type(error).__name__}: {error}") from error


def _checked(data: RunData) -> RunData:
    """The run, when all that it holds is of its type: it must be possible to save it again."""
    return msgspec.convert(_decoder.decode(to_json(data)), RunData, str_keys=True)


def _run(value: dict[str, Value]) -> RunData:
    calls = [_model_call(item) for item in value.get("completion_calls") or ()]
    data = RunData(
        max_turns=value["max_turns"],
        max_invalid_retries=value.get("max_invalid_tool_call_retries") or 0,
        tool_choice=_choice(value.get("tool_choice")),
        output=Output(
            value.get("output_schema"),
            value.get("output_tool_name"),
            value.get("output_retries") or 0,
            1 if (retries := value.get("max_output_retries")) is None else retries,
        ),
        history=None if value.get("chat_history") is None else messages(value["chat_history"]),
        messages=list(messages(value["new_messages"])),
        turn=value["current_turn"],
        usage=_usage(value.get("usage")) or Usage(),
        calls=calls,
        invalid_retries=value.get("invalid_tool_call_retries") or 0,
        previous_model=value.get("previous_model"),
        announced=bool(value["current_turn"]),
        advertised=_offer(value),
    )
    if value.get("entries"):
        data.scratch["rig.entries"] = value["entries"]
    data.phase = _phase(value["state"], data, value)
    kept = {name: value[name] for name in ("rollback_pending", "streamed_completion_call_recorded") if value.get(name)}
    if isinstance(data.phase, Finished):
        kept["state"] = value["state"]
    data.foreign = kept or None
    return data


def _offer(value: dict[str, Value]) -> Advertised | None:
    turn_tools = value.get("turn_tools")
    if not turn_tools:
        return None
    tools = tuple(
        Tool(name=item["name"], description=item.get("description"), schema=item.get("parameters"))
        for item in turn_tools["definitions"]
    )
    return Advertised(turn_tools["turn"], tools, tuple(tool.name for tool in tools))


def _choice(value: Value) -> ToolChoice:
    if isinstance(value, dict):
        return tuple(value["specific"]["function_names"])
    return value if isinstance(value, str) else None


def _usage(value: Value) -> Usage | None:
    if not isinstance(value, dict):
        return None
    return Usage(**{name: value.get(name) or 0 for name in Usage.__struct_fields__})


def _model_call(value: dict[str, Value]) -> ModelCall:
    return ModelCall(
        value["call_index"],
        _usage(value.get("usage")),
        value.get("message_id"),
        value.get("response_id"),
        value.get("provider_request_id"),
        value.get("finish_reason"),
        None,
        value.get("raw"),
    )


def _phase(state: Value, data: RunData, value: dict[str, Value]) -> AnyPhase:
    name: str
    body: Any
    name, body = (state, None) if isinstance(state, str) else next(iter(state.items()))
    if name == "PreparingRequest":
        return Preparing(bool(value.get("rollback_pending")))
    if name == "AwaitingModel":
        return Awaiting(bool(value.get("streamed_completion_call_recorded")))
    if name == "Failed":
        return Failed("unknown", "the file does not hold the reason")
    if name == "ResolvingToolCalls":
        tools = tuple(Tool(name=name) for name in body["executable_tool_names"])
        data.advertised = Advertised(data.turn, tools, tuple(body["allowed_tool_names"]), data.tool_choice)
        return Resolving(_held(body, data), body["next_index"])
    if name == "AwaitingAdvance":
        held = _held(body, data)
        held.heard = True
        return Advancing(held)
    if name == "ExecutingTools":
        return Executing([_slot(item, data.turn, place) for place, item in enumerate(body, 1)])
    if name == "Done":
        content = parts(body["content"]) if "content" in body else (Text(body["output"]),)
        return Finished(body["output"], None, content)
    raise RequestError("rig run", f"has the state {name!r}, which is not known")


def _held(body: dict[str, Value], data: RunData) -> Held:
    ids = [pair[1] for pair in body.get("internal_call_ids") or ()]
    items = _numbered(parts(body["items"]), data.turn, ids)
    original = _numbered(parts(body["original_choice"]), data.turn, ids) if "original_choice" in body else items
    return Held(
        items,
        original,
        body.get("message_id"),
        {int(place): _result(item, items[int(place)]) for place, item in (body.get("skipped") or {}).items()},
        bool(body.get("recovered")),
        bool(ids),
        finish_reason=data.calls[-1].finish_reason if data.calls else None,
    )


def _numbered(found: tuple[AnyPart, ...], turn: int, ids: Sequence[str]) -> tuple[AnyPart, ...]:
    """The calls with ids of the run's own: rig's, taken in order, else by place."""
    numbered: list[AnyPart] = []
    place = 0
    for part in found:
        if isinstance(part, Call):
            internal = ids[place] if place < len(ids) else f"{turn}.{place + 1}"
            numbered.append(replace(part, internal_id=internal))
            place += 1
        else:
            numbered.append(part)
    return tuple(numbered)


def _slot(item: dict[str, Value], turn: int, place: int) -> Slot:
    call = replace(_call(item["tool_call"]), internal_id=item.get("internal_call_id") or f"{turn}.{place}")
    answer = item.get("preresolved_result")
    if answer is None:
        return Slot(call)
    return Slot(call, "answered", _result(answer, call), True)


def messages(items: Sequence[Value]) -> tuple[Message, ...]:
    """Messages of 0.42."""
    return tuple(_message(item) for item in items)


def _message(item: dict[str, Value]) -> Message:
    content = item["content"]
    return Message(item["role"], (Text(content),) if isinstance(content, str) else parts(content), item.get("id"))


def parts(items: Sequence[Value]) -> tuple[Any, ...]:
    """The parts of a message or a result."""
    return tuple(_part(item) for item in items)


def _part(item: dict[str, Value]) -> AnyPart:
    kind = item["type"]
    if kind == "text":
        return Text(item["text"], item.get("additional_params"))
    if kind == "toolcall":
        return _call(item)
    if kind == "toolresult":
        return _result(item, None)
    if kind == "reasoning":
        return Reasoning(tuple(item["content"]), item.get("id"))
    if kind == "json":
        return Json(item["value"])
    if kind in _MEDIA:
        return Media(kind, item["data"], item.get("media_type"), item.get("detail"), item.get("additional_params"))
    raise RequestError("rig run", f"holds a part of the kind {kind!r}, which is not known")


def _call(item: dict[str, Value]) -> Call:
    function = item["function"]
    return Call(
        function["name"],
        _arguments(function.get("arguments")),
        item["id"],
        "",
        item.get("provider"),
        item.get("signature"),
        item.get("additional_params"),
    )


def _arguments(value: Value) -> Value:
    """Arguments as the tool gets them: what is JSON in a text is what was meant."""
    if not isinstance(value, str):
        return value
    try:
        return _decoder.decode(value)
    except (ValueError, RecursionError):
        return value


def _result(item: dict[str, Value], call: AnyPart | None) -> Result:
    internal = call.internal_id if isinstance(call, Call) else ""
    return Result(item["call"], item["name"], parts(item["content"]), internal, provider=item.get("provider"))
