"""Networks that run, fail, are stopped and killed, and go on: outputs and effects are those of a run that never was."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector import Network, action, actor, emit
from inspector.dataflow.actors import Emit
from inspector.dataflow.codec import Unsavable
from inspector.dataflow.firing import Committed
from inspector.errors import UnreadableError, UsageError
from inspector.formats import open_path
from inspector.model.run import State
from inspector.model.values import to_json
from inspector.resume.apps import App, load
from inspector.resume.jobs import check, open_job, resume
from inspector.resume.plan import Decisions, Reconciliation
from inspector.runner.claims import Claims, Owned
from inspector.runner.drive import Control
from inspector.runner.errors import ResumeRefused, RunFailed
from inspector.runner.network.driven import Driven
from inspector.runner.network.result import NetworkResult
from tests.dataflow.networks import Sum, add, double, is_even, random_network, split

FAILS: set[int] = set()
"""Tokens at which `fragile` fails."""
RAN: Counter[Any] = Counter()
"""How often a body ran, by name and token."""


@actor
def fragile(number: int) -> int:
    if number in FAILS:
        raise ValueError(f"cracked at {number}")
    RAN["fragile", number] += 1
    return number


@actor
async def slow(number: int) -> int:
    RAN["slow", number] += 1
    await asyncio.sleep(0)
    return number + 100


def line() -> Network:
    """Three actors in a row, and a sum beside them."""
    net = Network("line")
    first, second, third = net.add(slow), net.add(fragile), net.add(Sum(start=0))  # type: ignore[call-arg]
    net.connect(net.input("numbers"), first.number)
    net.connect(first.out, second.number)
    net.connect(second.out, third.number)
    net.connect(third.out, net.output("sums"))
    return net


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FAILS.clear()
    RAN.clear()
    monkeypatch.setenv("RUNINSPECT_STATE", str(tmp_path / "state"))


async def test_a_run_gives_its_outputs(tmp_path: Path) -> None:
    result = await line().run({"numbers": [1, 2, 3]}, trace=str(tmp_path / "t"))
    assert (result.status, result.outputs) == ("completed", {"sums": [101, 203, 306]})
    assert result.steps == 9
    assert result.leftovers == []


async def test_a_failed_run_goes_on_where_it_failed(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    FAILS.add(102)
    failed = await line().run({"numbers": [1, 2, 3]}, trace=path)
    assert failed.status == "failed"
    assert failed.error is not None
    assert (failed.error.where, failed.error.type, failed.error.message) == (
        ("fragile",),
        "ValueError",
        "cracked at 102",
    )
    FAILS.clear()
    done = await line().resume(path).run(trace=str(tmp_path / "u"))
    assert done.outputs == {"sums": [101, 203, 306]}
    assert done.replayed == failed.steps
    assert set(RAN.values()) == {1}


async def test_a_rerun_begins_before_the_last_firing_of_a_node(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    clean = await line().run({"numbers": [1, 2]}, trace=path)
    RAN.clear()
    again = await line().resume(path, rerun="fragile").run()
    assert again.outputs == clean.outputs
    assert (again.replayed, again.steps) == (4, 2)
    assert RAN == {("fragile", 102): 1}
    job = open_job(path, App(target="a:b", value=line(), digest="d"), rerun="slow")
    assert (job.step, job.at_last) == (3, False)
    with pytest.raises(ResumeRefused, match=r"no step of it is of the node .slo.; is it slow\?"):
        await line().resume(path, rerun="slo").run()
    with pytest.raises(UsageError, match=r"no step of the run has this name; is it slow\?"):
        open_job(path, job.app, rerun="slo")
    with pytest.raises(UsageError, match="both"):
        open_job(path, job.app, rerun="slow", step=1)


async def test_a_rerun_finds_a_nested_network_by_its_own_name(tmp_path: Path) -> None:
    body = Network("polish")
    first, second = body.add(slow), body.add(Sum(start=0))  # type: ignore[call-arg]
    body.connect(body.input("number"), first.number)
    body.connect(first.out, second.number)
    body.connect(second.out, body.output("out"))
    net, branch = Network("n"), Network("branch")
    inside = branch.add(double)
    branch.connect(branch.input("x"), inside.number)
    branch.connect(inside.out, branch.output("out"))
    items, loop, when = net.add(split), net.loop(body, name="each"), net.when(is_even, branch, branch)
    net.connect(net.input("x"), items.number)
    net.connect(items.out, loop["items"])
    net.connect(loop.out, when.value)
    net.connect(when.out, net.output("y"))
    path = str(tmp_path / "t")
    clean = await net.run({"x": [2]}, trace=path)
    app = App(target="a:b", value=net, digest="d")
    jobs = [open_job(path, app, rerun=name).step for name in ("each/sum", "each", "polish")]
    by_place = open_job(path, app, rerun="when/then").step
    run = open_path(path).open()
    list(run.index())
    names = [step.name for step in run.steps(1, clean.steps + 1)]
    assert names[jobs[0]] == "each/sum"
    assert names[jobs[2]] in ("each", "each/sum")
    assert jobs[1] == jobs[2] >= jobs[0]
    assert names[by_place] == "when/then/double"
    again = await net.resume(path, rerun="polish").run()
    assert (again.outputs, again.replayed) == (clean.outputs, jobs[2])
    with pytest.raises(UsageError, match="several nodes are it: when/then, when/otherwise"):
        net.resume(path, rerun="branch")


@pytest.mark.parametrize("tokens", [1, "12", b"1", {"a": 1}, None])
async def test_what_is_no_list_of_tokens_is_refused(tokens: Any) -> None:
    with pytest.raises(UsageError, match="line, input numbers: takes a list of tokens, not "):
        await line().run({"numbers": tokens})
    assert (await line().run({"numbers": iter([1])})).status == "completed"


async def test_every_failure_is_recorded(tmp_path: Path) -> None:
    net = Network("two")
    for name in "ab":
        node = net.add(fragile, name=name)
        net.connect(net.input(name), node.number)
        net.connect(node.out, net.output("y"))
    FAILS.update((1, 2))
    failed = await net.run({"a": [1], "b": [2]}, workers=2, trace=str(tmp_path / "t"))
    assert sorted(failure.firing.node.name for failure in failed.failures) == ["a", "b"]
    run = open_path(str(tmp_path / "t")).open()
    list(run.index())
    state = run.state(len(run))
    assert state is not None
    assert {(item.name, item.status, item.note) for item in state.pending or ()} == {
        (failure.firing.node.name, "ready", f"failed: ValueError: {failure.error.message}")
        for failure in failed.failures
    }


async def test_every_step_shows_what_was_under_way_and_what_had_failed(tmp_path: Path) -> None:
    second, failed, last = (asyncio.Event() for _ in range(3))

    @actor
    async def slow(x: int) -> int:
        await last.wait()
        return x

    @actor
    async def fails(x: int) -> int:
        await second.wait()
        failed.set()
        raise ValueError("no")

    @actor
    async def after(x: int) -> int:
        if x == 1:
            second.set()
            await failed.wait()
        return x

    net = Network("n")
    for body, tokens in ((slow, "a"), (fails, "b"), (after, "c")):
        node = net.add(body)
        net.connect(net.input(tokens), node.x)
        net.connect(node.out, net.output("y"))

    def heard(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["seq"] == 2:
            last.set()

    path = str(tmp_path / "t")
    result = await net.run({"a": [7], "b": [1], "c": [0, 1]}, workers=3, trace=path, observe=heard)
    assert (result.status, result.steps) == ("failed", 3)
    run = open_path(path).open()
    list(run.index())
    rows = [
        {item.call_id: (item.status, item.note) for item in state.pending or ()}
        for step in range(4)
        if (state := run.state(step)) is not None
    ]
    why = "failed: ValueError: no"
    assert rows[0] == {"slow#1": ("ready", None), "fails#1": ("ready", None), "after#1": ("ready", None)}
    assert rows[1] == {"slow#1": ("in_flight", None), "fails#1": ("in_flight", None), "after#2": ("ready", None)}
    assert rows[2] == {"slow#1": ("in_flight", None), "fails#1": ("ready", why)}
    assert rows[3] == {"fails#1": ("ready", why)}


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_a_run_resumed_at_any_step_is_the_clean_run(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """With one worker: with more, sums depend on which firing ends first."""
    folder = tmp_path_factory.mktemp("net")
    net = _running(random_network(random.Random(seed)))
    clean = net.run_sync({"number": [3, 6]}, trace=str(folder / "t"))
    for step in range(clean.steps + 1):
        asked = net.resume(str(folder / "t"), step=step).claims(Claims(str(folder))).accept("already_resumed")
        again = asyncio.run(asked.run())
        assert sorted(again.outputs["result"]) == sorted(clean.outputs["result"])
        assert again.steps == clean.steps - step


def _running(built: Any) -> Network:
    net = Network(built.name)
    net.__dict__.update(built.__dict__ | {"values": net.values})
    return net


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), workers=st.integers(1, 3), data=st.data())
def test_the_journal_shows_what_was_live_after_every_step(
    tmp_path_factory: pytest.TempPathFactory, seed: int, workers: int, data: st.DataObject
) -> None:
    """Also that of a run which goes on from the middle of another."""
    folder, live, step = tmp_path_factory.mktemp("live"), dict[int, State](), Driven.step

    def kept(driven: Driven, done: Committed, *about: Any) -> None:
        live[done.step.seq] = driven.run.state()
        step(driven, done, *about)

    def compared(path: str) -> None:
        run = open_path(path).open()
        list(run.index())
        assert len(run) == len(live)
        for seq, then in live.items():
            shown = run.state(seq)
            assert shown is not None
            assert to_json([shown.queues, shown.actors, shown.values]) == to_json(
                [then.queues, then.actors, then.values]
            )
            assert sorted(map(to_json, shown.pending or ())) == sorted(map(to_json, then.pending or ()))
        live.clear()

    net = _running(random_network(random.Random(seed)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Driven, "step", kept)
        clean = asyncio.run(net.run({"number": [3, 6]}, trace=str(folder / "t"), workers=workers))
        compared(str(folder / "t"))
        at = data.draw(st.integers(0, clean.steps - 1))
        again = net.resume(str(folder / "t"), step=at).workers(workers).claims(Claims(str(folder)))
        asyncio.run(again.run(trace=str(folder / "u")))
        compared(str(folder / "u"))


@pytest.mark.parametrize("harm", ["missing", "twice"])
async def test_a_journal_with_a_step_too_few_or_too_many_is_damaged(harm: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    FAILS.add(103)
    await line().run({"numbers": [1, 2, 3]}, trace=str(path))
    FAILS.clear()
    lines = path.read_bytes().splitlines(keepends=True)[:-2]  # without the last checkpoint, and the end
    at = [number for number, text in enumerate(lines) if text.startswith(b'{"record":"step"')][2]
    lines[at : at + 1] = [] if harm == "missing" else [lines[at]] * 2
    path.write_bytes(b"".join(lines))
    with pytest.raises(UnreadableError, match=r"is damaged: step \d stands where step \d should be"):
        await line().resume(str(path)).run(trace=str(tmp_path / "u"))
    assert not (tmp_path / "u").exists()
    plan = await asyncio.to_thread(check, open_job(str(path), App(target="a:b", value=line(), digest="d")))
    assert [refusal.code for refusal in plan.refusals] == ["value_unreadable"]


async def test_the_inspector_sees_the_state_that_was_live(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    await line().run({"numbers": [1, 2, 3, 4]}, workers=2, trace=path)
    source = open_path(path).open()
    for _ in source.index():
        pass
    state = source.state(len(source))
    assert state is not None
    assert [queue.size for queue in state.queues or ()] == [0, 0, 0, 4]
    assert source.run().status == "completed"
    assert [actor.fire_count for actor in state.actors or ()] == [4, 4, 4]


async def test_resuming_a_run_again_must_be_accepted_and_a_finished_one_gives_its_outputs(tmp_path: Path) -> None:
    path, claims = str(tmp_path / "t"), Claims(str(tmp_path / "claims"))
    FAILS.add(102)
    assert (await line().run({"numbers": [1, 2]}, trace=path)).status == "failed"
    FAILS.clear()
    second = str(tmp_path / "u")
    done = await line().resume(path).claims(claims).run(trace=second)
    assert done.status == "completed"
    for step in (None, 0):
        with pytest.raises(ResumeRefused, match=f"was resumed before, as {done.run_id} at ") as caught:
            await line().resume(path, step=step).claims(claims).run(trace=str(tmp_path / "v"))
        assert (caught.value.code, caught.value.exit_code) == ("already_resumed", 3)
        assert not (tmp_path / "v").exists()
        assert claims.holder(open_path(path).open().run().id or "") is None
    again = await line().resume(path).claims(claims).accept("already_resumed").run()
    assert (again.status, again.outputs) == ("completed", done.outputs)
    job = open_job(second, App(target="a:b", value=line(), digest="d"))
    told = await asyncio.to_thread(resume, job, lambda event: None)
    for _ in range(2):  # nothing runs, so nothing is done twice
        given = await line().resume(second).claims(claims).run(trace=str(tmp_path / "v"))
        assert (given.outputs, given.run_id, given.steps, given.trace) == (done.outputs, done.run_id, 0, second)
        assert (told.outcome, told.output, told.replayed) == ("terminal_replay", given.saved_outputs, given.replayed)
    assert not (tmp_path / "v").exists()


async def test_a_changed_graph_is_refused_by_name(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    await line().run({"numbers": [1]}, trace=path)
    other = Network("line")
    first, second = other.add(slow), other.add(double)
    other.connect(other.input("numbers"), first.number)
    other.connect(first.out, second.number)
    other.connect(second.out, other.output("sums"))
    with pytest.raises(ResumeRefused, match=r"node fragile is gone.*node double is new") as caught:
        await other.resume(path, step=0).run()
    assert caught.value.code == "graph_changed"


async def test_a_token_that_cannot_be_saved_fails_its_firing(tmp_path: Path) -> None:
    @actor
    def bad(number: object) -> object:
        return iter([number])

    net = Network("bad")
    node = net.add(bad)
    net.connect(net.input("x"), node.number)
    net.connect(node.out, net.output("y"))
    failed = await net.run({"x": [1]}, trace=str(tmp_path / "t"))
    assert failed.error is not None
    assert failed.error.type == "Unsavable"
    assert "bad.out-->out.y" in (failed.error.message or "")
    with pytest.raises(Unsavable, match=r"input x\[0\]"):
        await net.run({"x": [iter([])]})


async def test_leftovers_are_told(tmp_path: Path) -> None:
    net = Network("join")
    join = net.add(add)
    net.connect(net.input("a"), join.left)
    net.connect(net.input("b"), join.right)
    net.connect(join.out, net.output("y"))
    result = await net.run({"a": [1, 2], "b": [3]})
    assert [(left.queue, left.count, left.kind) for left in result.leftovers] == [("in.a-->add.left", 1, "starved")]


async def test_deadlock_and_refusal_are_told(tmp_path: Path) -> None:
    @actor
    class Picky:
        @action(guard=lambda self, number: number > 5)
        def fire(self, number: int) -> int:
            return number

    def stuck(capacity: int) -> Network:
        net = Network("stuck")
        one, two, picky = net.add(double, name="one"), net.add(double, name="two"), net.add(Picky())
        net.connect(net.input("x"), one.number)
        net.connect(one.out, two.number, capacity=capacity)
        net.connect(two.out, picky.number, capacity=capacity)
        net.connect(picky.out, net.output("y"))
        return net

    trace = str(tmp_path / "t")
    result = await stuck(1).run({"x": [1, 1, 1]}, trace=trace)
    assert (result.status, result.reason, result.steps) == ("failed", "deadlock", 3)
    assert result.error is not None
    assert result.error.message == "one.out-->two.number is full, and nothing takes from there: one waits"
    assert open_path(trace).open().run().error == result.error
    with pytest.raises(RunFailed, match=r"one: failed: one\.out-->two\.number is full"):
        result.raise_for_status()
    assert [(left.node, left.count, left.kind) for left in result.leftovers] == [
        ("one", 1, "deadlock"),
        ("two", 1, "deadlock"),
        ("picky", 1, "refused"),
    ]
    with pytest.raises(ResumeRefused, match=r"deadlock: one\.out-->two\.number is full"):
        await stuck(1).resume(trace).run()
    more = await stuck(9).resume(trace).run()
    assert (more.status, more.steps) == ("completed", 3)
    assert [(left.node, left.count, left.kind) for left in more.leftovers] == [("picky", 3, "refused")]


async def test_who_lacks_a_token_is_starved_though_a_queue_behind_it_is_full(tmp_path: Path) -> None:
    @actor
    def join(left: int, right: int) -> int:
        return left + right

    net = Network("starved")
    one, two = net.add(join, name="one"), net.add(join, name="two")
    net.connect(net.input("a"), one.left)
    net.connect(net.input("b"), one.right)
    net.connect(net.input("c"), two.right)
    net.connect(one.out, two.left, capacity=1)
    net.connect(two.out, net.output("y"))
    result = await net.run({"a": [1, 2], "b": [3], "c": []}, trace=str(tmp_path / "t"))
    assert (result.status, result.reason, result.steps) == ("completed", None, 1)
    assert [(left.node, left.count, left.kind) for left in result.leftovers] == [
        ("one", 1, "starved"),
        ("two", 1, "starved"),
    ]


async def test_a_source_that_waits_for_a_full_queue_has_not_come_to_its_end(tmp_path: Path) -> None:
    @actor
    class Three:
        said: int = 0

        def fire(self) -> Iterator[Emit]:
            self.said += 1
            if self.said <= 3:
                yield emit(out=self.said)

    @actor
    def join(left: int, right: int) -> int:
        return left + right

    def stuck(capacity: int | None) -> Network:
        net = Network("stuck")
        three, joined = net.add(Three()), net.add(join, name="join")
        net.connect(three.out, joined.left, capacity=capacity)
        net.connect(net.input("never"), joined.right)
        net.connect(joined.out, net.output("y"))
        return net

    trace = str(tmp_path / "t")
    result = await stuck(1).run({"never": []}, trace=trace)
    assert (result.status, result.reason, result.steps) == ("failed", "deadlock", 1)
    assert result.error is not None
    assert result.error.message == "three.out-->join.left is full, and nothing takes from there: three waits"
    assert [(left.node, left.count, left.kind) for left in result.leftovers] == [("join", 1, "starved")]
    more = await stuck(None).resume(trace).run()
    assert (more.status, [(left.count, left.kind) for left in more.leftovers]) == ("completed", [(3, "starved")])


async def test_a_stop_waits_for_what_is_under_way(tmp_path: Path) -> None:
    control, path = Control(), str(tmp_path / "t")
    seen: list[str] = []

    def observe(event: dict[str, Any]) -> None:
        seen.append(event["event"])
        if seen.count("step") == 3:
            control.stop()

    stopped = await line().run({"numbers": [1, 2, 3]}, trace=path, control=control, observe=observe)
    assert (stopped.status, stopped.steps) == ("interrupted", 3)
    done = await line().resume(path).run()
    assert done.outputs == {"sums": [101, 203, 306]}
    assert set(RAN.values()) == {1}


async def test_what_is_left_open_stays_open_in_the_next_run(tmp_path: Path) -> None:
    """A firing that may have happened waits for a decision, also in the runs that are resumed from that one."""
    first, second, third = (str(tmp_path / name) for name in "tuv")
    control = Control()

    @actor
    async def endless(number: int) -> int:
        RAN["endless", number] += 1
        if RAN["endless", number] == 1:
            await asyncio.Event().wait()
        return number

    net = Network("n")
    node = net.add(endless)
    net.connect(net.input("x"), node.number)
    net.connect(node.out, net.output("y"))
    task = asyncio.ensure_future(net.run({"x": [1]}, trace=first, control=control))
    while not RAN:
        await asyncio.sleep(0)
    with pytest.raises(Owned):
        await net.resume(first).run()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for source, target in ((first, second), (second, third)):
        left = await net.resume(source).reconcile("endless#1", "leave").run(trace=target)
        assert (left.status, left.reason, left.open) == ("suspended", "reconciliation", ["endless#1"])
        run = open_path(target).open()
        list(run.index())
        state = run.state(0)
        assert state is not None
        assert [item.status for item in state.pending or ()] == ["ambiguous"]
    assert RAN["endless", 1] == 1
    done = await net.resume(third).reconcile("endless#1", "retry").run()
    assert done.outputs == {"y": [1]}


@pytest.mark.parametrize("said", ["text", {"out": "text"}, {"$type": "codec", "name": "gone", "value": 1}])
async def test_a_result_that_does_not_fit_is_refused_before_anything_begins(tmp_path: Path, said: Any) -> None:
    first, second = str(tmp_path / "t"), str(tmp_path / "u")

    @actor
    async def endless(number: int):  # type: ignore[no-untyped-def]
        RAN["endless", number] += 1
        await asyncio.Event().wait()

    net = Network("n")
    node, after = net.add(endless), net.add(slow)
    net.connect(net.input("x"), node.number)
    net.connect(node.out, after.number)
    net.connect(after.out, net.output("y"))
    task = asyncio.ensure_future(net.run({"x": [1]}, trace=first))
    while not RAN:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    with pytest.raises(ResumeRefused, match=r"endless#1.*the result does not fit: ") as refused:
        await net.resume(first).reconcile("endless#1", "result", said).run(trace=second)
    assert (refused.value.code, Path(second).exists()) == ("arguments_invalid", False)
    decisions = Decisions(reconcile={"endless#1": Reconciliation(how="result", value=said)})
    job = msgspec.structs.replace(open_job(first, App(target="a:b", value=net, digest="d")), decisions=decisions)
    plan = await asyncio.to_thread(check, job)
    assert [(refusal.code, refusal.subject) for refusal in plan.refusals] == [("arguments_invalid", "endless#1")]
    done = await net.resume(first).reconcile("endless#1", "result", 7).run(trace=second)
    assert (done.outputs, RAN["endless", 1]) == ({"y": [107]}, 1)


async def test_a_run_that_is_driven_has_one_owner(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    FAILS.add(101)
    failed = await line().run({"numbers": [1]}, trace=path)
    claims = Claims(str(tmp_path / "claims"))
    claims.take(failed.run_id)
    with pytest.raises(Owned):
        await line().resume(path).claims(claims).run()


PROGRAM = """
import os, sys, time
from inspector import Network, actor
@actor
def effect(number: int) -> int:
    with open(os.environ["EFFECTS"], "a") as file:
        file.write(f"{number}\\n")
    time.sleep(0.002)
    return number
