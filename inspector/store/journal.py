"""The journal of a durable run: records go to the store under a claim, which is renewed as long as it is open.

A new run is in the store once its first checkpoint is: what is in the store can go on. Whoever loses the claim
is told at its next record, before anything of it is written.
"""

import contextlib
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from inspector.errors import StoreError
from inspector.model.records import Checkpoint, End, Header, JournalRecord, Operation
from inspector.model.run import Definition
from inspector.model.stored import Event, Mode, StoredRun
from inspector.process import born, program
from inspector.store.interface import Backend, NewRun, Wanted, Written

LEASE_SECONDS = 300.0
BEATS = 3
"""Renewals in the length of a lease."""

STOPS = frozenset({"stopped", "tools"})
"""Reasons of an end that its process chose: where nothing is under way, the next one goes on as if it were the same."""

_open: set[str] = set()
"""The tokens of the claims that this process drives under."""


def driven_here(token: str) -> bool:
    """Whether a claim is one that this process drives under."""
    return token in _open


class StoreJournal:
    """A Journal in a store. A new run is created and claimed with its first checkpoint; a run that goes on was
    taken before. `wrote` is called when there may be new events."""

    def __init__(
        self,
        backend: Backend,
        key: str,
        clock: Callable[[], int],
        *,
        lease: float = LEASE_SECONDS,
        about: dict[str, Any] | None = None,
        sink: bool = False,
    ) -> None:
        self.backend, self.key, self.clock = backend, key, clock
        self.run: StoredRun | None = None
        """The row as it was claimed; None before the header."""
        self.ended: End | None = None
        self.wrote: Callable[[], None] = lambda: None
        self._first: list[JournalRecord] = []
        self._lease, self._about, self._sink = max(int(lease * 1000), 1), about or {}, sink
        self._token = secrets.token_hex(16)
        self._revision = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._lost: StoreError | None = None
        self._beat: threading.Thread | None = None

    # The claim

    def take(
        self, run: StoredRun, *, mode: Mode, over: str | None = None, definition: Definition | None = None
    ) -> StoredRun:
        """Claim a run as it was read; `definition` is what the code is from here on, where it is another. Raises
        StoreError when the run is not what was read any more."""
        now = self.clock()
        pid = program().pid or 0
        wanted = Wanted(
            token=self._token,
            step=run.steps + 1,
            revision=run.revision,
            mode=mode,
            now=now,
            expires=now + self._lease,
            program=program(),
            born=born(pid),
            over=over,
            definition=definition,
        )
        # Before the claim stands in the store: another thread of this process may read it at once.
        _open.add(self._token)
        try:
            self.run = self.backend.claim(self.key, wanted)
        except BaseException:
            _open.discard(self._token)
            raise
        self._revision = self.run.revision
        self._beat = threading.Thread(target=self._renew, name=f"lease of {self.key}", daemon=True)
        self._beat.start()
        return self.run

    def over(self, run: StoredRun) -> None:
        """The run has ended, and nobody holds it."""
        self.run, self._revision = run, run.revision
        self.ended = End(status=run.status, reason=run.reason, final=run.final)

    def _renew(self) -> None:
        while not self._stop.wait(self._lease / 1000 / BEATS):
            try:
                self.renew()
            except StoreError as error:
                if error.code in ("claim_lost", "run_absent"):
                    self._lost = error
                    return
                # The store may work again before the lease has passed.

    def renew(self) -> None:
        """Keep the claim for another lease. Raises StoreError `claim_lost`."""
        now = self.clock()
        self.backend.renew(self.key, self._token, now, now + self._lease)

    # The journal

    def append(self, *records: JournalRecord, durable: bool = False) -> None:
        """Add records, as one write. Raises StoreError when they cannot be written, or the claim is lost."""
        with self._lock:
            if self._lost is not None:
                raise self._lost
            if self.ended is not None:
                raise StoreError(self.key, "claim_lost", "the run was given back: nothing is written behind it")
            if self.run is None:
                self._first += records
                if any(isinstance(record, Checkpoint) for record in records):
                    self._create()
            elif isinstance(records[-1], End):
                self._end(records[-1], records)
            else:
                if any(isinstance(record, Operation) and record.status == "started" for record in records):
                    self.renew()
                self._revision = self.backend.progress(self._change(*records), durable=durable)
        self.wrote()

    def _create(self) -> None:
        header, *rest = self._first
        assert isinstance(header, Header)
        header = msgspec.structs.replace(header, key=self.key, **self._about)
        new = new_run(header, sink=self._sink)
        if not self.backend.create(new, (header, *rest), self.clock()):
            raise StoreError(self.key, "run_exists", "a run of that key is in the store: resume it")
        created = self.backend.read(self.key)
        if created is None:
            raise StoreError(self.key, "run_absent", "was deleted as it began")
        self.take(created, mode="continue")

    def _end(self, end: End, records: Sequence[JournalRecord]) -> None:
        """The run is over, or waits; the claim is given back with it."""
        change = self._change(*records)
        if end.final:
            self._revision = self.backend.finalize(change, end.status, end.reason)
        elif end.reason not in STOPS or not self._commit(change, end):
            self._revision = self.backend.suspend(change, end.status, end.reason)
        self.ended = end
        self._release()

    def _commit(self, change: Written, end: End) -> bool:
        """Whether the run could be given back as one of which nothing is to be recovered."""
        try:
            self._revision = self.backend.commit(change, end.status, end.reason)
        except StoreError as error:
            if error.code in ("step_conflict", "operation_invalid"):
                return False
            raise
        return True

    def _change(self, *records: JournalRecord) -> Written:
        token = None if self.ended is not None else self._token
        return Written(key=self.key, token=token, revision=self._revision, now=self.clock(), records=records)

    # Events

    def pending(self) -> list[Event]:
        """The events that were not delivered yet."""
        return list(self.backend.events(self.key, pending_only=True)) if self.run is not None else []

    def delivered(self, event: Event) -> None:
        """An event reached its sink."""
        with self._lock:
            self._revision = self.backend.deliver(self._change(), event.id, event.digest)

    def acknowledge(self) -> None:
        """The end of the run was taken in, and all of its events were delivered."""
        with self._lock:
            if self.ended is not None and self.ended.final and not self.pending():
                self._revision = self.backend.acknowledge(self._change())

    # The end

    def close(self) -> None:
        """No more records; a claim that is still held is given back, as far as the store lets it."""
        with self._lock:
            if self.run is not None and self.ended is None and self._lost is None:
                with contextlib.suppress(StoreError):
                    self.backend.suspend(self._change(), "interrupted", "stopped")
            self._release()

    def _release(self) -> None:
        self._stop.set()
        _open.discard(self._token)


def new_run(header: Header, *, sink: bool = False) -> NewRun:
    """The row that a header is the beginning of."""
    return NewRun(
        key=header.key or "",
        id=header.id,
        kind=header.kind,
        name=header.name,
        thread=header.thread or None,
        turn=header.turn or None,
        digest=header.definition.digest or (header.definition.graph.digest if header.definition.graph else None),
        parent=header.parent,
        sink=sink,
        metadata=header.metadata or {},
    )
