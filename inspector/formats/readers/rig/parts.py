"""rig's messages and their parts, of every generation, as the neutral model has them.

0.42 and later tag each part with its `type`; before, a part of a model's message is told by the keys it has.
A message becomes one message, a user message with tool results one per result.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from inspector.formats.contents import arguments_of, name_of, text_of
from inspector.formats.pairing import outline
from inspector.model.run import Call, Message
from inspector.model.text import clean
from inspector.model.values import Value, preview

Outline = tuple[str, tuple[str | None, ...], tuple[str, ...]]
"""A message's letter, the ids of its calls or of the call that it answers, the names of its calls."""

MEDIA = ("image", "audio", "video", "document")
ROLES = ("system", "user", "assistant")


TEXTS = ("text", *MEDIA)


class _Function(msgspec.Struct):
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw()


class _Part(msgspec.Struct):
    type: str
    id: str | None = None
    call_id: str | None = None
    call: str | None = None
    function: _Function | None = None


class _Head(msgspec.Struct):
    role: str
    content: str | list[_Part]


_head = msgspec.json.Decoder(_Head).decode
_INPUT: Outline = ("i", (), ())


def quick_outlines(text: bytes) -> list[Outline] | None:
    """The outlines of a message from its text, without its contents; None where a whole reading is needed:
    parts without a type, or of an unknown one."""
    try:
        head = _head(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if head.role == "system":
        return [_INPUT]
    if isinstance(head.content, str):
        return [("a", (), ())] if head.role == "assistant" else [_INPUT] if head.role == "user" else None
    if head.role == "assistant":
        return _quick_reply(head.content)
    return _quick_user(head.content) if head.role == "user" else None


def _quick_reply(parts: list[_Part]) -> list[Outline] | None:
    ids, names = [], []
    for part in parts:
        if part.type == "toolcall":
            if part.function is None or not part.function.name or _is_text(part.function.arguments):
                return None
            ids.append(part.call_id or part.id or None)
            names.append(clean(part.function.name))
        elif part.type != "reasoning" and part.type not in TEXTS:
            return None
    return [("c" if ids else "a", tuple(ids), tuple(names))]


def _is_text(raw: msgspec.Raw) -> bool:
    return bytes(memoryview(raw)[:1]) == b'"'


def _quick_user(parts: list[_Part]) -> list[Outline] | None:
    found: list[Outline] = []
    said = False
    for part in parts:
        if part.type == "toolresult":
            found.append(("t", (part.call or part.call_id or part.id or None,), ()))
        elif part.type in TEXTS:
            said = True
        else:
            return None
    if said or not found:
        found.append(_INPUT)
    return found


def outlines(value: Value, tell: Callable[[str], None]) -> list[Outline]:
    """One outline per message that `messages_of` makes of the value. What a later or another rig may mean
    is told."""
    if not isinstance(value, dict):
        tell("a message that is no object")
    elif value.get("role") not in ROLES:
        tell(f"a message of the unknown role {preview(value.get('role'), 60)}")
    else:
        for part in _parts(value):
            kind = kind_of(part)
            if kind is None:
                tell(f"a part of the unknown kind {preview(_tag(part), 60)}")
            elif kind == "toolcall" and call_of(part, tell=tell).name == "?":
                tell("a call that does not say what is called")
        if not isinstance(value.get("content"), str | list):
            tell(f"a message without contents: they are {preview(value.get('content'), 60)}")
    found = []
    for message in messages_of(value):
        mark, ids = outline(message)
        found.append((mark, ids, tuple(clean(call.name) for call in message.calls or ())))
    return found


def kind_of(part: Value) -> str | None:
    """What a part is: text, toolcall, toolresult, reasoning, media; None when it is none of these."""
    if not isinstance(part, dict):
        return None
    tag = part.get("type")
    if tag in ("text", "toolcall", "toolresult", "reasoning"):
        return str(tag)
    if tag is not None:
        return "media" if tag in MEDIA else None
    for key, kind in (("function", "toolcall"), ("content", "reasoning"), ("data", "media"), ("text", "text")):
        if key in part:
            return kind
    return None


def messages_of(value: Value) -> list[Message]:
    """The messages that one message of the file stands for; at least one."""
    if not isinstance(value, dict):
        return [Message(role="?", text=preview(value, 200))]
    role = value.get("role")
    if role == "assistant":
        return [reply(_parts(value))]
    if role == "user":
        return list(_user(_parts(value))) or [Message(role="user", text="")]
    return [Message(role=role if role == "system" else text_of(role), text=text_of(value.get("content")))]


def reply(items: list[Value], internal_ids: Mapping[int, str] | None = None) -> Message:
    """A model's message of these parts; `internal_ids` by the number of the call."""
    calls = [part for part in items if kind_of(part) == "toolcall"]
    texts = [line for part in items if (line := _line(part)) is not None]
    if not texts and not calls:
        texts = [_reasoning(part) for part in items if kind_of(part) == "reasoning"]
    made = [call_of(part, (internal_ids or {}).get(number)) for number, part in enumerate(calls)]
    return Message(role="assistant", text="\n".join(texts) if texts else None, calls=tuple(made) or None)


def call_of(part: Value, internal_id: str | None = None, tell: Callable[[str], None] = lambda message: None) -> Call:
    """A call; also the bare one of a batch, which has no type. Arguments that are kept as text and are no JSON
    are told."""
    part = part if isinstance(part, dict) else {}
    function = part.get("function")
    function = function if isinstance(function, dict) else {}
    # 0.39 to 0.41 keep the id that results refer to in `call_id`.
    call_id = name_of(part.get("call_id")) or name_of(part.get("id"))
    return Call(
        name=name_of(function.get("name")) or "?",
        call_id=call_id,
        internal_call_id=internal_id,
        arguments=arguments_of(
            function.get("arguments"), lambda message: tell(f"call {preview(call_id or '?', 60)}: {message}")
        ),
    )


def result_of(part: Value) -> Message:
    """A tool result as a message."""
    part = part if isinstance(part, dict) else {}
    ids = (name_of(part.get(key)) for key in ("call", "call_id", "id"))
    content = part.get("content")
    lines = [_line(item) for item in content] if isinstance(content, list) else [text_of(content)]
    return Message(
        role="tool",
        text="\n".join(line for line in lines if line is not None),
        call_id=next(filter(None, ids), None),
        name=name_of(part.get("name")),
    )


def _parts(value: dict[str, Any]) -> list[Value]:
    content = value.get("content")
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def _user(parts: list[Value]) -> Iterator[Message]:
    """The results of a message answer the calls before it, wherever its text stands: one message behind them."""
    yield from (result_of(part) for part in parts if kind_of(part) == "toolresult")
    texts = [line for part in parts if kind_of(part) != "toolresult" and (line := _line(part)) is not None]
    if texts:
        yield Message(role="user", text="\n".join(texts))


def _line(part: Value) -> str | None:
    """What a part adds to the text of its message; None: nothing."""
    kind = kind_of(part)
    if kind == "text":
        return text_of(part.get("text"))
    if kind == "media":
        return _media(part)
    if isinstance(part, dict) and part.get("type") == "json":
        return text_of(part.get("value"))
    if kind is None:
        return f"[{preview(_tag(part), 60)}]"
    return None


def _media(part: dict[str, Any]) -> str:
    data = part.get("data")
    data = data if isinstance(data, dict) else {}
    kind, value = data.get("type"), data.get("value")
    if kind in ("base64", "raw", "string"):
        unit = "bytes" if kind == "raw" else "characters"
        where = f"{len(value) if isinstance(value, str | list) else '?'} {unit}"
    else:
        where = preview(value, 200) if value is not None else "unknown"
    words = (text_of(part.get("type")) or "image", text_of(part.get("media_type")), where)
    return f"[{' '.join(word for word in words if word)}]"


def _reasoning(part: dict[str, Any]) -> str:
    blocks = part.get("content")
    texts = []
    for block in blocks if isinstance(blocks, list) else [blocks]:
        content = block.get("content") if isinstance(block, dict) else block
        text = content.get("text") if isinstance(content, dict) else content
        if isinstance(text, str):
            texts.append(text)
    return f"[reasoning: {' '.join(texts) or 'not shown'}]"


def _tag(part: Value) -> Value:
    return part["type"] if isinstance(part, dict) and part.get("type") is not None else part
