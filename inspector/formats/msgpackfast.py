"""The quick way to read MessagePack: the C decoder, then one pass that settles what it made.

What the C decoder cannot do (damage, unhashable keys, great depth) is left to `msgpackdata`.
"""

import base64
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from inspector.model.text import clean
from inspector.model.values import MAX_DEPTH, Number, Value, foreign, tag, to_json

SMALL = 4 << 20
CONTAINERS = 3_000_000
KEY = 400
"""Characters of a list or map that is a key."""
_CONTAINER_MARKS = bytes(range(0x80, 0xA0))

Extension = Callable[[Value], Value]


class TooHard(Exception):
    """This is for the careful reading."""


class _Held:
    """An extension that holds MessagePack, until its content is settled."""

    __slots__ = ("content", "extension")

    def __init__(self, extension: Extension, content: Any) -> None:
        self.extension, self.content = extension, [content]


def unpack(data: bytes, extensions: Callable[[int], Extension | None]) -> Value:
    """The value of `data`, as `msgpackdata.unpack` would make it. Raises TooHard."""
    if len(data) > SMALL and len(data) - len(data.translate(None, _CONTAINER_MARKS)) > CONTAINERS:
        raise TooHard

    def hook(code: int, content: memoryview) -> Any:
        extension = extensions(code)
        if extension is None or not content:
            shown = tag("ext", code=code, base64=base64.b64encode(content).decode())
            return _Held(lambda value: shown, None)
        return _Held(extension, decode(content))

    decode = msgspec.msgpack.Decoder(ext_hook=hook).decode
    try:
        root = [decode(data)]
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError, MemoryError):
        raise TooHard from None
    _settle(root)
    return root[0]


def texts(keys: Sequence[Value]) -> list[str]:
    """The keys of a map as texts: one that is none is shown as JSON, told apart by its kind where another
    key is that text. A long list or map as a key is cut: JSON within a key of JSON grows with each level
    by its escapes, so that a few bytes would fill any memory."""
    taken = Counter(key for key in keys if isinstance(key, str))
    found = []
    for key in keys:
        if isinstance(key, str):
            found.append(key)
            continue
        large = isinstance(key, list | dict)
        text = to_json(key)
        text = text if len(text) <= KEY or not large else f"{text[: KEY - 1]}…"
        before = taken[text]
        taken[text] += large
        found.append(f"{text} ({type(key).__name__}{f' {before + 1}' if large else ''})" if before else text)
    return found


def _settle(root: list[Any]) -> None:
    """Makes values of everything in `root`, in place: outer parts first, then the extensions, of which an
    inner one must be done before the one around it."""
    held: list[tuple[Any, Any, _Held]] = []
    level: list[Any] = [root]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for holder in level:
            if type(holder) is dict:
                if not all(map(_sound, holder)):
                    _rekey(holder)
                if "$type" in holder:
                    _replace(holder, foreign(holder))
                entries: Any = holder.items()
            else:
                entries = enumerate(holder)
            for key, value in entries:
                kind = type(value)
                if kind is str:
                    if not value.isprintable():
                        holder[key] = clean(value)
                elif kind is dict or kind is list:
                    inner.append(value)
                elif kind is _Held:
                    held.append((holder, key, value))
                    inner.append(value.content)
                elif kind is float or kind is bytes or kind is datetime:
                    holder[key] = _leaf(value)
        if not inner:
            break
        level = inner
    else:
        raise TooHard
    for holder, key, value in reversed(held):
        holder[key] = value.extension(value.content[0])


def _sound(key: Any) -> bool:
    return type(key) is str and key.isprintable()


def _rekey(holder: dict[Any, Any]) -> None:
    if not all(key is None or type(key) in (str, int, float, bool) for key in holder):
        raise TooHard
    keys = texts([clean(key) if type(key) is str else number(key) if type(key) is float else key for key in holder])
    _replace(holder, dict(zip(keys, holder.values(), strict=True)))


def _replace(holder: dict[Any, Any], items: dict[str, Any]) -> None:
    holder.clear()
    holder.update(items)


def number(value: float) -> Value:
    """A float as a value: what JSON cannot hold keeps its text."""
    if value - value == 0:
        return value
    return Number("NaN" if value != value else "Infinity" if value > 0 else "-Infinity")


def _leaf(value: Any) -> Value:
    if type(value) is bytes:
        return tag("bytes", base64=base64.b64encode(value).decode())
    return number(value) if type(value) is float else tag("datetime", iso=value.isoformat())
