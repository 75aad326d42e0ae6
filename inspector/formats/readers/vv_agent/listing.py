"""The runs of a checkpoint table, one line each, without decoding everything.

What a line needs stands in plain columns, but for the name, the number of steps and the times. Those come
from the JSON columns by a quick decoder, newest run first, until `DETAIL_BYTES` are spent; older runs go
without. A run that is opened tells the same, and more.
"""

from collections.abc import Sequence
from typing import Any

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

DETAIL_BYTES = 96 << 20
"""Bytes of JSON that a list decodes at most."""
_PLAIN = ("checkpoint_key", "schema_version", "status", "claim_token", "lease_expires_at_ms", "cycle_index")
_DETAILS = ("run_definition", "messages", "cycles", "model_calls", "model_call_journal", "tool_journal",
            "event_outbox", "terminal_result", "suspended_origin", "history")  # fmt: skip


def listing(database: Database, now: float) -> list[Listed]:
    """The runs of the table, oldest first. Runs that share a key are told apart by a number."""
    columns = database.tables.get(TABLE, [])
    plain = list(database.rows(f"SELECT rowid, {_picked(_PLAIN, columns)} FROM {TABLE} ORDER BY rowid"))
    details = _details(database, columns, [row[0] for row in plain])
    found, taken = [], set()
    for rowid, *cells in plain:
        fields = dict(zip(_PLAIN, cells, strict=True))
        run_id = _clean(fields["checkpoint_key"]) or f"row {rowid}"
        if run_id in taken:
            run_id = f"{run_id} #{rowid}"
        taken.add(run_id)
        found.append(_listed(rowid, run_id, fields, details.get(rowid), now))
    return found


def _picked(names: Sequence[str], columns: Sequence[str]) -> str:
    return ", ".join(quoted(name) if name in columns else "NULL" for name in names)


def _clean(cell: object) -> str | None:
    return clean(cell) if isinstance(cell, str) and cell else None


def _details(database: Database, columns: Sequence[str], rowids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The decoded JSON columns of the newest runs, by rowid; a column that cannot be decoded is missing."""
    left = DETAIL_BYTES
    found: dict[int, dict[str, Any]] = {}
    lengths = " + ".join(f"coalesce(length({quoted(name)}), 0)" for name in _DETAILS if name in columns)
    if not lengths or not rowids:
        return found
    sizes = list(database.rows(f"SELECT rowid, {lengths} FROM {TABLE} ORDER BY rowid DESC"))
    first = None
    for rowid, size in sizes:
        left -= size if isinstance(size, int) else left + 1
        if left < 0:
            break
        first = rowid
    if first is None:
        return found
    old = _archived(database)
    query = f"SELECT rowid, checkpoint_key, {_picked(_DETAILS, columns)} FROM {TABLE} WHERE rowid >= ?"
    for rowid, key, *cells in database.rows(query, (first,)):
        values = {name: _decoded(cell) for name, cell in zip(_DETAILS, cells, strict=True) if cell is not None}
        values["archive"] = old.get(key, []) if isinstance(key, str) else []
        found[rowid] = values
    return found


def _archived(database: Database) -> dict[str, list[Value]]:
    """The batches of retired cycle records, by run; {} when they are too long for a list."""
    if not {"checkpoint_key", "sequence", "payload"} <= set(database.tables.get(ARCHIVE, ())):
        return {}
    size = next(iter(database.rows(f"SELECT sum(length(payload)) FROM {ARCHIVE}")), (0,))[0]
    found: dict[str, list[Value]] = {}
    if isinstance(size, int | float) and size <= DETAIL_BYTES:
        for key, payload in database.rows(f"SELECT checkpoint_key, payload FROM {ARCHIVE} ORDER BY sequence"):
            if isinstance(key, str):
                found.setdefault(key, []).append(_decoded(payload))
    return found


class _Broken:
    """What could not be decoded."""


def _decoded(cell: object) -> Any:
    if not isinstance(cell, str | bytes):
        return _Broken()
    try:
        return msgspec.json.decode(cell)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return _Broken()


def _listed(rowid: int, run_id: str, fields: dict[str, Any], details: dict[str, Any] | None, now: float) -> Listed:
    claim = held(_clean(fields["claim_token"]), whole(fields["lease_expires_at_ms"]), now)
    status = _clean(fields["status"])
    known = details or {}
    terminal, definition = mapping(known.get("terminal_result")), mapping(known.get("run_definition"))
    cycles = known.get("cycles")
    waits = waiting(cycles if isinstance(cycles, list) else None)
    shown, reason = verdict(status, claim, terminal, waits, known.get("suspended_origin"))
    times = [
        moment(mapping(mapping(entry).get("event")).get("created_at")) for entry in sequence(known.get("event_outbox"))
    ]
    heard = [time for time in times if time]
    row = RunRow(
        id=run_id,
        name=_clean(mapping(definition.get("agent")).get("name")),
        kind="agent",
        status=shown,
        reason=reason,
        steps=None if details is None else _count(status, whole(fields["cycle_index"]), details),
        started=_started(known.get("event_outbox")),
        updated=max(heard, default=None),
        holder=claim.token if claim.live else None,
    )
    ends = (claim.until or 0) / 1000 if claim.live else None
    return Listed(row=row, rowid=rowid, schema=_clean(fields["schema_version"]), expires=ends)


def _started(outbox: Value) -> str | None:
    for entry in sequence(outbox):
        event = mapping(mapping(entry).get("event"))
        if event.get("type") in ("checkpoint_created", "run_started"):
            return moment(event.get("created_at"))
    return None


def _count(status: str | None, committed: int | None, details: dict[str, Any]) -> int | None:
    """How many steps the run has when it is opened; None where that takes the careful reading."""
    if any(isinstance(value, _Broken) for value in details.values()):
        return None
    batches = [mapping(batch) for batch in details["archive"]]
    old = [cycle for batch in batches for cycle in sequence(batch.get("cycles"))]
    calls = [entry for batch in batches for entry in sequence(batch.get("model_calls"))]
    told = whole(mapping(details.get("history")).get("sequence")) or 0
    messages, cycles = details.get("messages"), details.get("cycles")
    if told != len(batches) or not isinstance(messages, list) or not isinstance(cycles, list):
        return None
    found = journal(details.get("model_call_journal"), details.get("tool_journal"), committed)
    receipt = None if status in TERMINAL else found.receipt
    layout = lay(messages, [*old, *cycles], receipt)
    more = trailing(status, found, [*calls, *sequence(details.get("model_calls"))], [*old, *cycles])
    cut = status == "completed" or (status in TERMINAL and status != "wait_user" and (found.models or found.tools))
    told_steps = Conversation((), layout.prelude, letters=layout.letters, batch=() if cut else None)
    return len(told_steps) + len(more)
