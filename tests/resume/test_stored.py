"""The command on a store: run, runs, check, resume, export, import, and every exit code."""

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector import cli as command
from inspector import exits
from inspector.errors import StoreError
from inspector.process import born, program
from inspector.resume.apps import load
from inspector.store import open_store
from inspector.store.sqlite import SQLite
from tests.store.backends import THERE, created, wanted

APP = """
from inspector import Agent, Call, ScriptedModel, tool

@tool(needs_approval=True)
async def pay(amount: int) -> str:
    return f"paid {amount}"

agent = Agent("till", ScriptedModel([Call("pay", {"amount": 5})], "done"), tools=[pay])
"""


class Shell:
    """A folder, a program in it, and the command."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture
        self.app(APP)

    def app(self, text: str) -> None:
        (self.folder / "till.py").write_text(text)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        given = [*arguments, "--app", "till.py:agent"] if arguments[0] in ("check", "resume") else [*arguments]
        self._capture.readouterr()
        code = exits.guarded(lambda: command.run(given))
        out, errors = self._capture.readouterr()
        assert "Traceback" not in errors, errors
        return code, out, errors

    def json(self, *arguments: str) -> tuple[int, list[Any]]:
        code, out, _ = self(*arguments, "--json")
        return code, [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return Shell(tmp_path, capfd)


def test_a_run_from_its_start_to_its_replay(shell: Shell) -> None:
    start = ("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", "r-1")
    code, events = shell.json(*start)
    assert (code, events[-1]["run"], events[-1]["status"], events[-1]["trace"]) == (4, "r-1", "suspended", "runs.db")
    code, _, err = shell(*start)
    assert (code, err.count("\n"), "run_exists" in err) == (2, 1, True)
    code, (listed,) = shell.json("runs", "runs.db")
    assert [(row["id"], row["status"], row["reason"]) for row in listed["runs"]] == [("r-1", "suspended", "approval")]
    code, (plan,) = shell.json("check", "runs.db", "--run", "r-1")
    assert (code, plan["resumable"], plan["driver"], [need["call_id"] for need in plan["needs"]]) == (
        0,
        True,
        "agent",
        ["c1"],
    )
    before = (shell.folder / "runs.db").read_bytes()
    code, events = shell.json("resume", "runs.db", "--run", "r-1")
    assert (code, events[-1]["status"], (shell.folder / "runs.db").read_bytes()) == (4, "suspended", before)
    assert events[-1]["outcome"] is None, "nothing was decided, so that nothing went on"
    code, events = shell.json("resume", "runs.db", "--run", "r-1", "--approve", "c1", "--plan", plan["plan"])
    assert (code, events[-1]["status"], events[-1]["output"]) == (0, "completed", "done")
    assert (events[-1]["replayed"], events[-1]["ran"], events[-1]["trace"]) == (2, 2, "runs.db")
    assert events[-1]["outcome"] == "started"
    code, events = shell.json("resume", "sqlite:///runs.db", "--run", "r-1")
    assert (code, [event["event"] for event in events], events[-1]["output"]) == (0, ["result"], "done")
    assert (events[-1]["outcome"], events[-1]["replayed"], events[-1]["ran"]) == ("terminal_replay", 4, 0)
    code, _, err = shell("resume", "runs.db", "--run", "r-1", "--plan", plan["plan"])
    assert (code, "plan_changed" in err) == (3, True)


def test_the_default_store_is_listed_with_the_traces(shell: Shell) -> None:
    assert shell("runs")[0] == 0
    assert "no runs yet" in shell("runs")[2]
    shell("run", "till.py:agent", "--input", '"go"')
    default = str(shell.folder / "XDG_DATA_HOME" / "runinspect" / "runs.db")
    shell("run", "till.py:agent", "--input", '"go"', "--store", default, "--key", "r-1")
    _, (listed,) = shell.json("runs")
    assert [row["id"] == "r-1" for row in listed["runs"]] == [False, True]
    _, (listed,) = shell.json("runs", "--status", "completed")
    assert listed["runs"] == []
    assert shell("runs", "--status", "nonsense")[0] == 2
    assert (os.stat(default).st_mode & 0o777, os.stat(os.path.dirname(default)).st_mode & 0o700) == (0o600, 0o700)


def test_folders_of_wfpy_are_listed_with_the_others_and_what_cannot_be_read_hides_none(shell: Shell) -> None:
    shell("run", "till.py:agent", "--input", '"go"')
    folder = shell.folder / "XDG_DATA_HOME" / "runinspect" / "wfpy"
    folder.mkdir()
    (folder / "a.decisions.jsonl").write_text("{}\n")
    code, (listed,) = shell.json("runs")
    assert (code, len(listed["runs"]), [problem["where"] for problem in listed["problems"]]) == (0, 1, [str(folder)])
    shutil.copytree(Path(__file__).parents[2] / "examples" / "wfpy-failed", folder / "w-1")
    code, (listed,) = shell.json("runs")
    assert (code, [run["name"] for run in listed["runs"]], listed["problems"]) == (0, ["shop", "till"], [])


def test_the_newest_are_listed(shell: Shell) -> None:
    for key in ("r-1", "r-2", "r-3"):
        shell("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", key)
    shell("resume", "runs.db", "--run", "r-2", "--approve", "c1")
    _, (listed,) = shell.json("runs", "runs.db", "--limit", "2")
    assert [row["id"] for row in listed["runs"]] == ["r-2", "r-3"]
    _, (listed,) = shell.json("runs", "runs.db", "--limit", "1", "--status", "suspended")
    assert [row["id"] for row in listed["runs"]] == ["r-3"]
    _, (listed,) = shell.json("runs", ".", "--limit", "1")
    assert [row["id"] for row in listed["runs"]] == ["r-3"]
    assert shell("runs", "runs.db", "--limit", "0")[0] == 2


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        ("UPDATE records SET line = CAST(replace(line, '\"phase\":', '\"phaze\":') AS BLOB)", "value_unreadable"),
        ("UPDATE records SET line = CAST(replace(line, '\"machine\":', '\"xachine\":') AS BLOB)", "not_resumable"),
        ("DELETE FROM records WHERE kind = 'operation'", "value_unreadable"),
    ],
)
def test_what_cannot_be_restored_is_refused_by_check_too(shell: Shell, harm: str, code: str) -> None:
    shell("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", "r-1")
    on = sqlite3.connect("runs.db")
    on.execute(harm)
    on.commit()
    on.close()
    exit_code, (plan,) = shell.json("check", "runs.db", "--run", "r-1")
    assert (exit_code, plan["resumable"], [found["code"] for found in plan["refusals"]]) == (3, False, [code])
    before = (shell.folder / "runs.db").read_bytes()
    exit_code, _, err = shell("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    assert (exit_code, code in err, (shell.folder / "runs.db").read_bytes()) == (3, True, before)


def test_what_may_have_happened_is_told_with_its_reason_and_the_key_to_look_it_up_by(shell: Shell) -> None:
    shell.app(APP.replace("(needs_approval=True)", "").replace('return f"paid {amount}"', 'raise OSError("line cut")'))
    start = ("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", "r-1")
    assert shell.json(*start)[1][-1]["reason"] == "reconciliation"
    for decided in ((), ("--reconcile", "c1=leave")):
        if decided:
            assert shell("resume", "runs.db", "--run", "r-1", *decided)[0] == 4
        _, (plan,) = shell.json("check", "runs.db", "--run", "r-1")
        store = open_store("runs.db")
        (row,) = store.operations("r-1", open_only=True)
        store.close()
        (need,) = plan["needs"]
        assert need["detail"] == (
            "raised OSError: line cut, which does not say what it did: it may have happened "
            f"(idempotency key {row.operation.idempotency_key})"
        )
        _, (shown,) = shell.json("show", "runs.db", "--run", "r-1")
        (pending,) = shown["state"]["pending"]
        assert (pending["status"], pending["note"]) == ("ambiguous", need["detail"])


def test_turns_are_listed_and_resumed_as_what_they_are(shell: Shell) -> None:
    shell.app(
        APP.replace("ScriptedModel, tool", "ScriptedModel, ToolContext, tool")
        .replace("pay(amount: int)", "pay(amount: int, context: ToolContext)")
        .replace('f"paid {amount}"', "f\"paid {context.metadata['currency']} {context.metadata['turn']}\"")
    )
    agent = load("till.py:agent").value
    store = open_store("runs.db")
    store.new_thread("talk \x1b[2J", {"currency": "EUR"})
    agent.prompt("go").durable(store, key="k", thread="talk \x1b[2J", turn="t1").run_sync()
    shown = "talk \\u001b[2J"
    _, (listed,) = shell.json("runs", "runs.db")
    assert [(row["id"], row["thread"], row["turn"]) for row in listed["runs"]] == [("k", shown, "t1")]
    assert f"turn t1 of {shown}" in shell("runs", "runs.db")[1]
    store.archive("talk \x1b[2J")
    code, _, err = shell("resume", "runs.db", "--run", "k", "--approve", "c1")
    assert (code, "thread_archived" in err, err.count("\n")) == (2, True, 1)
    store.archive("talk \x1b[2J", False)
    code, events = shell.json("resume", "runs.db", "--run", "k", "--approve", "c1")
    assert (code, events[-1]["status"]) == (0, "completed")
    _, (told,) = shell.json("show", "runs.db", "--run", "k")
    assert "paid EUR t1" in [message["text"] for message in told["state"]["messages"]]
    store.close()


def test_a_run_that_goes_on_in_the_store_has_no_trace(shell: Shell) -> None:
    shell("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", "r-1")
    code, _, err = shell("resume", "runs.db", "--run", "r-1", "--approve", "c1", "--trace", "x.jsonl")
    assert (code, "--trace: the run goes on in the store" in err) == (2, True)
    assert not (shell.folder / "x.jsonl").exists()


def test_whoever_drives_a_run_is_named_and_can_be_taken_over(shell: Shell) -> None:
    shell("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", "r-1")
    path = os.fspath(shell.folder / "runs.db")
    store = open_store(path)
    row = store.read("r-1")
    now = store.clock()
    claim = wanted(
        step=row.steps + 1, revision=row.revision, mode="recovery", now=now, expires=now + 900_000, program=THERE
    )
    store.backend.claim("r-1", claim)
    code, (plan,) = shell.json("check", "runs.db", "--run", "r-1")
    assert (code, [refusal["code"] for refusal in plan["refusals"]]) == (3, ["owned"])
    assert "process 5 on there since" in plan["refusals"][0]["detail"]
    code, _, err = shell("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    assert (code, "owned" in err, "process 5 on there" in err, err.count("\n")) == (5, True, True, 1)
    code, events = shell.json("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    assert (code, [event["event"] for event in events]) == (5, ["refused"])
    assert events[0]["outcome"] == "existing_owner"
    assert [found["code"] for found in events[0]["refusals"]] == ["owned"]
    code, events = shell.json("resume", "runs.db", "--run", "r-1", "--take-over", "there is down")
    assert (code, events[-1]["status"], events[-1]["outcome"]) == (4, "suspended", "started")
    taken = store.read("r-1")
    assert (taken.claim, taken.attempt) == (None, row.attempt + 2), "nothing else was to be done, and it was taken"
    with pytest.raises(StoreError) as refused:
        store.backend.renew("r-1", claim.token, now, now + 1)
    assert refused.value.code == "claim_lost"
    (told,) = [json.loads(line) for line in store.journal("r-1") if line.startswith(b'{"record":"decision"')]
    assert (told["what"], told["reason"]) == ("take over", "there is down")
    code, events = shell.json("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    assert (code, events[-1]["status"]) == (0, "completed")
    store.close()


def test_a_changed_program_is_refused_by_name(shell: Shell) -> None:
    shell("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", "r-1")
    before = (shell.folder / "runs.db").read_bytes()
    shell.app(APP.replace("tools=[pay]", 'tools=[pay], instructions="Be kind."'))
    code, (plan,) = shell.json("check", "runs.db", "--run", "r-1")
    assert (code, [(found["code"], found["detail"], found["remedy"]) for found in plan["refusals"]]) == (
        3,
        [("definition_changed", "settings.instructions changed", "accept")],
    )
    assert plan["diff"]["settings"] == [{"path": "instructions", "left": None, "right": "Be kind."}]
    code, events = shell.json("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    assert (code, [(event["event"], event["outcome"]) for event in events]) == (3, [("refused", "refused")])
    code, _, err = shell("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    assert (code, "definition_changed" in err, (shell.folder / "runs.db").read_bytes()) == (3, True, before)
    accepted = ("--approve", "c1", "--accept", "definition_changed")
    assert shell("resume", "runs.db", "--run", "r-1", *accepted)[0] == 0


def test_a_run_goes_on_from_an_earlier_step_as_a_trace_of_its_own(shell: Shell) -> None:
    shell("run", "till.py:agent", "--input", '"go"', "--store", "runs.db", "--key", "r-1")
    shell("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    before = (shell.folder / "runs.db").read_bytes()
    fork = ("resume", "runs.db", "--run", "r-1", "--step", "1", "--approve", "c1", "--trace", "fork.jsonl")
    assert shell(*fork)[0] == 3
    code, events = shell.json(*fork, "--accept", "side_effects")
    assert (code, events[-1]["status"], events[-1]["trace"]) == (0, "completed", "fork.jsonl")
    code, events = shell.json(*fork[:-2], "--accept", "side_effects", "--accept", "already_resumed")
    assert (code, Path(events[-1]["trace"]).stem) == (0, events[-1]["run"])
    assert (shell.folder / "runs.db").read_bytes() == before


NET = """
from inspector import Network, actor

