"""Resuming on the screen: the plan, what is decided, the run as it goes on, and how it is steered."""

import contextlib
import json
import os
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from inspector.model.run import Resume
from inspector.resume import jobs as resuming
from inspector.resume.apps import load
from inspector.resume.jobs import Driver, Ended, Plan, Refusal, check, open_job, resume, warn
from inspector.resume.plan import Decisions
from inspector.resume.sentences import SENTENCES
from inspector.resume.steering import Steering
from inspector.runner.claims import Claims, Successor
from inspector.store import open_store
from inspector.tui import apart, code, planlines, resumescreen, runresume
from inspector.tui.app import Inspector
from inspector.tui.asking import Choice, TextPage
from inspector.tui.driving import Planned, Resumption
from inspector.tui.outputpage import OutputPage
from inspector.tui.reports import Known
from inspector.tui.resumescreen import ResumePage
from inspector.tui.viewer import Viewer
from tests.tui.resuming import asking, blocked, ended, gate, lines_of, opened, plan_page, planned, two
from tests.tui.screens import Pasted, press, row_texts, run_screen, settle, texts, until

SUSPENDED = "examples/refund-suspended.jsonl"
AGENT = "examples/refund_agent.py:agent"
REVIEW = "examples/review_pipeline.py:net"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def on(page: ResumePage, call: str) -> None:
    """Put the cursor on a decision."""
    page.rows.move(next(at for at, row in enumerate(page._rows) if row.need and row.need.call_id == call))


async def approve_all(app: Inspector, pilot: Pilot[object]) -> ResumePage:
    """Approve what waits for it."""
    page = await planned(app, pilot)
    while owed := page.deciding.owed():
        on(page, owed[0].call_id)
        await press(pilot, "a")
        await planned(app, pilot)
    return page


async def test_deny_one_call_approve_one_and_on_to_the_end(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert "2 decisions owed: c1, c2" in texts(app)[1]
        await press(pilot, "r")
        assert "2 decisions owed" in texts(app)[-1], "the key works only when nothing is owed"
        on(page, "c1")
        await press(pilot, "x", *"too much", "enter")
        await planned(app, pilot)
        assert "denied: too much" in "\n".join(row_texts(page.rows))
        on(page, "c2")
        await press(pilot, "a")
        await planned(app, pilot)
        await press(pilot, "w", *"she called", "enter")
        await planned(app, pilot)
        assert "approved  (because: she called)" in "\n".join(row_texts(page.rows))
        assert "r runs pay" in texts(app)[1]
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        assert any("completed  from step 2 on, ran 4 steps" in row and "All done." in row for row in texts(app))
        live = run_screen(app).shows
        assert live is not None
        assert live.trace is not None
        records = [json.loads(line) for line in Path(live.trace).read_text().splitlines()]
        made = {record["what"]: record for record in records if record["record"] == "decision"}
        assert made["deny"]["reason"] == "too much"
        assert made["approve"]["reason"] == "she called"
        assert all("@" in record["who"] and record["at"] for record in made.values())
        await press(pilot, "O")
        assert row_texts(app.screen.rows) == [" imported", " paying B-2", " a child prints"]  # type: ignore[attr-defined]
        await press(pilot, "q", "q")
        assert run_screen(app).session.facts.run.id != live.run, "back to the run that it was resumed from"  # type: ignore[union-attr]
        assert not any("took over" in row for row in texts(app)), "that is told where the run is shown"


async def test_what_was_decided_stays_when_the_plan_is_left_until_the_run_begins(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target) as (app, pilot):
        first = run_screen(app)
        await press(pilot, "r")
        page = await planned(app, pilot)
        on(page, "c1")
        await press(pilot, "x", *"too much", "enter")
        await planned(app, pilot)
        await press(pilot, "q", "r")
        page = await planned(app, pilot)
        assert "1 decision owed: c2" in texts(app)[1]
        assert "denied: too much" in "\n".join(row_texts(page.rows))
        on(page, "c2")
        await press(pilot, "a")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        await press(pilot, "q", "r")
        assert run_screen(app) is first
        await planned(app, pilot)
        assert "2 decisions owed" in texts(app)[1], "another resume is decided about anew"


async def test_a_run_that_has_ended_here_is_not_said_to_be_driven(tmp_path: Path) -> None:
    path, target = two(tmp_path)

    def owned(app: Inspector) -> bool:
        verdict = run_screen(app).verdict
        return bool(verdict and verdict.plan and any(item.code == "owned" for item in verdict.plan.refusals))

    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: app.desk and app.desk.parent and app.desk.run and owned(app))
        gate(tmp_path)
        await ended(app, pilot, "completed")
        assert not owned(app)


async def test_arguments_are_edited_and_what_does_not_fit_the_tool_is_refused(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "down", "e")
        assert isinstance(app.screen, TextPage)
        assert '"amount":5' in texts(app)[-1].replace(" ", "")
        await press(pilot, "ctrl+u", Pasted('{"order": "A-1", "amount": '), "enter")
        assert isinstance(app.screen, TextPage), "what is no JSON is not taken"
        assert any("no JSON" in row for row in texts(app))
        await press(pilot, *'"x"}', "enter")
        await planned(app, pilot)
        assert "refused: arguments_invalid" in texts(app)[1]
        on(page, "c1")
        await press(pilot, "e", "ctrl+u", Pasted('{"order": "A-1", "amount": 1}'), "enter")
        await planned(app, pilot)
        assert "refused" not in texts(app)[1]
        assert page.deciding.decisions.arguments == {"c1": {"order": "A-1", "amount": 1}}


