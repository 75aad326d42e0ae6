"""The event log beside a store: a JSON object a line, appended as things happen.

The lines are read once; of each event only what the timeline needs is kept, and a message is decoded again when
it is looked at. An event that stands twice, as after a crash between delivery and its record, counts once.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from inspector.errors import UsageError
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, parse
from inspector.formats.lines import Lines
from inspector.formats.memory import MemoryRun, row
from inspector.formats.readers.vv_agent.claim import Claim
from inspector.formats.readers.vv_agent.eventrun import Event, EventRun
from inspector.formats.readers.vv_agent.eventshape import run_of
from inspector.formats.readers.vv_agent.follow import Followed
from inspector.formats.readers.vv_agent.shapes import mapping
from inspector.model.run import Problem, RunRow, SourceInfo
from inspector.model.source import RunSource
from inspector.model.text import clean, one_line
from inspector.model.values import Value

NAMED = 500
"""Damaged lines that are named; of more, only the number is told."""
EXAMINED = 4 << 20
"""Bytes of damaged lines in which the place of the damage is looked for, which is slow."""
REMEMBERED = 4096
"""Ids of events behind which a second copy is looked for."""


class EventLog:
    """A RunSet of an event log: the runs whose events stand in it."""

    def __init__(self, path: str, file: File) -> None:
        self.source = SourceInfo(path=one_line(path), format="vv-agent")
        self.generation = 0
        """How often events were taken in."""
        self._file = file
        self._begin()
        self._read()

    def rows(self) -> Sequence[RunRow]:
        return [row(run_of(told, self), run_id) for run_id, told in self._runs.items()]

    def open(self, run_id: str | None = None) -> RunSource:
        if run_id is None and len(self._runs) == 1:
            run_id = next(iter(self._runs))
        if run_id is None:
            raise UsageError(self.source.path, f"holds {len(self._runs)} runs: choose one with --run")
        if run_id not in self._runs:
            shown = ", ".join(list(self._runs)[-10:])
            raise UsageError(self.source.path, f"holds no run {run_id!r}; it holds {shown or 'none'}")
        return Followed(self, run_id)

    def problems(self) -> Sequence[Problem]:
        found = [*self._problems, *([self._torn] if self._torn else ())]
        if self._unnamed:
            words = f"{self._unnamed} more lines are no events"
            found.append(Problem(severity="error", where=self._file.label, message=words))
        return found

    def refresh(self) -> bool:
        return self.look()

    def close(self) -> None:
        self._file.close()

    def look(self) -> bool:
        """Takes in what was appended; True when there was something."""
        before = self._lines.scanned
        if not self._file.refresh():
            return False
        if self._file.size < before:  # another file, or cut short: all is read anew
            self._begin()
        self._read()
        self.generation += 1
        return True

    def load(self, run_id: str) -> tuple[MemoryRun, Claim] | None:
        """The run as it is told so far; None when there is none."""
        told = self._runs.get(run_id)
        return (run_of(told, self), Claim()) if told is not None else None

    def now(self) -> float:
        """There are no leases in a log of events."""
        return 0.0

    def event(self, line: int) -> dict[str, Any]:
        """The event of a line, decoded and clean; {} where it cannot be read any more."""
        try:
            return mapping(parse(self._lines.read(line), self._lines.place(line), []))
        except Damaged as damage:
            return mapping(damage.value)

    def where(self, line: int) -> str:
        """The place of a line."""
        return str(self._lines.place(line))

    def _begin(self) -> None:
        self._lines = Lines(self._file, self._seen)
        self._runs: dict[str, EventRun] = {}
        self._problems: list[Problem] = []
        self._torn: Problem | None = None
        self._unnamed, self._examined = 0, 0
        self._heard: dict[str, EventRun] = {}
        self._ids: set[str] = set()
        self._order: deque[str] = deque()
        self._taken = 0

    def _read(self) -> None:
        for _ in self._lines.scan():
            pass

    def _seen(self, lines: list[bytes], first: int) -> None:
        for number, line in enumerate(lines, first):
            if number < self._taken or not line.strip():
                continue
            if number == self._taken and self._torn is not None:
                self._torn = None
            event = _head(line)
            if event is not None:
                self._taken = number + 1
                self._take(event, number)
            elif self._lines.finished(number) or number < first + len(lines) - 1:
                self._taken = number + 1
                if len(self._problems) < NAMED:
                    self._problems.append(self._damage(line, number))
                else:
                    self._unnamed += 1
            else:
                self._taken, self._torn = number, self._damage(line, number)

    def _take(self, event: Event, line: int) -> None:
        event_id, run_id = event.event_id, event.run_id
        if isinstance(event_id, str):
            if event_id in self._ids:
                return
            self._ids.add(event_id)
            self._order.append(event_id)
            if len(self._order) > REMEMBERED:
                self._ids.discard(self._order.popleft())
        told = self._heard.get(run_id) if isinstance(run_id, str) else None
        if told is None:
            key = clean(run_id) if isinstance(run_id, str) and run_id else "unknown"
            told = self._runs.setdefault(key, EventRun(key))
            if isinstance(run_id, str):
                self._heard[run_id] = told
        told.add(event, line)

    def _damage(self, line: bytes, number: int) -> Problem:
        """What is wrong with a line, and where in it."""
        place = self._lines.place(number)
        self._examined += len(line)
        if self._examined > EXAMINED:
            return Problem(severity="error", where=str(place), message="is no event; it is left out")
        try:
            value: Value = parse(line, place, [])
        except Damaged as damage:
            where, words = place.at(line, damage.offset), damage.reason
        else:
            kind = "an object without a type" if isinstance(value, dict) else "no object"
            where, words = str(place), f"is no event: {kind}"
        return Problem(severity="error", where=where, message=f"{words}; the event is left out")


class _Known(msgspec.Struct):
    """An event by its type alone: the second try, when a field holds what it never should."""

    type: str
    run_id: str | None = None
    event_id: str | None = None


def _head(line: bytes) -> Event | None:
    try:
        return msgspec.json.decode(line, type=Event)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    try:
        known = msgspec.json.decode(line, type=_Known)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return Event(type=known.type, run_id=known.run_id, event_id=known.event_id)
