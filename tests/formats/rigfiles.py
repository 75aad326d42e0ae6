"""Saved rig runs, made by hand: the pieces that tests put together."""

import json
from typing import Any


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "read", arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A tool call as in 0.42: with `type` where it stands in a message."""
    return {"id": call_id, "function": {"name": name, "arguments": arguments}, "signature": None, **more}


def asked(call_id: str, name: str = "read", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "toolcall", **call(call_id, name, arguments, **more)}


def answered(call_id: str, words: str = "ok", name: str = "read") -> dict[str, Any]:
    return {"type": "toolresult", "call": call_id, "name": name, "content": [text(words)]}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def assistant(*parts: dict[str, Any], message_id: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "id": message_id, "content": list(parts)}


def usage(spent: int, made: int) -> dict[str, int]:
    return {"input_tokens": spent, "output_tokens": made, "total_tokens": spent + made}


def slot(call_id: str, name: str = "read", answer: str | None = None, **more: Any) -> dict[str, Any]:
    """An entry of a batch that is being executed."""
    result = None if answer is None else answered(call_id, answer, name)
    return {"tool_call": call(call_id, name, {"of": call_id}), "preresolved_result": result, **more}


def saved(state: Any, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A saved run of 0.42."""
    return {
        "max_turns": 6,
        "max_invalid_tool_call_retries": 1,
        "tool_choice": None,
        "chat_history": None,
        "new_messages": list(messages),
        "current_turn": 1,
        "usage": usage(10, 5),
        "completion_calls": [],
        "completion_call_index": 0,
        "invalid_tool_call_retries": 0,
        "rollback_pending": False,
        "state": state,
        **fields,
    }


def written(run: dict[str, Any], **how: Any) -> bytes:
    return json.dumps(run, ensure_ascii=False, **how).encode()
