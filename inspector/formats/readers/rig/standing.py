"""Where a rig run stands: its saved state, what is pending in it, and whether it can go on."""

from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec

from inspector.formats.contents import name_of, text_of
from inspector.formats.document import Fields
from inspector.formats.readers.rig.parts import call_of, kind_of, reply, result_of
from inspector.formats.readers.rig.shapes import BODIES, LISTED, kind, of_body, of_state
from inspector.model.run import Call, Message, Pending, PendingStatus, RunStatus
from inspector.model.values import Value, preview

IN_FLIGHT = "the request was sent and no answer is recorded: it may have been carried out"


class Standing(msgspec.Struct, kw_only=True):
    """What the state says. `batch` is the word on the last batch of calls (None: the messages tell, and
    `open_status` is what an unanswered call is), `tail` the model's message that is not in the history yet,
    `names` the tools that were on offer."""

    status: RunStatus
    reason: str | None = None
    batch: tuple[Pending, ...] | None = None
    open_status: PendingStatus = "ambiguous"
    tail: Message | None = None
    names: tuple[str, ...] | None = None
    reasons: tuple[str, ...] = ()
    values: dict[str, Any] = msgspec.field(default_factory=dict)


def standing(document: Fields, tell: Callable[[str], None]) -> Standing:
    """Where the run of a document stands; what is odd about it is told."""
    if "state" not in document:
        tell("the run's state is not in the file")
        return UNREADABLE
    inner = document.inside("state")
    if inner is None:
        return _bare(document.get("state"), tell)
    names = inner.names
    if len(names) > 1:
        listed = ", ".join(preview(name, 60) for name in names[:8])
        tell(f"the run is in one state, and this names {len(names)}: {listed}")
        return UNREADABLE
    name = next(iter(names), "")
    done = inner.inside(name) if name == "Done" else None
    if done is not None:
        values = {"output": done.get("output")} if "output" in done else {}
        # The messages, which may be many, are looked at where they are shown.
        told = {key: done.get(key) for key in done.names if key not in ("messages", "completion_calls")}
        _tell_faults(name, told, tell)
        return Standing(status="completed", batch=(), reasons=("terminal",), values=values)
    body = inner.get(name)
    fault = of_body(name, body)
    if fault is not None and name in BODIES:
        tell(f"{fault}: what is owed in it is not known")
        return UNREADABLE
    if fault is not None and name in ("PreparingRequest", "AwaitingModel", "Failed"):
        tell(fault)
    _tell_faults(name, body, tell)
    if name == "ExecutingTools":
        return _executing(body)
    if name in ("AwaitingAdvance", "ResolvingToolCalls"):
        output_tool = document.get("output_tool_name")
        found = _resolving(body) if name == "ResolvingToolCalls" else _advancing(body, output_tool)
        for call_id in _ambiguous(found.batch or ()):
            tell(f"two calls share the id {call_id} and have no other: which is which cannot be told")
        return found
    return _bare(name, tell)


UNREADABLE = Standing(status="unknown", reasons=("value_unreadable",))


def _tell_faults(name: str, body: Value, tell: Callable[[str], None]) -> None:
    for fault in islice(of_state(name, body), LISTED):
        tell(fault)


def _bare(name: Value, tell: Callable[[str], None]) -> Standing:
    if name == "PreparingRequest":
        return Standing(status="interrupted")
    if name == "AwaitingModel":
        model = Pending(kind="model", name="model", status="ambiguous", note=IN_FLIGHT)
        return Standing(status="interrupted", batch=(model,), reasons=("model_in_flight",))
    if name == "Failed":
        return Standing(status="failed", reasons=("terminal",))
    if name == "":
        tell("the state names none")
        return UNREADABLE
    if not isinstance(name, str):
        tell(f"the state is {kind(name)}, where its name is expected")
        return UNREADABLE
    if name in BODIES:
        tell(f"the state {name} stands without what it holds: what is owed in it is not known")
        return UNREADABLE
    tell(f"the unknown state {preview(name, 60)}")
    return Standing(status="unknown", reasons=("version_unsupported",))


def _executing(body: list[Value]) -> Standing:
    batch = tuple(pending for item in body for pending in _slots(item))
    return Standing(**_owed(batch), batch=batch)


def _slots(item: Value) -> list[Pending]:
    """The calls of one entry of a batch: rig's own, or those of format 4, where each keeps its answer."""
    if not isinstance(item, dict):
        return []
    if "tool_call" in item:
        internal_id = item.get("internal_call_id") or item.get("block_id")
        call = call_of(item["tool_call"], name_of(internal_id))
        answer = item.get("preresolved_result")
        return [_pending(call, answer=answer)]
    slots = item.get("slots")
    return [_slot(slot) for slot in slots if isinstance(slot, dict)] if isinstance(slots, list) else []


