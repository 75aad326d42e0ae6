"""Tools and agents as nodes: ports, definition, agents that wait, fail and are killed in the middle of a firing."""

import asyncio
import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector import Agent, Call, MCPServer, Network, ScriptedModel, ToolContext, actor, tool
from inspector.diff.definition import ToolDiff
from inspector.errors import UsageError
from inspector.formats import open_path
from inspector.resume.apps import App, load
from inspector.resume.jobs import check, open_job, resume
from inspector.resume.plan import Decisions, Reconciliation
from inspector.runner.claims import Claims
from inspector.runner.drive import Control
from inspector.runner.errors import ResumeRefused
from inspector.runner.tools import ToolRefused

ROOT = Path(__file__).parents[3]
RAN: Counter[str] = Counter()
BROKEN: set[str] = set()


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RAN.clear()
    BROKEN.clear()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@tool(idempotency="supported", timeout=5)
def look(place: str, depth: int = 1) -> str:
    RAN["look"] += 1
    return f"{place} at {depth}"


@tool(needs_approval=True)
def pay(amount: int) -> str:
    RAN["pay"] += 1
    return f"paid {amount}"


@tool
def write(text: str, context: ToolContext) -> str:
    RAN[f"write {context.idempotency_key}"] += 1
    return "written"


@actor
def shout(text: str) -> str:
    RAN["shout"] += 1
    return text.upper()


def agent(*script: Any, **options: Any) -> Agent:
    return Agent("clerk", ScriptedModel(*script), tools=[look, pay, write], instructions="be brief", **options)


def office(clerk: Agent) -> Network:
    """An agent, its answer shouted; beside it a branch without an agent."""
    net = Network("office")
    node, end, other = net.add(clerk), net.add(shout), net.add(shout, name="other")
    net.connect(net.input("asked"), node.prompt)
    net.connect(node.answer, end.text)
    net.connect(end.out, net.output("said"))
    net.connect(net.input("aside"), other.text)
    net.connect(other.out, net.output("aside"))
    return net


INPUTS = {"asked": ["one?"], "aside": ["x"]}


async def test_a_tool_is_a_node_with_its_parameters_as_ports() -> None:
    net = Network("n")
    node = net.add(look)
    net.connect(net.input("place"), node.place)
    net.connect(node.out, net.output("seen"))
    result = await net.run({"place": ["sea"]})
    assert result.outputs == {"seen": ["sea at 1"]}
    net.connect(net.input("depth"), node.depth)
    result = await net.run({"place": ["sea", "lake"], "depth": [3, 4]})
    assert result.outputs == {"seen": ["sea at 3", "lake at 4"]}
    failed = await net.run({"place": ["sea"], "depth": ["deep"]})
    assert failed.status == "failed"
    assert failed.error is not None
    assert "invalid arguments" in (failed.error.message or "")
    with pytest.raises(UsageError, match="approval"):
        net.add(pay)


async def test_a_tool_that_asks_or_refuses_fails_its_firing() -> None:
    @tool
    def curious(word: str, about: ToolContext) -> str:
        about.ask(f"which {word}?")

    @tool
    def stubborn(word: str) -> str:
        raise ToolRefused(f"not {word}")

    for given, text in ((curious, "nobody can answer"), (stubborn, "not this")):
        net = Network("n")
        node = net.add(given)
        net.connect(net.input("word"), node.word)
        net.connect(node.out, net.output("out"))
        failed = await net.run({"word": ["this"]})
        assert failed.error is not None
        assert text in (failed.error.message or "")

    @tool
    def mistaken(context: str) -> str:
        return context

    with pytest.raises(UsageError, match="no name for a port"):
        Network("n").add(mistaken)
    with pytest.raises(UsageError, match="no actor, tool, agent or network"):
        Network("n").add(3)


async def test_an_agents_prompt_must_be_connected() -> None:
    net = Network("n")
    net.connect(net.add(agent("x")).answer, net.output("out"))
    with pytest.raises(UsageError, match="prompt"):
        await net.run({})


