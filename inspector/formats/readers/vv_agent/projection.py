"""From the records of a session to its messages and its open operations.

The log never forgets, so the conversation is the whole of it: what was compacted for the model stays here.
"""

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.ledger import usage
from inspector.formats.readers.vv_agent.log import UNKNOWN_RESULT, Plan, Record, Records, place_in_batch, told
from inspector.formats.readers.vv_agent.messages import calls_of
from inspector.formats.readers.vv_agent.shapes import mapping, sequence, text
from inspector.model.lazy import Lazy
from inspector.model.run import Message, Usage
from inspector.model.values import Value, to_json


class Operation(msgspec.Struct, kw_only=True):
    """An operation of the open turn; `state` as the log says: planned, started, parked, unknown, completed.
    `decision` is the answer to its question for approval."""

    id: str
    attempt: int | None
    plan: Plan
    state: str = "planned"
    since: int | None = None
    wait: dict[str, Any] = msgspec.field(default_factory=dict)
    decision: str | None = None
    reason: str | None = None

    @property
    def words(self) -> str:
        """What was called, as people know it."""
        name, call_id = text(self.plan.request.name), text(self.plan.request.id)
        return f"{name} ({call_id})" if name and call_id else name or self.id


class Batch(msgspec.Struct, kw_only=True):
    """The calls of a model answer and what came of them so far, by their place."""

    answer: str
    calls: list[tuple[str | None, str]]
    results: dict[int, tuple[int | Message, int | None, int | None]] = msgspec.field(default_factory=dict)


