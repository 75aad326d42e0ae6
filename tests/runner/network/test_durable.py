"""Networks in a store: begun, failed, resumed in their own journal, owned, replayed, refused."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector import (
    Agent,
    Call,
    ExistingOwner,
    Network,
    ScriptedModel,
    Started,
    Store,
    TerminalReplay,
    ToolError,
    actor,
    emit,
    open_store,
    tool,
)
from inspector.errors import UsageError
from inspector.formats import open_path
from inspector.model.values import to_json
from inspector.resume.apps import load
from inspector.runner.drive import Control
from inspector.runner.errors import ResumeRefused
from inspector.runner.network.result import NetworkResult
from inspector.runner.outcomes import Outcome
from tests.store.backends import THERE, wanted


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "runs.db")
    yield opened
    opened.close()


class Review:
    limit: int
    rounds: int = 0

    def fire(self, text: str) -> Any:
        self.rounds += 1
        return emit(good=text) if self.rounds >= self.limit else emit(again=text + "!")


Review = actor(outputs=("good", "again"))(Review)  # type: ignore[misc, assignment]


def network(fired: list[str], broken: list[str] | None = None, limit: int = 3) -> Network:
    @actor
    def draft(topic: str) -> str:
        fired.append(topic)
        if broken and topic in broken:
            raise ValueError(f"no {topic}")
        return f"on {topic}"

    net = Network("review")
    drafting, review = net.add(draft), net.add(Review(limit=limit))  # type: ignore[call-arg]
    net.connect(net.input("topic"), drafting.topic)
    net.connect(drafting.out, review.text)
    net.connect(review.again, drafting.topic)
    net.connect(review.good, net.output("report"))
    return net


class Posted(Exception):
    """The wire broke."""


@pytest.mark.parametrize(
    ("options", "error", "open_"),
    [
        ({}, Posted("no answer"), True),
        ({"failure": "definite"}, Posted("no answer"), False),
        ({"idempotency": "supported"}, Posted("no answer"), False),
        ({}, ToolError("refused there"), False),
    ],
    ids=["unknown", "definite", "idempotent", "told"],
)
async def test_a_tool_that_is_a_node_and_raised_may_have_happened(
    store: Store, tmp_path: Path, options: Any, error: Exception, open_: bool
) -> None:
    """In a store; a trace of its own has the firing run again, as any other body."""
    posted: list[str] = []

    @tool(**options)
    def post(text: str) -> str:
        """Post it."""
        posted.append(text)
        if len(posted) == 1:
            raise error
        return f"posted {text}"

    def net() -> Network:
        made = Network("post")
        node = made.add(post)
        made.connect(made.input("text"), node.text)
        made.connect(node.out, made.output("done"))
        return made

    first = await net().run({"text": ["hello"]}, store=store, key="post")
    assert first.status == "failed"
    second = result(await net().resume(store, "post").run())
    assert (second.status, len(posted)) == (("suspended", 1) if open_ else ("completed", 2))
    if open_:
        third = result(await net().resume(store, "post").reconcile("post#1", "retry").run())
        assert (third.status, third.outputs) == ("completed", {"done": ["posted hello"]})


def result(outcome: Outcome[NetworkResult]) -> NetworkResult:
    assert isinstance(outcome, Started | TerminalReplay)
    return outcome.result


OUT = {"report": ["on on on tea!!"]}


async def test_a_run_is_kept_in_the_store_and_its_outputs_are_given_again(store: Store) -> None:
    fired: list[str] = []
    done = await network(fired).run({"topic": ["tea"]}, store=store, key="k")
    assert (done.status, done.outputs, done.trace) == ("completed", OUT, store.url)
    row = store.read("k")
    assert (row.kind, row.name, row.status, row.final, row.acknowledged, row.steps) == (
        *("dataflow", "review", "completed", True, True, 6),
    )
    again = await network(fired).resume(store, "k").run()
    assert isinstance(again, TerminalReplay)
    assert (again.status, again.result.outputs, len(fired)) == ("completed", OUT, 3)
    with pytest.raises(UsageError, match="journal in the store"):
        await network(fired).run({"topic": ["tea"]}, store=store, key="k2", trace="x")


async def test_a_run_that_failed_goes_on_at_the_firing_that_failed(store: Store) -> None:
    fired: list[str] = []
    broken = ["on tea!"]
    failed = await network(fired, broken).run({"topic": ["tea"]}, store=store, key="k")
    assert (failed.status, store.read("k").status, store.read("k").final) == ("failed", "failed", False)
    still = result(await network(fired, broken).resume(store, "k").run())
    assert (still.status, still.steps, still.replayed) == ("failed", 0, 2)
    outcome = await network(fired).resume(store, "k").run()
    assert isinstance(outcome, Started)
    done = outcome.result
    assert (done.status, done.outputs, outcome.attempt, done.replayed, done.steps) == ("completed", OUT, 3, 2, 4)
    assert fired == ["tea", "on tea!", "on tea!", "on tea!", "on on tea!!"]
    steps = [json.loads(line)["step"]["seq"] for line in store.journal("k") if line.startswith(b'{"record":"step"')]
    assert steps == [1, 2, 3, 4, 5, 6]
    states = {found.operation.status for found in store.operations("k")}
    assert states == {"succeeded"}


@pytest.mark.parametrize("back", [{"step": 5}, {"rerun": "review"}])
async def test_from_an_earlier_step_it_is_a_run_of_its_own(store: Store, tmp_path: Path, back: dict[str, Any]) -> None:
    fired: list[str] = []
    net = network(fired)
    await net.run({"topic": ["tea"]}, store=store, key="k")
    before, row, trace = store.journal("k"), store.read("k"), str(tmp_path / "fork.jsonl")
    outcome = await net.resume(store, "k", **back).run(trace=trace)
    assert isinstance(outcome, Started)
    fork = outcome.result
    assert (fork.status, fork.outputs, fork.trace, fork.resumed_from) == ("completed", OUT, trace, row.id)
    assert (fork.replayed, fork.steps, len(fired)) == (5, 1, 3)
    assert fork.run_id != row.id
    assert (store.journal("k"), store.read("k")) == (before, row)


async def test_a_step_that_is_the_last_goes_on_in_the_store(store: Store, tmp_path: Path) -> None:
    fired: list[str] = []
    broken = ["on tea!"]
    await network(fired, broken).run({"topic": ["tea"]}, store=store, key="k")
    row = store.read("k")
    assert (row.status, row.final) == ("failed", False)
    broken.clear()
    fork = await network(fired).resume(store, "k", step=0).run(trace=str(tmp_path / "fork"))
    assert isinstance(fork, Started)
    with pytest.raises(ResumeRefused, match=f"was resumed before, as {fork.result.run_id} at "):
        await network(fired).resume(store, "k").run()
    again = await network(fired).resume(store, "k", step=row.steps).accept("already_resumed").run()
    assert isinstance(again, Started)
    assert (again.status, again.result.run_id, store.read("k").status) == ("completed", row.id, "completed")
    with pytest.raises(UsageError, match="journal in the store"):
        await network(fired).resume(store, "k").run(trace=str(tmp_path / "x"))
    with pytest.raises(ResumeRefused, match="step_not_resumable"):
        await network(fired).resume(store, "k", step=99).run()


async def test_a_run_that_was_stopped_is_handed_on_and_not_recovered(store: Store) -> None:
    fired: list[str] = []
    control = Control()

    def stop(event: dict[str, Any]) -> None:
        if event["event"] == "step":
            control.stop()

    await network(fired).run({"topic": ["tea"]}, store=store, key="k", control=control, observe=stop)
    row = store.read("k")
    assert (row.status, row.reason, row.handed, row.steps) == ("interrupted", "stopped", True, 1)
    again = await network(fired).resume(store, "k").run()
    assert (again.status, store.read("k").attempt, len(fired)) == ("completed", 1, 3)


async def test_the_screen_reads_it_as_any_run(store: Store, tmp_path: Path) -> None:
    fired: list[str] = []
    await network(fired, ["on tea!"]).run({"topic": ["tea"]}, store=store, key="k")
    await network(fired).resume(store, "k").run()
    await network(fired).run({"topic": ["tea"]}, trace=str(tmp_path / "whole.jsonl"))
    whole, kept = open_path(str(tmp_path / "whole.jsonl")).open(), open_path(store.url).open("k")
    for source in (whole, kept):
        list(source.index())
    assert len(whole) == len(kept) == 6
    for at in range(7):
        one, other = whole.state(at), kept.state(at)
        assert one is not None
        assert other is not None
        assert to_json([one.queues, one.actors]) == to_json([other.queues, other.actors]), at


async def test_a_changed_graph_is_refused_by_name_before_anything_changes(store: Store) -> None:
    fired: list[str] = []
    await network(fired, ["on tea!"]).run({"topic": ["tea"]}, store=store, key="k")
    before = store.read("k"), store.journal("k")
    other = Network("review")
    with pytest.raises((ResumeRefused, UsageError)):
        await other.resume(store, "k").run()

    @actor
    def shout(topic: str) -> str:
        return topic.upper()

    other = Network("review")
    shouting = other.add(shout)
    other.connect(other.input("topic"), shouting.topic)
    other.connect(shouting.out, other.output("report"))
    with pytest.raises(ResumeRefused, match="graph_changed: node draft is gone") as caught:
        await other.resume(store, "k").run()
    assert "node review" in str(caught.value).lower()
    assert (store.read("k"), store.journal("k")) == before


async def test_whoever_drives_it_is_named_and_can_be_taken_over(store: Store) -> None:
    fired: list[str] = []
    await network(fired, ["on tea!"]).run({"topic": ["tea"]}, store=store, key="k")
    row, now = store.read("k"), store.clock()
    about = {"step": row.steps + 1, "revision": row.revision, "mode": "recovery", "now": now, "expires": now + 90_000}
    store.backend.claim("k", wanted(program=THERE, **about))
    outcome = await network(fired).resume(store, "k").run()
    assert isinstance(outcome, ExistingOwner)
    assert outcome.host == "there"
    done = result(await network(fired).resume(store, "k").accept("owned").run())
    assert done.outputs == OUT
    assert b'"what":"take over"' in b"".join(store.journal("k"))


KILLED = """
import os, signal, sys
from inspector import Network, actor, open_store

