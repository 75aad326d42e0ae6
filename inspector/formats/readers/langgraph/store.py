"""The tables of a LangGraph store: which threads there are, their checkpoints, and the writes kept with them.

Rows are found again by their row id, never by a text that was made visible. Nothing is decoded here, and
of a checkpoint's bytes, which are most of the file, only what is asked for is read.
"""

import re
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.sqlitefile import Database
from inspector.model.run import Problem
from inspector.model.text import clean, told_apart
from inspector.model.values import Value, preview

WRITES = {"thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "value"}
HEAD = 160
"""Bytes at the start of a checkpoint in which its time stands."""
DEEPEST = 100
"""Namespaces within each other that are told apart."""
SMALL = 64 << 10
"""Bytes of a write that are read along with it."""

_KIN = "{a}.thread_id IS {b}.thread_id AND {a}.checkpoint_ns IS {b}.checkpoint_ns"
_BY_ID = "thread_id", "checkpoint_ns", "checkpoint_id"
_BY_PARENT = "thread_id", "checkpoint_ns", "parent_checkpoint_id"
_PARENT = (
    f"SELECT p.rowid FROM {{keyed}} p WHERE {_KIN.format(a='p', b='c')} "
    "AND p.checkpoint_id IS c.parent_checkpoint_id AND c.parent_checkpoint_id IS NOT NULL LIMIT 1"
)
_TIME = re.compile(rb"ts[^0-9]{1,20}?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.]*(?:Z|[+-]\d\d:?\d\d)?)")
_GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)


class Thread(NamedTuple):
    """A thread's checkpoints in one namespace. `row` is the row id of one of them."""

    row: int
    thread: str
    namespace: str

    @property
    def id(self) -> str:
        """The id of the run that it is."""
        return f"{self.thread}/{self.namespace}" if self.namespace else self.thread


class Nested:
    """Nodes with a namespace of their own, by the ids of their tasks; and the other way round."""

    def __init__(self) -> None:
        self.nodes: dict[str, str] = {}
        self.tasks: dict[str, set[str]] = {}

    def add(self, node: str, task_id: str) -> None:
        """Takes one in."""
        self.nodes[task_id] = node
        self.tasks.setdefault(node, set()).add(task_id)


NONE = Nested()


class Row(NamedTuple):
    """A checkpoint without its bytes; `parent` is the row id of its parent, None where that is not there."""

    row: int
    id: str
    parent_id: str | None
    parent: int | None
    metadata: dict[str, Value]
    time: str | None
    kind: Value
    size: int


class Write(NamedTuple):
    """One value that a task wrote while the step behind a checkpoint ran. `data` is None where it is long:
    then `Store.value` fetches it."""

    row: int
    task: str
    path: str
    position: int
    channel: str
    kind: Value
    size: int
    data: object


