"""One JSON document, split but not decoded.

An object is cut into its fields, and a field that is a list into its elements, as spans of the text; each
is parsed when somebody looks. So a run with 400,000 messages costs sixteen bytes a message, not a tree of
objects.
"""

import contextlib
import json
import mmap
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.jsontext import NOTES, Damaged, Place, parse
from inspector.formats.spans import Spans, Text
from inspector.model.lazy import Lazy
from inspector.model.run import Problem
from inspector.model.text import clean
from inspector.model.values import Value

if TYPE_CHECKING:
    from inspector.formats.reader import Probe

WHOLE_LIMIT = 4 << 20
"""Bytes up to which a document is parsed once at opening, so that all its problems are known."""
FIELDS = 10_000
"""Fields of one object that are told apart."""
ELEMENT = 80
"""Bytes that an element of a long list has on average at least: more elements are not told apart, so that
what is kept of a list stays a fraction of its text."""
SHORT = 100_000
"""Elements that any list may have."""
BLOCK = 64 << 10
"""Bytes between two places of which the line is remembered."""
BATCH = 256 << 10
"""Bytes that are scanned between two reports of progress."""


class Fields:
    """A JSON object, cut into its fields: each is parsed every time that it is asked for."""

    def __init__(self, text: "_Text", begin: int) -> None:
        self._text = text
        self._spans: dict[str, tuple[int, int]] = {}
        try:
            for key, at, start, end in text.spans.fields(begin):
                self._add(key, at, start, end)
                if len(self._spans) >= FIELDS:
                    text.note(at, f"an object of more than {FIELDS} fields: the rest is not looked at")
                    break
        except Damaged as damage:
            text.damaged(damage)

    def _add(self, raw: bytes, at: int, start: int, end: int) -> None:
        try:
            key = clean(json.loads(raw.decode(errors="runinspect.visible"), strict=False))
        except ValueError:
            key = clean(raw[1:-1].decode(errors="replace"))
        if key in self._spans:
            self._text.doubled(at, key)
        self._spans[key] = (start, end)

    def __contains__(self, key: str) -> bool:
        return key in self._spans

    @property
    def names(self) -> list[str]:
        """The keys, in their order."""
        return list(self._spans)

    def get(self, key: str, default: Value = None) -> Value:
        """The value of a field; what could be read of it, when it breaks off."""
        return self._text.parse(*self._spans[key]) if key in self._spans else default

    def size(self, key: str) -> int:
        """The length of a field's text in bytes; 0 for one that there is not."""
        begin, end = self._spans.get(key, (0, 0))
        return end - begin

    def raw(self, key: str) -> bytes:
        """The text of a field; b"" for one that there is not."""
        begin, end = self._spans.get(key, (0, 0))
        return self._text.read(begin, end)

    def where(self, key: str) -> str:
        """The place of a field, or of the whole document when it is not there."""
        return str(self._text.place(self._spans.get(key, (0, 0))[0]))

    def elements(self, key: str) -> "Elements | None":
        """A field that is a list, not yet scanned; None for anything else."""
        begin, end = self._spans.get(key, (0, 0))
        return Elements(self._text, begin, end) if self._text.read(begin, begin + 1) == b"[" else None

    def items(self, key: str) -> Sequence[Value]:
        """The elements of a field that is a list, each parsed when it is asked for; () for anything
        else."""
        elements = self.elements(key)
        if elements is None:
            return ()
        for _ in elements.scan():
            pass
        return elements

    def inside(self, key: str) -> "Fields | None":
        """A field that is an object, cut in its turn; None for anything else."""
        begin, _ = self._spans.get(key, (0, 0))
        return Fields(self._text, begin) if self._text.read(begin, begin + 1) == b"{" else None


class Document(Fields):
    """A JSON object in a file. Problems that are met while reading are added to `problems`. A document
    that breaks off (`torn`) or is damaged is read up to there. Raises Damaged when it is no object."""

    def __init__(self, file: File) -> None:
        self.file = file
        text = _Text(file)
        begin = text.spans.start()
        if text.read(begin, begin + 1) != b"{":
            raise Damaged(begin, "is no JSON object")
        super().__init__(text, begin)

    @property
    def problems(self) -> list[Problem]:
        return self._text.problems

    @property
    def torn(self) -> bool:
        """Whether the text breaks off or is damaged, as far as is known."""
        return self._text.torn

    def close(self) -> None:
        """Give back the copy of a large file."""
        self._text.close()
        self.file.close()


def document_of(probe: "Probe") -> Document:
    """The document in a file. Raises UnreadableError when it is no object."""
    try:
        return Document(probe.file)
    except Damaged as damage:
        place = Place(probe.file.label, 1, probe.file.start).at(probe.head, damage.offset)
        raise UnreadableError(probe.path, f"{place}: {damage.reason}") from damage


