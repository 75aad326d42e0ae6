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
from inspector.model.values import MAX_DEPTH, Number, Value, clean_value, decimal, depth, integer, preview, tag

SALVAGE_LIMIT = 32 << 20
"""Bytes of a damaged text that are looked at: the careful reading costs about a second per MiB."""
FUSED_LIMIT = 4 << 20
"""Bytes of a damaged line that are looked at for whole objects."""
BREAKS_OFF = "the text breaks off"
NOTES = 100
"""Problems of one text that are listed."""


class Damaged(ValueError):
    """Text that is not JSON: `offset` in bytes from its start, `reason` in words. `value` is what
    could be read before (None: nothing) when the text was cut short."""

    def __init__(self, offset: int, reason: str, value: Value = None) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.offset, self.reason, self.value = offset, reason, value

    @property
    def torn(self) -> bool:
        """Whether the text is sound as far as it goes, and only cut short."""
        return self.reason == BREAKS_OFF


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
_SUSPECT = re.compile(r"\\u(?:00[01789]|061c|20[026]|d[89a-f]|f[ef])|\\[bfr]", re.IGNORECASE)


def parse(text: bytes, place: Place, problems: list[Problem]) -> Value:
    """The value that `text` is. Doubled keys, bytes that are no UTF-8 and parts cut for their depth
    become `problems`. Raises Damaged when the text is not one JSON value; its `value` is what was
    read of a text that breaks off."""
    decoded = _decode(text, place, problems)
    try:
        value = _decoder.decode(decoded)
        careful = decoded.count("[") + decoded.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH
    except (_Doubled, RecursionError, ValueError):
        careful = True
    if careful:
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
        # A text cut inside of a character is reported as what it is: cut.
        if error.reason != "unexpected end of data":
            where = place.at(text, error.start)
            message = "not UTF-8: the bytes are shown as \\xNN"
            problems.append(Problem(severity="warning", where=where, message=message))
        return text.decode(errors="runinspect.visible")


