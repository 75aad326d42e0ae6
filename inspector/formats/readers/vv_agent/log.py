"""The append-only session log: records, and what they say together.

A session's records are read once, in order. Of a model answer or a tool result only its number is kept; it is
decoded again when its message is looked at, so a log of any length costs little more than its operations.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from inspector.formats.jsontext import Damaged
from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.messages import call, calls_of, content, message
from inspector.formats.readers.vv_agent.shapes import mapping, sequence, text
from inspector.formats.sqlitefile import Database, quoted
from inspector.model.run import Message
from inspector.model.text import clean
from inspector.model.values import Value, clean_value

TABLE = "sk_record"
_COLUMNS = ("seq", "kind", "turn_id", "operation_id", "attempt", "created_ms", "body", "digest")
_TOOL = re.compile(r"(.+)/attempt/(\d{1,9})/tool/(\d{1,9})")
UNKNOWN_RESULT = '{"error": "tool_outcome_unknown", "retryable": false}'
"""What the model is told of a call whose outcome is not known."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record of the log without its body; `at` is the time in milliseconds since 1970."""

    seq: int
    kind: str
    turn: str | None
    operation: str | None
    attempt: int | None
    at: int | None


class Request(msgspec.Struct):
    """What an operation asks for; of a model request nothing is kept."""

    id: Any = None
    name: Any = None
    arguments: Any = None


class Plan(msgspec.Struct):
    """The payload of `op_planned` and `op_prepared`, as far as it is of use."""

    op_kind: Any = None
    purpose: Any = None
    request: Request = msgspec.field(default_factory=Request)
    tool: Any = None


class _Planned(msgspec.Struct):
    payload: Plan = msgspec.field(default_factory=Plan)


class _Defined(msgspec.Struct):
    definition: msgspec.Raw = msgspec.Raw()


class _Started(msgspec.Struct):
    payload: _Defined = msgspec.field(default_factory=_Defined)


class Records:
    """The records of one session. `row` takes the problems; a record that cannot be read is one."""

    def __init__(self, database: Database, session: object, row: Row) -> None:
        self.row = row
        self.gaps = False
        """Whether records are missing, or so damaged that they do not tell what they are."""
        self._database, self._session = database, session
        columns = database.tables.get(TABLE, [])
        self._picked = ", ".join(f"r.{quoted(name)}" if name in columns else "NULL" for name in _COLUMNS)

    def where(self, seq: int) -> str:
        """The place of a record's body."""
        return f"{self._database.label}: {TABLE}[{self.row.name}:{seq}].body"

    def __iter__(self) -> Iterator[tuple[Record, bytes]]:
        expected, before = 1, b""
        query = f"SELECT {self._picked} FROM {self._keyed()} WHERE k.session_id = ? ORDER BY k.seq"
        for seq, kind, turn, operation, attempt, at, body, digest in self._database.rows(query, (self._session,)):
            raw = body.encode() if isinstance(body, str) else body
            if not (isinstance(seq, int) and seq > 0 and isinstance(kind, str) and isinstance(raw, bytes)):
                self.gaps = True
                self.row.note(self.where(seq if isinstance(seq, int) else 0), "is no record", "error")
                continue
            if seq < expected:
                self.gaps |= raw != before
                self.row.note(self.where(seq), "is there again: the first one is shown", "error")
                continue
            if seq > expected:
                self._missing(expected, seq - 1)
            expected, before = seq + 1, raw
            if isinstance(digest, str) and hashlib.sha256(raw).hexdigest() != digest:
                self.row.note(self.where(seq), "is not what was recorded: its digest is another", "error")
            yield (
                Record(
                    seq=seq,
                    kind=kind,
                    turn=clean(turn) if isinstance(turn, str) else None,
                    operation=clean(operation) if isinstance(operation, str) else None,
                    attempt=attempt if isinstance(attempt, int) else None,
                    at=at if isinstance(at, int) else None,
                ),
                raw,
            )

        head = self.row.cell("head_seq")
        if isinstance(head, int) and head >= expected:
            self._missing(expected, head)

    def _keyed(self) -> str:
        """The records, as r, by what they are found by, as k."""
        return f"{self._database.keyed(TABLE, 'session_id', 'seq')} k CROSS JOIN {TABLE} r ON r.rowid = k.rowid"

    def _missing(self, first: int, last: int) -> None:
        self.gaps = True
        which = f"record {first} is" if first == last else f"records {first} to {last} are"
        self.row.note(f"{self.row.place}", f"{which} missing", "error")

    def payload(self, seq: int, body: bytes) -> dict[str, Any]:
        """The payload of a record, {} with a problem where it cannot be read."""
        try:
            return mapping(mapping(self.row.parse(body, self.where(seq))).get("payload"))
        except Damaged as damage:
            self.row.note(f"{self.where(seq)} byte {damage.offset}", damage.reason, "error")
            return mapping(mapping(damage.value).get("payload"))

    def plan(self, seq: int, body: bytes) -> Plan:
        """The payload of a planned operation, without what a model is sent."""
        try:
            found = msgspec.json.decode(body, type=_Planned).payload
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            fields = self.payload(seq, body)
            asked = mapping(fields.get("request"))
            request = Request(asked.get("id"), asked.get("name"), asked.get("arguments"))
            return Plan(fields.get("op_kind"), fields.get("purpose"), request, fields.get("tool"))
        return msgspec.structs.replace(found, request=Request(*map(clean_value, _fields(found.request))))

    def again(self, seq: int) -> dict[str, Any]:
        """The payload of a record that was seen before."""
        body = self._body(seq)
        return {} if body is None else self.payload(seq, body)

    def definition(self, seq: int) -> bytes | None:
        """The text of the definition in the record that began a turn."""
        try:
            return bytes(msgspec.json.decode(self._body(seq) or b"{}", type=_Started).payload.definition) or None
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return None

    def _body(self, seq: int) -> bytes | None:
        query = f"SELECT r.body FROM {self._keyed()} WHERE k.session_id = ? AND k.seq = ?"
        found = next(iter(self._database.rows(query, (self._session, seq))), (None,))[0]
        return found.encode() if isinstance(found, str) else found if isinstance(found, bytes) else None

    def answer(self, seq: int) -> Message:
        """The model's message that a record holds."""
        result = mapping(self.again(seq).get("result"))
        where = f"{self.where(seq)}.payload.result.tool_calls"
        calls = tuple(call(item, self.row, f"{where}[{n}]") for n, item in enumerate(calls_of(result)))
        return Message(role="assistant", text=content(result.get("content")), calls=calls or None)

    def result(self, seq: int) -> Message:
        """The tool's result that a record holds."""
        return told(self.again(seq).get("result"))

    def messages(self, values: Value, seq: int) -> list[Message]:
        """Stored messages of a record."""
        where = f"{self.where(seq)}.payload.messages"
        return [message(value, self.row, f"{where}[{number}]") for number, value in enumerate(sequence(values))]


def told(result: Value) -> Message:
    """A tool's result as the message that it becomes."""
    fields = mapping(result)
    return Message(role="tool", text=content(fields.get("content")), call_id=text(fields.get("tool_call_id")))


def place_in_batch(operation: str) -> tuple[str, int] | None:
    """The model answer, `OPERATION/attempt/N`, that a tool operation belongs to, and its place there."""
    match = _TOOL.fullmatch(operation)
    return (f"{match[1]}/attempt/{match[2]}", int(match[3])) if match else None


def _fields(request: Request) -> tuple[Any, Any, Any]:
    return request.id, request.name, request.arguments
