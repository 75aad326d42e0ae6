"""The list of runs as data: chains of resumes as trees, those that need a person first."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from rich.cells import cell_len

from inspector.model.moments import Moment, chronological
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


def _when(row: RunRow) -> Moment:
    return chronological(row.updated or row.started)


def _urgency(row: RunRow, below: dict[str, list[RunRow]]) -> int:
    """The place of the run's status in URGENT; one that was continued no longer needs anybody."""
    return len(URGENT) if row.id in below else URGENT.index(row.status)


class Columns(NamedTuple):
    """Widths in cells; `holder` 0 where nobody holds a run."""

    name: int
    status: int
    holder: int

    @classmethod
    def of(cls, entries: Sequence[Listed], width: int) -> "Columns":
        """For these runs: as wide as what they hold, as far as there is room."""
        status = min(max((len(_status(entry.row)) for entry in entries), default=6), STATUS)
        holder = min(max((cell_len(entry.row.holder or "") for entry in entries), default=0), 16)
        holder = max(holder, 6) if holder else 0
        names = max((cell_len(_name(entry.row)) + len(_lead(entry.depth)) for entry in entries), default=3)
        room = width - status - (holder and holder + 1) - NUMBERS
        sizes = {"name": max(min(names, room - IDS, 48), 12), "status": status, "holder": holder}
        # Runs of one name are told apart by their ids: the other columns make room for those.
        ids = min(max((cell_len(entry.row.id) for entry in entries if entry.row.name), default=0), 24)
        lacking = ids - (room - sizes["name"])
        for name, least in LEAST:
            given = max(min(lacking, sizes[name] - least), 0)
            sizes[name], lacking = sizes[name] - given, lacking - given
        return cls(**sizes)


STATUS = len("suspended: reconciliation")
"""Cells of a status with its reason at most."""

NUMBERS = 17
"""Cells of the numbers of steps and the age, with gaps."""

IDS = 14
"""Cells that are left at least for the id."""

LEAST = (("holder", 9), ("name", 8), ("status", 16))
"""What makes room for ids, in turn, and how many cells it keeps."""


def titles(columns: Columns) -> Line:
    """The line above the rows."""
    holder = f"{'holder':{columns.holder}} " if columns.holder else ""
    text = f" {'run':{columns.name}} {'status':{columns.status}} {'steps':>6} {'age':>6} {holder}id"
    return Line((Span(text, "dim"),))


class RunLines:
    """The lines of runs, each made when it is asked for."""

    def __init__(self, entries: Sequence[Listed], columns: Columns, now: datetime) -> None:
        self._entries, self._columns, self._now = entries, columns, now

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> Line:
        return line(self._entries[index], self._columns, self._now)


def holds(entry: Listed, text: str) -> bool:
    """Whether a run's line holds a text, however it is written, also where there is no room for it."""
    row = entry.row
    told = f"{row.name or ''}\n{row.id}\n{_status(row)}\n{row.holder or ''}\n{_link(row)}"
    return text.casefold() in told.casefold()


def line(entry: Listed, columns: Columns, now: datetime) -> Line:
    """A run in one line."""
    row = entry.row
    lead = _lead(entry.depth)
    holder = Span(fit(row.holder or "", columns.holder) + " ", "running") if columns.holder else Span("")
    return Line(
        (
            Span(" " + lead, "dim"),
            Span(fit(_name(row), columns.name - len(lead)) + " "),
            Span(fit(_status(row), columns.status) + " ", RUN_STYLES[row.status]),
            Span(f"{'?' if row.steps is None else row.steps:>6} {age(row.updated or row.started, now):>6} "),
            holder,
            Span(row.id if row.name else "", "dim"),
            Span(_link(row), "accent"),
        )
    )


def _name(row: RunRow) -> str:
    return row.name or row.id


def _link(row: RunRow) -> str:
    if row.resumed_from is None:
        return ""
    step = "" if row.resumed_from.step is None else f" step {row.resumed_from.step}"
    return f" from {row.resumed_from.run}{step}"


def _status(row: RunRow) -> str:
    return row.status + (f": {row.reason}" if row.reason else "")


def _lead(depth: int) -> str:
    return "  " * min(depth - 1, 4) + "└ " if depth else ""
