"""What a session's newest turn comes to: status, open work, and what is odd about it."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.claim import Claim
from inspector.formats.readers.vv_agent.log import place_in_batch
from inspector.formats.readers.vv_agent.projection import Batch, Operation, Projection
from inspector.formats.readers.vv_agent.shapes import mapping, milli_moment, text
from inspector.model.run import Call, Pending, PendingStatus, Resume, RunStatus

_PHASES = ("idle", "active", "parked", "suspended", "closed")
_LIMITS = {"budget_exhausted": "budget", "max_cycles": "max_cycles"}


def verdict(
    phase: str | None, claim: Claim, told: Projection | None, batch: Sequence[Pending]
) -> tuple[RunStatus, str | None]:
    """Status and reason of a session; `told` is None where only its row was read."""
    if phase in ("parked", "suspended"):
        return "suspended", _reason(batch)
    if phase == "active" or (told is not None and told.turns and not told.end):
        return ("running" if claim.live else "interrupted"), None
    status = text(told.end.get("status")) if told is not None else None
    if status == "completed":
        return "completed", None
    if status == "failed" and told is not None:
        return "failed", _LIMITS.get(text(told.end.get("reason")) or "")
    return ("cancelled" if status in ("cancelled", "aborted") else "unknown"), None


def _reason(batch: Sequence[Pending]) -> str:
    waits = [pending for pending in batch if pending.status == "waiting"]
    if any(pending.kind == "tool" and (pending.note or "").startswith("approval") for pending in waits):
        return "approval"
    if waits or not batch:
        return "input"
    return "reconciliation" if any(pending.status == "ambiguous" for pending in batch) else "tools"


def open_work(told: Projection, claim: Claim, calls: Sequence[Call]) -> list[Pending]:
    """The open operations of the newest turn, in order: model requests, then the calls of the open batch. Of
    a turn that has ended, those whose outcome is not known."""
    if told.end:
        left = [operation for operation in told.operations.values() if operation.state in ("started", "unknown")]
        return [_left(operation) for operation in left]
    found = [_model(operation, claim) for operation in told.operations.values() if _is_open_model(operation)]
    batch = told.batch
    for number, asked in enumerate(calls if batch is not None else ()):
        assert batch is not None
        operation = told.operations.get(f"{batch.answer}/tool/{number}")
        if operation is None:
            found.append(_call(asked, "ready", "not planned yet", None))
        elif operation.state != "completed":
            found.append(_tool(operation, asked, claim))
    if batch is not None:
        found += [_tool(operation, _asked(operation), claim) for operation in _beyond(told, batch)]
    if told.gaps:
        found = [_doubted(pending) for pending in found]
    if told.question is not None:
        words, at = told.question
        since = milli_moment(at)
        found.append(Pending(kind="input", name="user", status="waiting", arguments={"question": words}, since=since))
    return found


def _doubted(pending: Pending) -> Pending:
    """Where records are missing, a call that seems not begun may have been."""
    if pending.status != "ready":
        return pending
    note = "records are missing: whether it was begun is not known"
    return msgspec.structs.replace(pending, status="ambiguous", note=note)


def _left(operation: Operation) -> Pending:
    nobody = Claim()
    if _is_open_model(operation):
        return _model(operation, nobody)
    return _tool(operation, _asked(operation), nobody)


def _asked(operation: Operation) -> Call:
    asked = operation.plan.request
    return Call(name=text(asked.name) or "?", call_id=text(asked.id))


def _beyond(told: Projection, batch: Batch) -> Iterator[Operation]:
    """The open operations of calls that a damaged answer does not show any more."""
    for operation in told.operations.values():
        place = place_in_batch(operation.id)
        beyond = place is not None and place[0] == batch.answer and place[1] >= len(batch.calls)
        if beyond and operation.state != "completed":
            yield operation


def _is_open_model(operation: Operation) -> bool:
    if operation.plan.op_kind != "model" and "/tool/" in operation.id:
        return False
    return operation.state != "completed" and operation.plan.op_kind in ("model", None)


def _model(operation: Operation, claim: Claim) -> Pending:
    status = _status(operation, claim)
    return Pending(
        kind="model",
        name=text(operation.plan.purpose) or "model",
        status=status,
        internal_call_id=operation.id,
        since=milli_moment(operation.since),
        note=_note(operation, claim, status),
    )


def _tool(operation: Operation, asked: Call, claim: Claim) -> Pending:
    status = _status(operation, claim)
    handle = mapping(operation.wait)
    question = handle.get("kind") == "user"
    note = _note(operation, claim, status)
    if handle.get("kind") == "approval":
        asked_for = f"approval: {operation.decision or 'asked for'}"
        note = asked_for if operation.state == "parked" else f"{asked_for}; {note}"
    given = operation.plan.request.arguments
    return Pending(
        kind="input" if question else "tool",
        name=text(operation.plan.request.name) or asked.name,
        status=status,
        call_id=asked.call_id,
        internal_call_id=operation.id,
        arguments=asked.arguments if given is None else given,
        since=milli_moment(operation.since),
        note=note,
    )


def _call(asked: Call, status: PendingStatus, note: str | None, since: str | None) -> Pending:
    return Pending(
        kind="tool",
        name=asked.name,
        status=status,
        call_id=asked.call_id,
        arguments=asked.arguments,
        note=note,
        since=since,
    )


def _status(operation: Operation, claim: Claim) -> PendingStatus:
    if operation.state == "parked":
        if operation.decision is None:
            return "waiting"
        return "approved" if operation.decision in ("approve", "allow_session") else "denied"
    if operation.state == "started":
        return "in_flight" if claim.live else "ambiguous"
    return "ambiguous" if operation.state == "unknown" else "ready"


def _note(operation: Operation, claim: Claim, status: PendingStatus) -> str:
    words = [f"{operation.state}, attempt {'?' if operation.attempt is None else operation.attempt}"]
    if status == "in_flight":
        words.append(f"its owner's lease runs until {claim.until_text}")
    if status == "ambiguous":
        if operation.state == "started" and claim.token is not None:
            words.append(f"its owner's lease ended {claim.until_text}")
        capability: dict[str, Any] = mapping(operation.plan.tool)
        if capability:
            words.append(f"idempotency {text(capability.get('idempotency')) or 'unknown'}")
        words.append("may have happened")
    if status == "waiting" and operation.wait:
        words.append(f"waits for {text(operation.wait.get('kind')) or 'an answer'}")
    if operation.reason:
        words.append(operation.reason)
    return "; ".join(words)


def resume(phase: str | None, claim: Claim, told: Projection) -> Resume:
    """Nothing here resumes a session; the reasons are those that would stand in its way at home."""
    reasons = []
    if told.end or phase == "closed":
        reasons.append("terminal")
    elif claim.live:
        reasons.append("owned")
    else:
        if any(_is_open_model(operation) and operation.state != "planned" for operation in told.operations.values()):
            reasons.append("model_in_flight")
        reasons.append("not_resumable")
    return Resume(possible=False, reasons=tuple(reasons))


def oddities(told: Projection) -> Iterator[str]:
    """What is wrong with how the turns ended, in words."""
    for number in dict.fromkeys(number for number, _, _ in told.unconfirmed.values()):
        left = [(status, words) for turn, status, words in told.unconfirmed.values() if turn == number]
        names = ", ".join(words for _, words in left)
        turn = "the turn" if number == told.turns else f"turn {number}"
        yield f"{turn} ended {left[0][0]}, but these operations may or may not have happened: {names}"
