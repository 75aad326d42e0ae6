"""Agent runs from the command line: run, check, resume, their exit codes and their JSON."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from inspector import cli as command
from inspector import exits

ROOT = Path(__file__).parent.parent.parent

APP = """
from inspector import Agent, Call, Hook, ScriptedModel, ToolContext, tool

print("loaded")


@tool(idempotency="supported")
def look(order: str) -> str:
    print("looking")
    return "5"


@tool(needs_approval=True)
def pay(order: str, amount: int) -> str:
    with open("paid", "a") as file:
        file.write(f"{order} {amount}\\n")
    return f"paid {amount}"


@tool
def ask(context: ToolContext) -> str:
    context.ask("which one?")


class Audit(Hook):
    def on_tool_call(self, event): ...


def script(*turns):
    return ScriptedModel(*turns)


PAYS = [Call("pay", {"order": "A", "amount": 5}), Call("pay", {"order": "B", "amount": 6})]
CALLS = [Call("look", {"order": "A"}), *PAYS]
agent = Agent("shop", ScriptedModel(CALLS, "done"), tools=[look, pay, ask], hooks=[Audit()])
asking = Agent("shop", ScriptedModel([Call("ask")], "done"), tools=[ask])
short = Agent("shop", ScriptedModel([Call("look", {"order": "A"})], "done"), tools=[look], max_turns=1)
invalid = Agent("shop", ScriptedModel([Call("nothing")], "done"), tools=[look])
thing = object()
"""


class Shell:
    """A folder with an app in it, and the command."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture
        self.env = os.environ | {"XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")}
        self.write(APP)

    def write(self, text: str) -> None:
        (self.folder / "app.py").write_text(text)

    def __call__(self, *arguments: str) -> tuple[int, list[Any], str]:
        self._capture.readouterr()
        code = exits.guarded(lambda: command.run(list(arguments)))
        out, errors = self._capture.readouterr()
        assert "Traceback" not in errors, errors
        lines = [json.loads(line) if "--json" in arguments else line for line in out.splitlines()]
        return code, lines, errors

    def start(self, name: str = "agent", trace: str = "a.jsonl") -> tuple[int, list[Any], str]:
        return self("run", f"app.py:{name}", "--input", '"go"', "--trace", trace, "--json")

    def resume(self, *arguments: str, trace: str = "a.jsonl") -> tuple[int, list[Any], str]:
        return self("resume", trace, "--app", "app.py:agent", *arguments, "--json")

    def paid(self) -> list[str]:
        path = self.folder / "paid"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell(tmp_path, capfd)
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, made.env[name])
    monkeypatch.setattr(sys, "path", list(sys.path))
    return made


def test_run_check_resume(shell: Shell) -> None:
    code, lines, errors = shell.start()
    assert code == 4
    assert "loaded" in errors
    assert "looking" in errors
    assert lines[-1] == {
        "event": "result",
        "run": lines[0]["run"],
        "status": "suspended",
        "reason": "approval",
        "final": False,
        "output": None,
        "trace": "a.jsonl",
        "resumed_from": None,
        "replayed": 0,
        "ran": 2,
        "outcome": "started",
    }
    assert [call["call_id"] for call in lines[-2]["pending"]] == ["c2", "c3"]
    code, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    assert (code, plan["schema"], plan["resumable"], plan["driver"], plan["step"]) == (
        *(0, "runinspect.check/1", True, "agent", 2),
    )
    assert [(need["call_id"], need["question"]) for need in plan["needs"]] == [("c2", "approve"), ("c3", "approve")]
    assert plan["diff"]["same"]
    code, lines, _ = shell.resume()
    assert (code, lines[-1]["status"], shell.paid()) == (4, "suspended", [])
    code, lines, _ = shell.resume("--approve", "c2", "--deny", "c3=not that one", "--trace", "b.jsonl")
    assert (code, lines[-1]["status"], lines[-1]["output"]) == (0, "completed", "done")
    assert (lines[-1]["replayed"], lines[-1]["ran"], lines[-1]["resumed_from"]) == (2, 2, plan_run(shell))
    assert shell.paid() == ["A 5"]
    again = (
        "resume",
        "a.jsonl",
        "--app",
        "app.py:agent",
        "--deny",
        "c2",
        "--deny",
        "c3",
        "--accept",
        "already_resumed",
    )
    code, texts, _ = shell(*again)
    assert code == 0
    assert f"resumed_from {plan_run(shell)}  after_step 2  ran 1" in texts[-1]
    _, (shown,), _ = shell("show", "b.jsonl", "--json")
    path = str(shell.folder / "a.jsonl")
    assert shown["run"]["resumed_from"] == {"run": plan_run(shell), "step": 2, "path": path}
    told = {message["call_id"]: message["text"] for message in shown["state"]["messages"] if message["role"] == "tool"}
    assert told == {"c1": "5", "c2": "paid 5", "c3": "not that one"}


