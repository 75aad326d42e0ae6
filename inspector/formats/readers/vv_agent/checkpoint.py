"""One checkpoint row → one run."""

from collections.abc import Sequence
from typing import Any

import msgspec

from inspector.formats.conversation import Conversation
from inspector.formats.memory import MemoryRun
from inspector.formats.readers.vv_agent.archive import archive
from inspector.formats.readers.vv_agent.claim import Claim, claim_of
from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.definition import definition, prompt, verify, verify_events
from inspector.formats.readers.vv_agent.journal import Batch, Journal, journal
from inspector.formats.readers.vv_agent.layout import lay
from inspector.formats.readers.vv_agent.ledger import (
    UNTIMED,
    Times,
    answered,
    call_times,
    tool_times,
    total,
    trailing,
    usage,
)
from inspector.formats.readers.vv_agent.messages import Transcript, answer, result_message
from inspector.formats.readers.vv_agent.owed import question, replies, undone, unmade
from inspector.formats.readers.vv_agent.problems import Problems
from inspector.formats.readers.vv_agent.shapes import mapping, moment, sequence, text
from inspector.formats.readers.vv_agent.timeline import Timeline
from inspector.formats.readers.vv_agent.verdict import (
    TERMINAL,
    error,
    is_known,
    oddities,
    resume,
    unknown_words,
    verdict,
    version,
    waiting,
)
from inspector.formats.sqlitefile import Database
from inspector.model.run import Message, Pending, RawRecord, Run, SourceInfo, State, Step
from inspector.model.values import Value, to_json

TABLE = "checkpoints"
COMMON = (
    *("status", "cycle_index", "claim_token", "lease_expires_at_ms", "run_definition", "messages", "cycles"),
    *("model_calls", "model_call_journal", "tool_journal", "event_outbox", "terminal_result"),
)
"""Columns that every generation has, without which something here is not known."""


class Record(msgspec.Struct, kw_only=True):
    """The decoded row: what its columns hold, as far as they are sound."""

    row: Row
    key: str
    status: str | None
    claim: Claim
    committed: int | None
    definition: dict[str, Any]
    terminal: dict[str, Any]
    cycles: Sequence[Value] | None
    """All cycle records; None when they cannot be counted."""
    messages: Sequence[Value]
    """The transcript; where it is damaged, what the run began with."""
    whole: bool
    """Whether the transcript is the one that stands in the row."""
    calls: list[Any]
    journal: Journal
    outbox: list[Any]

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL


def load(database: Database, rowid: int, key: str, path: str, now: float) -> tuple[MemoryRun, Claim]:
    """The run of a checkpoint row, listed as `key`, as it is at `now`; and its claim."""
    row = Row(database, TABLE, rowid, key)
    row.expect(COMMON)
    record = _record(database, row, key, now)
    found = version(row.text("schema_version"))
    if not is_known(found):
        row.note(row.where("schema_version"), unknown_words(found))
    recorded = row.text("run_definition_digest")
    verify(row, "run_definition", recorded)
    verify_events(row, "event_outbox")
    undelivered = sum(mapping(event).get("state") == "pending" for event in record.outbox)
    attempt = row.whole("resume_attempt")
    terminal = None if "terminal_result" in row.damaged else record.terminal
    parts = record.status, record.claim, record.journal, attempt, record.committed, undelivered, terminal
    for words in oddities(*parts):
        row.note(row.place, words)
    shape = _Run(record, database)
    return MemoryRun(
        source=SourceInfo(path=path, format="vv-agent", version=found),
        run=shape.run(),
        definition=definition(record.definition, recorded),
        steps=shape.steps,
        state=shape.state,
        resume=resume(record.status, record.claim, record.journal, is_known(found), bool(record.definition)),
        problems=Problems(database, row),
        raw=shape.raw,
    ), record.claim


