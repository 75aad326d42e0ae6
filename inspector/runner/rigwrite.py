"""Writing an agent run as rig 0.42 saves it, so that a Rust service can go on with it.

What 0.42 has no place for is left out where it is only a record (outcomes, the scratchpad, the agent's
definition) and refused where it would change what happens (a call that may have run, a queued message).
"""

import re
from typing import Any

from inspector.model.values import Value, to_json
from inspector.runner import batch
from inspector.runner.data import (
    Advancing,
    Awaiting,
    Executing,
    Failed,
    Finished,
    Held,
    ModelCall,
    Preparing,
    Resolving,
    RunData,
    Slot,
    ToolChoice,
)
from inspector.runner.errors import RequestError
from inspector.runner.messages import AnyPart, Call, Json, Media, Message, Reasoning, Result, Text, Usage

_BY_PLACE = re.compile(r"\d+\.\d+")
"""Ids that we made: rig makes its own anew."""


def to_rig(data: RunData) -> str:
    """The run as JSON text of rig 0.42. Raises RequestError when it cannot be handed over as it stands."""
    if data.queued:
        raise RequestError("rig run", "holds messages that wait for the next model call: rig has no place for them")
    kept = data.foreign or {}
    phase = data.phase
    return to_json(
        {
            "max_turns": data.max_turns,
            "max_invalid_tool_call_retries": data.max_invalid_retries,
            "tool_choice": _choice(data.tool_choice),
            "output_tool_name": data.output.tool,
            "output_schema": data.output.schema,
            "max_output_retries": data.output.max_retries,
            "output_retries": data.output.retries,
            "chat_history": None if data.history is None else [_message(item) for item in data.history],
            "new_messages": [_message(item) for item in data.messages],
            "current_turn": data.turn,
            "usage": _usage(data.usage),
            "completion_calls": [_model_call(call) for call in data.calls],
            "completion_call_index": len(data.calls),
            "invalid_tool_call_retries": data.invalid_retries,
            "rollback_pending": bool(kept.get("rollback_pending", isinstance(phase, Preparing) and phase.owed)),
            "streamed_completion_call_recorded": bool(
                kept.get("streamed_completion_call_recorded", isinstance(phase, Awaiting) and phase.recorded)
            ),
            "state": kept.get("state") or _state(data),
        }
    )


def _state(data: RunData) -> Value:
    phase = data.phase
    if isinstance(phase, Preparing):
        return "PreparingRequest"
    if isinstance(phase, Awaiting):
        return "AwaitingModel"
    if isinstance(phase, Resolving):
        offer = data.advertised
        return {
            "ResolvingToolCalls": {
                "message_id": phase.turn.message_id,
                "original_choice": [_part(part) for part in phase.turn.original],
                "items": [_part(part) for part in phase.turn.parts],
                "next_index": phase.index,
                "executable_tool_names": sorted(tool.name for tool in (offer.tools if offer else None) or ()),
                "allowed_tool_names": sorted((offer.allowed if offer else None) or ()),
                "skipped": _skipped(phase.turn),
                "recovered": phase.turn.recovered,
                "any_skipped": bool(phase.turn.skipped),
                "has_tool_calls": _calls(phase.turn) != [],
            }
        }
    if isinstance(phase, Advancing):
        return {"AwaitingAdvance": _advancing(phase.turn)}
    if isinstance(phase, Executing):
        return {"ExecutingTools": [_slot(slot) for slot in phase.slots]}
    if isinstance(phase, Finished):
        return {"Done": _done(data, phase)}
    assert isinstance(phase, Failed)
    # A spent budget is found again by whoever goes on, and can be raised there.
    return "PreparingRequest" if phase.kind == "max_turns" else "Failed"


def _calls(turn: Held) -> list[Call]:
    return [part for part in turn.parts if isinstance(part, Call)]


def _skipped(turn: Held) -> dict[str, Value]:
    return {str(place): _part(result) for place, result in turn.skipped.items()}


def _advancing(turn: Held) -> dict[str, Value]:
    ids = [[call.call_id, call.internal_id] for call in _calls(turn)]
    ours = any(_BY_PLACE.fullmatch(pair[1]) for pair in ids)
    return {
        "message_id": turn.message_id,
        "items": [_part(part) for part in turn.parts],
        "has_tool_calls": _calls(turn) != [],
        "skipped": _skipped(turn),
        "internal_call_ids": [] if ours else ids,
    }


