"""A row of the timeline, the strip below it, and the header: as lines."""

import pytest
from rich.cells import cell_len

from inspector.model.run import Problem, Run, RunError
from inspector.tui.fetch import Nesting, Progress, rows
from inspector.tui.header import header, rate, trouble
from inspector.tui.line import Line, text_of
from inspector.tui.overview import overview
from inspector.tui.snapshots import Heading, Row
from inspector.tui.timeline import Columns, bar, line, titles
from tests.tui import fakes
from tests.tui.test_session import facts, session

TIMED = rows(fakes.refund(), Nesting(fakes.refund()), [(1, 10)])
COLUMNS = Columns.of(79, 9, 26)


def a_line(seq: int, **more: object) -> Line:
    return line(Row(seq=seq, timed=TIMED.get(seq), longest=4.1, **more), COLUMNS)  # type: ignore[arg-type]


def styles(shown: Line) -> set[str]:
    return {span.style for span in shown.spans if span.text.strip()}


def test_what_differs_looks_different_and_says_so_in_words() -> None:
    assert "failed" in styles(a_line(7))
    assert " failed " in text_of(a_line(7))
    assert "replayed" in styles(a_line(3))
    assert " replay " in text_of(a_line(3))
    assert "waiting" in styles(a_line(9))
    assert " open " in text_of(a_line(9))
    assert "TimeoutError: no answer" in text_of(a_line(7))


def test_columns_stand_below_their_titles() -> None:
    at = text_of(titles(COLUMNS)).index("name")
    for seq in range(1, 10):
        shown = text_of(a_line(seq))
        assert shown[at + 2 * TIMED[seq].depth :].startswith(TIMED[seq].step.name[:8])


def test_nested_steps_are_indented() -> None:
    assert "node     rule" in text_of(a_line(6))
    assert "node   check" in text_of(a_line(5))


def test_what_is_not_there_yet_has_its_number() -> None:
    shown = text_of(line(Row(seq=4), COLUMNS))
    assert shown.split() == ["4", "…"]
    assert "before the first step" in text_of(line(Row(seq=0), COLUMNS))


def test_damage_marks_and_finds_are_shown() -> None:
    problem = Problem(severity="error", where="x:3 byte 9", message="is cut short")
    assert "4!" in text_of(a_line(4, damage=problem))
    assert "[damage before this]" in text_of(a_line(4, damage=problem))
    assert "[damage behind this]" in text_of(a_line(4, damage=problem, behind=True))
    assert "4*" in text_of(a_line(4, marked=True))
    assert "match" in styles(a_line(4, found="refund"))
    assert text_of(a_line(4, found="refund")) == text_of(a_line(4))


def test_a_clock_that_ran_backwards_is_shown_as_it_ran() -> None:
    before = fakes.a_step(1, "node", "a", begin=10)
    late = fakes.a_step(2, "node", "b", begin=9.9, took=-3)
    run = fakes.refund((), (before, late))
    row = rows(run, Nesting(run), [(2, 3)])[2]
    shown = line(Row(seq=2, timed=row, longest=4.0), COLUMNS)
    assert "-100ms" in text_of(shown)
    assert "problem" in styles(shown)
    assert bar(row, 4.0, 4) == "    "


@pytest.mark.parametrize(
    ("took", "shown"), [(0.0, "    "), (0.001, "▏   "), (2.0, "██  "), (3.9, "███▉"), (4.0, "████")]
)
def test_bars(took: float, shown: str) -> None:
    run = fakes.refund((), (fakes.a_step(1, "node", "a", begin=0, took=took),))
    assert bar(rows(run, Nesting(run), [(1, 2)])[1], 4.0, 4) == shown


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("last", [0, 9, 1_000_000])
def test_columns_leave_room_at_any_width(width: int, last: int) -> None:
    columns = Columns.of(width, last, 40)
    assert columns.name >= 8
    assert columns.number >= len(str(last))


def test_the_strip_marks_failures_open_steps_and_where_one_is() -> None:
    found = session()
    found.go(1)
    bars, signs = (text_of(shown) for shown in overview(found.overview(60), 60))
    assert bars.startswith(" time ")
    assert signs.replace(" ", "") == "^^^^!?"
    assert len(bars) == len(signs)
    found.go(7)
    assert "!" not in text_of(overview(found.overview(60), 60)[1]), "the place one is at wins, in the failure's look"


def test_a_run_without_times_counts_steps() -> None:
    found = session(scanned=False)
    assert text_of(overview(found.overview(60), 60)[0]).startswith(" steps ")


def test_the_header_never_loses_the_position() -> None:
    heading = Heading(facts=facts(9, done=False), step=3, shown=2, following=True)
    for width in (40, 60, 80, 200):
        shown = text_of(header(heading, width))
        assert "step 3/9+" in shown
        assert "filter: 2" in shown
        assert "following" in shown
        assert cell_len(shown) <= max(width, 45)
    assert "suspended: approval" in text_of(header(heading, 120))


def test_the_header_tells_how_far_reading_is_and_how_many_problems_there_are() -> None:
    run = Run(id="x", kind="trace", status="unknown", steps=1)
    told = facts(3, done=False)
    fields = {name: getattr(told, name) for name in told.__struct_fields__}
    read = Progress(done=450, total=1000)
    heading = Heading(
        facts=type(told)(**(fields | {"read": read, "run": run, "problems": fakes.PROBLEMS[:1]})),
        step=0,
        shown=None,
        following=False,
    )
    shown = text_of(header(heading, 80))
    assert "reading 45%" in shown
    assert "1 problem" in shown


def test_rates() -> None:
    assert rate(Progress(done=1, total=4, rate=2_500_000)) == "25%, 2 MB/s"
    assert rate(Progress(done=7_300, total=0, rate=12)) == "7 kB, 12 B/s"


def test_why_a_run_failed_is_told_with_its_place_as_far_as_it_is_known() -> None:
    def told(**more: object) -> str | None:
        found = trouble(Run(kind="agent", steps=1, **more))  # type: ignore[arg-type]
        return text_of(found) if found else None

    error = RunError(message="no answer", type="TimeoutError", step=4, where=("line", "machine"))
    assert told(status="failed", error=error) == " step 4: line/machine: TimeoutError: no answer"
    assert told(status="failed", error=RunError()) == " the reason is not recorded"
    assert told(status="failed") == " failed: the file does not record why"
    assert told(status="suspended") is None


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("line/machine/roll", "firing", "…ne/machine/roll"),
        ("[/]quit/and/so on", "tools", "[/]quit/and/so …"),
        ("a/b", "node", "a/b"),
    ],
)
def test_of_a_long_path_the_end_is_kept(name: str, kind: str, shown: str) -> None:
    run = fakes.refund((), (fakes.a_step(1, kind, name),))  # type: ignore[arg-type]
    row = rows(run, Nesting(run), [(1, 2)])[1]
    columns = Columns.of(79, 9, 16, timed=False)
    drawn = text_of(line(Row(seq=1, timed=row), columns))
    assert drawn[text_of(titles(columns)).index("name") :].startswith(shown)
