"""The store as its users hold it, over a backend."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from inspector.errors import StoreError
from inspector.model.digest import digest
from inspector.model.run import Definition, RunStatus
from inspector.model.stored import Claim, Event, OperationRow, StoredRun, StoredThread, StoredTurn
from inspector.model.values import Value
from inspector.process import born, gone
from inspector.store import transfer
from inspector.store.interface import Backend, Filter
from inspector.store.journal import LEASE_SECONDS, StoreJournal, driven_here
from inspector.store.times import Clock


class Store:
    """Durable runs by their keys. `lease` is how many seconds a process that is gone without a word keeps a
    run from others of other hosts; on its own host it is seen to be gone at once."""

    def __init__(self, backend: Backend, *, lease: float = LEASE_SECONDS) -> None:
        self.backend, self.lease = backend, lease
        self.clock = Clock()

    @property
    def url(self) -> str:
        """Where it is."""
        return self.backend.url

    def begin(
        self,
        key: str,
        *,
        thread: str | None = None,
        turn: str | None = None,
        metadata: Mapping[str, Value] | None = None,
        sink: bool = False,
    ) -> StoreJournal:
        """The journal of a new run, which is created with its first record. Raises StoreError `run_exists`."""
        if self.backend.read(key) is not None:
            raise StoreError(key, "run_exists", "a run of that key is in the store: resume it")
        told = {"thread": thread, "turn": turn, "metadata": dict(metadata) if metadata else None}
        about = {name: value for name, value in told.items() if value is not None}
        return StoreJournal(self.backend, key, self.clock, lease=self.lease, about=about, sink=sink)

    def read(self, key: str) -> StoredRun:
        """A run's row. Raises StoreError `run_absent`."""
        found = self.backend.read(key)
        if found is None:
            raise StoreError(key, "run_absent", f"there is no such run in {self.url}")
        return found

    def runs(self, wanted: Filter | None = None) -> Sequence[StoredRun]:
        """The rows, oldest first."""
        return self.backend.runs(wanted or Filter())

    def owner(self, run: StoredRun) -> Claim | None:
        """Who drives a run now: None also when its process is known to be gone."""
        owner = run.owner(self.clock())
        return None if owner is None or abandoned(owner) else owner

    def standing(self, run: StoredRun) -> tuple[RunStatus, str | None]:
        """The status of a run and its reason, as of now."""
        return run.standing(self.clock(), gone=run.claim is not None and abandoned(run.claim))

    def take(self, run: StoredRun, *, by_force: bool = False, definition: Definition | None = None) -> StoreJournal:
        """Claim a run as it was read. `by_force`: also when somebody holds it. Raises StoreError."""
        journal = StoreJournal(self.backend, run.key, self.clock, lease=self.lease)
        over = None if run.claim is None or (self.owner(run) and not by_force) else run.claim.token
        journal.take(run, mode="continue" if run.handed else "recovery", over=over, definition=definition)
        return journal

    def over(self, run: StoredRun) -> StoreJournal:
        """The journal of a run that has ended for good: nothing is added, but its events can be delivered."""
        journal = StoreJournal(self.backend, run.key, self.clock)
        journal.over(run)
        return journal

    def journal(self, key: str) -> list[bytes]:
        """The lines of a run's journal, with their ends."""
        return list(self.backend.lines(key))

    def operations(self, key: str, *, open_only: bool = False) -> Sequence[OperationRow]:
        """The operations of a run, in the order in which they began; `open_only`: those that have no end."""
        return self.backend.operations(key, open_only=open_only)

    def events(self, key: str) -> Sequence[Event]:
        """The events of a run, delivered or not."""
        return self.backend.events(key)

    def delete(self, key: str) -> bool:
        """Everything of a run is gone."""
        return self.backend.delete(key)

    def export(self, key: str) -> Iterator[bytes]:
        """A run as the lines of a trace file: byte for byte its journal. The `digests` are of the large values that
        belong beside that. Raises StoreError `run_absent`."""
        self.read(key)
        return self.backend.lines(key)

    def digests(self, key: str) -> Sequence[str]:
        """The digests of the large values of a run that stand apart from its journal."""
        return self.backend.digests(key)

    def large(self, key: str, digest: str) -> bytes | None:
        """The bytes of one of them; None where there is no such."""
        return self.backend.large(key, digest)

    def import_(
        self, lines: Sequence[bytes], key: str | None = None, large: Callable[[str], bytes | None] = lambda digest: None
    ) -> StoredRun:
        """A run from the lines of a trace file, unclaimed. `key` where the trace names none, or another; `large` gives
        the large values beside the trace, by digest. Raises StoreError `record_invalid` and `run_exists`."""
        row, kept, operations = transfer.read(lines, key, self.clock())
        if not self.backend.adopt(row, kept, operations, transfer.apart(kept, large)):
            raise StoreError(row.key, "run_exists", "a run of that key is in the store")
        return self.read(row.key)

    def add_once(self, session: str, commit: str, items: Sequence[str]) -> bool:
        """Items behind a session's end, unless that commit was made before. Raises StoreError
        `session_conflict` when it was made with other items."""
        return self.backend.add_once(session, commit, digest({"schema": 1, "items": list(items)}), items, self.clock())

    def session(self, session: str) -> Sequence[str]:
        """The items of a session, in their order."""
        return self.backend.session(session)

    def new_thread(self, thread: str, metadata: Mapping[str, Value] | None = None) -> bool:
        """A conversation that runs can be turns of; False when it is there. What its metadata says, the tools of
        its runs are told."""
        return self.backend.put_thread(thread, dict(metadata or {}), self.clock())

    def archive(self, thread: str, archived: bool = True) -> None:
        """A thread takes no more turns, or does again. Raises StoreError `thread_absent`."""
        self.backend.archive(thread, archived, self.clock())

    def thread(self, thread: str) -> StoredThread | None:
        """A thread's row."""
        return self.backend.thread(thread)

    def turns(self, thread: str) -> Sequence[StoredTurn]:
        """The turns of a thread, oldest first."""
        return self.backend.turns(thread)

    def close(self) -> None:
        """Give back what is open."""
        self.backend.close()


def abandoned(claim: Claim) -> bool:
    """Whether nobody can be driving under a claim any more, though its lease has not passed."""
    if claim.program.pid == os.getpid() and claim.born == born(os.getpid()) != "":
        return not driven_here(claim.token)
    return gone(claim.program, claim.born)
