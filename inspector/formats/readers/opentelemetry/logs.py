"""Log records that stand beside the spans: some libraries write what was said into events of their own, and none of it
into the spans. Each belongs to the span that it names, as an event of that."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from inspector.formats.jsontext import Place, parse
from inspector.formats.linefile import BROKEN
from inspector.formats.readers.opentelemetry.parts import LONG, Text
from inspector.formats.readers.opentelemetry.span import Event, any_value, attributes, hexadecimal
from inspector.model.values import Value

KNOWN = 200_000
"""Spans whose records are known at once; those of more are not looked for."""
KEPT = 4
"""Units whose records are kept."""
TOLD = b"gen_ai."
"""What a record holds that tells of a model call."""
_DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_CAMEL, _SNAKE = b'"resourceLogs"', b'"resource_logs"'


class _Scope(msgspec.Struct):
    logRecords: list[msgspec.Raw] = []
    log_records: list[msgspec.Raw] = []


class _Resource(msgspec.Struct):
    scopeLogs: list[_Scope] = []
    scope_logs: list[_Scope] = []


class _Unit(msgspec.Struct):
    resourceLogs: list[_Resource] = []
    resource_logs: list[_Resource] = []


class _Ids(msgspec.Struct):
    traceId: Any = None
    trace_id: Any = None
    spanId: Any = None
    span_id: Any = None


_unit = msgspec.json.Decoder(_Unit).decode
_ids = msgspec.json.Decoder(_Ids).decode
Key = tuple[str, str]


class Logs:
    """The units in which records of a span stand, by its trace and its id; `text` gives the text of one."""

    def __init__(self, text: Callable[[int], Text]) -> None:
        self._units: dict[Key, list[int]] = {}
        self._known = 0
        self.more: int | None = None
        """From which unit on records are not known."""
        self._text = text
        self._kept: OrderedDict[int, dict[Key, list[msgspec.Raw]]] = OrderedDict()

    def add(self, unit: int, text: Text) -> bool:
        """Take in a unit, if it is one of log records."""
        if (_CAMEL not in text and _SNAKE not in text) or len(text) > LONG:
            return False
        try:
            found = _records(text)
        except _DAMAGED:
            return False
        self._known += len(found)
        if self._known <= KNOWN:
            for key in found:
                self._units.setdefault(key, []).append(unit)
        elif self.more is None and found:
            self.more = unit
        return True

    def forget(self, unit: int) -> None:
        """Forget a unit and all behind it."""
        self._kept.clear()
        self.more = self.more if self.more is not None and self.more < unit else None
        if self._units:
            left = {key: [one for one in units if one < unit] for key, units in self._units.items()}
            self._units = {key: units for key, units in left.items() if units}
            self._known = sum(map(len, self._units.values()))

    def events(self, trace: str, name: str) -> tuple[Event, ...]:
        """The events of a span."""
        key = trace, name
        records = (record for unit in self._units.get(key, ()) for record in self._of(unit).get(key, ()))
        return tuple(event for event in map(_event, records) if event is not None)

    def _of(self, unit: int) -> dict[Key, list[msgspec.Raw]]:
        if unit not in self._kept:
            try:
                self._kept[unit] = _records(self._text(unit))
            except _DAMAGED:  # the file changed since
                return {}
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[unit]


def _records(text: Text) -> dict[Key, list[msgspec.Raw]]:
    """Those of each span. Raises what msgspec does where the text is damaged."""
    found: dict[Key, list[msgspec.Raw]] = {}
    unit = _unit(text)
    for resource in unit.resourceLogs or unit.resource_logs:
        for scope in resource.scopeLogs or resource.scope_logs:
            for record in scope.logRecords or scope.log_records:
                if TOLD in bytes(record):
                    of = _ids(record)
                    key = hexadecimal(of.traceId or of.trace_id, 16), hexadecimal(of.spanId or of.span_id, 8)
                    found.setdefault(key, []).append(record)
    return found


def _event(record: msgspec.Raw) -> Event | None:
    try:
        value: Value = parse(bytes(record), Place(""), [])
    except BROKEN:
        return None
    if not isinstance(value, dict):
        return None
    told = attributes(value.get("attributes"))
    name = value.get("eventName") or value.get("event_name") or told.get("event.name")
    body = any_value(value.get("body"))
    body = body if isinstance(body, dict) else {} if body is None else {"content": body}
    return Event(name=name if isinstance(name, str) else "?", attributes=told | body)