@actor
def add(x: int) -> int:
    with open("fired", "a") as file:
        file.write("add ")
    return x + 1

@actor
def double(x: int) -> int:
    with open("fired", "a") as file:
        file.write("double ")
    return x * 2

agent = net = Network("sums")
adding, doubling = net.add(add), net.add(double)
net.connect(net.input("x"), adding.x)
net.connect(adding.out, doubling.x)
net.connect(doubling.out, net.output("y"))
"""


def test_a_network_goes_on_from_an_earlier_step_as_a_trace_of_its_own(shell: Shell) -> None:
    shell.app(NET)
    start = ("run", "till.py:agent", "--input", '{"x": [5]}', "--store", "runs.db", "--key", "n")
    assert shell.json(*start)[1][-1]["output"] == {"y": [12]}
    again = shell.json("resume", "runs.db", "--run", "n")[1][-1]
    assert (again["run"], again["outcome"], again["output"], again["ran"]) == ("n", "terminal_replay", {"y": [12]}, 0)
    before = (shell.folder / "runs.db").read_bytes()
    code, (plan,) = shell.json("check", "runs.db", "--run", "n", "--step", "1")
    assert (code, plan["resumable"], [run["name"] for run in plan["runs"]]) == (0, True, ["double"])
    fork = ("resume", "runs.db", "--run", "n", "--step", "1", "--trace", "fork.jsonl", "--accept", "side_effects")
    assert shell(*fork)[0] == 3, "that a completed firing is made once more is to be accepted"
    fork = (*fork, "--accept", "runs_again")
    code, events = shell.json(*fork)
    assert (code, events[-1]["output"], events[-1]["trace"]) == (0, {"y": [12]}, "fork.jsonl")
    assert (events[-1]["replayed"], events[-1]["ran"]) == (1, 1)
    assert (shell.folder / "fired").read_text().split() == ["add", "double", "double"]
    assert (shell.folder / "runs.db").read_bytes() == before
    code, _, err = shell(*fork)
    assert (code, "already_resumed" in err) == (3, True), err


def test_a_trace_goes_into_a_store_and_out_again(shell: Shell) -> None:
    shell("run", "till.py:agent", "--input", '"go"', "--trace", "a.jsonl")
    code, out, _ = shell("import", "a.jsonl", "--store", "runs.db", "--key", "r-1")
    assert (code, out.split()[:4]) == (0, ["r-1", "agent", "suspended", "2"])
    assert shell("import", "a.jsonl", "--store", "runs.db", "--key", "r-1")[0] == 2
    assert shell("export", "runs.db", "--raw", "-o", "b.jsonl")[0] == 0
    assert (shell.folder / "a.jsonl").read_bytes() == (shell.folder / "b.jsonl").read_bytes()
    code, events = shell.json("resume", "runs.db", "--run", "r-1", "--approve", "c1")
    assert (code, events[-1]["status"]) == (0, "completed")
    code, _, err = shell("import", "till.py", "--store", "runs.db")
    assert (code, "record_invalid" in err, err.count("\n")) == (2, True, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "till.py:agent", "--input", '"go"', "--key", "k"), "--store"),
        (("run", "till.py:agent", "--input", '"go"', "--store", "a.db", "--trace", "t"), "one of"),
        (("run", "till.py:agent", "--input", '"go"', "--store", "postgres://x/y"), "no store is known"),
        (("run", "till.py:agent", "--input", '"go"', "--store", "till.py"), "no SQLite database"),
        (("run", "till.py:agent", "--input", '"go"', "--store", "a.db", "--key", ""), "a key that is not blank"),
        (("run", "till.py:agent", "--input", '"go"', "--store", "a.db", "--key", "é" * 257), "has 514 bytes"),
        (("runs", "postgres://x/y"), "no store is known"),
        (("resume", "runs.db", "--run", "k"), "no such file"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(shell: Shell, arguments: tuple[str, ...], words: str) -> None:
    code, _, err = shell(*arguments)
    assert (code, words in err, err.count("\n")) == (2, True, 1), err


def test_a_live_owner_of_this_host_is_seen(shell: Shell) -> None:
    path = os.fspath(shell.folder / "runs.db")
    backend = SQLite(path)
    now = open_store(path).clock()
    created(backend, "k", now=now)
    backend.claim("k", wanted(now=now, expires=now + 900_000, program=program(), born=born(os.getpid())))
    code, (listed,) = shell.json("runs", "runs.db")
    assert (code, listed["runs"][0]["status"], listed["runs"][0]["holder"]) == (
        0,
        "running",
        f"{program().host}:{os.getpid()}",
    )
    backend.close()
