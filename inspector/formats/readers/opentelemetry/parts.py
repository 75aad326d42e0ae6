"""The texts of the spans of a unit, cut out without decoding them; of a damaged unit as far as they are
whole."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from inspector.formats.jsontext import Damaged
from inspector.formats.lines import NARROW
from inspector.formats.spans import Spans
from inspector.model.lazy import Lazy

Text = bytes | memoryview
Part = tuple[Any, Any, Any]
"""The texts of a span, of its resource and of its scope; the last two None where the span has none."""
Place = tuple[int, int]
Located = tuple[Place, Place | None, Place | None]
"""Where they stand."""
LONG = 4 << 20
"""Bytes of a unit beyond which not even the texts of its parts are held in memory."""
SHORTEST, FEW = 80, 100_000
"""Bytes that a part has on average at least, where there are more than a few."""
FIELDS = 1000
"""Fields of an object that are looked at."""
BLANK = 40
"""Bytes at a place that tell what begins there, or that nothing follows."""


_NULL = msgspec.Raw(b"null")


class _ScopeParts(msgspec.Struct):
    spans: list[msgspec.Raw] = []
    scope: msgspec.Raw = _NULL
    instrumentationLibrary: msgspec.Raw = _NULL
    instrumentation_library: msgspec.Raw = _NULL


class _ResourceParts(msgspec.Struct):
    scopeSpans: list[_ScopeParts] = []
    scope_spans: list[_ScopeParts] = []
    instrumentationLibrarySpans: list[_ScopeParts] = []
    instrumentation_library_spans: list[_ScopeParts] = []
    resource: msgspec.Raw = _NULL


class _UnitParts(msgspec.Struct):
    resourceSpans: list[_ResourceParts] | msgspec.UnsetType = msgspec.UNSET
    resource_spans: list[_ResourceParts] | msgspec.UnsetType = msgspec.UNSET
    batches: list[_ResourceParts] | msgspec.UnsetType = msgspec.UNSET
    trace: msgspec.Raw = _NULL


def snake(name: str) -> str:
    """A name of OTLP as the protobuf files have it, which libraries print on demand: `trace_id` for `traceId`."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


_parts = msgspec.json.Decoder(_UnitParts).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
# Where an object of either kind begins, also inside of a damaged line.
_LEADS = re.compile(
    rb'\{\s*"(?:resource(?:S|_s)pans"|batches"|trace"\s*:\s*\{|name"\s*:\s*"(?:[^"\\]|\\.)*+"\s*,\s*"context")'
)
_UNIT, _WITHIN = (b'"resourceSpans"', b'"resource_spans"', b'"batches"'), b'"trace"'
"""What an object of OTLP is told by: the list in it, as one of the names that it has had, or Tempo's object around
one."""
_SCOPES = (
    b'"scopeSpans"',
    b'"scope_spans"',
    b'"instrumentationLibrarySpans"',
    b'"instrumentation_library_spans"',
)
_SCOPE = (b'"scope"', b'"instrumentationLibrary"', b'"instrumentation_library"')


