"""The conversations of a SQLite store: threads with their turns, and sessions that take each commit once."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from inspector.errors import StoreError
from inspector.model.stored import StoredThread, StoredTurn
from inspector.model.values import to_json
from inspector.store.connection import Connection
from inspector.store.interface import NewRun


class Threads:
    """The part of a Backend that is about conversations."""

    _on: Connection

    def put_thread(self, thread: str, metadata: dict[str, Any], now: int) -> bool:
        with self._on.transaction() as on:
            query = "INSERT INTO threads VALUES (?, 0, ?, ?, ?) ON CONFLICT DO NOTHING"
            return on.execute(query, (thread, to_json(metadata), now, now)).rowcount > 0

    def archive(self, thread: str, archived: bool, now: int) -> None:
        with self._on.transaction() as on:
            query = "UPDATE threads SET archived = ?, updated = ? WHERE id = ?"
            if not on.execute(query, (archived, now, thread)).rowcount:
                raise StoreError(thread, "thread_absent", "there is no such thread in the store")

    def thread(self, thread: str) -> StoredThread | None:
        rows = self._on.rows("SELECT id, archived, metadata, created, updated FROM threads WHERE id = ?", (thread,))
        for name, archived, metadata, created, updated in rows:
            kept = msgspec.json.decode(metadata)
            return StoredThread(id=name, archived=bool(archived), metadata=kept, created=created, updated=updated)
        return None

    def turns(self, thread: str) -> Sequence[StoredTurn]:
        rows = self._on.rows("SELECT thread, id, key, created FROM turns WHERE thread = ? ORDER BY rowid", (thread,))
        return [StoredTurn(**dict(zip(StoredTurn.__struct_fields__, row, strict=True))) for row in rows]

    def add_once(self, session: str, commit: str, digest: str, items: Sequence[str], now: int) -> bool:
        with self._on.transaction() as on:
            found = on.execute("SELECT digest FROM session_commits WHERE session = ? AND id = ?", (session, commit))
            known = found.fetchone()
            if known is not None:
                if known[0] != digest:
                    raise StoreError(session, "session_conflict", f"{commit} was committed with other items")
                return False
            on.execute("INSERT INTO session_commits VALUES (?, ?, ?, ?)", (session, commit, digest, now))
            last = on.execute("SELECT max(number) FROM session_items WHERE session = ?", (session,)).fetchone()[0] or 0
            on.executemany(
                "INSERT INTO session_items VALUES (?, ?, ?)",
                [(session, number, item) for number, item in enumerate(items, last + 1)],
            )
            return True

    def session(self, session: str) -> Sequence[str]:
        rows = self._on.rows("SELECT item FROM session_items WHERE session = ? ORDER BY number", (session,))
        return [row[0] for row in rows]

    def _link(self, on: sqlite3.Connection, new: NewRun, now: int) -> None:
        """Make a new run the turn that it names."""
        if new.thread is None or new.turn is None:
            return
        found = on.execute("SELECT archived FROM threads WHERE id = ?", (new.thread,)).fetchone()
        if found is None:
            raise StoreError(new.thread, "thread_absent", "there is no such thread in the store")
        if found[0]:
            raise StoreError(new.thread, "thread_archived", "the thread is archived: it takes no more turns")
        query = "INSERT INTO turns VALUES (?, ?, ?, ?) ON CONFLICT (thread, id) DO NOTHING"
        if not on.execute(query, (new.thread, new.turn, new.key, now)).rowcount:
            raise StoreError(new.turn, "turn_exists", f"the thread {new.thread} has that turn already")
