"""The careful reading of JSON text: what the standard parser cannot do, token by token and without recursion.

Very deep text, text cut short, the place of a key given twice. Imported where it is needed: most texts never
need it.
"""

import json
import re
from typing import Any

from inspector.formats.files import UTF8_MARK
from inspector.formats.jsontext import BREAKS_OFF, DEEPER, MARKED, NOTES, RETURNED, SALVAGE_LIMIT, ZEROS, Damaged, Place
from inspector.model.run import Problem
from inspector.model.text import clean
from inspector.model.values import MAX_DEPTH, Number, Value, clean_value, decimal, integer, preview, tag

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
    """One careful pass over a JSON text, token by token, without recursion."""

    def __init__(self, text: bytes, place: Place, problems: list[Problem]) -> None:
        self.text, self.place, self.problems = text, place, problems
        self.position = 0
        self._stack: list[Any] = []
        self._keys: list[str | None] = []
        self._noted = 0

    def whole(self) -> Value:
        """The one value of the text; raises Damaged when it is cut, broken, or followed by more."""
        value = self.value()
        rest = _space(self.text, self.position)
        if rest != len(self.text):
            returned = b"\r" in self.text[self.position : rest]
            raise Damaged(rest, RETURNED if returned else "more text behind the value", value)
        return value

    def value(self) -> Value:
        """The next value; raises Damaged with what was read so far as `value`."""
        root: list[Value] = []
        stack: list[Any] = [root]
        keys: list[str | None] = [None]  # the key that waits for its value, per open object
        self._stack, self._keys = stack, keys
        expect = "value"
        skipping = 0  # how many containers deeper than MAX_DEPTH are open
        cut_at = 0
        while True:
            match = _TOKEN.match(self.text, self.position)
            if match is None or self.position > SALVAGE_LIMIT:
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
                    self._note(begin, f"{DEEPER} {MAX_DEPTH} levels: cut")
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
            if at < len(self.text) and self.position > SALVAGE_LIMIT:
                reason = f"only the first {SALVAGE_LIMIT >> 20} MiB of damaged text are looked at"
            elif not at and self.text.startswith(UTF8_MARK):
                reason = MARKED
            elif self.text[at : at + 1] == b"\0":
                reason = ZEROS
            else:
                reason = BREAKS_OFF if _torn(self.text, at) else "not JSON"
        self._leave_out()
        return Damaged(at, reason, root[0] if root else None)

    def _leave_out(self) -> None:
        """Take out what was only begun: an object or a list that breaks off before its first part is none, while
        one without parts would say that there are none."""
        while len(self._stack) > 2 and not self._stack[-1]:
            self._stack.pop()
            self._keys.pop()
            holder = self._stack[-1]
            if isinstance(holder, dict):
                del holder[self._keys[-1]]
            else:
                holder.pop()


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
