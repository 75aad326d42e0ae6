"""The list of runs as data: chains of resumes as trees, those that need a person first."""

from collections.abc import Sequence
from datetime import datetime

from inspector.model.run import Record, RunRow
from inspector.tui.line import RUN_STYLES, Line, Span
from inspector.tui.panes.cells import fit
from inspector.tui.times import age

URGENT = ("suspended", "failed", "interrupted", "running", "unknown", "cancelled", "completed")
"""Statuses by how much they need a person."""


class Listed(Record, frozen=True, kw_only=True):
    """A run in the list: `depth` 0 for one that continues no other that is listed."""

    row: RunRow
    depth: int = 0


def ordered(rows: Sequence[RunRow]) -> list[Listed]:
    """Runs below the run they continue. Whole chains are sorted by the most urgent run that nothing
    continues, then newest first; a ring of links begins at its first run."""
    known = {row.id for row in rows}
    below: dict[str, list[RunRow]] = {}
    roots = []
    for row in rows:
        above = row.resumed_from.run if row.resumed_from else None
        if above in known and above != row.id:
            below.setdefault(above or "", []).append(row)
        else:
            roots.append(row)
    chains, placed = [], set()
    for start in [*roots, *rows]:  # what no root leads to is a ring
        if start.id in placed:
            continue
        chain, stack = [], [(start, 0)]
        while stack:
            row, depth = stack.pop()
            if row.id not in placed:
                placed.add(row.id)
                chain.append(Listed(row=row, depth=depth))
                stack += [(child, depth + 1) for child in reversed(below.get(row.id, []))]
        chains.append(chain)
    newest_first = sorted(chains, key=lambda chain: max(_when(entry.row) for entry in chain), reverse=True)
    return [
        entry
        for chain in sorted(newest_first, key=lambda chain: min(_urgency(entry.row, below) for entry in chain))
        for entry in chain
    ]


def _when(row: RunRow) -> str:
    return row.updated or row.started or ""


def _urgency(row: RunRow, below: dict[str, list[RunRow]]) -> int:
    """The place of the run's status in URGENT; one that was continued no longer needs anybody."""
    return len(URGENT) if row.id in below else URGENT.index(row.status)


WIDTHS = {"status": 24, "steps": 6, "age": 6, "holder": 16}


def name_width(width: int) -> int:
    """What is left for the name."""
    return max(min(width - sum(WIDTHS.values()) - 5 - 12, 48), 14)


def titles(width: int) -> Line:
    """The line above the rows."""
    name = name_width(width)
    return Line(
        (Span(f"  {'run':{name}} {'status':24} {'steps':>6} {'age':>6} {'holder':16} id", "dim"),),
    )


def line(entry: Listed, width: int, now: datetime) -> Line:
    """A run in one line."""
    row = entry.row
    name = name_width(width)
    lead = "  " * min(entry.depth - 1, 4) + "└ " if entry.depth else ""
    status = row.status + (f": {row.reason}" if row.reason else "")
    link = f"  from {row.resumed_from.run}" if row.resumed_from else ""
    if row.resumed_from and row.resumed_from.step is not None:
        link += f" step {row.resumed_from.step}"
    return Line(
        (
            Span(lead + " ", "dim"),
            Span(fit(row.name or row.id, name - len(lead)) + " "),
            Span(fit(status, WIDTHS["status"]) + " ", RUN_STYLES[row.status]),
            Span(f"{'?' if row.steps is None else row.steps:>6} {age(row.updated or row.started, now):>6} "),
            Span(fit(row.holder or "", WIDTHS["holder"]) + " ", "running"),
            Span(row.id if row.name else "", "dim"),
            Span(link, "accent"),
        )
    )
