"""The runs of a checkpoint table, one line each, without decoding everything.

Status and owner stand in plain columns. Name, times and the number of steps come from the JSON columns, of
which a quick decoder keeps a few fields and skips the rest; newest runs first, until a budget is spent, so
that older runs may go without. A run that is opened tells the same, and more.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from inspector.formats.conversation import Conversation
from inspector.formats.readers.vv_agent.archive import TABLE as ARCHIVE
from inspector.formats.readers.vv_agent.checkpoint import TABLE
from inspector.formats.readers.vv_agent.claim import held
from inspector.formats.readers.vv_agent.journal import journal
from inspector.formats.readers.vv_agent.layout import lay
from inspector.formats.readers.vv_agent.ledger import trailing
from inspector.formats.readers.vv_agent.listed import Listed
from inspector.formats.readers.vv_agent.shapes import mapping, moment, sequence, whole
from inspector.formats.readers.vv_agent.verdict import TERMINAL, verdict, waiting
from inspector.formats.sqlitefile import Database, quoted
from inspector.model.run import RunRow
from inspector.model.text import clean
from inspector.model.values import Value

DETAIL_BYTES = 64 << 20
"""Bytes of JSON that a list looks through at most."""
COUNT_BYTES = 4 << 20
"""Bytes of it that may be decoded whole, for the runs whose steps a quick look cannot count."""
_PLAIN = ("checkpoint_key", "schema_version", "status", "claim_token", "lease_expires_at_ms", "cycle_index")
_DETAILS = ("run_definition", "messages", "cycles", "model_calls", "model_call_journal", "tool_journal",
            "event_outbox", "terminal_result", "suspended_origin", "history")  # fmt: skip
Cells = dict[str, Any]
Head = TypeVar("Head")


class _Agent(msgspec.Struct):
    name: Any = None


class _Definition(msgspec.Struct):
    agent: _Agent = msgspec.field(default_factory=_Agent)


class _Event(msgspec.Struct):
    type: Any = None
    created_at: float | None = None


class _Sent(msgspec.Struct):
    event: _Event = msgspec.field(default_factory=_Event)


class _Result(msgspec.Struct):
    directive: Any = None
    error_code: Any = None


class _Cycle(msgspec.Struct):
    index: Any = None
    tool_calls: list[msgspec.Raw] = msgspec.field(default_factory=list)
    tool_results: list[_Result] = msgspec.field(default_factory=list)


class _Terminal(msgspec.Struct):
    completion_reason: Any = None
    budget_exhaustion: Any = None


class _Budget:
    """Bytes that may still be decoded whole."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, size: int) -> bool:
        self.left -= size
        return self.left >= 0


_definitions = msgspec.json.Decoder(_Definition)
_outboxes = msgspec.json.Decoder(list[_Sent])
_cycle_lists = msgspec.json.Decoder(list[_Cycle])
_terminals = msgspec.json.Decoder(_Terminal)
_anything = msgspec.json.Decoder()


def listing(database: Database, now: float) -> list[Listed]:
    """The runs of the table, oldest first. Runs that share a key are told apart by a number."""
    columns = database.tables.get(TABLE, [])
    plain = list(database.rows(f"SELECT rowid, {_picked(_PLAIN, columns)} FROM {TABLE} ORDER BY rowid"))
    details = _details(database, columns)
    budget = _Budget(COUNT_BYTES)
    taken: set[str] = set()
    found = []
    for rowid, *cells in plain:
        fields = dict(zip(_PLAIN, cells, strict=True))
        run_id = _clean(fields["checkpoint_key"]) or f"row {rowid}"
        if run_id in taken:
            run_id = f"{run_id} #{rowid}"
        taken.add(run_id)
        found.append(_listed(rowid, run_id, fields, details.get(rowid), now, budget))
    return found


def _picked(names: Sequence[str], columns: Sequence[str]) -> str:
    return ", ".join(quoted(name) if name in columns else "NULL" for name in names)


def _clean(cell: object) -> str | None:
    return clean(cell) if isinstance(cell, str) and cell else None


def _details(database: Database, columns: Sequence[str]) -> dict[int, Cells]:
    """The JSON columns of the newest runs, undecoded, by rowid."""
    lengths = " + ".join(f"coalesce(length({quoted(name)}), 0)" for name in _DETAILS if name in columns)
    if not lengths:
        return {}
    budget, first = _Budget(DETAIL_BYTES), None
    for rowid, size in database.rows(f"SELECT rowid, {lengths} FROM {TABLE} ORDER BY rowid DESC"):
        if not isinstance(size, int) or not budget.take(size):
            break
        first = rowid
    if first is None:
        return {}
    old = _archived(database)
    query = f"SELECT rowid, checkpoint_key, {_picked(_DETAILS, columns)} FROM {TABLE} WHERE rowid >= ?"
    found = {}
    for rowid, key, *cells in database.rows(query, (first,)):
        found[rowid] = dict(zip(_DETAILS, cells, strict=True))
        found[rowid]["archive"] = old.get(key, []) if isinstance(key, str) else []
    return found