class Store:
    """The tables, through a private copy of the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._generation = -1
        self._paths = "task_path" in database.tables["writes"] if "writes" in database.tables else False
        self.has_writes = set(database.tables.get("writes", ())) >= WRITES

    def threads(self) -> list[Thread]:
        """Every thread and namespace, in the order of the first checkpoint."""
        if self._generation != self.database.generation:
            self._generation = self.database.generation
            rows = self.database.rows(
                "SELECT MIN(rowid), CAST(thread_id AS TEXT), CAST(checkpoint_ns AS TEXT) FROM checkpoints "
                "GROUP BY thread_id, checkpoint_ns ORDER BY MIN(checkpoint_id), 1"
            )
            self._threads = [Thread(row, _text(thread), _text(namespace)) for row, thread, namespace in rows]
            self._nested: dict[tuple[str, str], Nested] = {}
            for one in self._threads:
                outer, parts = "", one.namespace.split("|", DEEPEST)[:DEEPEST] if one.namespace else ()
                for part in parts:
                    self._nested.setdefault((one.thread, outer), Nested()).add(*part.rpartition(":")[::2])
                    outer = f"{outer}|{part}" if outer else part
        return self._threads

    def nested(self, thread: Thread) -> Nested:
        """The nodes of a thread that have a namespace of their own in its own."""
        self.threads()
        return self._nested.get((thread.thread, thread.namespace), NONE)

    def rows_of(self, thread: Thread) -> "array[int]":
        """The row ids of a thread's checkpoints, oldest first."""
        keyed = self.database.keyed("checkpoints", *_BY_ID)
        found = self.database.rows(
            "SELECT c.rowid FROM (SELECT thread_id, checkpoint_ns FROM checkpoints WHERE rowid = ?) k "
            f"CROSS JOIN {keyed} c ON {_KIN.format(a='c', b='k')} ORDER BY c.checkpoint_id, c.rowid",
            (thread.row,),
        )
        return array("q", (row for (row,) in found))

    def position(self, thread: Thread, namespace: str, checkpoint_id: str) -> int | None:
        """The number, from 1, of a checkpoint among those in another namespace of a thread; None where it is
        not there."""
        found = self.database.rows(
            "SELECT COUNT(*), MAX(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = ? AND checkpoint_id <= ? "
            "AND thread_id IS (SELECT thread_id FROM checkpoints WHERE rowid = ?)",
            (namespace, checkpoint_id, thread.row),
        )
        return next((count for count, last in found if last == checkpoint_id), None)

    def row(self, rowid: int, problems: list[Problem]) -> Row | None:
        """A checkpoint's row; what is wrong with its metadata is added to `problems`."""
        parent_row = _PARENT.format(keyed=self.database.keyed("checkpoints", *_BY_ID))
        found = self.database.rows(
            f"SELECT CAST(checkpoint_id AS TEXT), CAST(parent_checkpoint_id AS TEXT), ({parent_row}), "
            f"CAST(metadata AS BLOB), CAST(substr(checkpoint, 1, {HEAD}) AS BLOB), type, length(checkpoint) "
            "FROM checkpoints c WHERE rowid = ?",
            (rowid,),
        )
        for name, parent_id, parent, metadata, head, kind, size in found:
            shown = _text(name)
            known = {} if metadata is None else self._metadata(metadata, shown, problems)
            when = _time(head or b"", shown)
            kept = None if parent == rowid else parent
            return Row(rowid, shown, parent_id and _text(parent_id), kept, known, when, _cell(kind), int(size or 0))
        return None

    def place(self, checkpoint_id: str) -> str:
        """Where a checkpoint stands, for problems."""
        return f"{self.database.label} checkpoint {checkpoint_id}"

    def checkpoint(self, rowid: int) -> tuple[Value, object]:
        """The type and the bytes of a checkpoint."""
        for kind, data in self.database.rows("SELECT type, checkpoint FROM checkpoints WHERE rowid = ?", (rowid,)):
            return _cell(kind), data
        return None, None

    def writes(self, rowid: int) -> list[Write]:
        """The writes kept with a checkpoint, by task path, then in the order in which they were made."""
        if not self.has_writes:
            return []
        keyed = self.database.keyed("writes", *_BY_ID)
        path = "CAST(w.task_path AS TEXT)" if self._paths else "''"
        found = self.database.rows(
            f"SELECT w.rowid, CAST(w.task_id AS TEXT), {path}, w.idx, CAST(w.channel AS TEXT), w.type, "
            f"length(w.value), CASE WHEN length(w.value) <= {SMALL} THEN w.value END "
            "FROM (SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE rowid = ?) c "
            f"CROSS JOIN {keyed} k ON {_KIN.format(a='k', b='c')} AND k.checkpoint_id IS c.checkpoint_id "
            "CROSS JOIN writes w ON w.rowid = k.rowid "
            "ORDER BY 3, w.task_id, w.idx",
            (rowid,),
        )
        return [
            Write(
                row,
                _text(task),
                _text(path),
                index if isinstance(index, int) else 0,
                _text(channel),
                _cell(kind),
                int(size or 0),
                data,
            )
            for row, task, path, index, channel, kind, size, data in found
        ]

    def value(self, write: Write) -> object:
        """The bytes of a write, also where they are long."""
        if write.data is not None or not write.size:
            return write.data
        for (data,) in self.database.rows("SELECT value FROM writes WHERE rowid = ?", (write.row,)):
            return data
        return None

    def child(self, rowid: int) -> int | None:
        """The row id of a checkpoint that continues this one; None where there is none."""
        keyed = self.database.keyed("checkpoints", *_BY_PARENT)
        found = self.database.rows(
            f"SELECT c.rowid FROM checkpoints p CROSS JOIN {keyed} c ON {_KIN.format(a='c', b='p')} "
            "AND c.parent_checkpoint_id IS p.checkpoint_id WHERE p.rowid = ? AND c.rowid != p.rowid LIMIT 1",
            (rowid,),
        )
        return next((row for (row,) in found), None)

    def holding(self, rowid: int, sought: Sequence[bytes]) -> bool:
        """Whether one of some byte strings stands in a checkpoint, its metadata, or the values written behind
        it."""
        query = "SELECT CAST(metadata AS BLOB), checkpoint FROM checkpoints WHERE rowid = ?"
        cells = [cell for row in self.database.rows(query, (rowid,)) for cell in row]
        cells += [self.value(write) for write in self.writes(rowid)]
        return any(text in cell for cell in cells if isinstance(cell, bytes) for text in sought)

    def _metadata(self, data: bytes, checkpoint_id: str, problems: list[Problem]) -> dict[str, Value]:
        place = Place(f"{self.place(checkpoint_id)} metadata")
        try:
            value = parse(data, place, problems)
        except Damaged as damage:
            value = damage.value
            problems.append(Problem(severity="error", where=str(place), message=damage.reason))
        return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else "" if value is None else preview(str(value), 200)


def _cell(value: object) -> Value:
    return clean(value) if isinstance(value, str) else None if isinstance(value, bytes) else value


def _time(head: bytes, checkpoint_id: str) -> str | None:
    """When a checkpoint was made: as it says itself, else as its id, a UUID of version 6, does."""
    match = _TIME.search(head)
    if match is not None:
        return match[1].decode()
    try:
        made = UUID(checkpoint_id)
    except ValueError:
        return None
    if made.version != 6:
        return None
    ticks = (made.time_low << 28) | (made.time_mid << 12) | (made.time_hi_version & 0x0FFF)
    return (_GREGORIAN + timedelta(microseconds=ticks // 10)).isoformat()


def run_ids(threads: list[Thread]) -> dict[str, Thread]:
    """The threads by the id of their run; ids that two share are told apart by a number."""
    return dict(zip(told_apart((thread.id for thread in threads), " ({})".format), threads, strict=True))
