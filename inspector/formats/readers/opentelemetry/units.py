"""The spans of a file, as columns: where each stands, to which trace it belongs, when it began.

A unit is a JSON object that begins at the left margin: an OTLP object a line, one that is printed over many
lines, or a span as the console exporter prints it. A file that begins with a list of such objects is one
unit. It holds any number of spans. A span is decoded when it is shown; of a whole file only ids and times are.
"""

import mmap
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from operator import le
from typing import Any

import msgspec
from msgspec.structs import replace

from inspector.formats.document import mapped
from inspector.formats.files import UTF8_MARK, File
from inspector.formats.jsontext import MARKED, Damaged, Place
from inspector.formats.linefile import BROKEN, EDGE, LineFile
from inspector.formats.readers.opentelemetry import span as spans
from inspector.formats.readers.opentelemetry.grouped import Grouped
from inspector.formats.readers.opentelemetry.ids import SpanIds, console_ids, ids_of, ids_of_one, number_of
from inspector.formats.readers.opentelemetry.logs import KNOWN, Logs
from inspector.formats.readers.opentelemetry.parts import LONG, Part, Parts, Text, cut, holds_spans, is_closed, is_list
from inspector.formats.readers.opentelemetry.span import Span
from inspector.model.run import SourceInfo

KEPT = 8
"""Units whose parts are kept."""
READY = 1 << 19
"""Bytes of spans, as they stand in the file, that are kept decoded."""
CHUNK = 4096
"""Spans that are taken in at once."""
UNKNOWN = -1
_NONE = "0" * 16
LATEST = (1 << 63) - 1
"""The last nanosecond since 1970 that a column holds, in the year 2262; later ones are sorted as it is."""


