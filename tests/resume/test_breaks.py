"""Breakpoints on the command line: a run that is started or resumed stops there, and goes on from there."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector import cli as command
from inspector import exits
from inspector.resume.jobs import resume
from inspector.resume.steering import Steering, read_break
from tests.resume.test_wfpy import flow as flow
from tests.resume.test_wfpy import job as wfpy_job
from tests.resume.test_wfpy import stopped

ROOT = Path(__file__).parent.parent.parent / "examples"
AGENT = str(ROOT / "refund_agent.py:agent")
NET = str(ROOT / "review_pipeline.py:net")
OUTPUT = "42.00 EUR are on their way."


class Shell:
    """The command. `held` is what the last run was held before, and `why`."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture
        self.held: tuple[str, str] | None = None
        self.errors = ""

    def __call__(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        self._capture.readouterr()
        code = exits.guarded(lambda: command.run([*arguments, "--json"]))
        out, self.errors = self._capture.readouterr()
        assert "Traceback" not in self.errors, self.errors
        events = [json.loads(line) for line in out.splitlines()]
        held = [(event["before"], event["why"]) for event in events if event.get("event") == "held"]
        assert len(held) <= 1
        self.held = held[0] if held else None
        return code, events[-1] if events else {}


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return Shell(capfd)


def test_an_agent_stops_before_a_tool_then_a_model_then_goes_on_to_its_end(shell: Shell) -> None:
    prompt = ("--input", '"Refund order A-17, it came damaged"')
    code, ended = shell("run", AGENT, *prompt, "--trace", "a.jsonl", "--break", "tool:lookup_*")
    assert (code, ended["status"], ended["reason"]) == (4, "suspended", "breakpoint")
    assert shell.held == ("tool lookup_order", "breakpoint tool:lookup_*")
    assert f"go on with: runinspect resume a.jsonl --app {AGENT}" in shell.errors
    code, shown = shell("show", "a.jsonl")
    assert (shown["run"]["status"], shown["run"]["reason"]) == ("suspended", "breakpoint")
    assert [call["status"] for call in shown["state"]["pending"]] == ["ready"], "nothing of it has begun"
    code, ended = shell(
        "resume", "a.jsonl", "--app", AGENT, "--trace", "b.jsonl", "--break", "tool", "--break", "model"
    )
    assert (code, shell.held) == (4, ("model scripted", "breakpoint model:*")), "where it stands is passed"
    code, ended = shell("resume", "b.jsonl", "--app", AGENT, "--trace", "c.jsonl")
    assert (code, ended["reason"], shell.held) == (4, "approval", None)
    code, ended = shell("resume", "c.jsonl", "--app", AGENT, "--approve", "c3", "--trace", "d.jsonl", "--break", "tool")
    assert (code, shell.held) == (4, ("tool refund", "breakpoint tool:*")), (
        "it was no breakpoint that stopped it before"
    )
    code, ended = shell("resume", "d.jsonl", "--app", AGENT, "--trace", "e.jsonl", "--break", "step:name=*refund")
    assert (code, shell.held) == (4, ("model scripted", "breakpoint step:name=*refund"))
    code, ended = shell("resume", "e.jsonl", "--app", AGENT)
    assert (code, ended["output"]) == (0, OUTPUT)


def test_a_run_of_a_store_stops_and_goes_on_under_its_key(shell: Shell) -> None:
    code, ended = shell("run", AGENT, "--input", '"go"', "--store", "runs.db", "--key", "one", "--break", "model:scr*")
    assert (code, ended["run"], ended["reason"]) == (4, "one", "breakpoint")
    assert f"go on with: runinspect resume runs.db --run one --app {AGENT}" in shell.errors
    code, ended = shell("resume", "runs.db", "--run", "one", "--app", AGENT, "--break", "tool:lookup_order")
    assert (code, shell.held) == (4, ("tool lookup_order", "breakpoint tool:lookup_order"))
    assert "runs.db --run one" in shell.errors
    code, ended = shell("resume", "runs.db", "--run", "one", "--app", AGENT)
    assert (code, ended["reason"]) == (4, "approval")


def test_a_network_stops_before_nodes_and_comes_to_the_same(shell: Shell) -> None:
    paper = ("--input", '{"paper": ["tea"]}')
    code, plain = shell("run", NET, *paper)
    assert code == 0
    code, ended = shell("run", NET, *paper, "--trace", "n0.jsonl", "--break", "node:layout/*")
    assert (code, shell.held) == (4, ("node layout/measure", "breakpoint node:layout/*"))
    ran = ended["ran"]
    for number in range(20):
        path, new = f"n{number}.jsonl", f"n{number + 1}.jsonl"
        code, ended = shell("resume", path, "--app", NET, "--trace", new, "--break", "node:layout/*")
        ran += ended["ran"]
        if code == 0:
            break
    assert number == 1, "held before each firing of the two nodes, once"
    assert (ended["output"], ran) == (plain["output"], plain["ran"])


def test_a_run_of_wfpy_stops_before_an_actor_and_goes_on_from_its_checkpoint(flow: Path) -> None:
    events: list[dict[str, Any]] = []
    steering = Steering(events.append, [read_break("node:join")], stops=True)
    given = msgspec.structs.replace(wfpy_job(flow, stopped(flow)), control=steering)
    ended = resume(given, events.append)
    assert (ended.status, ended.reason) == ("suspended", "breakpoint"), events
    assert steering.held == "node join"
    assert not any(event.get("name") == "join" for event in events)
    assert resume(wfpy_job(flow, Path(ended.trace or "")), events.append).status == "completed"


def test_what_is_no_breakpoint_is_an_error_of_usage(shell: Shell) -> None:
    assert shell("run", AGENT, "--input", '"go"', "--break", "tool:")[0] == 2
    assert "is no breakpoint" in shell.errors
