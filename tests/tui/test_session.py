"""Where one stands in a run, without a screen."""

import pytest
from msgspec import structs

from inspector.model.run import Problem, RunError, RunStatus
from inspector.tui.columns import Chunk, Filter
from inspector.tui.fetch import Nesting, Progress, chunk, rows
from inspector.tui.header import header
from inspector.tui.reports import Facts, Fetched, Known, Opened, Scanned, Searched, Stood
from inspector.tui.session import KEPT, Session
from tests.tui import fakes


def facts(known: int, done: bool = True) -> Facts:
    run = fakes.refund()
    return Facts(
        source=run.source, run=run.run(), definition=run.definition(), resume=run.resume(), known=known, done=done
    )


def session(known: int = 9, *, scanned: bool = True, **options: object) -> Session:
    """A session of the first steps of the made-up run."""
    found = Session(**options)  # type: ignore[arg-type]
    found.opened(Opened(None, facts(known)))
    if scanned:
        found.scanned(Scanned(chunk(fakes.refund(), 1, known)))
    return found


def test_one_stands_at_the_last_step_and_at_the_first_while_it_is_unknown() -> None:
    assert session().cursor == 9
    found = Session()
    found.opened(Opened(None, facts(4, done=False)))
    assert found.cursor == 0
    found.known(Known(facts(8, done=False)))
    assert found.cursor == 0
    found.known(Known(facts(9)))
    assert found.cursor == 9


def test_a_key_before_the_end_is_known_is_respected() -> None:
    found = Session()
    found.opened(Opened(None, facts(4, done=False)))
    found.go(2)
    found.known(Known(facts(9)))
    assert found.cursor == 2


def test_the_step_that_was_asked_for_is_gone_to_as_soon_as_it_is_known() -> None:
    found = Session(step=6)
    found.opened(Opened(None, facts(4, done=False)))
    assert found.cursor == 4
    found.known(Known(facts(7, done=False)))
    assert found.cursor == 6
    found.known(Known(facts(9)))
    assert found.cursor == 6
    assert session(step=99).cursor == 9
    assert session(step=0).cursor == 0


def test_going_keeps_inside_the_run() -> None:
    found = session()
    assert found.go(3)
    assert not found.go(3)
    found.go(-5)
    assert found.cursor == 0
    found.go(500)
    assert found.cursor == 9


def test_odd_steps() -> None:
    found = session()
    assert found.odd(-1) == 7
    found.go(7)
    assert (found.odd(1), found.odd(-1)) == (9, None)
    assert not found.seeking


def test_where_a_run_failed_or_waits_is_odd_though_its_steps_are_done() -> None:
    def stood(status: RunStatus, error: RunError | None = None) -> Session:
        found, told = Session(step=0), facts(6)
        run = structs.replace(told.run, status=status, error=error)
        found.opened(Opened(None, structs.replace(told, run=run)))
        found.scanned(Scanned(chunk(fakes.refund(), 1, 6)))
        return found

    assert fakes.refund().steps(1, 7)[-1].status == "done"
    assert [stood(status).odd(1) for status in ("failed", "suspended", "interrupted", "running")] == [6, 6, 6, 6]
    assert [stood(status).odd(1) for status in ("completed", "cancelled", "unknown")] == [None, None, None]
    found = stood("failed", RunError(message="no", step=4))
    assert found.odd(1) == 4
    found.go(4)
    assert found.odd(1) == 6
    found.go(6)
    assert (found.odd(1), found.odd(-1)) == (None, 4)


def test_another_file_at_the_path_has_columns_of_its_own() -> None:
    found, told = session(), facts(2)
    found.fetched(Fetched(rows(fakes.refund(), Nesting(fakes.refund()), [(1, 10)])))
    width, longest = found.name_width, found.columns.longest
    assert found.timed
    assert width > 5
    assert longest > 0
    found.known(Known(told, revised=1))
    assert (found.timed, found.name_width) == (True, width), "the same run, read anew"
    other = structs.replace(told, run=structs.replace(told.run, id="other"))
    found.known(Known(other, revised=1))
    assert (found.timed, found.name_width) == (False, 5)
    found.scanned(Scanned(Chunk(1, bytes(2), bytes(2))))
    assert found.columns.longest == 0