@actor(idempotency="supported")
def harmless(number: int) -> int:
    return number
net = Network("killed")
one, two = net.add(effect), net.add(harmless)
net.connect(net.input("x"), one.number)
net.connect(one.out, two.number)
net.connect(two.out, net.output("y"))
if __name__ == "__main__":
    net.run_sync({"x": list(range(200))}, trace=sys.argv[1])
"""


@pytest.mark.parametrize("seed", range(max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1) * 3))
def test_a_kill_loses_and_repeats_nothing(tmp_path: Path, seed: int) -> None:
    program, trace, effects = tmp_path / "killed.py", tmp_path / "t", tmp_path / "effects"
    program.write_text(PROGRAM)
    effects.touch()
    state = {"RUNINSPECT_STATE": str(tmp_path / "state"), "XDG_DATA_HOME": str(tmp_path), "EFFECTS": str(effects)}
    environment = {**os.environ, **state}
    process = subprocess.Popen([sys.executable, str(program), str(trace)], env=environment)
    wanted = 5 + 40 * seed
    while process.poll() is None and effects.read_text().count("\n") < wanted:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    command = [sys.executable, "-m", "inspector", "resume", str(trace), "--app", f"{program}:net", "--json"]
    check = subprocess.run(
        [*command[:3], "check", *command[4:]], capture_output=True, check=True, env=environment, text=True
    )
    decisions = []
    for need in json.loads(check.stdout)["needs"]:
        number = int(need["call_id"].partition("#")[2]) - 1
        happened = f"{number}" in effects.read_text().split()
        decisions += ["--reconcile", f"{need['call_id']}={f'result:{number}' if happened else 'retry'}"]
    done = subprocess.run([*command, *decisions], capture_output=True, check=False, env=environment, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["output"] == {"y": list(range(200))}
    assert effects.read_text().split() == [str(number) for number in range(200)]


def test_results_are_values(tmp_path: Path) -> None:
    result = line().run_sync({"numbers": [1]})
    assert isinstance(result, NetworkResult)
    assert to_json(result.saved_outputs) == '{"sums":[101]}'


def test_a_helper_module_that_was_mended_is_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    flow, helper, trace = tmp_path / "flow_mended.py", tmp_path / "helper_mended.py", str(tmp_path / "t.jsonl")
    flow.write_text(
        "from helper_mended import price\nfrom inspector import Network, actor\n"
        "@actor\ndef pay(amount: int) -> str:\n    return price(amount)\n"
        "net = Network('till')\npaying = net.add(pay)\nnet.connect(net.input('amount'), paying.amount)\n"
        "net.connect(paying.out, net.output('paid'))\n"
    )
    helper.write_text("def price(amount):\n    assert amount < 2\n    return f'old {amount}'\n")
    first = load(f"{flow}:net")
    assert first.value.run_sync({"amount": [1, 2, 3]}, trace=trace).status == "failed"
    helper.write_text("def price(amount):\n    assert amount < 9\n    return f'new {amount}'\n")
    app = load(f"{flow}:net")
    assert app.digest != first.digest
    ended = resume(open_job(trace, app), lambda event: None)
    assert (ended.status, ended.output) == ("completed", {"paid": ["old 1", "new 2", "new 3"]})


async def test_a_run_cut_short_as_it_began_begins_again(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    whole = await line().run({"numbers": [1, 2]}, trace=str(trace))
    lines = trace.read_text().splitlines(keepends=True)
    trace.write_text(lines[0] + lines[1][: len(lines[1]) // 2])
    again = await line().resume(str(trace)).run(trace=str(tmp_path / "u.jsonl"))
    assert (again.status, again.outputs) == ("completed", whole.outputs)
    steps = [text for text in lines if '"record":"step"' in text]
    trace.write_text(lines[0] + "".join(steps))
    with pytest.raises(ResumeRefused, match="no whole checkpoint"):
        await line().resume(str(trace)).run(trace=str(tmp_path / "v.jsonl"))
    trace.write_text(lines[0] + next(text for text in lines if '"record":"operation"' in text))
    with pytest.raises(ResumeRefused, match="things had happened"):
        await line().resume(str(trace)).run(trace=str(tmp_path / "w.jsonl"))