def plan_run(shell: Shell) -> str:
    return str(json.loads((shell.folder / "a.jsonl").read_text().splitlines()[0])["id"])


def test_some_decisions_now_and_the_rest_later(shell: Shell) -> None:
    shell.start()
    code, lines, _ = shell.resume("--approve", "c3", "--trace", "b.jsonl")
    assert (code, lines[-1]["reason"], shell.paid()) == (4, "approval", ["B 6"])
    code, lines, _ = shell.resume("--approve", "c2", "--arguments", 'c2={"order": "A", "amount": 1}', trace="b.jsonl")
    assert (code, lines[-1]["status"], shell.paid()) == (0, "completed", ["B 6", "A 1"])


def test_a_finished_run_gives_its_answer_again(shell: Shell) -> None:
    shell.start()
    shell.resume("--approve", "c2", "--approve", "c3", "--trace", "b.jsonl")
    for _ in range(2):
        code, lines, _ = shell.resume(trace="b.jsonl")
        assert (code, lines[-1]["output"], lines[-1]["ran"]) == (0, "done", 0)
    assert len(shell.paid()) == 2
    _, (plan,), _ = shell("check", "b.jsonl", "--app", "app.py:agent", "--json")
    assert (plan["resumable"], plan["runs"]) == (True, [])


def test_resuming_twice_must_be_accepted(shell: Shell) -> None:
    shell.start()
    shutil.copy(shell.folder / "a.jsonl", shell.folder / "copy.jsonl")
    _, lines, _ = shell.resume("--deny", "c2", "--deny", "c3")
    successor = lines[-1]["run"]
    for trace in ("a.jsonl", "copy.jsonl"):
        code, lines, errors = shell.resume("--deny", "c2", "--deny", "c3", trace=trace)
        assert (code, lines) == (3, [])
        assert "already_resumed" in errors
        assert successor in errors
    code, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    assert (code, [(item["code"], item["accept"]) for item in plan["warnings"]]) == (0, [("already_resumed", True)])
    code, _, _ = shell.resume("--deny", "c2", "--deny", "c3", "--accept", "already_resumed")
    assert code == 0


@pytest.mark.parametrize(
    ("old", "new", "code", "subject"),
    [
        ("tools=[look, pay, ask], hooks", "tools=[look, ask], hooks", "tool_missing", "pay"),
        ("def pay(order: str, amount: int)", "def pay(order: str, cents: int, amount=1)", "arguments_invalid", "pay"),
        ("@tool(needs_approval=True)", "@tool", "hook_missing", "pay"),
        (", hooks=[Audit()]", "", "hook_missing", "Audit"),
        ('agent = Agent("shop"', 'agent = Agent("other"', "other_run", "shop"),
    ],
)
def test_what_changed_is_refused_by_name(shell: Shell, old: str, new: str, code: str, subject: str) -> None:
    shell.start()
    assert old in APP
    shell.write(APP.replace(old, new))
    exit_code, (plan,), errors = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    assert (exit_code, plan["resumable"]) == (3, False)
    assert (code, subject) in [(item["code"], item["subject"]) for item in plan["refusals"]]
    assert f"runinspect: {subject}: {code}" in errors
    exit_code, lines, errors = shell.resume("--approve", "c2", "--deny", "c3", "--accept", "runs_again")
    assert (exit_code, lines, shell.paid()) == (3, [], [])
    assert subject in errors
    accepts = [part for name in (code, "tool_changed", "hook_missing") for part in ("--accept", name)]
    assert shell.resume("--deny", "c2", "--deny", "c3", *accepts)[0] == 0


def test_a_changed_tool_must_be_accepted(shell: Shell) -> None:
    shell.start()
    shell.write(APP.replace("def pay(order: str, amount: int)", "def pay(order: str, amount: int, fee: int = 0)"))
    assert shell.resume("--approve", "c2", "--deny", "c3")[0] == 3
    assert shell.resume("--approve", "c2", "--deny", "c3", "--accept", "tool_changed")[0] == 0
    assert shell.paid() == ["A 5"]