class Elements(Lazy[Value]):
    """The elements of a list, as far as `scan` has come."""

    def __init__(self, text: "_Text", begin: int, end: int) -> None:
        self._text, self._begin, self._end = text, begin, end
        self._starts, self._ends = array("Q"), array("Q")
        self._walk: Iterator[tuple[int, int]] | None = None

    @property
    def size(self) -> int:
        """The length of the list's text in bytes."""
        return self._end - self._begin

    @property
    def empty(self) -> bool:
        """Whether the list has no element; known without a scan."""
        return self._text.spans.is_empty(self._begin)

    def scan(self) -> Iterator[tuple[int, int]]:
        """Find the elements; yields (bytes scanned, bytes in all) after each batch, and can be left and taken
        up again."""
        if self._walk is None:
            self._walk = self._scan()
        # No `yield from`: leaving this must not end the walk.
        for progress in self._walk:  # noqa: UP028
            yield progress

    def _scan(self) -> Iterator[tuple[int, int]]:
        size = self.size
        following = self._begin + BATCH
        most = SHORT + size // ELEMENT
        try:
            for begin, end in self._text.spans.elements(self._begin):
                self._starts.append(begin)
                self._ends.append(end)
                if end > following:
                    yield end - self._begin, size
                    following = end + BATCH
                if len(self._starts) >= most:
                    self._text.note(begin, f"a list of more than {most} elements: the rest is not looked at")
                    return
        except Damaged as damage:
            self._text.damaged(damage)

    def __len__(self) -> int:
        return len(self._starts)

    def item(self, at: int) -> Value:
        return self._text.parse(*self._span(at))

    def raw(self, index: int) -> bytes:
        """The text of an element."""
        return self._text.read(*self._span(index))

    def where(self, index: int) -> str:
        """The place of an element."""
        return str(self._text.place(self._starts[index]))

    def _span(self, index: int) -> tuple[int, int]:
        return self._starts[index], self._ends[index]


class _Text:
    """The text of a document, what is wrong with it, and where."""

    def __init__(self, file: File) -> None:
        self.label, self.offset = file.label, file.start
        self.problems: list[Problem] = []
        self.torn = False
        self._told: set[tuple[str, str]] = set()
        self._lines = array("Q", [0])
        """How many lines begin before each block, as far as somebody asked."""
        text = file.read(file.start, file.size) if file.size <= WHOLE_LIMIT else mapped(file)
        self.text: Text = text
        self._checked = isinstance(text, bytes)
        if isinstance(text, bytes):
            try:
                parse(text, Place(self.label, 1, self.offset), self.problems)
            except Damaged as damage:
                self.damaged(damage)
                # Behind damage nothing is what it seems: a lost quote turns texts into structure.
                self.text = text[: damage.offset]
                self.torn = True
        self.spans = Spans(self.text)

    def read(self, begin: int, end: int) -> bytes:
        return self.text[begin:end]

    def parse(self, begin: int, end: int) -> Value:
        text = self.read(begin, end)
        found: list[Problem] = []
        try:
            value = parse(text, Place(self.label), found)
        except Damaged as damage:
            if end >= len(self.text):
                self.damaged(Damaged(len(self.text), damage.reason))
            else:
                self.damaged(Damaged(begin + damage.offset, "not JSON" if damage.torn else damage.reason))
            value = damage.value
        if found and not self._checked:  # rare: only now look for the line that the part stands on
            found.clear()
            with contextlib.suppress(Damaged):
                parse(text, self.place(begin), found)
            for problem in found:
                self._tell(problem)
        return value

    def place(self, position: int) -> Place:
        block, text = position // BLOCK, self.text
        while len(self._lines) <= block:
            begin = (len(self._lines) - 1) * BLOCK
            self._lines.append(self._lines[-1] + text[begin : begin + BLOCK].count(b"\n"))
        line = self._lines[block] + text[block * BLOCK : position].count(b"\n") + 1
        return Place(self.label, line, self.offset + position)

    def doubled(self, position: int, key: str) -> None:
        """An object gives a key twice; the reading of the whole has told so already."""
        if not self._checked:
            self.note(position, f"the key {key!r} is given twice; the last one counts")

    def note(self, position: int, message: str) -> None:
        self._tell(Problem(severity="warning", where=str(self.place(position)), message=message))

    def damaged(self, damage: Damaged) -> None:
        at_end = damage.torn or damage.offset >= len(self.text)
        if not (at_end and self.torn):
            message = f"{damage.reason}; what is before it is shown"
            self._tell(Problem(severity="error", where=str(self.place(damage.offset)), message=message))
        self.torn = self.torn or at_end

    def _tell(self, problem: Problem) -> None:
        key = (problem.where, problem.message)
        if key not in self._told and len(self._told) < NOTES:
            self._told.add(key)
            self.problems.append(problem)

    def close(self) -> None:
        self.spans.close()
        if isinstance(self.text, mmap.mmap):
            with contextlib.suppress(BufferError):
                self.text.close()


def mapped(file: File) -> Text:
    """A file's text behind its mark, from a private copy without a name: a file that is cut short while it is mapped
    would end the process."""
    with tempfile.TemporaryFile() as copy:
        for _, piece in file.chunks(file.start):
            copy.write(piece)
        copy.flush()
        return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) if copy.tell() else b""