@actor(idempotency=sys.argv[2])
def pay(amount: int) -> str:
    if amount == 2 and not os.path.exists(sys.argv[3]):
        open(sys.argv[3], "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {amount}"

net = Network("till")
paying = net.add(pay)
net.connect(net.input("amount"), paying.amount)
net.connect(paying.out, net.output("paid"))
if __name__ == "__main__":
    net.run_sync({"amount": [1, 2, 3]}, store=open_store(sys.argv[1]), key="k")
"""


@pytest.mark.parametrize(
    ("idempotency", "decided", "paid"),
    [
        ("supported", None, ["paid 1", "paid 2", "paid 3"]),
        ("unknown", ("retry",), ["paid 1", "paid 2", "paid 3"]),
        ("unknown", ("result", "paid by hand"), ["paid 1", "paid by hand", "paid 3"]),
    ],
)
async def test_a_firing_that_may_have_happened_waits_for_a_word(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idempotency: str, decided: Any, paid: list[str]
) -> None:
    program, mark = tmp_path / "till.py", tmp_path / "mark"
    program.write_text(KILLED)
    done = subprocess.run([sys.executable, program, store.url, idempotency, mark], check=False)
    assert done.returncode == -9
    (begun,) = [found.operation for found in store.operations("k") if found.operation.status == "started"]
    monkeypatch.setattr(sys, "argv", ["till", store.url, idempotency, str(mark)])
    monkeypatch.setattr(sys, "path", list(sys.path))
    net = load(f"{program}:net").value
    if decided is not None:
        for _ in range(2):
            left = result(await net.resume(store, "k").run())
            assert (left.status, left.reason, left.open) == ("suspended", "reconciliation", [begun.id])
    asked = net.resume(store, "k")
    outcome = result(await (asked if decided is None else asked.reconcile(begun.id, *decided)).run())
    assert (outcome.status, outcome.outputs) == ("completed", {"paid": paid})
    assert {found.operation.status for found in store.operations("k")} == {"succeeded"}


async def test_a_firing_that_was_given_up_ends_the_run_for_good_and_stays_ambiguous(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, mark = tmp_path / "till.py", tmp_path / "mark"
    program.write_text(KILLED)
    subprocess.run([sys.executable, program, store.url, "unknown", mark], check=False)
    monkeypatch.setattr(sys, "argv", ["till", store.url, "unknown", str(mark)])
    monkeypatch.setattr(sys, "path", list(sys.path))
    net = load(f"{program}:net").value
    for goes in (Started, TerminalReplay):
        outcome = await net.resume(store, "k").reconcile("pay#2", "abort").run()
        assert isinstance(outcome, goes)
        assert (outcome.status, outcome.result.reason) == ("failed", "operator_abort_with_unknown_outcome")
    states = {found.operation.id: found.operation.status for found in store.operations("k")}
    assert states == {"pay#1": "succeeded", "pay#2": "ambiguous"}
    assert (store.read("k").final, store.read("k").claim) == (True, None)
    trace = tmp_path / "case.jsonl"
    trace.write_bytes(b"".join(store.export("k")))
    with pytest.raises(ResumeRefused, match="terminal: the run is over: operator_abort_with_unknown_outcome"):
        await net.resume(str(trace)).run()


async def test_an_agent_inside_that_was_given_up_ends_the_run_for_good(store: Store) -> None:
    calls: list[int] = []

    @tool
    def refund(amount: int) -> str:
        calls.append(amount)
        raise ConnectionResetError("gone")

    agent = Agent("clerk", ScriptedModel([Call("refund", {"amount": 5})], "done"), tools=[refund])
    net = Network("desk")
    clerk = net.add(agent)
    net.connect(net.input("text"), clerk.prompt)
    net.connect(clerk.answer, net.output("answer"))
    first = await net.run({"text": ["go"]}, store=store, key="k")
    assert (first.status, first.reason) == ("suspended", "reconciliation")
    for goes in (Started, TerminalReplay):
        outcome = await net.resume(store, "k").reconcile("c1", "abort").run()
        assert isinstance(outcome, goes)
        assert (outcome.status, outcome.result.reason) == ("failed", "operator_abort_with_unknown_outcome")
    assert (calls, store.read("k").final) == ([5], True)


async def test_an_agent_inside_waits_and_goes_on_inside(store: Store) -> None:
    did: list[str] = []

    @tool(needs_approval=True)
    async def refund(order: str) -> str:
        did.append(order)
        return f"refunded {order}"

    def net() -> Network:
        agent = Agent("desk", ScriptedModel([Call("refund", {"order": "A"})], "done"), tools=[refund])
        made = Network("desk")
        desk = made.add(agent)
        made.connect(made.input("question"), desk.prompt)
        made.connect(desk.answer, made.output("answer"))
        return made

    first = await net().run({"question": ["Refund A"]}, store=store, key="k")
    assert (first.status, first.reason, store.read("k").status) == ("suspended", "approval", "suspended")
    done = result(await net().resume(store, "k").approve("c1").run())
    assert (done.status, done.outputs, did) == ("completed", {"answer": ["done"]}, ["A"])


def test_from_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from inspector import cli as command
    from inspector import exits

    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "flow.py").write_text(
        "import os\nfrom inspector import Network, actor\n"
        "@actor\ndef pay(amount: int) -> str:\n"
        "    if not os.path.exists('mended'):\n        raise ValueError('closed')\n    return f'paid {amount}'\n"
        "net = Network('till')\npaying = net.add(pay)\nnet.connect(net.input('amount'), paying.amount)\n"
        "net.connect(paying.out, net.output('paid'))\n"
    )

    def run(*arguments: str) -> tuple[int, list[Any]]:
        code = exits.guarded(lambda: command.run([*arguments, "--json"]))
        return code, [json.loads(line) for line in capfd.readouterr().out.splitlines()]

    code, events = run("run", "flow.py:net", "--input", '{"amount": [5]}', "--store", "runs.db", "--key", "n-1")
    assert (code, events[-1]["run"], events[-1]["status"], events[-1]["trace"]) == (1, "n-1", "failed", "runs.db")
    target = ("runs.db", "--run", "n-1", "--app", "flow.py:net")
    code, (plan,) = run("check", *target)
    assert (code, plan["driver"], [work["name"] for work in plan["runs"]]) == (0, "dataflow", ["pay"])
    (tmp_path / "mended").touch()
    code, events = run("resume", *target)
    assert (code, events[-1]["status"], events[-1]["output"]) == (0, "completed", {"paid": ["paid 5"]})
    code, events = run("resume", *target)
    assert (code, events[-1]["status"], events[-1]["output"]) == (0, "completed", {"paid": ["paid 5"]})
    assert run("resume", *target, "--step", "0")[0] == 3
    assert os.path.exists("runs.db")