def test_a_question_is_answered(shell: Shell) -> None:
    code, lines, _ = shell.start("asking")
    assert (code, lines[-1]["reason"]) == (4, "input")
    _, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:asking", "--json")
    assert [(need["question"], need["detail"]) for need in plan["needs"]] == [("answer", "which one?")]
    code, lines, _ = shell("resume", "a.jsonl", "--app", "app.py:asking", "--answer", 'c1="the first"', "--json")
    assert (code, lines[-1]["status"]) == (0, "completed")


def test_limits_and_failures(shell: Shell) -> None:
    code, lines, _ = shell.start("short")
    assert (code, lines[-1]["status"], lines[-1]["reason"]) == (1, "failed", "max_turns")
    code, _, errors = shell("resume", "a.jsonl", "--app", "app.py:short", "--json")
    assert code == 3
    assert "terminal" in errors
    code, lines, _ = shell("resume", "a.jsonl", "--app", "app.py:short", "--max-turns", "3", "--json")
    assert (code, lines[-1]["output"]) == (0, "done")
    code, lines, _ = shell.start("invalid", "b.jsonl")
    assert (code, lines[-1]["reason"]) == (1, "unknown_tool")
    assert shell("resume", "b.jsonl", "--app", "app.py:invalid")[0] == 3


def test_an_earlier_step_and_what_it_leaves_behind(shell: Shell) -> None:
    shell.start()
    code, _, errors = shell.resume("--step", "1")
    assert code == 3
    assert "side_effects" in errors
    _, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--step", "1", "--json")
    left = [item["subject"] for item in plan["warnings"] if item["code"] == "side_effects"]
    assert left == ["look"], "the others of its batch only wait"
    code, lines, _ = shell.resume("--step", "1", "--accept", "side_effects")
    assert (code, lines[-1]["replayed"]) == (4, 1)
    assert shell.resume("--step", "9")[0] == 2


def test_a_plan_that_was_agreed_to(shell: Shell) -> None:
    shell.start()
    _, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    shell.write(APP + "\n# mended\n")
    code, _, errors = shell.resume("--deny", "c2", "--deny", "c3", "--plan", plan["plan"])
    assert code == 3
    assert "plan_changed" in errors
    _, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    assert shell.resume("--deny", "c2", "--deny", "c3", "--plan", plan["plan"])[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "app.py:agent"],
        ["run", "app.py:agent", "--input", "go"],
        ["run", "app.py:thing", "--input", '"go"'],
        ["run", "gone.py:agent", "--input", '"go"'],
        ["resume", "a.jsonl", "--app", "app.py:thing"],
        ["resume", "a.jsonl", "--app", "app.py:agent", "--approve", "nobody"],
        ["resume", "gone.jsonl", "--app", "app.py:agent"],
        ["check", "a.jsonl"],
    ],
)
def test_what_makes_no_sense_is_a_usage_error(shell: Shell, arguments: list[str]) -> None:
    if "a.jsonl" in arguments:
        shell.start()
    code, _, errors = shell(*arguments)
    assert code == 2
    assert errors.splitlines()[-1].startswith("runinspect: ")


SLOW = (
    APP
    + '''
import time
def slowly(order: str) -> str:
    """Takes its time."""
    with open("begun", "a") as file:
        file.write("x")
    time.sleep(60 if not __import__("os").path.exists("quick") else 0)
    return "5"
look = tool(name="look")(slowly)
agent = Agent("shop", ScriptedModel([Call("look", {"order": "A"})], "done"), tools=[look])
'''
)


def begun(shell: Shell) -> "subprocess.Popen[str]":
    """A run of the command in the middle of a call."""
    shell.write(SLOW)
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", "run", "app.py:agent", "--input", '"go"', "--trace", "a.jsonl"],
        cwd=shell.folder,
        env=shell.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for _ in range(1200):
        if (shell.folder / "begun").exists():
            return process
        time.sleep(0.05)
    raise AssertionError("it did not begin")


