"""What becomes of a call that was not on offer is decided on the screen."""

import json
from pathlib import Path

import pytest

from inspector.resume.apps import load
from inspector.runner.drive import Control
from inspector.tui.asking import Choice, TextPage
from tests.tui.resuming import ended, opened, planned
from tests.tui.screens import press, row_texts, run_screen, texts, until

TYPO = """
from inspector import Agent, Call, ScriptedModel, tool

@tool
def look(order: str) -> str:
    return f"there are 5 of {order}"

agent = Agent("shop", ScriptedModel([Call("lock", {"order": "A"}, call_id="n1")], "All done."), tools=[look])
"""


@pytest.fixture
async def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """(a run that was stopped behind a call of a tool that nobody has, its code as a target)."""
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    file = tmp_path / "typo_app.py"
    file.write_text(TYPO)
    path, control = str(tmp_path / "shop.jsonl"), Control()
    run = load(f"{file}:agent").value.prompt("Go.").control(control)
    run.observe(lambda event: control.stop() if event["event"] == "step" else None)
    assert (await run.run(trace=path)).reason == "invalid_tool_call"
    return path, f"{file}:agent"


@pytest.mark.parametrize(
    ("choice", "typed", "decided", "status", "told"),
    [
        ("it is meant for look", None, "runs as look", "completed", "there are 5 of A"),
        (
            "ask the model once more",
            "no lock here",
            "the model is asked once more: no lock here",
            "completed",
            "no lock",
        ),
        ("it does not run", "", "does not run, and the model is told", "completed", "There is no tool 'lock'."),
        ("the run fails", "bad", "the run fails: bad", "failed", "bad"),
        ("the run is stopped", "enough", "the run is stopped: enough", "cancelled", "enough"),
    ],
)
async def test_each_way(
    stopped: tuple[str, str], choice: str, typed: str | None, decided: str, status: str, told: str
) -> None:
    path, target = stopped
    async with opened(path, target, size=(110, 30)) as (app, pilot):
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert "r lets hooks decide about lock" in texts(app)[1]
        assert page.need is not None, "the cursor is on what can be decided"
        await press(pilot, "a")
        assert not page.deciding.decisions.calls(), "there is nothing to approve"
        await press(pilot, "enter")
        assert isinstance(app.screen, Choice)
        rows = row_texts(app.screen.rows)
        app.screen.rows.move(max(at for at, row in enumerate(rows) if choice in row))
        await press(pilot, "enter")
        if typed is not None:
            await until(pilot, lambda: isinstance(app.screen, TextPage))
            await press(pilot, *typed, "enter")
        await planned(app, pilot)
        assert decided in "\n".join(row_texts(page.rows))
        assert not any("would run" in row for row in row_texts(page.rows)), "the decision says it"
        assert ("it ends for good, and nothing runs" in texts(app)[1]) == (status != "completed")
        await press(pilot, "r")
        await ended(app, pilot, status)
        live = run_screen(app).shows
        assert live is not None
        assert live.trace is not None
        text = Path(live.trace).read_text()
        (decision,) = [r for r in map(json.loads, text.splitlines()) if r["record"] == "decision"]
        assert (decision["what"], decision["subject"]) == ("resolve", "n1")
        assert told in text
