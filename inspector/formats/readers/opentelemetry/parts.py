"""The texts of the spans of a unit, cut out without decoding them; of a damaged unit as far as they are
whole."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from inspector.formats.jsontext import Damaged
from inspector.formats.spans import Spans

Text = bytes | memoryview
Part = tuple[Any, Any, Any]
"""The texts of a span, of its resource and of its scope; the last two None where the span has none."""


class _ScopeParts(msgspec.Struct):
    spans: list[msgspec.Raw] = []
    scope: msgspec.Raw = msgspec.Raw(b"null")


class _ResourceParts(msgspec.Struct):
    scopeSpans: list[_ScopeParts] = []
    resource: msgspec.Raw = msgspec.Raw(b"null")


class _UnitParts(msgspec.Struct):
    resourceSpans: list[_ResourceParts]


_parts = msgspec.json.Decoder(_UnitParts).decode
# Where an object of either kind begins, also inside of a damaged line.
_LEADS = re.compile(rb'\{\s*"(?:resourceSpans"|name"\s*:\s*"(?:[^"\\]|\\.)*+"\s*,\s*"context")')


def cut(text: Text) -> list[Part]:
    """The parts of a unit; of a damaged one as far as they are whole."""
    try:
        found = _parts(text)
        return [
            (one, resource.resource, scope.scope)
            for resource in found.resourceSpans
            for scope in resource.scopeSpans
            for one in scope.spans
        ]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return list(_salvaged(bytes(text)))


def _salvaged(text: bytes) -> Iterator[Part]:
    begins = [match.start() for match in _LEADS.finditer(text)] or [0]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        piece = text[begin:end].strip()
        if not piece.startswith(b"{") or b"resourceSpans" not in piece[:40]:
            yield piece, None, None
            continue
        yield from _walk(piece)


def _walk(text: bytes) -> Iterator[Part]:
    """The spans of an OTLP object that breaks off or is damaged, up to there."""
    cutter = Spans(text)
    with suppress(Damaged):
        for key, _, begin, _ in cutter.fields(0):
            if key == b'"resourceSpans"':
                for resource, _ in _elements(cutter, begin):
                    yield from _scopes(cutter, resource)


def _scopes(cutter: Spans, begin: int) -> Iterator[Part]:
    found: dict[bytes, tuple[int, int]] = {}
    with suppress(Damaged):
        for key, _, start, end in cutter.fields(begin):
            found[key] = (start, end)
            if key == b'"scopeSpans"':
                for scope, _ in _elements(cutter, start):
                    yield from _spans(cutter, scope, found.get(b'"resource"'))


def _spans(cutter: Spans, begin: int, resource: tuple[int, int] | None) -> Iterator[Part]:
    text = memoryview(cutter.text)
    found: dict[bytes, tuple[int, int]] = {}
    with suppress(Damaged):
        for key, _, start, end in cutter.fields(begin):
            found[key] = (start, end)
            if key == b'"spans"':
                for one, stop in _elements(cutter, start):
                    scope = found.get(b'"scope"')
                    yield (
                        text[one:stop],
                        text[slice(*resource)] if resource else None,
                        text[slice(*scope)] if scope else None,
                    )


def _elements(cutter: Spans, begin: int) -> Iterator[tuple[int, int]]:
    if cutter.text[begin : begin + 1] == b"[":
        with suppress(Damaged):
            yield from cutter.elements(begin)
