"""The checkpoints of a thread as steps of a timeline."""

from inspector.formats.problems import Problems
from inspector.formats.readers.langgraph import messages
from inspector.formats.readers.langgraph.frames import START, TASKS, Send, internal
from inspector.formats.readers.langgraph.frames import send as send_of
from inspector.formats.readers.langgraph.history import History
from inspector.formats.readers.langgraph.serde import Reading
from inspector.formats.readers.langgraph.tasks import CONTROL, NOTHING, UNKNOWN
from inspector.model.run import Consumed, Produced, Step, StepKind
from inspector.model.text import shorten
from inspector.model.values import Value, preview

SUMMARY = 200
PARTS = 20
"""Writes that a summary tells of."""


def step(history: History, seq: int) -> Step:
    """A step: named after the nodes that ran to make it, or after what else made it."""
    row, parent = history.row(seq), history.parent(seq)
    source = row.metadata.get("source")
    kind: StepKind = "node"
    if source == "input":
        kind, name, said = "input", "input", _given(history, seq)
    elif source == "update":
        kind, name, said = "input", "update", _updated(history, parent, seq)
    elif source == "fork":
        kind, name, said = "event", "fork", ""
    else:
        name = ", ".join(history.nodes(seq)) or (source if isinstance(source, str) and source != "loop" else UNKNOWN)
        said = _said(history, parent)
    number = row.metadata.get("step")
    return Step(
        seq=seq,
        kind=kind,
        name=shorten(name, SUMMARY),
        status="done",
        ended=row.time,
        summary=shorten(_branch(history, seq, parent) + said, SUMMARY),
        trace_step=number if isinstance(number, int) else None,
        consumed=_consumed(history, parent) if source == "loop" else None,
        produced=_produced(history, parent) if source == "loop" else None,
    )


def shown(value: Value) -> str:
    """A value in a summary: messages by what they say, anything else as it is."""
    inner = value.get(messages.CHANNEL) if isinstance(value, dict) else None
    items = inner if isinstance(inner, list) else value if isinstance(value, list) else [value]
    parts = []
    for item in items:
        one = messages.message(item)
        if one is None:
            return preview(value, SUMMARY)
        asked = ", ".join(f"{call.name}({preview(call.arguments, 60)})" for call in one.calls or ())
        parts.append(f"{one.role}: " + " → ".join(part for part in (one.text, asked) if part))
    return " | ".join(parts) or preview(value, SUMMARY)


def _branch(history: History, seq: int, parent: int | None) -> str:
    """What to say where a step does not continue the one before it."""
    before = history.row(seq).parent_id
    if parent == seq - 1 or (seq == 1 and before is None):
        return ""
    if parent is not None:
        return f"branches off step {parent}: "
    if before is None:
        return "without a checkpoint before it: "
    return "the checkpoint before it is not in this file: "


def _given(history: History, seq: int) -> str:
    frame = history.frame(seq)
    if frame is None or START not in frame.channels:
        return ""
    return shown(history.channel(seq, START))


def _updated(history: History, parent: int | None, seq: int) -> str:
    """What somebody set by hand: newer versions say only which channels."""
    told = history.row(seq).metadata.get("writes")
    if isinstance(told, dict) and told:
        return "; ".join(f"as {node}: {shown(value)}" for node, value in told.items())
    now, before = history.frame(seq), history.frame(parent) if parent else None
    if now is None or before is None:
        return ""
    changed = [name for name, version in now.versions.items() if before.versions.get(name) != version]
    return ", ".join(name for name in changed if not internal(name))


def _said(history: History, parent: int | None) -> str:
    """What the nodes wrote, by channel."""
    writes = history.done(parent) if parent else []
    nested = filter(None, (history.nested_run(task_id) for task_id in dict.fromkeys(write.task for write in writes)))
    parts = [f"run {run_id}" for run_id in nested]
    for write in writes:
        if write.channel in CONTROL or write.channel == NOTHING or internal(write.channel):
            continue
        if isinstance(write.kind, str) and "+" in write.kind:
            parts.append(f"{write.channel}: encrypted")
        elif write.data is None and write.size:
            parts.append(f"{write.channel}: {write.size} bytes")
        else:
            # What is wrong with a value is said when the state behind it is looked at.
            value = Reading("", Problems()).load(write.kind, write.data)
            if value != write.channel:
                parts.append(f"{write.channel}: {shown(value)}")
        if len(parts) == PARTS:
            break
    return "; ".join(parts)


def _consumed(history: History, parent: int | None) -> tuple[Consumed, ...] | None:
    origin = history.parent(parent) if parent else None
    if parent is None or origin is None or not any(write.channel == TASKS for write in history.writes(origin)):
        return None
    frame = history.frame(parent)
    tokens = _by_node(frame.sends if frame else ())
    return tuple(Consumed(queue=node, count=len(each), tokens=each) for node, each in tokens.items()) or None


def _produced(history: History, parent: int | None) -> tuple[Produced, ...] | None:
    if parent is None:
        return None
    values = [history.value(parent, write) for write in history.done(parent) if write.channel == TASKS]
    tokens = _by_node(tuple(filter(None, map(send_of, values))))
    return tuple(Produced(queue=node, tokens=each) for node, each in tokens.items()) or None


def _by_node(sends: tuple[Send, ...]) -> dict[str, tuple[Value, ...]]:
    found: dict[str, list[Value]] = {}
    for send in sends:
        found.setdefault(send.node, []).append(send.argument)
    return {node: tuple(tokens) for node, tokens in found.items()}
