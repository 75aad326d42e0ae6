"""Chat histories of agents as messages. wfpy keeps the provider's own message as JSON text where an agent
called tools; it is unwrapped, and stays text where it is anything else."""

from collections.abc import Iterator

from inspector.formats.jsontext import Damaged, Place, parse
from inspector.model.run import Call, Message
from inspector.model.values import Value


def messages(history: Value, actor: str) -> Iterator[Message]:
    """The messages of one agent's history, each with the agent's path as its name."""
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict):
            yield from _messages(entry, actor)


def _messages(entry: dict[str, Value], actor: str) -> Iterator[Message]:
    role, content = _text(entry.get("role")) or "unknown", entry.get("content")
    if role == "tool":
        call_id = _text(entry.get("tool_call_id"))
        yield Message(role="tool", text=_text(content), call_id=call_id, name=_text(entry.get("name")) or actor)
        return
    value = _unwrapped(content)
    if role == "assistant" and value is not None:
        calls = tuple(_calls(value))
        if calls:
            yield Message(role=role, text=_said(value), calls=calls, name=actor)
            return
    results = [block for block in _blocks(value) if block.get("type") == "tool_result"]
    if role == "user" and results:
        for block in results:
            call_id = _text(block.get("tool_use_id"))
            yield Message(role="tool", text=_said(block), call_id=call_id, name=actor)
        return
    yield Message(role=role, text=_text(content), name=actor)


def _unwrapped(content: Value) -> Value:
    if not isinstance(content, str) or content[:1] not in ("{", "["):
        return content if isinstance(content, list | dict) else None
    try:
        value = parse(content.encode(errors="surrogatepass"), Place(""), [])
    except Damaged:
        return None
    return value if isinstance(value, list | dict) else None


def _blocks(value: Value) -> list[dict[str, Value]]:
    """Content blocks of a message of Anthropic's shape."""
    found = value.get("content") if isinstance(value, dict) else value
    return [block for block in found if isinstance(block, dict)] if isinstance(found, list) else []


def _calls(value: Value) -> Iterator[Call]:
    calls = value.get("tool_calls") if isinstance(value, dict) else None
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(function, dict):
            arguments = function.get("arguments")
            parsed = _unwrapped(arguments)
            name = _text(function.get("name")) or "unknown"
            yield Call(name=name, call_id=_text(call.get("id")), arguments=arguments if parsed is None else parsed)
    for block in _blocks(value):
        if block.get("type") == "tool_use":
            name = _text(block.get("name")) or "unknown"
            yield Call(name=name, call_id=_text(block.get("id")), arguments=block.get("input"))


def _said(value: Value) -> str | None:
    """The text of a message or block."""
    content = value.get("content") if isinstance(value, dict) else value
    if isinstance(content, str):
        return content
    texts = [text for block in _blocks(value) if (text := _text(block.get("text"))) is not None]
    return "\n".join(texts) if texts else None


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None
