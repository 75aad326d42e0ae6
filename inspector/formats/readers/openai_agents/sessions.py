"""Session databases: the conversation of each session, without the boundaries of runs."""

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from inspector.errors import UsageError
from inspector.formats.conversation import Conversation, letter
from inspector.formats.jsontext import NOTES, Damaged, Place, parse
from inspector.formats.memory import SEARCH_BATCH, row
from inspector.formats.pairing import Pairing, outline
from inspector.formats.problems import zoneless
from inspector.formats.readers.openai_agents import FORMAT, MESSAGES
from inspector.formats.readers.openai_agents.items import MODEL, NOTHING, kind_of, messages_of
from inspector.formats.sqlitefile import Database, quoted
from inspector.model.lazy import Lazy
from inspector.model.run import (
    Definition,
    Message,
    Problem,
    RawRecord,
    Resume,
    Run,
    RunRow,
    SourceInfo,
    State,
    Step,
    Tool,
)
from inspector.model.source import RunSource
from inspector.model.text import clean, one_line, told_apart
from inspector.model.values import Value

SESSIONS = {"session_id", "created_at", "updated_at"}
BATCH = 500
"""Rows that are read between two reports of progress."""
KEPT = 64
"""Messages that are kept ready."""
TAIL = 50
"""Rows at the end of a session by which it is told how it stands."""
LISTED = 20_000
"""Rows of a database up to which the steps of its sessions are counted for the list."""
NAMES = 1000


class Session(NamedTuple):
    """A session of a database: its id as shown, a row that it has, how many it has, and its times."""

    id: str
    row: int
    rows: int
    started: str | None
    updated: str | None


class Store:
    """The tables of sessions in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._name = next(name for name, columns in database.tables.items() if set(columns) >= MESSAGES)
        self.table = quoted(self._name)
        self._times = next(
            (quoted(name) for name, columns in database.tables.items() if set(columns) >= SESSIONS), None
        )

    def sessions(self) -> dict[str, Session]:
        """The sessions by id, oldest first."""
        times: dict[object, tuple[Value, Value]] = {}
        if self._times:
            query = f"SELECT session_id, created_at, updated_at FROM {self._times}"
            times = {key: (created, updated) for key, created, updated in self.database.rows(query)}
        found: dict[str, Session] = {}
        query = f"SELECT session_id, min(rowid), count(*) FROM {self.table} GROUP BY session_id ORDER BY min(rowid)"
        known = list(self.database.rows(query))
        names = told_apart(one_line(str(key)) for key, _, _ in known)
        for shown, (key, first, count) in zip(names, known, strict=True):
            created, updated = times.get(key, (None, None))
            found[shown] = Session(shown, first, count, _time(created), _time(updated))
        return found

    def rows(self, session: Session, begin: int, count: int, *, backward: bool = False) -> Iterator[tuple[int, Value]]:
        """(row id, text of the message) of a session's rows from row id `begin` on."""
        keyed = self.database.keyed(self._name, "session_id", "rowid")
        kin = f"k.session_id IS (SELECT session_id FROM {self.table} WHERE rowid = ?)"
        order = "k.rowid <= ? ORDER BY k.rowid DESC" if backward else "k.rowid >= ? ORDER BY k.rowid"
        query = (
            f"SELECT m.rowid, m.message_data FROM {keyed} k CROSS JOIN {self.table} m ON m.rowid = k.rowid "
            f"WHERE {kin} AND {order} LIMIT ?"
        )
        yield from self.database.rows(query, (session.row, begin, count))


class SessionMessages(Lazy[Message]):
    """The messages of a session, each read when it is asked for: the rows where it begins, and how many."""

    def __init__(self, run: "SessionRun") -> None:
        self._run = run
        self.begins, self.counts = array("q"), array("Q")
        self._kept: OrderedDict[int, Message] = OrderedDict()

    def __len__(self) -> int:
        return len(self.begins)

    def item(self, at: int) -> Message:
        if at in self._kept:
            self._kept.move_to_end(at)
            return self._kept[at]
        items = self._run.items(self.begins[at], self.counts[at])
        found = next(iter(messages_of(items)), Message(role="?"))
        self._kept[at] = found
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return found


