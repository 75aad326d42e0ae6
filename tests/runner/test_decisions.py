"""Decisions on a run that goes on: what cannot be carried out is refused before anything happens."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector import (
    Agent,
    AgentRun,
    Call,
    Network,
    RequestError,
    ResumeRefused,
    RunResult,
    ScriptedModel,
    Usage,
    open_store,
    tool,
)
from inspector.errors import JournalError
from inspector.journal import TraceFile
from inspector.runner.claims import Claims
from inspector.runner.effects import Begin
from inspector.runner.messages import ModelTurn, Result
from inspector.runner.network.agents import Deciding, going_on, inner_of
from inspector.runner.preflight import Decided
from inspector.runner.resuming import examined, restored

PAID: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    PAID.clear()


@tool
def look(n: int) -> int:
    return n


@tool(needs_approval=True)
def pay(n: int) -> str:
    PAID.append(n)
    return f"paid {n}"


BATCH = [Call("look", {"n": 1}), Call("pay", {"n": 2}), Call("pay", {"n": 3})]


def agent(*turns: Any, **options: Any) -> Agent:
    return Agent("payer", ScriptedModel(*(turns or (BATCH, "done"))), tools=[look, pay], **options)


UNFIT: list[tuple[Callable[[Any], Any], str]] = [
    (lambda asked: asked.approve("c1"), "c1: is answered already"),
    (lambda asked: asked.approve("c9"), "c9: is no call of this batch"),
    (lambda asked: asked.approve("c2").deny("c2"), "c2: two things were decided"),
    (lambda asked: asked.approve("c2").answer("1.2", "paid"), "c2: two things were decided"),
    (lambda asked: asked.reconcile("c2", "retry"), "c2: the call is waiting, not started"),
    (lambda asked: asked.resolve("repair", "look"), "resolve: every call was on offer"),
]


@pytest.mark.parametrize(("decide", "message"), UNFIT)
@pytest.mark.parametrize("durable", [False, True])
async def test_what_cannot_be_carried_out_is_refused_before_anything_happens(
    tmp_path: Path, decide: Callable[[Any], Any], message: str, durable: bool
) -> None:
    store = open_store(str(tmp_path / "runs.db"))
    if durable:
        first = await agent().prompt("go").durable(store, "k").run()
        asked: Any = agent().resume(store, "k")
    else:
        first = await agent().prompt("go").run(trace=str(tmp_path / "a.jsonl"))
        asked = agent().resume(first.trace)
    files, attempt = sorted(tmp_path.rglob("*.jsonl")), store.read("k").attempt if durable else 0
    with pytest.raises(RequestError, match=message):
        await decide(asked).run()
    assert PAID == []
    assert sorted(tmp_path.rglob("*.jsonl")) == files
    assert Claims().successors(first.run_id) == []
    assert not durable or store.read("k").attempt == attempt
    again = agent().resume(store, "k") if durable else agent().resume(first.trace)
    ended: Any = await again.approve("c2", "c3", "c2").run()
    assert (ended.result if durable else ended).status == "completed"
    assert PAID == [2, 3]


async def test_what_cannot_be_carried_out_in_an_agent_of_a_network_is_refused_too(tmp_path: Path) -> None:
    net = Network("net")
    node = net.add(agent())
    net.connect(net.input("prompt"), node.prompt)
    net.connect(node.answer, net.output("answer"))
    first = await net.run({"prompt": ["go"]}, trace=str(tmp_path / "a.jsonl"))
    with pytest.raises(RequestError, match="c2: two things were decided"):
        await net.resume(str(tmp_path / "a.jsonl")).approve("c2").deny("c2").run()
    assert Claims().successors(first.run_id) == []
    done = await net.resume(str(tmp_path / "a.jsonl")).approve("c2").deny("c3").run()
    assert done.outputs == {"answer": ["done"]}


async def test_what_cannot_be_begun_has_resumed_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = Network("net")
    node = net.add(agent())
    net.connect(net.input("prompt"), node.prompt)
    net.connect(node.answer, net.output("answer"))
    first, second = str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")
    runs = (
        (await agent().prompt("go").run(trace=first)).run_id,
        (await net.run({"prompt": ["go"]}, trace=second)).run_id,
    )

    def full(*_: Any, **__: Any) -> None:
        raise JournalError("disk", "No space left on device")

    monkeypatch.setattr(TraceFile, "append", full)
    for number, asked in enumerate((agent().resume(first), net.resume(second))):
        with pytest.raises(JournalError):
            await asked.approve("c2", "c3").run(trace=str(tmp_path / f"more{number}.jsonl"))
        assert Claims().successors(runs[number] or "") == []


async def test_a_call_that_was_not_on_offer_can_be_denied_by_its_id() -> None:
    run = AgentRun.start("go", id="r", agent="payer")
    run.send(Begin(tools=(look.spec, pay.spec)))
    run.absorb(ModelTurn(calls=(Call("nothere", {}, call_id="n1"),)))
    for decide in (
        lambda asked: asked.approve("n1"),
        lambda asked: asked.deny("n2"),
        lambda asked: asked.answer("n1", 1),
        lambda asked: asked.resolve("skip", call="n2"),
    ):
        with pytest.raises(RequestError, match="nothere was not on offer; deny or resolve n1"):
            await decide(agent().resume(run)).run()
    with pytest.raises(RequestError, match="sell: is not on offer; there are look, pay"):
        await agent().resume(run).resolve("repair", "sell").run()
    with pytest.raises(RequestError, match="n1: two things were decided"):
        await agent().resume(run).resolve("skip").deny("n1").run()
    with pytest.raises(RequestError, match="n1: two things were decided"):
        await agent().resume(run).resolve("skip").resolve("fail", call="n1").run()
    who = agent()
    told = (await examined(who.resume(run), restored(run), None)).runs[0]
    assert told.ways == ("repair:look", "repair:pay", "retry", "skip", "fail", "stop")
    silent = AgentRun.start("go", id="r", agent="payer")
    silent.send(Begin(tools=(look.spec, pay.spec), choice="none"))
    silent.absorb(ModelTurn(calls=(Call("nothere", {}, call_id="n1"),)))
    silent.data.max_invalid_retries = 0
    told = (await examined(who.resume(silent), restored(silent), None)).runs[0]
    assert told.ways == ("fail", "stop")
    both = Deciding().resolve("n1", "skip", "a \ud800").resolve("other", "fail").decided
    asked = going_on(agent(), inner_of(run), both)
    assert asked is not None
    assert asked.decided.resolve == {"n1": ("skip", "a \ufffd")}
    assert both.calls() == {"n1", "other"}
    spent = run.copy()
    spent.data.invalid_retries = 1
    with pytest.raises(RequestError, match=r"n1: cannot be tried again: no retry of 1 is left"):
        await agent().resume(spent).resolve("retry").run()
    with pytest.raises(RequestError, match=r"no retry of 0 is left"):
        await agent().resume(run).resolve("retry").max_invalid_retries(0).run()
    again = await agent("x", "done").resume(spent).resolve("retry", "no such tool").max_invalid_retries(2).run()
    assert (again.status, again.messages[2].content[0].text) == ("completed", "no such tool")  # type: ignore[union-attr]
    done = await agent("x", "done").resume(run).deny("n1", "not here").run()
    assert (done.status, done.output) == ("completed", "done")
    assert [result.content[0].text for result in done.messages[2].content] == ["not here"]


async def found(who: Agent, result: RunResult, **decided: Any) -> Any:
    asked = who.resume(result)
    asked.decided = Decided(**decided)
    return await examined(asked, restored(result), None)


async def test_calls_that_share_an_id_of_the_provider_are_named_by_the_runs_own() -> None:
    who = agent([Call("pay", {"n": 1}, call_id="x"), Call("pay", {"n": 2}, call_id="x")], "done")
    first = await who.prompt("go").run()
    assert [owed.call_id for owed in (await found(who, first)).owed] == ["1.1", "1.2"]
    assert [owed.call_id for owed in (await found(who, first, approve=["x"])).owed] == ["1.2"]
    assert (await found(who, first, edit={"1.2": {"n": "?"}})).findings[0].code == "arguments_invalid"
    second = await who.resume(first).approve("x").run()
    assert PAID == [1]
    assert [owed.call_id for owed in (await found(who, second)).owed] == ["x"]
    assert (await who.resume(first).approve("1.2").deny("1.1", "no").run()).status == "completed"
    assert PAID == [1, 2]


async def test_a_budget_of_tokens_that_is_spent_can_be_raised(tmp_path: Path) -> None:
    turns = (ModelTurn(calls=(Call("look", {"n": 1}),), usage=Usage(input_tokens=6, output_tokens=4)), "done")
    first = await agent(*turns, token_budget=10).prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    assert (first.status, first.reason) == ("failed", "budget")
    for budget in (None, 10):
        asked = agent(*turns, token_budget=99).resume(first.trace)  # type: ignore[arg-type]
        with pytest.raises(ResumeRefused, match=r"terminal: failed: budget: 10 tokens .*: raise it to go on"):
            await (asked if budget is None else asked.token_budget(budget)).run()
    done = await agent(*turns).resume(first.trace).token_budget(11).run()  # type: ignore[arg-type]
    assert (done.status, done.output, done.run.data.token_budget) == ("completed", "done", 11)


@pytest.mark.parametrize("removed", [True, False])
async def test_a_call_that_is_not_to_run_needs_no_tool_that_fits(removed: bool) -> None:
    first = await agent().prompt("go").run()
    other = tool(name="pay", needs_approval=True)(lambda cents: f"paid {cents}")
    today = Agent("payer", ScriptedModel(BATCH, "done"), tools=[look] if removed else [look, other])
    with pytest.raises(ResumeRefused, match="tool_missing" if removed else "arguments_invalid"):
        await today.resume(first).deny("c2").run()  # c3 is still to run
    done = await today.resume(first).deny("c2", "no").answer("c3", "paid by hand").run()
    assert (done.status, done.output) == ("completed", "done")


async def test_a_denied_call_still_tells_of_a_gate_that_is_gone() -> None:
    first = await agent().prompt("go").run()
    ungated = tool(name="pay")(lambda n: f"paid {n}")
    today = Agent("payer", ScriptedModel(BATCH, "done"), tools=[look, ungated])
    with pytest.raises(ResumeRefused, match="hook_missing"):
        await today.resume(first).deny("c2").deny("c3").run()


async def test_what_is_decided_can_be_saved_or_is_refused_at_once(tmp_path: Path) -> None:
    @tool(needs_approval=True)
    def pay(n: int) -> str:
        return "paid"

    agent = Agent("a", ScriptedModel([Call("pay", {"n": 1}), Call("pay", {"n": 2})], "done"), tools=[pay])
    trace = str(tmp_path / "a.jsonl")
    await agent.prompt("go").run(trace=trace)
    for bad in (object(), [threading.Lock()]):
        with pytest.raises(RequestError, match="c1: was given what cannot be saved"):
            agent.resume(trace).answer("c1", bad)
        with pytest.raises(RequestError, match="c1: was given what cannot be saved"):
            agent.resume(trace).approve("c1").edit("c1", bad)
    asked = agent.resume(trace).answer("c1", "half a \ud800 pair").deny("c2", "no \ud800")
    result = await asked.run(trace=str(tmp_path / "b.jsonl"))
    assert result.status == "completed"
    told = [part.text for message in result.messages for part in message.content if isinstance(part, Result)]
    assert told == ["half a \ufffd pair", "no \ufffd"]
