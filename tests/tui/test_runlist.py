"""The list of runs: order, trees, widths."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from inspector.model.run import RunLink, RunRow
from inspector.tui import runlist
from inspector.tui.line import Line, text_of
from inspector.tui.runlist import URGENT, Columns, RunLines, holds, line, ordered, titles
from tests.tui import fakes
from tests.tui.examples import examples


def a_row(id: str, status: str = "completed", after: str | None = None, started: str | None = None) -> RunRow:
    return RunRow(
        id=id,
        kind="agent",
        status=status,  # type: ignore[arg-type]
        started=started,
        resumed_from=RunLink(run=after) if after else None,
    )


def test_chains_stand_as_trees_and_those_that_need_somebody_first() -> None:
    found = [(entry.row.id, entry.depth) for entry in ordered(fakes.ROWS)]
    assert found == [("r6", 0), ("r5", 0), ("r2", 0), ("r3", 1), ("r4", 2), ("r1", 0)]


def test_a_run_that_was_continued_needs_nobody_any_more() -> None:
    rows = [a_row("a", "suspended"), a_row("b", "completed", after="a"), a_row("c", "failed")]
    assert [entry.row.id for entry in ordered(rows)] == ["c", "a", "b"]


def test_the_newest_of_equals_is_first() -> None:
    rows = [a_row("old", started="2026-01-01"), a_row("new", started="2026-02-01")]
    assert [entry.row.id for entry in ordered(rows)] == ["new", "old"]


@given(
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(URGENT), st.none() | st.integers(0, 8)), max_size=9).map(
        lambda rows: list({row[0]: row for row in rows}.values())
    )
)
@examples(100)
def test_every_run_stands_once_whatever_the_links(rows: list[tuple[int, str, int | None]]) -> None:
    given_rows = [a_row(str(id), status, None if after is None else str(after)) for id, status, after in rows]
    found = ordered(given_rows)
    assert sorted(entry.row.id for entry in found) == sorted(row.id for row in given_rows)


def test_a_long_chain_is_no_recursion() -> None:
    rows = [a_row(str(at), after=str(at - 1) if at else None) for at in range(5000)]
    assert len(ordered(rows)) == 5000


def test_lines_keep_to_their_columns() -> None:
    entries = ordered(fakes.ROWS)
    for width in (60, 80, 200):
        columns = Columns.of(entries, width)
        at = text_of(titles(columns)).index("status")
        for entry in entries:
            shown = text_of(line(entry, columns, fakes.NOW))
            assert shown[at:].startswith(entry.row.status)
    assert "holder" not in text_of(titles(Columns.of(entries[:1], 80)))


def test_runs_of_one_name_are_told_apart_by_their_ids() -> None:
    rows = [a_row("order-A-17-again", "interrupted"), a_row("order-A-17-late", "suspended")]
    held = {"name": "refunds", "reason": "lease_expired", "holder": "vm:13973 silent"}
    entries = ordered([structs.replace(row, **held) for row in rows])
    columns = Columns.of(entries, 78)
    for entry in entries:
        assert entry.row.id in text_of(line(entry, columns, fakes.NOW))[:78]


def test_a_run_tells_how_long_ago_it_was_touched() -> None:
    entries = ordered([a_row("a", started="2026-03-01T09:30:00Z")])
    shown = text_of(line(entries[0], Columns.of(entries, 80), datetime(2026, 3, 1, 12, tzinfo=UTC)))
    assert "2h30m" in shown
    assert "?" in shown, "how many steps it has is unknown"


def test_of_many_runs_only_the_lines_that_are_asked_for_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = ordered([a_row(f"r{at}", URGENT[at % len(URGENT)]) for at in range(10_000)])
    made, real = list[str](), runlist.line

    def noted(entry: runlist.Listed, *given: Any) -> Line:
        made.append(entry.row.id)
        return real(entry, *given)

    monkeypatch.setattr(runlist, "line", noted)
    lines = RunLines(entries, Columns.of(entries, 80), fakes.NOW)
    assert len(lines) == 10_000
    assert [entry.row.id for entry in entries if holds(entry, "R777 ")] == []
    assert [entry.row.id for entry in entries if holds(entry, "R7771")] == ["r7771"]
    assert made == []
    assert entries[0].row.id in text_of(lines[0])
    assert len(made) == 1


def test_the_longest_status_is_told_whole_where_there_is_room() -> None:
    waits = RunRow(id="orders/1042", name="night-clerk", kind="agent", status="suspended", reason="reconciliation")
    columns = Columns.of(ordered([waits]), 78)
    assert "suspended: reconciliation " in text_of(line(ordered([waits])[0], columns, fakes.NOW))
