"""Messages: the conversation, long texts folded, and what the step added marked.

The newest messages are shown row by row. Those before them take one row each: their height is known
without reading them, so a conversation of hundreds of thousands costs what is on the screen.
"""

from collections.abc import Hashable, Sequence, Set
from functools import partial
from typing import NamedTuple

from inspector.model.run import Call, Message
from inspector.model.values import Value, preview, to_json
from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.masking import masked_head
from inspector.tui.panes.cells import TEXT, brief, counted, fit
from inspector.tui.panes.flow import Flow
from inspector.tui.panes.parts import Blocks, Each, Fixed, Part, Row, Stack, note, shallow
from inspector.tui.session import StateSnapshot

NEWEST = 400
"""Messages that are shown with their texts."""
ROWS, ALL_ROWS = 6, 400
"""Rows of a text, and of one that is unfolded; Enter shows it whole."""
ROLE = 10
NUMBER = 6

STYLES = {"user": "accent", "assistant": "heading", "system": "dim", "developer": "dim", "tool": "replayed"}


class MessageFold(NamedTuple):
    """What folds at a message's rows."""

    message: int


class _Look(NamedTuple):
    """What the rows of every message depend on: the room for text, and the first message that is new."""

    width: int
    new: int
    toggled: Set[Hashable]
    ascii: bool


def title(snapshot: StateSnapshot) -> int | None:
    """The count in the tab; None where the file does not tell."""
    state = snapshot.state
    return None if state is None or state.messages is None else len(state.messages)


def lines(snapshot: StateSnapshot, width: int, toggled: Set[Hashable] = frozenset()) -> Stack:
    """The pane's lines."""
    messages = snapshot.state.messages if snapshot.state else None
    if messages is None:
        return _held(snapshot) or note("this file does not record messages")
    if not messages:
        return note("there are no messages yet")
    before = snapshot.before.messages if snapshot.before else None
    kept = len(messages) if before is None else common(before, messages)
    look = _Look(max(width - NUMBER - ROLE - 3, 16), kept, toggled, snapshot.ascii)
    older = max(len(messages) - NEWEST, 0)
    parts: list[Part] = [Fixed([_heading(len(messages), kept, len(before or ()))])]
    if older:
        parts.append(Each(messages, partial(_short, look), 0, older))
        parts.append(Fixed([plain("  above: one row for each message; below: with their texts", "dim")]))
    newest = [(at, messages[at]) for at in range(older, len(messages))]
    parts.append(Blocks(newest, lambda entry: _height(look, *entry), lambda _, entry: _full(look, *entry)))
    return Stack(parts)


def _held(snapshot: StateSnapshot) -> Stack | None:
    """The conversations of agents that wait in the middle of their firing; None where there are none."""
    found = []
    for actor in (snapshot.state.actors if snapshot.state else None) or ():
        run = actor.unfinished.get("run") if isinstance(actor.unfinished, dict) else None
        said = run.get("messages") if isinstance(run, dict) else None
        if isinstance(said, list):
            name = "/".join((*actor.scope, actor.id))
            words = f"{name}  {counted(len(said), 'message')}, Enter opens them"
            found.append(Line((Span("  "), Span(words)), opens=Opens(f"messages of {name}", said)))
    if not found:
        return None
    told = plain("agents in the middle of a firing: their messages cannot be edited", "heading")
    return Stack([Fixed([told, *found])])