class SessionRun:
    """The conversation of one session."""

    def __init__(self, store: Store, session: Session, path: str) -> None:
        self.source = SourceInfo(path=path, format=FORMAT)
        self._store, self._session = store, session
        self._told: list[Problem] = []
        self._names: dict[str, None] = {}
        self._messages = SessionMessages(self)
        self._conversation = Conversation(self._messages, 0, growing=True)
        self._walk = self._index()
        self.indexed = False
        last = 2**62
        tail = [self._item(row, text) for row, text in store.rows(session, last, TAIL, backward=True)]
        self._end = list(messages_of(reversed(tail)))
        for problem in zoneless(session.id, [session.started]):
            self._tell(problem.where, problem.message)

    def __len__(self) -> int:
        return len(self._conversation)

    def index(self) -> Iterator[tuple[int, int]]:
        for progress in self._walk:  # noqa: UP028 - leaving this must not end the walk
            yield progress

    def _index(self) -> Iterator[tuple[int, int]]:
        """Groups the rows into messages, and the messages into steps."""
        pairing = Pairing()
        group: list[Value] = []
        done, begun, position = 0, False, self._session.row
        while batch := list(self._store.rows(self._session, position, BATCH)):
            for row_id, text in batch:
                item = self._item(row_id, text)
                kind = kind_of(item)
                if group and (kind == NOTHING or kind == MODEL == kind_of(group[0])):
                    group.append(item)
                    self._messages.counts[-1] += 1
                elif kind != NOTHING:
                    begun = self._close(group, pairing, begun)
                    group = [item]
                    self._messages.begins.append(row_id)
                    self._messages.counts.append(1)
            done += len(batch)
            yield done, self._session.rows
            last, position = position, batch[-1][0] + 1
            if position <= last:  # damage can send the rows in circles
                self._tell(self._where(last), "the rows behind this one come again")
                break
        begun = self._close(group, pairing, begun)
        if not begun:
            self._begin(len(self._messages))
        self._conversation.finish()
        self.indexed = True

    def _close(self, group: list[Value], pairing: Pairing, begun: bool) -> bool:
        """Takes in the message that a group of rows is; whether the run has begun by then."""
        if not group:
            return begun
        number = len(self._messages) - 1
        message = next(iter(messages_of(group)))
        mark, ids = outline(message)
        for unpaired in pairing.add(number, mark, ids):
            self._tell(self._where(self._messages.begins[unpaired.message]), str(unpaired))
        if len(self._names) < NAMES:
            self._names.update(dict.fromkeys(call.name for call in message.calls or ()))
        if not begun and mark != "i":
            self._begin(number)
            begun = True
        if begun:
            self._conversation.extend(mark)
        return begun

    def _begin(self, prelude: int) -> None:
        """Whatever was said before the first answer is before the first step."""
        self._conversation = Conversation(self._messages, prelude, open_status="ambiguous", growing=True)
        self._conversation.extend("i" * prelude)

    def items(self, begin: int, count: int) -> list[Value]:
        """The items of `count` rows from row `begin` on."""
        return [self._item(row_id, text) for row_id, text in self._store.rows(self._session, begin, count)]

    def _item(self, row_id: int, text: Value) -> Value:
        raw = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text
        if not isinstance(raw, bytes):
            self._tell(self._where(row_id), "a message that is no text")
            return {"role": "?", "content": text}
        found: list[Problem] = []
        try:
            value = parse(raw, Place(self._where(row_id)), found)
        except Damaged as damage:
            self._tell(self._where(row_id), f"{damage.reason} at byte {damage.offset}")
            return {"role": "?", "content": clean(raw.decode(errors="backslashreplace"))}
        for problem in found:
            self._tell(self._where(row_id), problem.message)
        return value if isinstance(value, dict) else {"role": "?", "content": value}

    def _where(self, row_id: int) -> str:
        return f"{self._store.database.label} {one_line(self._store.table)} row {row_id}"

    def _tell(self, where: str, message: str) -> None:
        problem = Problem(severity="warning", where=where, message=clean(message))
        if len(self._told) < NOTES and problem not in self._told:
            self._told.append(problem)

    def refresh(self) -> bool:
        return False

    def run(self) -> Run:
        last = self._end[-1] if self._end else None
        ended = last is not None and letter(last) == "a"
        return Run(
            id=self._session.id,
            kind="agent",
            status="completed" if ended else "interrupted" if self._end else "unknown",
            steps=len(self),
            started=self._session.started,
        )

    def definition(self) -> Definition:
        tools = tuple(Tool(name=name) for name in self._names)
        return Definition(tools=tools or None, tools_known="called" if tools else "none")

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        return [self._conversation.step(seq) for seq in range(max(start, 1), min(stop, len(self) + 1))]

    def state(self, step: int) -> State | None:
        return self._conversation.state(step)

    def raw(self, step: int) -> RawRecord | None:
        begin, end = self._conversation.span(step)
        if begin >= end:
            return None
        counts = sum(self._messages.counts[begin:end])
        rows = list(islice(self._store.rows(self._session, self._messages.begins[begin], counts), BATCH))
        texts = [clean(str(text)) for _, text in rows]
        return RawRecord(where=self._where(self._messages.begins[begin]), text="\n".join(texts))

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        last = len(self)
        order = range(min(start, last), 0, -1) if backward else range(max(start, 1), last + 1)
        for count, seq in enumerate(order, 1):
            raw, step = self.raw(seq), self._conversation.step(seq)
            if any(text in part for part in (step.name, step.summary or "", raw.text if raw else "")):
                yield seq
            if count % SEARCH_BATCH == 0:
                yield count, len(order)

    def resume(self) -> Resume:
        return Resume(driver=FORMAT, reasons=("not_resumable",))

    def problems(self) -> Sequence[Problem]:
        return self._told

    def close(self) -> None:
        pass


