"""What a span says about an agent: the attributes of the GenAI conventions in the neutral words."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from inspector.formats.contents import arguments_of
from inspector.formats.readers.opentelemetry import older
from inspector.formats.readers.opentelemetry.span import Span, structured
from inspector.model.run import Call, Message, Step, StepKind, Tool, Usage
from inspector.model.text import shorten
from inspector.model.values import Value, preview, to_json

SUMMARY = 160
USAGE = "gen_ai.usage"
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
INSTRUCTIONS, DEFINITIONS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
CALL_ID, TOOL, ARGUMENTS, RESULT = (
    "gen_ai.tool.call.id",
    "gen_ai.tool.name",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
)
ALL = "pydantic_ai.all_messages"
SHOWN_ELSEWHERE = {INPUT, OUTPUT, INSTRUCTIONS, ALL, "all_messages_events"}
"""Attributes that the messages of a state hold already."""

Tell = Callable[[str], None]


def _silent(message: str) -> None:
    pass


_SPAN_KIND, _ENTITY_KIND, _REQUEST_KIND = "openinference.span.kind", "traceloop.span.kind", "llm.request.type"
_RAISED = re.compile(
    r"((?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Warning)): (.+)", re.DOTALL
)
_MCP, CALLED = "mcp.method.name", "tools/call"
_KINDS: dict[object, StepKind] = {
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "execute_tool": "tools",
    "LLM": "model",
    "TOOL": "tools",
    "completion": "model",
    "tool": "tools",
}
_OLDER: dict[str, Callable[[Span], Value]] = {
    INPUT: older.given,
    OUTPUT: older.answer,
    DEFINITIONS: older.offered,
    ARGUMENTS: older.asked,
    RESULT: older.gave,
}


def kind(span: Span) -> StepKind:
    """What kind of step a span is."""
    for name in ("gen_ai.operation.name", _SPAN_KIND, _REQUEST_KIND, _ENTITY_KIND):
        found = _text(span.attributes.get(name))
        if found is not None:
            return _KINDS.get(found, "node")
    # Older libraries name no operation, nor need a client or server of MCP.
    return "tools" if TOOL in span.attributes or span.attributes.get(_MCP) == CALLED else "node"


def is_agent(span: Span) -> bool:
    """Whether a span is the run of an agent, with model calls and tools of its own in it."""
    attributes = span.attributes
    if attributes.get("gen_ai.operation.name") == "invoke_agent":
        return True
    return attributes.get(_SPAN_KIND) == "AGENT" or attributes.get(_ENTITY_KIND) == "agent"


def call_id(span: Span) -> str | None:
    """The id of the call that a tool's span is for; None where it does not say."""
    return next(filter(None, (_text(span.attributes.get(name)) for name in (CALL_ID, *older.CALL_IDS))), None)


def tool_name(span: Span) -> str | None:
    """The tool that a tool's span ran; None where it does not say."""
    named = next(filter(None, (_text(span.attributes.get(name)) for name in (TOOL, *older.TOOLS))), None)
    return (
        named
        if named is not None or "gen_ai.operation.name" in span.attributes
        else span.name.removeprefix(CALLED + " ")
    )


def shown_elsewhere(name: str) -> bool:
    """Whether the messages of a state hold an attribute already."""
    return name in SHOWN_ELSEWHERE or older.is_message(name)


def attribute(span: Span, name: str, tell: Tell = _silent) -> Value:
    """An attribute, also where it stands on one of the span's events, as conventions of some versions have
    it; JSON in text is taken apart. What older conventions say instead comes in the same shape."""
    for attributes in (span.attributes, *(event.attributes for event in span.events)):
        if name in attributes:
            return structured(attributes[name], tell)
    read = _OLDER.get(name)
    return None if read is None else read(span)


def step(span: Span, seq: int, parent: int | None, tell: Tell = _silent) -> Step:
    """The step that a span is; what is odd in the calls that it asks for is told."""
    error = failure(span)
    return Step(
        seq=seq,
        kind=kind(span),
        name=span.name,
        status="failed" if span.failed else "done" if span.end is not None else "unknown",
        started=span.started,
        ended=span.ended,
        summary=shorten(error or _summary(span, tell), SUMMARY) or None,
        usage=usage(span, USAGE),
        error=error,
        parent=parent,
    )


def failure(span: Span) -> str | None:
    """Why a span failed, in one text; None when it did not fail."""
    if not span.failed:
        return None
    found = span.exception() or {}
    kind = _text(found.get("exception.type") or span.attributes.get("error.type"))
    parts = kind_and_words(kind, _text(found.get("exception.message")) or span.message)
    return ": ".join(part for part in parts if part) or "failed: the reason is not recorded"


def kind_and_words(kind: str | None, words: str | None) -> tuple[str | None, str | None]:
    """An error's type and message. SDKs write both into the description of a status, beside the exception that is
    recorded or in place of it."""
    if kind is None:
        match = _RAISED.fullmatch(words or "")
        return (match[1], match[2]) if match else (None, words)
    for name in (kind, kind.rpartition(".")[2]):
        if words is not None and words.startswith(f"{name}: "):
            return kind, words[len(name) + 2 :]
    return kind, words


