"""Queues: one row per queue, its tokens below in order, and what the step took and put."""

from collections.abc import Hashable, Sequence, Set
from functools import partial
from typing import NamedTuple

from inspector.model.places import queue_name
from inspector.model.run import Queue
from inspector.model.values import Value
from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.panes.cells import brief, column, counted, fit
from inspector.tui.panes.moves import QueueRow, queue_rows
from inspector.tui.panes.parts import Each, Fixed, Part, Row, Stack, note
from inspector.tui.panes.tree import fold_sign
from inspector.tui.session import StateSnapshot

MANY = 50
"""A queue with more tokens shows only its ends at first."""
ENDS = 10
BAR = 20
EIGHTHS = " ▏▎▍▌▋▊▉"

UNKNOWN = {
    "last": "only the last token is recorded",
    "size": "the size is recorded, the tokens are not",
    "unknown": "the file does not tell what is in it",
}
"""What is said of contents that are not complete."""


class QueueFold(NamedTuple):
    """What folds at a queue's row."""

    scope: tuple[str, ...]
    id: str
    number: int


def title(snapshot: StateSnapshot) -> int | None:
    """The count in the tab; None where the file does not tell."""
    state = snapshot.state
    return None if state is None or state.queues is None else len(state.queues)


def lines(snapshot: StateSnapshot, width: int, toggled: Set[Hashable] = frozenset()) -> Stack:
    """The pane's lines."""
    state = snapshot.state
    if state is None or state.queues is None:
        return note("this file does not record queues")
    rows = queue_rows(state, snapshot.before, snapshot.step_record)
    if not rows:
        return note("there are no queues")
    names = column([name(row.queue) for row in rows], max(width // 2, 16))
    largest = max((row.queue.size or 0 for row in rows if not row.gone), default=0)
    bar = min(BAR, max(width // 6, 4))
    parts: list[Part] = [Fixed([_heading(rows)])]
    for row in rows:
        fold = QueueFold(row.queue.scope, row.queue.id, row.number)
        parts += _queue(row, fold, fold in toggled, partial(_head, width=names, largest=largest, bar=bar))
    return Stack(parts)


def name(queue: Queue) -> str:
    """A queue's name: where it leads from and to, below its scope."""
    if "-->" in queue.id:
        text = queue.id.replace("-->", " → ")
    elif queue.from_ or queue.to:
        ends = f"{queue.from_ or ''} → {queue.to or ''}".strip()
        text = ends if queue.id in (queue.from_, queue.to, "") else f"{ends} ({queue.id})"
    else:
        text = queue.id
    return f"{'/'.join(queue.scope)}: {text}" if queue.scope else text


def _heading(rows: Sequence[QueueRow]) -> Line:
    here = [row.queue for row in rows if not row.gone]
    sizes = [queue.size for queue in here if queue.size is not None]
    words = f"{counted(len(here), 'queue')}, {counted(sum(sizes), 'token')}"
    if len(sizes) < len(here):
        words += f", {counted(len(here) - len(sizes), 'queue')} of unknown size"
    taken = sum(len(row.moved.taken) + row.moved.unseen for row in rows)
    put = sum(row.moved.put for row in rows)
    moved = f"; this step took {taken:,} and put {put:,}" if taken or put else ""
    return plain(words + moved, "heading")


def _queue(row: QueueRow, fold: QueueFold, toggled: bool, head: "partial[Line]") -> list[Part]:
    tokens: Sequence[Value] = () if row.gone else row.queue.tokens or ()
    moved = row.moved
    size = row.queue.size if row.queue.contents == "last" else None
    first = 0 if size is None else max(size - len(tokens), 0)
    short = len(tokens) > MANY and not toggled
    opened = len(tokens) > MANY or not toggled
    folds = bool(tokens or moved.taken)
    parts: list[Part] = [Fixed([Row(head(row, fold_sign(folds, opened)), fold if folds else None)])]
    if not opened:
        return parts
    title = name(row.queue)
    place = queue_name(row.queue) + (f" #{row.number + 1}" if row.number else "")
    taken = partial(_token, first=None, new=len(moved.taken), sign="- ", title=title, place=place)
    parts.append(Each(moved.taken, taken))
    if moved.unseen:
        parts.append(Fixed([plain(f"-       {counted(moved.unseen, 'token')} taken, not recorded", "removed")]))
    if not row.gone and row.queue.contents in UNKNOWN and row.queue.size != 0:
        parts.append(Fixed([plain(f"        {UNKNOWN[row.queue.contents]}", "dim")]))
    build = partial(_token, first=first, new=len(tokens) - moved.put, sign="+ ", title=title, place=place)
    if not short:
        return [*parts, Each(tokens, build)]
    hidden = len(tokens) - 2 * ENDS
    parts.append(Each(tokens, build, 0, ENDS))
    parts.append(Fixed([Row(plain(f"        … {counted(hidden, 'more token')}", "dim"), fold)]))
    return [*parts, Each(tokens, build, len(tokens) - ENDS)]


def _head(row: QueueRow, sign: str, *, width: int, largest: int, bar: int) -> Line:
    queue, moved = row.queue, row.moved
    size = 0 if row.gone else queue.size
    spans = [
        Span(sign, "dim"),
        Span(fit(name(queue), width), "accent" if size else ""),
        Span(f" {'?' if size is None else f'{size:,}':>7} "),
        Span(bar_of(size or 0, largest, bar), "bar"),
    ]
    if taken := len(moved.taken) + moved.unseen:
        spans.append(Span(f" -{taken:,}", "removed"))
    if moved.put:
        spans.append(Span(f" +{moved.put:,}", "added"))
    if row.gone:
        spans.append(Span(" gone", "dim"))
    return Line(tuple(spans), Opens(name(queue), queue.tokens or []))


def bar_of(size: int, largest: int, cells: int) -> str:
    """A bar of at most `cells` cells; any size but 0 shows."""
    eighths = max(round(8 * cells * size / largest), 1) if size and largest else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(cells)


def _token(at: int, token: Value, *, first: int | None, new: int, sign: str, title: str, place: str) -> Line:
    """A token's line; those from number `new` on are marked as put, and all are as taken without `first`."""
    gone = first is None
    marked = gone or at >= new
    style = ("removed" if gone else "added") if marked else ""
    number = "" if first is None else f"{first + at:,}"
    where = f"{title}, taken" if gone else f"{title} [{number}]"
    spans = (
        Span(sign if marked else "  ", style),
        Span(f"{number:>6}  ", "dim"),
        Span(brief(token), style),
    )
    return Line(spans, Opens(where, token, None if gone else f"queues.{place}[{at}]"))
