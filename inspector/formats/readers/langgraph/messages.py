"""The conversation in a LangGraph state: LangChain messages, in any of the forms in which they are stored."""

from collections.abc import Callable, Mapping, Sequence

from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.readers.langgraph.frames import listed
from inspector.formats.symbols import class_of
from inspector.model.run import Call, Message, Usage
from inspector.model.text import shorten
from inspector.model.values import Value, preview

ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
CHANNEL = "messages"
Note = Callable[[str], None]


def _silent(text: str) -> None:
    """For those who do not want to know."""


def conversation(values: Mapping[str, Value], note: Note = _silent) -> tuple[str, list[Message]] | None:
    """The channel that holds the conversation and its messages: `messages`, else the first channel that
    holds nothing else. None where there is none. `note` is told what is odd about them."""
    names = sorted(values, key=lambda name: name != CHANNEL)
    for name in names:
        items = values[name]
        if isinstance(items, list) and (items or name == CHANNEL):
            found = [message(item, note) for item in items]
            if all(found):
                return name, [one for one in found if one is not None]
    return None


def fields(value: Value) -> dict[str, Value] | None:
    """The fields of a stored message; None for anything else."""
    if not isinstance(value, dict):
        return None
    state = value.get("state") if class_of(value) else value
    if not isinstance(state, dict) or "content" not in state:
        return None
    kind = state.get("role") or state.get("type")
    if class_of(value) and not isinstance(kind, str):
        name = class_of(value).rpartition(":")[2].removesuffix("Chunk")
        kind = name.removesuffix("Message").lower() if name.endswith("Message") else None
    if not isinstance(kind, str) or not (class_of(value) or kind.lower().removesuffix("messagechunk") in ROLES):
        return None
    return {**state, "role": kind}


def message(value: Value, note: Note = _silent) -> Message | None:
    """A stored message, as an object, a dict or a pair of role and text; None for anything else."""
    pair = listed(value)
    if pair is not None and len(pair) == 2 and all(isinstance(part, str) for part in pair) and pair[0] in ROLES:
        return Message(role=ROLES[pair[0]], text=pair[1])
    found = fields(value)
    if found is None:
        return None
    kind = str(found["role"])
    role = ROLES.get(kind.lower().removesuffix("messagechunk"), kind)
    call_id = found.get("tool_call_id")
    name = found.get("name")
    return Message(
        role=role,
        text=text_of(found["content"]),
        calls=tuple(calls(found, note)) or None if role == "assistant" else None,
        call_id=call_id if isinstance(call_id, str) else None,
        name=name if isinstance(name, str) else None,
    )


def text_of(content: Value) -> str | None:
    """The text of a message: its own, or that of its blocks, with what is no text by its type."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        return preview(content, 2000)
    parts = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif kind not in ("tool_use", "tool_call"):
            parts.append(f"[{shorten(kind, 40) if isinstance(kind, str) else preview(block, 40)}]")
    return "\n".join(parts)


def calls(found: Mapping[str, Value], note: Note = _silent) -> list[Call]:
    """The tool calls of a message's fields, those whose arguments are no JSON too."""
    made = []
    for key in ("tool_calls", "invalid_tool_calls"):
        listed = found.get(key)
        for call in listed if isinstance(listed, list) else ():
            if not isinstance(call, dict):
                continue
            inner = call.get("function")
            function = inner if isinstance(inner, dict) else {}
            name = call.get("name") or function.get("name")
            arguments = call.get("args") if "args" in call else function.get("arguments")
            call_id = call.get("id")
            made.append(
                Call(
                    name=name if isinstance(name, str) else "?",
                    call_id=call_id if isinstance(call_id, str) else None,
                    arguments=_parsed(arguments, note) if isinstance(arguments, str) else arguments,
                )
            )
    return made


def _parsed(text: str, note: Note) -> Value:
    try:
        return parse(text.encode(), Place("arguments"), [])
    except Damaged:
        note(f"the arguments of a call are no JSON: {shorten(text, 80)}")
        return text


def results(value: Value) -> dict[str, Value]:
    """The tool results in a value that a node wrote, by call id."""
    found = {}
    for item in listed(value) or [value]:
        one = message(item)
        if one is not None and one.role == "tool" and one.call_id is not None:
            found[one.call_id] = one.text
    return found


def open_calls(messages: Sequence[Message]) -> list[Call]:
    """The calls of the last model message that have no result behind it."""
    last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].calls), None)
    if last is None or any(one.role == "assistant" for one in messages[last + 1 :]):
        return []
    answered = [one.call_id for one in messages[last + 1 :]]
    left = []
    for call in messages[last].calls or ():
        if call.call_id in answered:
            answered.remove(call.call_id)
        else:
            left.append(call)
    return left


def usage(items: Value) -> Usage | None:
    """The tokens that the stored messages say were spent; None where none says so."""
    spent = {"input_tokens": 0, "output_tokens": 0}
    told = False
    for item in items if isinstance(items, list) else ():
        found = fields(item) or {}
        counts = found.get("usage_metadata")
        for key in spent:
            count = counts.get(key) if isinstance(counts, dict) else None
            if isinstance(count, int):
                spent[key] += count
                told = True
    return Usage(**spent) if told else None


def model(items: Value) -> str | None:
    """The name of the model that answered last, where the messages say it."""
    for item in reversed(items) if isinstance(items, list) else ():
        about = (fields(item) or {}).get("response_metadata")
        name = about.get("model_name") or about.get("model") if isinstance(about, dict) else None
        if isinstance(name, str):
            return name
    return None
