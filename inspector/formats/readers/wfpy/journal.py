"""The firing journal, line by line: `run.wf-journal.jsonl`.

A header, then a line per completed leaf firing, flushed one by one, so a killed run leaves whole lines and at
most one torn one. A run id used twice leaves two headers: the last one begins the run that is shown. Lines are
decoded twice: at once for the few columns the rebuilding of queues needs, with tokens left as the text they
are; in full only when somebody looks.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any

import msgspec

from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.lines import Lines
from inspector.formats.problems import Problems
from inspector.model.run import Problem
from inspector.model.values import Value

PIECES = 1 << 30
"""Line numbers from here on are pieces of damaged lines that are whole records."""

UNREAD = b"?"
"""Stands for the text of a token where the standard parser cannot give it back as it was."""

Count = Annotated[int, msgspec.Meta(ge=0)]
Text = bytes | None
"""A token as JSON text, or None where that is not known."""


class Entry(msgspec.Struct, rename="camel"):
    """What is needed of a line at once. A header line has `header` set, and nothing else."""

    actor: str = ""
    fire_count: int = 0
    seq: int | None = None
    replayed: bool = False
    consumed: list[tuple[str, Count, str]] | None = None
    produced: list[tuple[str, list[msgspec.Raw]]] | None = None
    not_replayable: str | None = None
    header: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    context: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    chat_history: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_quick = msgspec.json.Decoder(Entry)
_RECORD = re.compile(rb'\{"(?:header|actor)":')


def decode(line: bytes) -> Entry | None:
    """The line's columns, None when it takes the careful way. Costs about a microsecond."""
    try:
        entry = _quick.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return entry if entry.header is not msgspec.UNSET or entry.actor else None


def careful(line: bytes, place: Place, problems: list[Problem]) -> Entry:
    """The same for a line the quick decoder refuses: NaN, lone surrogates, long numbers, depth. Raises
    Damaged when it is no line of a journal."""
    value = parse(line, place, problems)
    if not isinstance(value, dict):
        raise Damaged(0, "is no object, so no firing")
    groups = value.get("produced")
    if isinstance(groups, list):
        try:
            exact = json.loads(line)["produced"]
        except (ValueError, RecursionError):
            exact = None
        value["produced"] = [_as_raw(group, exact[at] if exact else None) for at, group in enumerate(groups)]
    for name in ("header", "context", "chatHistory"):
        if name in value:
            value[name] = msgspec.Raw(b"0")
    try:
        entry = msgspec.convert(value, Entry)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Damaged(0, f"is no firing: {error}") from error
    if entry.header is msgspec.UNSET and not entry.actor:
        raise Damaged(0, "is no firing: it names no actor")
    return entry


def _as_raw(group: Any, exact: Any) -> Any:
    """A group of produced tokens with each token as text: from the same group as it stands in the file."""
    if not (isinstance(group, list) and len(group) == 2 and isinstance(group[1], list)):
        return group
    texts = [UNREAD] * len(group[1]) if exact is None else [json.dumps(token).encode() for token in exact[1]]
    return [group[0], list(map(msgspec.Raw, texts))]