def _record(database: Database, row: Row, key: str, now: float) -> Record:
    status, committed = row.text("status"), row.whole("cycle_index")
    found = row.value("run_definition", dict) or {}
    old = archive(database, row.cell("checkpoint_key"), row)
    cycles: Sequence[Value] | None = row.items("cycles")
    if cycles is not None:
        cycles = [*old.cycles, *cycles] if old.cycles else cycles
    messages = row.items("messages")
    whole = messages is not None and "messages" not in row.damaged
    if "cycles" in row.damaged or (whole and not old.whole):
        cycles = None
    if not whole:
        begun = prompt(found)
        messages = begun if begun and cycles else messages or begun
    return Record(
        row=row,
        key=key,
        status=status,
        claim=claim_of(row, now),
        committed=committed,
        definition=found,
        terminal=row.value("terminal_result", dict) or {},
        cycles=cycles,
        messages=messages or (),
        whole=whole,
        calls=[*old.calls, *(row.value("model_calls", list) or ())],
        journal=journal(row.value("model_call_journal", list), row.value("tool_journal", list), committed),
        outbox=row.value("event_outbox", list) or [],
    )


class _Run:
    """Steps and states of a record."""

    def __init__(self, record: Record, database: Database) -> None:
        self.record, self.row = record, record.row
        history = len(sequence(record.definition.get("initial_messages")))
        receipt = None if record.ended else record.journal.receipt
        self.layout = lay(record.messages, record.cycles, receipt, history)
        place = f"{self.row.where('model_call_journal')}.response"
        tail = [answer(receipt, "content", self.row, place)] if receipt else []
        self.stored = Transcript(self.row, "messages", record.messages, tail)
        self.waits = waiting(record.cycles)
        events = self._events()
        self.times, self.tool_times = call_times(events), tool_times(events)
        self.batch = self._batch(database)
        self.conversation = self._conversation(self._messages(tail), self.batch)
        self.answers = answered(record.calls)
        self.more = trailing(record.status, record.journal, record.calls, record.cycles or (), self.times)
        self.steps = Timeline(self.conversation, self.more, self._dress)

    def run(self) -> Run:
        record, last = self.record, len(self.steps)
        origin = self.row.value("suspended_origin", dict)
        status, reason = verdict(record.status, record.claim, record.terminal, self.waits, origin)
        times = {kind: moment(event.get("created_at")) for kind, event in self._events()}
        ended = next((times[kind] for kind in ("run_completed", "run_failed", "run_cancelled") if kind in times), None)
        return Run(
            id=record.key,
            name=text(mapping(record.definition.get("agent")).get("name")),
            kind="agent",
            status=status,
            reason=reason,
            steps=last,
            started=times.get("checkpoint_created") or times.get("run_started"),
            ended=ended if record.ended else None,
            error=error(status, record.terminal, last),
            usage=total([usage(mapping(entry).get("usage")) for entry in record.calls]),
        )

    def state(self, seq: int) -> State | None:
        last, told = len(self.steps), min(seq, len(self.conversation))
        if not 0 <= seq <= last:
            return None
        state = self.conversation.state(told)
        changes: dict[str, Any] = {"step": seq}
        if seq == last:
            changes["values"] = self._values()
            if self.record.whole and self.layout.rebuilt:
                changes["messages"] = self.stored
            if self.more:
                changes["pending"] = tuple(self.batch or ())
        elif seq > told:
            changes["pending"] = tuple(unmade(self.batch or ()))
        elif seq == 0:
            begun = self.record.definition.get("initial_shared_state")
            changes["values"] = {"shared_state": begun} if isinstance(begun, dict) else None
        return msgspec.structs.replace(state, **changes)

    def raw(self, seq: int) -> RawRecord | None:
        if not 0 <= seq <= len(self.steps):
            return None
        if seq == 0:
            return RawRecord(where=self.row.where("run_definition"), text=to_json(self.record.definition))
        short = len(self.conversation)
        begin, end = self.conversation.span(seq) if seq <= short else (len(self.stored), len(self.stored))
        values = self.record.messages
        if end > begin and end <= len(values) and not self.layout.rebuilt:
            return RawRecord(where=f"{self.row.where('messages')}[{begin}]", text=to_json(list(values[begin:end])))
        record = self.record.journal
        if end <= begin or begin >= len(self.conversation.messages) - (record.receipt is not None):
            parts = {"model_call_journal": record.models, "tool_journal": record.tools}
            return RawRecord(where=self.row.place, text=to_json(parts))
        messages = list(self.conversation.messages[begin:end])
        return RawRecord(where=self.row.where("cycles"), text=to_json(messages))

    def _messages(self, tail: list[Message]) -> Sequence[Message]:
        if not self.layout.rebuilt:
            return self.stored
        made: list[Message] = []
        for number, cycle in enumerate(self.record.cycles or ()):
            fields = mapping(cycle)
            made.append(answer(fields, "assistant_message", self.row, f"{self.row.where('cycles')}[{number}]"))
            made += map(result_message, sequence(fields.get("tool_results")))
        begun = self.record.messages[: self.layout.prelude]
        return Transcript(self.row, "messages", begun, [*made, *tail])

    def _batch(self, database: Database) -> Sequence[Pending] | None:
        """The reader's word on what is open; None: the transcript tells it."""
        record = self.record
        if record.status == "wait_user":
            asked = question(record.cycles or (), record.terminal, self.row)
            return [msgspec.structs.replace(asked, since=self.tool_times.get(asked.call_id or "", UNTIMED)[1])]
        if record.status == "completed":
            return ()
        if record.ended and not (record.journal.models or record.journal.tools):
            return None
        policy = mapping(record.definition.get("checkpoint_policy"))
        since = {call_id: began for call_id, (began, _) in (self.times | self.tool_times).items()}
        batch = Batch(record.journal, self.row, record.claim, policy, since).pending()
        origin = self.row.value("suspended_origin", dict) or {}
        request = self.row.value("active_host_interaction", dict) or origin.get("active_host_interaction")
        return [*batch, *replies(request, self.row, record.cycles or (), database)] or None

    def _conversation(self, messages: Sequence[Message], batch: Sequence[Pending] | None) -> Conversation:
        cut = self.record.ended and batch is not None and self.record.status not in ("wait_user", "completed")
        if self.record.ended and batch is None:
            told = Conversation(messages, self.layout.prelude, letters=self.layout.letters)
            batch = undone(told.pending(len(told)))
        return Conversation(
            messages,
            self.layout.prelude,
            letters=self.layout.letters,
            batch=() if cut else batch,
            usage=lambda number: usage(self._answer(number).get("usage")),
        )

    def _answer(self, number: int) -> dict[str, Any]:
        """The ledger's entry of a model answer of the conversation; {} where it has none."""
        return self.answers[number] if number < len(self.answers) else {}

    def _dress(self, step: Step) -> Step:
        if step.kind == "model":
            entry = self._answer(self.conversation.models(step.seq) - 1)
            began, ended = self.times.get(text(entry.get("call_id")) or "", UNTIMED)
            return msgspec.structs.replace(step, started=began, ended=ended)
        if step.kind == "tools":
            last = step.seq == len(self.conversation)
            if last and any(one.status == "waiting" for one in self.batch or ()):
                step = msgspec.structs.replace(step, status="pending")
            began, ended = self._tools_times(step)
            return msgspec.structs.replace(step, started=began, ended=ended if step.status == "done" else None)
        return step

    def _tools_times(self, step: Step) -> Times:
        """When the first call of a batch began and its last one ended: they are made one by one."""
        begin, end = self.conversation.span(step.seq)
        messages, batch = self.conversation.messages, [one for one in self.batch or () if one.kind == "tool"]
        if end > begin:
            first, last = messages[begin].call_id, messages[end - 1].call_id
        else:
            first = last = batch[0].call_id if batch else None
        return self.tool_times.get(first or "", UNTIMED)[0], self.tool_times.get(last or "", UNTIMED)[1]

    def _events(self) -> list[tuple[str, dict[str, Any]]]:
        events = [mapping(mapping(entry).get("event")) for entry in self.record.outbox]
        return [(kind, event) for event in events if (kind := text(event.get("type")))]

    def _values(self) -> dict[str, Any]:
        """What the row tells beside messages and calls; what it lacks is left out."""
        row = self.row
        times = [at for _, event in self._events() if (at := moment(event.get("created_at")))]
        found: dict[str, Value] = {
            "shared_state": row.value("shared_state", dict),
            "cycle": self.record.committed,
            "attempt": row.whole("resume_attempt"),
            "revision": row.whole("revision"),
            "claim": self.record.claim.shown(),
            "newest_event": max(times, default=None),
            "cancel_requested": bool(row.whole("cancel_requested")) or None,
            "budget": row.value("budget_usage", dict),
            "extensions": row.value("extension_state", dict) or None,
            "final_answer": self.record.terminal.get("final_answer"),
            "budget_exhaustion": self.record.terminal.get("budget_exhaustion"),
        }
        return {name: value for name, value in found.items() if value is not None}
