"""One session of the append-only log → one run, and the list of sessions."""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from inspector.formats.conversation import Conversation
from inspector.formats.jsontext import Damaged
from inspector.formats.memory import MemoryRun
from inspector.formats.readers.vv_agent.claim import Claim, held
from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.definition import session_definition
from inspector.formats.readers.vv_agent.ledger import SUMMARY, total, usage
from inspector.formats.readers.vv_agent.listed import Listed
from inspector.formats.readers.vv_agent.log import TABLE as RECORDS
from inspector.formats.readers.vv_agent.log import Records
from inspector.formats.readers.vv_agent.problems import Problems
from inspector.formats.readers.vv_agent.projection import Projection
from inspector.formats.readers.vv_agent.shapes import mapping, milli_moment, sequence, text
from inspector.formats.readers.vv_agent.timeline import Timeline
from inspector.formats.readers.vv_agent.turn import oddities, open_work, resume, verdict
from inspector.formats.sqlitefile import Database, quoted
from inspector.model.digest import text_digest
from inspector.model.run import (
    Queue,
    RawRecord,
    Run,
    RunError,
    RunLink,
    RunRow,
    SourceInfo,
    State,
    Step,
    StepStatus,
    Usage,
)
from inspector.model.text import clean, shorten
from inspector.model.values import Value, to_json

TABLE = "sk_session"
INBOX = "sk_inbox"
COUNTED = 20_000
"""Records of all sessions together up to which the list of sessions counts steps."""


def generation(database: Database) -> str:
    """The version of the log's tables, as the database numbers it."""
    number = next(iter(database.rows("PRAGMA user_version")), (0,))[0]
    return f"session log {number}"


def listing(database: Database, now: float) -> Iterator[Listed]:
    """The sessions, oldest first."""
    size = next(iter(database.rows(f"SELECT count(*) FROM {RECORDS}")), (0,))[0] if RECORDS in database.tables else 0
    taken: set[str] = set()
    for (rowid,) in list(database.rows(f"SELECT rowid FROM {TABLE} ORDER BY rowid")):
        row = Row(database, TABLE, rowid, "")
        name = row.text("session_id") or f"row {rowid}"
        run_id = name if name not in taken else f"{name} #{rowid}"
        taken.add(run_id)
        if isinstance(size, int) and size <= COUNTED:
            found, claim = load(database, rowid, run_id, "", now)
            run = found.run()
        else:
            claim = _claim(row, now)
            run = Run(id=run_id, kind="agent", status=_quick(row, claim), steps=0)
        yield Listed(
            row=RunRow(
                id=run_id,
                name=run.name,
                kind="agent",
                status=run.status,
                reason=run.reason,
                steps=run.steps if isinstance(size, int) and size <= COUNTED else None,
                started=run.started,
                updated=run.ended,
                holder=claim.token if claim.live else None,
            ),
            rowid=rowid,
            schema=None,
            expires=(claim.until or 0) / 1000 if claim.live else None,
        )


def load(database: Database, rowid: int, key: str, path: str, now: float) -> tuple[MemoryRun, Claim]:
    """The run of a session, listed as `key`, as it is at `now`; and its lease."""
    row = Row(database, TABLE, rowid, key)
    records = Records(database, row.cell("session_id"), row)
    told = Projection(records)
    for record, body in records:
        told.add(record, body)
    told.finish()
    claim = _claim(row, now)
    _verify(told, records)
    for words in oddities(told):
        row.note(row.place, words)
    shape = _Session(row, records, told, claim, database)
    return MemoryRun(
        source=SourceInfo(path=path, format="vv-agent", version=generation(database)),
        run=shape.run(key),
        definition=session_definition(told.definition, told.digest),
        steps=shape.steps,
        state=shape.state,
        resume=resume(shape.phase, claim, told),
        problems=Problems(database, row),
        raw=shape.raw,
    ), claim


def _claim(row: Row, now: float) -> Claim:
    return held(row.text("lease_owner"), row.whole("lease_until_ms"), now)


def _quick(row: Row, claim: Claim) -> Any:
    return verdict(row.text("phase"), claim, None, ())[0]


def _verify(told: Projection, records: Records) -> None:
    """A problem when the definition of the newest turn is not the one whose digest is recorded."""
    raw = records.definition(told.definition_seq) if told.digest is not None else None
    if raw is None:
        return
    where = records.where(told.definition_seq)
    try:
        if text_digest(raw) != told.digest:
            records.row.note(where, "the definition is not what was recorded: its digest is another", "error")
    except ValueError as error:
        records.row.note(where, f"the definition's digest cannot be checked: {error}")


def _model_step(status: StepStatus, words: str | None, spent: Usage | None) -> Step:
    summary = shorten(words or "", SUMMARY) or None
    error = words if status == "failed" else None
    return Step(seq=0, kind="model", name="model", status=status, summary=summary, error=error, usage=spent)