def usage(span: Span, prefix: str) -> Usage | None:
    """The tokens that a span's attributes below `prefix` count."""
    pairs = ((f"{prefix}.input_tokens", f"{prefix}.output_tokens"), *(older.COUNTED if prefix == USAGE else ()))
    for pair in pairs:
        found = [span.attributes.get(name) for name in pair]
        counts = [count if isinstance(count, int) and not isinstance(count, bool) else None for count in found]
        if counts != [None, None]:
            return Usage(input_tokens=counts[0], output_tokens=counts[1])
    return None


def _summary(span: Span, tell: Tell) -> str:
    what = kind(span)
    if what == "model":
        said = list(messages(attribute(span, OUTPUT, tell), tell))
        words = " ".join(message.text for message in said if message.text)
        calls = ", ".join(
            f"{call.name}({preview(call.arguments, 60)})" for message in said for call in message.calls or ()
        )
        return " → ".join(part for part in (words, calls) if part)
    if what == "tools":
        asked, gave = (attribute(span, name) for name in (ARGUMENTS, RESULT))
        return " → ".join(preview(value, SUMMARY) for value in (asked, gave) if value is not None)
    return ""


def conversation(span: Span) -> list[Message] | None:
    """All that a model span says was said, up to its answer; None where content was not recorded."""
    given, answer = attribute(span, INPUT), attribute(span, OUTPUT)
    if given is None and answer is None:
        return None
    rules = attribute(span, INSTRUCTIONS)
    text = " ".join(_words(part) for part in _list(rules)) if isinstance(rules, list) else _text(rules)
    system = [Message(role="system", text=text)] if text else []
    return [*system, *messages(given), *messages(answer)]


def messages(value: Value, tell: Tell = _silent) -> Iterator[Message]:
    """The messages of an attribute: one per message, and one per tool result."""
    for item in _list(value):
        if not isinstance(item, dict):
            continue
        parts = item.get("parts")
        if not isinstance(parts, list):
            parts = [{"type": "text", "content": item.get("content")}]
        yield from _message(_text(item.get("role")) or "?", [part for part in parts if isinstance(part, dict)], tell)


def _message(role: str, parts: Sequence[dict[str, Any]], tell: Tell) -> Iterator[Message]:
    results = [part for part in parts if part.get("type") == "tool_call_response"]
    for part in results:
        result = part.get("response", part.get("result"))
        yield Message(role="tool", text=as_text(result), call_id=_text(part.get("id")), name=_text(part.get("name")))
    calls = tuple(call(part, tell) for part in parts if part.get("type") == "tool_call")
    words = [_words(part) for part in parts if part.get("type") not in ("tool_call", "tool_call_response")]
    if calls or words or not results:
        yield Message(role=role, text="\n".join(words) or None, calls=calls or None)


def call(part: dict[str, Any], tell: Tell = _silent) -> Call:
    """The call that a part of a message asks for."""
    name, call_id = _text(part.get("name")) or "?", _text(part.get("id"))
    arguments = arguments_of(part.get("arguments"), lambda message: tell(f"call {call_id or name}: {message}"))
    return Call(name=name, call_id=call_id, arguments=arguments)


def _words(part: Value) -> str:
    if not isinstance(part, dict):
        return as_text(part) or ""
    content = part.get("content")
    if content is not None and part.get("type") != "blob":
        words = as_text(content) or ""
        # What a model thought is none of what it said.
        return f"[reasoning: {words}]" if part.get("type") in ("reasoning", "thinking") else words
    return f"[{_text(part.get('type')) or 'part'}]"


def as_text(value: Value) -> str | None:
    """A value in a message: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) or value is None else to_json(value)


def tools(span: Span) -> tuple[Tool, ...] | None:
    """The tools that a model call was offered; None where that was not recorded."""
    found = attribute(span, DEFINITIONS)
    if not isinstance(found, list):
        request = attribute(span, "model_request_parameters")
        found = request.get("function_tools") if isinstance(request, dict) else None
    if not isinstance(found, list):
        return None
    return tuple(_tool(item) for item in found if isinstance(item, dict))


def _tool(item: dict[str, Any]) -> Tool:
    inner = item.get("function")
    item = inner if isinstance(inner, dict) else item
    schema = next((item[key] for key in ("parameters", "parameters_json_schema", "input_schema") if key in item), None)
    return Tool(
        name=_text(item.get("name")) or "?",
        description=_text(item.get("description")),
        schema=structured(schema),
    )


def deferred(span: Span) -> dict[str, str]:
    """Call id → what an agent's span says the call waits for: `approval` or `result`."""
    found = structured(span.attributes.get("final_result"))
    if not isinstance(found, dict):
        return {}
    return {
        item["tool_call_id"]: why
        for key, why in (("calls", "result"), ("approvals", "approval"))
        for item in _list(found.get(key))
        if isinstance(item, dict) and isinstance(item.get("tool_call_id"), str)
    }


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) and value else None
