"""Values of a state edited on the screen: what is asked, the plan with it, the run that goes on with it."""

import contextlib
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from inspector.tui.app import Inspector
from inspector.tui.asking import Choice, TextPage
from inspector.tui.resumescreen import ResumePage
from inspector.tui.viewer import Viewer
from tests.tui.resuming import ended, gate, opened, planned, two
from tests.tui.screens import Pasted, press, row_texts, run_screen, settle, texts, until

REVIEW = "examples/review-failed.jsonl"
NET = "examples/review_pipeline.py:net"
TOKEN = "queues.in.paper-->split.paper[0]"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def decisions(trace: str) -> list[dict[str, object]]:
    records = [json.loads(line) for line in Path(trace).read_text().splitlines()]
    return [record for record in records if record["record"] == "decision" and record["what"] != "accept"]


async def to_place(app: Inspector, pilot: Pilot[object], tab: str, place: str) -> None:
    """Stand on a row of the state that can be edited."""
    screen = run_screen(app)
    await press(pilot, *(["tab"] if screen.timeline.has_focus else []), tab)
    await settle(pilot)
    rows = screen.pane.rows
    for at in range(len(rows.lines)):
        opens = rows.lines[at].opens
        if opens is not None and opens.place == place:
            rows.move(at)
            await pilot.pause()
            return
    raise AssertionError(f"{place} is not here: {row_texts(rows)}")


async def go(app: Inspector, pilot: Pilot[object], step: int) -> None:
    await press(pilot, "g", *str(step), "enter")
    await settle(pilot)
    assert run_screen(app).session.cursor == step


async def retype(pilot: Pilot[object], text: str) -> None:
    await press(pilot, "ctrl+u", Pasted(text), "enter")


async def test_a_token_and_a_context_value_are_edited_for_a_fork(tmp_path: Path) -> None:
    async with opened(REVIEW, NET, size=(110, 40)) as (app, pilot):
        await go(app, pilot, 10)
        await to_place(app, pilot, "2", TOKEN)
        await press(pilot, "e")
        assert isinstance(app.screen, TextPage)
        assert any("The run goes on from after this step" in row for row in texts(app))
        await retype(pilot, '"new walls"')
        page = await planned(app, pilot)
        shown = "\n".join(row_texts(page.rows))
        assert f"~ edited  {TOKEN}" in shown
        assert 'now  "new walls"' in shown
        assert page.deciding.plan is not None
        assert [edit.path for edit in page.deciding.plan.edits] == [TOKEN]
        await press(pilot, "q")
        await to_place(app, pilot, "5", "values.polished")
        await press(pilot, "e")
        await retype(pilot, "[5]")
        page = await planned(app, pilot)
        assert [edit.path for edit in page.deciding.plan.edits] == [TOKEN, "values.polished"]  # type: ignore[union-attr]
        page.rows.move(next(at for at, row in enumerate(page._rows) if row.edit == TOKEN))
        await press(pilot, "w", *"a typo", "enter")
        page = await planned(app, pilot)
        assert "because: a typo" in "\n".join(row_texts(page.rows))
        while waiting := page.deciding.plan.unaccepted(page.deciding.decisions.accept):  # type: ignore[union-attr]
            page.rows.move(next(at for at, row in enumerate(page._rows) if row.code == waiting[0].code))
            await press(pilot, "c")
            await planned(app, pilot)
        assert "with 2 edits" in texts(app)[1]
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        live = run_screen(app).shows
        assert live is not None
        assert live.trace is not None
        assert [(made["what"], made["subject"], made.get("reason")) for made in decisions(live.trace)] == [
            ("edit", TOKEN, "a typo"),
            ("edit", "values.polished", None),
        ]


async def test_what_does_not_fit_is_refused_edited_again_and_taken_back() -> None:
    async with opened(REVIEW, NET, size=(110, 40)) as (app, pilot):
        await go(app, pilot, 10)
        await to_place(app, pilot, "2", "queues.spelling.out-->editor.words[0]")
        await press(pilot, "enter")
        assert isinstance(app.screen, Viewer)
        await press(pilot, "e")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        await retype(pilot, '{"words": ')
        assert isinstance(app.screen, TextPage), "what is no JSON is not taken"
        await retype(pilot, "[1]")
        page = await planned(app, pilot)
        assert "refused: edit_invalid" in texts(app)[1]
        assert any("takes dict" in row for row in row_texts(page.rows))
        page.rows.move(next(at for at, row in enumerate(page._rows) if row.edit))
        await press(pilot, "enter")
        assert isinstance(app.screen, Choice)
        await press(pilot, "escape", "e")
        await retype(pilot, '{"words": 3}')
        page = await planned(app, pilot)
        assert "refused" not in texts(app)[1]
        page.rows.move(next(at for at, row in enumerate(page._rows) if row.edit))
        assert "deny" not in texts(app)[-1], "there is no call"
        await press(pilot, "x")
        page = await planned(app, pilot)
        assert page.deciding.decisions.edits == {}
        assert not any(row.edit for row in page._rows)