async def test_a_stale_plan_is_made_again_and_not_run(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await approve_all(app, pilot)
        before = page.deciding.plan
        assert before is not None
        file = Path(target.rpartition(":")[0])
        file.write_text(file.read_text() + "\nedited = True\n")
        await press(pilot, "r")
        await until(pilot, lambda: page.deciding.plan and page.deciding.plan.plan != before.plan)
        await until(pilot, lambda: "not run" in texts(app)[-1])
        assert app.desk is not None
        assert app.desk.parent is None


async def test_pause_one_step_go_on_and_stop_at_a_boundary(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target, size=(140, 30), breaks=("tool:pay",)) as (app, pilot):
        await press(pilot, "r")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before tool pay" in row and "breakpoint" in row for row in texts(app)))
        await press(pilot, "s")
        await until(pilot, lambda: any("held before model" in row for row in texts(app)))
        await until(pilot, lambda: run_screen(app).session.last == 4)
        await press(pilot, "s")
        await until(pilot, lambda: any("held before tool ship" in row for row in texts(app)))
        await press(pilot, "ctrl+c")
        page = await planned(app, pilot)
        assert "r runs ship" in texts(app)[1], "it came back to what is to be decided"
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        assert page.resumption.steering is not None


async def test_a_second_ctrl_c_says_what_would_be_lost_and_gives_up(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target, size=(120, 30)) as (app, pilot):
        await press(pilot, "r")
        await approve_all(app, pilot)
        await pilot.press("r")
        await until(pilot, lambda: any("ship started" in row for row in texts(app)))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: any("stopping at the next boundary" in row for row in texts(app)))
        await pilot.press("ctrl+c")
        await until(
            pilot, lambda: isinstance(app.screen, Choice) and any("may have happened" in row for row in texts(app))
        )
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.desk and app.desk.parent and not run_screen(app).shows.driven)  # type: ignore[union-attr]
        await until(pilot, lambda: any("given up" in row for row in texts(app)))
        await press(pilot, "r")
        await planned(app, pilot)
        page = plan_page(app)
        assert "what became of it?" in "\n".join(row_texts(page.rows))
        on(page, page.deciding.owed()[0].call_id)
        await press(pilot, "enter")
        assert isinstance(app.screen, Choice)
        await press(pilot, *["down"] * 2, "enter", Pasted('"it was shipped"'), "enter")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")


async def test_the_question_of_a_run_that_does_not_stop_is_there_once_and_goes_when_it_has(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target, size=(120, 30)) as (app, pilot):
        await press(pilot, "r")
        await approve_all(app, pilot)
        await pilot.press("r")
        await until(pilot, lambda: any("ship started" in row for row in texts(app)))
        await pilot.press("ctrl+c", "ctrl+c", "ctrl+c", "ctrl+c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.pause()
        assert sum(isinstance(screen, Choice) for screen in app.screen_stack) == 1
        gate(tmp_path)
        await until(pilot, lambda: app.desk and app.desk.parent and not run_screen(app).shows.driven)  # type: ignore[union-attr]
        await until(pilot, lambda: not any(isinstance(screen, Choice) for screen in app.screen_stack))


async def test_a_body_that_blocks_is_given_up_too(tmp_path: Path) -> None:
    path, target = blocked(tmp_path)
    (tmp_path / "open").touch()
    try:
        async with opened(path, target, size=(120, 30)) as (app, pilot):
            await press(pilot, "r")
            await planned(app, pilot)
            await pilot.press("r")
            await until(pilot, lambda: any("block started" in row for row in texts(app)))
            await pilot.press("ctrl+c")
            await until(pilot, lambda: any("stopping at the next boundary" in row for row in texts(app)))
            await pilot.press("ctrl+c")
            await until(pilot, lambda: isinstance(app.screen, Choice))
            told = "goes on in its thread until it ends"
            await until(pilot, lambda: told in " ".join(row.strip(" │┃|") for row in texts(app)))
            await pilot.press("down", "enter")
            await until(pilot, lambda: any("given up" in row for row in texts(app)))
            await press(pilot, "r")
            page = await planned(app, pilot)
            assert [need.call_id for need in page.deciding.owed()] == ["block#1"]
    finally:
        gate(tmp_path)


async def test_a_network_that_failed_goes_on_where_it_failed(tmp_path: Path) -> None:
    path = shutil.copy("examples/review-failed.jsonl", tmp_path)
    async with opened(str(path), "examples/review_pipeline.py:net") as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        assert "r runs sections/polish" in texts(app)[1]
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        assert run_screen(app).session.facts.seams == (49,)  # type: ignore[union-attr]
        assert run_screen(app).session.last == 49 + 32


async def test_a_folder_of_wfpy_and_a_run_from_an_earlier_step(tmp_path: Path) -> None:
    folder = shutil.copytree("examples/wfpy-failed", tmp_path / "wfpy-failed")
    async with opened(str(folder), "examples/wfpy_shop.py:shop") as (app, pilot):
        await press(pilot, "R")
        page = await planned(app, pilot)
        assert page.deciding.plan is not None
        assert page.deciding.plan.step == 15
        await press(pilot, "q", "r")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        assert run_screen(app).session.facts.seams == (17,)  # type: ignore[union-attr]
        assert run_screen(app).session.last == 17 + 1


async def test_a_live_owner_is_named_and_the_second_inspector_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "AGAIN", 0.5)
    path, target = two(tmp_path)
    held = threading.Event()
    steering = Steering(lambda event: held.set())
    steering.pause()
    job = open_job(path, load(target), trace=str(tmp_path / "second.jsonl"))
    job = msgspec.structs.replace(job, control=steering, decisions=Decisions(approve=("c1", "c2")))
    thread = threading.Thread(target=resume, args=(job, lambda event: None), daemon=True)
    thread.start()
    assert held.wait(120)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert "refused: owned" in texts(app)[1]
        rows = "\n".join(row_texts(page.rows))
        assert re.search(r"driven by process \d+ on \S+ since \S+ \([0-9.]+(ms|s) then\)", rows)
        assert "K takes it over" in rows
        assert "--take-over" not in rows
        assert not page.deciding.needs(), "nothing is owed while it is driven"
        assert SENTENCES["owned"].split(".")[0] in rows.replace("\n      ", " ")
        await press(pilot, "F")
        await until(pilot, lambda: app.desk and app.desk.parent and app.desk.run)
        gate(tmp_path)
        steering.go()
        await until(pilot, lambda: run_screen(app).session.facts.run.status == "completed")  # type: ignore[union-attr]
        await settle(pilot)
        assert run_screen(app).session.cursor == run_screen(app).session.last == 2 + 1 + 4
        thread.join(120)
        await until(pilot, lambda: any("nothing is left to run" in row for row in texts(app)))
        await press(pilot, "q")
        await until(pilot, lambda: any("to accept: already_resumed" in row for row in texts(app)))


