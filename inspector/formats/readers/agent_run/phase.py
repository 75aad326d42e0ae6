"""The messages of a saved agent run, and what its phase says: where it stands, and what is pending."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from inspector.formats.contents import name_of, text_of
from inspector.formats.conversation import as_pending
from inspector.model.run import Call, Message, Pending, PendingStatus, RunError, RunStatus
from inspector.model.values import Value, preview, to_json

IN_FLIGHT = "the request was sent and no answer is recorded: it may have been carried out"
STARTED = "it was begun and no answer is recorded: it may have happened"
LIMITS = ("max_turns", "budget")
"""Why a run failed that can go on with more."""
STATUSES: tuple[PendingStatus, ...] = ("ready", "waiting", "approved", "denied", "answered")
"""What a call can be that is not begun, or is over; anything else may have happened, since nobody drives a file."""


class Standing(msgspec.Struct, kw_only=True):
    """What a phase says. `batch` is the work that is open, `tail` what is said and not in the history yet."""

    status: RunStatus
    reason: str | None = None
    error: RunError | None = None
    batch: tuple[Pending, ...] = ()
    tail: tuple[Message, ...] = ()
    reasons: tuple[str, ...] = ()


def standing(phase: Value, tell: Callable[[str], None]) -> Standing:
    """Where the run stands; what is odd about it is told."""
    body = phase if isinstance(phase, dict) else {}
    name, turn, slots = body.get("phase"), _dict(body.get("turn")), _dicts(body.get("slots"))
    said = (_reply(_parts(turn)),) if _parts(turn) else ()
    if name == "preparing":
        return Standing(status="interrupted")
    if name == "awaiting":
        model = Pending(kind="model", name="model", status="ambiguous", note=IN_FLIGHT)
        return Standing(status="interrupted", batch=(model,), reasons=("model_in_flight",))
    if name in ("resolving", "advancing"):
        at = body.get("index") if name == "resolving" else None
        batch = _held(turn, at)
        reason = "invalid_tool_call" if name == "resolving" else "tools"
        return Standing(
            status="suspended" if batch else "interrupted", reason=reason if batch else None, batch=batch, tail=said
        )
    if name == "executing":
        return _executing(slots)
    if name == "finished":
        return Standing(status="completed", reasons=("terminal",))
    if name == "failed":
        kind = name_of(body.get("kind"))
        return Standing(
            status="cancelled" if kind == "cancelled" else "failed",
            reason=kind,
            error=RunError(type=kind, message=name_of(body.get("message"))),
            batch=(*map(_slot, slots), *_held(turn, None)),
            tail=said,
            reasons=() if kind in LIMITS else ("terminal",),
        )
    tell(f"the unknown phase {preview(phase, 60)}")
    return Standing(status="unknown", reasons=("value_unreadable",))


def _executing(slots: list[dict[str, Any]]) -> Standing:
    batch = tuple(map(_slot, slots))
    if all(pending.status in ("answered", "denied") for pending in batch):
        results = [message for slot in slots for message in _answer(slot)]
        return Standing(status="interrupted", tail=tuple(results))
    waiting = [name_of(slot.get("why")) for slot in slots if slot.get("status") == "waiting"]
    if waiting:
        return Standing(status="suspended", reason=waiting[0], batch=batch)
    begun = any(pending.status == "ambiguous" for pending in batch)
    return Standing(status="interrupted" if begun else "suspended", reason=None if begun else "tools", batch=batch)


def _held(turn: dict[str, Any], waits_at: Value) -> tuple[Pending, ...]:
    """The calls of a turn that is not taken over; of the one at a place, somebody must say what it becomes."""
    skipped, found = _dict(turn.get("skipped")), []
    for at, part in enumerate(_parts(turn)):
        if part.get("type") == "call":
            result = skipped.get(str(at))
            status: PendingStatus = "waiting" if at == waits_at else "ready" if result is None else "answered"
            note = "this tool was not on offer" if at == waits_at else None
            found.append(msgspec.structs.replace(as_pending(call_of(part), status, _result(result)), note=note))
    return tuple(found)


def _slot(slot: dict[str, Any]) -> Pending:
    call = call_of(_dict(slot.get("call")))
    told = slot.get("status", "ready")
    status: PendingStatus = next((known for known in STATUSES if known == told), "ambiguous")
    why, question, result = name_of(slot.get("why")), slot.get("question"), slot.get("result")
    note = STARTED if status == "ambiguous" else why if status == "waiting" else None
    if status == "waiting" and question is not None:
        note = f"{why}: {preview(question, 160)}"
    if status == "denied":
        note = text_of(question) or None
    arguments = slot.get("arguments", call.arguments)
    return msgspec.structs.replace(as_pending(call, status, _result(result)), arguments=arguments, note=note)


def _answer(slot: dict[str, Any]) -> Iterator[Message]:
    call, result = call_of(_dict(slot.get("call"))), slot.get("result")
    text = _content(result) if isinstance(result, dict) else text_of(slot.get("question")) or "This call was denied."
    yield Message(role="tool", text=text, call_id=call.call_id, name=call.name)


def messages_of(value: Value) -> list[Message]:
    """A message as the inspector shows it: one message, and one per tool result; nothing for what is none."""
    if not isinstance(value, dict):
        return []
    parts, role = _dicts(value.get("content")), name_of(value.get("role")) or "?"
    if role == "assistant":
        return [_reply(parts)]
    results = [part for part in parts if part.get("type") == "result"]
    found = [
        Message(role="tool", text=_content(part), call_id=name_of(part.get("call_id")), name=name_of(part.get("name")))
        for part in results
    ]
    if not results or len(results) < len(parts):
        found.append(Message(role=role, text=_words(parts)))
    return found


def _reply(parts: list[dict[str, Any]]) -> Message:
    calls = tuple(call_of(part) for part in parts if part.get("type") == "call")
    return Message(role="assistant", text=_words(parts), calls=calls or None)


def call_of(part: dict[str, Any]) -> Call:
    """A call that a model asks for."""
    return Call(
        name=name_of(part.get("name")) or "?",
        call_id=name_of(part.get("call_id")),
        internal_call_id=name_of(part.get("internal_id")),
        arguments=part.get("arguments"),
    )


def _words(parts: list[dict[str, Any]]) -> str | None:
    said = [_shown(part) for part in parts if part.get("type") in ("text", "media")]
    return "".join(said) if said else None


def _content(result: dict[str, Any]) -> str:
    return "\n".join(map(_shown, _dicts(result.get("content"))))


def _result(result: Value) -> Value:
    """A result as one value: the text, the JSON, or what it says of its parts; None where there is none."""
    if not isinstance(result, dict):
        return None
    parts = _dicts(result.get("content"))
    if len(parts) == 1 and parts[0].get("type") == "json":
        return parts[0].get("value")
    return _content(result)


def _shown(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return text_of(part.get("text"))
    return to_json(part.get("value")) if kind == "json" else f"[{name_of(part.get('kind')) or 'part'}]"


def _parts(turn: dict[str, Any]) -> list[dict[str, Any]]:
    return _dicts(turn.get("parts"))


def _dict(value: Value) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Value) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