def _visible(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    # The backslash is doubled, so that inside a JSON string it stands for itself.
    return "".join(f"\\\\x{byte:02x}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error("runinspect.visible", _visible)

_TOKEN = re.compile(
    rb"[ \t\r\n]*(?:"
    rb'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<mark>[\[\]{},:])'
    rb"|(?P<word>[-+\w.]++))",
    re.DOTALL,
)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_WORDS: dict[bytes, Value] = {b"true": True, b"false": False, b"null": None}
_SPECIAL = {b"NaN", b"Infinity", b"-Infinity"}
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*+)(\.\d++)?([eE][-+]?\d++)?")
_BEGUN = re.compile(rb"-?(?:(?:0|[1-9]\d*+)(?:\.\d*+)?(?:(?<=\d)[eE][-+]?\d*+)?)?")


class Reading:
    """One careful pass over a JSON text, token by token, without recursion. `previous` is where the
    token before the last one that was looked at begins."""

    def __init__(
        self, text: bytes, place: Place, problems: list[Problem], *, start: int = 0, limit: int = SALVAGE_LIMIT
    ) -> None:
        self.text, self.place, self.problems = text, place, problems
        self.position = self.previous = start
        self.limit = limit
        self._noted = 0

    def whole(self) -> Value:
        """The one value of the text; raises Damaged when it is cut, broken, or followed by more."""
        value = self.value()
        rest = _space(self.text, self.position)
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
                raise self._broken(root, _space(self.text, self.position))
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
                key = self._string(begin, root)
                if key in holder:
                    self._doubled(key, begin, holder[key])
                keys[-1] = key
                expect = "colon"
            elif expect == "value" and mark is not None:
                if len(stack) > MAX_DEPTH:
                    skipping, cut_at = 1, begin
                    self._note(begin, f"deeper than {MAX_DEPTH} levels: cut")
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
            self.previous = begin

    def _put(self, stack: list[Any], keys: list[str | None], value: Value) -> None:
        holder = stack[-1]
        if isinstance(holder, dict):
            holder[keys[-1]] = value
        else:
            holder.append(value)

    def _plain(self, match: re.Match[bytes], begin: int, root: list[Value]) -> Value:
        if match["string"] is not None:
            return self._string(begin, root)
        word = match["word"]
        if word in _WORDS:
            return _WORDS[word]
        if word in _SPECIAL:
            return Number(word.decode())
        number = _NUMBER.fullmatch(word)
        if number is None:
            raise self._broken(root, begin)
        return (decimal if number[1] or number[2] else integer)(word.decode())

    def _string(self, begin: int, root: list[Value]) -> str:
        raw = self.text[begin : self.position]
        try:
            return str(json.loads(raw.decode(errors="runinspect.visible"), strict=False))
        except ValueError:
            raise self._broken(root, begin, "not JSON: a string with an escape that there is not") from None

    def _doubled(self, key: str, begin: int, first: Value) -> None:
        colon = _space(self.text, self.position)
        second = self.text[_space(self.text, colon + 1) :][:60] if self.text[colon : colon + 1] == b":" else b""
        shown = clean(second.decode(errors="replace")).split("\n")[0]
        message = f"the key {preview(key, 60)!r} is given twice: {preview(clean_value(first), 60)}, then {shown}; "
        self._note(begin, message + "the last one counts")

    def _note(self, begin: int, message: str) -> None:
        self._noted += 1
        if self._noted == NOTES:
            message = "more of this kind is not listed"
        if self._noted <= NOTES:
            where = self.place.at(self.text, begin)
            self.problems.append(Problem(severity="warning", where=where, message=message))

    def _broken(self, root: list[Value], at: int, reason: str | None = None) -> Damaged:
        if reason is None:
            if at < len(self.text) and self.position > self.limit:
                reason = f"only the first {self.limit >> 20} MiB of damaged text are looked at"
            else:
                reason = BREAKS_OFF if _torn(self.text, at) else "not JSON"
        return Damaged(at, reason, root[0] if root else None)


def _space(text: bytes, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _torn(text: bytes, at: int) -> bool:
    """Whether all that is left of the text from `at` on is the beginning of a token."""
    if text[at : at + 1] == b'"':
        return _TOKEN.match(text, at) is None
    if len(text) - at > 400:
        return False
    rest = text[at:]
    return bool(_BEGUN.fullmatch(rest)) or any(word.startswith(rest) for word in (*_WORDS, *_SPECIAL))


def fused(text: bytes, place: Place, problems: list[Problem]) -> Iterator[Value]:
    """The whole JSON objects on a damaged line: one behind another, or one behind a torn one. What is
    inside of a torn object is not taken for one behind it. Raises nothing; a caller has already
    reported the line."""
    position, budget = 0, FUSED_LIMIT
    for _ in range(64):
        start = text.find(b"{", position)
        if start < 0 or budget <= 0:
            return
        found: list[Problem] = []
        reading = Reading(text, place, found, start=start, limit=start + budget)
        try:
            value = clean_value(reading.value())
        except Damaged as damage:
            if damage.torn:
                return
            # The token before the break may have swallowed the beginning of the next object.
            position = max(reading.previous, start + 1)
        else:
            problems += found
            yield value
            position = reading.position
        budget -= reading.position - start


def top_keys(text: bytes) -> dict[str, str]:
    """The keys of the object that `text` begins with, as far as the text goes, each with the first
    character of its value (`{`, `[`, `"`, a digit, `t`, `f`, `n`, or "" where the text ends). Cheap:
    for detection, so it never fails."""
    found: dict[str, str] = {}
    level, position = 0, 0
    key: str | None = None
    expect = False
    while match := _TOKEN.match(text, position):
        position = match.end()
        mark = match["mark"]
        if level == 0 and mark != b"{":
            break
        if level == 1 and expect and key is not None:
            found[key] = (mark or match["string"] or match["word"])[:1].decode(errors="replace")
            key, expect = None, False
        if mark in (b"{", b"["):
            level += 1
        elif mark in (b"}", b"]"):
            level -= 1
            if level == 0:
                return found
        elif level == 1 and mark == b":":
            expect = True
        elif level == 1 and mark == b",":
            key, expect = None, False
        elif level == 1 and match["string"] is not None and key is None:
            key = match["string"][1:-1].decode(errors="replace")
    if key is not None and expect:
        found[key] = text[_space(text, position) :][:1].decode(errors="replace")
    return found
