"""JSON text → values that keep what the text says (see `model.values`).

Numbers stay as written, texts become clean, a key given twice is a problem with its place, and no
depth or length of digits can end the process. The quick way is the standard parser with hooks; what
it cannot do (very deep text, text cut short, the place of a double key) is done by `jsonreading.Reading`,
which does not recurse.
"""

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING

from inspector.model.run import Problem
from inspector.model.text import HIDDEN
from inspector.model.values import MAX_DEPTH, Number, Value, clean_value, decimal, depth, integer

if TYPE_CHECKING:
    import json

SALVAGE_LIMIT = 32 << 20
"""Bytes of a damaged text that are looked at: the careful reading costs about a second per MiB."""
BREAKS_OFF = "the text breaks off"
DEEPER = "deeper than"
ZEROS = "not JSON but zero bytes, as a crash or a full disk leaves them"
MARKED = "a byte order mark, which belongs at the beginning of a file alone"
RETURNED = "more text behind a lone carriage return: a line ends in a line feed"
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


@cache
def _decoder() -> "json.JSONDecoder":
    import json

    return json.JSONDecoder(
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
        value = _decoder().decode(decoded)
        careful = decoded.count("[") + decoded.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH
    except (_Doubled, RecursionError, ValueError):
        careful = True
    if careful:
        from inspector.formats.jsonreading import Reading

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
