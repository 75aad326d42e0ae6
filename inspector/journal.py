"""Writing our own trace file: one record a line, appended, so that a killed writer leaves a file that opens.

What a machine or a store needs of a journal is the protocol `Journal`; `TraceFile` is the one on disk.
"""

import os
from typing import Protocol

from inspector.errors import UsageError
from inspector.model.records import JournalRecord
from inspector.model.values import to_json


class Journal(Protocol):
    """Where the records of a run go."""

    def append(self, record: JournalRecord, *, durable: bool = False) -> None:
        """Add a record; `durable`: return only when it would survive the loss of power."""

    def close(self) -> None:
        """No more records."""


class TraceFile:
    """A trace file being written. Raises UsageError when the file exists already."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise UsageError(path, "exists already: a run's trace is never written over") from None
        _sync_folder(os.path.dirname(os.path.abspath(path)))

    def append(self, record: JournalRecord, *, durable: bool = False) -> None:
        # One write per line: a kill leaves whole lines, but for the last.
        data = (to_json(record) + "\n").encode()
        while data:
            data = data[os.write(self._fd, data) :]
        if durable:
            os.fdatasync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _sync_folder(path: str) -> None:
    """The file's name too must survive the loss of power."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
