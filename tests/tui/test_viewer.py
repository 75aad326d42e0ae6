"""A value full-screen: folding, searching, and the three ways out of the screen."""

import asyncio
import base64
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from inspector.model.values import Number
from inspector.tui.bars import Bar, Footer
from inspector.tui.line import Opens
from inspector.tui.panes.treeview import TreeView
from inspector.tui.viewer import LARGE, Viewer, as_text, file_name, is_large, made, parsed
from tests.tui.screens import row_texts
from tests.tui.test_state_pictures import Opened


def viewer(pilot: Pilot[None]) -> Viewer:
    assert isinstance(pilot.app.screen, Viewer)
    return pilot.app.screen


def told(pilot: Pilot[None]) -> str:
    return "".join(span.text for line in pilot.app.screen.query_one(Footer).lines() for span in line.spans)


@pytest.fixture(params=[LARGE, 0], ids=["", "large"], autouse=True)
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test once more with values that are made ready aside."""
    monkeypatch.setattr("inspector.tui.viewer.LARGE", request.param)


async def shown(pilot: Pilot[None]) -> None:
    # From the key to the prompt, from the prompt to the viewer, from there to a search: messages all of them.
    for _ in range(3):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def keys(pilot: Pilot[None], *pressed: str) -> None:
    await pilot.press(*pressed)
    await shown(pilot)


async def test_a_tree_folds_and_its_parts_open() -> None:
    value = {"order": {"id": "J-1", "pages": [1, 2]}, "note": "x" * 500}
    async with Opened(Opens("c2", value)).run_test(size=(60, 20)) as pilot:
        await shown(pilot)
        rows = viewer(pilot).rows
        assert row_texts(rows)[0] == "▾ order: {2}"
        await keys(pilot, "left")
        assert row_texts(rows)[0].startswith("▸ order")
        await keys(pilot, "right")
        assert row_texts(rows)[1].strip() == 'id: "J-1"'
        await keys(pilot, "down", "left")
        assert rows.cursor == 0, "from a part to what it is in"
        await keys(pilot, "enter")
        assert row_texts(rows)[0].startswith("▸ order")
        await keys(pilot, "a")
        assert len(row_texts(rows)) == 6
        await keys(pilot, "end", "enter")
        assert viewer(pilot).text() == "x" * 500


async def test_a_text_is_searched_wrapped_and_seen_as_a_tree() -> None:
    text = json.dumps({"a": ["needle", 1.50], "b": "needle " * 30})
    async with Opened(Opens("raw", text)).run_test(size=(60, 20)) as pilot:
        await shown(pilot)
        rows = viewer(pilot).rows
        assert len(rows.lines) > 1
        await keys(pilot, "slash", *"needle", "enter")
        assert rows.cursor == 0
        await keys(pilot, "n", "n", "n", "n", "n", "n", "n", "n")
        assert rows.cursor > 0
        await keys(pilot, "N")
        await keys(pilot, "w")
        assert len(rows.lines) == 1
        await keys(pilot, "t")
        assert row_texts(rows)[0] == "▾ a: [2]"
        await keys(pilot, "t", "slash", "ctrl+u", *"nowhere", "enter")
        assert "'nowhere' does not stand here" in told(pilot)


async def test_only_the_form_that_is_looked_at_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr("inspector.tui.viewer.as_text", lambda value: made.append(value) or as_text(value))
    async with Opened(Opens("v", list(range(1000)))).run_test(size=(60, 20)) as pilot:
        assert not made
        await keys(pilot, "t")
        assert len(made) == 1
        await keys(pilot, "t", "t")
        assert len(made) == 1, "and is kept"


@pytest.mark.parametrize("large", [0], indirect=True)
async def test_keys_work_while_a_large_value_is_made_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    monkeypatch.setattr("inspector.tui.viewer.made", lambda *given: held.wait() and made(*given))
    async with Opened(Opens("v", "a text")).run_test(size=(60, 20)) as pilot:
        await pilot.press("slash", "c", "t", "s", "w", "n", "a", "right", "down", "enter", "e")
        await pilot.pause()
        assert not viewer(pilot).prompt.display
        assert "getting it ready" in str(viewer(pilot).query_one("#heading", Bar).lines()[0])
        await pilot.resize_terminal(50, 20)
        held.set()
        await shown(pilot)
        assert row_texts(viewer(pilot).rows) == ["a text"]
        await keys(pilot, "slash", *"text", "enter")
        assert viewer(pilot)._found == "text"


@pytest.mark.parametrize("large", [0], indirect=True)
async def test_a_large_value_that_is_left_before_it_is_ready_comes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    monkeypatch.setattr("inspector.tui.viewer.made", lambda *given: held.wait() and made(*given))
    async with Opened(Opens("v", "a text")).run_test(size=(60, 20)) as pilot:
        left = viewer(pilot)
        left.back()
        await pilot.pause()
        held.set()
        await shown(pilot)
        assert not left.is_active


def aside_held(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """What is done aside is done, and told of when the event is set."""
    told = asyncio.Event()

    async def held(work: Callable[[], object], **how: bool) -> object:
        done = work()
        await told.wait()
        return done

    monkeypatch.setattr("inspector.tui.viewer.aside", held)
    return told


@pytest.mark.parametrize("large", [0], indirect=True)
async def test_rows_change_only_when_they_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Opened(Opens("v", "word " * 200)).run_test(size=(60, 20)) as pilot:
        await shown(pilot)
        told = aside_held(monkeypatch)
        before = len(viewer(pilot).rows.lines)
        await pilot.press("end", "w", "up")
        await pilot.pause()
        assert len(viewer(pilot).rows.lines) == before
        assert "not wrapped" not in viewer(pilot)._view.about()
        await pilot.press("w", "w")
        told.set()
        await shown(pilot)
        assert len(viewer(pilot).rows.lines) == 1


@pytest.mark.parametrize("large", [0], indirect=True)
async def test_keys_typed_ahead_do_what_they_do_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Opened(Opens("v", json.dumps(["needle"] * 4, indent=0))).run_test(size=(60, 20)) as pilot:
        await shown(pilot)
        await keys(pilot, "slash", *"needle", "enter", "home")
        told_of = aside_held(monkeypatch)
        await pilot.press("n", "n", "n")
        assert viewer(pilot).rows.cursor == 3
        await pilot.press("t", "t")
        await pilot.pause()
        told_of.set()
        await shown(pilot)
        assert row_texts(viewer(pilot).rows)[0].strip() == '0: "needle"'
        await keys(pilot, "t")
        assert row_texts(viewer(pilot).rows)[0] == "["


@pytest.mark.parametrize("large", [0], indirect=True)
async def test_a_search_in_a_tree_ends_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with Opened(Opens("v", {"a": "needle"})).run_test(size=(60, 20)) as pilot:
        await shown(pilot)
        told_of = aside_held(monkeypatch)
        await pilot.press("s", "enter")
        await pilot.pause()
        await pilot.press("slash", *"needle", "enter")
        await pilot.pause()
        told_of.set()
        await shown(pilot)
        assert "saved" in told(pilot)


@pytest.mark.parametrize("large", [LARGE], indirect=True)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x" * LARGE, True),
        ("x" * (LARGE - 1), False),
        ([{"a": 1}] * 10_000, True),
        ({"a": [["x" * 200_000], {"b": "x" * 200_000}]}, True),
        ([1] * 1000, False),
        (range(101), True),
        (range(100), False),
        (None, False),
    ],
)
def test_what_is_large(value: Any, expected: bool) -> None:
    assert is_large(value) is expected


async def test_a_tree_is_searched_and_unfolded() -> None:
    value = {"a": {"b": {"c": {"d": "needle"}}}, "needle": 1}
    async with Opened(Opens("v", value)).run_test(size=(60, 20)) as pilot:
        await shown(pilot)
        rows = viewer(pilot).rows
        await keys(pilot, "slash", *"needle", "enter")
        assert row_texts(rows)[rows.cursor].strip() == 'd: "needle"'
        await keys(pilot, "n")
        assert row_texts(rows)[rows.cursor].strip() == "needle: 1"
        await keys(pilot, "n")
        assert row_texts(rows)[rows.cursor].strip() == 'd: "needle"'
        await keys(pilot, "slash", "ctrl+u", *"nope", "enter")
        assert "does not stand here" in told(pilot)


async def test_keys_are_text_while_something_is_typed() -> None:
    async with Opened(Opens("v", "some text with csp in it")).run_test(size=(60, 20)) as pilot:
        await shown(pilot)
        await keys(pilot, "slash", *"csp", "enter")
        assert viewer(pilot)._found == "csp"
        await keys(pilot, "slash", "escape")
        assert viewer(pilot)._found == "csp"


async def test_copying_sends_what_a_terminal_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr("inspector.tui.viewer.send", lambda app, sequences: sent.append(sequences))
    monkeypatch.delenv("TMUX", raising=False)
    async with Opened(Opens("v", {"a": 1})).run_test(size=(70, 20)) as pilot:
        await shown(pilot)
        await keys(pilot, "c")
        assert base64.b64decode(sent[0][len("\x1b]52;c;") : -1]).decode() == '{\n  "a": 1\n}'
        assert "if they do not arrive: p prints, s saves" in told(pilot)
    async with Opened(Opens("v", "x" * 100_000)).run_test(size=(70, 20)) as pilot:
        await shown(pilot)
        await keys(pilot, "c")
        assert len(sent) == 1
        assert "too many for a terminal's clipboard" in told(pilot)


async def test_printing_where_there_is_no_terminal_says_so() -> None:
    async with Opened(Opens("v", "text")).run_test(size=(70, 20)) as pilot:
        await shown(pilot)
        await keys(pilot, "p")
        assert "s saves to a file" in told(pilot)


async def test_saving_asks_for_a_name_and_never_overwrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with Opened(Opens("message 3, tool/../x", "line\n")).run_test(size=(90, 20)) as pilot:
        await shown(pilot)
        await keys(pilot, "s", "enter")
        path = tmp_path / "message-3-tool-..-x.txt"
        assert path.read_text() == "line\n"
        assert f"saved {path}"[:60] in told(pilot)
        path.write_text("mine")
        await keys(pilot, "s", "enter")
        assert "there is such a file already" in told(pilot)
        assert path.read_text() == "mine"
        await keys(pilot, "s", "ctrl+u", *"no/where", "enter")
        assert "not saved" in told(pilot)
        await keys(pilot, "s", "ctrl+u", "enter")
        assert len(list(tmp_path.iterdir())) == 1


async def test_the_end_of_the_app_waits_for_a_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[bool] = []
    monkeypatch.setattr(
        "inspector.tui.clipboard.save", lambda *given: str(waits.append(not threading.current_thread().daemon))
    )
    async with Opened(Opens("v", "text")).run_test(size=(70, 20)) as pilot:
        await shown(pilot)
        await keys(pilot, "s", "enter")
    assert waits == [True]


async def test_hostile_texts_reach_no_markup_and_no_terminal() -> None:
    hostile = {"[bold]x[/]": "[@click=app.quit]q[/]", "esc": "\\u001b[2J", "many": ["[/]", "[sys:LOCK"]}
    async with Opened(Opens("[red]title[/] \x1b[2J", hostile)).run_test(size=(80, 20)) as pilot:
        await shown(pilot)
        painted = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        assert "[bold]x[/]" in painted
        assert "[red]title[/]" in painted
        assert "\x1b" not in painted


@pytest.mark.parametrize(
    "value",
    ["", {}, [], None, True, 0, Number("1e999"), "y" * 70_000, [[]] * 3],
    ids=["text", "object", "list", "null", "true", "zero", "number", "long", "lists"],
)
async def test_any_value_opens(value: Any) -> None:
    async with Opened(Opens("v", value)).run_test(size=(60, 12)) as pilot:
        await shown(pilot)
        await keys(pilot, "down", "right", "left", "t", "w", "a", "slash", "x", "enter", "n", "N", "enter", "end")
        assert isinstance(pilot.app, App)


async def test_a_deep_value_opens() -> None:
    value: Any = "bottom"
    for _ in range(950):
        value = {"in": value}
    async with Opened(Opens("v", value)).run_test(size=(60, 12)) as pilot:
        await shown(pilot)
        await keys(pilot, "slash", *"bottom", "enter")
        assert row_texts(viewer(pilot).rows)[-1].endswith('in: "bottom"')
        await keys(pilot, "t", "t")
        assert "bottom" in viewer(pilot).text()


def test_text_of_values() -> None:
    assert as_text("a\nb") == "a\nb"
    assert as_text({"a": [Number("1E+2"), None]}) == '{\n  "a": [\n    1E+2,\n    null\n  ]\n}'
    assert as_text(12345678901234567890123) == "12345678901234567890123"


def test_json_in_a_text_keeps_its_numbers_and_is_left_alone_when_odd() -> None:
    assert parsed('{"a": [1.50, 1E2]}') == {"a": [Number("1.50"), Number("1E2")]}
    assert parsed('{"esc": "\\u001b[2J"}') == {"esc": "\\u001b[2J"}
    for text in ('{"a": 1, "a": 2}', "[1", "12", '"x"', "{}", "[" * 100_000, "plain", ""):
        assert parsed(text) is None


def test_names_of_files() -> None:
    assert file_name("orders[3].id") == "orders-3-.id"
    assert file_name("///") == "value"
    assert file_name("line: a → b") == "line-a-b"


async def test_the_tree_of_a_lazy_sequence() -> None:
    async with Opened(Opens("q", ({"a": 1}, "b"))).run_test(size=(60, 12)) as pilot:
        await shown(pilot)
        assert isinstance(viewer(pilot)._view, TreeView)
        assert row_texts(viewer(pilot).rows)[0] == "▾ 0: {1}"
