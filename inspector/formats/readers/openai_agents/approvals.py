"""What became of the calls of the last batch: who waits for an approval, and what was decided."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from inspector.formats.contents import name_of
from inspector.formats.readers.openai_agents.items import call_of
from inspector.model.run import Call, Pending, PendingStatus
from inspector.model.values import Value

INTERRUPTION = "next_step_interruption"
NESTED = 200
"""Nested runs that are looked at."""

Contexts = Sequence[dict[str, Value]]


class Nested(NamedTuple):
    """The contexts of a run and of the runs of agents that it calls as tools, which keep their own decisions;
    `calls` are the ids of the calls that such agents answer, `functions` what all of them called last."""

    contexts: list[dict[str, Value]]
    calls: set[str | None]
    functions: list[dict[str, Value]]


def nested(context: Value, processed: Value) -> Nested:
    """The runs inside of a run, from its context and its last processed response."""
    found = Nested([], set(), [])
    waiting = [(context, processed)]
    while waiting and len(found.contexts) < NESTED:
        context, processed = waiting.pop(0)
        found.contexts.append(context if isinstance(context, dict) else {})
        functions = processed.get("functions") if isinstance(processed, dict) else None
        for function in functions if isinstance(functions, list) else ():
            if not isinstance(function, dict):
                continue
            found.functions.append(function)
            inner = function.get("agent_run_state")
            if isinstance(inner, dict):
                call = function.get("tool_call")
                found.calls.add(name_of(call.get("call_id")) if isinstance(call, dict) else None)
                waiting.append((inner.get("context"), inner.get("last_processed_response")))
    return found


def interruptions(step: Value) -> list[dict[str, Any]]:
    """The approval items that the run was interrupted for; [] when it was not."""
    if not isinstance(step, dict) or step.get("type") != INTERRUPTION:
        return []
    data = step.get("data")
    found = data.get("interruptions") if isinstance(data, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def last_batch(
    calls: Sequence[Call],
    answered: Counter[str | None],
    asked: Sequence[dict[str, Any]],
    nested: Nested,
    tell: Callable[[str], None],
) -> Iterator[Pending]:
    """The calls that have no result, in the order of the model; behind them what nested agents ask for."""
    waiting: dict[str | None, list[dict[str, Any]]] = {}
    for item in asked:
        waiting.setdefault(_raw(item)[0], []).append(item)
    executed = _executed(nested.contexts)
    for call in calls:
        if answered[call.call_id] > 0:
            answered[call.call_id] -= 1
        elif waiting.get(call.call_id):
            yield _asked(waiting[call.call_id].pop(0), nested.contexts, tell)
        elif call.call_id in nested.calls:
            yield _pending(call, "ready", "goes on with the agent that it calls")
        else:
            yield _unasked(call, executed.get(call.call_id) is False, nested.contexts)
    for items in waiting.values():
        for item in items:
            yield _asked(item, nested.contexts, tell)


def _unasked(call: Call, idle: bool, contexts: Contexts) -> Pending:
    """A call that the run is not interrupted for; `idle`: it was not begun. What was decided about it holds all the
    same: who was denied does not run, and who was approved may have run."""
    decided, reason = _decided({}, call, None, contexts)
    if decided == "denied" or (idle and decided == "approved"):
        return _pending(call, decided, reason)
    return _pending(call, "ready" if idle else "ambiguous")


def _raw(item: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    raw = item.get("raw_item")
    raw = raw if isinstance(raw, dict) else {}
    return name_of(raw.get("call_id")) or name_of(raw.get("id")), raw


def _asked(item: dict[str, Any], contexts: Contexts, tell: Callable[[str], None]) -> Pending:
    call = call_of(_raw(item)[1], tell)
    agent = item.get("agent")
    agent_name = name_of(agent.get("name")) if isinstance(agent, dict) else None
    status, reason = _decided(item, call, agent_name, contexts)
    note = "; ".join(filter(None, (reason, f"agent {agent_name}" if agent_name else None)))
    return _pending(call, status, note or None)


def _pending(call: Call, status: PendingStatus, note: str | None = None) -> Pending:
    return Pending(
        kind="tool", name=call.name, status=status, call_id=call.call_id, arguments=call.arguments, note=note
    )


def _decided(
    item: dict[str, Any], call: Call, agent: str | None, contexts: Contexts
) -> tuple[PendingStatus, str | None]:
    """What was decided about a call, and the reason that goes to the model. Who says no is heard first."""
    names = {call.name, name_of(item.get("tool_name"))}
    for decision in (one for context in contexts for one in _decisions(context, names, agent)):
        if _covers(decision.get("rejected"), call.call_id):
            messages = decision.get("rejection_messages")
            told = messages.get(call.call_id or "") if isinstance(messages, dict) else None
            return "denied", name_of(told) or name_of(decision.get("sticky_rejection_message"))
        if _covers(decision.get("approved"), call.call_id):
            return "approved", None
    return "waiting", None


def _decisions(context: dict[str, Value], names: set[str | None], agent: str | None) -> Iterator[dict[str, Any]]:
    records = context.get("function_tool_approvals")
    for record in records if isinstance(records, list) else ():
        if isinstance(record, dict) and name_of(record.get("tool_key")) in names:
            owner = record.get("agent")
            owner_name = name_of(owner.get("name")) if isinstance(owner, dict) else None
            if (agent is None or owner_name in (None, agent)) and isinstance(record.get("decision"), dict):
                yield record["decision"]
    approvals = context.get("approvals")
    for name, decision in approvals.items() if isinstance(approvals, dict) else ():
        if name in names and isinstance(decision, dict):
            yield decision


def _covers(value: Value, call_id: str | None) -> bool:
    """Whether a decision is about a call: about all of the tool's, or this one."""
    return value is True or (isinstance(value, list) and call_id in value)


def _executed(contexts: Contexts) -> dict[str | None, bool]:
    records = [context.get("tool_invocations") for context in contexts]
    return {
        call_id: record.get("executed") is not False
        for found in records
        if isinstance(found, dict)
        for call_id, record in found.items()
        if isinstance(record, dict)
    }
