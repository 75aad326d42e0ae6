"""What the events of one run say: its messages, its open work, how it ended."""

from array import array
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.ledger import usage
from inspector.formats.readers.vv_agent.shapes import mapping, text
from inspector.model.run import (
    Usage,
)


class Details(msgspec.Struct):
    """What the timeline needs of a diagnostic."""

    tool_call_id: str | None = None
    tool_name: str | None = None


class Event(msgspec.Struct):
    """What the timeline needs of an event."""

    type: str
    event_id: Any = None
    run_id: Any = None
    parent_run_id: Any = None
    agent_name: Any = None
    created_at: float | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    operation: str | None = None
    operation_id: Any = None
    model: Any = None
    outcome: Any = None
    call_id: str | None = None
    code: str | None = None
    error_code: Any = None
    completion_reason: Any = None
    completion_tool_name: Any = None
    status: Any = None
    error: Any = None
    final_output: Any = None
    usage: Any = None
    tool_metadata: Any = None
    details: Details | None = None


_TOOL_EVENTS = ("tool_call_planned", "tool_call_started", "tool_call_completed", "tool_call_deferred")


class Made(msgspec.Struct):
    """A call as its events tell it: the line of the first of them, how far it came (planned, started, deferred,
    completed), and when that began."""

    line: int
    name: str | None
    at: float | None
    state: str = "planned"


class Answer(msgspec.Struct):
    """A model's message: its `place` among the messages, the line of its text, where it was logged, and the
    calls by id."""

    place: int
    line: int | None = None
    calls: dict[str, Made] = msgspec.field(default_factory=dict)


class EventRun:
    """The events of one run so far. `models` are the model calls of which it is not known how they ended, `failed` is
    the line, the begin and the end of a cycle's own that failed and was not made again."""

    def __init__(self, run_id: str) -> None:
        self.id = run_id
        self.refs: list[int | Answer] = []
        self.kinds = bytearray()
        self.began, self.ended = array("d"), array("d")
        self.spent: list[Usage | None] = []
        self.usages: list[Usage | None] = []
        self.models: dict[str, Event] = {}
        self.failed: tuple[int, float | None, Event] | None = None
        self.tools: dict[str, Any] = {}
        self.end: Event | None = None
        self.first: Event | None = None
        self.last: float | None = None
        self.name: str | None = None
        self.model: str | None = None
        self._started: float | None = None
        self._answer: Answer | None = None

    def add(self, event: Event, line: int) -> None:
        """Takes in the next event, of `line`."""
        self.first = self.first or event
        self.name = self.name or text(event.agent_name)
        self.last = event.created_at if event.created_at is not None else self.last
        if event.type in ("run_completed", "run_failed", "run_cancelled", "reconciliation_required"):
            self.end = event
        elif event.type == "checkpoint_resumed":
            self.end = None
        elif event.type == "run_started":
            self._add("i", line, event.created_at, event.created_at)
        elif event.type == "cycle_started":
            self._answer = None
        elif event.type.startswith("model_call_"):
            self._model(event, line)
        elif event.type == "diagnostic" and event.code == "cycle_llm_response":
            self._said().line = line
        elif event.type in _TOOL_EVENTS:
            self._tool(event, line, event.tool_call_id, event.tool_name)
        elif event.code == "tool_result" and event.details is not None and event.details.tool_call_id:
            self._tool(event, line, event.details.tool_call_id, event.details.tool_name)

    def _add(self, kind: str, ref: int | Answer, began: float | None, ended: float | None) -> None:
        self.refs.append(ref)
        self.kinds += kind.encode()
        self.began.append(-1.0 if began is None else began)
        self.ended.append(-1.0 if ended is None else ended)

    def _model(self, event: Event, line: int) -> None:
        call_id, own = event.call_id or "", event.operation in ("agent_cycle", None)
        if event.type == "model_call_started":
            again = [known for known, other in self.models.items() if _same(other, event)]
            for known in again:
                del self.models[known]
            self.models[call_id] = event
            if own:
                self.model = text(event.model) or self.model
                self._answer, self._started, self.failed = None, event.created_at, None
            return
        if event.type == "model_call_failed" and event.outcome == "ambiguous":
            return
        begun = self.models.pop(call_id, None)
        spent = usage(event.usage)
        self.spent.append(spent)
        if event.type == "model_call_completed" and own:
            self.usages.append(spent)
            self._said(event.created_at)
        elif event.type == "model_call_failed" and own:
            self.failed = line, begun.created_at if begun else None, event

    def _said(self, ended: float | None = None) -> Answer:
        """The message of the cycle, begun by whichever of its events comes first."""
        if self._answer is None:
            self._answer = Answer(place=len(self.refs))
            self._add("a", self._answer, self._started, ended)
        return self._answer

    def _tool(self, event: Event, line: int, call: str | None, name: str | None) -> None:
        call_id = call or ""
        answer = self._said()
        known = answer.calls.get(call_id)
        if known is None:
            known = answer.calls[call_id] = Made(line=line, name=name, at=event.created_at)
            self.kinds[answer.place] = ord("c")
        if name and name not in self.tools:
            self.tools[name] = mapping(event.tool_metadata).get("idempotency")
        state = event.type.removeprefix("tool_call_") if event.type != "diagnostic" else "completed"
        if known.state == "completed":
            return
        known.state = state
        if state == "completed":
            self._add("t", line, known.at, event.created_at)


def _same(one: Event, other: Event) -> bool:
    """Whether two events tell of attempts at the same operation."""
    return one.operation_id is not None and one.operation_id == other.operation_id
