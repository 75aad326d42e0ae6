"""What is decided about calls: what counts as an edit, where the cursor goes, what the key to run says it will do."""

import json
import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inspector.formats import tracerun
from inspector.resume.apps import load
from inspector.resume.jobs import check, open_job
from inspector.resume.steering import Steering, read_break
from inspector.runner.claims import Claims
from inspector.tui import loader
from inspector.tui.driving import Resumption, Said
from inspector.tui.line import text_of
from inspector.tui.live import Live
from inspector.tui.outputpage import OutputPage
from inspector.tui.reports import Part
from inspector.tui.runscreen import RunScreen
from tests.tui.resuming import asking, ended, gate, opened, planned, two
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
        assert "r goes on" not in "\n".join(texts(app)), "it does not"


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


READY = '''
from inspector import Agent, Call, ScriptedModel, tool

@tool
def pay(order: str, amount: int) -> str:
    """Pay."""
    return f"paid {amount} for {order}"

@tool
def other() -> str:
    """Another."""

script = ScriptedModel([Call("pay", {"order": "A-1", "amount": 5})], "Done.")
agent = Agent("shop", model=script, tools=[pay])
'''


@pytest.mark.parametrize("how", ["deny", "answer", "edit"])
async def test_a_call_that_cannot_run_as_it_is_can_be_decided_about(how: str, tmp_path: Path) -> None:
    file = tmp_path / "ready_app.py"
    file.write_text(READY)
    path = str(tmp_path / "ready.jsonl")
    control = Steering(lambda event: None, [read_break("tool:pay")], stops=True)
    with ThreadPoolExecutor(1) as pool:
        going = load(f"{file}:agent").value.prompt("Go.").control(control)
        assert pool.submit(lambda: going.run_sync(trace=path)).result().status == "suspended"
    change = ("amount: int", "amount: str") if how == "edit" else ("tools=[pay]", "tools=[other]")
    file.write_text(READY.replace(*change))
    async with opened(path, f"{file}:agent") as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert page.need is not None
        assert page.need.question == "mend"
        assert "refused" in texts(app)[1]
        assert not page.deciding.owed()
        if how == "deny":
            await press(pilot, "x", *"gone", "enter")
        elif how == "answer":
            await press(pilot, "i", *"by hand", "enter")
        else:
            await press(pilot, "e", "ctrl+u", Pasted('{"order": "A-1", "amount": "6"}'), "enter")
        page = await planned(app, pilot)
        while page.deciding.unaccepted():
            await press(pilot, "c")
            await planned(app, pilot)
        word = {"deny": "denied: gone", "answer": 'answered: "by hand"', "edit": "runs with these arguments"}[how]
        assert any(word in row for row in row_texts(page.rows))
        await press(pilot, "r")
        await ended(app, pilot, "completed")


