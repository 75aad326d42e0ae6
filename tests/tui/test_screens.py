"""Keys and what they lead to: where one stands, what was asked of the loader, what is to be read."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual import events

from inspector.errors import UnreadableError
from inspector.formats.memory import ManyRuns, OneRun
from inspector.model.run import Problem, SourceInfo, State
from inspector.model.source import RunSet, RunSource
from inspector.tui.bars import Footer
from inspector.tui.fetch import Nesting, rows
from inspector.tui.opening import OpeningScreen
from inspector.tui.page import Page
from inspector.tui.pages import ErrorPage, FilterPage, Palette, ProblemsPage
from inspector.tui.prompt import Prompt
from inspector.tui.reports import Fetched, Known, Stood
from inspector.tui.runscreen import RunScreen
from inspector.tui.runsscreen import RunsPage
from inspector.tui.viewer import Viewer
from tests.tui import fakes
from tests.tui.screens import NARROW, WIDE, app_for, press, reports, row_texts, run_screen, settle, shown, texts, until


def told(app) -> str:  # type: ignore[no-untyped-def]
    """What the footer says."""
    return "".join(span.text for line in app.screen.query_one(Footer).lines() for span in line.spans)


async def test_a_run_opens_at_its_last_step_with_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, _, _):
        assert run_screen(app).session.cursor == 9
        painted = "\n".join(texts(app))
        assert "step 9/9" in painted
        assert "suspended: approval" in painted
        assert "tool batch, 4 calls" in painted
        assert "refund, refund, email"[:10] in painted


async def test_arrows_step_from_either_pane(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, messages):
        await press(pilot, "left", "left")
        assert run_screen(app).session.cursor == 7
        await press(pilot, "tab", "right")
        assert run_screen(app).session.cursor == 8
        assert not run_screen(app).timeline.has_focus
        await press(pilot, "tab", "home")
        assert run_screen(app).session.cursor == 0
        assert [stood.step for stood in reports(messages, Stood)][-1] == 0


async def test_a_state_is_fetched_once_for_many_steps_that_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        asked: list[int] = []
        fetch = app.desk.loader.state
        monkeypatch.setattr(app.desk.loader, "state", lambda step: (asked.append(step), fetch(step)))
        await press(pilot, *["up"] * 5)
        assert asked == [8, 7, 6, 5, 4]
        assert run_screen(app).pane._snapshot.step == 4  # type: ignore[union-attr]


async def test_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        session = run_screen(app).session
        await press(pilot, "left_square_bracket")
        assert session.cursor == 7
        await press(pilot, "left_square_bracket")
        assert session.cursor == 7
        assert "no failed or open step before this one" in told(app)
        await press(pilot, "right_square_bracket")
        assert session.cursor == 9
        await press(pilot, "m", "g", "3", "enter")
        assert session.cursor == 3
        await press(pilot, "apostrophe")
        assert session.cursor == 9
        await press(pilot, "apostrophe")
        assert session.cursor == 3, "and back"
        await press(pilot, "g", "+", "4", "enter")
        assert session.cursor == 7
        await press(pilot, "g", "x", "enter")
        assert "'x' is no step: they are 0 to 9" in told(app)
        await press(pilot, "down")
        assert "is no step" not in told(app), "what was told goes with the next key"


async def test_text_that_is_typed_ahead_goes_into_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        session = run_screen(app).session
        await press(pilot, "slash", *"refund q", "backspace", "backspace", "enter")
        assert session.text == "refund"
        assert session.cursor == 4, "the search goes on from the beginning"
        await press(pilot, "n")
        assert session.cursor == 8
        await press(pilot, "N")
        assert session.cursor == 4
        await press(pilot, "slash", "enter")
        assert (session.text, session.cursor) == ("refund", 8), "Enter alone takes the last text"
        await press(pilot, "slash", "end", "backspace", "enter")
        assert session.text == "refun", "what moves in it keeps it"
        await press(pilot, "slash", *"nowhere", "enter")
        assert "'nowhere' stands in no step of this run" in told(app)
        await press(pilot, "escape")
        assert session.text == ""


@pytest.mark.parametrize("end", ["enter", "escape"])
async def test_keys_in_the_packet_that_ends_a_prompt_are_for_the_page(
    monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        run = run_screen(app)
        before = run.session.cursor
        driver = app._driver
        assert driver is not None
        for key in ("g", "2", end, "tab", "m"):  # with no pause between them
            event = events.Key(key, key if len(key) == 1 else None)
            event.set_sender(app)
            driver.send_message(event)
        await until(pilot, lambda: run.session.marked is not None)
        assert run.session.cursor == run.session.marked == (2 if end == "enter" else before)
        assert not run.timeline.has_focus


async def test_a_long_text_that_comes_key_by_key_is_taken_in_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, messages):
        run = run_screen(app)
        await press(pilot, "slash")
        for letter in [*("a" * 300), "left", "delete", *"bcd", "backspace", "e"]:  # with no pause between them
            event = events.Key(letter, letter if len(letter) == 1 else None)
            event.set_sender(app)
            app.post_message(event)
        app.post_message(events.Paste("fg"))
        wanted = "a" * 299 + "bcefg"
        await until(pilot, lambda: run.prompt._field is not None and run.prompt._field.value == wanted)
        await settle(pilot)
        changes = {id(message) for message in messages if isinstance(message, Prompt.Typed)}
        assert len(changes) < 20
        assert texts(app)[-1].endswith("aaabcefg"), "its end is to be seen, and the cursor"


async def test_a_search_shows_its_progress_and_escape_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(fakes.Long):
        def find(self, text, start, *, backward=False):  # type: ignore[no-untyped-def]
            while True:
                yield 1000, 5000

    async with shown(monkeypatch, OneRun(Endless(2000), "x")) as (app, pilot, _):
        await pilot.press("slash", "x", "enter")
        await until(pilot, lambda: "finding" in told(app))
        assert "finding 'x': 20%   Esc" in told(app)  # of steps or bytes: no rate
        await press(pilot, "escape")
        assert run_screen(app).session.search is None
        assert "finding" not in told(app)


async def test_a_search_that_cannot_begin_yet_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    read = threading.Event()
    app = app_for(monkeypatch, OneRun(fakes.Long(2000, batch=1000, gate=read), "x"))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: app.desk and app.desk.run and app.desk.run.session.last == 1000)
        await pilot.press("slash", "z", "q", "enter")
        await until(pilot, lambda: "finding 'zq': as soon as the file is read" in told(app))
        read.set()
        await until(pilot, lambda: "stands in no step" in told(app))


async def test_a_filter_is_put_together_and_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        await press(pilot, "f")
        assert isinstance(app.screen, FilterPage)
        lines = row_texts(app.screen.rows)
        assert [line.split() for line in lines if "node" in line] == [["[", "]", "kind", "node", "3"]]
        at = next(at for at, line in enumerate(lines) if "node" in line)
        await press(pilot, *["down"] * at, "enter")
        assert "[x]" in row_texts(app.screen.rows)[at]
        await press(pilot, "escape")
        session = run_screen(app).session
        assert (len(session), session.cursor) == (3, 7)
        assert "filter: 3" in texts(app)[0]
        await press(pilot, "left")
        assert session.cursor == 6
        await press(pilot, "escape")
        assert (len(session), session.cursor) == (10, 6)


async def test_problems_are_listed_and_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        await press(pilot, "p")
        assert isinstance(app.screen, ProblemsPage)
        assert "refund-4711.jsonl:6 byte 1841" in row_texts(app.screen.rows)[0]
        await press(pilot, "enter")
        assert isinstance(app.screen, Viewer)
        await press(pilot, "q", "q")
        assert isinstance(app.screen, RunScreen)


async def test_the_list_of_problems_is_renewed_while_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        screen = run_screen(app)
        await press(pilot, "p")
        facts, page = screen.session.facts, app.screen
        assert facts is not None
        assert isinstance(page, ProblemsPage)
        gone = Problem(severity="error", where="here", message="there is no such file")
        screen.take(Known(replace(facts, problems=(gone, *facts.problems))))
        await pilot.pause()
        assert "there is no such file" in row_texts(page.rows)[0]
        assert f"{len(facts.problems) + 1} problem" in texts(app)[0]
        screen.take(Known(replace(facts, problems=())))
        await pilot.pause()
        assert row_texts(page.rows) == [" nothing is wrong with this file, as far as it was read"]


async def test_help_shows_every_key_of_where_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspector.tui import keys

    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        places = app.desk.places()
        await press(pilot, "question_mark")
        lines = "\n".join(row_texts(app.screen.rows))  # type: ignore[attr-defined]
        for key in keys.of(*places):
            assert key.help in lines
        assert "show only runs" not in lines
        await press(pilot, "escape")
        assert isinstance(app.screen, RunScreen)


async def test_the_palette_does_what_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        await press(pilot, "ctrl+p", *"failed before", "enter")
        assert run_screen(app).session.cursor == 7
        await press(pilot, "ctrl+p")
        assert isinstance(app.screen, Palette)
        await press(pilot, *"all keys", "enter")
        assert "In a run" in row_texts(app.screen.rows)  # type: ignore[attr-defined]
        await press(pilot, "escape", "ctrl+p", "escape")
        assert isinstance(app.screen, RunScreen)


async def test_narrow_screens_have_two_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one(), NARROW) as (app, pilot, _):
        screen = run_screen(app)
        assert (screen.timeline.region.width, screen.pane.region.width) == (80, 0)
        await press(pilot, "tab")
        assert (screen.timeline.region.width, screen.pane.region.width) == (0, 80)
        assert "step 9/9" in texts(app)[0]
        await press(pilot, "left")
        assert screen.session.cursor == 8
        await press(pilot, "q")
        assert screen.timeline.has_focus
        await press(pilot, "enter")
        assert screen.pane.region.width == 80


async def test_a_state_that_nobody_sees_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one(), NARROW) as (_, pilot, messages):
        await press(pilot, "up", "up")
        assert not reports(messages, Stood)
        await press(pilot, "tab")
        assert [stood.step for stood in reports(messages, Stood)] == [7]


async def test_resizing_goes_between_the_two(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one(), WIDE) as (app, pilot, _):
        screen = run_screen(app)
        await press(pilot, "tab")
        await pilot.resize_terminal(*NARROW)
        await settle(pilot)
        assert screen.pane.region.width in (0, 80)
        assert screen.timeline.region.width + screen.pane.region.width == 80
        assert screen.focused is not None
        assert screen.focused.region.width == 80, "the page with the focus is the one that is shown"
        await pilot.resize_terminal(200, 50)
        await settle(pilot)
        assert screen.timeline.region.width + screen.pane.region.width == 200
        for size in ((10, 3), (1, 1), (300, 100), NARROW):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            texts(app)


async def test_a_run_is_written_as_a_trace_that_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from inspector.formats.open import open_path

    monkeypatch.chdir(tmp_path)
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        await press(pilot, "x", "enter")
        assert "wrote 4711.trace.jsonl" in told(app)
        await press(pilot, "x", "enter")
        assert "exists already" in told(app)
        assert "--overwrite" not in told(app)
    run = open_path("4711.trace.jsonl").open(None)
    assert list(run.index())
    assert [step.name for step in run.steps(1, 10)] == [step.name for step in fakes.REFUND]


async def test_what_is_told_is_told_to_its_end_and_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one(), NARROW) as (app, pilot, _):
        before = texts(app)
        app.screen.footer.tell("a word " * 20 + "the end")  # type: ignore[attr-defined]
        await settle(pilot)
        assert "the end" in texts(app)[-1]
        assert "a word" in texts(app)[-2]
        await pilot.resize_terminal(60, NARROW[1])
        await settle(pilot)
        assert "the end" in texts(app)[-1]
        assert "…" not in "".join(texts(app)[-3:])
        await pilot.resize_terminal(*NARROW)
        await press(pilot, "right")
        assert texts(app) == before


async def test_an_export_that_is_given_up_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def endless(*given: object, **options: object) -> Iterator[bytes]:
        while True:
            time.sleep(0.002)
            yield b"a line\n"

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("inspector.report.export.lines", endless)
    async with shown(monkeypatch, OneRun(fakes.Long(200), "x")) as (app, pilot, _):
        await pilot.press("x", *["backspace"] * 30, "t", "enter")
        await until(pilot, lambda: "writing t: " in told(app))
        assert (tmp_path / "t").exists()
        await press(pilot, "escape")
        assert not (tmp_path / "t").exists()
        assert "wrot" not in told(app)


async def test_following_is_switched_on_and_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one(), follow=True) as (app, pilot, _):
        assert "following" in texts(app)[0]
        await press(pilot, "F")
        assert "following" not in texts(app)[0]


async def test_a_list_of_runs_opens_one_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several()) as (app, pilot, _):
        assert isinstance(app.screen, RunsPage)
        await press(pilot, "down", "down", "enter")
        assert isinstance(app.screen, RunScreen)
        assert app.screen.session.facts.run.id == "r2"  # type: ignore[union-attr]
        await press(pilot, "escape")
        assert isinstance(app.screen, RunsPage)
        assert app.screen.rows.cursor == 2
        await press(pilot, "enter", "q", "q")
        assert app.return_code == 0


async def test_a_list_without_problems_says_nothing_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several()) as (app, pilot, _):
        app.screen.problems = ()  # type: ignore[attr-defined]
        await press(pilot, "p")
        assert isinstance(app.screen, ProblemsPage)
        assert "what is wrong in a run is told in that" in row_texts(app.screen.rows)[0]


async def test_a_list_of_runs_is_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several()) as (app, pilot, _):
        page = app.screen
        assert isinstance(page, RunsPage)
        await press(pilot, "slash", *"SUSPENDED", "enter")
        assert [entry.row.id for entry in page._shown] == ["r6", "r2"]
        await press(pilot, "down", "enter")
        assert run_screen(app).session.facts.run.id == "r2"  # type: ignore[union-attr]
        await press(pilot, "q", "slash", "x", "x")
        assert "no run's line holds" in row_texts(page.rows)[0]
        await press(pilot, "escape")
        assert len(page._shown) == 6


async def test_a_list_that_became_empty_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several()) as (app, _, _):
        page = app.screen
        assert isinstance(page, RunsPage)
        page.listed(replace(page._report, rows=()))
        assert "there are no runs any more" in row_texts(page.rows)[0]


async def test_a_list_of_runs_tells_how_many_problems_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several()) as (app, pilot, _):
        page = app.screen
        assert isinstance(page, RunsPage)
        for problems, told in (
            ((Problem(severity="error", where="x.db", message="cut short"),), "6 runs   1 problem"),
            ((), "6 runs   runinspect"),
        ):
            page.listed(replace(page._report, problems=problems))
            await settle(pilot)
            assert told in texts(app)[0]


async def test_a_list_of_runs_refreshes_itself_and_keeps_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Growing(ManyRuns):
        grown = False

        def refresh(self) -> bool:
            if self.grown:
                return False
            self.grown = True
            more = fakes.RunRow(id="r0", kind="agent", status="suspended", reason="input", started=fakes.at(9000))
            self._rows = (*self._rows, more)
            return True

    monkeypatch.setattr("inspector.tui.loader.PERIOD", 0.01)
    runs = Growing(SourceInfo(path="runs.db", format="x"), fakes.ROWS, lambda run_id: fakes.refund(id=run_id))
    runs.grown = True
    async with shown(monkeypatch, runs) as (app, pilot, _):
        page = app.screen
        assert isinstance(page, RunsPage)
        await press(pilot, "down")
        before = page._shown[page.rows.cursor].row.id
        runs.grown = False
        await until(pilot, lambda: len(page._shown) == 7)
        assert [page._shown[0].row.id, page._shown[page.rows.cursor].row.id] == ["r0", before]


async def test_the_run_that_was_asked_for_is_opened_without_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several(), run="r3", step=4) as (app, pilot, _):
        session = run_screen(app).session
        assert (session.facts.run.id, session.cursor) == ("r3", 4)  # type: ignore[union-attr]
        await press(pilot, "q")
        assert app.return_code == 0


async def test_what_is_typed_twice_takes_one_page_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several(), run="r99") as (app, pilot, _):
        await press(pilot, "question_mark")
        page = app.screen
        assert isinstance(page, Page)
        page.dismiss(None)
        page.dismiss(None)
        await settle(pilot)
        assert isinstance(app.screen, ErrorPage)
        app.desk.palette()
        palette = app.screen
        assert isinstance(palette, Palette)
        await pilot.pause()
        for _ in range(3):
            palette.prompt.post_message(Prompt.Left("palette"))
        await settle(pilot)
        assert isinstance(app.screen, ErrorPage)


async def test_keys_behind_the_one_that_leaves_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        page = Page("asks")
        app.push_screen(page)
        await pilot.pause()
        app.exit()
        page.prompt.ask("search", "find:")
        run_screen(app).prompt.ask("search", "find:")
        await pilot.pause()
    assert app.return_code == 0
    assert app.defect is None


async def test_a_page_that_leaves_takes_along_what_covers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        below, above = Page("below"), Page("above")
        answers: list[object] = []
        app.push_screen(below, answers.append)
        app.push_screen(above, answers.append)
        await pilot.pause()
        below.dismiss(None)
        assert app.screen is above
        below.leave()
        await pilot.pause()
        assert app.screen is run_screen(app)
        assert answers == [None]


async def test_an_unknown_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.several(), run="r99") as (app, pilot, _):
        assert isinstance(app.screen, ErrorPage)
        await press(pilot, "q")
        assert app.return_code == 2


async def test_what_cannot_be_opened_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str, format: str | None = None) -> RunSet:
        raise UnreadableError(
            path, "JSON of no known kind (an object with the keys a, b); `runinspect formats` lists it"
        )

    app = app_for(monkeypatch, fakes.one(), "some/file.json")
    monkeypatch.setattr("inspector.formats.open_path", fail)
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        painted = "\n".join(texts(app))
        for words in ("JSON of no known kind", "some/file.json", "`runinspect formats` lists it"):
            assert words in painted
        await press(pilot, "escape")
        assert app.is_running
        await press(pilot, "q")
    assert app.return_code == 2
    assert app.error is not None


async def test_the_first_paint_does_not_wait_for_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    app = app_for(monkeypatch, fakes.one(), "slow/file", gate)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause(0.1)
        assert isinstance(app.screen, OpeningScreen)
        assert "opening slow/file" in "\n".join(texts(app))
        await pilot.press("question_mark", "escape")
        gate.set()
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)


async def test_a_long_run_shows_its_head_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    run = fakes.Long(1_000_000, batch=100_000, gate=gate)
    app = app_for(monkeypatch, OneRun(run, "x"))
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: app.desk and app.desk.run and any("call 1 " in line for line in texts(app)))
        assert len(run) < run.length, "the head stands there before the end is known"
        await pilot.press("down", "down")
        gate.set()
        await until(pilot, lambda: run_screen(app).session.facts.done)
        assert run_screen(app).session.cursor == 2
        await pilot.press("end")
        await until(pilot, lambda: any("call 1000000 " in line for line in texts(app)))
        assert run_screen(app).session.cursor == 1_000_000
        assert any("call 1000000 " in line for line in texts(app))


async def test_a_cursor_move_draws_two_rows_and_decodes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    run = fakes.Long(500)
    async with shown(monkeypatch, OneRun(run, "x"), NARROW) as (app, pilot, _):
        timeline = run_screen(app).timeline
        await press(pilot, "up", "up")
        for key in ("up", "down", "up"):
            built, made = timeline.built, run.made
            await press(pilot, key)
            assert (timeline.built - built, run.made - made) == (2, 0)


async def test_a_paint_decodes_no_more_than_what_came_into_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    run = fakes.Long(5000)
    async with shown(monkeypatch, OneRun(run, "x"), NARROW) as (app, pilot, _):
        timeline = run_screen(app).timeline
        height = timeline.size.height
        made = run.made
        asked: list[tuple[int, int]] = []
        fetch = app.desk.loader.rows
        monkeypatch.setattr(app.desk.loader, "rows", lambda ranges: (asked.extend(ranges), fetch(ranges)))
        await press(pilot, "g", *"2500", "enter")
        assert sum(stop - start for start, stop in asked) <= height
        # One more for the time since the step before; a screen above and below is fetched when all is quiet.
        assert run.made - made <= 3 * height + 6
        assert not any("…" in line[:20] for line in texts(app)[2:20])


async def test_a_hidden_file_name_and_error_reach_the_screen_as_escapes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(path: str, format: str | None = None) -> RunSet:
        raise UnreadableError("a\x1b]0;owned\x07b", "[/red] \x9b2J \u202e")

    app = app_for(monkeypatch, fakes.one(), "a\x1b]0;owned\x07b")
    monkeypatch.setattr("inspector.formats.open_path", fail)
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        painted = "\n".join(texts(app))
        assert "\\u001b]0;owned" in painted
        assert "[/red] \\u009b2J \\u202e" in painted


async def test_the_cursor_stays_in_sight_when_the_room_shrinks(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [fakes.a_step(seq, "node", f"step {seq}") for seq in range(1, 25)]
    for runs in (OneRun(fakes.refund((), steps), "x"), OneRun(fakes.refund((), steps, status="failed"), "x")):
        async with shown(monkeypatch, runs, (120, 30)) as (app, pilot, _):
            timeline = run_screen(app).timeline
            assert timeline.cursor in timeline.in_sight
            await pilot.resize_terminal(120, 12)
            await settle(pilot)
            assert timeline.cursor in timeline.in_sight
            assert any(line.startswith(">24") for line in texts(app))


async def test_a_run_of_a_list_that_cannot_be_opened_leaves_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run_id: str) -> RunSource:
        raise UnreadableError(f"runs.db: {run_id}", "holds no JSON")

    runs = ManyRuns(SourceInfo(path="runs.db", format="x"), fakes.ROWS, fail)
    async with shown(monkeypatch, runs) as (app, pilot, _):
        await press(pilot, "enter")
        assert isinstance(app.screen, RunsPage)
        assert "runs.db: r6: holds no JSON" in told(app)
        await press(pilot, "q")
        assert app.return_code == 0


async def test_a_state_that_cannot_be_read_is_told_and_the_rest_works(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(fakes.Long):
        def state(self, step: int) -> State | None:
            if step == 3:
                raise UnreadableError("x", "cannot be read")
            return super().state(step)

    async with shown(monkeypatch, OneRun(Broken(5), "x")) as (app, pilot, _):
        await press(pilot, "up")
        assert run_screen(app).session.state().state is not None, "the step behind it can be read"  # type: ignore[union-attr]
        await press(pilot, "up")
        assert "x: cannot be read" in told(app)
        assert "cannot tell the state after step 3" in "\n".join(texts(app))
        await press(pilot, "up", "up")
        assert run_screen(app).session.state().state is not None  # type: ignore[union-attr]


async def test_the_timeline_comes_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one(), NARROW) as (app, pilot, _):
        before = texts(app)
        await press(pilot, "tab", "left", "right", "tab")
        assert texts(app) == before


async def test_what_is_reported_while_the_app_ends_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    async with shown(monkeypatch, fakes.one()) as (app, _, _):
        late = Fetched(rows(fakes.refund(), Nesting(fakes.refund()), [(1, 9)]))
        prune = app._prune

        async def prune_and_report(*nodes: Any, **options: Any) -> None:
            await prune(*nodes, **options)
            taken.append(app.post_message(app.Reported(app.desk, late)))
            await asyncio.sleep(0.05)

        monkeypatch.setattr(app, "_prune", prune_and_report)
    assert True in taken
    assert app.defect is None
