"""Values of a saved state edited for a fork: what is taken, what is refused by name, and what is written down of it."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector import Agent, Call, ScriptedModel, exits, tool
from inspector import cli as command
from inspector.model.values import to_json
from inspector.resume.apps import load
from inspector.resume.jobs import open_job
from inspector.resume.plan import split_edit
from inspector.runner.outcomes import Started
from inspector.store import open_store

ROOT = Path(__file__).parent.parent.parent

NET = """
import dataclasses
from inspector import Network, actor, Call, Agent, ScriptedModel, tool

@dataclasses.dataclass
class Load:
    name: str
    weight: int

class Other:
    pass

@actor
def pack(name: str, context) -> Load:
    context.set("last", name)
    return Load(name, len(name))

@actor
class Weigh:
    total: int = 0
    seen: set = dataclasses.field(default_factory=set)

    def fire(self, load: Load):
        self.total += load.weight
        return f"{load.name} {self.total}"

net = Network("cargo")
packing, weighing = net.add(pack), net.add(Weigh())
net.connect(net.input("names"), packing.name)
net.connect(packing.out, weighing.load)
net.connect(weighing.out, net.output("weights"))
"""

AGENT = """
from inspector import Agent, Call, ScriptedModel, tool

@tool(idempotency="supported")
def look(order: str) -> dict:
    return {"order": order, "amount": 5}

@tool(needs_approval=True)
def pay(order: str, amount: int) -> str:
    return f"paid {amount} for {order}"