def test_killed_in_a_call(shell: Shell) -> None:
    process = begun(shell)
    code, _, errors = shell.resume()
    assert code == 5
    assert "owned" in errors
    assert str(process.pid) in errors
    _, (shown,), _ = shell("show", "a.jsonl", "--json")
    assert [item["status"] for item in shown["state"]["pending"]] == ["in_flight"]
    code, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    assert (code, [refusal["code"] for refusal in plan["refusals"]]) == (3, ["owned"])
    assert plan["refusals"][0]["remedy"] == "take_over"
    assert (plan["needs"], plan["runs"], plan["runs_again"]) == ([], [], []), "the call is its owner's"
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, (shown,), _ = shell("show", "a.jsonl", "--json")
    assert [item["status"] for item in shown["state"]["pending"]] == ["ambiguous"]
    (shell.folder / "quick").touch()
    code, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    assert (code, [need["question"] for need in plan["needs"]]) == (0, ["reconcile"])
    code, lines, _ = shell.resume()
    assert (code, lines[-1]["reason"]) == (4, "reconciliation")
    code, lines, _ = shell.resume("--reconcile", "c1=retry")
    assert (code, lines[-1]["output"], (shell.folder / "begun").read_text()) == (0, "done", "xx")


HEARING = """
import os, signal
from inspector import Agent, Call, Hook, ScriptedModel, tool

@tool
def look() -> str:
    if not os.path.exists("calm"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "5"

class Knows(Hook):
    def on_ambiguous(self, event):
        answer = os.environ["ANSWER"]
        if answer == "raise":
            raise ValueError("no idea")
        return event.result("4") if answer == "result" else getattr(event, answer)()

agent = Agent("shop", ScriptedModel([Call("look")], "done"), tools=[look], hooks=[Knows()])
"""


@pytest.mark.parametrize(
    ("answer", "code", "status", "reason"),
    [
        ("result", 0, "completed", None),
        ("retry", 0, "completed", None),
        ("leave", 4, "suspended", "reconciliation"),
        ("proceed", 4, "suspended", "reconciliation"),
        ("abort", 1, "failed", "operator_abort_with_unknown_outcome"),
        ("raise", 1, "failed", "hook"),
    ],
)
def test_a_hook_is_asked_about_what_may_have_happened(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, status: str, reason: str | None
) -> None:
    monkeypatch.setenv("ANSWER", answer)
    shell.write(HEARING)
    arguments = [sys.executable, "-m", "inspector", "run", "app.py:agent", "--input", '"go"', "--trace", "a.jsonl"]
    subprocess.run(arguments, cwd=shell.folder, env=shell.env, capture_output=True, check=False)
    (shell.folder / "calm").touch()
    found, (plan,), _ = shell("check", "a.jsonl", "--app", "app.py:agent", "--json")
    assert (found, plan["needs"]) == (0, [])
    assert [item["note"] for item in plan["runs_again"]] == ["it may have happened; a hook is asked"]
    found, lines, _ = shell.resume("--trace", "b.jsonl")
    assert (found, lines[-1]["status"], lines[-1]["reason"]) == (code, status, reason)
    assert ("suspended" in [line["event"] for line in lines]) == (status == "suspended")
    if code == 4 or answer == "raise":
        found, lines, _ = shell.resume("--reconcile", "c1=retry", trace="b.jsonl")
        assert (found, lines[-1]["output"]) == (0, "done")


def test_interrupted_twice_gives_up_what_is_under_way(shell: Shell) -> None:
    process = begun(shell)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None  # the first one waits for the call
    process.send_signal(signal.SIGKILL)
    process.wait()


RIG = ROOT / "tests" / "runner" / "data"


def test_a_run_that_was_killed_in_its_first_line_has_done_nothing_and_says_so(shell: Shell) -> None:
    assert shell.start(trace="whole.jsonl")[0] == 4
    (shell.folder / "a.jsonl").write_bytes((shell.folder / "whole.jsonl").read_bytes()[:100])
    code, _, err = shell.resume()
    assert code == 3
    assert "not_resumable: what the run was stands at its beginning" in err


def test_a_trace_may_have_a_name_that_is_no_utf_8(shell: Shell) -> None:
    name, other = os.fsdecode(b"a\xff.jsonl"), os.fsdecode(b"b\xff.jsonl")
    code, lines, _ = shell.start(trace=name)
    assert (code, lines[-1]["trace"]) == (4, "a\\udcff.jsonl")
    assert shell("check", name, "--app", "app.py:agent")[0] == 0
    assert shell.resume("--approve", "c2", "--deny", "c3=\udcff", "--trace", other, trace=name)[0] == 0
    code, _, errors = shell.resume("--approve", "c2", trace=name)
    assert (code, "already_resumed" in errors) == (3, True)


