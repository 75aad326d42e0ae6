"""An agent run as the inspector shows it: its state, its steps and its definition in the neutral words."""

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from inspector.model import digest as digests
from inspector.model import run as neutral
from inspector.model.run import Definition, Hook, Pending, PendingStatus, State, Step, Tool
from inspector.model.text import shorten
from inspector.model.values import Value, preview, to_json
from inspector.runner import batch
from inspector.runner.data import Advancing, Awaiting, Executing, Failed, Held, Resolving, RunData, Slot
from inspector.runner.messages import Call, Json, Message, Result, Text, Usage, as_neutral

SUMMARY = 160
_STATUS: dict[str, PendingStatus] = {"started": "in_flight"}


class View:
    """The states of one run as it goes on. Messages are translated once, however many steps there are."""

    def __init__(self, data: RunData, hooks: tuple[Hook, ...]) -> None:
        self.data, self.hooks = data, hooks
        self.doubts: dict[str, str] = {}
        """Why a call that was begun may have happened, by call, where it is known."""
        self._shown = as_neutral(data.history or ())
        self._taken = 0
        self._first: Message | None = None

    def state(self, step: int) -> State:
        """The state now, as the one after `step`."""
        data = self.data
        if data.messages and data.messages[0] is not self._first:
            # The prompt was rewritten before anything followed it.
            self._shown, self._taken = as_neutral(data.history or ()), 0
            self._first = data.messages[0]
        if self._taken < len(data.messages):
            self._shown += as_neutral(data.messages[self._taken :])
            self._taken = len(data.messages)
        return State(
            step=step,
            messages=(*self._shown, *as_neutral(_not_taken_over(data))),
            pending=tuple(_doubted(_pending(data), self.doubts)),
            values=dict(data.scratch) or None,
            hooks=self.hooks,
        )


def _not_taken_over(data: RunData) -> list[Message]:
    """What is said already, and becomes part of the history with the next move."""
    phase = data.phase
    held = phase.turn if isinstance(phase, Resolving | Advancing | Failed) else None
    found = [Message("assistant", held.parts, held.message_id)] if held is not None and held.parts else []
    if isinstance(phase, Executing) and settled(phase.slots):
        found.append(Message("user", tuple(batch.final(slot) for slot in phase.slots)))
    return found


def settled(slots: Sequence[Slot]) -> bool:
    """Whether every call of a batch has its answer."""
    return all(slot.status in ("answered", "denied") for slot in slots)


def _doubted(rows: list[Pending], doubts: dict[str, str]) -> list[Pending]:
    """The rows; of what is under way, what is known of it."""
    if not doubts:
        return rows
    known = [doubts.get(row.internal_call_id or "") if row.status == "in_flight" else None for row in rows]
    return [row if note is None else replace(row, note=note) for row, note in zip(rows, known, strict=True)]


def _pending(data: RunData) -> list[Pending]:
    phase = data.phase
    if isinstance(phase, Awaiting):
        return [Pending(kind="model", name="model", status="in_flight")]
    if isinstance(phase, Resolving):
        return _unresolved(phase.turn, phase.index)
    if isinstance(phase, Advancing):
        return _unresolved(phase.turn, None)
    if isinstance(phase, Executing) and not settled(phase.slots):
        return [_slot(slot) for slot in phase.slots]
    if isinstance(phase, Failed):
        return [_slot(slot) for slot in phase.slots] + (_unresolved(phase.turn, None) if phase.turn else [])
    return []


def _unresolved(turn: Held, index: int | None) -> list[Pending]:
    return [
        Pending(
            kind="tool",
            name=part.name,
            status="answered" if place in turn.skipped else "waiting" if place == index else "ready",
            call_id=part.call_id,
            internal_call_id=part.internal_id,
            arguments=part.arguments,
            result=result_value(turn.skipped[place]) if place in turn.skipped else None,
            note="this tool was not on offer" if place == index else None,
        )
        for place, part in enumerate(turn.parts)
        if isinstance(part, Call)
    ]


def _slot(slot: Slot) -> Pending:
    question = slot.question if slot.status == "waiting" else None
    note = slot.why if slot.status == "waiting" else str(slot.question) if slot.status == "denied" else None
    return Pending(
        kind="tool",
        name=slot.call.name,
        status=_STATUS.get(slot.status, slot.status),  # type: ignore[arg-type]
        call_id=slot.call.call_id,
        internal_call_id=slot.call.internal_id,
        arguments=slot.effective,
        result=None if slot.result is None else result_value(slot.result),
        note=note if question is None else f"{note}: {preview(question, SUMMARY)}",
    )


def result_value(result: Result) -> Value:
    """A result as one value: the text, the JSON, or what it says of its parts."""
    if len(result.content) == 1 and isinstance(result.content[0], Text | Json):
        part = result.content[0]
        return part.text if isinstance(part, Text) else part.value
    return result.text


def model_step(seq: int, turn: Held | None, usage: Usage | None, started: str, ended: str) -> Step:
    """The step of a model call that was answered."""
    parts = turn.parts if turn is not None else ()
    words = "".join(part.text for part in parts if isinstance(part, Text))
    calls = ", ".join(f"{part.name}({preview(part.arguments, 60)})" for part in parts if isinstance(part, Call))
    return Step(
        seq=seq,
        kind="model",
        name="model",
        status="done",
        started=started,
        ended=ended,
        summary=shorten(" → ".join(part for part in (words, calls) if part), SUMMARY),
        usage=as_usage(usage),
    )


def tools_step(seq: int, slots: Sequence[Slot], started: str, ended: str) -> Step:
    """The step of a batch: done when each call has its answer."""
    said = [f"{slot.call.name}: {words}" for slot in slots if (words := _came_of(slot)) is not None]
    return Step(
        seq=seq,
        kind="tools",
        name=shorten(", ".join(slot.call.name for slot in slots), SUMMARY),
        status="done" if settled(slots) else "pending",
        started=started,
        ended=ended,
        summary=shorten("; ".join(said), SUMMARY),
    )


def _came_of(slot: Slot) -> str | None:
    if slot.status == "denied":
        return "denied" if slot.question in (None, batch.DENIED) else f"denied: {slot.question}"
    return None if slot.result is None else slot.result.text


def as_usage(usage: Usage | None) -> neutral.Usage | None:
    """Usage in the neutral words; None where nothing was reported."""
    if usage is None:
        return None
    return neutral.Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def definition(tools: tuple[Tool, ...], hooks: tuple[Hook, ...], model: str) -> Definition:
    """What the code is."""
    parts = {
        "tools": [tool.digest for tool in tools],
        "hooks": [[hook.event, hook.name] for hook in hooks],
        "model": model,
    }
    return Definition(tools=tools, tools_known="registry", hooks=hooks, model=model, digest=digests.digest(parts))


def digest(value: object) -> str:
    """The digest of a value that is told to others."""
    return text_digest(to_json(value))


def text_digest(text: str) -> str:
    """The same, of its JSON: of the canonical JSON, or of the text where there is none."""
    try:
        return digests.text_digest(text.encode())
    except ValueError:
        return hashlib.sha256(text.encode()).hexdigest()