class _Session:
    """Steps and states of a session."""

    def __init__(self, row: Row, records: Records, told: Projection, claim: Claim, database: Database) -> None:
        self._row, self._records, self._told, self._claim, self._database = row, records, told, claim, database
        self.phase = row.text("phase")
        letters = told.messages.letters
        self._batch = open_work(told, claim, self._answered())
        cut = bool(self._more())
        self.conversation = Conversation(
            told.messages,
            told.prelude,
            letters=letters,
            batch=() if cut else self._batch,
            usage=lambda number: told.usages[number] if number < len(told.usages) else None,
        )
        self.steps = Timeline(self.conversation, self._more(), self._dress)

    def run(self, key: str) -> Run:
        told = self._told
        status, reason = verdict(self.phase, self._claim, told, self._batch)
        ended = status in ("completed", "failed", "cancelled")
        forked = mapping(mapping(told.attributes.get("attributes")).get("app_server_fork"))
        origin = text(mapping(forked.get("lineage")).get("sourceThreadId"))
        return Run(
            id=key,
            name=text(told.definition.get("agent_name")),
            kind="agent",
            status=status,
            reason=reason,
            steps=len(self.steps),
            started=milli_moment(told.created),
            ended=milli_moment(told.ended) if ended else None,
            resumed_from=RunLink(run=origin) if origin else None,
            error=self._error() if status == "failed" else None,
            usage=total(told.spent),
        )

    def state(self, seq: int) -> State | None:
        last = len(self.steps)
        if not 0 <= seq <= last:
            return None
        short = len(self.conversation)
        state = self.conversation.state(min(seq, short))
        if seq < last:
            return state
        if last > short:
            state = msgspec.structs.replace(state, pending=tuple(self._batch))
        return msgspec.structs.replace(state, step=seq, values=self._values(), queues=self._queues())

    def raw(self, seq: int) -> RawRecord | None:
        if not 0 <= seq <= len(self.conversation):
            return None
        if seq == 0:
            return RawRecord(where=self._records.where(1), text=to_json(self._told.attributes))
        begin, end = self.conversation.span(seq)
        refs = self._told.messages.refs[begin:end]
        parts = [self._records.again(ref) if isinstance(ref, int) else ref for ref in refs]
        first = next((ref for ref in refs if isinstance(ref, int)), None)
        where = self._row.place if first is None else self._records.where(first)
        return RawRecord(where=where, text=to_json(parts))

    def _answered(self) -> Any:
        """The calls of the open batch, whole."""
        batch = self._told.batch
        if batch is None or not batch.calls:
            return ()
        for at in range(len(self._told.messages) - 1, -1, -1):
            if self._told.messages.kinds[at] == ord("c"):
                return self._told.messages[at].calls or ()
        return ()

    def _more(self) -> list[Step]:
        """The model call that ended the newest turn without a message."""
        failed, end = self._told.failed, self._told.end
        if failed and end.get("status") == "failed":
            words = text(failed.get("error_code"))
            return [_model_step("failed", words, usage(failed.get("usage")))]
        open_models = [pending for pending in self._batch if pending.kind == "model"]
        return [_model_step("unknown", open_models[-1].note, None)] if end and open_models else []

    def _dress(self, step: Step) -> Step:
        begin, end = self.conversation.span(step.seq)
        began = [at for at in self._told.messages.began[begin:end] if at >= 0]
        ended = [at for at in self._told.messages.ended[begin:end] if at >= 0]
        waits = any(pending.status == "waiting" for pending in self._batch)
        if waits and step.kind == "tools" and step.seq == len(self.conversation):
            step = msgspec.structs.replace(step, status="pending")
        over = step.status == "done"
        return msgspec.structs.replace(
            step,
            started=milli_moment(min(began)) if began else None,
            ended=milli_moment(max(ended)) if ended and over else None,
        )

    def _error(self) -> RunError:
        end = self._told.end
        result, reason = end.get("result"), text(end.get("reason"))
        words = result if isinstance(result, str) and result else None
        return RunError(message=words or reason, type=reason if words else None, step=len(self.steps) or None)

    def _values(self) -> dict[str, Any]:
        told, row = self._told, self._row
        found: dict[str, Value] = {
            "shared_state": told.shared,
            "phase": self.phase,
            "turns": told.turns,
            "lease": self._claim.shown(),
            "lease_epoch": row.whole("lease_epoch"),
            "compactions": told.compactions or None,
            "parent_session": row.text("parent_session_id"),
            "workspace": text(told.attributes.get("workspace")),
            "unconfirmed_operations": sequence(told.end.get("unconfirmed_operations")) or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _queues(self) -> tuple[Queue, ...] | None:
        """Inputs that were sent to the session and not taken in yet."""
        columns = self._database.tables.get(INBOX, [])
        if not {"session_id", "input_seq", "kind", "body", "consumed_seq"} <= set(columns):
            return None
        query = (
            f"SELECT kind, body, {'digest' if 'digest' in columns else 'NULL'} FROM {quoted(INBOX)} "
            "WHERE session_id = ? AND consumed_seq IS NULL ORDER BY input_seq"
        )
        tokens = []
        for number, (kind, body, digest) in enumerate(self._database.rows(query, (self._row.cell("session_id"),)), 1):
            raw = body.encode() if isinstance(body, str) else body
            where = f"{self._database.label}: {INBOX}[{self._row.name}:{number}].body"
            try:
                value = self._row.parse(raw, where) if isinstance(raw, bytes) else None
            except Damaged as damage:
                self._row.note(where, damage.reason, "error")
                value = damage.value
            if isinstance(raw, bytes) and isinstance(digest, str) and hashlib.sha256(raw).hexdigest() != digest:
                self._row.note(where, "is not what was recorded: its digest is another", "error")
            tokens.append({"kind": clean(str(kind)), "payload": mapping(value).get("payload")})
        return (Queue(id="inbox", contents="complete", size=len(tokens), tokens=tokens),)