def _slot(slot: dict[str, Any]) -> Pending:
    if "Answered" in slot:
        message = result_of(slot["Answered"])
        return _pending(Call(name=message.name or "?", call_id=message.call_id), answer=slot["Answered"])
    kind = next(iter(slot), "")
    note = None if kind == "Execute" else f"the call is {kind.lower() or 'empty'}"
    return _pending(call_of(slot.get(kind)), "ready" if kind == "Execute" else "waiting", note=note)


def _advancing(body: dict[str, Any], output_tool: Value) -> Standing:
    items = _items(body)
    message = reply(items, _internal_ids(body, items))
    batch = []
    for number, call in zip(_call_places(items), message.calls or (), strict=True):
        output = call.name == output_tool
        note = "the output tool: its arguments are the answer" if output else None
        batch.append(_pending(call, answer=_skipped(body, number, items[number]), note=note))
    if any(pending.name == output_tool and pending.status != "answered" for pending in batch):
        # It is the answer: what was called beside it is dropped.
        batch = [pending if pending.name == output_tool else _dropped(pending) for pending in batch]
        return Standing(status="interrupted", batch=tuple(batch), tail=message)
    return Standing(**_owed(tuple(batch)), batch=tuple(batch), tail=message)


def _dropped(pending: Pending) -> Pending:
    if pending.status == "answered":
        return pending
    return msgspec.structs.replace(pending, status="waiting", note="never run: the output tool beside it is the answer")


def _resolving(body: dict[str, Any]) -> Standing:
    items = _items(body)
    message = reply(items, _internal_ids(body, items))
    allowed = _names(body.get("allowed_tool_names"))
    asked = [call_of(part).name for part in _list(body.get("original_choice")) if kind_of(part) == "toolcall"]
    batch = []
    for at, (number, call) in enumerate(zip(_call_places(items), message.calls or (), strict=True)):
        offered = allowed is None or call.name in allowed
        note = None if offered else "asked for, but not on offer"
        if at < len(asked) and asked[at] != call.name:
            note = f"asked for as {asked[at]}"
        status: PendingStatus = "ready" if offered else "waiting"
        batch.append(_pending(call, status, answer=_skipped(body, number, items[number]), note=note))
    names = dict.fromkeys([*(_names(body.get("executable_tool_names")) or ()), *(allowed or ())])
    waits = any(pending.status == "waiting" for pending in batch)
    owed = {"status": "suspended", "reason": "invalid_tool_call"} if waits else _owed(tuple(batch))
    return Standing(**owed, batch=tuple(batch), tail=message, names=tuple(names))


def _owed(batch: tuple[Pending, ...]) -> dict[str, Any]:
    if any(pending.status != "answered" for pending in batch):
        return {"status": "suspended", "reason": "tools"}
    return {"status": "interrupted"}


def _pending(call: Call, status: PendingStatus = "ready", *, answer: Value = None, note: str | None = None) -> Pending:
    return Pending(
        kind="tool",
        name=call.name,
        status=status if answer is None else "answered",
        call_id=call.call_id,
        internal_call_id=call.internal_call_id,
        arguments=call.arguments,
        result=None if answer is None else result_of(answer).text,
        note=note,
    )


def _items(body: dict[str, Any]) -> list[Value]:
    return _list(body.get("items")) or _list(body.get("original_choice"))


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _names(value: Value) -> list[str] | None:
    return [text_of(name) for name in value] if isinstance(value, list) else None


def _call_places(items: list[Value]) -> list[int]:
    return [number for number, part in enumerate(items) if kind_of(part) == "toolcall"]


def _internal_ids(body: dict[str, Any], items: list[Value]) -> dict[int, str]:
    """Internal ids by the number of the call: each call takes the next one that is for its id, since one
    provider's id may stand for two."""
    found: dict[int, str] = {}
    pairs = _list(body.get("internal_call_ids")) or _list(body.get("block_ids"))
    left = [(text_of(pair[0]), text_of(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    for at, place in enumerate(_call_places(items)):
        ids = {name_of(items[place].get(key)) for key in ("id", "call_id")}
        pair = next((pair for pair in left if pair[0] in ids), None)
        if pair is not None:
            left.remove(pair)
            found[at] = pair[1]
    return found


def _skipped(body: dict[str, Any], number: int, part: Value) -> Value:
    """The answer that a skipped call got: kept by the number of the part, in 0.39 by one of its ids."""
    skipped = body.get("skipped")
    if not isinstance(skipped, dict):
        return None
    keys = (str(number), *(text_of(part.get(key)) for key in ("id", "call_id")))
    return next((skipped[key] for key in keys if skipped.get(key) is not None), None)


def _ambiguous(batch: tuple[Pending, ...]) -> list[str]:
    told = Counter((pending.call_id, pending.internal_call_id) for pending in batch)
    return [call_id for (call_id, _), count in told.items() if count > 1 and call_id]
