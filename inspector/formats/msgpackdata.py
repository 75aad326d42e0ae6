"""MessagePack → values that keep what the bytes say (see `model.values`).

Nothing is imported or called: an extension becomes what `Extension` makes of it, or tagged bytes. Texts
become clean, keys become text, and no depth, length or count can end the process. There is no recursion,
not for extensions that hold MessagePack either.
"""

import base64
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from inspector.formats import msgpackfast
from inspector.formats.jsontext import Damaged
from inspector.formats.msgpackfast import Extension
from inspector.model.text import clean
from inspector.model.values import MAX_DEPTH, Value, foreign, tag

ITEM_LIMIT = 5_000_000
"""Values in one document; an empty list costs its writer one byte and us a hundred."""

_LENGTHS = {1: struct.Struct(">B"), 2: struct.Struct(">H"), 4: struct.Struct(">I")}
_PLAIN: dict[int, Value] = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = {
    0xCA: struct.Struct(">f"),
    0xCB: struct.Struct(">d"),
    0xCC: struct.Struct(">B"),
    0xCD: struct.Struct(">H"),
    0xCE: struct.Struct(">I"),
    0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"),
    0xD1: struct.Struct(">h"),
    0xD2: struct.Struct(">i"),
    0xD3: struct.Struct(">q"),
}
_BINARY = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_EXTENDED = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_TEXTS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}


def unpack(data: bytes, extensions: Callable[[int], Extension | None] = lambda code: None) -> Value:
    """The one value that `data` is. `extensions` says what to make of an extension that holds MessagePack;
    None: its bytes are tagged. Raises Damaged, with what was read before, when the data breaks off, holds
    no MessagePack, or goes on behind the value."""
    with suppress(msgpackfast.TooHard):
        return msgpackfast.unpack(data, extensions)
    return careful(data, extensions)


def careful(data: bytes, extensions: Callable[[int], Extension | None]) -> Value:
    """The same byte by byte, and what can be read of damaged data."""
    reading = _Reading(data, extensions)
    try:
        value = reading.value()
    except (struct.error, IndexError):
        raise Damaged(len(data), "the data breaks off", reading.rest()) from None
    except _Broken as broken:
        raise Damaged(broken.offset, broken.reason, reading.rest()) from None
    if reading.at < len(data):
        raise Damaged(reading.at, "more data behind the value", value)
    return value


class _Broken(Exception):
    def __init__(self, offset: int, reason: str) -> None:
        self.offset, self.reason = offset, reason


class _Open:
    """A list, map or extension that is being read: `left` parts of it are to come."""

    __slots__ = ("end", "extension", "items", "keyed", "left")

    def __init__(self, left: int, keyed: bool = False, extension: Extension | None = None, end: int = 0) -> None:
        self.left, self.keyed, self.extension, self.end = left, keyed, extension, end
        self.items: list[Value] = []

    def done(self) -> Value:
        if self.extension is not None:
            return self.extension(self.items[0] if self.items else None)
        return _mapped(self.items) if self.keyed else self.items


class _Reading:
    def __init__(self, data: bytes, extensions: Callable[[int], Extension | None]) -> None:
        self.data, self.extensions = data, extensions
        self.at = 0
        self._stack: list[_Open] = []
        self._count = 0

    def value(self) -> Value:
        """The next value."""
        stack = self._stack
        while True:
            self._count += 1
            if self._count > ITEM_LIMIT:
                raise _Broken(self.at, f"more than {ITEM_LIMIT} values")
            part = self._part()
            if isinstance(part, _Open):
                if len(stack) < MAX_DEPTH:
                    stack.append(part)
                    if part.left:
                        continue
                    part = stack.pop().done()
                else:
                    part = self._skip(part)
            while stack:
                top = stack[-1]
                top.items.append(part)
                top.left -= 1
                if top.left:
                    break
                stack.pop()
                if top.extension is not None and self.at != top.end:
                    raise _Broken(self.at, "an extension whose length does not fit its content")
                part = top.done()
            else:
                return part

    def rest(self) -> Value:
        """What was read of a value that broke off."""
        part: Value = None
        while self._stack:
            top = self._stack.pop()
            if part is not None:
                top.items.append(part)
            part = top.done()
        return part

    def _part(self) -> Any:
        """The next plain value, or the start of one that has parts."""
        at = self.at
        head = self.data[at]
        self.at = at + 1
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 256
        if head >= 0xA0 and head < 0xC0:
            return self._text(head & 0x1F)
        if head < 0x90:
            return _Open(2 * (head & 0x0F), keyed=True)
        if head < 0xA0:
            return _Open(head & 0x0F)
        if head in _PLAIN:
            return _PLAIN[head]
        if head in _NUMBERS:
            return self._number(_NUMBERS[head])
        if head in _TEXTS:
            return self._text(self._length(_TEXTS[head]))
        if head in _LISTS:
            return _Open(self._length(_LISTS[head]))
        if head in _MAPS:
            return _Open(2 * self._length(_MAPS[head]), keyed=True)
        if head in _BINARY:
            return tag("bytes", base64=base64.b64encode(self._bytes(self._length(_BINARY[head]))).decode())
        if head in _EXTENDED:
            return self._extension(self._length(_EXTENDED[head]))
        if 0xD4 <= head <= 0xD8:
            return self._extension(1 << (head - 0xD4))
        raise _Broken(at, "no MessagePack")

    def _length(self, size: int) -> int:
        value = _LENGTHS[size].unpack_from(self.data, self.at)[0]
        self.at += size
        return int(value)

    def _number(self, kind: struct.Struct) -> Value:
        value = kind.unpack_from(self.data, self.at)[0]
        self.at += kind.size
        return msgpackfast.number(value) if isinstance(value, float) else value

    def _bytes(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise IndexError
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def _text(self, length: int) -> str:
        return clean(self._bytes(length).decode(errors="backslashreplace"))

    def _extension(self, length: int) -> Any:
        code = struct.unpack_from(">b", self.data, self.at)[0]
        self.at += 1
        known = self.extensions(code)
        if known is not None and length:
            return _Open(1, extension=known, end=self.at + length)
        content = self._bytes(length)
        if code == -1 and (when := _timestamp(content)):
            return when
        return tag("ext", code=code, base64=base64.b64encode(content).decode())

    def _skip(self, part: _Open) -> Value:
        """Passes over what is too deep, by counting what is left of it."""
        begin, left = self.at, part.left
        while left:
            self._count += 1
            if self._count > ITEM_LIMIT:
                raise _Broken(self.at, f"more than {ITEM_LIMIT} values")
            inner = self._part()
            left += (inner.left if isinstance(inner, _Open) else 0) - 1
        return tag("cut", depth=MAX_DEPTH, bytes=self.at - begin)


def _mapped(items: Sequence[Value]) -> dict[str, Value]:
    """A map from its keys and values in turn; a last key without its value is left out."""
    return foreign(dict(zip(msgpackfast.texts(items[: len(items) // 2 * 2 : 2]), items[1::2], strict=True)))


def _timestamp(content: bytes) -> Value:
    """The time that the extension -1 holds; None where it holds none."""
    if len(content) == 4:
        nanoseconds, seconds = 0, struct.unpack(">I", content)[0]
    elif len(content) == 8:
        both = struct.unpack(">Q", content)[0]
        nanoseconds, seconds = both >> 34, both & 0x3FFFFFFFF
    elif len(content) == 12:
        nanoseconds, seconds = struct.unpack(">Iq", content)
    else:
        return None
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    except OverflowError:
        return None
    return tag("datetime", iso=when.isoformat())
