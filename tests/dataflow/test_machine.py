import json
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.dataflow.actors import action, actor, emit
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.network import Network
from inspector.dataflow.plan import flatten
from inspector.model.changes import Change, apply
from inspector.model.run import State
from inspector.model.values import to_json
from tests.dataflow.networks import Count, Sum, add, double, outputs, perform, random_network, run_on, split

seeds = st.integers(0, 10**6)


def started(net: Network, **inputs: list[object]) -> NetworkRun:
    run = NetworkRun(flatten(net))
    run.feed(inputs)
    return run


def rows(state: State) -> list[str]:
    """What is pending, in no order."""
    return sorted(map(to_json, state.pending or ()))


def through_json(state: State) -> State:
    return msgspec.convert(json.loads(to_json(state)), State)


@settings(max_examples=40, deadline=None)
@given(seeds, st.lists(st.integers(0, 9), max_size=4), st.integers(1, 4))
def test_the_changes_rebuild_the_state(seed: int, numbers: list[int], workers: int) -> None:
    run = started(random_network(random.Random(seed)), number=list(numbers))
    state = run.state()
    for done in run_on(run, workers, random.Random(seed)):
        change = msgspec.convert(json.loads(to_json(done.change)), Change)
        state = apply(state, change, done.step.seq)
        live = run.state()
        assert to_json(state.queues) == to_json(live.queues)
        assert to_json(state.actors) == to_json(live.actors)
        assert rows(state) == rows(live)
    assert run.resting


@settings(max_examples=40, deadline=None)
@given(seeds, st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 4))
def test_the_changes_tell_what_is_under_way_and_what_failed(seed: int, numbers: list[int], workers: int) -> None:
    rng = random.Random(seed)
    run = started(random_network(rng), number=list(numbers))
    state, failed, under_way = run.state(), dict[int, str](), set[str]()
    while not run.resting or failed:
        if not run.flying and run.first() is None:
            for number in failed:
                run.reopen(number)
        while len(run.flying) < workers and (firing := run.first()) is not None:
            run.begin(firing)
            failed.pop(firing.number, None)  # another token has arrived at it
            if rng.random() < 0.8:
                run.start(firing)
                under_way.add(firing.id)
        firing = rng.choice(list(run.flying))
        under_way.discard(firing.id)
        if rng.random() < 0.1:
            run.release(firing)
            failed[firing.number] = f"failed: {firing.id}"
            run.fail(firing, failed[firing.number], doubted=rng.random() < 0.5)
            continue
        done = perform(run, firing)
        state = apply(state, msgspec.convert(json.loads(to_json(done.change)), Change), done.step.seq)
        assert rows(state) == rows(run.state())
        pending = state.pending or ()
        assert {item.call_id for item in pending if item.status == "in_flight"} == under_way
        assert sorted(item.note for item in pending if item.note is not None) == sorted(failed.values())


@settings(max_examples=25, deadline=None)
@given(seeds, st.lists(st.integers(0, 9), min_size=1, max_size=3))
def test_a_run_goes_on_from_every_step(seed: int, numbers: list[int]) -> None:
    net = random_network(random.Random(seed))
    clean = started(net, number=list(numbers))
    names = [done.step.name for done in run_on(clean)]
    for stop in range(len(names) + 1):
        run = started(net, number=list(numbers))
        steps = run_on(run)
        before = [next(steps).step.name for _ in range(stop)]
        again = NetworkRun.restore(run.plan, through_json(run.state()), json.loads(to_json(run.machine())))
        after = [done.step.name for done in run_on(again)]
        assert before + after == names
        assert outputs(again) == outputs(clean)


@settings(max_examples=25, deadline=None)
@given(seeds, st.lists(st.integers(0, 9), min_size=1, max_size=3), st.integers(2, 4))
def test_the_journal_alone_brings_a_run_back(seed: int, numbers: list[int], workers: int) -> None:
    net = random_network(random.Random(seed))
    run, copy = started(net, number=list(numbers)), started(net, number=list(numbers))
    for done in run_on(run, workers, random.Random(seed + 1)):
        copy.replay(done.change)
        there = NetworkRun.restore(run.plan, copy.state(), copy.machine())
        assert to_json(copy.machine()["orders"]) == to_json(run.machine()["orders"])
        assert to_json(there.state().queues) == to_json(run.state().queues)


