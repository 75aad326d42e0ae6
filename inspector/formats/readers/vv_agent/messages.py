"""Messages of vv-agent: of its transcript (the chat form of OpenAI) and of its cycle records."""

from collections.abc import Sequence
from typing import Any

from inspector.formats.jsontext import Damaged
from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.shapes import mapping, sequence, text
from inspector.model.lazy import Lazy
from inspector.model.run import Call, Message
from inspector.model.values import Value, to_json


class Transcript(Lazy[Message]):
    """Stored messages, made when they are looked at, and `more` behind them."""

    def __init__(self, row: Row, column: str, values: Sequence[Value], more: Sequence[Message] = ()) -> None:
        self._row, self._where, self._values, self._more = row, row.where(column), values, more

    def __len__(self) -> int:
        return len(self._values) + len(self._more)

    def item(self, at: int) -> Message:
        if at >= len(self._values):
            return self._more[at - len(self._values)]
        return message(self._values[at], self._row, f"{self._where}[{at}]")


def message(value: Value, row: Row, where: str) -> Message:
    """A stored message; what it lacks is None, what is none of a message's fields is left out."""
    fields = mapping(value)
    calls = tuple(call(item, row, f"{where}.tool_calls[{number}]") for number, item in enumerate(calls_of(fields)))
    return Message(
        role=text(fields.get("role")) or "unknown",
        text=content(fields.get("content")) if fields or value is None else content(value),
        calls=calls or None,
        call_id=text(fields.get("tool_call_id")),
        name=text(fields.get("name")),
    )


def calls_of(fields: dict[str, Any]) -> list[Any]:
    """The tool calls of a message, a model's response or a cycle record."""
    return sequence(fields.get("tool_calls"))


def call(value: Value, row: Row, where: str) -> Call:
    """A tool call; arguments that stand as JSON text are parsed, and stay text with a problem where that
    fails."""
    fields = mapping(value)
    inner = mapping(fields.get("function")) or fields
    return Call(
        name=text(inner.get("name")) or "?",
        call_id=text(fields.get("id")),
        arguments=arguments(inner.get("arguments"), row, f"{where}.arguments"),
    )


def arguments(value: Value, row: Row, where: str) -> Value:
    """A call's arguments as a value."""
    if not isinstance(value, str):
        return value
    try:
        return row.parse(value.encode(), where)
    except Damaged:
        row.note(where, "the arguments are no JSON: shown as text")
        return value


def content(value: Value) -> str | None:
    """A message's content as text: of a list of parts, the texts and the kinds of what is no text."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        return to_json(value)
    parts = []
    for part in value:
        fields = mapping(part)
        words = part if isinstance(part, str) else fields.get("text")
        parts.append(words if isinstance(words, str) else f"[{text(fields.get('type')) or 'part'}]")
    return "\n".join(parts)


def result_message(result: Value) -> Message:
    """A tool's result as the message that it becomes."""
    fields = mapping(result)
    return Message(role="tool", text=content(fields.get("content")), call_id=text(fields.get("tool_call_id")))


def answer(fields: dict[str, Any], key: str, row: Row, where: str) -> Message:
    """A model's message, whose text stands at `key` of a response or cycle record."""
    calls = tuple(call(item, row, f"{where}.tool_calls[{number}]") for number, item in enumerate(calls_of(fields)))
    return Message(role="assistant", text=content(fields.get(key)), calls=calls or None)
