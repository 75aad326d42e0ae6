"""A graph that has grown: what touches nothing is accepted one by one, anything else is refused by name."""

import asyncio
import dataclasses
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector import Agent, Network, ScriptedModel, actor
from inspector.dataflow import network as dataflow
from inspector.dataflow.definition import digest
from inspector.dataflow.growth import grown, without
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.network import Loop, When
from inspector.dataflow.plan import Plan, flatten
from inspector.diff import Side
from inspector.diff.weight import weigh
from inspector.errors import UsageError
from inspector.model.run import Definition
from inspector.model.values import to_json
from inspector.report.difftext import diff_report
from inspector.resume.apps import App
from inspector.resume.jobs import Refused, check, open_job, resume, today
from inspector.resume.judge import against
from inspector.resume.plan import Decisions
from inspector.runner.errors import ResumeRefused
from inspector.runner.network.nodes import described
from tests.dataflow.networks import Sum, add, double, outputs, random_network, run_on

FAILS: set[int] = set()


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FAILS.clear()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@actor
def fragile(number: int) -> int:
    if number in FAILS:
        raise ValueError("cracked")
    return number


def line(*, log: str | None = None, before: bool = False) -> Network:
    """Two actors in a row; `log` puts another one beside the end, `before` puts it in front of the others."""
    net = Network("line")
    beside = net.add(double, name="beside") if before else None
    first, second = net.add(Sum(start=0)), net.add(fragile)  # type: ignore[call-arg]
    net.connect(net.input("x"), first.number)
    net.connect(first.out, second.number)
    net.connect(second.out, net.output("y"))
    if log is not None:
        beside = beside or net.add(double, name="beside")
        net.connect({"first": first.out, "second": second.out}[log], beside.number)
        net.connect(beside.out, net.output("log"))
    return net


NEW = ["graph_added:beside", "graph_added:fragile.out-->beside.number", "graph_added:beside.out-->out.log"]


async def failed(path: str) -> None:
    FAILS.add(3)
    assert (await line().run({"x": [1, 2]}, trace=path)).status == "failed"
    FAILS.clear()


