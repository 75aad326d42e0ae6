"""The large values of one of our journals, read from where they stand apart from its lines."""

import os
from collections.abc import Callable, Iterator
from typing import Protocol

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.model.large import NAMED, folder, named, referred, whole
from inspector.model.run import Problem
from inspector.model.values import Value, clean_value, untag

EACH, ALL = 4 << 20, 16 << 20
"""Bytes of one value, and of all of one state, up to which they are read; of what is larger the reference is shown."""


class Apart(Protocol):
    """Where large values stand. `label` is its clean short name."""

    label: str

    def digests(self) -> Iterator[str]:
        """Those of all that are there."""

    def read(self, digest: str, length: int | None) -> bytes:
        """Its bytes, at most `length`. Raises UnreadableError."""


class Beside:
    """The files beside the trace at `path`."""

    def __init__(self, path: str) -> None:
        self._folder = folder(path)
        self.label = os.path.basename(self._folder)

    def digests(self) -> Iterator[str]:
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return
        yield from (found[1] for found in map(NAMED.fullmatch, names) if found)

    def read(self, digest: str, length: int | None) -> bytes:
        file = File(os.path.join(self._folder, named(digest)))
        try:
            return file.read(0, file.size if length is None else length)
        finally:
            file.close()


class Nowhere:
    """Of a trace that came without the files beside it."""

    label = "stdin"

    def digests(self) -> Iterator[str]:
        yield from ()

    def read(self, digest: str, length: int | None) -> bytes:
        raise UnreadableError(self.label, "its file cannot be read from here")


class LargeValues:
    """The large values that stand `apart`; what is wrong with one is told to `met`."""

    def __init__(self, apart: Apart, met: Callable[[Problem], None]) -> None:
        self._apart, self._met = apart, met

    def digests(self) -> Iterator[str]:
        """Those of all values."""
        return self._apart.digests()

    def data(self, digest: str) -> bytes | None:
        """The bytes of a value; None where they are not, or not whole."""
        try:
            return self._read(digest, None)
        except UnreadableError as error:
            self._tell(digest, error.reason)
            return None

    def value(self, digest: str) -> Value:
        """A value; None where it is not, or not whole."""
        try:
            return self._parsed(digest, self._read(digest, None))
        except (UnreadableError, Damaged) as error:
            self._tell(digest, error.reason)
            return None

    def loader(self) -> Callable[[Value], Value]:
        """Gives the value of each reference of one state; the reference itself for what is too large or cannot be
        read."""
        left = ALL

        def load(reference: Value) -> Value:
            nonlocal left
            digest, size = referred(reference), reference.get("size")
            if digest is None or not isinstance(size, int) or not 0 <= size <= min(EACH, left):
                return reference
            left -= size
            try:
                return self._parsed(digest, self._read(digest, size + 1))
            except (UnreadableError, Damaged) as error:
                self._tell(digest, error.reason)
                return reference

        return load

    def _tell(self, digest: str, reason: str) -> None:
        where = f"{self._apart.label}/{named(digest)}"
        self._met(Problem(severity="error", where=where, message=f"a large value is not shown: {reason}"))

    def _read(self, digest: str, length: int | None) -> bytes:
        data = self._apart.read(digest, length)
        if not whole(data, digest):
            raise UnreadableError(self._apart.label, "the file does not hold what its name says")
        return data

    def _parsed(self, digest: str, data: bytes) -> Value:
        return clean_value(untag(parse(data, Place(named(digest)), [])))
