"""What of a span its file is indexed by: ids and times, taken out of the text without decoding the rest."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from inspector.formats.readers.opentelemetry import span as spans
from inspector.formats.readers.opentelemetry.parts import Text, resources, scopes, snake


class SpanIds(msgspec.Struct):
    """Of a span of OTLP."""

    traceId: Any = ""
    spanId: Any = ""
    parentSpanId: Any = ""
    startTimeUnixNano: Any = None
    endTimeUnixNano: Any = None


class _SnakeSpanIds(SpanIds, rename=snake):
    # What is inherited is not renamed.
    traceId: Any = ""
    spanId: Any = ""
    parentSpanId: Any = ""
    startTimeUnixNano: Any = None
    endTimeUnixNano: Any = None


class _ScopeIds(msgspec.Struct):
    spans: list[SpanIds] = []


class _SnakeScopeIds(msgspec.Struct):
    spans: list[_SnakeSpanIds] = []


class _ResourceIds(msgspec.Struct):
    scopeSpans: list[_ScopeIds] = []
    scope_spans: list[_SnakeScopeIds] = []
    instrumentationLibrarySpans: list[_ScopeIds] = []
    instrumentation_library_spans: list[_SnakeScopeIds] = []


class _UnitIds(msgspec.Struct):
    resourceSpans: list[_ResourceIds] | msgspec.UnsetType = msgspec.UNSET
    resource_spans: list[_ResourceIds] | msgspec.UnsetType = msgspec.UNSET
    batches: list[_ResourceIds] | msgspec.UnsetType = msgspec.UNSET
    trace: msgspec.Raw = msgspec.Raw(b"null")


class _Context(msgspec.Struct):
    trace_id: str
    span_id: str


class ConsoleIds(msgspec.Struct):
    """Of a span that the console exporter printed."""

    context: _Context
    start_time: datetime
    end_time: datetime
    parent_id: str | None = None


_ids = msgspec.json.Decoder(_UnitIds).decode
ids_of_one = msgspec.json.Decoder(SpanIds).decode
console_ids = msgspec.json.Decoder(ConsoleIds).decode


def ids_of(text: Text) -> Iterator[SpanIds]:
    """Those of the spans of an object of OTLP. Raises what msgspec does where it is none."""
    found = resources(text, _ids)
    if found is None:
        alone = ids_of_one(text)
        if not alone.traceId:
            raise msgspec.ValidationError("no span")
        return iter([alone])
    return (one for resource in found for scope in scopes(resource) for one in scope.spans)


def number_of(name: str) -> int:
    """A span id as a number: the same for every spelling of it, 0 for none."""
    try:
        if len(name) == 16:
            return int(name, 16)
        return int(spans.hexadecimal(name, 8) or "0", 16) & (1 << 64) - 1
    except ValueError:
        return hash(name) & (1 << 64) - 1
