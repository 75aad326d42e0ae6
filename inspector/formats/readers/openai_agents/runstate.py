"""A RunState, the JSON that a run of the library becomes when it is interrupted."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from inspector.formats.contents import as_shown, name_of, usage_of
from inspector.formats.conversation import Conversation
from inspector.formats.document import Document, Elements
from inspector.formats.jsontext import NOTES
from inspector.formats.memory import MemoryRun
from inspector.formats.readers.openai_agents import FORMAT
from inspector.formats.readers.openai_agents.approvals import interruptions, last_batch, nested
from inspector.formats.readers.openai_agents.items import RESULT, kind_of, messages_of, reply, result
from inspector.model.run import (
    Call,
    Definition,
    Message,
    Problem,
    RawRecord,
    Resume,
    Run,
    RunStatus,
    SourceInfo,
    State,
    Tool,
    Usage,
)
from inspector.model.text import clean, one_line
from inspector.model.values import Value

NEWEST = (1, 21)
"""The newest version of the schema that is known."""
FINAL = "next_step_final_output"
VALUE_LIMIT = 1 << 20
"""Bytes of a field up to which it is shown among the values."""
ELSEWHERE = {
    *("$schemaVersion", "original_input", "model_responses", "generated_items", "session_items", "current_step"),
    *("last_model_response", "last_processed_response", "context", "generated_session_item_indexes"),
    *("current_response_generated_item_ownership", "nested_history_owned_session_item_refs", "tool_use_tracker"),
}
"""Fields that are shown as something else than a value, or say nothing of the run."""

Place = tuple[Elements, int]


class RunStateFile:
    """What a RunState document says, for `opened`."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.told: list[Problem] = []
        context = document.get("context")
        self.context: dict[str, Value] = context if isinstance(context, dict) else {}
        self.version = name_of(document.get("$schemaVersion"))
        if not known(self.version):
            message = f"version {self.version or '?'} of the schema is not known (1.0 to {NEWEST[0]}.{NEWEST[1]} are)"
            self.tell(document.where("$schemaVersion"), f"{message}: read as well as can be")
        self.messages: list[Message] = []
        self.places: list[Place | None] = []
        self.usages: list[Usage | None] = []
        self._history()
        self.prelude = len(self.messages)
        answered = self._responses()
        asked = interruptions(document.get("current_step"))
        where = document.where("current_step")

        def told(message: str) -> None:
            self.tell(where, message)

        self.nested = nested(self.context, document.get("last_processed_response"))
        self.batch = tuple(last_batch(self.last_calls(), answered, asked, self.nested, told))

    def tell(self, where: str, message: str) -> None:
        """Something odd, at a place."""
        if len(self.told) < NOTES:
            self.told.append(Problem(severity="warning", where=where, message=clean(message)))

    def _add(self, message: Message, place: Place | None = None) -> None:
        self.messages.append(message)
        self.places.append(place)

    def _history(self) -> None:
        given = self.document.get("original_input")
        if isinstance(given, str):
            self._add(Message(role="user", text=given))
        for message in messages_of(given if isinstance(given, list) else ()):
            self._add(message)

    def _responses(self) -> Counter[str | None]:
        """Adds each response and the results of its calls, in the order of the items; returns how many results
        each call of the last response has."""
        results = self._results()
        answered: Counter[str | None] = Counter()
        for place, value in _each(self.document.elements("model_responses")):
            value = value if isinstance(value, dict) else {}
            output = value.get("output")
            message = reply(output if isinstance(output, list) else ())
            self.usages.append(usage_of(value.get("usage")))
            self._add(message, place)
            calls = [call.call_id for call in message.calls or ()]
            found = [results[call_id].popleft() for call_id in calls if results.get(call_id)]
            for order in sorted(found, key=lambda one: one.number):
                self._add(order.message, order.place)
            answered = Counter(order.message.call_id for order in found)
        left = [order for orders in results.values() for order in orders]
        for order in sorted(left, key=lambda one: one.number):
            self.tell(order.where, f"a result for {order.message.call_id}, which nobody called")
            self._add(order.message, order.place)
        return answered

    def _results(self) -> dict[str | None, deque["_Result"]]:
        """The tool results of the run by the call they answer."""
        found: dict[str | None, deque[_Result]] = {}
        for key in ("session_items", "generated_items"):
            items = self.document.elements(key)
            if items is None or items.empty:
                continue
            for place, item in _each(items):
                raw = item.get("raw_item") if isinstance(item, dict) else None
                if isinstance(raw, dict) and kind_of(raw) == RESULT:
                    message = result(raw)
                    found.setdefault(message.call_id, deque()).append(_Result(place[1], message, place))
            break
        return found

    def last_calls(self) -> Sequence[Call]:
        """The calls of the last response."""
        replies = (message for message in reversed(self.messages[self.prelude :]) if message.role == "assistant")
        return next((message.calls or () for message in replies), ())

    def tools(self) -> tuple[Tool, ...]:
        """The tools that were called: those of the last response with their schemas."""
        found: dict[str, Tool] = {}
        for function in self.nested.functions:
            tool = function.get("tool")
            if isinstance(tool, dict) and (name := name_of(tool.get("name"))):
                found[name] = Tool(
                    name=name, description=name_of(tool.get("description")), schema=tool.get("paramsJsonSchema")
                )
        for message in self.messages[self.prelude :]:
            for call in message.calls or ():
                found.setdefault(call.name, Tool(name=call.name))
        return tuple(found.values())

    def status(self) -> tuple[RunStatus, str | None]:
        """How the run stands, and why it waits."""
        if any(pending.status == "waiting" for pending in self.batch):
            return "suspended", "approval"
        if any(pending.status in ("approved", "denied") for pending in self.batch):
            return "suspended", "tools"
        step = self.document.get("current_step")
        kind = step.get("type") if isinstance(step, dict) else None
        last = self.messages[-1] if len(self.messages) > self.prelude else None
        ended = kind is None and last is not None and last.role == "assistant" and not last.calls
        if (ended or kind == FINAL) and not self.batch and not self.document.torn:
            return "completed", None
        return "interrupted", None

    def values(self) -> dict[str, Value]:
        """The fields that stand for themselves, and the context that the run's own code keeps."""
        document = self.document
        names = [name for name in document.names if name not in ELSEWHERE and document.size(name) <= VALUE_LIMIT]
        found = {name: value for name in names if (value := document.get(name)) not in (None, [], {})}
        return found | {name: self.context[name] for name in ("context", "context_meta") if self.context.get(name)}


