"""JSON text → values that keep what the text says (see `model.values`).

Numbers stay as written, texts become clean, a key given twice is a problem with its place, and no
depth or length of digits can end the process. The quick way is the standard parser with hooks; what
it cannot do (very deep text, text cut short, the place of a double key) is done by `Reading`, which
does not recurse.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from inspector.model.run import Problem
from inspector.model.text import HIDDEN, clean
from inspector.model.values import MAX_DEPTH, Number, Value, clean_value, decimal, integer, preview, tag

SALVAGE_LIMIT = 32 << 20
"""Bytes of a damaged text that are looked at: the careful reading costs about a second per MiB."""


class Damaged(ValueError):
    """Text that is not JSON: `offset` in bytes from its start, `reason` in words. `value` is what
    could be read before (None: nothing) when the text was cut short."""

    def __init__(self, offset: int, reason: str, value: Value = None) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.offset, self.reason, self.value = offset, reason, value


class Place:
    """Where a text stands: `label` of its file, its first line (from 1) and the byte offset of it."""

    __slots__ = ("label", "line", "offset")

    def __init__(self, label: str, line: int = 1, offset: int = 0) -> None:
        self.label, self.line, self.offset = label, line, offset

    def at(self, text: bytes, position: int) -> str:
        """`FILE:LINE byte OFFSET` of a position in the text that stands here."""
        line = self.line + text.count(b"\n", 0, position)
        return f"{self.label}:{line} byte {self.offset + position}"

    def __str__(self) -> str:
        return f"{self.label}:{self.line} byte {self.offset}"


class _Doubled(Exception):
    """Raised inside the standard parser: an object gives a key twice."""


def _pairs(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Doubled
    return found


_decoder = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=decimal, parse_int=integer, parse_constant=Number, strict=False
)
# What the raw text of clean values never holds: an escape of a hidden character, or one itself.
_SUSPECT = re.compile(r"\\u(?:00[0189]|061c|20[026]|d[89a-f]|f[ef]|f8)|\\[bfr]", re.IGNORECASE)


def parse(text: bytes, place: Place, problems: list[Problem]) -> Value:
    """The value that `text` is. Doubled keys, bytes that are no UTF-8 and parts cut for their depth
    become `problems`. Raises Damaged when the text is not one JSON value; its `value` is what was
    read of a text that breaks off."""
    decoded = _decode(text, place, problems)
    try:
        value = _decoder.decode(decoded)
    except (_Doubled, RecursionError, ValueError):
        try:
            value = Reading(text, place, problems).whole()
        except Damaged as damage:
            damage.value = clean_value(damage.value)
            raise
    if HIDDEN.search(decoded) or _SUSPECT.search(decoded):
        value = clean_value(value)
    return value


def _decode(text: bytes, place: Place, problems: list[Problem]) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        where = place.at(text, error.start)
        problems.append(Problem(severity="warning", where=where, message="not UTF-8: the bytes are shown as \\xNN"))
        return text.decode(errors="runinspect.visible")


def _visible(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    # The backslash is doubled, so that inside a JSON string it stands for itself.
    return "".join(f"\\\\x{byte:02x}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error("runinspect.visible", _visible)

_TOKEN = re.compile(
    rb"[ \t\r\n]*(?:"
    rb'(?P<string>"(?:[^"\\]|\\.)*+")|(?P<mark>[\[\]{},:])'
    rb"|(?P<word>[-+\w.]++))",
    re.DOTALL,
)
_WORDS: dict[bytes, Value] = {b"true": True, b"false": False, b"null": None}
_SPECIAL = {b"NaN", b"Infinity", b"-Infinity"}
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*+)(\.\d++)?([eE][-+]?\d++)?")


class Reading:
    """One careful pass over a JSON text, token by token, without recursion."""

    def __init__(self, text: bytes, place: Place, problems: list[Problem], *, limit: int = SALVAGE_LIMIT) -> None:
        self.text, self.place, self.problems = text, place, problems
        self.position = 0
        self.limit = limit

    def whole(self) -> Value:
        """The one value of the text; raises Damaged when it is cut, broken, or followed by more."""
        value = self.value()
        rest = len(self.text) - len(self.text[self.position :].lstrip(b" \t\r\n"))
        if rest != len(self.text):
            raise Damaged(rest, "more text behind the value", value)
        return value

    def value(self) -> Value:
        """The next value; raises Damaged with what was read so far as `value`."""
        root: list[Value] = []
        stack: list[Any] = [root]
        keys: list[str | None] = [None]  # the key that waits for its value, per open object
        expect = "value"
        skipping = 0  # how many containers deeper than MAX_DEPTH are open
        cut_at = 0
        while True:
            match = _TOKEN.match(self.text, self.position)
            if match is None or self.position > self.limit:
                raise self._broken(root)
            begin = match.start(match.lastgroup or 0)
            self.position = match.end()
            mark = match["mark"]
            if skipping:
                skipping += 1 if mark in (b"[", b"{") else -1 if mark in (b"]", b"}") else 0
                if not skipping:
                    self._put(stack, keys, tag("cut", depth=MAX_DEPTH, bytes=self.position - cut_at))
                    expect = "comma"
                continue
            holder = stack[-1]
            if mark in (b"]", b"}"):
                closes = list if mark == b"]" else dict
                empty = expect == "value" and isinstance(holder, list) and not holder
                if len(stack) == 1 or not isinstance(holder, closes) or not (expect in ("comma", "key?") or empty):
                    raise self._broken(root, begin)
                stack.pop()
                keys.pop()
                expect = "comma"
            elif mark == b",":
                if expect != "comma" or len(stack) == 1:
                    raise self._broken(root, begin)
                expect = "key" if isinstance(holder, dict) else "value"
            elif mark == b":":
                if expect != "colon":
                    raise self._broken(root, begin)
                expect = "value"
            elif expect in ("key", "key?"):
                if match["string"] is None:
                    raise self._broken(root, begin)
                key = self._string(begin)
                if key in holder:
                    self._doubled(key, begin, holder[key])
                keys[-1] = key
                expect = "colon"
            elif expect == "value" and mark is not None:
                if len(stack) > MAX_DEPTH:
                    skipping, cut_at = 1, begin
                    where = self.place.at(self.text, begin)
                    self.problems.append(
                        Problem(severity="warning", where=where, message=f"deeper than {MAX_DEPTH} levels: cut")
                    )
                    continue
                container: Any = [] if mark == b"[" else {}
                self._put(stack, keys, container)
                stack.append(container)
                keys.append(None)
                expect = "value" if mark == b"[" else "key?"
            elif expect == "value":
                self._put(stack, keys, self._plain(match, begin, root))
                expect = "comma"
            else:
                raise self._broken(root, begin)
            if len(stack) == 1 and root:
                return root[0]

    def _put(self, stack: list[Any], keys: list[str | None], value: Value) -> None:
        holder = stack[-1]
        if isinstance(holder, dict):
            holder[keys[-1]] = value
        else:
            holder.append(value)

    def _plain(self, match: re.Match[bytes], begin: int, root: list[Value]) -> Value:
        if match["string"] is not None:
            return self._string(begin)
        word = match["word"]
        if word in _WORDS:
            return _WORDS[word]
        if word in _SPECIAL:
            return Number(word.decode())
        number = _NUMBER.fullmatch(word)
        if number is None:
            raise self._broken(root, begin)
        return (decimal if number[1] or number[2] else integer)(word.decode())

    def _string(self, begin: int) -> str:
        raw = self.text[begin : self.position]
        try:
            return str(json.loads(raw.decode(errors="runinspect.visible"), strict=False))
        except ValueError as error:
            raise Damaged(begin, f"a string that is not JSON ({error})") from error

    def _doubled(self, key: str, begin: int, first: Value) -> None:
        match = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*").match(self.text, self.position)
        second = self.text[match.end() : match.end() + 60] if match else b""
        shown = clean(second.decode(errors="replace")).split("\n")[0]
        self.problems.append(
            Problem(
                severity="warning",
                where=self.place.at(self.text, begin),
                message=f"the key {preview(key, 60)!r} is given twice: {preview(first, 60)}, then {shown}; "
                "the last one counts",
            )
        )

    def _broken(self, root: list[Value], position: int | None = None) -> Damaged:
        at = self.position if position is None else position
        rest = self.text[at:].lstrip(b" \t\r\n")
        at = len(self.text) - len(rest)
        torn = not rest or (rest[:1] == b'"' and position is None)
        reason = "the text breaks off" if torn else "not JSON"
        return Damaged(at, reason, root[0] if root else None)


def fused(text: bytes, place: Place, problems: list[Problem]) -> Iterator[Value]:
    """The whole JSON objects on a damaged line: one behind another, or one behind a torn one. Raises
    nothing; a caller has already reported the line."""
    position, tries = 0, 0
    while position < len(text) and tries < 64:
        start = text.find(b"{", position)
        if start < 0:
            return
        reading = Reading(text[start:], Place(place.label, place.line, place.offset + start), [])
        try:
            value = reading.value()
        except Damaged:
            tries += 1
            position = start + 1
            following = text.find(b'{"', position)
            # Inside a torn object the next whole one begins at some later brace: try the outermost first.
            if following < 0:
                return
            position = following
            continue
        yield clean_value(value)
        position = start + reading.position


def top_keys(text: bytes) -> dict[str, str]:
    """The keys of the object that `text` begins with, as far as the text goes, each with the first
    character of its value (`{`, `[`, `"`, a digit, `t`, `f`, `n`, or "" where the text ends). Cheap:
    for detection, so it never fails."""
    found: dict[str, str] = {}
    level, key, expect = 0, None, False
    for match in _TOKEN.finditer(text):
        mark = match["mark"]
        if level == 1 and key is not None and expect:
            found[key] = (mark or match["string"] or match["word"] or b"")[:1].decode()
            key, expect = None, False
        if mark in (b"{", b"["):
            if level == 0 and mark == b"[":
                return {}
            level += 1
        elif mark in (b"}", b"]"):
            level -= 1
            if level <= 0:
                break
        elif mark == b":" and level == 1:
            expect = True
        elif mark == b"," and level == 1:
            key, expect = None, False
        elif level == 0:
            return {}
        elif level == 1 and match["string"] is not None and key is None:
            key = match["string"][1:-1].decode(errors="replace")
    if key is not None and expect:
        found[key] = ""
    return found