async def test_the_definition_has_the_tools_and_the_agents_parameters(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    await office(agent("done")).run(INPUTS, trace=trace)
    definition = open_path(trace).open().definition()
    assert [item.name for item in definition.tools or ()] == ["look", "pay", "write"]
    assert definition.graph is not None
    node = next(node for node in definition.graph.nodes or () if node.id == "clerk")
    assert (node.kind, node.class_) == ("agent", "clerk")
    assert node.parameters["instructions"] == "be brief"


async def test_the_tools_of_a_server_are_in_the_definition(tmp_path: Path) -> None:
    server = MCPServer("shop", command=sys.executable, args=["-m", "tests.runner.mcp_server", "stdio"], cwd=str(ROOT))
    net = Network("n")
    node = net.add(Agent("clerk", ScriptedModel([Call("price", {"item": "tea"})], "done"), tools=[server, look]))
    net.connect(net.input("asked"), node.prompt)
    net.connect(node.answer, net.output("said"))
    trace = str(tmp_path / "t.jsonl")
    assert (await net.run({"asked": ["a", "b"]}, trace=trace)).outputs == {"said": ["done", "done"]}
    definition = open_path(trace).open().definition()
    assert {"price", "look"} <= {item.name for item in definition.tools or ()}
    assert definition.tools_known == "registry"
    job = open_job(trace, App(target="a:b", value=net, digest="d"), step=1)
    plan = await asyncio.to_thread(check, job)
    assert (plan.refusals, plan.diff.tools) == ((), ToolDiff())
    server = MCPServer("gone", command=str(tmp_path / "gone"))
    net = Network("n")
    node = net.add(Agent("clerk", ScriptedModel("done"), tools=[server, look]))
    net.connect(net.input("asked"), node.prompt)
    net.connect(node.answer, net.output("said"))
    failed = await net.run({"asked": ["a"]}, trace=str(tmp_path / "u.jsonl"))
    assert failed.status == "failed"
    assert open_path(str(tmp_path / "u.jsonl")).open().definition().tools_known == "called"


async def test_an_agent_fires_for_each_token() -> None:
    result = await office(agent([Call("look", {"place": "sea"})], "saw it")).run({"asked": ["one?", "two?"]})
    assert result.outputs["said"] == ["SAW IT", "SAW IT"]
    assert RAN["look"] == 2


def asking() -> Network:
    return office(agent([Call("pay", {"amount": 5}), Call("write", {"text": "a"})], "settled"))


async def test_an_agent_that_waits_leaves_the_network_going_on(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    result = await asking().run(INPUTS, trace=trace)
    assert (result.status, result.reason) == ("suspended", "approval")
    assert result.outputs["aside"] == ["X"]
    assert [call["name"] for call in result.pending] == ["pay"]
    state = open_path(trace).open()
    for _ in state.index():
        pass
    saved = state.state(len(state))
    assert saved is not None
    assert [(item.name, item.status) for item in saved.pending or () if item.kind == "tool"] == [("pay", "waiting")]
    again = await asking().resume(trace).approve("c1").run()
    assert again.outputs == {"said": ["SETTLED"], "aside": ["X"]}
    assert RAN["pay"] == RAN["shout"] - 1 == 1
    assert sum(count for name, count in RAN.items() if name.startswith("write")) == 1


@pytest.mark.parametrize("workers", [1, 2])
async def test_at_every_step_what_was_before_is_not_done_again(workers: int, tmp_path: Path) -> None:
    net = office(agent([Call("write", {"text": "a"})], "settled"))
    trace = str(tmp_path / "t.jsonl")
    clean = await net.run({"asked": ["one?", "two?"], "aside": ["x"]}, workers=workers, trace=trace)
    source = open_path(trace).open()
    list(source.index())
    done = [step.name for step in source.steps(1, clean.steps + 1)]
    for step in range(clean.steps + 1):
        RAN.clear()
        again = await net.resume(trace, step=step).accept("already_resumed").workers(workers).run()
        assert again.outputs == clean.outputs
        assert sum(count for name, count in RAN.items() if name.startswith("write")) == done[step:].count("clerk")
        assert RAN["shout"] == done[step:].count("shout") + done[step:].count("other")


def test_going_back_behind_an_agent_that_waits_is_warned_of(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    asking().run_sync(INPUTS, trace=trace)
    plan = check(open_job(trace, App(target="a:b", value=asking(), digest="d"), step=0))
    warned = {warning.subject for warning in plan.warnings if warning.code == "side_effects"}
    assert warned == {"clerk", "other"}
    assert plan.needs == ()


async def test_a_denied_call_is_told_to_the_model(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    await asking().run(INPUTS, trace=trace)
    again = await asking().resume(trace).deny("c1", "too much").run()
    assert again.status == "completed"
    assert RAN["pay"] == 0
    with pytest.raises(ResumeRefused, match="nothing is open"):
        await asking().resume(trace).approve("c9").run()


def test_the_command_says_what_is_owed_and_takes_the_decision(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    asking().run_sync(INPUTS, trace=trace)
    job = open_job(trace, App(target="a:b", value=asking(), digest="d"))
    plan = check(job)
    assert [(need.question, need.call_id, need.name) for need in plan.needs] == [("approve", "c1", "clerk/pay")]
    events: list[dict[str, Any]] = []
    ended = resume(job, events.append)
    assert (ended.status, ended.reason) == ("suspended", "approval")
    decided = open_job(trace, job.app)
    decided = msgspec.structs.replace(decided, decisions=Decisions(approve=("c1",)))
    ended = resume(decided, events.append)
    assert ended.status == "completed"
    assert ended.output == {"said": ["SETTLED"], "aside": ["X"]}
    assert any(event.get("within") == "clerk#1" for event in events)


async def test_a_failure_in_an_agent_goes_on_inside_of_it(tmp_path: Path) -> None:
    def last(messages: Any) -> Any:
        return ValueError("the provider is down") if "model" in BROKEN else "settled"

    net = office(agent([Call("write", {"text": "a"})], last))
    trace, second = str(tmp_path / "t.jsonl"), str(tmp_path / "u.jsonl")
    BROKEN.add("model")
    result = await net.run(INPUTS, trace=trace)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.where == ("clerk",)
    again = await net.resume(trace).accept("model_in_flight").run(trace=second)
    assert again.status == "failed"
    BROKEN.clear()
    third = await net.resume(second).accept("model_in_flight").run()
    assert third.outputs == {"said": ["SETTLED"], "aside": ["X"]}
    assert [count for name, count in RAN.items() if name.startswith("write")] == [1]


async def test_an_agent_that_failed_for_good_begins_anew(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    result = await office(agent([Call("nothere", {})], [Call("nothere", {})], "x")).run(INPUTS, trace=trace)
    assert result.status == "failed"
    again = await office(agent("fine")).resume(trace).run()
    assert again.outputs["said"] == ["FINE"]


async def test_more_turns_are_more_turns(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    script = ([Call("write", {"text": "a"})], "settled")
    assert (await office(agent(*script, max_turns=1)).run(INPUTS, trace=trace)).status == "failed"
    again = await office(agent(*script, max_turns=3)).resume(trace).run()
    assert again.outputs["said"] == ["SETTLED"]
    assert [count for name, count in RAN.items() if name.startswith("write")] == [1]


async def test_a_stop_inside_of_an_agent_is_a_boundary(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    control = Control()
    net = office(agent([Call("write", {"text": "a"})], "settled"))

    def observe(event: dict[str, Any]) -> None:
        if event.get("within") and event["event"] == "step":
            control.stop()

    result = await net.run(INPUTS, trace=trace, control=control, observe=observe)
    assert result.status == "interrupted"
    again = await net.resume(trace).run()
    assert again.outputs == {"said": ["SETTLED"], "aside": ["X"]}
    assert [count for name, count in RAN.items() if name.startswith("write")] == [1]


async def test_a_cancelled_agent_keeps_what_it_did(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    began = asyncio.Event()

    async def last(messages: Any) -> Any:
        if "slow" in BROKEN:
            began.set()
            await asyncio.sleep(60)
        return "settled"

    net = office(agent([Call("write", {"text": "a"})], last))
    BROKEN.add("slow")
    task = asyncio.ensure_future(net.run(INPUTS, trace=trace))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    BROKEN.clear()
    again = await net.resume(trace).accept("model_in_flight").run()
    assert again.outputs["said"] == ["SETTLED"]
    assert [count for name, count in RAN.items() if name.startswith("write")] == [1]


PROGRAM = """
import os, signal, sys
from inspector import Agent, Call, Network, ScriptedModel, actor, tool

@tool
def write(text: str) -> str:
    with open("effects", "a") as file:
        file.write(text + "\\n")
    return "written"

def script(messages):
    held = sum(message.role == "assistant" for message in messages)
    if held < 3:
        return [Call("write", {"text": f"w{held}"})]
    if os.environ.get("KILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "all written"

@actor
def end(text: str) -> str:
    return text + "."

net = Network("n")
writer, last = net.add(Agent("writer", ScriptedModel(script), tools=[write])), net.add(end)
net.connect(net.input("ask"), writer.prompt)
net.connect(writer.answer, last.text)
net.connect(last.out, net.output("said"))

if __name__ == "__main__":
    if sys.argv[1] == "run":
        net.run_sync({"ask": ["go"]}, trace="t.jsonl")
    else:
        print(net.resume("t.jsonl").accept("model_in_flight").run_sync().outputs)
"""


def test_a_kill_inside_of_an_agent_repeats_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    killed = subprocess.run([sys.executable, "program.py", "run"], cwd=tmp_path, env={**env, "KILL": "1"})
    assert killed.returncode == -9
    job = open_job(str(tmp_path / "t.jsonl"), load(f"{tmp_path}/program.py:net"))
    assert [(each.code, each.subject, each.remedy == "accept") for each in check(job).refusals] == [
        ("model_in_flight", "writer: model", True)
    ]
    done = subprocess.run(
        [sys.executable, "program.py", "resume"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "{'said': ['all written.']}"
    assert (tmp_path / "effects").read_text().split() == ["w0", "w1", "w2"]


KILLED_IN_A_TOOL = PROGRAM.replace(
    """    return "written"
""",
    """    if os.environ.get("KILL") and text == "w1":
        os.kill(os.getpid(), signal.SIGKILL)
    return "written"
""",
)


def test_a_call_that_may_have_happened_is_somebodys_to_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    (tmp_path / "program.py").write_text(textwrap.dedent(KILLED_IN_A_TOOL))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    killed = subprocess.run([sys.executable, "program.py", "run"], cwd=tmp_path, env={**env, "KILL": "1"})
    assert killed.returncode == -9
    target, trace = load(f"{tmp_path}/program.py:net"), str(tmp_path / "t.jsonl")
    plan = check(open_job(trace, target))
    assert [(need.question, need.call_id, need.name) for need in plan.needs] == [("reconcile", "c2", "writer/write")]
    left = target.value.resume(trace).run_sync()
    assert (left.status, left.reason) == ("suspended", "reconciliation")
    monkeypatch.chdir(tmp_path)
    job = open_job(trace, target)
    decisions = Decisions(
        reconcile={"c2": Reconciliation(how="result", value="known")}, accept=frozenset({"already_resumed"})
    )
    ended = resume(msgspec.structs.replace(job, decisions=decisions), lambda event: None)
    assert ended.output == {"said": ["all written."]}
    assert (tmp_path / "effects").read_text().split() == ["w0", "w1", "w2"]


async def test_an_agent_in_a_loop_holds_the_loop(tmp_path: Path) -> None:
    def looping() -> Network:
        net = Network("n")
        node = net.loop(agent([Call("pay", {"amount": 1})], "ok"), name="each")
        net.connect(net.input("all"), node["items"])
        net.connect(node.answer, net.output("said"))
        net.connect(node.done, net.output("done"))
        return net

    trace = str(tmp_path / "t0.jsonl")
    result = await looping().run({"all": [["a", "b"]]}, trace=trace)
    for turn in (1, 2):
        assert (result.status, result.reason) == ("suspended", "approval")
        path, trace = trace, str(tmp_path / f"t{turn}.jsonl")
        result = await looping().resume(path).approve("c1").claims(Claims(str(tmp_path))).run(trace=trace)
    assert result.outputs == {"said": ["ok", "ok"], "done": [2]}
    assert RAN["pay"] == 2
