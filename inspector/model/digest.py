"""Digests of values: SHA-256 over RFC 8785 canonical JSON, in which one value has one spelling."""

import hashlib
import json

import rfc8785

from inspector.model.values import Number, Value, transform

_EXACT = 2**53 - 1
"""The largest integer that canonical JSON writes as one; a larger one is a double."""


def digest(value: Value) -> str:
    """The digest of a value, 64 lower-case hex digits. Raises ValueError for what canonical JSON cannot
    hold: numbers that no double holds, lone surrogates, nesting beyond the recursion limit."""
    return _digest(transform(value, _leaf))


def text_digest(text: bytes) -> str:
    """The digest of the value that a JSON text is. Raises ValueError as `digest` does, and for a text that
    is not JSON."""
    try:
        return _digest(json.loads(text, parse_int=_number, parse_float=_number))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _digest(value: Value) -> str:
    try:
        return hashlib.sha256(rfc8785.dumps(value)).hexdigest()
    except (RecursionError, UnicodeError, OverflowError) as error:
        raise ValueError(f"has no canonical JSON: {type(error).__name__}") from error


def _leaf(value: Value) -> Value:
    if isinstance(value, Number):
        return _number(value.text)
    return value if isinstance(value, bool) or not isinstance(value, int) else _number(str(value))


def _number(text: str) -> int | float:
    # An integer beyond the exact doubles is the spelling of a double, as 1e20 is of 100000000000000000000.
    if len(text) < 20 and text.lstrip("-").isdecimal() and abs(int(text)) <= _EXACT:
        return int(text)
    return float(text)