class _Result(NamedTuple):
    number: int
    message: Message
    place: Place

    @property
    def where(self) -> str:
        return self.place[0].where(self.place[1])


def opened(document: Document) -> MemoryRun:
    """The run of a RunState document."""
    found = RunStateFile(document)
    status, reason = found.status()
    source = SourceInfo(path=one_line(document.file.path), format=FORMAT, version=found.version)
    conversation = Conversation(
        found.messages,
        found.prelude,
        batch=found.batch,
        usage=lambda number: found.usages[number] if number < len(found.usages) else None,
    )
    steps = conversation.steps()
    agent = document.get("current_agent")
    name = name_of(agent.get("name")) if isinstance(agent, dict) else None
    usage = usage_of(found.context.get("usage"))
    run = Run(kind="agent", name=name, status=status, reason=reason, steps=len(steps), usage=usage)

    def state(step: int) -> State | None:
        told = conversation.state(step)
        return msgspec.structs.replace(told, values=found.values()) if step == len(steps) else told

    def raw(step: int) -> RawRecord | None:
        begin, end = conversation.span(step)
        places = list(dict.fromkeys(place for place in found.places[begin:end] if place is not None))
        if places:
            texts = [as_shown(elements.raw(at)) for elements, at in places]
            return RawRecord(where=places[0][0].where(places[0][1]), text="\n".join(texts))
        key = "current_step" if step == len(steps) and step else "original_input"
        return RawRecord(where=document.where(key), text=as_shown(document.raw(key))) if key in document else None

    tools = found.tools()
    return MemoryRun(
        source=source,
        run=run,
        definition=Definition(tools=tools or None, tools_known="called" if tools else "none"),
        steps=steps,
        state=state,
        resume=_resume(found, status),
        problems=[*document.problems, *found.told],
        raw=raw,
    )


def _resume(found: RunStateFile, status: RunStatus) -> Resume:
    reasons: tuple[str, ...] = ()
    if not known(found.version):
        reasons = ("version_unsupported",)
    elif status == "completed":
        reasons = ("terminal",)
    elif found.document.torn:
        reasons = ("value_unreadable",)
    return Resume(possible=not reasons, driver=FORMAT, reasons=reasons)


def known(version: str | None) -> bool:
    """Whether a version of the schema is one that the library itself would still read."""
    major, dot, minor = (version or "").partition(".")
    if not (dot and major.isdecimal() and minor.isdecimal() and len(minor) < 9):
        return False
    return int(major) == NEWEST[0] and int(minor) <= NEWEST[1]


def _each(elements: Elements | None) -> Iterator[tuple[Place, Value]]:
    if elements is not None:
        for _ in elements.scan():
            pass
        for at in range(len(elements)):
            yield (elements, at), elements[at]
