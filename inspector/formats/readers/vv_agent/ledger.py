"""The ledger of model calls: tokens spent, and the call that ended the run."""

from collections.abc import Sequence
from typing import Any

from inspector.formats.readers.vv_agent.journal import Journal
from inspector.formats.readers.vv_agent.messages import calls_of, content
from inspector.formats.readers.vv_agent.shapes import mapping, text, whole
from inspector.formats.readers.vv_agent.verdict import TERMINAL
from inspector.model.run import Step, Usage
from inspector.model.text import shorten
from inspector.model.values import Value

SUMMARY = 160


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


def answered(calls: Sequence[Value]) -> list[Usage | None]:
    """The usage of each model answer of the run's own cycles, in order."""
    return [
        usage(mapping(entry).get("usage"))
        for entry in calls
        if mapping(entry).get("operation", "agent_cycle") == "agent_cycle"
        and mapping(entry).get("status") == "completed"
    ]


def trailing(status: str | None, journal: Journal, calls: Sequence[Value], cycles: Sequence[Value]) -> list[Step]:
    """Steps of an ended run that no message tells of: the model call that failed for good, or the cycle that
    was cut off."""
    if status not in TERMINAL:
        return []
    if journal.models or journal.tools:
        return _cut(journal)
    last = mapping(calls[-1]) if calls else {}
    done = whole(mapping(cycles[-1]).get("index")) if cycles else 0
    cycle = whole(last.get("cycle_index"))
    if last.get("status") != "failed" or cycle is None or done is None or cycle <= done:
        return []
    return [_model("failed", text(last.get("error_code")), usage(last.get("usage")))]


def _cut(journal: Journal) -> list[Step]:
    receipt: dict[str, Any] | None = journal.receipt
    steps = []
    if receipt is not None:
        steps.append(_model("done", content(receipt.get("content")), usage(receipt.get("token_usage"))))
    elif journal.models:
        steps.append(_model("unknown", text(journal.models[-1].get("state")), None))
    names = [text(mapping(item).get("name")) or "?" for item in calls_of(receipt or {})]
    names = names or [text(entry.get("tool_name")) or "?" for entry in journal.tools]
    if names:
        steps.append(Step(seq=0, kind="tools", name=shorten(", ".join(names), SUMMARY), status="unknown"))
    return steps


def _model(status: Any, words: str | None, spent: Usage | None) -> Step:
    error = words if status == "failed" else None
    return Step(
        seq=0,
        kind="model",
        name="model",
        status=status,
        summary=shorten(words or "", SUMMARY) or None,
        usage=spent,
        error=error,
    )
