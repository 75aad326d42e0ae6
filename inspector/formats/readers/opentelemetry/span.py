"""One span, whichever of its three spellings it stands in.

OTLP as the specification has it (hexadecimal ids, numbers for enums), OTLP as a protobuf library prints it
(base64 ids, names for enums, and `trace_id` for `traceId` on demand), and what the console exporter prints.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from inspector.formats.jsontext import Damaged, Place, parse
from inspector.model.run import Problem, Record
from inspector.model.values import Number, Value, tag

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = 253_402_300_800 * 10**9
"""The nanosecond behind the year 9999, which no time can name."""
NESTED = 64
"""Levels of lists and maps in an attribute that are spelled out."""

FRAMES = 10
"""Places of a stack trace that are told, the innermost."""
_PYTHON = re.compile(r'^\s*File "(.+)", line (\d+), in (.+?)\s*$', re.MULTILINE)
_OTHERS = re.compile(r"^\s*at (.+?)\s*$", re.MULTILINE)


class Event(Record, frozen=True, kw_only=True):
    """Something that happened within a span."""

    name: str
    attributes: dict[str, Value]


REMOTE = 0x300
"""Flags of a span that say that its parent is known to be another process's."""


class Span(Record, frozen=True, kw_only=True):
    """A span. Times are nanoseconds since 1970, None where they are not set or cannot be read; `oddities`
    says what is wrong with them. `remote`: its parent is another process's, so that it is the first of its own."""

    trace: str
    id: str
    parent: str | None
    name: str
    start: int | None
    end: int | None
    started: str | None
    ended: str | None
    failed: bool
    message: str | None
    attributes: dict[str, Value]
    events: tuple[Event, ...]
    resource: dict[str, Value]
    scope: str | None
    oddities: tuple[str, ...]
    remote: bool = False

    def exception(self) -> dict[str, Value] | None:
        """The attributes of the last exception that was recorded in it."""
        found = [event.attributes for event in self.events if event.name == "exception"]
        return found[-1] if found else None


def frames(stack: Value) -> tuple[str, ...] | None:
    """The places in the code that a stack trace names, the innermost last; None where it names none. Of errors behind
    each other Python tells the raised one last, Java and JavaScript tell it, and its innermost place, first."""
    if not isinstance(stack, str):
        return None
    found = [f"{file}:{line} in {name}" for file, line, name in _PYTHON.findall(stack.rpartition("Traceback (")[2])]
    found = found or _OTHERS.findall(stack.partition("Caused by:")[0])[FRAMES - 1 :: -1]
    return tuple(found[-FRAMES:]) or None


def read(value: Value, resource: Value = None, scope: Value = None) -> Span:
    """The span that a value is; of OTLP with the resource and the scope that it stands under. Raises
    ValueError when it is none."""
    if not isinstance(value, dict):
        raise ValueError("no span")
    if isinstance(value.get("context"), dict):
        return _console(value)
    value = _named(value)
    if _TELLING.isdisjoint(value):
        raise ValueError("no span")
    trace, name = _ids(value.get("traceId"), value.get("spanId"))
    oddities: list[str] = []
    start, started = moment(value.get("startTimeUnixNano"), "start", oddities)
    end, ended = moment(value.get("endTimeUnixNano"), "end", oddities)
    if start is not None and end is not None and end < start:
        oddities.append("it ends before it starts: a clock was set back")
    status = value.get("status")
    status = status if isinstance(status, dict) else {}
    flags = value.get("flags")
    events = [event for event in _list(value.get("events")) if isinstance(event, dict)]
    return Span(
        trace=trace,
        id=name,
        parent=hexadecimal(value.get("parentSpanId"), 8) or None,
        name=_text(value.get("name")) or "?",
        start=start,
        end=end,
        started=started,
        ended=ended,
        failed=status.get("code") in (2, "2", "STATUS_CODE_ERROR"),
        message=_text(status.get("message")),
        attributes=attributes(value.get("attributes")),
        events=tuple(
            Event(name=_text(event.get("name")) or "?", attributes=attributes(event.get("attributes")))
            for event in events
        ),
        resource=attributes(resource.get("attributes")) if isinstance(resource, dict) else {},
        scope=_text(scope.get("name")) if isinstance(scope, dict) else None,
        oddities=tuple(oddities),
        remote=isinstance(flags, int) and flags & REMOTE == REMOTE,
    )


_TELLING = {"traceId", "spanId", "startTimeUnixNano"}
"""Keys of which a span has one at least: other signals stand in the same files."""


def _named(value: dict[str, Any]) -> dict[str, Any]:
    """A span with the names of its fields as the specification has them."""
    return {_SNAKE.get(name, name): inner for name, inner in value.items()}


_SNAKE = {
    "trace_id": "traceId",
    "span_id": "spanId",
    "parent_span_id": "parentSpanId",
    "start_time_unix_nano": "startTimeUnixNano",
    "end_time_unix_nano": "endTimeUnixNano",
    "string_value": "stringValue",
    "int_value": "intValue",
    "double_value": "doubleValue",
    "bool_value": "boolValue",
    "array_value": "arrayValue",
    "kvlist_value": "kvlistValue",
    "bytes_value": "bytesValue",
}


class WithoutIds(ValueError):
    """A span that has no id, or no trace that it belongs to."""