def common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages from the first on are in both. Lazy sequences are compared at the place where one
    would end in the other, and nowhere else."""
    short = min(len(before), len(after))
    if short == 0 or _same(before[short - 1], after[short - 1]):
        return short
    if not (isinstance(before, list | tuple) and isinstance(after, list | tuple)):
        return 0
    return next((at for at in range(short) if not _same(before[at], after[at])), short)


def _same(one: Message, other: Message) -> bool:
    try:
        return one is other or one == other
    except RecursionError:
        return to_json(one) == to_json(other)


def _heading(count: int, kept: int, before: int) -> Line:
    words = counted(count, "message")
    changes = [f"added {count - kept:,}"] if count > kept else []
    if before > kept:
        changes.append(f"took {before - kept:,} away")
    return plain(words + (f"; this step {' and '.join(changes)}" if changes else ""), "heading")


def _lead(look: _Look, at: int, message: Message) -> list[Span]:
    new = at >= look.new
    return [
        Span("+ " if new else "  ", "added" if new else ""),
        Span(f"{at + 1:>{NUMBER - 2}} ", "dim"),
        Span(fit(message.role, ROLE) + " ", STYLES.get(message.role, "")),
    ]


def _short(look: _Look, at: int, message: Message) -> Line:
    """A message on one row."""
    text = preview(masked_head(message.text or "", TEXT + 1)[0], TEXT)
    if not text and message.calls:
        text = "→ " + ", ".join(call.name for call in message.calls[:10])
    return Line((*_lead(look, at, message), Span(text)), _opens(at, message))


def _texts(look: _Look, at: int, message: Message) -> tuple[list[str], int]:
    """The rows of a message's text that are shown, and how many of its characters are not."""
    most = ALL_ROWS if MessageFold(at) in look.toggled else ROWS
    room = (most + 1) * look.width
    said = message.text or ""
    text, taken = masked_head(said, room + 1)
    flow = Flow(text[:room], look.width, ascii=look.ascii)
    whole = taken == len(said) and len(text) <= room
    # One row more is shown as it is: that it is hidden would take a row too.
    shown = flow[: most + (whole and len(flow) == most + 1)]
    if len(flow) > len(shown) or not whole:
        end = flow.span(len(shown) - 1)[1]
        return shown, max(len(text) - end + len(said) - taken, 1)
    return shown, 0


def _height(look: _Look, at: int, message: Message) -> int:
    texts, hidden = _texts(look, at, message)
    labelled = bool(message.call_id or message.name)
    rows = (len(texts) if message.text else 0) + (hidden > 0) + len(message.calls or ()) + labelled
    return max(rows, 1)


def _full(look: _Look, at: int, message: Message) -> list[Row]:
    """All rows of a message: whom it answers, its text, its calls."""
    opens = _opens(at, message)
    texts, hidden = _texts(look, at, message)
    bodies: list[tuple[Span, Opens]] = []
    if label := "  ".join(filter(None, (message.call_id, message.name))):
        bodies.append((Span(f"for {label}", "dim"), opens))
    if message.text:
        bodies += [(Span(text), opens) for text in texts]
    if hidden:
        bodies.append((Span(f"… {counted(hidden, 'more character')}", "dim"), opens))
    bodies += [(_call_span(call), _call(at, number, call)) for number, call in enumerate(message.calls or ())]
    if not bodies:
        bodies.append((Span("(no text)", "dim"), opens))
    rest = Span(" " * (NUMBER + ROLE + 2))
    fold = MessageFold(at) if hidden or MessageFold(at) in look.toggled else None
    return [
        Row(Line((*(_lead(look, at, message) if not row else [rest]), span), opened), fold)
        for row, (span, opened) in enumerate(bodies)
    ]


def _call_span(call: Call) -> Span:
    label = "  ".join(filter(None, (call.name, call.call_id)))
    return Span(f"→ {label}  {brief(call.arguments)}", "accent")


def _call(at: int, number: int, call: Call) -> Opens:
    place = f"messages[{at}].calls[{number}].arguments"
    return Opens(f"message {at + 1}, call {call.name}", shallow(call, always=("arguments",)), place)


def _opens(at: int, message: Message) -> Opens:
    value: Value = message.text or ""
    if message.calls or not message.text:
        value = shallow(message)
        if message.calls:
            value["calls"] = [shallow(call, always=("arguments",)) for call in message.calls]
    return Opens(f"message {at + 1}, {message.role}", value, f"messages[{at}].text" if message.text else None)
