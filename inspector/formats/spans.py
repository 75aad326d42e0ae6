"""Where the parts of a JSON text stand, found without decoding them.

A container is skipped at the speed of a C parser where it is sound, and bracket by bracket where it is
not, so a text that breaks off is cut into its parts as far as it goes. What stands inside of a part is
checked when the part is parsed.
"""

import mmap
import re
from collections.abc import Iterator

import msgspec

from inspector.formats.jsontext import BREAKS_OFF, Damaged

Text = bytes | mmap.mmap

_BLANK = b" \t\r\n"
_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_WORD = re.compile(rb"[-+\w.]++")
_NEXT = re.compile(rb"[ \t\r\n]*+([,\]}])[ \t\r\n]*+")
_COLON = re.compile(rb"[ \t\r\n]*+:[ \t\r\n]*+")
# The next bracket that stands in no string.
_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+([\[{]|[\]}])', re.DOTALL)
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)$")
WINDOW, ALIKE = 64 << 10, 12
"""Bytes of elements that are taken in at once, and of those that are told by how they begin."""
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode = msgspec.json.Decoder(msgspec.Raw).decode


class Spans:
    """A JSON text, to be cut into spans (begin, end). A span that reaches to the end of a text that breaks
    off is cut short."""

    def __init__(self, text: Text | memoryview) -> None:
        self.text = text
        self._view = memoryview(text)

    def __len__(self) -> int:
        return len(self._view)

    def close(self) -> None:
        """Let go of the text."""
        self._view.release()

    def start(self) -> int:
        """Where the value of the whole text begins."""
        return self._space(0)

    def is_empty(self, begin: int) -> bool:
        """Whether the list at `begin` has no element."""
        position = self._space(begin + 1)
        return self.text[position : position + 1] in (b"]", b"")

    def elements(self, begin: int) -> Iterator[tuple[int, int]]:
        """The spans of the elements of the list at `begin`. Raises Damaged behind the last that there is,
        when the list does not end as it should."""
        position = self._space(begin + 1)
        if self.text[position : position + 1] == b"]":
            return
        together = True
        while True:
            if together:
                found, position = self._together(position)
                yield from found
                together = bool(found)
            end, whole = self.skip(position)
            yield position, end
            mark, following = self._next(end, whole)
            if mark == b"]":
                return
            if mark != b",":
                raise self._damage(end)
            position = following

    def _together(self, begin: int) -> tuple[list[tuple[int, int]], int]:
        """The spans of the elements from `begin` on that the parser takes in at once, and where the one behind them
        begins. They are objects that begin alike: between two of those, the text may be a list of its own."""
        window = bytes(self._view[begin : begin + WINDOW])
        last = window.rfind(window[:ALIKE])
        head = window[: max(last, 0)].rstrip(_BLANK)
        if window[:1] != b"{" or head[-1:] != b",":
            return [], begin
        try:
            sizes = list(map(len, _elements(b"[" + head[:-1] + b"]")))
        except (msgspec.DecodeError, RecursionError):
            return [], begin
        found, at = [], 0
        for size in sizes:
            found.append((begin + at, begin + at + size))
            comma = _NEXT.match(window, at + size)
            assert comma is not None
            at = comma.end()
        return found, begin + last

    def fields(self, begin: int) -> Iterator[tuple[bytes, int, int, int]]:
        """The same for the object at `begin`: a key as it is written, where it stands, and the span of
        its value."""
        position = self._space(begin + 1)
        if self.text[position : position + 1] == b"}":
            return
        while True:
            key = _STRING.match(self.text, position)
            if key is None:
                raise self._damage(position)
            colon = _COLON.match(self.text, key.end())
            if colon is None or colon.end() == len(self):
                raise self._damage(colon.end() if colon else key.end())
            end, whole = self.skip(colon.end())
            yield key[0], position, colon.end(), end
            mark, following = self._next(end, whole)
            if mark == b"}":
                return
            if mark != b",":
                raise self._damage(end)
            position = following

    def skip(self, begin: int) -> tuple[int, bool]:
        """Where the value at `begin` ends, and whether it is whole. Raises Damaged when there is none."""
        first = self.text[begin : begin + 1]
        if first in (b"[", b"{"):
            end = _quick(self._view, begin)
            if end is None:
                return self._careful(begin)
            while self._view[end - 1] in _BLANK:
                end -= 1
            return end, True
        match = (_STRING if first == b'"' else _WORD).match(self.text, begin)
        if match is not None:
            return match.end(), True
        if first == b'"':
            return len(self), False
        raise self._damage(begin)

    def _careful(self, begin: int) -> tuple[int, bool]:
        level, position = 0, begin
        # No search: behind a string that breaks off it would go on inside of it, from each of its bytes.
        while (match := _BRACKET.match(self.text, position)) is not None:
            level += 1 if match[1] in b"[{" else -1
            position = match.end()
            if level == 0:
                return position, True
        return len(self), False

    def _next(self, end: int, whole: bool) -> tuple[bytes, int]:
        match = _NEXT.match(self.text, end) if whole else None
        return (match[1], match.end()) if match else (b"", end)

    def _damage(self, position: int) -> Damaged:
        at = self._space(position)
        torn = at == len(self) or (self.text[at : at + 1] == b'"' and _STRING.match(self.text, at) is None)
        return Damaged(at, BREAKS_OFF if torn else "not JSON")

    def _space(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position


def _quick(view: memoryview, begin: int) -> int | None:
    """Where the container at `begin` ends, with the space behind it; None when that is to be found the
    careful way. The parser stops behind the first value, and tells where by its complaint."""
    try:
        _decode(view[begin:])
    except msgspec.DecodeError as error:
        found = _TRAILING.search(str(error))
        return begin + int(found[1]) - 1 if found and _PLACES_ARE_KNOWN else None
    except RecursionError:
        return None
    return len(view)


_PLACES_ARE_KNOWN = True
_PLACES_ARE_KNOWN = _quick(memoryview(b"[[1] ,2]"), 1) == 5
"""Whether the parser's complaints are worded as this module expects."""
