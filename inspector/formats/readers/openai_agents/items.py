"""Items of the Responses API as messages: several items of a model that stand together are one message."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from inspector.formats.contents import arguments_of, name_of, text_of
from inspector.model.run import Call, Message
from inspector.model.values import Value, preview

MODEL, RESULT, INPUT, NOTHING = "m", "t", "i", "-"
"""What an item is: a part of a model's message, a tool result, an input, nothing of the conversation."""
BOOKKEEPING = ("tool_approval_item", "mcp_approval_request", "mcp_approval_response", "item_reference")


def kind_of(item: Value) -> str:
    """What an item is."""
    if not isinstance(item, dict):
        return INPUT
    kind, role = item.get("type"), item.get("role")
    if kind in BOOKKEEPING:
        return NOTHING
    if isinstance(kind, str) and kind.endswith("_output"):
        return RESULT
    if role is not None:
        return MODEL if role == "assistant" else INPUT
    return MODEL if isinstance(kind, str) else INPUT


def messages_of(items: Iterable[Value], tell: Callable[[str], None] = lambda message: None) -> Iterator[Message]:
    """Items in their order as messages."""
    group: list[Value] = []
    for item in items:
        kind = kind_of(item)
        if kind == MODEL:
            group.append(item)
        elif kind != NOTHING:
            if group:
                yield reply(group, tell)
                group = []
            yield result(item) if kind == RESULT else _input(item)
    if group:
        yield reply(group, tell)


def reply(items: Iterable[Value], tell: Callable[[str], None] = lambda message: None) -> Message:
    """A model's message of these items."""
    texts, calls = [], []
    for item in items:
        if not isinstance(item, dict):
            texts.append(preview(item, 200))
        elif is_call(item):
            calls.append(call_of(item, tell))
        elif item.get("role") is not None or item.get("type") == "message":
            texts.append(content_text(item.get("content")))
        elif item.get("type") not in ("reasoning", *BOOKKEEPING):
            texts.append(f"[{' '.join(filter(None, (name_of(item.get('type')), name_of(item.get('name')))))}]")
    return Message(role="assistant", text="\n".join(texts) if texts else None, calls=tuple(calls) or None)


def result(item: dict[str, Any]) -> Message:
    """A tool result."""
    return Message(role="tool", text=content_text(item.get("output")), call_id=_call_id(item))


def is_call(item: Value) -> bool:
    """Whether an item calls a tool that somebody else than the model's provider runs."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith("_call") and (item.get("call_id") is not None or kind == CALL)


CALL = "function_call"


def call_of(item: dict[str, Any], tell: Callable[[str], None] = lambda message: None) -> Call:
    """A call, of a function or of a tool that is built in."""
    kind = text_of(item.get("type"))
    if kind in (CALL, ""):
        call_id = _call_id(item)
        arguments = arguments_of(item.get("arguments"), lambda message: tell(f"call {call_id}: {message}"))
    else:
        found = (item.get(key) for key in ("input", "action", "actions", "operation", "arguments"))
        arguments = next((value for value in found if value is not None), None)
    name = name_of(item.get("name")) or kind.removesuffix("_call") or "?"
    return Call(name=name, call_id=_call_id(item), arguments=arguments)


def content_text(content: Value) -> str:
    """The text of a content: text, or parts of which those that are no text are named."""
    if not isinstance(content, list):
        return text_of(content)
    return "\n".join(_part_text(part) for part in content)


def _part_text(part: Value) -> str:
    if not isinstance(part, dict):
        return text_of(part)
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return f"[{preview(part.get('type', part), 60)}]"


def _input(item: Value) -> Message:
    if not isinstance(item, dict):
        return Message(role="?", text=preview(item, 200))
    return Message(role=name_of(item.get("role")) or "?", text=content_text(item.get("content")))


def _call_id(item: dict[str, Any]) -> str | None:
    return name_of(item.get("call_id")) or name_of(item.get("id"))
