"""What older conventions say of a model call, in the shape that the newer ones have: messages with parts.

Three ways are read: attributes with a number (`gen_ai.prompt.0.role` of OpenLLMetry, of OpenInference
`llm.input_messages.0.message.role`), events of a span (`gen_ai.user.message`, `gen_ai.choice`), and `gen_ai.prompt` as
a whole. A message of which neither content nor calls were recorded is none: nobody knows what it was.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.formats.readers.opentelemetry.span import Span, structured
from inspector.model.values import Value

DIGITS = 4
"""Digits of the number of a message, call or tool; those with more are left out."""
COUNTED = (
    ("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"),
    ("llm.usage.prompt_tokens", "llm.usage.completion_tokens"),
    ("llm.token_count.prompt", "llm.token_count.completion"),
)
"""Attributes for the tokens in and out."""
CALL_IDS, TOOLS = ("tool_call.id", "tool.id"), ("tool.name", "traceloop.entity.name")
_ASKED = ("tool_arguments", "input.value", "tool.parameters", "traceloop.entity.input")
_GAVE = ("tool_response", "output.value", "traceloop.entity.output")
_FLAT = re.compile(rf"(?:gen_ai\.(?:prompt|completion)|llm\.(?:input|output)_messages)\.\d{{1,{DIGITS}}}\.")
_MESSAGE, _CHOICE = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message"), re.compile(r"gen_ai\.choice()")
_MEDIA = {"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file", "document"}


def is_message(name: str) -> bool:
    """Whether an attribute is a part of a message."""
    return _FLAT.match(name) is not None


def given(span: Span) -> list[Value] | None:
    """The messages that a model call was given; None where they were not recorded."""
    return _messages(span, ("gen_ai.prompt", "llm.input_messages"), _MESSAGE, "user")


def answer(span: Span) -> list[Value] | None:
    """The messages that a model call answered with; None where they were not recorded."""
    return _messages(span, ("gen_ai.completion", "llm.output_messages"), _CHOICE, "assistant")


def _messages(span: Span, leads: tuple[str, ...], event: re.Pattern[str], role: str) -> list[Value] | None:
    ways = (*(_flat(span, lead, role) for lead in leads), _events(span, event, role), _whole(span, leads[0], role))
    for way in ways:
        if found := [message for message in way if message is not None]:
            return found
    return None


def offered(span: Span) -> list[Value] | None:
    """The tools that a model call was offered; None where they were not recorded."""
    functions = _numbered(span.attributes, "llm.request.functions.")
    return [*functions, *map(_tool, _numbered(span.attributes, "llm.tools."))] or None


def asked(span: Span) -> Value:
    """The arguments of a tool's span."""
    found = _first(span, _ASKED)
    return _said_by(span, "gen_ai.tool.message", "content") if found is None else found


def gave(span: Span) -> Value:
    """The result of a tool's span."""
    found = _first(span, _GAVE)
    return _said_by(span, "gen_ai.choice", "message") if found is None else found


def _first(span: Span, names: tuple[str, ...]) -> Value:
    return next((structured(span.attributes[name]) for name in names if name in span.attributes), None)


def _said_by(span: Span, event: str, field: str) -> Value:
    return next((structured(one.attributes.get(field)) for one in span.events if one.name == event), None)


def _numbered(attributes: Mapping[str, Value], lead: str) -> list[dict[str, Value]]:
    """The attributes below `lead` by their number, in its order; numbers may be missing."""
    found: dict[int, dict[str, Value]] = {}
    for name, value in attributes.items():
        if name.startswith(lead):
            number, dot, rest = name[len(lead) :].partition(".")
            if dot and len(number) <= DIGITS and number.isascii() and number.isdecimal():
                found.setdefault(int(number), {})[rest] = value
    return [found[number] for number in sorted(found)]


def _flat(span: Span, lead: str, role: str) -> Iterator[Value]:
    for entry in _numbered(span.attributes, f"{lead}."):
        body = _short(entry, "message.")
        calls = [_short(call, "tool_call.", "function.") for call in _numbered(body, "tool_calls.")]
        if not calls and "function_call_name" in body:
            calls = [{"name": body["function_call_name"], "arguments": body.get("function_call_arguments_json")}]
        blocks: Value = [_short(block, "message_content.") for block in _numbered(body, "contents.")]
        content = body.get("content", blocks or body.get("user"))
        yield _message({**body, "content": content, "tool_calls": calls or body.get("tool_calls")}, role)