class Messages(Lazy[Message]):
    """The messages of a session: those that people wrote, and the numbers of the records of the others."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.refs: list[int | Message] = []
        self.kinds = bytearray()
        self.began, self.ended = array("q"), array("q")

    @property
    def letters(self) -> str:
        """A letter per message (see `conversation.letter`)."""
        return self.kinds.decode()

    def add(self, letter: str, ref: int | Message, began: int | None, ended: int | None) -> None:
        self.refs.append(ref)
        self.kinds += letter.encode()
        self.began.append(_fits(began))
        self.ended.append(_fits(ended))

    def put_first(self, letter: str, message: Message, at: int | None) -> None:
        self.refs.insert(0, message)
        self.kinds[0:0] = letter.encode()
        self.began.insert(0, _fits(at))
        self.ended.insert(0, _fits(at))

    def __len__(self) -> int:
        return len(self.refs)

    def item(self, at: int) -> Message:
        ref = self.refs[at]
        if isinstance(ref, Message):
            return ref
        return self._records.result(ref) if self.kinds[at] == ord("t") else self._records.answer(ref)


def _fits(at: int | None) -> int:
    return at if at is not None and abs(at) < 1 << 62 else -1


class Projection:
    """What the records of a session say. Feed them with `add`, then `finish`."""

    def __init__(self, records: Records) -> None:
        self.messages = Messages(records)
        self.prelude = 0
        self.turns = 0
        self.definition: dict[str, Any] = {}
        self.definition_seq = 0
        self.digest: str | None = None
        self.created: int | None = None
        self.attributes: dict[str, Any] = {}
        self.usages: list[Usage | None] = []
        self.spent: list[Usage | None] = []
        self.operations: dict[str, Operation] = {}
        """Those of the newest turn, but for what is over and of no open batch."""
        self.batch: Batch | None = None
        self.question: tuple[str | None, int | None] | None = None
        self.end: dict[str, Any] = {}
        self.ended: int | None = None
        self.failed: dict[str, Any] = {}
        self.unconfirmed: dict[str, tuple[int, str, str]] = {}
        """Operations that a turn left without knowing what they did: its number, how it ended, and what they were."""
        self.compactions = 0
        self.shared: Value = None
        self._records = records
        self._system: str | None = None
        self._handlers: dict[str, Callable[[Record, dict[str, Any]], None]] = {
            "session_created": self._session_created,
            "turn_started": self._turn_started,
            "input_applied": self._input_applied,
            "op_parked": self._op_parked,
            "op_unknown": self._op_unknown,
            "op_completed": self._op_completed,
            "boundary_recorded": self._boundary_recorded,
            "context_compacted": self._context_compacted,
            "turn_parked": self._turn_parked,
            "turn_ended": self._turn_ended,
        }

    def add(self, record: Record, body: bytes) -> None:
        """Takes in the next record."""
        if record.kind in ("op_planned", "op_prepared"):
            self._planned(record, self._records.plan(record.seq, body))
        elif record.kind == "op_started":
            self._moved(record, "started")
        elif record.kind in self._handlers:
            self._handlers[record.kind](record, self._records.payload(record.seq, body))

    @property
    def gaps(self) -> bool:
        """Whether records are missing."""
        return self._records.gaps

    def finish(self) -> None:
        """The log ends here: the results of the open batch become messages."""
        self._flush(over=False)

    def _session_created(self, record: Record, payload: dict[str, Any]) -> None:
        self.created, self.attributes = record.at, payload
        seed = mapping(mapping(payload.get("attributes")).get("seed"))
        for given in self._records.messages(seed.get("messages"), record.seq):
            self._say(given, record)
        self.prelude = len(self.messages)

    def _turn_started(self, record: Record, payload: dict[str, Any]) -> None:
        self._flush(over=True)
        self.turns += 1
        self.operations, self.question, self.end, self.ended, self.failed = {}, None, {}, None, {}
        self.definition, self.definition_seq = mapping(payload.get("definition")), record.seq
        self.digest = text(payload.get("definition_digest"))
        task = mapping(self.definition.get("task"))
        metadata = mapping(task.get("metadata"))
        if not metadata.get("_vv_agent_app_server_compaction_only") or self.turns == 1:
            self._begin(record, task, metadata)
        if self.turns == 1:
            self.prelude = len(self.messages)

    def _begin(self, record: Record, task: dict[str, Any], metadata: dict[str, Any]) -> None:
        sections = sequence(mapping(task.get("prompt_bundle")).get("sections"))
        system = "\n\n".join(part for one in sections if (part := text(mapping(one).get("text"))))
        if system and system != self._system:
            self._system = system
            given = Message(role="system", text=system)
            self._say(given, record, first=self.turns == 1)
        if self.turns == 1:
            for old in self._records.messages(task.get("initial_messages"), record.seq):
                self._say(old, record)
        inputs = mapping(metadata.get("vv_session")).get("input_messages")
        if inputs:
            for new in self._records.messages(inputs, record.seq):
                self._say(new, record)
        elif asked := text(task.get("user_prompt")):
            self._say(Message(role="user", text=asked), record)

    def _input_applied(self, record: Record, payload: dict[str, Any]) -> None:
        given = mapping(payload.get("input"))
        kind, inner = given.get("kind"), mapping(given.get("payload"))
        if payload.get("disposition") != "applied":
            return
        if kind == "approval_answer":
            operation = self.operations.get(text(inner.get("operation_id")) or "")
            if operation is not None:
                operation.decision = text(inner.get("decision"))
        elif kind == "steer":
            self._heard(record, inner.get("content"))
        elif kind == "user" and payload.get("target_wait_id") and not payload.get("target_operation_id"):
            self.question = None
            self._heard(record, mapping(inner.get("content")).get("text", inner.get("content")))
        elif kind == "child_result" and payload.get("reason") == "background child notification":
            self._heard(record, f"Child completed: {to_json(inner)}")

    def _heard(self, record: Record, said: Value) -> None:
        self._flush(over=False)
        if isinstance(said, dict) and isinstance(said.get("messages"), list):
            for new in self._records.messages(said["messages"], record.seq):
                self._say(new, record)
        else:
            self._say(Message(role="user", text=said if isinstance(said, str) else to_json(said)), record)

    def _planned(self, record: Record, plan: Plan) -> None:
        if record.operation is None:
            return
        known = self.operations.get(record.operation)
        if record.kind == "op_prepared" and known is not None:
            known.plan = msgspec.structs.replace(known.plan, request=plan.request)
            return
        self.operations[record.operation] = Operation(id=record.operation, attempt=record.attempt, plan=plan)

    def _moved(self, record: Record, state: str) -> Operation:
        key = record.operation or ""
        operation = self.operations.setdefault(key, Operation(id=key, attempt=record.attempt, plan=Plan()))
        operation.state, operation.attempt = state, record.attempt
        if state in ("started", "parked"):
            operation.since = record.at
        return operation

    def _op_parked(self, record: Record, payload: dict[str, Any]) -> None:
        operation = self._moved(record, "parked")
        operation.wait = mapping(payload.get("handle"))
        asked = payload.get("interaction_result")
        place = place_in_batch(operation.id)
        if isinstance(asked, dict) and self.batch is not None and place is not None and place[0] == self.batch.answer:
            self.batch.results[place[1]] = told(asked), record.at, record.at

    def _op_unknown(self, record: Record, payload: dict[str, Any]) -> None:
        self._moved(record, "unknown").reason = text(payload.get("reason"))

    def _op_completed(self, record: Record, payload: dict[str, Any]) -> None:
        operation = self._moved(record, "completed")
        if isinstance(payload.get("shared_state"), dict):
            self.shared = payload["shared_state"]
        place, result = place_in_batch(operation.id), mapping(payload.get("result"))
        if place is not None:
            self._result(record, operation, place, payload)
            return
        spent = usage(payload.get("usage"))
        self.spent.append(spent)
        if operation.plan.purpose not in ("primary", None) or payload.get("context") not in ("normal", None):
            return
        if result.get("error_code"):
            self.failed = result
            return
        self.failed = {}
        self._flush(over=True)
        self._drop((operation.id,))
        calls = [(text(mapping(one).get("id")), text(mapping(one).get("name")) or "?") for one in calls_of(result)]
        self.batch = Batch(answer=f"{operation.id}/attempt/{record.attempt}", calls=calls)
        self.usages.append(spent)
        self.messages.add("c" if calls else "a", record.seq, operation.since, record.at)

    def _result(self, record: Record, operation: Operation, place: tuple[str, int], payload: dict[str, Any]) -> None:
        if self.batch is not None and place[0] == self.batch.answer and payload.get("context") in ("normal", None):
            self.batch.results[place[1]] = record.seq, operation.since, record.at
        elif payload.get("context") == "correction":
            self.unconfirmed.pop(operation.id, None)
            late = told(payload.get("result")).text
            self._say(Message(role="user", text=f"Correction for {operation.id}: {late}"), record)

    def _flush(self, *, over: bool) -> None:
        """Turns the results of the batch into messages, in the order of the calls. `over`: the run went on,
        so a call without one has been told to the model as unknown."""
        batch, self.batch = self.batch, None if over else self.batch
        if batch is None:
            return
        if over:
            self._drop(f"{batch.answer}/tool/{number}" for number in range(len(batch.calls)))
        for number in sorted({*range(len(batch.calls)), *batch.results}):
            call_id, name = batch.calls[number] if number < len(batch.calls) else (None, None)
            found = batch.results.pop(number, None)
            if found is not None:
                self.messages.add("t", *found)
            elif over and self._unknown(f"{batch.answer}/tool/{number}"):
                note = Message(role="tool", text=UNKNOWN_RESULT, call_id=call_id, name=name)
                self.messages.add("t", note, None, None)

    def _drop(self, operations: Iterable[str]) -> None:
        """Forgets those that are completed: nobody asks for them any more, and a turn may have very many."""
        for name in operations:
            if name in self.operations and self.operations[name].state == "completed":
                del self.operations[name]

    def _unknown(self, operation: str) -> bool:
        found = self.operations.get(operation)
        return found is not None and found.state == "unknown"

    def _boundary_recorded(self, record: Record, payload: dict[str, Any]) -> None:
        data = mapping(payload.get("data"))
        if payload.get("stage") == "after_cycle" and not data.get("error"):
            self.shared = data["shared_state"] if isinstance(data.get("shared_state"), dict) else self.shared
            for said in sequence(data.get("steering_messages")):
                self._heard(record, said)

    def _context_compacted(self, record: Record, payload: dict[str, Any]) -> None:
        self.compactions += 1

    def _turn_parked(self, record: Record, payload: dict[str, Any]) -> None:
        self.question = text(payload.get("question")), record.at

    def _turn_ended(self, record: Record, payload: dict[str, Any]) -> None:
        self._flush(over=True)
        self.end, self.ended, self.question = {"status": None} | payload, record.at, None
        status = text(payload.get("status")) or "without a status"
        for name in sequence(payload.get("unconfirmed_operations")):
            known = self.operations.get(name) if isinstance(name, str) else None
            self.unconfirmed[str(name)] = self.turns, status, known.words if known else str(name)

    def _say(self, given: Message, record: Record, *, first: bool = False) -> None:
        letter = {"assistant": "c" if given.calls else "a", "tool": "t"}.get(given.role, "i")
        if first and len(self.messages):  # the system prompt stands before the history
            self.messages.put_first(letter, given, record.at)
            return
        self.messages.add(letter, given, record.at, record.at)
