"""What a run that waits is waiting for: an answer of its user, an approval, a host's reply; and what an ended
run left undone."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.messages import call, calls_of
from inspector.formats.readers.vv_agent.shapes import mapping, text
from inspector.formats.readers.vv_agent.verdict import waiting
from inspector.formats.sqlitefile import Database
from inspector.model.run import Pending
from inspector.model.values import Value

_NOTE = "never answered under this key: the answer starts a new run"


def question(cycles: Sequence[Value], terminal: dict[str, Any], row: Row) -> Pending:
    """The call, or the words, by which a run ended to wait for its user."""
    asks = waiting(cycles)
    call_id = text(asks.get("tool_call_id"))
    calls = calls_of(mapping(cycles[-1])) if cycles else []
    where = f"{row.where('cycles')}[{len(cycles) - 1}].tool_calls"
    asked = next(
        (call(item, row, f"{where}[{n}]") for n, item in enumerate(calls) if mapping(item).get("id") == call_id), None
    )
    approval = asks.get("error_code") == "tool_approval_required"
    name = text(terminal.get("completion_tool_name")) or (asked.name if asked else "user")
    words = text(terminal.get("wait_reason"))
    return Pending(
        kind="tool" if approval else "input",
        name=name,
        status="waiting",
        call_id=call_id,
        arguments=asked.arguments if asked else {"question": words},
        note="; ".join(part for part in (words, _NOTE) if part),
    )


def replies(request: Value, row: Row, cycles: Sequence[Value], database: Database) -> Iterator[Pending]:
    """The question of a tool to the host that has not come back to the run; nothing when there is none."""
    fields = mapping(request)
    if not fields:
        return
    call_id = text(fields.get("tool_call_id"))
    calls = calls_of(mapping(cycles[-1])) if cycles else []
    name = next((text(mapping(item).get("name")) for item in calls if mapping(item).get("id") == call_id), None)
    response = _response(database, row, text(fields.get("interaction_id")))
    yield Pending(
        kind="input",
        name=name or "host interaction",
        status="waiting" if response is None else "answered",
        call_id=call_id,
        internal_call_id=text(fields.get("interaction_id")),
        arguments={"prompt": fields.get("prompt")},
        result=response,
    )


def _response(database: Database, row: Row, interaction: str | None) -> Value:
    table = "host_interaction_records"
    if not {"checkpoint_key", "interaction_id", "response"} <= set(database.tables.get(table, ())):
        return None
    query = f"SELECT rowid FROM {table} WHERE checkpoint_key = ? AND interaction_id = ? AND response IS NOT NULL"
    for (rowid,) in list(database.rows(query, (row.cell("checkpoint_key"), interaction))):
        return Row(database, table, rowid, row.name).value("response", dict)
    return None


def undone(left: Sequence[Pending]) -> list[Pending]:
    """Calls that an ended run asked for and did not make."""
    return [msgspec.structs.replace(pending, note="the run ended before this call") for pending in left]


def unmade(batch: Sequence[Pending]) -> Iterator[Pending]:
    """The calls of a batch as they were when the model had just asked for them."""
    for one in batch:
        if one.kind == "tool":
            yield Pending(kind="tool", name=one.name, status="ready", call_id=one.call_id, arguments=one.arguments)
