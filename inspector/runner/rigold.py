"""Older generations of rig's saved runs, brought into the form of 0.42.

0.39 to 0.41 wrote the parts of an assistant without a tag, the provider's second id as `call_id`, results
without the name of their tool, and skips by call id; 0.39 could hold neither a text's extras apart nor the parts
of an answer. Formats 1 and 2 renamed the internal ids to block ids.
"""

from typing import Any

from inspector.model.values import Value

_TEXT = {"type", "text", "additional_params"}
_IMAGE = {"type", "data", "media_type", "detail", "additional_params"}


def modern(run: dict[str, Value]) -> dict[str, Value]:
    """The run in the form of 0.42."""
    run = dict(run)
    names: dict[str, str] = {}
    for field in ("chat_history", "new_messages"):
        if isinstance(run.get(field), list):
            run[field] = [_message(item, names) for item in run[field]]
    if isinstance(run["state"], dict):
        (name, body), *_ = run["state"].items()
        run["state"] = {name: _state(name, body, names)}
    return run


def _state(name: str, body: Any, names: dict[str, str]) -> Any:
    if name == "ExecutingTools":
        return [_slot(item, names) for item in body]
    body = dict(body)
    for field in ("original_choice", "items", "content"):
        if isinstance(body.get(field), list):
            body[field] = [_part(item, names) for item in body[field]]
    if name == "Done":
        body.setdefault("content", [{"type": "text", "text": body["output"]}])
        if isinstance(body.get("messages"), list):
            body["messages"] = [_message(item, names) for item in body["messages"]]
    if "block_ids" in body:
        body["internal_call_ids"] = body.pop("block_ids")
    if body.get("skipped"):
        body["skipped"] = {_place(key, body["items"]): _part(item, names) for key, item in body["skipped"].items()}
    return body


def _place(key: str, items: list[dict[str, Value]]) -> str:
    """The place of a call that a skip names by its id."""
    if key.isdecimal() and int(key) < len(items) and items[int(key)]["type"] == "toolcall":
        return key
    for place, item in enumerate(items):
        provider = item.get("provider") or {}
        if key in (item.get("id"), provider.get("item_id"), provider.get("call_id")):
            return str(place)
    raise ValueError(f"a skip names {key!r}, which is no call of the turn")


def _slot(item: dict[str, Value], names: dict[str, str]) -> dict[str, Value]:
    call = dict(_part({**item["tool_call"], "type": "toolcall"}, names))
    call.pop("type")
    answer = item.get("preresolved_result")
    return {
        "tool_call": call,
        "preresolved_result": None if answer is None else _part(answer, names),
        "internal_call_id": item.get("internal_call_id", item.get("block_id")),
    }


def _message(item: dict[str, Value], names: dict[str, str]) -> dict[str, Value]:
    content = item["content"]
    if isinstance(content, str):
        return item
    return {**item, "content": [_part(part, names) for part in content]}


def _part(item: dict[str, Value], names: dict[str, str]) -> dict[str, Value]:
    """A part with its tag; `names` learns and tells the tools of the calls."""
    kind = item.get("type") or _kind(item)
    if kind == "toolcall":
        return _call(item, names)
    if kind == "toolresult":
        return _result(item, names)
    known = _TEXT if kind == "text" else _IMAGE if kind in ("image", "audio", "video", "document") else None
    found = {**item, "type": kind}
    if known is not None and (extra := {name: found.pop(name) for name in list(found) if name not in known}):
        found["additional_params"] = {**(found.get("additional_params") or {}), **extra}
    return found


def _kind(item: dict[str, Value]) -> str:
    if "function" in item:
        return "toolcall"
    if "text" in item:
        return "text"
    if isinstance(item.get("content"), list):
        return "reasoning"
    return "image"


def _call(item: dict[str, Value], names: dict[str, str]) -> dict[str, Value]:
    found = {**item, "type": "toolcall"}
    second = found.pop("call_id", None)
    if second is not None:
        found["provider"] = {"call_id": second, "item_id": item["id"]}
        found["id"] = second
    for key in (item["id"], second):
        if key is not None:
            names[key] = item["function"]["name"]
    return found


def _result(item: dict[str, Value], names: dict[str, str]) -> dict[str, Value]:
    found = {**item, "type": "toolresult"}
    if "call" not in found:
        first, second = found.pop("id"), found.pop("call_id", None)
        found["call"] = first if second is None else second
        if second is not None:
            found["provider"] = {"call_id": second, "item_id": first}
    found.setdefault("name", names.get(found["call"], "unknown"))
    content = found["content"]
    found["content"] = [_part(part, names) for part in content]
    return found
