"""What a store of durable runs must do, whatever it is kept in: the operations of `Backend`.

Each operation is one transaction: it happens as a whole or, with a StoreError of a stable code, not at all.
A run is changed by whoever knows its `revision` (which each change raises by one) and, while it is claimed,
the claim's token; of two who try at once, one gets `revision_conflict`, `claim_lost` or `claim_active`. The
conformance suite in `tests/store` is the whole of what is asked: a backend passes it or is none. A new one is a line
in `tests/store/backends.py`; what records mean and what is refused it takes from `fold` and `rules`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from inspector.model.records import JournalRecord, Program
from inspector.model.run import Definition, Record, RunKind, RunLink, RunStatus
from inspector.model.stored import Event, Mode, OperationRow, StoredRun, StoredThread, StoredTurn

KEY_BYTES = 512
"""The longest key, in UTF-8."""


class NewRun(Record, frozen=True, kw_only=True):
    """A run to be created. `digest` is that of its definition; `sink`: its events are to be delivered."""

    key: str
    id: str
    kind: RunKind
    name: str | None = None
    thread: str | None = None
    turn: str | None = None
    digest: str | None = None
    parent: RunLink | None = None
    sink: bool = False
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


class Wanted(Record, frozen=True, kw_only=True):
    """Which claim is wanted: `step` the step that will be driven first, `revision` the one that was read;
    `over` the token of a claim that may be taken over though it holds."""

    token: str
    step: int
    revision: int
    mode: Mode
    now: int
    expires: int
    program: Program
    born: str = ""
    over: str | None = None
    definition: Definition | None = None
    """What the code is from here on, where somebody accepted another than before."""


class Written(Record, frozen=True, kw_only=True):
    """A change by whoever holds the claim `token` (None: nobody holds one) and read `revision`."""

    key: str
    token: str | None
    revision: int
    now: int
    records: tuple[JournalRecord, ...] = ()


class Filter(Record, frozen=True, kw_only=True):
    """Which runs are meant; None: any. `status` is the one that was written: a run whose holder is gone is `running`
    there still, and `Store.standing` says how it stands. `expired`: claimed, and the lease has passed at that time."""

    status: RunStatus | None = None
    kind: RunKind | None = None
    name: str | None = None
    thread: str | None = None
    expired: int | None = None
    limit: int | None = None
    """The newest so many."""


class Backend(Protocol):
    """The operations. Methods may be called from any thread, one at a time."""

    url: str

    def create(self, new: NewRun, records: Sequence[JournalRecord], now: int) -> bool:
        """A run at revision 0 and attempt 1, unclaimed; False when its key is taken. With a thread and a turn, it is
        that turn from then on. Raises `key_invalid`, `thread_absent`, `thread_archived` and `turn_exists`."""

    def claim(self, key: str, wanted: Wanted) -> StoredRun:
        """Revision +1; a recovery that is not the run's first claim also attempt +1, and what was started is
        ambiguous from then on. From the second claim on an `attempt` record is written. Raises `run_absent`,
        `run_final`, `claim_active`, `claim_mode_invalid` (an expired or suspended run is only recovered),
        `step_conflict` and `revision_conflict`."""

    def renew(self, key: str, token: str, now: int, expires: int) -> None:
        """Only the lease. Raises `claim_lost` when it has passed, or is somebody else's."""

    def progress(self, change: Written, *, durable: bool = True) -> int:
        """Records behind the journal's end; returns the revision. `durable`: survives the loss of power.
        Raises `claim_lost` (also when nobody holds the run), `revision_conflict`, `run_final`,
        `operation_invalid`, `record_invalid`."""

    def suspend(self, change: Written, status: RunStatus, reason: str | None) -> int:
        """The claim is given up; the run waits for somebody, or was cut short, and can be recovered. Raises
        as `progress` does, and `status_invalid`."""

    def commit(self, change: Written, status: RunStatus, reason: str | None) -> int:
        """The claim is given up by a process that stopped where it wanted, behind a whole step: the run may be
        continued, and nothing is to be recovered. Raises as `suspend` does, `step_conflict` when no step was
        made, and `operation_invalid` while something started has no end."""

    def finalize(self, change: Written, status: RunStatus, reason: str | None) -> int:
        """The run is over for good, and unclaimed; its last events are pending in the same write. Raises as
        `progress` does, and `status_invalid`."""

    def deliver(self, change: Written, event: str, digest: str) -> int:
        """An event was delivered. Raises as `progress` does, `event_absent` (also when it was delivered
        before) and `event_conflict` (another digest)."""

    def acknowledge(self, change: Written) -> int:
        """The run's end was taken in. Raises `not_final`, `events_pending`, `acknowledged`,
        `revision_conflict`."""

    def delete(self, key: str) -> bool:
        """Everything of a run is gone; the only removal. False when there is none."""

    def read(self, key: str) -> StoredRun | None:
        """A run's row."""

    def runs(self, wanted: Filter) -> Sequence[StoredRun]:
        """The rows, oldest first."""

    def lines(self, key: str, begin: int = 0) -> Iterator[bytes]:
        """The lines of a run's journal, with their ends, from the byte `begin` on, which begins a line."""

    def operations(self, key: str, *, open_only: bool = False) -> Sequence[OperationRow]:
        """The operations of a run, in the order of their first records; `open_only`: without an end."""

    def events(self, key: str, *, pending_only: bool = False) -> Sequence[Event]:
        """The events of a run, in their order."""

    def add_once(self, session: str, commit: str, digest: str, items: Sequence[str], now: int) -> bool:
        """Items behind a session's end, unless the commit is there already (False). Raises
        `session_conflict` when it is there with another digest."""

    def session(self, session: str) -> Sequence[str]:
        """The items of a session, in their order."""

    def put_thread(self, thread: str, metadata: dict[str, Any], now: int) -> bool:
        """A new thread; False when it is there."""

    def archive(self, thread: str, archived: bool, now: int) -> None:
        """A thread takes no more turns, or does again. Raises `thread_absent`."""

    def thread(self, thread: str) -> StoredThread | None:
        """A thread's row."""

    def turns(self, thread: str) -> Sequence[StoredTurn]:
        """The turns of a thread, oldest first."""

    def adopt(
        self,
        row: StoredRun,
        lines: Sequence[bytes],
        operations: Sequence[OperationRow],
        large: Iterable[tuple[str, bytes]] = (),
    ) -> bool:
        """A run from elsewhere, unclaimed, with its journal as it stands, and the large values that stand apart from
        it, by digest; False when its key is taken."""

    def large(self, key: str, digest: str) -> bytes | None:
        """A large value of a run."""

    def digests(self, key: str) -> Sequence[str]:
        """Those of all large values of a run, in their order."""

    def close(self) -> None:
        """Give back what is open."""
