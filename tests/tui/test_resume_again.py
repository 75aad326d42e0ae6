"""Plans that are made again, and what is said of a run that is driven here: while it goes on, and when one leaves."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inspector.resume.apps import load
from inspector.tui.asking import Choice, TextPage
from tests.tui.resuming import blocked, ended, gate, opened, planned
from tests.tui.screens import press, row_texts, run_screen, settle, texts, until

GONE = 4194305
"""The id of a process that no system has."""

PIPE = """
from inspector import Agent, Call, Network, ScriptedModel, actor, emit, tool

@actor(outputs=("ripe", "green"))
def sort(fruit: str):
    if BROKEN:
        raise ValueError("the belt stands still")
    return emit(ripe=fruit)

@actor
def label(fruit: str) -> str:
    return fruit.title()

@tool(idempotency="supported")
def weigh(fruit: str) -> int:
    return len(fruit)

BROKEN = False
net = Network("pipe")
sorting, labelling = net.add(sort), net.add(label)
net.connect(net.input("fruit"), sorting.fruit)
net.connect(sorting.ripe, labelling.fruit)
net.connect(sorting.green, net.output("green"))
taster = net.add(
    Agent("taster", ScriptedModel([Call("weigh", {"fruit": "fig"})], "It is fine."), tools=[weigh]), name="taster"
)
net.connect(labelling.out, taster.prompt)
net.connect(taster.answer, net.output("jars"))
"""


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def piped(folder: Path, *, killed: bool) -> tuple[str, Path]:
    """(the run of a network of which a firing failed, or was under way when its process was killed, its code)."""
    file, path = folder / "pipe_app.py", folder / "pipe.jsonl"
    file.write_text(PIPE.replace("BROKEN = False", "BROKEN = True"))
    with ThreadPoolExecutor(1) as pool:
        net = load(f"{file}:net").value
        result = pool.submit(lambda: net.run_sync({"fruit": ["fig", "pear"]}, trace=str(path))).result()
    assert result.status == "failed"
    if killed:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        begun = next(at for at, line in enumerate(lines) if line.get("status") == "started")
        lines[0]["program"]["pid"] = GONE
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines[: begun + 1]))
    file.write_text(PIPE)
    return str(path), file


async def test_a_refused_plan_is_made_again_when_the_code_is_mended(tmp_path: Path) -> None:
    path, file = piped(tmp_path, killed=False)
    file.write_text(PIPE.replace("net.add(label)", 'net.add(label, name="sticker")'))
    async with opened(path, f"{file}:net") as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        assert "refused: graph_changed" in texts(app)[1]
        file.write_text(PIPE)
        await until(pilot, lambda: texts(app)[1].startswith(" r runs sort"))
        assert "this is a new plan" in texts(app)[-1]


async def test_what_is_said_of_a_firing_that_may_have_happened(tmp_path: Path) -> None:
    path, file = piped(tmp_path, killed=True)
    async with opened(path, f"{file}:net") as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert texts(app)[1] == " 1 decision owed: sort#1"
        await press(pilot, "enter", "down", "down", "down", "enter")
        assert isinstance(app.screen, TextPage)
        assert "The firing is recorded as failed" in texts(app)[1], "there is no model to be told"
        await press(pilot, *"jam", "enter")
        await planned(app, pilot)
        assert texts(app)[1].startswith(" r carries out what was decided"), "nothing runs behind a failure"
        await press(pilot, "enter", "down", "down", "enter")
        assert any("by port" in row for row in texts(app))
        await press(pilot, "ctrl+u", *"5", "enter")
        await planned(app, pilot)
        assert "refused: arguments_invalid" in texts(app)[1]
        assert any("does not fit its" in row for row in texts(app))
        await press(pilot, "enter", "down", "enter")
        await planned(app, pilot)
        rows = texts(app)
        at = next(at for at, row in enumerate(rows) if "would run again" in row)
        assert "sort#1  may have happened before" in rows[at + 1]
        assert page.deciding.hindrance() is None


async def test_of_a_network_that_was_given_up_nothing_goes_on(tmp_path: Path) -> None:
    path, file = piped(tmp_path, killed=True)
    async with opened(path, f"{file}:net") as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "enter", *["down"] * 4, "enter")
        await planned(app, pilot)
        assert page.deciding.decisions.reconcile["sort#1"].how == "abort"
        await press(pilot, "r")
        await ended(app, pilot, "failed")
        assert "r goes on" not in "\n".join(texts(app))


async def test_steps_of_an_agent_in_a_firing_are_not_counted_as_steps_of_the_run(tmp_path: Path) -> None:
    path, file = piped(tmp_path, killed=False)
    async with opened(path, f"{file}:net") as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        live = run_screen(app).shows
        assert live is not None
        assert live.ended is not None
        assert live.steps == live.ended.ran == 6
        told = live.parting()
        assert told == f"{live.run}: completed; runinspect {live.trace} shows it", "where to find it, for who leaves"


async def test_a_run_that_was_stopped_says_how_to_go_on_and_no_more_that_it_is_being_stopped(tmp_path: Path) -> None:
    path, target = blocked(tmp_path)
    (tmp_path / "open").touch()
    async with opened(path, target, size=(120, 30)) as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("block started" in row for row in texts(app)))
        await press(pilot, "ctrl+c")
        assert "a second Ctrl-C" in texts(app)[-1]
        gate(tmp_path)
        await until(pilot, lambda: run_screen(app).shows and not run_screen(app).shows.driven)  # type: ignore[union-attr]
        await settle(pilot)
        assert "a second Ctrl-C" not in texts(app)[-1]


async def test_following_goes_to_the_last_step(tmp_path: Path) -> None:
    async with opened("examples/dataflow-trace.jsonl", None) as (app, pilot):
        session = run_screen(app).session
        await press(pilot, "home")
        assert session.cursor == 0
        await press(pilot, "F")
        assert session.cursor == session.last
        await press(pilot, "home", "F")
        assert session.cursor == 0, "no longer following"


async def test_a_question_says_which_key_answers_it(tmp_path: Path) -> None:
    path, file = piped(tmp_path, killed=False)
    async with opened(path, None) as (app, pilot):
        await press(pilot, "r", *f"{file}:net", "enter")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert texts(app)[-1].startswith(" Enter")


async def test_what_a_step_took_cannot_be_edited_and_that_is_said(tmp_path: Path) -> None:
    async with opened("examples/dataflow-trace.jsonl", None, size=(140, 40)) as (app, pilot):
        await press(pilot, "tab", "2")
        pane = run_screen(app).pane
        await until(pilot, lambda: len(pane.rows.lines) > 3)
        pane.rows.move(next(at for at, row in enumerate(row_texts(pane.rows)) if row.startswith("-")))
        await press(pilot, "e")
        assert "what a step took is gone" in texts(app)[-1]