def test_a_state_whose_steps_are_not_recorded_is_not_called_the_first() -> None:
    found, told = Session(), facts(0)
    found.opened(Opened(None, structs.replace(told, run=structs.replace(told.run, steps=None))))
    heading = found.heading()
    assert heading is not None
    assert "step 0/?" in "".join(span.text for span in header(heading, 80).spans)
    assert found.row(0).untold
    found.known(Known(structs.replace(told, run=structs.replace(told.run, steps=0))))
    assert not found.row(0).untold, "a run that has not begun"


def test_an_odd_step_in_what_is_unknown_is_sought() -> None:
    found = session(scanned=False, step=1)
    assert found.odd(1) is None
    assert found.seeking == 1
    assert found.waits_for_columns
    found.scanned(Scanned(chunk(fakes.refund(), 1, 5)))
    assert found.odd(1) is None
    assert found.seeking == 1
    found.scanned(Scanned(chunk(fakes.refund(), 6, 4)))
    assert found.odd(1) == 7
    assert not found.seeking
    assert not found.waits_for_columns


def test_backwards_what_is_known_is_enough_once_it_reaches_the_cursor() -> None:
    found = session(scanned=False)
    found.scanned(Scanned(chunk(fakes.refund(), 1, 8)))
    assert found.odd(-1) == 7
    found.go(5)
    assert found.odd(-1) is None
    assert not found.seeking


def test_a_filter_shows_its_steps_and_the_cursor_goes_to_the_next_of_them() -> None:
    found = session()
    found.go(4)
    found.choose(Filter(kinds=("node",)))
    assert [found.seq(row) for row in range(len(found))] == [5, 6, 7]
    assert found.cursor == 5
    assert found.heading().shown == 3  # type: ignore[union-attr]
    found.choose(Filter(kinds=("node",), statuses=("failed",)))
    assert (len(found), found.cursor, found.row_of(9)) == (1, 7, 0)
    found.choose(Filter(kinds=("event",)))
    assert (len(found), found.cursor) == (0, 7)
    found.choose(Filter())
    assert len(found) == 10


def test_a_filter_takes_in_what_comes() -> None:
    found = session(scanned=False, step=1)
    found.choose(Filter(statuses=("failed", "pending")))
    assert len(found) == 0
    for start in (1, 4, 7):
        assert found.scanned(Scanned(chunk(fakes.refund(), start, 3)))
    assert [found.seq(row) for row in range(len(found))] == [7, 9]


def test_what_has_to_be_fetched_is_told_in_ranges() -> None:
    found = session()
    assert found.wanted_rows(range(-3, 20)) == [(1, 10)]
    found.fetched(Fetched(rows(fakes.refund(), Nesting(fakes.refund()), [(3, 6)])))
    assert found.wanted_rows(range(10)) == [(1, 3), (6, 10)]
    found.choose(Filter(kinds=("tools",)))
    assert found.wanted_rows(range(2)) == [(2, 3), (9, 10)]


def test_only_so_many_steps_are_kept() -> None:
    found = session()
    one = rows(fakes.refund(), Nesting(fakes.refund()), [(1, 2)])[1]
    for start in range(0, 3 * KEPT, 500):
        found.fetched(Fetched(dict.fromkeys(range(start, start + 500), one)))
    assert len(found._rows) == KEPT


def test_a_state_that_comes_late_is_not_shown_at_another_step() -> None:
    found = session()
    assert found.state().loading  # type: ignore[union-attr]
    late = Stood(8, fakes.refund_state(8), None, None, None)
    assert not found.stood(late)
    assert found.stood(Stood(9, fakes.refund_state(9), fakes.refund_state(8), fakes.REFUND[8], None))
    snapshot = found.state()
    assert snapshot is not None
    assert (snapshot.step, snapshot.last, snapshot.loading, snapshot.state.step) == (9, 9, False, 9)  # type: ignore[union-attr]
    found.go(3)
    assert found.state().loading  # type: ignore[union-attr]