@pytest.mark.parametrize("before", [False, True])
async def test_what_is_new_is_accepted_one_by_one(before: bool, tmp_path: Path) -> None:
    path, second = str(tmp_path / "t"), str(tmp_path / "u")
    await failed(path)
    net = line(log="second", before=before)
    with pytest.raises(ResumeRefused, match=r"new are beside, .*fragile\.out-->beside\.number"):
        await net.resume(path).run()
    with pytest.raises(ResumeRefused, match=r"new are beside\.out-->out\.log \(") as caught:
        await net.resume(path).accept(*NEW[:2]).run()
    assert caught.value.code == "graph_changed"
    result = await net.resume(path).accept(*NEW).run(trace=second)
    assert result.outputs == {"y": [1, 3], "log": [6]}
    again = await net.resume(second, step=1).run()
    assert again.outputs == result.outputs


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda net: net.connect(net.input("more"), _at(net, "sum", "number")), "sum, which holds state"),
        (lambda net: net.connect(net.input("more"), _at(net, "fragile", "number")), "fragile, which holds tokens"),
        (lambda net: net.nodes.update(fragile=net.nodes["sum"]), "node fragile is another"),
        (lambda net: net.connections.pop(1), "nothing is connected"),
        (
            lambda net: _of(net, "fragile", outputs=("out", "more")),
            "has other output ports that nothing is connected to",
        ),
    ],
    ids=["state", "tokens", "class", "gone", "port"],
)
async def test_what_touches_something_is_refused_by_name(change: Any, why: str, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    await failed(path)
    net = line()
    change(net)
    with pytest.raises((ResumeRefused, UsageError), match=why):
        await net.resume(path).accept("graph_added:in.more-->sum.number", "graph_added:in.more-->fragile.number").run()


def _at(net: Network, node: str, port: str) -> Any:
    from inspector.dataflow.network import Port

    return Port(net, node, port, False)


def _of(net: Network, node: str, **fields: Any) -> None:
    net.nodes[node] = dataclasses.replace(net.nodes[node], **fields)  # type: ignore[type-var]


def test_another_order_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    asyncio.run(failed(path))
    net = line()
    net.nodes = dict(reversed(net.nodes.items()))
    job = open_job(path, App(target="a:b", value=net, digest="d"))
    plan = check(job)
    assert (plan.resumable, plan.diff.graph.reordered) == (True, True)
    assert [(warning.code, warning.accept) for warning in plan.warnings] == [("graph_reordered", False)]
    verdict = against(job.source, job.step, today(job.app), plan)[1]
    assert {item.weight for item in verdict if item.section == "Graph"} == {"harmless"}
    assert resume(job, lambda event: None).output == {"y": [1, 3]}
    job = open_job(path, App(target="a:b", value=line(), digest="d"), step=1)
    assert [warning.code for warning in check(job).warnings if warning.code == "graph_reordered"] == []


def goes_on_as_before(plan: Plan, other: Plan) -> None:
    """Stopped at any third step of a plan, a run goes on by another one as it would have by its own."""
    graph = described(plan).graph
    assert graph is not None
    assert digest(without(other, graph)) == digest(plan)
    clean = NetworkRun(plan)
    clean.feed({"number": [3, 6]})
    names = [done.step.name for done in run_on(clean)]
    for stop in range(0, len(names), 3):
        run = NetworkRun(without(other, graph))
        run.feed({"number": [3, 6]})
        steps = run_on(run)
        for _ in range(stop):
            next(steps)
        over = grown(run, other)
        assert [done.step.name for done in run_on(over)] == names[stop:]
        assert to_json(outputs(over)["result"]) == to_json(outputs(clean)["result"])


def shuffled(net: dataflow.Network, rng: random.Random) -> None:
    rng.shuffle(net.connections)
    for body in net.nodes.values():
        inner = [body.body] if isinstance(body, Loop) else body.branches.values() if isinstance(body, When) else [body]
        for each in inner:
            if isinstance(each, dataflow.Network):
                shuffled(each, rng)


@pytest.mark.parametrize("seed", range(12))
def test_the_order_in_which_edges_are_connected_changes_nothing(seed: int) -> None:
    """Nor where a run goes on with the other order in the middle."""
    net = random_network(random.Random(seed))
    shuffled(net, random.Random(seed))
    goes_on_as_before(flatten(random_network(random.Random(seed))), flatten(net))


async def test_a_loop_that_is_not_through_takes_nothing_new(tmp_path: Path) -> None:
    def loops(inner: Network) -> Network:
        net = Network("n")
        each = net.loop(inner)
        net.connect(net.input("xs"), each["items"])
        net.connect(each.y, net.output("y"))
        return net

    def body(more: bool) -> Network:
        inner = Network("body")
        node = inner.add(fragile)
        inner.connect(inner.input("x"), node.number)
        inner.connect(node.out, inner.output("y"))
        if more:
            inner.connect(node.out, inner.add(double).number)
        return inner

    path = str(tmp_path / "t")
    FAILS.add(2)
    assert (await loops(body(False)).run({"xs": [[1, 2, 3]]}, trace=path)).status == "failed"
    with pytest.raises(ResumeRefused, match="node loop/double is inside of loop, which is not through"):
        await loops(body(True)).resume(path).run()


def test_the_plan_asks_for_each(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    FAILS.add(3)
    line().run_sync({"x": [1, 2]}, trace=path)
    FAILS.clear()
    job = open_job(path, App(target="a:b", value=line(log="second"), digest="d"))
    plan = check(job)
    assert plan.refusals == ()
    assert sorted(warning.code for warning in plan.warnings if warning.accept) == sorted(NEW)
    assert plan.diff.graph.added_nodes == ("beside",)
    with pytest.raises(Refused):
        resume(job, lambda event: None)
    accepted = msgspec.structs.replace(job, decisions=Decisions(accept=frozenset(NEW)))
    assert resume(accepted, lambda event: None).output == {"y": [1, 3], "log": [6]}


@pytest.mark.parametrize("seed", range(12))
def test_a_run_brought_over_goes_on_as_it_would_have(seed: int) -> None:
    """With actors that nobody listens to in front of everything else, the old ones fire in their old order."""
    net = random_network(random.Random(seed))
    beside = net.add(add, name="beside")
    net.nodes = {"beside": net.nodes["beside"], **net.nodes}
    for port in ("left", "right"):
        net.connect(net.input(f"more {port}"), beside[port])
    goes_on_as_before(flatten(random_network(random.Random(seed))), flatten(net))


async def test_what_is_set_otherwise_is_accepted_and_named(tmp_path: Path) -> None:
    """A run goes on with another number of workers, capacity, timeout, state or idempotency, and the plan says so."""
    path = str(tmp_path / "t")

    def made(*, old: bool) -> Network:
        def fire(self: Any, number: int) -> int:
            if old:
                raise ValueError("cracked")
            return number

        fields: dict[str, Any] = {"limit": int, "kept": int, **({"gone": int} if old else {"new": int})}
        body: dict[str, Any] = {"__annotations__": fields, "fire": fire, "kept": 1 if old else 2}
        kind = actor(idempotency="unknown" if old else "supported", timeout=None if old else 9.0)(
            type("Step", (), {**body, **({"gone": 3} if old else {"new": 4})})
        )
        net = Network("line", workers=1 if old else 2)
        first, agent = net.add(double), net.add(Agent("clerk", ScriptedModel("done"), max_tokens=10 if old else 20))
        step = net.add(kind(limit=5 if old else 6), name="step")  # type: ignore[call-arg]
        net.connect(net.input("x"), first.number)
        net.connect(first.out, step.number, capacity=3 if old else 7)
        net.connect(step.out, agent.prompt)
        net.connect(agent.answer, net.output("y"))
        return net

    assert (await made(old=True).run({"x": [1]}, trace=path)).status == "failed"
    job = open_job(path, App(target="a:b", value=made(old=False), digest="d"))
    plan = await asyncio.to_thread(check, job)
    assert plan.resumable
    graph = plan.diff.graph
    told = {
        f"{node.id}.{change.path}": (change.left, change.right)
        for node in graph.changed_nodes
        for change in node.changes
    }
    assert told.pop("step.body", None) is None  # the same source
    assert told == {
        "step.idempotency": ("unknown", "supported"),
        "step.parameters.limit": (5, 6),
        "step.state.kept": (1, 2),
        "step.state.gone": (3, None),
        "step.state.new": (None, 4),
        "step.timeout": (None, 9.0),
        "clerk.parameters.max_tokens": (10, 20),
    }
    assert [(edge.id, edge.changes[0].left, edge.changes[0].right) for edge in graph.changed_edges] == [
        ("double.out-->step.number", 3, 7)
    ]
    warned = {(warning.code, warning.subject) for warning in plan.warnings}
    assert {("edge_changed", "double.out-->step.number"), ("settings_changed", "workers")} <= warned
    assert {("node_changed", "step"), ("node_changed", "clerk"), ("state_dropped", "step")} <= warned
    assert "~ edge double.out-->step.number capacity: 3 → 7" in list(diff_report(plan.diff))
    assert any(
        item.subject == "edge double.out-->step.number" for item in weigh(Side(definition=Definition()), plan.diff)
    )