async def test_a_run_that_is_followed_is_followed_where_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runresume, "LOOK", 0.05)
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target) as (app, pilot):
        first = run_screen(app)
        await press(pilot, "F")
        await until(pilot, lambda: first._succeeded == 0)
        job = open_job(path, load(target), trace=str(tmp_path / "second.jsonl"))
        job = msgspec.structs.replace(job, decisions=Decisions(approve=("c1", "c2")))
        thread = threading.Thread(target=resume, args=(job, lambda event: None), daemon=True)
        thread.start()
        await until(pilot, lambda: app.desk and app.desk.parent and app.desk.run)
        await until(pilot, lambda: run_screen(app).session.facts.run.status == "completed")  # type: ignore[union-attr]
        thread.join(120)
        assert run_screen(app).session.following
        await press(pilot, "q")
        assert run_screen(app) is first
        looks: list[int] = []
        real = apart.went_on
        monkeypatch.setattr(apart, "went_on", lambda run, known: looks.append(known) or real(run, known))
        await until(pilot, lambda: len(looks) > 2)
        assert run_screen(app) is first, "whoever goes back stays there"
        assert set(looks) == {1}


async def test_who_may_not_look_into_the_folder_of_claims_follows_the_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runresume, "LOOK", 0.01)
    looks: list[str] = []

    def closed(claims: Claims, run: str) -> list[Successor]:
        looks.append(run)
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Claims, "successors", closed)
    async with opened(SUSPENDED, None) as (app, pilot):
        await press(pilot, "F")
        await until(pilot, lambda: len(looks) > 1)
        assert run_screen(app).session.following


async def test_a_run_of_wfpy_that_somebody_drives_is_named_and_followed(tmp_path: Path) -> None:
    folder = shutil.copytree("examples/wfpy-failed", tmp_path / "shop" / "wfpy-failed")
    held = threading.Event()
    steering = Steering(lambda event: held.set() if event.get("event") == "held" else None)
    steering.pause()
    job = open_job(str(folder), load("examples/wfpy_shop.py:shop"), trace=str(tmp_path / "again"))
    job = msgspec.structs.replace(job, control=steering)
    thread = threading.Thread(target=resume, args=(job, steering.heard(lambda event: None)), daemon=True)
    thread.start()
    assert held.wait(120)
    async with opened(str(folder), "examples/wfpy_shop.py:shop") as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        assert any(f"driven by process {os.getpid()} on" in row for row in texts(app))
        await press(pilot, "F")
        await until(pilot, lambda: app.desk and app.desk.parent and app.desk.run)
        steering.go()
        await until(pilot, lambda: run_screen(app).session.facts.run.status == "completed")  # type: ignore[union-attr]
        assert run_screen(app).session.facts.claim == f"wfpy:{tmp_path.resolve() / 'again'}"  # type: ignore[union-attr]
        thread.join(120)
        await settle(pilot)


