"""A state of a thread: the values of a checkpoint, its conversation, its queues and the work behind it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from inspector.formats.pairing import Pairing, outline
from inspector.formats.readers.langgraph import messages
from inspector.formats.readers.langgraph.frames import START, Frame, frame, internal
from inspector.formats.readers.langgraph.history import History
from inspector.formats.readers.langgraph.pending import Work
from inspector.formats.readers.langgraph.store import Write
from inspector.model.run import Message, Queue, State
from inspector.model.values import Value, tag

CHAIN = 5000
"""Checkpoints that are looked at for the last snapshot of a delta channel; LangGraph makes one at least so often."""
SHOWN_WRITES = 100
"""Writes to a delta channel that are shown."""
Note = Callable[[str], None]


class Seen(NamedTuple):
    """A state, and its messages as they are stored, for what is told beside their text."""

    state: State
    stored: Value


def look(history: History, seq: int, note: Note) -> Seen:
    """The state after a step. `note` is told what is wrong with it."""
    checkpoint = history.checkpoint(seq)
    made = frame(checkpoint)
    work = Work(history, seq)
    if made is None:
        if not (isinstance(checkpoint, dict) and checkpoint.get("$type") == "encrypted"):
            note("is no checkpoint: its values cannot be shown")
        return Seen(State(step=seq, pending=tuple(work.pending(()))), [])
    values = _values(history, seq, made)
    talk = messages.conversation(values, note)
    said: Sequence[Message] | None = None
    stored: Value = []
    if talk is not None:
        name, said = talk
        stored = values.pop(name)
        _pair(said, note)
    return Seen(
        State(
            step=seq,
            queues=_queues(history.frame(seq) or made, made),
            pending=tuple(work.pending(said or ())),
            messages=said,
            values=values,
        ),
        stored,
    )


def _values(history: History, seq: int, made: Frame) -> dict[str, Value]:
    """The channels of the graph's own state."""
    found = {}
    for name, value in made.channels.items():
        if not internal(name) and not (value == name and name in made.seen):
            found[name] = _whole(value)
    counters = history.row(seq).metadata.get("counters_since_delta_snapshot")
    for name in counters if isinstance(counters, dict) else ():
        if name not in made.channels and name in made.versions:
            found[name] = _delta(history, seq, name)
    return found


def _whole(value: Value) -> Value:
    """The value that a snapshot of a delta channel holds; any other value as it is."""
    return value["value"] if isinstance(value, dict) and value.get("$type") == "snapshot" else value


def _delta(history: History, seq: int, name: str) -> Value:
    """A channel of which only the changes since its last snapshot are stored; what they make of it is known to
    the graph's own function."""
    pieces: list[list[tuple[int, Write]]] = []
    at, snapshot = history.parent(seq), None
    for _ in range(CHAIN):
        if at is None:
            break
        pieces.append([(at, write) for write in history.writes(at) if write.channel == name])
        known = history.frame(at)
        if known is not None and name in known.channels:
            snapshot = at
            break
        at = history.parent(at)
    writes = [pair for piece in reversed(pieces) for pair in piece]
    since = f"the snapshot of step {snapshot}" if snapshot else "the start: there is no snapshot"
    base = {} if snapshot is None else {"snapshot": _whole(history.channel(snapshot, name))}
    shown = [history.value(step, write) for step, write in writes[-SHOWN_WRITES:]]
    return tag("delta", text=f"delta: {len(writes)} writes since {since}", **base, writes=shown)


def _queues(known: Frame, made: Frame) -> tuple[Queue, ...]:
    tokens: dict[str, list[Value]] = {}
    for send in known.sends:
        tokens.setdefault(send.node, []).append(send.argument)
    if START in made.channels:
        tokens[START] = [made.channels[START]]
    return tuple(
        Queue(id=node, to=node, size=len(waiting), contents="complete", tokens=waiting)
        for node, waiting in tokens.items()
    )


def _pair(said: Sequence[Message], note: Note) -> None:
    pairing = Pairing()
    for number, one in enumerate(said):
        for odd in pairing.add(number, *outline(one)):
            note(f"message {odd.message + 1}: {odd}")