def _archived(database: Database) -> dict[str, list[object]]:
    """The batches of retired cycle records, undecoded, by run; {} when they are too long for a list."""
    if not {"checkpoint_key", "sequence", "payload"} <= set(database.tables.get(ARCHIVE, ())):
        return {}
    size = next(iter(database.rows(f"SELECT sum(length(payload)) FROM {ARCHIVE}")), (0,))[0]
    found: dict[str, list[object]] = {}
    if isinstance(size, int | float) and size <= DETAIL_BYTES:
        for key, payload in database.rows(f"SELECT checkpoint_key, payload FROM {ARCHIVE} ORDER BY sequence"):
            if isinstance(key, str):
                found.setdefault(key, []).append(payload)
    return found


def _read(decoder: msgspec.json.Decoder[Head], cell: object) -> Head | None:
    if not isinstance(cell, str | bytes):
        return None
    try:
        return decoder.decode(cell)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _listed(rowid: int, run_id: str, fields: Cells, details: Cells | None, now: float, budget: _Budget) -> Listed:
    claim = held(_clean(fields["claim_token"]), whole(fields["lease_expires_at_ms"]), now)
    status, known = _clean(fields["status"]), details or {}
    cycles = _read(_cycle_lists, known.get("cycles"))
    waits: Cells = {}
    if status == "wait_user" and cycles:
        results = [{"directive": one.directive, "error_code": one.error_code} for one in cycles[-1].tool_results]
        waits = waiting([{"tool_results": results}])
    ended = _read(_terminals, known.get("terminal_result")) if status == "failed" else None
    terminal = msgspec.structs.asdict(ended) if ended else {}
    shown, reason = verdict(status, claim, terminal, waits, _read(_anything, known.get("suspended_origin")))
    definition = _read(_definitions, known.get("run_definition"))
    events = [sent.event for sent in _read(_outboxes, known.get("event_outbox")) or ()]
    begun = next((one.created_at for one in events if one.type in ("checkpoint_created", "run_started")), None)
    row = RunRow(
        id=run_id,
        name=_clean(definition.agent.name) if definition else None,
        kind="agent",
        status=shown,
        reason=reason,
        steps=_count(status, whole(fields["cycle_index"]), known, cycles, budget) if details else None,
        started=moment(begun),
        updated=moment(max((one.created_at for one in events if one.created_at is not None), default=None)),
        holder=claim.token if claim.live else None,
    )
    ends = (claim.until or 0) / 1000 if claim.live else None
    return Listed(row=row, rowid=rowid, schema=_clean(fields["schema_version"]), expires=ends)


def _count(
    status: str | None, committed: int | None, cells: Cells, cycles: list[_Cycle] | None, budget: _Budget
) -> int | None:
    """How many steps the run has when it is opened; None where that costs too much or takes the careful
    reading. Where only one message is a user's and nothing is open, each cycle is a step or two."""
    messages = cells.get("messages")
    if cycles is None or not isinstance(messages, str):
        return None
    users = messages.count('"role":"user"') + messages.count('"role": "user"')
    quiet = cells.get("model_call_journal") == cells.get("tool_journal") == "[]" and not cells["archive"]
    if users == 1 and quiet and cycles and status in (*TERMINAL, "running") and status != "failed":
        made = sum(2 if cycle.tool_results else 1 for cycle in cycles)
        left = cycles[-1].tool_calls and not cycles[-1].tool_results and status != "completed"
        return made + (1 if left else 0)
    size = sum(len(cell) for cell in cells.values() if isinstance(cell, str | bytes))
    size += sum(len(batch) for batch in cells["archive"] if isinstance(batch, str | bytes))
    return _laid_out(status, committed, cells) if budget.take(size) else None


def _laid_out(status: str | None, committed: int | None, cells: Cells) -> int | None:
    """The same, from the whole columns."""
    found: dict[str, Value] = {}
    for name in ("messages", "cycles", "model_calls", "model_call_journal", "tool_journal", "history"):
        found[name] = _read(_anything, cells.get(name))
        if found[name] is None and cells.get(name) not in (None, "null"):
            return None
    batches = [mapping(_read(_anything, batch)) for batch in cells["archive"]]
    if (whole(mapping(found["history"]).get("sequence")) or 0) != len(batches):
        return None
    cycles = [cycle for batch in batches for cycle in sequence(batch.get("cycles"))] + sequence(found["cycles"])
    calls = [entry for batch in batches for entry in sequence(batch.get("model_calls"))]
    if not isinstance(found["messages"], list) or not isinstance(found["cycles"], list):
        return None
    opened = journal(found["model_call_journal"], found["tool_journal"], committed)
    layout = lay(found["messages"], cycles, None if status in TERMINAL else opened.receipt)
    more = trailing(status, opened, [*calls, *sequence(found["model_calls"])], cycles)
    cut = status == "completed" or (status in TERMINAL and status != "wait_user" and (opened.models or opened.tools))
    return len(Conversation((), layout.prelude, letters=layout.letters, batch=() if cut else None)) + len(more)