def _slot(slot: Slot) -> dict[str, Value]:
    if slot.status == "started":
        raise RequestError(slot.call.call_id, "may have run: decide what became of it before it is handed over")
    call = _part(slot.call)
    del call["type"]
    call["function"] = {"name": slot.call.name, "arguments": slot.effective}
    answer = slot.result
    if slot.status == "denied":
        answer = batch.refusal(slot.call, str(slot.question))
    internal = slot.call.internal_id
    return {
        "tool_call": call,
        "preresolved_result": None if answer is None else _part(answer),
        "internal_call_id": None if _BY_PLACE.fullmatch(internal) else internal,
    }


def _done(data: RunData, phase: Finished) -> dict[str, Value]:
    done: dict[str, Value] = {"output": phase.output, "usage": _usage(data.usage)}
    if data.calls:
        done["completion_calls"] = [_model_call(call) for call in data.calls]
    done["messages"] = [_message(item) for item in data.messages]
    done["content"] = [_part(part) for part in phase.content]
    return done


def _choice(choice: ToolChoice) -> Value:
    return {"specific": {"function_names": list(choice)}} if isinstance(choice, tuple) else choice


def _usage(usage: Usage | None) -> Value:
    if usage is None:
        return None
    return {name: getattr(usage, name) for name in Usage.__struct_fields__}


def _model_call(call: ModelCall) -> dict[str, Value]:
    optional = {
        "message_id": call.message_id,
        "response_id": call.response_id,
        "provider_request_id": call.request_id,
        "finish_reason": _reason(call.finish_reason),
        "raw": call.raw,
    }
    found: dict[str, Value] = {"call_index": call.index, "usage": _usage(call.usage or Usage())}
    return found | {name: value for name, value in optional.items() if value is not None}


def _reason(reason: Value) -> Value:
    known = (None, "stop", "length", "tool_calls", "content_filter")
    return {"other": reason} if isinstance(reason, str) and reason not in known else reason


def _provider(provider: dict[str, Any] | None) -> dict[str, Any] | None:
    """The provider's own ids of a call; what else a provider put there is not for rig."""
    if not provider or "call_id" not in provider:
        return None
    return {name: provider[name] for name in ("call_id", "item_id") if provider.get(name) is not None}


_BLOCKS = ("text", "summary", "encrypted", "redacted")


def _blocks(part: Reasoning) -> list[Value]:
    """The thoughts in rig's kinds: a block of another kind could not be loaded."""
    found = [block for block in part.blocks if isinstance(block, dict) and block.get("type") in _BLOCKS]
    return [{"type": block["type"], "content": block.get("content")} for block in found]


def _message(message: Message) -> dict[str, Value]:
    if message.role == "system":
        return {"role": "system", "content": message.text}
    found: dict[str, Value] = {"role": message.role}
    if message.role == "assistant":
        found["id"] = message.id
    found["content"] = [_part(part) for part in message.content]
    return found


def _with(found: dict[str, Value], **optional: Value) -> dict[str, Value]:
    return found | {name: value for name, value in optional.items() if value is not None}


def _part(part: AnyPart) -> dict[str, Any]:
    if isinstance(part, Text):
        return _with({"type": "text", "text": part.text}, additional_params=part.extra)
    if isinstance(part, Call):
        return {
            **_with({"type": "toolcall", "id": part.call_id}, provider=_provider(part.provider)),
            "function": {"name": part.name, "arguments": part.arguments},
            "signature": part.signature,
            "additional_params": part.extra,
        }
    if isinstance(part, Result):
        return {
            **_with({"type": "toolresult", "call": part.call_id}, provider=_provider(part.provider)),
            "name": part.name,
            "content": [_part(item) for item in part.content],
        }
    if isinstance(part, Reasoning):
        return {"type": "reasoning", "id": part.id, "content": _blocks(part)}
    if isinstance(part, Json):
        return {"type": "json", "value": part.value}
    assert isinstance(part, Media)
    return _with(
        {"type": part.kind, "data": part.data},
        media_type=part.media_type,
        detail=part.detail,
        additional_params=part.extra,
    )