class Sessions:
    """The RunSet of a session database: a run per session."""

    def __init__(self, path: str, database: Database) -> None:
        self._path, self._database = one_line(path), database
        self.source = SourceInfo(path=self._path, format=FORMAT)
        self._list()

    def _list(self) -> None:
        self._generation = self._database.generation
        self._store = Store(self._database)
        self._sessions = self._store.sessions()
        self._rows: list[RunRow] | None = None

    def rows(self) -> Sequence[RunRow]:
        if self._rows is None:
            few = sum(session.rows for session in self._sessions.values()) <= LISTED
            self._rows = [self._row(session, few) for session in self._sessions.values()]
        return self._rows

    def _row(self, session: Session, few: bool) -> RunRow:
        run = SessionRun(self._store, session, self._path)
        for _ in run.index() if few else ():
            pass
        found = msgspec.structs.replace(row(run, session.id), updated=session.updated)
        return found if few else msgspec.structs.replace(found, steps=None)

    def open(self, run_id: str | None = None) -> RunSource:
        if run_id is None and len(self._sessions) == 1:
            run_id = next(iter(self._sessions))
        if run_id is None:
            raise UsageError(self._path, f"holds {len(self._sessions)} runs: choose one with --run")
        if run_id not in self._sessions:
            shown = ", ".join(list(self._sessions)[-10:])
            raise UsageError(self._path, f"holds no run {run_id!r}; it holds {shown or 'none'}")
        return SessionRun(self._store, self._sessions[run_id], self._path)

    def problems(self) -> Sequence[Problem]:
        return self._database.problems

    def refresh(self) -> bool:
        self._database.refresh()
        if self._generation == self._database.generation:
            return False
        self._list()
        return True

    def close(self) -> None:
        self._database.close()


def _time(value: Value) -> str | None:
    """A time of SQLite's in the form of RFC 3339, naive as it is."""
    return clean(value).replace(" ", "T", 1) if isinstance(value, str) and value else None
