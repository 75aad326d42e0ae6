"""The retired part of a run's records: from v12 on a row keeps only its newest cycles, and a second table the
others in batches, each bound to the one before it by a digest."""

import hashlib
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.shapes import mapping, sequence, whole
from inspector.formats.sqlitefile import Database
from inspector.model.digest import text_digest

TABLE = "checkpoint_history"


class Archive(msgspec.Struct):
    """Cycle records and model calls that a row no longer holds, oldest first; `whole`: none is missing."""

    whole: bool = True
    cycles: list[Any] = msgspec.field(default_factory=list)
    calls: list[Any] = msgspec.field(default_factory=list)


def archive(database: Database, key: object, row: Row) -> Archive:
    """The batches of the run of that key. Problems go to `row`: a batch that cannot be read, is missing, or is
    not the one that its digest is of."""
    found = Archive()
    if not {"checkpoint_key", "sequence", "payload"} <= set(database.tables.get(TABLE, ())):
        return found
    query = f"SELECT rowid FROM {TABLE} WHERE checkpoint_key = ? ORDER BY sequence"
    expected, chain = 1, None
    for (rowid,) in list(database.rows(query, (key,))):
        batch = Row(database, TABLE, rowid, f"{row.name}:{expected}")
        number, text = batch.whole("sequence"), batch.raw("payload")
        if number != expected:
            batch.note(batch.place, f"batch {expected} of the cycle records is missing", "error")
            found.whole, expected = False, number if number is not None else expected
        payload, recorded = batch.value("payload", dict) or {}, batch.text("payload_digest")
        found.whole = found.whole and not batch.damaged
        if text is not None and recorded is not None and not _is_of(recorded, text):
            batch.note(batch.where("payload"), "is not what was recorded: its digest is another", "error")
        if expected > 1 and chain is not None and payload and payload.get("previous_digest") != chain:
            batch.note(batch.where("payload"), "does not follow the batch before it")
        expected, chain = expected + 1, recorded
        found.cycles += sequence(payload.get("cycles"))
        found.calls += sequence(payload.get("model_calls"))
        row.take(batch.problems)
    frontier = mapping(row.value("history", dict))
    count = whole(frontier.get("sequence"))
    if count is not None and count >= expected:
        found.whole = False
        row.note(row.where("history"), f"tells of {count} batches of older cycles, {expected - 1} are there", "error")
    return found


def _is_of(recorded: str, text: bytes) -> bool:
    if hashlib.sha256(text).hexdigest() == recorded:
        return True
    try:
        return text_digest(text) == recorded
    except ValueError:
        return False
