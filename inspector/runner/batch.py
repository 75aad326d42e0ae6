"""The batch of an agent run: one slot per call, each answered by itself; committed as one message."""

from collections.abc import Callable
from typing import Any

import msgspec

from inspector.runner.data import Executing, Held, RunData, Slot
from inspector.runner.effects import (
    Again,
    Answer,
    Approve,
    CallTools,
    Deny,
    Edit,
    Hold,
    Start,
    ToRun,
    Wait,
)
from inspector.runner.errors import RequestError
from inspector.runner.messages import AnyPart, Call, Message, Result, Text, result_parts

DENIED = "This call was denied."
NOT_EXECUTED = "Not executed: another call of this turn was not valid."


def laid_out(turn: Held, parts: tuple[AnyPart, ...]) -> list[Slot]:
    """The slots of an accepted turn. One skipped call keeps every call of the turn from running."""
    slots = []
    for place, part in enumerate(parts):
        if isinstance(part, Call):
            result = turn.skipped.get(place)
            if result is None and turn.skipped:
                result = refusal(part, NOT_EXECUTED, "skipped")
            slots.append(
                Slot(part, status="answered" if result else "ready", result=result, preresolved=result is not None)
            )
    return slots


def refusal(call: Call, text: str, outcome: Any = "refused") -> Result:
    """A result in place of running a call."""
    return Result(call.call_id, call.name, (Text(text),), call.internal_id, outcome, None, call.provider)


def find(slots: list[Slot], call: str) -> Slot:
    """The slot of a call by the run's own id; else by the provider's id, the first one without an answer.
    Raises RequestError."""
    for slot in slots:
        if slot.call.internal_id == call and call:
            return slot
    named = [slot for slot in slots if slot.call.call_id == call]
    for slot in named:
        if slot.status not in ("answered", "denied"):
            return slot
    ids = ", ".join(slot.call.call_id for slot in slots)
    raise RequestError(call, "is answered already" if named else f"is no call of this batch ({ids})")


def as_run(slot: Slot) -> ToRun:
    """A slot as something to be run."""
    call = slot.call
    return ToRun(
        call.name, call.call_id, call.internal_id, slot.effective, slot.status == "approved", slot.attempt + 1, call
    )


def effect(phase: Executing) -> CallTools | Wait | None:
    """What the batch needs; None when every call has its answer."""
    ready = [slot for slot in phase.slots if slot.status in ("ready", "approved")]
    if ready:
        return CallTools(tuple(map(as_run, ready)))
    begun = [slot for slot in phase.slots if slot.status == "started"]
    if begun:
        return Wait("reconciliation", tuple(map(as_run, begun)))
    waiting = [slot for slot in phase.slots if slot.status == "waiting"]
    if waiting:
        return Wait(waiting[0].why or "approval", tuple(map(as_run, waiting)))
    return None


def commit(data: RunData, phase: Executing) -> None:
    """All results, in the order of the calls, become one message."""
    results = tuple(final(slot) for slot in phase.slots)
    data.messages.append(Message("user", results))


def final(slot: Slot) -> Result:
    """The result of a call that is answered or denied."""
    if slot.result is None:
        return refusal(slot.call, slot.question if isinstance(slot.question, str) else DENIED)
    return slot.result


def _open(slots: list[Slot], call: str, *statuses: str) -> Slot:
    slot = find(slots, call)
    if slot.status not in statuses:
        raise RequestError(call, f"the call is {slot.status}, not {' or '.join(statuses)}")
    return slot


def hold(slots: list[Slot], event: Hold) -> None:
    slot = _open(slots, event.call, "ready", "approved", "started", "waiting")
    slot.status, slot.why, slot.question = "waiting", event.why, event.question


def start(slots: list[Slot], event: Start) -> None:
    slot = _open(slots, event.call, "ready", "approved")
    slot.status, slot.attempt = "started", slot.attempt + 1


def answer(slots: list[Slot], event: Answer) -> None:
    slot = _open(slots, event.call, "ready", "approved", "started", "waiting")
    call = slot.call
    slot.result = Result(
        call.call_id,
        call.name,
        event.parts or result_parts(event.value),
        call.internal_id,
        event.outcome,
        event.kind,
        call.provider,
    )
    slot.status = "answered"


def approve(slots: list[Slot], event: Approve) -> None:
    slot = _open(slots, event.call, "waiting", "ready")
    slot.status, slot.why = "approved", None


def deny(slots: list[Slot], event: Deny) -> None:
    slot = _open(slots, event.call, "waiting", "ready", "approved")
    slot.status, slot.question, slot.preresolved = "denied", event.reason or DENIED, True


def edit(slots: list[Slot], event: Edit) -> None:
    slot = _open(slots, event.call, "waiting", "ready", "approved", "started")
    slot.arguments = event.arguments


def again(slots: list[Slot], event: Again) -> None:
    slot = _open(slots, event.call, "started")
    # It was let through once: whoever says `again` has decided, so no gate asks anew.
    slot.status = "approved"


HANDLERS: dict[type[msgspec.Struct], Callable[[list[Slot], Any], None]] = {
    Hold: hold,
    Start: start,
    Answer: answer,
    Approve: approve,
    Deny: deny,
    Edit: edit,
    Again: again,
}
