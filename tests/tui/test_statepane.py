"""Keys of the state pane, and what stays while one steps."""

import msgspec
import pytest
from textual.pilot import Pilot

from inspector.tui.line import text_of
from inspector.tui.statepane import StatePane, tab_line, tabs
from inspector.tui.viewer import Viewer
from tests.tui import fakes, states
from tests.tui.screens import NARROW, press, row_texts, run_screen, shown, texts
from tests.tui.test_state_pictures import Pane


def pane_of(pilot: Pilot[None]) -> StatePane:
    return pilot.app.query_one(StatePane)


async def test_number_keys_open_tabs_from_either_half(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        pane = run_screen(app).pane
        for number, tab in enumerate(tabs(), 1):
            await press(pilot, str(number))
            assert pane.tab == number - 1
            assert f"[{tab.name}" in "\n".join(texts(app))
        await press(pilot, "full_stop")
        assert pane.tab == 0
        await press(pilot, "comma", "H")
        assert pane.tab == 5
        await press(pilot, "tab", "L", "L", "L")
        assert pane.tab == 1


async def test_on_a_narrow_screen_a_tabs_key_turns_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one(), NARROW) as (app, pilot, _):
        assert "[Messages" not in "\n".join(texts(app))
        await press(pilot, "4")
        assert "[Messages" in "\n".join(texts(app))
        await press(pilot, "left")
        assert "step 8/9" in texts(app)[0]
        assert "[Messages" in "\n".join(texts(app))
        await press(pilot, "escape")
        assert "[Messages" not in "\n".join(texts(app))


async def test_enter_opens_what_the_row_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        await press(pilot, "tab", "1", "down", "enter")
        assert isinstance(app.screen, Viewer)
        assert "lookup_order c1" in texts(app)[0]
        await press(pilot, "q")
        assert app.screen is run_screen(app)
        await press(pilot, "home", "enter")
        assert app.screen is run_screen(app), "a heading opens nothing"


async def test_the_first_tab_is_one_with_something_in_it() -> None:
    for fields, name in (
        ({}, "Pending"),
        ({"pending": ()}, "Queues"),
        ({"pending": (), "queues": None}, "Messages"),
        ({"pending": None, "queues": (), "messages": ()}, "Values"),
        ({"pending": None, "queues": None, "messages": None, "values": None, "actors": None}, "Graph"),
    ):
        state = msgspec.structs.replace(states.AFTER, **fields)
        app = Pane(states.UNKNOWN, 1)
        async with app.run_test(size=(80, 20)) as pilot:
            pane = pane_of(pilot)
            pane._chosen = False
            pane.show(msgspec.structs.replace(states.EVERYTHING, state=state))
            assert tabs()[pane.tab].name == name


async def test_tab_fold_and_row_stay_from_step_to_step() -> None:
    app = Pane(states.EVERYTHING, 5)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        pane = pane_of(pilot)
        pane.rows.move(3)
        row = next(at for at, text in enumerate(row_texts(pane.rows)) if "notes" in text)
        pane.rows.move(row)
        pane.fold()
        assert "▸ notes" in row_texts(pane.rows)[row]
        pane.show(msgspec.structs.replace(states.EVERYTHING, step=13))
        assert "▸ notes" in row_texts(pane.rows)[row]
        assert pane.rows.cursor == row
        pane.open_tab(1)
        pane.open_tab(5)
        assert pane.rows.cursor == row


async def test_the_newest_message_stays_in_sight_unless_one_looks_elsewhere() -> None:
    short = msgspec.structs.replace(states.EVERYTHING, state=states.BEFORE, before=None)
    app = Pane(short, 4)
    async with app.run_test(size=(80, 8)) as pilot:
        await pilot.pause()
        pane = pane_of(pilot)
        assert pane.rows.cursor == len(pane.rows.lines) - 1
        pane.show(states.EVERYTHING)
        assert pane.rows.cursor == len(pane.rows.lines) - 1
        pane.rows.move(2)
        pane.show(short)
        assert pane.rows.cursor == 2


async def test_the_graphs_form_is_changed_by_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Pane(states.EVERYTHING, 1)
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        pane = pane_of(pilot)
        pane.open_tab(6)
        assert any("┌" in text for text in row_texts(pane.rows))
        pane.change_form()
        assert not any("┌" in text for text in row_texts(pane.rows))
        row = next(at for at, text in enumerate(row_texts(pane.rows)) if "▾ line" in text)
        pane.rows.move(row)
        pane.fold()
        assert "▸ line" in row_texts(pane.rows)[row]
        pane.open_tab(1)
        pane.change_form()
        assert tabs()[pane.tab].name == "Graph"


async def test_another_width_makes_other_rows() -> None:
    app = Pane(states.EVERYTHING, 4)
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.pause()
        before = len(row_texts(pane_of(pilot).rows))
        await pilot.resize_terminal(50, 20)
        await pilot.pause()
        assert len(row_texts(pane_of(pilot).rows)) > before


def test_tabs_are_cut_where_there_is_no_room() -> None:
    names = [("Pending", "4"), ("Queues", "10"), ("Hooks", "-"), ("Messages", "99"), ("Raw", "")]
    assert text_of(tab_line(names, 0, 80)) == "[Pending 4] Queues 10  Hooks -  Messages 99  Raw "
    assert text_of(tab_line(names, 3, 45)) == " Pend 4  Queu 10  Hook - [Messages 99] Raw "