async def test_a_run_is_taken_over_with_a_reason(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    held, ends = threading.Event(), []
    steering = Steering(lambda event: held.set())
    steering.pause()
    job = open_job(path, load(target), trace=str(tmp_path / "second.jsonl"))
    job = msgspec.structs.replace(job, control=steering, decisions=Decisions(approve=("c1", "c2")))
    thread = threading.Thread(target=lambda: ends.append(resume(job, lambda event: None)), daemon=True)
    thread.start()
    assert held.wait(120)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert not page.deciding.needs()
        await press(pilot, "K", *"it hangs", "enter")
        await planned(app, pilot)
        assert "owed" in texts(app)[1]
        assert any("is taken over: it hangs" in row for row in texts(app))
        await approve_all(app, pilot)
        page.rows.move(next(at for at, row in enumerate(page._rows) if row.code == "already_resumed"))
        await press(pilot, "c")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        live = run_screen(app).shows
        assert live is not None
        assert '"it hangs"' in Path(live.trace or "").read_text()
    steering.go()
    thread.join(120)
    assert ends[0].status in ("suspended", "interrupted"), "the other one stopped at its next boundary"


async def test_a_run_of_wfpy_that_may_have_been_killed_just_now_is_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    shutil.copy("examples/wfpy-failed/run.wf-journal.jsonl", folder)
    (folder / "run.wf-journal.jsonl").touch()
    live = {"runId": "killed", "workflowName": "shop", "running": True}
    (tmp_path / "run.wf-viewer.live.json").write_text(json.dumps(live))
    async with opened(str(folder), "examples/wfpy_shop.py:shop") as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert "refused: owned" in texts(app)[1]
        assert any("driven by somebody who cannot be told" in row for row in texts(app))
        await press(pilot, "K")
        assert any("Nobody can be stopped from here" in row for row in texts(app))
        await press(pilot, *"it is dead", "enter")
        await planned(app, pilot)
        assert "to be accepted" in texts(app)[1]
        page.rows.move(next(at for at, row in enumerate(page._rows) if row.code == "side_effects"))
        await press(pilot, "c")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")


SHORT = """
from inspector import Agent, Call, ScriptedModel, tool

@tool
def look(order: str) -> str:
    "Look."
    return "paid"

agent = Agent("short", ScriptedModel([Call("look", {"order": "A"})], "done"), tools=[look], max_turns=1)
"""


async def test_a_limit_that_was_reached_is_raised(tmp_path: Path) -> None:
    (tmp_path / "short_app.py").write_text(SHORT)
    target = f"{tmp_path}/short_app.py:agent"

    def begin() -> None:
        assert load(target).value.prompt("Go.").run_sync(trace=str(tmp_path / "first.jsonl")).status == "failed"

    with ThreadPoolExecutor(1) as pool:
        pool.submit(begin).result()
    async with opened(str(tmp_path / "first.jsonl"), target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert any("gives it another limit of model turns" in row for row in texts(app))
        await press(pilot, "e", "0", "enter")
        assert any("a whole number, 1 or more" in row for row in texts(app))
        await press(pilot, "backspace", "4", "enter")
        await planned(app, pilot)
        assert any("limit of model turns: 4" in row for row in texts(app))
        assert page.deciding.plan is not None
        assert [item.name for item in page.deciding.plan.runs] == ["model"]
        await press(pilot, "r")
        await ended(app, pilot, "completed")


async def test_a_run_in_a_store_goes_on_where_it_is(tmp_path: Path) -> None:
    _, target = two(tmp_path)
    place = str(tmp_path / "runs.db")

    def begin() -> None:
        with contextlib.closing(open_store(place)) as store:
            agent = load(target).value
            assert agent.prompt("Go.").durable(store, key="order-1").run_sync().status == "suspended"

    with ThreadPoolExecutor(1) as pool:
        pool.submit(begin).result()
    gate(tmp_path)
    async with opened(place, target, breaks=("tool:ship",)) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        on(page, "c1")
        await press(pilot, "x", "enter")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before tool ship" in row for row in texts(app)))
        await until(pilot, lambda: run_screen(app).session.last == 4)
        assert app.desk is not None
        assert app.desk.parent is None, "it is the run that was open"
        await press(pilot, "space")
        await until(pilot, lambda: any("All done." in row and "completed" in row for row in texts(app)))
        await until(pilot, lambda: run_screen(app).session.facts.run.status == "completed")  # type: ignore[union-attr]
        await settle(pilot)
        assert run_screen(app).session.last == 6


@pytest.mark.parametrize("key", ["r", "R", "B", "e"])
async def test_read_only_asks_for_nothing_that_it_would_not_do(key: str) -> None:
    async with opened(SUSPENDED, AGENT, read_only=True) as (app, pilot):
        if key == "e":
            await press(pilot, "tab", "end")
        await press(pilot, key)
        assert app.screen is run_screen(app)
        assert "read-only: nothing is resumed" in texts(app)[-1]


async def test_a_run_that_no_driver_resumes_says_so_and_asks_for_no_code() -> None:
    async with opened("examples/otel-trace.jsonl", None) as (app, pilot):
        screen = run_screen(app)
        await press(pilot, "r")
        assert app.screen is screen
        assert "nothing here resumes such a run" in texts(app)[-1]


async def test_the_old_steps_and_the_new_ones_stand_on_one_timeline(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target, size=(120, 30)) as (app, pilot):
        above = run_screen(app)
        await press(pilot, "r")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        screen, run = run_screen(app), above.session.facts.run.id  # type: ignore[union-attr]
        new = screen.session.facts.run.id  # type: ignore[union-attr]
        assert screen is not above
        kinds = ["start", "model", "tools", "──", "tools", "model", "tools", "model"]
        rows = row_texts(screen.timeline)
        assert [next(kind for kind in {*kinds} if f" {kind} " in row) for row in rows] == kinds
        assert f"{new} goes on from step 2; its own step 1 is 4 here" in rows[3]
        await press(pilot, "g", "2", "enter", "tab", "1")
        await settle(pilot)
        assert "waiting" in "\n".join(texts(app)), "what was then"
        await press(pilot, "tab", "g", "3", "enter", "tab", "7")
        await settle(pilot)
        assert '"record":"header"' in "\n".join(texts(app)), "what the new run began with"
        await press(pilot, "tab", "slash", *"shipped A-1", "enter")
        await settle(pilot)
        assert screen.session.cursor == 6
        # From a step of the old run, that is gone on from; from one of the new run, the new one.
        for at, (step, place) in {"2": (1, path), "6": (2, str(above.live.trace))}.items():  # type: ignore[union-attr]
            await press(pilot, "g", at, "enter", "R")
            page = await planned(app, pilot)
            assert page.deciding.plan is not None
            assert (page.resumption.path, page.deciding.plan.step) == (place, step)
            await press(pilot, "q")
        await press(pilot, "g", "2", "enter", "d")
        await until(pilot, lambda: any("A resume after step 2 is possible" in row for row in texts(app)))
        await press(pilot, "q", "q")
        await until(pilot, lambda: run_screen(app) is above)
        trace = above.live.trace  # type: ignore[union-attr]
    async with opened(str(trace), None) as (app, pilot):
        await press(pilot, "g", "0", "enter")
        await settle(pilot)
        assert f"continues step 2 of {run}  Enter opens it" in row_texts(run_screen(app).timeline)[0]
        await press(pilot, "enter")
        await until(pilot, lambda: app.desk.parent and app.desk.run)
        await settle(pilot)
        assert run_screen(app).session.facts.run.id == run  # type: ignore[union-attr]
        assert run_screen(app).session.cursor == 2
        assert not run_screen(app).session.following
        await press(pilot, "q")
        await until(pilot, lambda: run_screen(app).session.cursor == 0)
        Path(path).rename(tmp_path / "elsewhere.jsonl")
        (tmp_path / "state/runinspect/claims").rename(tmp_path / "claims")
        await press(pilot, "enter")
        assert "cannot be told" in texts(app)[-1]


async def test_a_run_that_was_resumed_twice_and_forked_stands_behind_all_that_it_goes_on_from(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target, size=(120, 30), breaks=("tool:pay",)) as (app, pilot):
        await press(pilot, "r")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before tool pay" in row for row in texts(app)))
        await press(pilot, "s")
        await until(pilot, lambda: any("held before model" in row for row in texts(app)))
        await press(pilot, "s")
        await until(pilot, lambda: any("held before tool ship" in row for row in texts(app)))
        await press(pilot, "ctrl+c")
        await planned(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        facts = run_screen(app).session.facts
        assert facts is not None
        assert len(facts.seams) == 2
        assert facts.run.resumed_from is None, "the first of them goes on from none"
        names = [part.path for part in app.desk.parts()]
        assert len(set(names)) == 3
        # A fork from the second of the three has only the first two before it.
        await press(pilot, "g", *str(facts.seams[1]), "enter", "R")
        page = await planned(app, pilot)
        assert page.resumption.path == names[1]
        for code in {row.code for row in page._rows if row.code}:
            page.rows.move(next(at for at, row in enumerate(page._rows) if row.code == code))
            await press(pilot, "c")
            await planned(app, pilot)
        await approve_all(app, pilot)
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        assert [part.path for part in app.desk.parts()][:2] == names[:2]
        assert len(app.desk.parts()) == 3
        assert app.desk.parts()[1].step == facts.seams[1] - facts.seams[0] - 1


async def test_the_cursor_stands_on_the_first_decision_that_is_owed(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        first, second = page.deciding.owed()
        assert page.need == first
        on(page, second.call_id)
        await press(pilot, "a")
        await planned(app, pilot)
        assert page.need == second, "a plan that is made again leaves the cursor where it is"
        await press(pilot, "q", "r")
        page = await planned(app, pilot)
        assert page.need == first


async def test_a_plan_that_is_made_again_is_waited_for_before_it_runs(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await approve_all(app, pilot)
        assert page.deciding.hindrance() is None
        page.deciding.because("c1", "later")
        assert page.deciding.hindrance() == "the plan is being made again …"
        page.action_run()
        await pilot.pause()
        assert not page.starting
        assert "still being made" in texts(app)[-1]
        page.replan()
        await planned(app, pilot)
        assert "still being made" not in texts(app)[-1], "what is waited for has come"
        assert page.deciding.hindrance() is None


async def test_the_output_of_an_import_and_code_that_cannot_be_imported(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    file = Path(target.rpartition(":")[0])
    file.write_text("print('before it breaks')\n1 / 0\n")
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert page.deciding.plan is None
        assert any("ZeroDivisionError" in row for row in texts(app))
        await press(pilot, "O")
        assert isinstance(app.screen, OutputPage)
        assert row_texts(app.screen.rows) == [" before it breaks"]


CODES = sorted(set(SENTENCES) - {"plan_changed"})


@pytest.fixture(params=[[code for code in CODES if code != "owned"], ["owned"]], ids=["all", "owned"])
def refusing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan that is refused for every reason there is; of a run that somebody drives, other reasons do not count."""
    codes = request.param
    refusals = tuple(Refusal(code=code, subject=f"s-{code}", detail=f"the difference of {code}") for code in codes)
    warnings = tuple(warn(code, f"w-{code}", f"what {code} is about") for code in codes)
    plan = Plan(resumable=False, driver="fake", step=4, refusals=refusals, warnings=warnings)
    fake = Driver(
        name="fake",
        drives=lambda source, run: True,
        plan=lambda job: plan,
        resume=lambda job, plan, emit: Ended(run="r", status="completed"),
    )
    monkeypatch.setattr(resuming, "all_drivers", lambda: [fake])
    return plan


async def test_every_code_is_shown_with_its_difference_and_a_sentence(refusing: Plan) -> None:
    async with opened(SUSPENDED, AGENT, size=(200, 50)) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        shown = row_texts(page.rows)
        text = " ".join(row.strip() for row in shown)
        for code in (refusal.code for refusal in refusing.refusals):
            assert f"x refused  {code}  s-{code}" in text
            assert f"the difference of {code}" in text
            assert SENTENCES[code] in text
            assert f"{code}  w-{code}" in text
        await press(pilot, "r")
        assert "refused: " in "".join(texts(app)[-4:])


def test_every_code_is_in_the_json(refusing: Plan) -> None:
    plan = json.loads(msgspec.json.encode(check(open_job(SUSPENDED, load(AGENT)))))
    assert not plan["resumable"]
    codes = {refusal.code for refusal in refusing.refusals}
    assert {refusal["code"] for refusal in plan["refusals"]} == codes
    assert {warning["code"] for warning in plan["warnings"]} == codes


def test_the_codes_in_the_source_are_those_that_have_a_sentence() -> None:
    raised = r"(?:ResumeRefused|RefusedError)\((?:[^()]|\([^()]*\))*?,"
    used = re.compile(rf'(?:\bcode=|\bwarn\(|\bFinding\(|\b{raised})\s*"([a-z_]+)"')
    files = (path for path in Path("inspector").rglob("*.py") if path.name != "policy.py")
    assert {code for path in files for code in used.findall(path.read_text())} == set(SENTENCES)


async def test_a_run_leaves_the_screen_goes_on_by_itself_and_is_followed(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target, size=(140, 30), breaks=("tool:ship",)) as (app, pilot):
        await press(pilot, "r")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before tool ship" in row for row in texts(app)))
        held = run_screen(app)
        await press(pilot, "D")
        await until(pilot, lambda: app.desk.run is not None and app.desk.run is not held and app.desk.parent.parent)  # type: ignore[union-attr]
        await until(pilot, lambda: run_screen(app).session.facts.run.status == "completed")  # type: ignore[union-attr]
        await settle(pilot)
        session = run_screen(app).session
        assert session.facts is not None
        assert len(session.facts.seams) == 2
        assert session.last == session.facts.seams[-1] + 2, "the tool that it was held before, and the answer"
        assert held.shows is not None
        assert "on as process" in held.shows.line_text()


async def test_numbers_of_steps_are_those_of_the_timeline(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target, size=(140, 30)) as (app, pilot):
        # Behind the seam, the calls that were approved, and what the model says then.
        behind = f"step:seq>={run_screen(app).session.last + 3}"
        await press(pilot, "B", "ctrl+u", *behind, "enter", "r")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before tool ship" in row for row in texts(app)))
        await until(pilot, lambda: behind == f"step:seq>={run_screen(app).session.last}")
        await press(pilot, "B", "ctrl+u", *behind, "enter", "ctrl+c")
        await ended(app, pilot, "suspended")
        await planned(app, pilot)
        held = run_screen(app).session.last
        await press(pilot, "q", "B", "ctrl+u", *f"step:seq>={held + 2}", "enter", "r")
        await planned(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before model" in row for row in texts(app)))
        await until(pilot, lambda: run_screen(app).session.last == held + 2)  # the seam, and the tool
        await press(pilot, "space")
        await ended(app, pilot, "completed")
        assert any(f"from step {held} on, ran 2 steps" in row for row in texts(app))


async def test_breakpoints_are_set_at_a_step_and_taken_back(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    async with opened(path, target, size=(140, 30)) as (app, pilot):
        await press(pilot, "B")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        await press(pilot, "ctrl+u", *"nonsense", "enter")
        await until(pilot, lambda: any("is no breakpoint" in row for row in texts(app)))
        await press(pilot, "ctrl+u", *"tool:ship", "enter")
        await until(pilot, lambda: "1 break" in texts(app)[0])
        await press(pilot, "r")
        await approve_all(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before tool ship" in row for row in texts(app)))
        await press(pilot, "B", "ctrl+u", *"tool:ship", "enter")
        await until(pilot, lambda: "held nowhere" in texts(app)[-1])
        await press(pilot, "space")
        await ended(app, pilot, "completed")


async def test_a_breakpoint_at_a_node_of_the_graph(tmp_path: Path) -> None:
    path = shutil.copy("examples/review-failed.jsonl", tmp_path)
    async with opened(str(path), None, size=(140, 40)) as (app, pilot):
        await press(pilot, "6", "v", "tab")
        pane = run_screen(app).pane
        at = next(index for index, row in enumerate(row_texts(pane.rows)) if "gather" in row and "→" not in row)
        pane.rows.move(at)
        await press(pilot, "B")
        assert "node:gather" in texts(app)[-1]


@pytest.mark.parametrize(("node", "step"), [("gather", 44), ("sections", 47)])
async def test_a_run_from_the_last_step_of_a_node_of_the_graph(node: str, step: int, tmp_path: Path) -> None:
    path = shutil.copy("examples/review-failed.jsonl", tmp_path)
    async with opened(str(path), REVIEW, size=(140, 40)) as (app, pilot):
        await press(pilot, "6", "v", "tab")
        pane = run_screen(app).pane
        await until(pilot, lambda: len(pane.rows.lines) > 3)
        at = next(
            index
            for index in range(len(pane.rows.lines))
            if (found := pane.rows.lines[index].opens) and found.title == node
        )
        pane.rows.move(at)
        await press(pilot, "R")
        page = await planned(app, pilot)
        assert page.deciding.plan is not None, page.deciding.planned
        assert page.deciding.plan.step == step


def a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, store: bool) -> str:
    """Where a run of a network is that failed once: in a store, or in a trace."""
    if not store:
        return str(shutil.copy("examples/review-failed.jsonl", tmp_path))
    place = str(tmp_path / "runs.db")

    def begin() -> None:
        with contextlib.closing(open_store(place)) as store:
            net = load(REVIEW).value
            assert (
                net.run_sync(
                    {"paper": ["tea", "bees", "walls", "trains", "a flood"]}, store=store, key="review-1"
                ).status
                == "failed"
            )

    with monkeypatch.context() as broken, ThreadPoolExecutor(1) as pool:
        broken.setenv("REVIEW_FAILS", "1")
        pool.submit(begin).result()
    return place


async def test_a_network_in_a_store_goes_on_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = a_network(tmp_path, monkeypatch, store=True)
    async with opened(place, REVIEW) as (app, pilot):
        before = run_screen(app).session.last
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert page.deciding.hindrance() is None
        assert planlines.purpose(page.deciding).endswith(f"takes over {before} steps"), "and not so many nodes"
        await press(pilot, "r")
        await until(pilot, lambda: run_screen(app).session.facts.run.status == "completed")  # type: ignore[union-attr]
        await until(pilot, lambda: run_screen(app).shows and not run_screen(app).shows.driven)  # type: ignore[union-attr]
        await settle(pilot)
        assert app.desk is not None
        assert app.desk.parent is None, "it is the run that was open"
        assert run_screen(app).session.last > before


@pytest.mark.parametrize("store", [False, True], ids=["file", "store"])
async def test_a_network_leaves_the_screen_and_goes_on_by_itself(
    store: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_network(tmp_path, monkeypatch, store=store)
    async with opened(place, REVIEW, size=(140, 30), breaks=("node:gather",)) as (app, pilot):
        await press(pilot, "r")
        await planned(app, pilot)
        await press(pilot, "r")
        await until(pilot, lambda: any("held before node gather" in row for row in texts(app)))
        held = run_screen(app)
        await press(pilot, "D")
        await until(pilot, lambda: held.shows is not None and held.shows.apart)
        shows = held.shows
        assert shows is not None
        await until(pilot, lambda: app.desk.run is not None and (store or app.desk.run is not held))  # type: ignore[union-attr]
        await until(pilot, lambda: run_screen(app).session.facts.run.status == "completed")  # type: ignore[union-attr]
        told = f"went on as process {shows.apart.process.pid}, "  # type: ignore[union-attr]
        await until(pilot, lambda: told in shows.line_text())
        await until(pilot, lambda: not store or any(told in row for row in texts(app)))


async def test_a_text_that_is_typed_ahead_of_the_plan_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = two(tmp_path)
    monkeypatch.setattr(resumescreen, "PAUSE", 1e6)
    with monkeypatch.context() as patched:
        patched.setattr(Resumption, "plan", lambda self, decisions: None)
        async with opened(path, target) as (app, pilot):
            await press(pilot, "r")
            page = plan_page(app)
            await pilot.press("x", *"maq")
            assert app.screen is page, "the q of a text leads nowhere"
            assert "typed ahead of the plan: dropped" in texts(app)[-1]
            patched.undo()
            monkeypatch.setattr(resumescreen, "PAUSE", 1e6)
            page.replan()
            await planned(app, pilot)
            assert "what was typed ahead of it was dropped" in texts(app)[-1]
            await pilot.press(*"ar")
            assert page.deciding.decisions == Decisions()
            assert "typed ahead of the plan: dropped" in texts(app)[-1]
            monkeypatch.setattr(resumescreen, "PAUSE", 0.0)
            await press(pilot, "a")
            await planned(app, pilot)
            assert page.deciding.decisions.approve == ("c1",)


async def test_the_way_out_is_open_also_to_what_is_typed_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, target = two(tmp_path)
    monkeypatch.setattr(resumescreen, "PAUSE", 1e6)
    monkeypatch.setattr(Resumption, "plan", lambda self, decisions: None)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        await press(pilot, "K", "a", "escape")
        assert app.screen is run_screen(app)


async def test_an_enter_too_many_on_a_call_decides_nothing(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "enter", "enter")
        assert isinstance(app.screen, Viewer), "its arguments are shown"
        assert page.deciding.decisions == Decisions()


async def test_the_footer_offers_only_what_can_be_decided_about_the_plan(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target, size=(120, 30)) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert "a approve  x deny  e edit" in texts(app)[-1]
        assert "answer" not in texts(app)[-1]
        assert "accept" not in texts(app)[-1]
        assert "r run" in texts(app)[-1]
        page.deciding.change("values.nothing", 1, 2)
        page.replan()
        await planned(app, pilot)
        assert "refused" in texts(app)[1]
        assert "r run" not in texts(app)[-1], "what is refused is not run"


async def test_the_footer_offers_no_resume_where_nothing_here_resumes_such_a_run() -> None:
    async with opened("examples/otel-trace.jsonl", None, size=(200, 50)) as (app, pilot):
        await settle(pilot)
        assert "resume" not in texts(app)[-1]
        await press(pilot, "tab")
        assert "edit" not in texts(app)[-1]
        await press(pilot, "r")
        assert "nothing here resumes such a run" in texts(app)[-1]
        await press(pilot, "enter")
        assert isinstance(app.screen, Viewer)
        assert "edit" not in texts(app)[-1]


async def test_the_footer_offers_a_resume_once_the_file_is_one_that_can_be() -> None:
    async with opened("examples/rig-pending.json", None, size=(200, 50)) as (app, pilot):
        assert "r resume" in texts(app)[-1]
        screen = run_screen(app)
        facts = screen.session.facts
        assert facts is not None
        screen.take(Known(msgspec.structs.replace(facts, resume=Resume(reasons=("not_resumable",))), revised=1))
        await settle(pilot)
        assert "resume" not in texts(app)[-1]
        screen.take(Known(facts, revised=1))
        await settle(pilot)
        assert "r resume" in texts(app)[-1]


async def test_the_footer_offers_editing_where_the_driver_takes_edits(tmp_path: Path) -> None:
    async with opened("examples/wfpy-failed", None, size=(200, 50)) as (app, pilot):
        assert "r resume" in texts(app)[-1]
        await press(pilot, "tab")
        assert " edit" not in texts(app)[-1]
        assert "r resume" in texts(app)[-1]
    async with opened(SUSPENDED, None, size=(200, 50)) as (app, pilot):
        await press(pilot, "tab")
        assert "e edit" in texts(app)[-1]
    async with opened(SUSPENDED, None, size=(200, 50), read_only=True) as (app, pilot):
        await press(pilot, "tab")
        assert "resume" not in texts(app)[-1]
        assert "e edit" not in texts(app)[-1]


def refused(page: ResumePage) -> Planned:
    """Show the plan as it is where the run is refused; what it was before."""
    made = page.deciding.planned
    assert made is not None
    assert made.plan is not None
    refusal = Refusal(code="tool_missing", subject="x", detail="y")
    page.planned(made._replace(plan=msgspec.structs.replace(made.plan, refusals=(refusal,))))
    return made


async def test_the_cursor_goes_to_what_is_owed_where_what_it_was_on_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        made = refused(page)
        page.rows.move(next(at for at, row in enumerate(page._rows) if row.code == "tool_missing"))
        page.planned(made)
        assert page.need is not None
        assert page.need.call_id == "c1"


async def test_the_one_warning_that_is_left_is_accepted_wherever_one_stands(tmp_path: Path) -> None:
    folder = shutil.copytree("examples/wfpy-failed", tmp_path / "wfpy-failed")
    job = open_job(str(folder), load("examples/wfpy_shop.py:shop"), trace=str(tmp_path / "again"))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(resume, job, lambda event: None).result().status == "completed"
    async with opened(str(folder), "examples/wfpy_shop.py:shop") as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert page._rows[page.rows.cursor].code == "already_resumed", "what is to be decided"
        page.rows.move(0)
        await press(pilot, "c")
        await planned(app, pilot)
        assert "r runs van" in texts(app)[1]


async def test_the_cursor_stays_on_what_it_was_on_when_what_is_above_goes(tmp_path: Path) -> None:
    path, target = two(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        made = refused(page)
        on(page, "c2")
        await press(pilot, "down")
        at = page.rows.cursor
        page.planned(made)
        assert page.rows.cursor < at, "the refusal above is gone"
        assert page.need is not None
        assert page.need.call_id == "c2", "the next key is about what it was about"


@pytest.mark.parametrize(
    ("choice", "typed", "told", "status"),
    [
        (1, None, "runs once more", "completed"),
        (2, '"refunded by hand"', 'has this result: "refunded by hand"', "completed"),
        (3, "the bank said no", 'failed: "the bank said no"', "completed"),
        (4, None, "the run is given up", "failed"),
        (5, None, "stays open", "suspended"),
    ],
    ids=["retry", "result", "failure", "abort", "leave"],
)
async def test_what_became_of_a_call_that_may_have_happened(
    choice: int, typed: str | None, told: str, status: str, tmp_path: Path
) -> None:
    path = str(shutil.copy("examples/refund-killed.jsonl", tmp_path))
    async with opened(path, AGENT) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert "c3" in texts(app)[1]
        await press(pilot, "enter", *["down"] * choice, "enter")
        if typed is not None:
            assert isinstance(app.screen, TextPage)
            await press(pilot, *typed, "enter")
        await planned(app, pilot)
        assert any(told in row for row in row_texts(page.rows))
        await press(pilot, "r")
        await ended(app, pilot, status)
        trace = Path(app.desk.path)
    decisions = [json.loads(line) for line in lines_of(str(trace)) if '"record":"decision"' in line]
    assert [(made["what"], made["subject"]) for made in decisions if made["subject"] == "c3"]
    assert all(made["who"] and made["at"] for made in decisions)


async def test_a_question_is_answered(tmp_path: Path) -> None:
    path, target = asking(tmp_path)
    async with opened(path, target) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        await press(pilot, "i")
        assert isinstance(app.screen, TextPage)
        await press(pilot, *"the red one", "enter")
        await planned(app, pilot)
        assert any('answered: "the red one"' in row for row in row_texts(page.rows))
        await press(pilot, "r")
        await ended(app, pilot, "completed")
        assert "the red one" in Path(app.desk.path).read_text()