def test_a_run_that_grew_is_followed_from_its_end_and_only_from_there() -> None:
    for follow, at, expected in ((True, 8, 9), (True, 3, 3), (False, 8, 8)):
        found = session(8, follow=follow)
        found.go(at)
        found.fetched(Fetched(rows(fakes.refund(), Nesting(fakes.refund()), [(1, 9)])))
        found.known(Known(facts(9), revised=8))
        assert found.cursor == expected
        assert found.wanted_rows(range(1, 10)) == [(8, 10)], "what may have changed is fetched again"


@pytest.mark.parametrize(("follow", "at", "expected"), [(True, 7, 9), (True, 3, 3), (False, 7, 7)])
def test_a_run_that_grew_is_followed_to_the_last_step_that_a_filter_shows(follow: bool, at: int, expected: int) -> None:
    found = session(8, follow=follow)
    found.choose(Filter(statuses=("failed", "pending")))
    assert found.seq(len(found) - 1) == 7
    found.go(at)
    found.known(Known(facts(9), revised=8))
    assert found.cursor == at, "what the new step is is not known yet"
    found.scanned(Scanned(chunk(fakes.refund(), 8, 9)))
    assert found.cursor == expected


def test_a_run_that_became_shorter_has_no_steps_behind_its_end() -> None:
    found = session()
    found.choose(Filter(kinds=("tools",)))
    found.known(Known(facts(4), revised=1))
    assert found.cursor == 4
    assert len(found.columns) == 4
    assert [found.seq(row) for row in range(len(found))] == [2]


def test_the_search_goes_to_what_it_found() -> None:
    found = session()
    number = found.begin_search()
    found.searched(Searched(number, Progress(done=1, total=2)))
    assert found.search == Progress(done=1, total=2)
    found.searched(Searched(number, Progress(done=2, total=2), ended=True, seq=5))
    assert (found.search, found.cursor) == (None, 5)


def test_what_an_earlier_search_reports_is_not_listened_to() -> None:
    found = session()
    first, second = found.begin_search(), found.begin_search()
    assert not found.searched(Searched(first, Progress(done=1, total=2), ended=True, seq=3))
    assert found.cursor == 9
    assert found.searched(Searched(second, Progress(done=1, total=2), ended=True, seq=4))
    assert not found.searched(Searched(second, Progress(done=1, total=2)))
    assert found.search is None


def test_damage_stands_before_its_step_or_behind_the_last() -> None:
    found = session()
    problem = Problem(severity="error", where="x:3 byte 9", message="is cut short")
    found.damage = {4: problem, 10: problem}
    assert (found.row(4).damage, found.row(4).behind) == (problem, False)
    assert (found.row(9).damage, found.row(9).behind) == (problem, True)
    assert found.row(5).damage is None


@pytest.mark.parametrize("width", [1, 3, 5, 9, 80])
def test_the_overview_tells_in_which_stretch_one_is(width: int) -> None:
    found = session()
    for seq in range(10):
        found.go(seq)
        strip = found.overview(width)
        before = sum(bucket.steps for bucket in strip.buckets[: strip.at])
        assert before < max(seq, 1) <= before + strip.buckets[strip.at or 0].steps


def test_nothing_is_open() -> None:
    found = Session()
    assert (len(found), found.heading(), found.state(), found.overview(9).buckets) == (0, None, None, ())


def test_an_empty_run() -> None:
    found = session(0)
    assert (len(found), found.cursor, found.odd(1), found.overview(9).at) == (1, 0, None, None)
    found.scanned(Scanned(Chunk(1, b"", b"")))
    found.choose(Filter(kinds=("model",)))
    assert len(found) == 0