class Journal:
    """The lines of a journal file. Numbers of lines are from 0, and go on at PIECES for whole records found
    on damaged lines."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.lines = Lines(file, self._seen)
        self.problems: list[Problem] = Problems()
        self.broken: dict[int, list[int]] = {}
        """Damaged lines, each with its pieces that may be whole."""
        self._batch: tuple[list[bytes], int] = ([], 0)
        self._next = 0
        self._pieces: list[tuple[int, int, int]] = []
        self.tail: Problem | None = None

    def _seen(self, lines: list[bytes], first: int) -> None:
        self._batch = (lines, first)

    def read(self, batch: int = 1 << 16) -> Iterator[list[tuple[int, bytes]]]:
        """Batches of (line number, line) of what was not read yet, up to the end of the file. A last line
        without its end comes last, and again when it has grown."""
        self.tail = None
        for _ in self.lines.scan(batch):
            lines, first = self._batch
            if not self.lines.finished(first + len(lines) - 1):
                lines = lines[:-1]
            fresh = [(first + at, line) for at, line in enumerate(lines) if first + at >= self._next]
            self._next = max(self._next, first + len(lines))
            yield fresh
        last = len(self.lines) - 1
        if last >= self._next:
            yield [(last, self.lines.read(last))]

    def again(self, start: int, batch: int = 1 << 16) -> Iterator[list[tuple[int, bytes]]]:
        """The same from line `start` on, for lines that were read before."""
        starts = self.lines.starts
        while start < self._next:
            stop = start + 1
            while stop < self._next and starts[stop] - starts[start] < batch:
                stop += 1
            end = starts[stop] if stop < len(starts) else self.lines.scanned
            piece = self.file.read(starts[start], end - starts[start]).split(b"\n")
            yield list(enumerate(piece[: stop - start], start))
            start = stop

    def entries(self, number: int, line: bytes) -> Sequence[tuple[int, Entry]]:
        """The records of a line: one, none of a blank or damaged line, several where whole ones stand on a
        damaged line. Damage is added to the problems, that of an unfinished last line to `tail`."""
        entry = decode(line)
        if entry is None:
            entry = self._careful(number, line) if line.strip() else None
            if entry is None:
                pieces = [(piece, decode(self.text(piece))) for piece in self.broken.get(number, ())]
                return [(piece, found) for piece, found in pieces if found is not None]
        if number >= self._next:
            self._next = number + 1
        return ((number, entry),)

    def _careful(self, number: int, line: bytes) -> Entry | None:
        if number in self.broken:
            return None
        place = self.lines.place(number)
        try:
            return careful(line.rstrip(b"\r"), place, self.problems)
        except Damaged as damage:
            where = place.at(line, min(damage.offset, len(line)))
            problem = Problem(severity="error", where=where, message=f"{damage.reason}; left out")
        if self.lines.finished(number):
            self.problems.append(problem)
            self._break(number, line)
        else:
            self.tail = problem
        return None

    def _break(self, number: int, line: bytes) -> None:
        """Keep which pieces of a damaged line may be whole records."""
        starts = [match.start() for match in _RECORD.finditer(line)][:64]
        pieces = self.broken[number] = []
        for begin, end in pairwise([*starts, len(line)]):
            self._pieces.append((number, self.lines.starts[number] + begin, len(line[begin:end].rstrip())))
            pieces.append(PIECES + len(self._pieces) - 1)

    def text(self, number: int) -> bytes:
        """A line, or piece of one, as it stands."""
        if number >= PIECES:
            _, offset, length = self._pieces[number - PIECES]
            return self.file.read(offset, length)
        return self.lines.read(number)

    def place(self, number: int) -> Place:
        """Where it stands."""
        if number >= PIECES:
            line, offset, _ = self._pieces[number - PIECES]
            return Place(self.file.label, line + 1, offset)
        return self.lines.place(number)

    def value(self, number: int) -> dict[str, Value]:
        """A line in full; {} where it is gone by now."""
        try:
            value = parse(self.text(number), self.place(number), self.problems)
        except Damaged:
            return {}
        return value if isinstance(value, dict) else {}

    def line_of(self, number: int) -> int:
        """The line that a record stands on: itself, unless it is a piece of one."""
        return self._pieces[number - PIECES][0] if number >= PIECES else number

    def entry(self, number: int) -> Entry | None:
        """The columns of a record, None where it is gone by now."""
        text = self.text(number)
        try:
            return decode(text) or careful(text, self.place(number), [])
        except Damaged:
            return None

    def token(self, number: int, ordinal: int) -> Text:
        """The text of a token by its place among all that the line's firing made, None where it cannot be
        given back."""
        entry = self.entry(number)
        found = _nth([tokens for _, tokens in entry.produced or ()], ordinal) if entry is not None else None
        return None if found is None or bytes(memoryview(found)) == UNREAD else bytes(memoryview(found))

    def token_value(self, number: int, ordinal: int) -> Value:
        """The same as a value, for one whose text cannot be given back."""
        groups = self.value(number).get("produced")
        return _nth([group[1] for group in groups], ordinal) if isinstance(groups, list) else None


def _nth(groups: Sequence[Sequence[Any]], ordinal: int) -> Any:
    for tokens in groups:
        if ordinal < len(tokens):
            return tokens[ordinal]
        ordinal -= len(tokens)
    return None