class SpanFile(LineFile):
    """A file of spans. Row numbers are those of the file's order."""

    long = LONG

    def __init__(self, file: File, source: SourceInfo, head: bytes = b"") -> None:
        super().__init__(file, source, head)

    def reset(self, head: bytes = b"") -> None:
        super().reset(head)
        self.units = array("Q")
        self.unit, self.place, self.trace = array("I"), array("I"), array("I")
        self.ids, self.parents = array("Q"), array("Q")
        self.begins, self.ends = array("q"), array("q")
        self._spelled: dict[str, int] = {}
        """Traces by ids that are not spelled as `traces` has them."""
        self.traces: dict[str, int] = {}
        """Trace ids by the order in which they are met."""
        self._open = self._provisional = UNKNOWN
        self._list = False
        self._copy: mmap.mmap | bytes | None = None
        self._cache: OrderedDict[int, Sequence[Part]] = OrderedDict()
        self._ready: OrderedDict[int, tuple[Span, int]] = OrderedDict()
        """Spans by their rows, each with the bytes of its text."""
        self._ready_size = 0
        self._grouped: Grouped | None = None
        self._logs = Logs(self._text_of)

    def __len__(self) -> int:
        """How many spans are known."""
        return len(self.unit)

    def take(self, lines: list[bytes], begin: int) -> None:
        stop = self._scan.scanned if begin < self._scan.scanned else self.file.size
        offset, last = begin, len(lines) - 1
        for index, line in enumerate(lines):
            end = stop if index == last else offset + len(line)
            if not self.units and self._open == UNKNOWN and is_list(line):
                self._open, self._list = offset, True
            elif self._list:
                pass
            elif line[:1] == b"{" or (self._open == UNKNOWN and line.lstrip()[:1] == b"{"):
                if self._open != UNKNOWN:
                    self._close(offset)
                if line.rstrip()[-1:] == b"}":
                    self._add(offset, line if end - offset == len(line) else self.text(offset, end))
                else:
                    self._open = offset
            elif self._open != UNKNOWN:
                if line[:1] == b"}":
                    self._close(end)
            elif line.strip():
                self.units.append(offset)
                reason = MARKED if line.startswith(UTF8_MARK) else "no JSON object"
                if end - offset > LONG:
                    self.damage(offset, f"a damaged line: {reason}")
                else:
                    self.damaged(line, offset, Damaged(0, reason))
            offset = end

    def take_rest(self, rest: bytes) -> None:
        self._provisional = self._scan.scanned if self._open == UNKNOWN else self._open
        super().take_rest(rest)
        if self._open != UNKNOWN:
            self._close(self.file.size)

    def rewind(self, offset: int) -> None:
        if self._provisional != UNKNOWN:
            self._open = self._provisional if self._provisional < self._scan.scanned else UNKNOWN
            offset = min(offset, self._provisional)
            self._provisional = UNKNOWN
            self._copy = None
        super().rewind(offset)
        units = bisect_left(self.units, offset)
        if units < len(self.units):
            del self.units[units:]
            self._forget(units)
            self._logs.forget(units)
            self._cache.clear()

    def text(self, begin: int, end: int) -> Text:
        """A part of the file; a long one from a private copy."""
        if end - begin <= LONG:
            return self.file.read(begin, end - begin)
        if self._copy is None or len(self._copy) < end - self.file.start:
            self._copy = mapped(self.file)
        return memoryview(self._copy)[begin - self.file.start : end - self.file.start]

    def _close(self, end: int) -> None:
        begin, self._open = self._open, UNKNOWN
        self._add(begin, self.text(begin, end))

    def _add(self, offset: int, text: Text) -> None:
        """Take in a unit."""
        unit = len(self.units)
        self.units.append(offset)
        if not self._list and self._logs.add(unit, text):
            self._forget_ready()
            if self._logs.more == unit:
                self.damage(
                    offset, f"log records of more than {KNOWN:,} spans: the rest is not looked at", severity="warning"
                )
            if not holds_spans(text):
                return
        try:
            short = len(text) <= LONG and not self._list
            found = ids_of(text) if short else map(ids_of_one, self._parts_of(unit, text))
            place = 0
            while chunk := list(islice(found, CHUNK)):
                if not self._add_chunk(unit, place, chunk):
                    self._add_each(unit, place, offset, chunk, text)
                place += len(chunk)
            if self._list and bytes(text[-EDGE:]).rstrip()[-1:] != b"]":
                closed = is_closed(text)
                self.damage(offset, "more text behind the list of spans" if closed else "the list of spans breaks off")
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            self._forget(unit)
            if not self._add_console(unit, text):
                self._add_carefully(unit, offset, text)

    def _parts_of(self, unit: int, text: Text) -> Iterator[Any]:
        parts = self.parts(unit, text)
        return parts.texts() if isinstance(parts, Parts) else (part[0] for part in parts)

    def _forget(self, unit: int) -> None:
        """Forget the spans of a unit and of all behind it."""
        rows = bisect_left(self.unit, unit)
        for column in (self.unit, self.place, self.trace, self.ids, self.parents, self.begins, self.ends):
            del column[rows:]
        self._forget_ready()
        self._grouped = None

    def _forget_ready(self) -> None:
        self._ready.clear()
        self._ready_size = 0

    def _add_chunk(self, unit: int, place: int, chunk: list[SpanIds]) -> bool:
        """Take in spans of which nothing is odd, all at once; False, and nothing was taken in, when something
        is."""
        try:
            begins, ends = [one.startTimeUnixNano for one in chunk], [one.endTimeUnixNano for one in chunk]
            names, parents = [one.spanId for one in chunk], [one.parentSpanId or _NONE for one in chunk]
            digits, letters = "".join(begins) + "".join(ends), "".join(names) + "".join(parents)
            first, last = array("q", map(int, begins)), array("q", map(int, ends))
            sound = (
                digits.isascii()
                and digits.isdecimal()
                and letters.isascii()
                and letters.isalnum()
                and _NONE not in names
                and {*map(len, names), *map(len, parents)} == {16}
                and min(first) > 0
                and all(map(le, first, last))
            )
            if not sound:
                return False
            ids, above = array("Q", map(int, names, repeat(16))), array("Q", map(int, parents, repeat(16)))
            traces = [self._trace(one.traceId) for one in chunk]
        except (TypeError, ValueError, OverflowError):
            return False
        self.unit.extend(repeat(unit, len(chunk)))
        self.place.extend(range(place, place + len(chunk)))
        self.trace.extend(traces)
        self.ids.extend(ids)
        self.parents.extend(above)
        self.begins.extend(first)
        self.ends.extend(last)
        return True

    def _add_each(self, unit: int, place: int, offset: int, chunk: list[SpanIds], text: Text) -> None:
        parts = self.parts(unit, text)
        for at in range(place, place + len(chunk)):
            self._add_one(unit, at, offset, parts, text)

    def _trace(self, spelled: str) -> int:
        """The number of a trace, whichever way its id is spelled. Raises ValueError for no id."""
        number = self.traces.get(spelled, self._spelled.get(spelled))
        if number is None:
            key = spans.hexadecimal(spelled, 16)
            if not key:
                raise ValueError("no trace id")
            number = self.traces.setdefault(key, len(self.traces))
            if key != spelled:
                self._spelled[spelled] = number
        return number

    def _add_console(self, unit: int, text: Text) -> bool:
        try:
            found = console_ids(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return False
        start, end = found.start_time, found.end_time
        trace, name = spans.hexadecimal(found.context.trace_id, 16), spans.hexadecimal(found.context.span_id, 8)
        if start.tzinfo is None or end.tzinfo is None or end < start or not trace or not name:
            return False
        times = spans.nanoseconds(start), spans.nanoseconds(end)
        self._append(unit, 0, trace, name, found.parent_id or "", *times)
        return True

    def _add_carefully(self, unit: int, offset: int, text: Text) -> None:
        try:
            if len(text) > LONG:
                raise ValueError("broken off, or no JSON")
            value = self.value(bytes(text), offset, deep=False)
            if not isinstance(value, list if self._list else dict):
                raise ValueError("no object")
        except BROKEN as error:
            if len(text) > LONG:
                self.damage(offset, f"a damaged line: {error}")
            else:
                self.damaged(bytes(text), offset, error)
        parts = self.parts(unit, text)
        for place in range(len(parts)):
            self._add_one(unit, place, offset, parts, text)

    def _add_one(self, unit: int, place: int, offset: int, parts: Sequence[Part], text: Text) -> None:
        try:
            found = self._span(parts, place, offset, lambda: text)
        except spans.WithoutIds:
            self.damage(offset, "a span without an id, or without the id of a trace, is left out")
            return
        except BROKEN:
            return  # what is damaged is listed with its unit; what is no span is none
        for oddity in found.oddities:
            self.damage(offset, f"span {found.name!r}: {oddity}", severity="warning")
        self._append(unit, place, found.trace, found.id, found.parent or "", found.start, found.end)
        self._keep(len(self.unit) - 1, found, len(parts[place][0]))

    def _append(
        self, unit: int, place: int, trace: str, name: str, parent: str, begin: int | None, end: int | None
    ) -> None:
        number = self._trace(trace)
        self.unit.append(unit)
        self.place.append(place)
        self.trace.append(number)
        self.ids.append(number_of(name))
        self.parents.append(number_of(parent) if parent else 0)
        self.begins.append(UNKNOWN if begin is None else min(begin, LATEST))
        self.ends.append(UNKNOWN if end is None else min(end, LATEST))

    def end(self, unit: int) -> int:
        """Where a unit ends."""
        return self.units[unit + 1] if unit + 1 < len(self.units) else self._known or self.file.size

    def _text_of(self, unit: int) -> Text:
        return self.text(self.units[unit], self.end(unit))

    def parts(self, unit: int, text: Text | None = None) -> Sequence[Part]:
        """The texts of a unit's spans."""
        if unit not in self._cache:
            offset = self.units[unit]
            parts = self._cache[unit] = cut(self._text_of(unit) if text is None else text)
            if isinstance(parts, Parts) and parts.more:
                self.damage(offset, f"more than {len(parts)} spans: the rest is not looked at", severity="warning")
            if len(self._cache) > KEPT:
                self._cache.popitem(last=False)
        return self._cache[unit]

    def span(self, row: int) -> Span:
        """The span of a row. Raises one of BROKEN when it is not readable any more."""
        if row in self._ready:
            self._ready.move_to_end(row)
            return self._ready[row][0]
        unit, place = self.unit[row], self.place[row]
        parts = self.parts(unit)
        if place >= len(parts):
            raise ValueError("the span is gone from the file")
        found = self._span(parts, place, self.units[unit], lambda: self._text_of(unit))
        self._keep(row, found, len(parts[place][0]))
        return found

    def _keep(self, row: int, span: Span, size: int) -> None:
        """Keep a span ready: a run is asked for its spans from many sides."""
        if row in self._ready or size > READY:
            return
        self._ready[row] = span, size
        self._ready_size += size
        while self._ready_size > READY:
            self._ready_size -= self._ready.popitem(last=False)[1][1]

    def _span(self, parts: Sequence[Part], place: int, offset: int, unit: Callable[[], Text]) -> Span:
        """The span at a place of the unit that begins at `offset`, of which `unit` gives the text."""
        found = [None if piece is None else bytes(piece) for piece in parts[place]]

        def begin(which: int) -> int:
            if isinstance(parts, Parts):
                return offset + (parts.places(place)[which] or (0, 0))[0]
            return offset + max(bytes(unit()).find(found[which] or b""), 0)

        values = [
            None if piece is None else self.value(piece, offset, partial(begin, which))
            for which, piece in enumerate(found)
        ]
        span = spans.read(*values)
        said = self._logs.events(span.trace, span.id)
        return replace(span, events=(*said, *span.events)) if said else span

    def line_of(self, row: int) -> Place:
        """Where a span's unit stands."""
        return self._scan.place(self.units[self.unit[row]])

    def raw(self, row: int) -> tuple[bytes, int]:
        """The text of a span's unit where it is alone in it, else of the span; and where that begins."""
        unit = self.unit[row]
        parts, offset = self.parts(unit), self.units[unit]
        text = self._text_of(unit)
        if len(parts) == 1:
            return bytes(text).strip(), offset
        place = self.place[row]
        found = bytes(parts[place][0])
        begin = parts.places(place)[0][0] if isinstance(parts, Parts) else max(bytes(text).find(found), 0)
        return found.strip(), offset + begin

    def place_of(self, offset: int) -> Place:
        """The place of an offset."""
        return self._scan.place(offset)

    def unit_at(self, offset: int) -> tuple[int, int]:
        """The unit that holds an offset (UNKNOWN: none), and where the next one begins."""
        unit = bisect_right(self.units, offset) - 1
        return unit, self.units[unit + 1] if unit + 1 < len(self.units) else self.file.size

    def rows_with(self, unit: int, wanted: list[bytes]) -> Iterator[int]:
        """The rows of a unit's spans whose text holds one of `wanted`; all that it has, when it has but one."""
        first, last = bisect_left(self.unit, unit), bisect_right(self.unit, unit)
        if last - first <= 1:
            yield from range(first, last)
            return
        parts = self.parts(unit)
        for row in range(first, last):
            text = bytes(parts[self.place[row]][0]) if self.place[row] < len(parts) else b""
            if any(needle in text for needle in wanted):
                yield row

    def rows_of(self, trace: int) -> Sequence[int]:
        """The rows of a trace, in the order of the file."""
        if len(self.traces) <= 1:
            return range(len(self))
        if self._grouped is None or self._grouped.known != len(self):
            self._grouped = Grouped(self.trace, len(self.traces))
        return self._grouped.of(trace)