@settings(max_examples=25, deadline=None)
@given(seeds, st.lists(st.integers(0, 9), max_size=3))
def test_a_failed_firing_changes_nothing(seed: int, numbers: list[int]) -> None:
    rng = random.Random(seed)
    run = started(random_network(rng), number=list(numbers))
    failed = 0
    while ready := run.ready():
        before = to_json(run.state().queues), to_json(run.state().actors)
        run.begin(ready[0])
        if failed < 200 and rng.random() < 0.3:
            run.release(ready[0], retry=True)
            assert (to_json(run.state().queues), to_json(run.state().actors)) == before
            failed += 1
        else:
            perform(run, ready[0])
    assert run.resting


def test_a_port_takes_tokens_in_the_order_of_arrival() -> None:
    net = Network("n")
    node = net.add(double)
    net.connect(net.input("a"), node.number)
    net.connect(net.input("b"), node.number)
    net.connect(node.out, net.output("y"))
    run = started(net, b=[1, 2], a=[3])
    list(run_on(run))
    assert outputs(run) == {"y": [2, 4, 6]}


def test_nodes_take_turns() -> None:
    net = Network("n")
    for name in "ab":
        node = net.add(double, name=name)
        net.connect(net.input("x"), node.number)
        net.connect(node.out, net.output("y"))
    assert [done.step.name for done in run_on(started(net, x=[1, 2, 3]))] == ["a", "b", "a", "b", "a", "b"]


def test_a_full_queue_holds_back_who_fills_it() -> None:
    net = Network("n")
    count, slow = net.add(Count(limit=5)), net.add(double)  # type: ignore[call-arg]
    net.connect(count.out, slow.number, capacity=2)
    net.connect(slow.out, net.output("y"))
    run = started(net)
    while counting := [firing for firing in run.ready() if firing.node.name == "count"]:
        run.begin(counting[0])
        perform(run, counting[0])
    assert (run.state().queues or ())[0].size == 2
    list(run_on(run))
    assert outputs(run) == {"y": [2, 4, 6, 8, 10]}


def test_a_loop_waits_until_its_body_rests() -> None:
    net = Network("n")
    loop = net.loop(double)
    net.connect(net.input("xs"), loop["items"])
    net.connect(loop.out, net.output("y"))
    net.connect(loop.done, net.output("n"))
    run = started(net, xs=[[1, 2], (3,), {"a": 4}])
    names = [done.step.name.removeprefix("loop/") for done in run_on(run, workers=4)]
    assert " ".join(names) == "loop double loop double loop loop double loop loop double loop"
    assert outputs(run) == {"y": [2, 4, 6, "aa"], "n": [2, 1, 1]}


def test_guards_choose_the_action_and_take_nothing() -> None:
    @actor(outputs=("small", "big"))
    class Gate:
        limit: int
        passed: int = 0

        @action(guard=lambda self, x: x < self.limit)
        def small(self, x: int) -> object:
            self.passed += 1
            return emit(small=x)

        @action(guard=lambda self, x: self.passed >= 1)
        def big(self, x: int) -> object:
            return emit(big=x)

    net = Network("n")
    gate = net.add(Gate(limit=5))  # type: ignore[call-arg]
    net.connect(net.input("x"), gate.x)
    net.connect(gate.small, net.output("small"))
    net.connect(gate.big, net.output("big"))
    blocked = started(net, x=[9, 1])
    assert blocked.resting
    run = started(net, x=[1, 9])
    list(run_on(run))
    assert outputs(run) == {"small": [1], "big": [9]}


def test_a_join_without_its_other_half_rests_with_leftovers() -> None:
    net = Network("n")
    join = net.add(add)
    net.connect(net.input("a"), join.left)
    net.connect(net.input("b"), join.right)
    net.connect(join.out, net.output("y"))
    run = started(net, a=[1, 2], b=[10])
    list(run_on(run))
    assert outputs(run) == {"y": [11]}
    assert [queue.size for queue in run.state().queues or ()] == [1, 0, 1]


def test_state_is_not_shared_between_runs() -> None:
    net = Network("n")
    node = net.add(Sum(start=0))  # type: ignore[call-arg]
    net.connect(net.input("x"), node.number)
    net.connect(node.out, net.output("y"))
    for _ in range(2):
        run = started(net, x=[1, 2])
        list(run_on(run))
        assert outputs(run) == {"y": [1, 3]}


def test_a_state_of_another_network_is_refused() -> None:
    run = started(random_network(random.Random(1)), number=[1])
    other = Network("other")
    node = other.add(split)
    other.connect(other.input("x"), node.number)
    with pytest.raises(ValueError, match="not those of the network"):
        NetworkRun.restore(flatten(other), run.state(), run.machine())
