"""One large JSON document, split but not decoded.

The top object is cut into its fields, and a field that is a list into its elements, as views of the
text; each is parsed when somebody looks. So a run with 400,000 messages costs a view a message, not a
tree of objects.
"""

import mmap
import tempfile
from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.model.run import Problem
from inspector.model.values import Value

WHOLE_LIMIT = 4 << 20
"""Bytes up to which a document is parsed at once, so that all its problems are known at opening."""


class Document:
    """A JSON object in a file. Problems that are met while reading are added to `problems`. A document
    that breaks off is read as far as it goes. Raises Damaged when it is no object."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._values: dict[str, Value] | None = None
        self._parts: dict[str, msgspec.Raw] = {}
        if file.size > WHOLE_LIMIT:
            self._text: bytes | mmap.mmap = _mapped(file)
            if self._split():
                return
        text = file.read(file.start, file.size)
        self._text = text
        place = Place(file.label, 1, file.start)
        try:
            value = parse(text, place, self.problems)
        except Damaged as damage:
            if not isinstance(damage.value, dict):
                raise
            value = damage.value
            where = place.at(text, damage.offset)
            self.problems.append(
                Problem(severity="error", where=where, message=f"{damage.reason}; what is before it is shown")
            )
        if not isinstance(value, dict):
            raise Damaged(0, "is no JSON object")
        self._values = value

    def __contains__(self, key: str) -> bool:
        return key in (self._parts if self._values is None else self._values)

    def keys(self) -> list[str]:
        return list(self._parts if self._values is None else self._values)

    def get(self, key: str, default: Value = None) -> Value:
        """The value of a field, parsed now if it was not yet."""
        if self._values is not None:
            return self._values.get(key, default)
        if key not in self._parts:
            return default
        return self._parse(self._parts[key])

    def items(self, key: str) -> Sequence[Value]:
        """The elements of a field that is a list, each parsed when it is asked for; () for anything
        else."""
        if self._values is not None:
            found = self._values.get(key)
            return found if isinstance(found, list) else ()
        if key not in self._parts:
            return ()
        try:
            return Elements(self, msgspec.json.decode(memoryview(self._parts[key]), type=list[msgspec.Raw]))
        except msgspec.DecodeError:
            return ()

    def texts(self, key: str) -> Sequence[msgspec.Raw] | None:
        """The same as undecoded texts, for a quick look at one field of each; None where the document
        was parsed as a whole."""
        items = self.items(key)
        return items.parts if isinstance(items, Elements) else None

    def _split(self) -> bool:
        try:
            view = memoryview(self._text)[self.file.start :]
            self._parts = msgspec.json.decode(view, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return False
        return True

    def _parse(self, part: msgspec.Raw) -> Value:
        text = bytes(memoryview(part))
        known = len(self.problems)
        value = parse(text, Place(self.file.label), self.problems)
        if len(self.problems) > known:  # rare: only now look for where the part stands
            offset = max(self._text.find(text), 0)
            line = self._text[:offset].count(b"\n") + 1
            del self.problems[known:]
            parse(text, Place(self.file.label, line, offset), self.problems)
        return value


class Elements(Sequence[Value]):
    """The elements of a long list, parsed one by one; `parts` are their texts."""

    def __init__(self, document: Document, parts: list[msgspec.Raw]) -> None:
        self._document, self.parts = document, parts

    def __len__(self) -> int:
        return len(self.parts)

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Value]: ...
    def __getitem__(self, index: int | slice) -> Value:
        if isinstance(index, slice):
            return [self._document._parse(part) for part in self.parts[index]]
        return self._document._parse(self.parts[index])

    def __iter__(self) -> Iterator[Value]:
        return map(self._document._parse, self.parts)


def _mapped(file: File) -> mmap.mmap:
    """The file's bytes, from a private copy without a name: a file that is cut short while it is
    mapped would end the process."""
    with tempfile.TemporaryFile() as copy:
        for _, piece in file.chunks(0):
            copy.write(piece)
        copy.flush()
        return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ)
