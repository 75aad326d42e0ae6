"""The SQLite backend: one file, for the processes of one host."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from inspector.errors import StoreError
from inspector.model.records import Attempt, JournalRecord, Operation
from inspector.model.run import RunStatus
from inspector.model.stored import COLUMNS, Claim, Event, OperationRow, StoredRun, from_columns, moment
from inspector.model.values import to_json
from inspector.store import fold, rules
from inspector.store.connection import Connection
from inspector.store.interface import Filter, NewRun, Wanted, Written
from inspector.store.sqlitethreads import Threads

_COLUMNS = ", ".join(COLUMNS)
_OPEN = "status IN ('planned', 'started', 'ambiguous')"
_UNCLAIMED = "token = NULL, step = NULL, taken = NULL, renewed = NULL, expires = NULL, program = NULL, born = NULL"


class SQLite(Threads):
    """A Backend. Raises StoreError when the file cannot be opened as a store."""

    def __init__(self, path: str) -> None:
        self.url = path
        self._on = Connection(path)

    # Claims

    def create(self, new: NewRun, records: Sequence[JournalRecord], now: int) -> bool:
        rules.key(new.key)
        with self._on.transaction() as on:
            if not self._insert(on, new, now):
                return False
            self._link(on, new, now)
            self._append(on, new.key, records, now)
            return True

    def _insert(self, on: sqlite3.Connection, new: NewRun, now: int) -> bool:
        parent = (None, None) if new.parent is None else (new.parent.run, new.parent.step)
        found = on.execute(
            "INSERT INTO runs (key, id, kind, name, thread, turn, digest, status, revision, attempt, "
            "parent_run, parent_step, created, updated, steps, size, final, acknowledged, handed, sink, metadata, "
            "claims) VALUES (?, ?, ?, ?, ?, ?, ?, 'running', 0, 1, ?, ?, ?, ?, 0, 0, 0, 0, 1, ?, ?, 0) "
            "ON CONFLICT (key) DO NOTHING",
            (
                *(new.key, new.id, new.kind, new.name, new.thread, new.turn, new.digest, *parent, now, now),
                *(new.sink, to_json(new.metadata)),
            ),
        )
        return found.rowcount > 0

    def claim(self, key: str, wanted: Wanted) -> StoredRun:
        with self._on.transaction() as on:
            run, claims = self._found(on, key), self._value(on, "claims", key)
            rules.claimable(run, wanted)
            again = wanted.mode == "recovery" and claims > 0
            attempt = run.attempt + again
            on.execute(
                "UPDATE runs SET token = ?, step = ?, taken = ?, renewed = ?, expires = ?, program = ?, born = ?, "
                "status = 'running', reason = NULL, revision = revision + 1, attempt = ?, updated = ?, handed = 0, "
                "claims = claims + 1 WHERE key = ?",
                (
                    *(wanted.token, wanted.step, wanted.now, wanted.now, wanted.expires, to_json(wanted.program)),
                    *(wanted.born, attempt, wanted.now, key),
                ),
            )
            if claims:
                record = Attempt(
                    number=attempt,
                    mode=wanted.mode,
                    at=moment(wanted.now),
                    program=wanted.program,
                    definition=wanted.definition,
                )
                if wanted.definition is not None:
                    on.execute("UPDATE runs SET digest = ? WHERE key = ?", (wanted.definition.digest, key))
                if again:
                    self._recover(on, key, wanted.now)
                self._append(on, key, (record,), wanted.now)
            return self._found(on, key)

    def _recover(self, on: sqlite3.Connection, key: str, now: int) -> None:
        for found in self._operations(key, f"AND {_OPEN}"):
            if found.operation.status == "started":
                self._put(on, key, fold.recovered(found.operation), now)

    def renew(self, key: str, token: str, now: int, expires: int) -> None:
        with self._on.transaction(durable=False) as on:
            rules.renewable(self._found(on, key), token, now, expires)
            on.execute("UPDATE runs SET expires = ?, renewed = ? WHERE key = ?", (expires, now, key))

    # Changes by the holder

    def progress(self, change: Written, *, durable: bool = True) -> int:
        with self._on.transaction(durable=durable) as on:
            self._claimed(on, change)
            return self._revised(on, change, "")

    def suspend(self, change: Written, status: RunStatus, reason: str | None) -> int:
        rules.waiting(change.key, status)
        with self._on.transaction() as on:
            self._claimed(on, change)
            return self._revised(on, change, f", status = ?, reason = ?, {_UNCLAIMED}", status, reason)

    def commit(self, change: Written, status: RunStatus, reason: str | None) -> int:
        rules.waiting(change.key, status)
        with self._on.transaction() as on:
            first = self._claimed(on, change).step
            if self._value(on, "steps", change.key) < first:
                raise StoreError(change.key, "step_conflict", f"step {first} was not made")
            begun = self._operations(change.key, "AND status IN ('started', 'ambiguous')")
            if begun:
                detail = f"{begun[0].operation.id} is {begun[0].operation.status}"
                raise StoreError(change.key, "operation_invalid", detail)
            told = f", status = ?, reason = ?, handed = 1, {_UNCLAIMED}"
            return self._revised(on, change, told, status, reason)

    def finalize(self, change: Written, status: RunStatus, reason: str | None) -> int:
        rules.ending(change.key, status)
        with self._on.transaction() as on:
            self._checked(on, change)
            self._append(on, change.key, change.records, change.now)
            told = f", status = ?, reason = ?, final = 1, ended = ?, {_UNCLAIMED}"
            return self._revised(on, change, told, status, reason, change.now)

    def deliver(self, change: Written, event: str, digest: str) -> int:
        with self._on.transaction() as on:
            self._checked(on, change, final=True)
            found = on.execute(
                "SELECT digest FROM events WHERE run = (SELECT no FROM runs WHERE key = ?) AND id = ? "
                "AND delivered IS NULL",
                (change.key, event),
            ).fetchone()
            if found is None:
                raise StoreError(change.key, "event_absent", f"no event {event} is pending")
            if found[0] != digest:
                raise StoreError(change.key, "event_conflict", f"the event {event} has the digest {found[0]}")
            on.execute(
                "UPDATE events SET delivered = ? WHERE run = (SELECT no FROM runs WHERE key = ?) AND id = ?",
                (change.now, change.key, event),
            )
            return self._revised(on, change, "")

    def acknowledge(self, change: Written) -> int:
        with self._on.transaction() as on:
            run = self._checked(on, change, final=True)
            if not run.final:
                raise StoreError(change.key, "not_final", f"the run is {run.status}: it has no end yet")
            if run.acknowledged:
                raise StoreError(change.key, "acknowledged", "was acknowledged before")
            if self.events(change.key, pending_only=True):
                raise StoreError(change.key, "events_pending", "not all of its events were delivered")
            return self._revised(on, change, ", acknowledged = 1")

    def delete(self, key: str) -> bool:
        with self._on.transaction() as on:
            return on.execute("DELETE FROM runs WHERE key = ?", (key,)).rowcount > 0

    # Looking

    def read(self, key: str) -> StoredRun | None:
        found = self._on.rows(f"SELECT {_COLUMNS} FROM runs WHERE key = ?", (key,))
        return from_columns(found[0]) if found else None

    def runs(self, wanted: Filter) -> Sequence[StoredRun]:
        terms, given = ["1"], list[Any]()
        for name in ("status", "kind", "name", "thread"):
            if (value := getattr(wanted, name)) is not None:
                terms.append(f"{name} = ?")
                given.append(value)
        if wanted.expired is not None:
            terms.append("expires <= ?")
            given.append(wanted.expired)
        limit = -1 if wanted.limit is None else wanted.limit
        query = f"SELECT {_COLUMNS} FROM runs WHERE {' AND '.join(terms)} ORDER BY no DESC LIMIT ?"
        return [from_columns(row) for row in reversed(self._on.rows(query, (*given, limit)))]

    def lines(self, key: str, begin: int = 0) -> Iterator[bytes]:
        query = (
            "SELECT begin, line FROM records WHERE run = (SELECT no FROM runs WHERE key = ?) AND begin >= ? "
            "ORDER BY begin LIMIT 256"
        )
        while rows := self._on.rows(query, (key, begin)):
            yield from (bytes(line) for _, line in rows)
            begin = rows[-1][0] + 1

    def operations(self, key: str, *, open_only: bool = False) -> Sequence[OperationRow]:
        return self._operations(key, f"AND {_OPEN}" if open_only else "")

    def events(self, key: str, *, pending_only: bool = False) -> Sequence[Event]:
        query = (
            "SELECT id, number, kind, payload, digest, delivered FROM events "
            "WHERE run = (SELECT no FROM runs WHERE key = ?) AND (delivered IS NULL OR NOT ?) ORDER BY number"
        )
        rows = self._on.rows(query, (key, pending_only))
        return [Event(**dict(zip(Event.__struct_fields__, row, strict=True))) for row in rows]

    # Runs from elsewhere

    def adopt(
        self,
        row: StoredRun,
        lines: Sequence[bytes],
        operations: Sequence[OperationRow],
        large: Iterable[tuple[str, bytes]] = (),
    ) -> bool:
        new = NewRun(
            **{name: getattr(row, name) for name in NewRun.__struct_fields__}  # a row has all that a new run has
        )
        rules.key(new.key)
        with self._on.transaction() as on:
            if not self._insert(on, new, row.created):
                return False
            self._write(on, row.key, [(rules.kind_of(line), line) for line in lines])
            for found in operations:
                self._put(on, row.key, found.operation, found.updated, found.started)
            on.execute(
                "UPDATE runs SET status = ?, reason = ?, attempt = ?, steps = ?, final = ?, handed = 0, claims = 1, "
                "ended = ?, updated = ? WHERE key = ?",
                (row.status, row.reason, row.attempt, row.steps, row.final, row.ended, row.updated, row.key),
            )
            on.executemany(
                "INSERT INTO large (run, digest, data) SELECT no, ?, ? FROM runs WHERE key = ?",
                ((digest, data, row.key) for digest, data in large),
            )
            return True

    def large(self, key: str, digest: str) -> bytes | None:
        query = "SELECT data FROM large WHERE run = (SELECT no FROM runs WHERE key = ?) AND digest = ?"
        found = self._on.rows(query, (key, digest))
        return found[0][0] if found else None

    def digests(self, key: str) -> Sequence[str]:
        query = "SELECT digest FROM large WHERE run = (SELECT no FROM runs WHERE key = ?) ORDER BY digest"
        return [digest for (digest,) in self._on.rows(query, (key,))]

    def close(self) -> None:
        self._on.close()

    # Inside of a transaction

    def _value(self, on: sqlite3.Connection, column: str, key: str) -> Any:
        return on.execute(f"SELECT {column} FROM runs WHERE key = ?", (key,)).fetchone()[0]

    def _found(self, on: sqlite3.Connection, key: str) -> StoredRun:
        row = on.execute(f"SELECT {_COLUMNS} FROM runs WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise StoreError(key, "run_absent", "there is no such run in the store")
        return from_columns(row)

    def _checked(self, on: sqlite3.Connection, change: Written, *, final: bool = False) -> StoredRun:
        run = self._found(on, change.key)
        rules.current(run, change, final=final)
        return run

    def _claimed(self, on: sqlite3.Connection, change: Written) -> Claim:
        """The records of whoever holds the run are written."""
        claim = self._checked(on, change).claim
        if claim is None:
            raise StoreError(change.key, "claim_lost", "is held by nobody: it is claimed first")
        self._append(on, change.key, change.records, change.now)
        return claim

    def _revised(self, on: sqlite3.Connection, change: Written, also: str, *given: Any) -> int:
        query = f"UPDATE runs SET revision = revision + 1, updated = ?{also} WHERE key = ?"
        on.execute(query, (change.now, *given, change.key))
        return change.revision + 1

    def _append(self, on: sqlite3.Connection, key: str, records: Sequence[JournalRecord], now: int) -> None:
        if not records:
            return
        no, run, attempt, steps, sink = on.execute(
            "SELECT no, id, attempt, steps, sink FROM runs WHERE key = ?", (key,)
        ).fetchone()
        batch = fold.batch(run, attempt, steps, records)
        self._write(on, key, batch.lines)
        on.execute("UPDATE runs SET steps = ? WHERE no = ?", (batch.steps, no))
        for operation in batch.operations:
            before = self._operations(key, "AND id = ?", operation.id)
            known = before[0].operation if before else None
            fold.moved(key, known.status if known else None, operation)
            self._put(on, key, fold.merged(known, operation), now)
        if sink:
            for draft in batch.events:
                self._draft(on, no, draft)

    def _write(self, on: sqlite3.Connection, key: str, lines: Sequence[tuple[str, bytes]]) -> None:
        no, begin = on.execute("SELECT no, size FROM runs WHERE key = ?", (key,)).fetchone()
        for kind, line in lines:
            on.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (no, begin, kind, line))
            begin += len(line)
        on.execute("UPDATE runs SET size = ? WHERE no = ?", (begin, no))

    def _draft(self, on: sqlite3.Connection, no: int, draft: fold.Draft) -> None:
        # An event that is there already stays as it is: it is never made anew.
        on.execute(
            "INSERT OR IGNORE INTO events SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, NULL FROM events "
            "WHERE run = ?",
            (no, draft.id, draft.kind, draft.payload, draft.digest, no),
        )

    def _put(
        self, on: sqlite3.Connection, key: str, operation: Operation, now: int, started: int | None = None
    ) -> None:
        if operation.status == "started" and started is None:
            started = now
        on.execute(
            "INSERT INTO operations SELECT no, ?, (SELECT count(*) FROM operations WHERE run = no), ?, ?, ?, ? "
            "FROM runs WHERE key = ? ON CONFLICT (run, id) DO UPDATE SET status = excluded.status, "
            "started = coalesce(excluded.started, started), updated = excluded.updated, operation = excluded.operation",
            (operation.id, operation.status, started, now, to_json(operation), key),
        )

    def _operations(self, key: str, also: str, *given: Any) -> list[OperationRow]:
        query = (
            "SELECT operation, started, updated FROM operations WHERE run = (SELECT no FROM runs WHERE key = ?) "
            f"{also} ORDER BY number"
        )
        return [
            OperationRow(operation=msgspec.json.decode(text, type=Operation), started=started, updated=updated)
            for text, started, updated in self._on.rows(query, (key, *given))
        ]