def test_files_of_rig(shell: Shell) -> None:
    for name, code, word in (("failed", 3, "terminal"), ("awaiting", 3, "model_in_flight"), ("done", 3, "terminal")):
        shutil.copy(RIG / f"rig_{name}.json", shell.folder / "run.json")
        found, (plan,), errors = shell("check", "run.json", "--app", "app.py:agent", "--json")
        assert (found, plan["resumable"], [item["code"] for item in plan["refusals"]]) == (code, False, [word]), errors
    shutil.copy(RIG / "rig_preparing.json", shell.folder / "run.json")
    code, lines, errors = shell.resume("--trace", "b.jsonl", trace="run.json")
    # The run insists on a tool that this agent does not have.
    assert (code, lines[-1]["status"], lines[-1]["reason"]) == (1, "failed", "request")
    assert "search_flights" in lines[-2]["message"]
    shutil.copy(RIG / "rig_executing.json", shell.folder / "run.json")
    code, (plan,), _ = shell("check", "run.json", "--app", "app.py:agent", "--json")
    assert [(item["code"], item["subject"]) for item in plan["refusals"]] == [
        ("tool_missing", "get_weather"),
        ("tool_missing", "search_flights"),
    ]


NOT_ON_OFFER = """
from app import *
from inspector import Control

typo = Agent("shop", ScriptedModel([Call("lock", {"order": "A"}, call_id="n1")], "done"), tools=[look, pay])
if __name__ == "__main__":
    control = Control()
    asked = typo.prompt("go").control(control)
    asked.observe(lambda event: control.stop() if event["event"] == "step" else None).run_sync(trace="a.jsonl")
"""


@pytest.fixture
def stopped(shell: Shell) -> Shell:
    """A run that was stopped behind a call of a tool that nobody has."""
    (shell.folder / "typo.py").write_text(NOT_ON_OFFER)
    subprocess.run([sys.executable, "typo.py"], check=True, env=shell.env | {"PYTHONPATH": str(ROOT)})
    return shell


@pytest.mark.parametrize(
    ("how", "code", "reason", "told"),
    [
        ("repair:look", 0, None, ["5"]),
        ("retry:there is no lock", 0, None, ["there is no lock"]),
        ("skip:not now", 0, None, ["not now"]),
        ("skip", 0, None, ["There is no tool 'lock'. Call only the tools that are offered."]),
        ("fail:bad", 1, "unknown_tool", []),
        ("stop:enough", 1, "cancelled", []),
        (None, 1, "unknown_tool", []),
    ],
)
def test_a_call_that_was_not_on_offer_is_resolved(
    stopped: Shell, how: str | None, code: int, reason: str | None, told: list[str]
) -> None:
    _, (run,), _ = stopped("show", "a.jsonl", "--json")
    assert (run["run"]["status"], run["run"]["reason"]) == ("suspended", "invalid_tool_call")
    checked, (plan,), _ = stopped("check", "a.jsonl", "--app", "typo.py:typo", "--json")
    assert (checked, plan["runs"][0]["call_id"]) == (0, "n1")
    assert plan["runs"][0]["note"] == (
        "was not on offer: repair it to one of these (look, pay), retry (1 left), skip, fail, stop; "
        "else the hooks decide, and where none does the run fails"
    )
    options = () if how is None else ("--resolve", f"n1={how}", "--why", "n1=a typo")
    again = ("--app", "typo.py:typo", *options, "--trace", "b.jsonl", "--json")
    ended, lines, errors = stopped("resume", "a.jsonl", *again)
    assert (ended, lines[-1]["reason"]) == (code, reason), errors
    records = [json.loads(line) for line in (stopped.folder / "b.jsonl").read_text().splitlines()]
    made = [(line["what"], line["subject"], line["reason"]) for line in records if line["record"] == "decision"]
    assert made == ([("resolve", "n1", "a typo")] if how else [])
    said = [
        part["text"]
        for message in records[-2]["machine"]["messages"]
        for result in message["content"] if result["type"] == "result"
        for part in result["content"]
    ]  # fmt: skip
    assert said == told


@pytest.mark.parametrize(
    ("wrong", "words"),
    [("n1=repair", "--resolve"), ("n1=guess", "--resolve"), ("n2=skip", "n2"), ("n1=repair:x", "x: is")],
)
def test_a_resolution_that_is_none_is_refused(stopped: Shell, wrong: str, words: str) -> None:
    code, lines, errors = stopped("resume", "a.jsonl", "--app", "typo.py:typo", "--resolve", wrong, "--json")
    assert (code, lines, words in errors) == (2, [], True), errors