async def test_a_message_in_an_editor_and_the_arguments_of_an_open_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "two\\nlines\\n" > "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    async with opened(path, target, size=(110, 40)) as (app, pilot):
        monkeypatch.setattr(app, "suspend", contextlib.nullcontext)  # a test has no terminal to leave
        await to_place(app, pilot, "4", "messages[0].text")
        await press(pilot, "E")
        page = await planned(app, pilot)
        assert page.deciding.decisions.edits == {"messages[0].text": "two\nlines"}
        await press(pilot, "q")
        await to_place(app, pilot, "1", "pending.1.1.arguments")
        await press(pilot, "e")
        await retype(pilot, '{"order": "A-1", "amount": 1}')
        page = await planned(app, pilot)
        assert page.deciding.decisions.arguments == {"c1": {"order": "A-1", "amount": 1}}
        assert list(page.deciding.decisions.edits) == ["messages[0].text"]


async def test_where_nothing_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(REVIEW, NET) as (app, pilot):
        await press(pilot, "e")
        assert "Tab goes to the state" in "".join(texts(app)[-4:])
        await press(pilot, "tab", "6", "e")
        assert "e edits the token" in "".join(texts(app)[-4:])
        assert "Tab goes" not in "".join(texts(app)[-4:])
    async with opened(REVIEW, NET, read_only=True) as (app, pilot):
        await to_place(app, pilot, "2", "queues.sections.item-->sections/polish.section[0]")
        await press(pilot, "e")
        assert "read-only" in texts(app)[-1]
        await press(pilot, "enter", "e")
        await until(pilot, lambda: "read-only" in texts(app)[-1])
        assert not isinstance(app.screen, ResumePage)


async def test_a_run_of_wfpy_says_by_name_that_nothing_of_it_is_edited() -> None:
    async with opened("examples/wfpy-failed", None, size=(110, 40)) as (app, pilot):
        rows = run_screen(app).pane.rows
        await press(pilot, "tab", "2")
        await settle(pilot)
        at = next(at for at in range(len(rows.lines)) if (opens := rows.lines[at].opens) and opens.place)
        rows.move(at)
        await press(pilot, "e")
        assert "the driver wfpy" in texts(app)[-1]


async def test_what_holds_a_credential_is_shown_before_it_is_edited(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    file = Path(path)
    file.write_text(file.read_text().replace("Go.", "Bearer abcdefghijklmnopqrstuvwxyz012345"))
    async with opened(path, target, size=(110, 40)) as (app, pilot):
        await to_place(app, pilot, "4", "messages[0].text")
        await press(pilot, "e")
        assert "V shows it" in texts(app)[-1]
        await press(pilot, "V", "e")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        await press(pilot, "escape", "V")


@pytest.mark.parametrize("editor", ["/nowhere/editor", " ", "unfinished 'quote"])
async def test_an_editor_that_does_not_start_leads_back_to_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    path, target = two(tmp_path)
    monkeypatch.setenv("EDITOR", editor)
    monkeypatch.delenv("VISUAL", raising=False)
    back: list[bool] = []

    @contextlib.contextmanager
    def suspended() -> Iterator[None]:
        yield  # as Textual's: what is raised in it leaves the terminal as it is then
        back.append(True)

    async with opened(path, target, size=(110, 40)) as (app, pilot):
        monkeypatch.setattr(app, "suspend", suspended)
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "E")
        assert back == [True]
        assert "the editor did not start" in texts(app)[-1]
        assert page.deciding.decisions.arguments == {}


async def test_what_an_editor_left_that_is_no_json_is_mended_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = two(tmp_path)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf \'{"order": "A-9",\\n "amount": 1\\n\' > "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    async with opened(path, target, size=(110, 40)) as (app, pilot):
        monkeypatch.setattr(app, "suspend", contextlib.nullcontext)
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "E")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        assert any("this is no JSON" in row for row in texts(app))
        await press(pilot, "}", "enter")
        await planned(app, pilot)
        assert page.deciding.decisions.arguments == {"c1": {"order": "A-9", "amount": 1}}
