"""The large values of a run in files beside its trace: written when a token is put, read when it is taken. A file would
survive the loss of power before any record names it."""

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable

from inspector.dataflow.codec import Unreadable
from inspector.errors import JournalError
from inspector.journal import sync_folder
from inspector.model.large import LIMIT, folder, named, reference, referred, whole
from inspector.model.values import Value, to_json
from inspector.runner.restore import decode

KEPT = 4
"""Values that are kept in memory, since what was put is often taken next."""


Stored = Callable[[str], bytes | None]
"""Gives the large values of a run in a store, by digest."""


class LargeValues:
    """The large values of a run. `trace` None: it writes none. `sources` are the traces that it goes on from; `stored`
    is where else they are."""

    def __init__(self, trace: str | None, sources: Iterable[str] = (), stored: Stored | None = None) -> None:
        self._folder = folder(trace) if trace is not None else None
        self._sources = [folder(source) for source in sources]
        self._stored = stored
        self._kept: OrderedDict[str, Value] = OrderedDict()

    def keep(self, value: Value) -> Value:
        """What is to stand for a value: itself, or a reference where it is large. Raises JournalError."""
        if self._folder is None or not isinstance(value, str | list | dict):
            return value
        if isinstance(value, str) and len(value) * 6 < LIMIT:
            return value
        data = to_json(value).encode()
        if len(data) < LIMIT:
            return value
        found = reference(value, data)
        self._write(found["sha256"], data)
        self._remember(found["sha256"], value)
        return found

    def whole(self, value: Value) -> Value:
        """The value that a reference stands for; any other is itself. Raises Unreadable for a file that is missing or
        does not hold what was written to it."""
        digest = referred(value)
        if digest is None:
            return value
        if digest not in self._kept:
            self._remember(digest, decode(self._read(digest).decode()))
        self._kept.move_to_end(digest)
        return self._kept[digest]

    def bring(self, digests: Iterable[str]) -> None:
        """Have these values here too, so that the new trace is enough by itself. Raises Unreadable and JournalError."""
        for digest in digests:
            if self._folder is not None and not os.path.exists(self._path(self._folder, digest)):
                self._write(digest, self._read(digest))

    def _remember(self, digest: str, value: Value) -> None:
        self._kept[digest] = value
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _read(self, digest: str) -> bytes:
        places = [place for place in (self._folder, *self._sources) if place is not None]
        wrong = f"its file {named(digest)} is not in {', '.join(places) or 'any folder: the trace has none'}"
        if self._stored is not None:
            data = self._stored(digest)
            if data is not None and whole(data, digest):
                return data
            wrong = f"{digest} is not in the store, or is damaged"
        for place in places:
            path = self._path(place, digest)
            try:
                with open(path, "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                continue
            except OSError as error:
                wrong = f"{path}: {error.strerror}"
                continue
            if whole(data, digest):
                return data
            wrong = f"{path} is damaged: it does not hold what its name says"
        raise Unreadable(f"a large value cannot be read: {wrong}")

    def _write(self, digest: str, data: bytes) -> None:
        assert self._folder is not None
        path = self._path(self._folder, digest)
        if os.path.exists(path):
            return
        try:
            if not os.path.isdir(self._folder):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(self._folder, mode=0o700)
                sync_folder(os.path.dirname(os.path.abspath(self._folder)))
            part = f"{path}.{os.getpid()}.part"
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                with open(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(fd)
                os.replace(part, path)
            except OSError:
                os.unlink(part)
                raise
            sync_folder(self._folder)
        except OSError as error:
            raise JournalError(path, error.strerror or "cannot be written to") from error

    @staticmethod
    def _path(place: str, digest: str) -> str:
        return os.path.join(place, named(digest))
