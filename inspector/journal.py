"""Writing a run's journal: what is asked of one, and our own trace file.

What a machine needs of a journal is the protocol `Journal`; `TraceFile` is the one on disk: one record a line,
appended, so that a killed writer leaves a file that opens. `RunStore` is what the runner asks of a store of
durable runs.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from inspector.errors import JournalError, UsageError
from inspector.model.records import End, JournalRecord
from inspector.model.run import Definition
from inspector.model.stored import Claim, Event, OperationRow, StoredRun
from inspector.model.values import json_lines


class Journal(Protocol):
    """Where the records of a run go."""

    def append(self, *records: JournalRecord, durable: bool = False) -> None:
        """Add records, as one; `durable`: return only when they would survive the loss of power."""

    def close(self) -> None:
        """No more records."""


@runtime_checkable
class ClaimedJournal(Journal, Protocol):
    """The journal of a durable run, under a claim. `run` is the row as it was claimed (None: not yet), `ended`
    what was written as its end; `wrote` is called when there may be new events."""

    run: StoredRun | None
    ended: End | None
    wrote: Callable[[], None]

    def pending(self) -> Sequence[Event]:
        """The events that were not delivered yet, in their order."""

    def delivered(self, event: Event) -> None:
        """An event reached its sink. Raises StoreError."""

    def acknowledge(self) -> None:
        """The run's end was taken in, if it has one for good and all of its events were delivered."""


class RunStore(Protocol):
    """Where durable runs are kept, as the runner sees it. Everything here raises StoreError."""

    @property
    def url(self) -> str:
        """Where it is."""

    def begin(
        self, key: str, *, thread: str | None, turn: str | None, metadata: Mapping[str, Any] | None, sink: bool
    ) -> ClaimedJournal:
        """The journal of a new run."""

    def read(self, key: str) -> StoredRun:
        """A run's row."""

    def owner(self, run: StoredRun) -> Claim | None:
        """Who drives a run now."""

    def take(self, run: StoredRun, *, by_force: bool, definition: Definition | None) -> ClaimedJournal:
        """Claim a run as it was read; `by_force`: from somebody who holds it too."""

    def over(self, run: StoredRun) -> ClaimedJournal:
        """The journal of a run that has ended for good: what is still owed to its events."""

    def journal(self, key: str) -> list[bytes]:
        """The lines of a run's journal."""

    def large(self, key: str, digest: str) -> bytes | None:
        """A large value of a run that stands apart from its journal."""

    def operations(self, key: str) -> Sequence[OperationRow]:
        """The operations of a run, in the order in which they began."""


def refuse_existing(path: str) -> None:
    """Raises UsageError for a trace that exists already."""
    if os.path.lexists(path):
        raise UsageError(path, "exists already: a run's trace is never written over")


class TraceFile:
    """A trace file being written. There is none before its first records, so that a kill leaves no empty one. Raises
    UsageError when a file is there already, or then."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd: int | None = None
        refuse_existing(path)

    def append(self, *records: JournalRecord, durable: bool = False) -> None:
        # One write: a kill leaves whole lines, but for the last.
        data = json_lines(records)
        new = self._fd is None
        fd = self._fd = self._created() if self._fd is None else self._fd
        try:
            while data:
                data = data[os.write(fd, data) :]
            if durable:
                os.fdatasync(fd)
            if new:
                sync_folder(os.path.dirname(os.path.abspath(self.path)))
        except OSError as error:
            raise JournalError(self.path, error.strerror or "cannot be written to") from error

    def _created(self) -> int:
        try:
            return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            refuse_existing(self.path)
            raise

    def close(self) -> None:
        if self._fd is not None and self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def sync_folder(path: str) -> None:
    """The file's name too must survive the loss of power."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
