"""What is decided about calls: what counts as an edit, where the cursor goes, what the key to run says it will do."""

import shutil
from pathlib import Path

import pytest

from inspector.tui.outputpage import OutputPage
from inspector.tui.runscreen import RunScreen
from tests.tui.resuming import ended, gate, opened, planned, two
from tests.tui.screens import Pasted, press, row_texts, run_screen, texts, until

AGENT = "examples/refund_agent.py:agent"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


async def test_what_comes_back_as_it_was_is_no_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, target = two(tmp_path)
    monkeypatch.setenv("EDITOR", "true")
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        own = page.deciding.arguments("c1")
        await press(pilot, "e", "enter")
        assert page.deciding.decisions.arguments == {}
        await press(pilot, "e", "ctrl+u", Pasted('{"order": "A-1", "amount": 6}'), "enter")
        await planned(app, pilot)
        assert page.deciding.decisions.arguments == {"c1": {"order": "A-1", "amount": 6}}
        await press(pilot, "e", "ctrl+u", Pasted('{"order": "A-1", "amount": 5}'), "enter")
        await planned(app, pilot)
        assert page.deciding.decisions.arguments == {}
        assert page.deciding.arguments("c1") == own


async def test_what_is_wrong_with_a_text_is_told_to_its_end(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        await press(pilot, "e", "ctrl+u", Pasted('{"order": "A-1", amount: 6}'), "enter")
        assert "column 18" in " ".join(row.strip() for row in texts(app)), "where it is wrong is at its end"


async def test_the_key_to_run_goes_to_what_is_owed(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "a")
        await planned(app, pilot)
        await press(pilot, "end", "r")
        assert page.need is not None
        assert page.need.call_id == "c2"
        assert page._rows[page.rows.cursor].need is not None
        assert "1 decision owed: c2" in texts(app)[-1]


async def test_the_key_to_run_says_that_the_run_is_given_up(tmp_path: Path) -> None:
    path = str(shutil.copy("examples/refund-killed.jsonl", tmp_path))
    async with opened(path, AGENT) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "enter", *["down"] * 4, "enter")
        await planned(app, pilot)
        assert "gives up the whole run" in texts(app)[1]
        assert page.deciding.plan is not None
        assert (*page.deciding.plan.runs, *page.deciding.plan.runs_again) == ()
        await press(pilot, "r")
        await ended(app, pilot, "failed")
        assert "r goes on from there" not in "\n".join(texts(app)), "it does not"


async def test_the_output_of_a_run_is_there_also_when_it_waits_again_and_goes_on(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    file = Path(target.rpartition(":")[0])
    file.write_text(file.read_text().replace("@tool\nasync", "@tool(needs_approval=True)\nasync"))
    gate(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "c", "a", "down", "down", "a")
        await planned(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: app.desk and app.desk.parent)
        again = await planned(app, pilot)
        assert again is not page
        await press(pilot, "O")
        assert isinstance(app.screen, OutputPage)
        assert row_texts(app.screen.rows) == [
            " imported",
            " paying A-1",
            " a child prints",
            " paying B-2",
            " a child prints",
            " imported",
        ]
        await press(pilot, "q", "a")
        await planned(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.desk and app.desk.parent.parent)  # type: ignore[union-attr]
        await ended(app, pilot, "completed")
        await press(pilot, "O")
        assert " paying A-1" in row_texts(app.screen.rows)  # type: ignore[attr-defined]
        await press(pilot, "q", "q", "q")
        assert run_screen(app).shows is None
        await until(pilot, lambda: any("already_resumed" in row for row in texts(app)[:3]))