def _ids(trace: Value, name: Value) -> tuple[str, str]:
    found = hexadecimal(trace, 16), hexadecimal(name, 8)
    if not all(found):
        raise WithoutIds
    return found


def _console(value: dict[str, Any]) -> Span:
    context = value["context"]
    oddities: list[str] = []
    trace, name = _ids(context.get("trace_id"), context.get("span_id"))
    start, started = instant(value.get("start_time"), "start", oddities)
    end, ended = instant(value.get("end_time"), "end", oddities)
    if start is not None and end is not None and end < start:
        oddities.append("it ends before it starts: a clock was set back")
    status = value.get("status")
    status = status if isinstance(status, dict) else {"status_code": status}
    resource = value.get("resource")
    return Span(
        trace=trace,
        id=name,
        parent=hexadecimal(value.get("parent_id"), 8) or None,
        name=_text(value.get("name")) or "?",
        start=start,
        end=end,
        started=started,
        ended=ended,
        failed=_text(status.get("status_code")) in ("ERROR", "StatusCode.ERROR"),
        message=_text(status.get("description")),
        attributes=_map(value.get("attributes")),
        events=tuple(
            Event(name=_text(event.get("name")) or "?", attributes=_map(event.get("attributes")))
            for event in _list(value.get("events"))
            if isinstance(event, dict)
        ),
        resource=_map(resource.get("attributes")) if isinstance(resource, dict) else {},
        scope=None,
        oddities=tuple(oddities),
    )


def hexadecimal(value: Value, length: int) -> str:
    """An id of `length` bytes as hexadecimal digits, from any spelling; as it stands where it is none;
    "" where there is none."""
    if not isinstance(value, str):
        return ""
    text = value.removeprefix("0x")
    if len(text) != 2 * length:
        try:
            found = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return text
        if len(found) == length:
            text = found.hex()
    return "" if text.strip("0") == "" else text.lower()


def moment(value: Value, which: str, oddities: list[str]) -> tuple[int | None, str | None]:
    """A time of OTLP: nanoseconds since 1970, and RFC 3339. Zero means that it is not set."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    if isinstance(value, Number | float):
        text = value.text if isinstance(value, Number) else repr(value)
    if value is None or text in ("", "0"):
        if which == "start":
            oddities.append("its start is not set")
        return None, None
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > 40:
        oddities.append(f"its {which} is no time: {(str(value) if text is None else text)[:40]!r}")
        return None, None
    since = int(text)
    if since >= LAST:
        oddities.append(f"its {which} is past the year 9999: {text}")
        return since, None
    return since, written(since)


def written(since: int) -> str:
    """RFC 3339 in UTC, with as many digits as it needs."""
    seconds, rest = divmod(since, 10**9)
    fraction = f".{rest:09}".rstrip("0").rstrip(".")
    return f"{(EPOCH + timedelta(seconds=seconds)).strftime('%Y-%m-%dT%H:%M:%S')}{fraction}Z"


def instant(value: Value, which: str, oddities: list[str]) -> tuple[int | None, str | None]:
    """A time of the console exporter, which is RFC 3339 already."""
    if value is None:
        if which == "start":
            oddities.append("its start is not set")
        return None, None
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        oddities.append(f"its {which} is no time: {str(value)[:40]!r}")
        return None, None
    if found.tzinfo is None:
        oddities.append(f"its {which} names no zone")
    return nanoseconds(found.replace(tzinfo=found.tzinfo or UTC)), str(value)


def nanoseconds(time: datetime) -> int:
    """Nanoseconds since 1970; `time` names its zone."""
    since = time - EPOCH
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def attributes(value: Value) -> dict[str, Value]:
    """The attributes of OTLP, a list of keys and typed values, as a map."""
    return dict(_pairs(value, 0))


def any_value(value: Value) -> Value:
    """A typed value of OTLP as a value."""
    return _any(value, 0)


def _pairs(value: Value, level: int) -> Iterator[tuple[str, Value]]:
    for pair in _list(value):
        if isinstance(pair, dict) and isinstance(pair.get("key"), str):
            yield pair["key"], _any(pair.get("value"), level)


def _any(value: Value, level: int) -> Value:
    """An AnyValue. Deeper than NESTED it stays as it is spelled."""
    if not isinstance(value, dict) or len(value) != 1 or level > NESTED:
        return value if value else None
    kind, inner = next(iter(value.items()))
    kind = _SNAKE.get(kind, kind)
    if kind == "intValue" and isinstance(inner, str):
        return int(inner) if inner.lstrip("-").isdecimal() and inner.isascii() and len(inner) < 40 else inner
    if kind in ("stringValue", "intValue", "doubleValue", "boolValue"):
        return inner
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_any(item, level + 1) for item in _list(inner.get("values"))]
    if kind == "kvlistValue" and isinstance(inner, dict):
        return dict(_pairs(inner.get("values"), level + 1))
    if kind == "bytesValue":
        return tag("bytes", base64=inner)
    return value


def structured(value: Value, tell: Callable[[str], None] = lambda message: None) -> Value:
    """An attribute that holds JSON as text, as the value that it is; text that is no JSON stays text. What is odd in
    it, as a key that is given twice, is told."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    problems: list[Problem] = []
    try:
        found = parse(value.encode(), Place(""), problems)
    except (Damaged, ValueError):
        return value
    for problem in problems:
        tell(problem.message)
    return found


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) and value else None