async def test_what_was_decided_stays_also_where_the_run_was_shorter_when_the_plan_was_made(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        run_screen(app)._kept = run_screen(app).session.last - 1, page.deciding  # as it was when it came
        await press(pilot, "a")
        await planned(app, pilot)
        await press(pilot, "q", "r")
        page = await planned(app, pilot)
        assert page.deciding.decisions.approve == ("c1",)


async def test_of_a_run_that_did_not_begin_nothing_is_told_beside_its_plan(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        await press(pilot, "a", "down", "down", "a")
        page = await planned(app, pilot)
        file = Path(target.rpartition(":")[0])
        file.write_text(file.read_text().replace("amount: int", "amount: str"))
        await press(pilot, "r")
        await until(pilot, lambda: not page.starting and page.deciding.plan and page.deciding.plan.refusals)
        await press(pilot, "q")
        assert not any(row.startswith(" ended:") for row in texts(app))


def test_the_end_of_what_a_model_says_is_in_sight() -> None:
    live = Live(Resumption(lambda told: None, Part("x"), target="app.py:agent"))
    live.resumption.close()
    live.take(Said("word " * 60 + "the end"))
    for width in (60, 80, 200):
        told = text_of(live.line(width))
        assert told.endswith("the end")
        assert len(told) <= width


def test_what_is_under_way_elsewhere_is_told_with_its_key_where_it_is_taken_over(tmp_path: Path) -> None:
    """Its journal says so also while its process is still there."""
    text = Path("examples/refund-killed.jsonl").read_text()
    header, rest = text.split("\n", 1)
    record = json.loads(header)
    record["started"] = datetime.now(UTC).isoformat()
    record["program"] |= {"pid": os.getpid(), "host": socket.gethostname()}
    path = tmp_path / "driven.jsonl"
    path.write_text(json.dumps(record, separators=(",", ":")) + "\n" + rest)
    job = open_job(str(path), load(AGENT))
    state = job.source.state(job.step)
    assert state is not None
    assert [row.status for row in state.pending or ()][-1] == "in_flight"
    (need,) = check(job).needs
    assert "idempotency key refund-killed:" in (need.detail or "")


async def test_a_question_that_is_denied_stays_in_the_plan(tmp_path: Path) -> None:
    path, target = asking(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "x", *"nobody knows", "enter")
        await planned(app, pilot)
        assert any("denied: nobody knows" in row for row in row_texts(page.rows))
        assert "0 owed" in "\n".join(row_texts(page.rows))
        await press(pilot, "i", *"the red one", "enter")
        await planned(app, pilot)
        assert any('answered: "the red one"' in row for row in row_texts(page.rows))
        assert not page.deciding.decisions.deny


async def test_a_run_whose_process_is_gone_is_not_shown_as_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, alive = str(shutil.copy("examples/refund-killed.jsonl", tmp_path)), [True]
    monkeypatch.setattr(tracerun, "lives", lambda *of: alive[0])
    async with opened(path, None) as (app, pilot):
        assert "running" in texts(app)[0]
        alive[0] = False
        run_screen(app).named(AGENT)
        await until(pilot, lambda: "interrupted" in texts(app)[0])


@pytest.mark.parametrize(
    ("down", "text", "word", "status"),
    [
        (1, None, "runs once more", "completed"),
        (2, "by hand", 'has this result: "by hand"', "completed"),
        (3, "no network", 'failed: "no network"', "failed"),
        (4, None, "the run is given up", "failed"),
        (5, None, "stays open", "suspended"),
    ],
)
async def test_a_model_call_without_its_answer_is_decided_about(
    tmp_path: Path, down: int, text: str | None, word: str, status: str
) -> None:
    path = str(shutil.copy("tests/runner/data/rig_awaiting.json", tmp_path))
    file = tmp_path / "sent_app.py"
    file.write_text("from inspector import Agent, ScriptedModel\nagent = Agent('a', ScriptedModel('Sent again.'))\n")
    async with opened(path, f"{file}:agent") as (app, pilot):
        await until(pilot, lambda: "can be resumed" in texts(app)[1])
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert "1 decision owed: model" in texts(app)[1]
        assert not any("would run" in row for row in row_texts(page.rows))
        await press(pilot, "enter", *["down"] * down, "enter")
        if text is not None:
            await press(pilot, *text, "enter")
        page = await planned(app, pilot)
        assert any(word in row for row in row_texts(page.rows))
        assert ("nothing runs" in texts(app)[1]) == (status == "failed")
        await press(pilot, "r")
        await ended(app, pilot, status)
        live = run_screen(app).shows
        assert live is not None
        assert live.trace is not None
        records = [json.loads(line) for line in Path(live.trace).read_text().splitlines()]
        (made,) = [record for record in records if record["record"] == "decision"]
        assert (made["what"], made["subject"]) == ("reconcile", "model")
        assert live.ended is not None
        assert live.ended.output == {1: "Sent again.", 2: "by hand"}.get(down)


async def test_the_steps_of_a_run_that_is_driven_come_with_the_line_that_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[loader.Loader] = []
    look = loader.Loader.look_soon
    monkeypatch.setattr(loader.Loader, "look_soon", lambda self: looked.append(self) or look(self))
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        await press(pilot, "a", "down", "down", "a")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        assert any("All done." in row for row in texts(app)[2:-4]), "the last step is in the timeline"
        assert run_screen(app).loader in looked


async def test_a_run_is_taken_over_while_something_is_under_way_there(tmp_path: Path) -> None:
    path = shutil.copy("examples/refund-killed.jsonl", tmp_path)
    held = Claims().take("refund-killed")
    async with opened(str(path), AGENT) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "K", *"it hangs", "enter")
        await planned(app, pilot)
        assert page.deciding.owed()
        assert "takes the run over: what is under way there waits" in texts(app)[1]
        await press(pilot, "r")
        await until(pilot, lambda: not Claims().holds(held) and "decision owed" in texts(app)[1])