class Parts(Lazy[Part]):
    """The parts of a long unit: where they stand, eight bytes a part (sixteen in a unit over 4 GiB), and not their
    texts. `more`: it has more than a text of its length can hold, and they are left out."""

    def __init__(self, text: Text) -> None:
        self._text = text
        code = "I" if len(text) < NARROW else "Q"
        self._begins, self._ends = array(code), array(code)
        self._heads: list[tuple[Place | None, Place | None]] = []
        self._firsts: list[int] = []
        """From which part on a head counts."""
        located = _located(text)
        for part, *above in islice(located, len(text) // SHORTEST + FEW):
            head = above[0], above[1]
            if not self._heads or self._heads[-1] != head:
                self._heads.append(head)
                self._firsts.append(len(self._begins))
            self._begins.append(part[0])
            self._ends.append(part[1])
        self.more = next(located, None) is not None

    def places(self, index: int) -> Located:
        """Where in the unit the texts of a part stand."""
        resource, scope = self._heads[bisect_right(self._firsts, index) - 1]
        return (self._begins[index], self._ends[index]), resource, scope

    def texts(self) -> Iterator[Text]:
        """The texts of the spans alone."""
        return map(self._text.__getitem__, map(slice, self._begins, self._ends))

    def __len__(self) -> int:
        return len(self._begins)

    def item(self, at: int) -> Part:
        return _part(self._text, *self.places(at))


def cut(text: Text) -> Sequence[Part]:
    """The parts of a unit; of a damaged one as far as they are whole."""
    if len(text) > LONG:
        return Parts(text)
    try:
        if is_list(text):
            return [part for item in _items(text) for part in _item(item)]
        return _of_object(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return [_part(text, *places) for places in _salvaged(text)]


def holds_spans(text: Text) -> bool:
    """Whether there may be spans in an object of another signal."""
    return any(name in text for name in _UNIT)


def is_list(text: Text) -> bool:
    """Whether a text begins with a list of objects."""
    head = bytes(text[:BLANK]).lstrip()
    return head[:1] == b"[" and head[1:].lstrip()[:1] in (b"{", b"")


def is_closed(text: Text) -> bool:
    """Whether the list that a text begins with has its end."""
    cutter = Spans(text)
    with suppress(Damaged):
        return cutter.skip(cutter.start())[1]
    return False


def _of_object(text: Text) -> list[Part]:
    found = resources(text, _parts)
    if found is None:
        return [(text, None, None)]
    return [
        (one, resource.resource, _first(scope.scope, scope.instrumentationLibrary, scope.instrumentation_library))
        for resource in found
        for scope in scopes(resource)
        for one in scope.spans
    ]


def resources(text: Text, decode: Callable[[Text], Any]) -> list[Any] | None:
    """The resources of an object of OTLP as `decode` makes them, however the list of them is called; None where it has
    none. Raises what msgspec does."""
    unit = decode(text)
    if bytes(memoryview(unit.trace)[:1]) == b"{":
        unit = decode(unit.trace)
    named = (unit.resourceSpans, unit.resource_spans, unit.batches)
    return next((found for found in named if found is not msgspec.UNSET), None)


def scopes(resource: Any) -> list[Any]:
    """The scopes of a resource."""
    found: list[Any] = (
        resource.scopeSpans
        or resource.scope_spans
        or resource.instrumentationLibrarySpans
        or resource.instrumentation_library_spans
    )
    return found


def _first(*texts: Any) -> Any:
    return next((text for text in texts if text != _NULL), None)


def _item(text: Text) -> list[Part]:
    """The parts of an object in a list: of OTLP, or a span as the console exporter prints it."""
    try:
        return _of_object(text)
    except msgspec.DecodeError:
        return [(text, None, None)]


def _part(text: Text, *places: Place | None) -> Part:
    part, resource, scope = (None if place is None else text[slice(*place)] for place in places)
    return part, resource, scope


def _located(text: Text) -> Iterator[Located]:
    cutter = Spans(text)
    begin = cutter.start()
    with suppress(Damaged):
        end, whole = cutter.skip(begin)
        if whole and not bytes(text[end : end + BLANK]).strip():
            return _walk_list(cutter, begin) if is_list(text) else _walk_item(cutter, (begin, end))
    return _salvaged(text)


def _salvaged(text: Text) -> Iterator[Located]:
    view = memoryview(text)  # a piece of which is no copy
    begins = [match.start() for match in _LEADS.finditer(text)] or [0]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        if not {*_UNIT, _WITHIN}.isdisjoint(re.findall(rb'"\w*"', text[begin : begin + BLANK])):
            yield from _walk(Spans(view[:end]), begin)
        else:
            with suppress(Damaged):
                end, _ = Spans(view[:end]).skip(begin)
            yield (begin, end), None, None


def _walk_list(cutter: Spans, begin: int) -> Iterator[Located]:
    for item in _elements(cutter, (begin, len(cutter))):
        yield from _walk_item(cutter, item)


def _walk_item(cutter: Spans, item: Place) -> Iterator[Located]:
    found = _fields(cutter, item[0])
    if _WITHIN in found or not found.keys().isdisjoint(_UNIT):
        yield from _walk(cutter, item[0])
    else:
        yield item, None, None


def _walk(cutter: Spans, begin: int) -> Iterator[Located]:
    """The spans of the OTLP object at `begin`; of one that breaks off or is damaged up to there."""
    unit = _fields(cutter, begin)
    if _WITHIN in unit:
        unit = _fields(cutter, unit[_WITHIN][0]) or unit
    for resource in _elements(cutter, _of(unit, _UNIT)):
        above = _fields(cutter, resource[0])
        for scope in _elements(cutter, _of(above, _SCOPES)):
            found = _fields(cutter, scope[0])
            for place in _elements(cutter, found.get(b'"spans"')):
                yield place, above.get(b'"resource"'), _of(found, _SCOPE)


def _of(fields: dict[bytes, Place], names: tuple[bytes, ...]) -> Place | None:
    return next((fields[name] for name in names if name in fields), None)


def _fields(cutter: Spans, begin: int) -> dict[bytes, Place]:
    found: dict[bytes, Place] = {}
    if cutter.text[begin : begin + 1] == b"{":
        with suppress(Damaged):
            for key, _, start, end in cutter.fields(begin):
                found[key] = (start, end)
                if len(found) >= FIELDS:
                    break
    return found


def _elements(cutter: Spans, place: Place | None) -> Iterator[Place]:
    if place is not None and cutter.text[place[0] : place[0] + 1] == b"[":
        with suppress(Damaged):
            yield from cutter.elements(place[0])
