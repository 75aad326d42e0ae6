"""The ledger of model calls: tokens spent, and the call that ended the run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspector.formats.readers.vv_agent.journal import Journal
from inspector.formats.readers.vv_agent.messages import calls_of, content
from inspector.formats.readers.vv_agent.shapes import mapping, moment, text, whole
from inspector.formats.readers.vv_agent.verdict import TERMINAL
from inspector.model.run import Step, Usage
from inspector.model.text import shorten
from inspector.model.values import Value, clean_value

SUMMARY = 160
Times = tuple[str | None, str | None]
UNTIMED: Times = (None, None)
NONE_TIMED: Mapping[str, Times] = {}


def usage(value: Value) -> Usage | None:
    """Tokens as vv-agent or a provider counts them; None where neither number is known."""
    fields = mapping(value)
    given = whole(fields.get("input_tokens", fields.get("prompt_tokens")))
    made = whole(fields.get("output_tokens", fields.get("completion_tokens")))
    return None if given is None and made is None else Usage(input_tokens=given, output_tokens=made)


def total(parts: Sequence[Usage | None]) -> Usage | None:
    """The sum of what is known; None where nothing is."""
    known = [part for part in parts if part is not None]
    given = [part.input_tokens for part in known if part.input_tokens is not None]
    made = [part.output_tokens for part in known if part.output_tokens is not None]
    if not given and not made:
        return None
    return Usage(input_tokens=sum(given) if given else None, output_tokens=sum(made) if made else None)


def answered(calls: Sequence[Value]) -> list[dict[str, Any]]:
    """The entry of each model answer of the run's own cycles, in order."""
    return [
        mapping(entry)
        for entry in calls
        if mapping(entry).get("operation", "agent_cycle") == "agent_cycle"
        and mapping(entry).get("status") == "completed"
    ]


def call_times(events: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Times]:
    """When model calls began and ended, by the call's id, as far as events tell. What a recovery says of one whose end
    nobody saw is no end of it."""
    found: dict[str, Times] = {}
    for kind, event in events:
        call_id, at = text(event.get("call_id")), moment(event.get("created_at"))
        if call_id is not None and kind.startswith("model_call_") and event.get("outcome") != "ambiguous":
            began, ended = found.get(call_id, UNTIMED)
            found[call_id] = (at, ended) if kind == "model_call_started" else (began, at)
    return found


def tool_times(events: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Times]:
    """When tool calls began and ended, by the call's id, as far as events tell."""
    found: dict[str, Times] = {}
    for kind, event in events:
        call_id, at = text(event.get("tool_call_id")), moment(event.get("created_at"))
        if call_id is not None and kind.startswith("tool_call_"):
            began, ended = found.get(call_id, UNTIMED)
            over = kind in ("tool_call_completed", "tool_call_failed")
            found[call_id] = (began, at) if over else (began or at, ended)
    return found


def trailing(
    status: str | None,
    journal: Journal,
    calls: Sequence[Value],
    cycles: Sequence[Value],
    times: Mapping[str, Times] = NONE_TIMED,
) -> list[Step]:
    """Steps of an ended run that no message tells of: the model call that failed for good, or the cycle that
    was cut off."""
    if status not in TERMINAL:
        return []
    if journal.models or journal.tools:
        return _cut(journal, times)
    last = mapping(calls[-1]) if calls else {}
    done = whole(mapping(cycles[-1]).get("index")) if cycles else 0
    cycle = whole(last.get("cycle_index"))
    if last.get("status") != "failed" or cycle is None or done is None or cycle <= done:
        return []
    timed = times.get(text(last.get("call_id")) or "", UNTIMED)
    return [failed_call(last.get("error_code"), last.get("usage"), *timed)]


def failed_call(code: Value, spent: Value, began: str | None, ended: str | None) -> Step:
    """The step of a model call that failed for good."""
    return _model("failed", text(clean_value(code)), usage(spent), (began, ended))


def _cut(journal: Journal, times: Mapping[str, Times]) -> list[Step]:
    receipt: dict[str, Any] | None = journal.receipt
    steps = []
    last = journal.models[-1] if journal.models else {}
    timed = times.get(text(last.get("call_id")) or "", UNTIMED)
    if receipt is not None:
        steps.append(_model("done", content(receipt.get("content")), usage(receipt.get("token_usage")), timed))
    elif journal.models:
        steps.append(_model("unknown", text(last.get("state")), None, timed))
    names = [text(mapping(item).get("name")) or "?" for item in calls_of(receipt or {})]
    names = names or [text(entry.get("tool_name")) or "?" for entry in journal.tools]
    if names:
        steps.append(Step(seq=0, kind="tools", name=shorten(", ".join(names), SUMMARY), status="unknown"))
    return steps


def _model(status: Any, words: str | None, spent: Usage | None, timed: Times) -> Step:
    error = words if status == "failed" else None
    return Step(
        seq=0,
        kind="model",
        name="model",
        status=status,
        started=timed[0],
        ended=timed[1],
        summary=shorten(words or "", SUMMARY) or None,
        usage=spent,
        error=error,
    )