agent = Agent(
    "till",
    ScriptedModel([Call("look", {"order": "A"})], [Call("pay", {"order": "A", "amount": 5})], "done"),
    tools=[look, pay],
)
"""


class Shell:
    """A folder with two programs, and the command."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture
        (folder / "cargo_edits.py").write_text(NET)
        (folder / "till_edits.py").write_text(AGENT)

    def __call__(self, *arguments: str) -> tuple[int, list[Any], str]:
        self._capture.readouterr()
        code = exits.guarded(lambda: command.run([*arguments, "--json"]))
        out, errors = self._capture.readouterr()
        assert "Traceback" not in errors, errors
        return code, [json.loads(line) for line in out.splitlines()], errors

    def audited(self) -> list[Any]:
        return [json.loads(line) for line in (self.folder / "audit.jsonl").read_text().splitlines()]


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("RUNINSPECT_AUDIT", str(tmp_path / "audit.jsonl"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return Shell(tmp_path, capfd)


def records(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


CARGO, TILL = ("--app", "cargo_edits.py:net"), ("--app", "till_edits.py:agent")
ALL = ("--accept", "runs_again", "--accept", "side_effects", "--accept", "already_resumed")
TOKEN = "queues.pack.out-->weigh.load[0]"


def cargo(shell: Shell, *where: str) -> None:
    code, _, errors = shell("run", "cargo_edits.py:net", "--input", '{"names": ["tea", "bees"]}', *where)
    assert code == 0, errors


def load_of(name: str, weight: Any, kind: str = "cargo_edits:Load") -> str:
    return json.dumps({"$type": "object", "class": kind, "state": {"name": name, "weight": weight}})


@pytest.mark.parametrize("kept", ["file", "store"])
def test_a_token_a_state_field_and_a_context_value_of_a_network(shell: Shell, kept: str) -> None:
    where = ("--trace", "a.jsonl") if kept == "file" else ("--store", "runs.db", "--key", "one")
    cargo(shell, *where)
    source = ("a.jsonl",) if kept == "file" else ("runs.db", "--run", "one")
    before = Path(source[0]).read_bytes()
    edits = (
        *("--edit", f"{TOKEN}={load_of('coal', 100)}"),
        *("--edit", "actors.weigh.state.total=7", "--edit", 'values.last="nobody"'),
    )
    code, (plan,), _ = shell("check", *source, *CARGO, "--step", "1", *edits)
    assert code == 0
    assert [(edit["path"], edit["before"]) for edit in plan["edits"]] == [
        (TOKEN, json.loads(load_of("tea", 3))),
        ("actors.weigh.state.total", 0),
        ("values.last", "tea"),
    ]
    code, lines, errors = shell(
        "resume", *source, *CARGO, "--step", "1", *edits, *ALL, "--plan", plan["plan"], "--trace", "b.jsonl",
        "--why", f"{TOKEN}=it was = coal",
    )  # fmt: skip
    assert code == 0, errors
    assert lines[-1]["output"] == {"weights": ["coal 107", "bees 111"]}
    assert Path(source[0]).read_bytes() == before, "the run that is resumed stays as it is"
    decided = [record for record in records("b.jsonl") if record["record"] == "decision"]
    assert {each["subject"] for each in decided if each["what"] == "accept"} == {*ALL[1::2]}
    made = [each for each in decided if each["what"] == "edit"]
    assert [(each["what"], each["subject"]) for each in made] == [
        ("edit", TOKEN),
        ("edit", "actors.weigh.state.total"),
        ("edit", "values.last"),
    ]
    assert made[0]["value"] == {"before": json.loads(load_of("tea", 3)), "after": json.loads(load_of("coal", 100))}
    assert made[0]["reason"] == "it was = coal"
    assert "@" in made[0]["who"]
    assert made[0]["at"]
    code, lines, _ = shell("resume", "b.jsonl", *CARGO)
    assert (code, lines[-1]["output"]) == (0, {"weights": ["coal 107", "bees 111"]}), "a terminal replay of the fork"
    audited = [(each["what"], each["subject"], each.get("reason")) for each in shell.audited()]
    assert ("edit", TOKEN, "it was = coal") in audited


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (f"{TOKEN}=5", "the value is object cargo_edits:Load, and this is plain JSON"),
        (f"{TOKEN}={load_of('a', 1, 'cargo_edits:Other')}", "and this is object cargo_edits:Other"),
        (f'{TOKEN}={{"$type": "object", "class": "cargo_edits:Load", "state": {{}}}}', "cannot read it"),
        ("queues.in.names-->pack.name[0]=5", "pack.name takes str, not int: 5"),
        ("queues.in.names-->pack.name[1]=\"a\"", "the queue holds 1 tokens"),
        ("queues.gone[0]=1", "there is no such queue; there are in.names-->pack.name"),
        ('actors.weigh.state.total="x"', "weigh.total is int, not str"),
        ("actors.weigh.state.seen=[1]", "the value is a set, and this is plain JSON"),
        ("actors.weigh.state.other=1", "it has total, seen"),
        ("actors.none.state.other=1", "there are pack, weigh"),
        ("values.none=1", "there are last"),
        ('messages[0].text="x"', "a network has no messages"),
    ],
)  # fmt: skip
def test_what_cannot_stand_in_a_network(shell: Shell, edit: str, why: str) -> None:
    cargo(shell, "--trace", "a.jsonl")
    code, (plan,), errors = shell("check", "a.jsonl", *CARGO, "--step", "1", "--edit", edit)
    assert code == 3
    assert [refusal["code"] for refusal in plan["refusals"]] == ["edit_invalid"]
    assert plan["refusals"][0]["subject"] == edit.partition("=")[0]
    assert why in plan["refusals"][0]["detail"]
    assert "edit_invalid" in errors
    code, _, errors = shell("resume", "a.jsonl", *CARGO, "--step", "1", "--edit", edit, *ALL, "--trace", "b.jsonl")
    assert code == 3
    assert not os.path.exists("b.jsonl")


GUARDED = """
from inspector import Network, action, actor

@actor
class Gate:
    limit: int = 10

    @action(guard=lambda self, number: 100 // number < self.limit)
    def low(self, number: int) -> int:
        return number

    @action()
    def high(self, number: int) -> int:
        return -number

net = Network("gate")
gate = net.add(Gate())
net.connect(net.input("numbers"), gate.number)
net.connect(gate.out, net.output("out"))
"""


def test_guards_judge_what_was_edited(shell: Shell) -> None:
    (shell.folder / "gate_edits.py").write_text(GUARDED)
    app = ("--app", "gate_edits.py:net", "--step", "0")
    assert shell("run", "gate_edits.py:net", "--input", '{"numbers": [50]}', "--trace", "g.jsonl")[0] == 0
    for edit, out in (("queues.in.numbers-->gate.number[0]=5", [-5]), ("actors.gate.state.limit=1", [-50])):
        code, lines, errors = shell("resume", "g.jsonl", *app, "--edit", edit, *ALL)
        assert (code, lines[-1]["output"]) == (0, {"out": out}), errors
    code, lines, _ = shell("resume", "g.jsonl", *app, "--edit", "queues.in.numbers-->gate.number[0]=0", *ALL)
    assert (code, lines[-1]["status"]) == (1, "failed"), "a guard that fails fails its firing"


def test_a_finished_run_is_edited_at_an_earlier_step_alone(shell: Shell) -> None:
    cargo(shell, "--trace", "a.jsonl")
    code, (plan,), _ = shell("check", "a.jsonl", *CARGO, "--edit", 'values.last="x"')
    assert (code, plan["edits"][0]["after"]) == (0, "x"), "a network goes on with nothing left to fire"


@given(st.integers(0, 3), st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_edited_to_what_it_was_changes_nothing(shell: Shell, step: int, data: st.DataObject) -> None:
    if not os.path.exists("a.jsonl"):
        cargo(shell, "--trace", "a.jsonl")
    job = open_job("a.jsonl", load("cargo_edits.py:net"), step=step)
    state = job.source.state(step)
    assert state is not None
    places = {
        f"queues.{queue.id}[{at}]": token for queue in state.queues or () for at, token in enumerate(queue.tokens or ())
    }
    places |= {f"actors.{a.id}.state.{name}": value for a in state.actors or () for name, value in a.state.items()}
    places |= {f"values.{name}": value for name, value in (state.values or {}).items()}
    chosen = data.draw(st.sets(st.sampled_from(sorted(places))))
    path = f"b{len(os.listdir('.'))}.jsonl"
    options = [text for place in chosen for text in ("--edit", f"{place}={to_json(places[place])}")]
    code, lines, errors = shell("resume", "a.jsonl", *CARGO, "--step", str(step), *options, *ALL, "--trace", path)
    assert code == 0, errors
    assert lines[-1]["output"] == {"weights": ["tea 3", "bees 7"]}


def test_the_keys_of_edited_firings_are_new(shell: Shell) -> None:
    cargo(shell, "--trace", "a.jsonl")
    for number, edit in enumerate(((), ("--edit", 'queues.in.names-->pack.name[0]="ants"'))):
        shell("resume", "a.jsonl", *CARGO, "--step", "1", *edit, *ALL, "--trace", f"b{number}.jsonl")

    def keys(path: str) -> set[str]:
        return {record["idempotency_key"] for record in records(path) if record.get("idempotency_key")}

    assert keys("b0.jsonl") < keys("a.jsonl")
    assert keys("b1.jsonl").isdisjoint(keys("a.jsonl"))


def till(shell: Shell, *where: str) -> None:
    code, _, errors = shell("run", "till_edits.py:agent", "--input", '"go"', *where)
    assert code == 4, errors


@pytest.mark.parametrize("kept", ["file", "store"])
def test_a_message_a_result_and_arguments_of_an_agent(shell: Shell, kept: str) -> None:
    where = ("--trace", "a.jsonl") if kept == "file" else ("--store", "runs.db", "--key", "one")
    till(shell, *where)
    source = ("a.jsonl",) if kept == "file" else ("runs.db", "--run", "one")
    edits = (
        *("--edit", 'messages[0].text="go on"'),
        *("--edit", 'messages[1].calls[0].arguments={"order": "B"}'),
        *("--edit", 'messages[2].text={"order": "B", "amount": 6}'),
        *("--edit", 'pending.c2.arguments={"order": "B", "amount": 6}'),
    )
    code, (plan,), _ = shell("check", *source, *TILL, *edits)
    assert code == 0
    assert [edit["before"] for edit in plan["edits"]] == [
        "go",
        {"order": "A"},
        {"order": "A", "amount": 5},
        {"order": "A", "amount": 5},
    ]
    code, lines, errors = shell("resume", *source, *TILL, *edits, "--approve", "c2", "--trace", "b.jsonl")
    assert code == 0, errors
    assert lines[-1]["resumed_from"] is not None
    code, (shown,), _ = shell("show", "b.jsonl")
    told = shown["state"]["messages"]
    assert told[0]["text"] == "go on"
    assert told[1]["calls"][0]["arguments"] == {"order": "B"}
    assert json.loads(told[2]["text"]) == {"order": "B", "amount": 6}
    assert told[4]["text"] == "paid 6 for B"
    made = [record for record in records("b.jsonl") if record["record"] == "decision"]
    assert [each["subject"] for each in made if each["what"] == "edit"] == [edit["path"] for edit in plan["edits"]]
    assert made[0]["value"] == {"before": "go", "after": "go on"}
    code, (before,), _ = shell("show", *source)
    assert before["state"]["messages"][0]["text"] == "go", "the run that is resumed stays as it is"


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ("messages[0].text=5", "a message's text is a text"),
        ('messages[9].text="x"', "there is no such message"),
        ('messages[1].text="x"', "the message has no text"),
        ('messages[1].calls[1].arguments={}', "the message has 1 calls"),
        ('messages[1].calls[0].arguments={"nope": 1}', "do not fit the tool look"),
        ('messages[2].text="no json"', "the tool gave JSON, and this is none"),
        ('messages[2].calls[0].arguments={}', "has no calls"),
        ('messages[3].calls[0].arguments={"order": "B", "amount": 1}', "edit pending.c2.arguments"),
        ('pending.c2.arguments={"order": "B"}', "do not fit the tool pay"),
        ("pending.c2.result=1", "has no result yet"),
        ("pending.c7.result=1", "no call 'c7' is open"),
        ("values.none=1", "it keeps none"),
        ("queues.a[0]=1", "an agent has no queues"),
    ],
)  # fmt: skip
def test_what_cannot_stand_in_an_agents_run(shell: Shell, edit: str, why: str) -> None:
    till(shell, "--trace", "a.jsonl")
    code, (plan,), errors = shell("check", "a.jsonl", *TILL, "--edit", edit)
    assert code == 3
    assert [refusal["code"] for refusal in plan["refusals"]] == ["edit_invalid"]
    assert why in plan["refusals"][0]["detail"]
    assert "edit_invalid" in errors


