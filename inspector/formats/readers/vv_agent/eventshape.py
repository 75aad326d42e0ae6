"""The events of one run as a run: steps, states, how it ended."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from inspector.formats.conversation import Conversation
from inspector.formats.memory import MemoryRun
from inspector.formats.readers.vv_agent.eventrun import Answer, Event, EventRun, Made
from inspector.formats.readers.vv_agent.ledger import failed_call, total
from inspector.formats.readers.vv_agent.messages import content
from inspector.formats.readers.vv_agent.shapes import mapping, moment, sequence, text
from inspector.formats.readers.vv_agent.timeline import Timeline
from inspector.model.lazy import Lazy
from inspector.model.run import (
    Call,
    Definition,
    Message,
    Pending,
    PendingStatus,
    Problem,
    RawRecord,
    Resume,
    Run,
    RunError,
    RunLink,
    RunStatus,
    SourceInfo,
    State,
    Step,
    Tool,
)
from inspector.model.text import clean
from inspector.model.values import clean_value, to_json


class Log(Protocol):
    """The log that the events stand in."""

    source: SourceInfo

    def event(self, line: int) -> dict[str, Any]: ...
    def where(self, line: int) -> str: ...
    def problems(self) -> Sequence[Problem]: ...


def run_of(told: EventRun, log: Log) -> MemoryRun:
    """The run as it is told so far."""
    shape = _Shape(told, log)
    return MemoryRun(
        source=log.source,
        run=shape.run(),
        definition=Definition(
            tools=tuple(_tool(name, known) for name, known in told.tools.items()) or None,
            tools_known="called" if told.tools else "none",
            model=clean(told.model) if told.model else None,
        ),
        steps=shape.steps,
        state=shape.state,
        resume=Resume(possible=False, reasons=("terminal" if shape.over else "not_resumable",)),
        problems=log.problems(),
        raw=shape.raw,
    )


def _tool(name: str, idempotency: Any) -> Tool:
    known = idempotency if idempotency in ("supported", "unsupported", "unknown") else None
    return Tool(name=clean(name), idempotency=known)


class _Messages(Lazy[Message]):
    """The messages, decoded when they are looked at."""

    def __init__(self, told: EventRun, log: Log) -> None:
        self._told, self._log = told, log
        self._refs = list(told.refs)

    def __len__(self) -> int:
        return len(self._refs)

    def item(self, at: int) -> Message:
        ref = self._refs[at]
        if isinstance(ref, Answer):
            return self._answer(ref)
        event = self._log.event(ref)
        if self._told.kinds[at] == ord("i"):
            return Message(role="user", text=content(event.get("input")))
        told = mapping(event.get("details")) or mapping(event.get("metadata"))
        call_id = text(event.get("tool_call_id")) or text(told.get("tool_call_id"))
        return Message(role="tool", text=content(told.get("content")), call_id=call_id)

    def _answer(self, answer: Answer) -> Message:
        details = mapping(self._log.event(answer.line).get("details")) if answer.line is not None else {}
        calls = [
            Call(
                name=text(mapping(item).get("name")) or "?",
                call_id=text(mapping(item).get("id")),
                arguments=mapping(item).get("arguments"),
            )
            for item in sequence(details.get("tool_calls"))
        ]
        told = {call.call_id for call in calls}
        for call_id, made in answer.calls.items():
            if clean(call_id) not in told:
                arguments = self._log.event(made.line).get("arguments")
                calls.append(Call(name=clean(made.name or "?"), call_id=clean(call_id) or None, arguments=arguments))
        said = details.get("assistant_message")
        return Message(role="assistant", text=content(said) if details else None, calls=tuple(calls) or None)


class _Shape:
    """Steps and states of the events so far."""

    def __init__(self, told: EventRun, log: Log) -> None:
        self._told, self._log = told, log
        self.over = told.end is not None and told.end.type != "reconciliation_required"
        messages = _Messages(told, log)
        letters = told.kinds.decode()
        prelude = next((at for at, letter in enumerate(letters) if letter in "act"), len(letters))
        usages = list(told.usages)
        self._last = next((ref for ref in reversed(told.refs) if isinstance(ref, Answer)), None)
        self.conversation = Conversation(
            messages,
            prelude,
            letters=letters,
            batch=self._batch(messages),
            usage=lambda number: usages[number] if number < len(usages) else None,
        )
        self.steps = Timeline(self.conversation, self._failed(), self._dress)

    def run(self) -> Run:
        told, end = self._told, self._told.end
        status, reason = self._verdict()
        parent = text(told.first.parent_run_id) if told.first else None
        return Run(
            id=told.id,
            name=clean(told.name) if told.name else None,
            kind="agent",
            status=status,
            reason=reason,
            steps=len(self.steps),
            started=moment(told.first.created_at) if told.first else None,
            ended=moment(end.created_at) if end is not None and self.over else None,
            resumed_from=RunLink(run=clean(parent)) if parent and not told.kinds.startswith(b"i") else None,
            error=self._error(status),
            usage=total(told.spent),
        )

    def state(self, seq: int) -> State | None:
        if not 0 <= seq <= len(self.steps):
            return None
        return msgspec.structs.replace(self.conversation.state(min(seq, len(self.conversation))), step=seq)

    def raw(self, seq: int) -> RawRecord | None:
        if not 0 <= seq <= len(self.steps):
            return None
        if seq > len(self.conversation):
            lines = [self._told.failed[0]] if self._told.failed else []
        else:
            begin, end = self.conversation.span(seq)
            lines = sorted({line for ref in self._told.refs[begin:end] for line in _lines(ref)})
        if not lines:
            return None
        events = [self._log.event(line) for line in lines]
        return RawRecord(where=self._log.where(lines[0]), text=to_json(events))

    def _verdict(self) -> tuple[RunStatus, str | None]:
        end = self._told.end
        if end is None:
            return "interrupted", None
        if end.type == "reconciliation_required":
            return "suspended", "reconciliation"
        if end.type == "run_completed":
            if end.status == "wait_user" or end.completion_reason == "wait_user":
                return "suspended", "approval" if self._asks_approval() else "input"
            return "completed", None
        if end.type == "run_cancelled" or end.completion_reason == "cancelled":
            return "cancelled", None
        limits = {"max_cycles": "max_cycles", "budget_exhausted": "budget"}
        reason = end.completion_reason
        return "failed", limits.get(reason) if isinstance(reason, str) else None

    def _asks_approval(self) -> bool:
        for ref in reversed(self._told.refs):
            if isinstance(ref, Answer):
                return False
            event = self._log.event(ref)
            told = mapping(event.get("details")) or event
            if told.get("error_code") == "tool_approval_required":
                return True
        return False

    def _error(self, status: RunStatus) -> RunError | None:
        end = self._told.end
        if status != "failed" or end is None:
            return None
        found = clean_value(end.error)
        if isinstance(found, dict):
            return RunError(message=text(found.get("message")), type=text(found.get("code")), step=len(self.steps))
        return RunError(message=text(found), type=text(clean_value(end.error_code)), step=len(self.steps))

    def _batch(self, messages: Sequence[Message]) -> Sequence[Pending]:
        end = self._told.end
        if end is not None and end.type == "run_completed" and end.status == "wait_user":
            name = clean(text(end.completion_tool_name) or "user")
            asked = {"question": clean_value(end.final_output)}
            return [Pending(kind="input", name=name, status="waiting", arguments=asked)]
        if self.over:
            return ()
        found = [_model(known) for known in self._told.models.values()]
        answer = self._last
        if answer is not None:
            made = {clean(call_id): known for call_id, known in answer.calls.items()}
            for call in messages[answer.place].calls or ():
                known = made.get(call.call_id or "")
                if known is None or known.state != "completed":
                    found.append(_pending(call, known, bool(self._log.problems())))
        return found

    def _failed(self) -> list[Step]:
        """The model call that an ended run failed at, which left no message."""
        if not self.over or self._told.failed is None:
            return []
        _, began, event = self._told.failed
        return [failed_call(event.error_code, event.usage, moment(began), moment(event.created_at))]

    def _dress(self, step: Step) -> Step:
        begin, end = self.conversation.span(step.seq)
        began = [at for at in self._told.began[begin:end] if at >= 0]
        ended = [at for at in self._told.ended[begin:end] if at >= 0]
        return msgspec.structs.replace(
            step,
            started=moment(min(began)) if began else None,
            ended=moment(max(ended)) if ended and step.status == "done" else None,
        )


def _lines(ref: int | Answer) -> list[int]:
    if isinstance(ref, int):
        return [ref]
    return [line for line in (ref.line, *(made.line for made in ref.calls.values())) if line is not None]


def _model(begun: Event) -> Pending:
    return Pending(
        kind="model",
        name=clean(text(begun.model) or "model"),
        status="ambiguous",
        call_id=clean(begun.call_id) if begun.call_id else None,
        internal_call_id=clean(text(begun.operation_id) or "") or None,
        since=moment(begun.created_at),
        note="started; no answer is logged",
    )


def _pending(call: Call, known: Made | None, torn: bool) -> Pending:
    """A call without a result; where lines are `torn`, one that seems not begun may have been."""
    state = known.state if known else None
    notes = {"started": "started; no result is logged", "planned": "planned, not started", "deferred": "deferred"}
    status: PendingStatus = "ambiguous" if state == "started" else "waiting" if state == "deferred" else "ready"
    note = notes.get(state or "", "not planned yet")
    if status == "ready" and torn:
        status, note = "ambiguous", "lines are damaged: whether it was begun is not known"
    return Pending(
        kind="tool",
        name=call.name,
        status=status,
        call_id=call.call_id,
        arguments=call.arguments,
        since=moment(known.at) if known else None,
        note=note,
    )
