"""The work that is left after a checkpoint: nodes and tokens, questions, tool calls, each with how far it got."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from inspector.formats import xxh3
from inspector.formats.readers.langgraph import messages
from inspector.formats.readers.langgraph.frames import INTERRUPT, internal, listed
from inspector.formats.readers.langgraph.history import History
from inspector.formats.readers.langgraph.store import Write
from inspector.formats.readers.langgraph.tasks import CONTROL, ERROR, NOTHING, RESUME, RETURN, UNKNOWN, Task
from inspector.formats.symbols import class_of
from inspector.model.run import Call, Message, Pending, PendingStatus, RunError
from inspector.model.values import Value, preview, to_json

DOUBT = "whether it was started is not recorded: a pause before it and a crash in it look alike"
_ERROR = re.compile(r"([A-Za-z_][\w.]*)\((.*)\)", re.DOTALL)
_QUOTED = re.compile(r"'((?:[^'\\]|\\[^xuUN0-7])*)',?|\"((?:[^\"\\]|\\[^xuUN0-7])*)\",?", re.DOTALL)


class Question(NamedTuple):
    """What a node asked by `interrupt()`. `resume` is what it was given, as far as the file tells."""

    id: str | None
    value: Value
    answered: bool
    resume: Value


class Work:
    """The work behind step `seq`. At a leaf (no checkpoint continues it) it counts how far each task got;
    elsewhere all of it was ready, and was done."""

    def __init__(self, history: History, seq: int) -> None:
        self._history, self._seq = history, seq
        self.found = history.tasks(seq)
        self.leaf = history.child(seq) is None

    @property
    def unfinished(self) -> list[Task]:
        """The tasks that would run if the thread went on."""
        return [task for task in self.found.tasks if not (self.leaf and task.finished)]

    def questions(self, task: Task) -> list[Question]:
        """The questions that a task asked last."""
        write = task.written(INTERRUPT)
        if write is None:
            return []
        value = self._history.value(self._seq, write)
        given = self._answers(task)
        resumed = self.found.resumed
        fresh = self._history.value(self._seq, resumed) if resumed else None
        late = resumed is not None and resumed.row > write.row
        done = task.finished or task.failed or not self.leaf or late
        answer = fresh if late else given[-1] if given and done else None
        return [Question(*_asked(item), answered=done, resume=answer) for item in listed(value) or [value]]

    def error(self, task: Task) -> RunError | None:
        """Why a task failed, as its `repr` says."""
        write = task.written(ERROR)
        if write is None or not task.failed:
            return None
        return failure(self._history.value(self._seq, write))

    def pending(self, conversation: Sequence[Message]) -> Iterator[Pending]:
        """One entry per task, one for what a command has set, then one per open tool call."""
        for task in self.found.tasks:
            yield from self._task(task)
        if self.leaf and self.found.given:
            given = self._by_channel(self.found.given)
            note = "set by a command: not in the values yet, taken in when the run goes on"
            yield Pending(kind="input", name="update", status="answered", result=given, note=note)
        for name in self.found.behind:
            more = "whether more" if self.found.tasks else "what"
            note = f"{more} follows {name} is known only to the graph: there may be nothing"
            yield Pending(kind="node", name=UNKNOWN, status="ambiguous" if self.leaf else "ready", note=note)
        yield from self._calls(messages.open_calls(conversation))

    def _task(self, task: Task) -> Iterator[Pending]:
        questions = self.questions(task)
        for question in questions:
            status: PendingStatus = "answered" if question.answered else "waiting"
            nested = self._history.nested_run(task.id)
            again = "the node runs again from its start when it is resumed" + (
                f"; its own run: {nested}" if nested else ""
            )
            yield Pending(
                kind="input",
                name=task.node,
                status=status,
                call_id=question.id,
                arguments=question.value,
                result=question.resume,
                note=again if self.leaf and not task.finished else None,
            )
        if questions and not task.finished and not task.failed:
            return
        yield Pending(
            kind="node",
            name=task.node,
            arguments=task.argument,
            status=self._status(task),
            result=self._by_channel(task.writes) if self.leaf and task.finished else None,
            note=self._note(task),
        )

    def _status(self, task: Task) -> PendingStatus:
        if not self.leaf:
            return "ready"
        if task.finished:
            return "answered"
        return "ready" if task.failed else "ambiguous"

    def _note(self, task: Task) -> str | None:
        error = self.error(task)
        parts = []
        if error is not None:
            parts.append(f"failed: {': '.join(filter(None, (error.type, error.message))) or 'the reason is empty'}")
        if self.leaf and task.finished:
            parts.append("done; what it wrote is stored, and taken in when the others are done too")
        elif self.leaf and error is None:
            parts.append(DOUBT)
        if (nested := self._history.nested_run(task.id)) is not None:
            parts.append(f"a run of its own: {nested}")
        returned = sum(write.channel == RETURN for written in task.calls.values() for write in written)
        if task.calls:
            parts.append(f"{len(task.calls)} functions that it called have left something, {returned} of them a result")
        return "; ".join(parts) or None

    def _by_channel(self, writes: Iterable[Write]) -> Value:
        found: dict[str, list[Value]] = {}
        for write in writes:
            if write.channel not in CONTROL and write.channel != NOTHING and not internal(write.channel):
                found.setdefault(write.channel, []).append(self._history.value(self._seq, write))
        return {channel: values[0] if len(values) == 1 else values for channel, values in found.items()}

    def _answers(self, task: Task) -> list[Value]:
        own = task.written(RESUME)
        value = self._history.value(self._seq, own) if own else None
        return listed(value) or ([] if value is None else [value])

    def _calls(self, calls: Sequence[Call]) -> Iterator[Pending]:
        if not calls:
            return
        done = self._results()
        asked = _asked_about(self._requests(), calls)
        doubtful = self.leaf and any(not task.finished and not self.questions(task) for task in self.found.tasks)
        own: dict[str | None, Task] = {
            call_id: task for task in self.found.tasks for call_id in _call_ids(task.argument)
        }
        for position, call in enumerate(calls):
            status: PendingStatus = "ambiguous" if doubtful else "ready"
            note = None
            task = own.get(call.call_id)
            if task is not None:
                status, note = self._status(task), self._note(task)
            if call.call_id in done:
                status, note = "answered", "its result is stored, and taken in when the others are done too"
            elif position in asked:
                status = "waiting"
            elif not self.found.tasks and not self.found.behind:
                note = "no node is left that would run it"
            yield Pending(
                kind="tool",
                name=call.name,
                status=status,
                call_id=call.call_id,
                arguments=call.arguments,
                result=done.get(call.call_id),
                note=note,
            )

    def _results(self) -> dict[str | None, Value]:
        """Tool results that finished tasks have left, by call id."""
        found: dict[str | None, Value] = {}
        for task in self.found.tasks if self.leaf else ():
            if task.finished:
                for write in task.writes:
                    if write.channel not in CONTROL:
                        found.update(messages.results(self._history.value(self._seq, write)))
        return found

    def _requests(self) -> list[Value]:
        """The tool calls that somebody is asked to approve."""
        found: list[Value] = []
        for task in self.found.tasks:
            for question in self.questions(task):
                if not question.answered:
                    found += requests(question.value)
        return found


def requests(value: Value) -> list[Value]:
    """The tool calls that a question is about, where it is one for approval."""
    found: list[Value] = []
    for item in listed(value) or [value]:
        several = item.get("action_requests") if isinstance(item, dict) else None
        single = item.get("action_request") if isinstance(item, dict) else None
        found += listed(several) or ([single] if isinstance(single, dict) else [])
    return [request for request in found if isinstance(request, dict)]


def failure(value: Value) -> RunError:
    """What a stored error says: type and message where its `repr` is that simple, else all of it."""
    if class_of(value):
        return RunError(type=class_of(value).rpartition(":")[2], message=preview(value.get("state"), 2000))
    if isinstance(value, dict) and value.get("$type") == "encrypted":
        return RunError(message=f"the reason is encrypted ({value.get('cipher')})")
    text = value if isinstance(value, str) else preview(value, 2000)
    match = _ERROR.fullmatch(text)
    if match is None:
        return RunError(message=text)
    quoted = _QUOTED.fullmatch(match[2])
    if quoted is None:
        return RunError(type=match[1], message=match[2] or None)
    inner = quoted[1] if quoted[1] is not None else quoted[2]
    return RunError(type=match[1], message=re.sub(r"\\(.)", lambda part: _UNQUOTED.get(part[1], part[1]), inner))


_UNQUOTED = {"n": "\n", "t": "\t", "r": "\\r"}


def _asked(item: Value) -> tuple[str | None, Value]:
    """The id and the question of a stored interrupt."""
    state = item.get("state") if class_of(item).endswith(":Interrupt") else item
    if isinstance(state, dict) and "value" in state:
        known = state.get("id") or state.get("interrupt_id")
        place = listed(state.get("ns"))
        if known is None and place and all(isinstance(part, str) for part in place):
            # Before 0.6 a question bore the place where it was asked, of which its id is made.
            known = xxh3.digest("|".join(map(str, place)).encode())
        return known if isinstance(known, str) else None, state["value"]
    return None, state


def _call_ids(argument: Value) -> list[str]:
    """The ids of the tool calls that a token carries."""
    found = []
    for item in listed(argument) or [argument]:
        call = item.get("tool_call", item) if isinstance(item, dict) else None
        call_id = call.get("id") if isinstance(call, dict) and "name" in call else None
        if isinstance(call_id, str):
            found.append(call_id)
    return found


def _asked_about(asked: Sequence[Value], calls: Sequence[Call]) -> set[int]:
    """The places of the calls that the requests are about: those of the same name and arguments, then, for
    requests that are left, those of the same name."""
    found: set[int] = set()
    for exact in (True, False):
        left = []
        for request in asked:
            arguments = request.get("args", request.get("arguments"))
            fitting = (
                position
                for position, call in enumerate(calls)
                if position not in found
                and call.name in (request.get("name"), request.get("action"))
                and (not exact or _same(arguments, call.arguments))
            )
            position = next(fitting, None)
            if position is None:
                left.append(request)
            else:
                found.add(position)
        asked = left
    return found


def _same(one: Value, other: Value) -> bool:
    """Whether two values are equal, however deep they are."""
    return to_json(one) == to_json(other)