def test_a_finished_agent_is_not_edited(shell: Shell) -> None:
    till(shell, "--trace", "a.jsonl")
    assert shell("resume", "a.jsonl", *TILL, "--approve", "c2", "--trace", "b.jsonl")[0] == 0
    code, (plan,), _ = shell("check", "b.jsonl", *TILL, "--edit", 'messages[0].text="x"')
    assert code == 3
    assert "earlier step" in plan["refusals"][0]["detail"]


def test_a_saved_run_of_rig_is_edited_too(shell: Shell) -> None:
    shutil.copy(ROOT / "tests/runner/data/rig_preparing.json", "rig.json")
    code, (shown,), _ = shell("show", "rig.json")
    assert code == 0
    before = shown["state"]["messages"][0]["text"]
    code, (plan,), errors = shell("check", "rig.json", *TILL, "--edit", 'messages[0].text="other"')
    assert plan["edits"] == [{"path": "messages[0].text", "before": before, "after": "other"}], errors


async def test_a_durable_run_is_edited_as_a_run_of_its_own(tmp_path: Path, shell: Shell) -> None:
    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        return "paid"

    agent = Agent("till", ScriptedModel([Call("pay", {"amount": 1})], "done"), tools=[pay])
    store = open_store(str(tmp_path / "runs.db"))
    await agent.prompt("go").durable(store, "one").run()
    before = store.read("one")
    outcome = await agent.resume(store, "one").change("messages[0].text", "x").approve("c1").run()
    assert isinstance(outcome, Started)
    assert outcome.result.messages[0].text == "x"
    assert outcome.result.status == "completed"
    assert store.read("one") == before, "the run in the store stays as it is"
    store.close()


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("values.a=b=1", "values.a=b", 1),
        ('values.a="b=1"', "values.a", "b=1"),
        ("queues.a=b-->c[0]=[1]", "queues.a=b-->c[0]", [1]),
        ("pending.c=1.result=2", "pending.c=1.result", 2),
    ],
)
def test_a_path_may_hold_an_equals_sign(text: str, path: str, value: Any) -> None:
    assert split_edit(text) == (path, value)


@pytest.mark.parametrize("text", ["", "values.a", "a=1", "values.a=nope", "=1"])
def test_what_is_no_edit_is_an_error_of_usage(shell: Shell, text: str) -> None:
    till(shell, "--trace", "a.jsonl")
    code, _, errors = shell("check", "a.jsonl", *TILL, "--edit", text)
    assert code == 2
    assert errors.startswith("runinspect: --edit: ")


def test_wfpy_says_by_name_that_it_takes_no_edits(shell: Shell) -> None:
    shutil.copytree(ROOT / "examples/wfpy-failed", "run")
    target = f"{ROOT / 'examples/wfpy_shop.py'}:shop"
    code, (plan,), errors = shell("check", "run", "--app", target, "--edit", 'values.x="y"')
    assert code == 3
    assert plan["refusals"][0]["code"] == "edit_invalid"
    assert "the driver wfpy" in plan["refusals"][0]["detail"]
    assert "edit_invalid" in errors
