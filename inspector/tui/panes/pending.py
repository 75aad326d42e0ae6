"""Pending: the work that is not done, call by call, and what is known of each."""

from collections import Counter
from collections.abc import Hashable, Sequence, Set
from functools import partial
from itertools import groupby

from inspector.model.run import Pending, PendingKind, PendingStatus
from inspector.model.text import one_line
from inspector.tui.line import PENDING_SIGNS, Line, Opens, Span, plain
from inspector.tui.masking import masked_head
from inspector.tui.panes.cells import brief, column, fit
from inspector.tui.panes.flow import Flow
from inspector.tui.panes.parts import Blocks, Fixed, Part, Stack, note, shallow
from inspector.tui.panes.signs import PENDING
from inspector.tui.session import StateSnapshot

ID_WIDTH, NAME_WIDTH, STATUS_WIDTH = 12, 24, 11
SAMPLE = 200
"""Entries whose ids and names decide the columns."""
INDENT = 3
NOTE_ROWS = 6
"""Rows of a note; Enter shows all of it."""

MEANINGS: dict[PendingStatus, str] = {
    "waiting": "waits for somebody's answer",
    "ready": "can run; has not started",
    "in_flight": "running now; its owner is alive",
    "ambiguous": "no result is recorded; it may have happened",
    "answered": "has its result; the batch as a whole is not done",
    "approved": "approved; not carried out yet",
    "denied": "denied; the refusal is not passed on yet",
}
"""What each status says about the world."""

SIGNED: dict[PendingStatus, str] = {
    "ambiguous": "may have happened",
    "waiting": "waiting",
    "in_flight": "in flight",
    "ready": "ready",
    "approved": "approved",
    "denied": "denied",
    "answered": "answered",
}
"""The statuses in the order in which a batch's heading counts them: what needs a person first."""

EXPLAINED = frozenset({"in_flight", "ambiguous", "approved", "denied"})
"""Statuses that are told in a sentence below the entry; the others are told by their word."""

KINDS: dict[PendingKind, tuple[str, str]] = {
    "tool": ("tool batch, 1 call", "tool batch, {} calls"),
    "model": ("1 model request", "{} model requests"),
    "firing": ("1 firing", "{} firings"),
    "node": ("1 node", "{} nodes"),
    "input": ("1 input", "{} inputs"),
}


def title(snapshot: StateSnapshot) -> int | None:
    """The count in the tab; None where the file does not tell."""
    state = snapshot.state
    return None if state is None or state.pending is None else len(state.pending)


def lines(snapshot: StateSnapshot, width: int, toggled: Set[Hashable] = frozenset()) -> Stack:
    """The pane's lines."""
    pending = snapshot.state.pending if snapshot.state else None
    if pending is None:
        return note("this file does not record pending work")
    if not pending:
        return note("nothing is pending here")
    parts: list[Part] = []
    for kind, group in groupby(pending, key=lambda entry: entry.kind):
        entries = list(group)
        build = partial(
            _entry,
            width=width,
            id_width=column([entry.call_id or "" for entry in entries[:SAMPLE]], ID_WIDTH),
            name_width=column([entry.name for entry in entries[:SAMPLE]], min(NAME_WIDTH, max(width // 3, 8))),
        )
        parts += [
            Fixed([_heading(kind, entries)]),
            Blocks(entries, lambda entry: 1 + len(_details(entry, width)), build),
        ]
    return Stack(parts)


def _heading(kind: PendingKind, entries: Sequence[Pending]) -> Line:
    one, many = KINDS[kind]
    words = one if len(entries) == 1 else many.format(f"{len(entries):,}")
    counts = Counter(entry.status for entry in entries)
    if len(counts) > 1:
        words += ": " + ", ".join(f"{counts[status]:,} {SIGNED[status]}" for status in SIGNED if counts[status])
    return plain(words, "heading")


def _entry(at: int, entry: Pending, *, width: int, id_width: int, name_width: int) -> list[Line]:
    sign = PENDING_SIGNS[entry.status]
    call = (entry.internal_call_id or entry.call_id) if entry.kind == "tool" else None
    place = f"pending.{call}" if call else None
    whole = Opens(
        " ".join(filter(None, (entry.name, entry.call_id))),
        shallow(entry, always=("arguments",)),
        place and f"{place}.arguments",
    )
    spans = [Span(f" {PENDING[entry.status]} {fit(sign.text, STATUS_WIDTH)}", sign.style)]
    if id_width:
        spans.append(Span(fit(entry.call_id or "", id_width) + "  ", "dim"))
    spans.append(Span(fit(entry.name, name_width) + "  ", "accent"))
    if entry.arguments is not None or entry.kind == "tool":
        spans.append(Span(brief(entry.arguments)))
    return [Line(tuple(spans), whole), *(_detail(name, text, entry, whole) for name, text in _details(entry, width))]


def _details(entry: Pending, width: int) -> list[tuple[str, str]]:
    """What is said of an entry below its own line: (of what, text), a note in as many rows as it takes."""
    doubted = entry.status == "ambiguous" and "may have happened" in (entry.note or "")
    told = entry.status in EXPLAINED and not doubted
    found = [("status", MEANINGS[entry.status])] if told else []
    if entry.result is not None:
        found.append(("result", ""))
    if entry.note:
        found += [("note", row) for row in _rows(masked_head(entry.note, NOTE_ROWS * width)[0], width - INDENT)]
    if entry.since:
        found.append(("since", one_line(f"since {entry.since}")))
    return found


def _rows(note: str, width: int) -> list[str]:
    line = one_line(note)
    if len(line) <= width // 2:
        return [line]
    flow = Flow(line[: NOTE_ROWS * width], width)
    return flow[:NOTE_ROWS]


def _detail(name: str, text: str, entry: Pending, whole: Opens) -> Line:
    indent = Span(" " * INDENT)
    if name == "status":
        return Line((indent, Span(text, PENDING_SIGNS[entry.status].style)), whole)
    if name == "result":
        place = whole.place and whole.place.removesuffix("arguments") + "result"
        opens = Opens(f"result of {whole.title}", entry.result, place)
        return Line((indent, Span("→ ", "done"), Span(brief(entry.result))), opens)
    return Line((indent, Span(text, "dim")), whole)
