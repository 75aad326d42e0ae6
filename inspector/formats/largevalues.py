"""The large values of one of our traces, read from the files beside it."""

import os
from collections.abc import Callable

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.model.large import folder, referred, whole
from inspector.model.run import Problem
from inspector.model.values import Value, clean_value, untag

EACH, ALL = 4 << 20, 16 << 20
"""Bytes of one value, and of all of one state, up to which they are read; of what is larger the reference is shown."""


class LargeValues:
    """The large values of the trace at `path` (None: it has none); what is wrong with a file is told to `met`."""

    def __init__(self, path: str | None, met: Callable[[Problem], None]) -> None:
        self._folder, self._met = folder(path) if path is not None else None, met

    def loader(self) -> Callable[[Value], Value]:
        """Gives the value of each reference of one state; the reference itself for what is too large or cannot be
        read."""
        left = ALL

        def load(reference: Value) -> Value:
            nonlocal left
            digest, size = referred(reference), reference.get("size")
            if digest is None or self._folder is None or not isinstance(size, int) or not 0 <= size <= min(EACH, left):
                return reference
            left -= size
            try:
                return self._read(os.path.join(self._folder, f"{digest}.json"), digest, size)
            except (UnreadableError, Damaged) as error:
                where = f"{os.path.basename(self._folder)}/{digest}.json"
                self._met(Problem(severity="error", where=where, message=f"a large value is not shown: {error.reason}"))
                return reference

        return load

    def _read(self, path: str, digest: str, size: int) -> Value:
        file = File(path)
        try:
            data = file.read(0, size + 1)
        finally:
            file.close()
        if not whole(data, digest):
            raise UnreadableError(path, "the file does not hold what its name says")
        return clean_value(untag(parse(data, Place(file.label), [])))