def _short(entry: Mapping[str, Value], *leads: str) -> dict[str, Value]:
    found = dict(entry)
    for lead in leads:
        found = {name.removeprefix(lead): value for name, value in found.items()}
    return found


def _events(span: Span, wanted: re.Pattern[str], role: str) -> Iterator[Value]:
    bodies: list[tuple[Value, dict[str, Value]]] = [(event.name, event.attributes) for event in span.events]
    listed = structured(span.attributes.get("events"))
    if isinstance(listed, list):
        bodies += [(one.get("event.name"), one) for one in listed if isinstance(one, dict)]
    for name, body in bodies:
        match = wanted.fullmatch(name) if isinstance(name, str) else None
        if match is not None:
            content = structured(body.get("gen_ai.event.content"))
            if content is not None:
                body = {**body, **(content if isinstance(content, dict) else {"content": content})}
            yield _message(body, match[1] or role)


def _whole(span: Span, name: str, role: str) -> Iterator[Value]:
    for attributes in (span.attributes, *(event.attributes for event in span.events)):
        found = structured(attributes.get(name))
        if isinstance(found, list) and all(isinstance(item, dict) and "role" in item for item in found):
            yield from (_message(item, role) for item in found)
        elif found is not None:
            yield _message({"content": attributes[name]}, role)


def _message(body: Mapping[str, Value], role: str) -> Value:
    """A message with parts; None where nothing of it was recorded."""
    inner = structured(body.get("message"))
    if inner is not None:
        body = {**body, **(inner if isinstance(inner, dict) else {"content": inner})}
    role = _text(body.get("role")) or _text(body.get("message.role")) or role
    content, calls = body.get("content", body.get("message.content")), structured(body.get("tool_calls"))
    calls = [_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    said = list(_parts(content, with_calls=not calls))
    if (
        role in ("tool", "function")
        and content is not None
        and not any(part["type"] == "tool_call_response" for part in said)
    ):
        said = [_result(body.get("tool_call_id", body.get("id")), content) | {"name": body.get("name")}]
    return {"role": role, "parts": [*said, *calls]} if said or calls else None


def _parts(content: Value, *, with_calls: bool) -> Iterator[dict[str, Any]]:
    blocks = structured(content)
    if not isinstance(blocks, list) or not any(map(_is_block, blocks)):
        if content not in (None, "", []):
            yield {"type": "text", "content": content}
        return
    for block in blocks:
        if not isinstance(block, dict):
            yield {"type": "text", "content": block}
            continue
        kind = block.get("type")
        use, result = block.get("toolUse"), block.get("toolResult")
        if kind == "tool_use" or isinstance(use, dict):
            use = use if isinstance(use, dict) else block
            if with_calls:
                yield _call({**use, "id": use.get("toolUseId", use.get("id")), "arguments": use.get("input")})
        elif kind == "tool_result" or isinstance(result, dict):
            result = result if isinstance(result, dict) else block
            yield _result(result.get("toolUseId", result.get("tool_use_id")), result.get("content"))
        elif isinstance(block.get("text"), str):
            yield {"type": "text", "content": block["text"]}
        else:
            media = isinstance(kind, str) and kind in _MEDIA
            yield {"type": kind if media else "part", "content": None if media else block}


def _is_block(block: Value) -> bool:
    return isinstance(block, dict) and not {"type", "text", "toolUse", "toolResult"}.isdisjoint(block)


def _call(call: Mapping[str, Value]) -> dict[str, Any]:
    inner = call.get("function")
    named = inner if isinstance(inner, dict) else call
    arguments = named.get("arguments", named.get("args"))
    return {"type": "tool_call", "id": call.get("id"), "name": named.get("name"), "arguments": arguments}


def _result(call_id: Value, response: Value) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": response}


def _tool(entry: Mapping[str, Value]) -> Value:
    told = {name.removeprefix("tool."): value for name, value in entry.items()}
    schema = structured(told.get("json_schema"))
    whole = schema if isinstance(schema, dict) else {}
    inner = whole.get("function")
    whole = inner if isinstance(inner, dict) else whole
    if whole and "name" not in whole and "name" in told:
        whole = {"parameters": whole}
    return {**whole, **{name: told[name] for name in ("name", "description") if name in told}}


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) and value else None
