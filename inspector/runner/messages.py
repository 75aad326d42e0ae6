"""What a conversation is made of: messages and their parts, rich enough to be handed to any model again.

Arguments and results are values (see `model.values`): numbers stay as the model wrote them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Self

import msgspec

from inspector.model import run as neutral
from inspector.model.values import Value, to_json, transform

Outcome = Literal["success", "error", "refused", "skipped"]
ErrorKind = Literal[
    "invalid_args",
    "timeout",
    "cancelled",
    "not_found",
    "permission_denied",
    "rate_limited",
    "provider",
    "network",
    "other",
]


def sound(text: str) -> str:
    """`text` as something that UTF-8 can hold: a half of a surrogate pair becomes a replacement character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def words(error: BaseException) -> str:
    """What an error says; nothing, where asking it fails too."""
    try:
        return sound(str(error))
    except Exception:
        return ""


class Part(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type"):
    """The base of what stands in a message."""


class Text(Part, frozen=True, tag="text"):
    """Words. `extra` is what a provider put beside them."""

    text: str
    extra: dict[str, Any] | None = None


class Call(Part, frozen=True, tag="call"):
    """A tool call that a model asks for. `call_id` is the provider's and need not be unique;
    `internal_id` is the run's own and is: by its turn and its place in it."""

    name: str
    arguments: Value = None
    call_id: str = ""
    internal_id: str = ""
    provider: dict[str, Any] | None = None
    signature: str | None = None
    extra: Value = None


class Reasoning(Part, frozen=True, tag="reasoning"):
    """A model's thoughts, to be given back to it untouched: blocks of `{"type", "content"}` with the types
    `text`, `summary`, `encrypted` and `redacted`."""

    blocks: tuple[Value, ...] = ()
    id: str | None = None

    @property
    def text(self) -> str:
        """What can be read of it."""
        contents = [block.get("content") for block in self.blocks if isinstance(block, dict)]
        words = [content.get("text") if isinstance(content, dict) else content for content in contents]
        return "".join(word for word in words if isinstance(word, str))


class Media(Part, frozen=True, tag="media"):
    """A picture, a sound, a film or a document: `data` is `{"type": "url"|"base64"|..., "value"}`."""

    kind: str
    data: Value
    media_type: str | None = None
    detail: str | None = None
    extra: dict[str, Any] | None = None


class Json(Part, frozen=True, tag="json"):
    """A value that a tool returned."""

    value: Value


class Result(Part, frozen=True, tag="result"):
    """What became of a call. `outcome` None: not recorded (a file of another program)."""

    call_id: str
    name: str
    content: tuple[Text | Json | Media, ...] = ()
    internal_id: str = ""
    outcome: Outcome | None = None
    kind: ErrorKind | None = None
    provider: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The result as a model reads it."""
        return "\n".join(shown(part) for part in self.content)


AnyPart = Text | Call | Reasoning | Media | Json | Result


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message; the results of a batch of calls are one message of the user."""

    role: Literal["system", "user", "assistant"]
    content: tuple[AnyPart, ...]
    id: str | None = None

    @classmethod
    def user(cls, text: "str | Message | AnyPart | Iterable[AnyPart]") -> Self:
        """The user's message that is meant by a text, a part or some parts."""
        if isinstance(text, cls):
            return text
        if isinstance(text, str):
            return cls("user", (Text(sound(text)),))
        return cls("user", (text,) if isinstance(text, Part) else tuple(text))  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls it asks for."""
        return tuple(part for part in self.content if isinstance(part, Call))


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of a model call, or of a run."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    tool_use_prompt_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return Usage(*(one + another for one, another in zip(mine, theirs, strict=True)))

    def __sub__(self, other: "Usage") -> "Usage":
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return Usage(*(one - another for one, another in zip(mine, theirs, strict=True)))

    @property
    def spent(self) -> int:
        """What counts against a budget of tokens."""
        return max(self.total_tokens, self.input_tokens + self.output_tokens)


class ModelTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer of a model: its words, the calls it asks for, or `parts` where there is more to it.
    `usage` None: not reported."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    parts: tuple[AnyPart, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None
    message_id: str | None = None
    response_id: str | None = None
    request_id: str | None = None
    model: str | None = None
    raw: Value = None

    @property
    def content(self) -> tuple[AnyPart, ...]:
        """All its parts, in order."""
        if self.parts:
            return self.parts
        return ((Text(self.text),) if self.text else ()) + tuple(self.calls)


class Copies(tuple[Message, ...]):
    """Messages, of which each is copied whenever it is looked at: a conversation is long, and is handed out every turn,
    and hardly anybody looks at all of it."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Message]:
        return map(own, super().__iter__())

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Copies(found) if isinstance(index, slice) else own(found)

    def __add__(self, other: Any) -> Any:
        return (*self, *other)

    def __radd__(self, other: Any) -> Any:
        return (*other, *self)


def own(value: Any) -> Any:
    """The same value with lists, dicts and parts of its own, so that what is done to them is not done to the one that
    was given; itself, where nothing can be done to it."""
    if isinstance(value, list | dict):
        return transform(value, lambda leaf: leaf)
    if isinstance(value, tuple):
        if value and isinstance(value[0], Message):
            return Copies(value)
        items = tuple(map(own, value))
        return value if all(mine is item for mine, item in zip(items, value, strict=True)) else items
    if not isinstance(value, Message | Part | ModelTurn):
        return value
    changed = {}
    for name in value.__struct_fields__:
        if (mine := own(field := getattr(value, name))) is not field:
            changed[name] = mine
    return msgspec.structs.replace(value, **changed) if changed else value


def result_parts(value: Value) -> tuple[Text | Json | Media, ...]:
    """What a tool's result is in a message: words for a text, else the value."""
    return (Text(value),) if isinstance(value, str) else (Json(value),)


def shown(part: AnyPart) -> str:
    """A part as words."""
    if isinstance(part, Text):
        return part.text
    return to_json(part.value) if isinstance(part, Json) else f"[{getattr(part, 'kind', 'part')}]"


def is_blank(parts: Sequence[AnyPart]) -> bool:
    """Whether a turn says nothing that is worth keeping: no part, or one empty text."""
    return not parts or (len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].text and not parts[0].extra)


def as_neutral(messages: Iterable[Message]) -> list[neutral.Message]:
    """The messages as the inspector shows them: one per message, and one per tool result."""
    found: list[neutral.Message] = []
    for message in messages:
        results = [part for part in message.content if isinstance(part, Result)]
        found += [
            neutral.Message(role="tool", text=result.text, call_id=result.call_id or None, name=result.name)
            for result in results
        ]
        if results and len(results) == len(message.content):
            continue
        calls = tuple(as_neutral_call(call) for call in message.calls)
        found.append(neutral.Message(role=message.role, text=_words(message), calls=calls or None))
    return found


def as_neutral_call(call: Call) -> neutral.Call:
    """A call as the inspector shows it."""
    return neutral.Call(
        name=call.name,
        call_id=call.call_id or None,
        internal_call_id=call.internal_id or None,
        arguments=call.arguments,
    )


def _words(message: Message) -> str | None:
    pieces = [shown(part) for part in message.content if isinstance(part, Text | Media)]
    return "".join(pieces) if pieces else None
