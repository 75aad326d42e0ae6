"""Networks for tests, and a plain loop that runs one without journal, threads or clock."""

import random
from collections.abc import Iterator
from typing import Any

from inspector.dataflow.actors import actor, emit
from inspector.dataflow.firing import Committed, Firing
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.network import Network


@actor
def double(number: int) -> int:
    return number * 2


@actor
def split(number: int) -> list[int]:
    return list(range(number % 4))


@actor(outputs=("even", "odd"))
def sort(number: int) -> Any:
    return emit(even=number) if number % 2 == 0 else emit(odd=number)


@actor
class Sum:
    start: int
    total: int = 0

    def fire(self, number: int) -> int:
        self.total += number
        return self.start + self.total


@actor
def add(left: int, right: int) -> int:
    return left + right


@actor
class Count:
    limit: int
    n: int = 0

    def fire(self) -> Any:
        self.n += 1
        if self.n <= self.limit:
            yield emit(out=self.n)


def perform(run: NetworkRun, firing: Firing) -> Committed:
    """Run the body of a firing that has begun, and commit it."""
    values = run.values
    tokens = [values.decode(token) for token in firing.tokens.values()]
    if firing.node.kind == "loop":
        return run.decide(firing)
    if firing.node.condition is not None:
        return run.decide(firing, firing.node.condition(*tokens))
    actor_, action = firing.node.actor, firing.action
    assert actor_ is not None
    assert action is not None
    state = {name: values.decode(value) for name, value in firing.state.items()}
    body, instance = actor_.bind(action, state)
    puts = [(port, values.encode(token)) for port, token in actor_.tokens(body(*tokens))]
    after = {name: values.encode(value) for name, value in actor_.state_of(instance).items()}
    return run.commit(firing, puts, after)


def run_on(
    run: NetworkRun, workers: int = 1, rng: random.Random | None = None, steps: int = 2000
) -> Iterator[Committed]:
    """Run to the end with up to `workers` firings under way, which end in the order that `rng` likes."""
    for _ in range(steps):
        while len(run.flying) < workers and (firing := run.first()) is not None:
            run.begin(firing)
            if rng is None or rng.random() < 0.8:
                run.start(firing)
        if not run.flying:
            return
        flying = list(run.flying)
        yield perform(run, flying[0] if rng is None else rng.choice(flying))
    raise AssertionError("the network does not come to rest")


def outputs(run: NetworkRun) -> dict[str, list[Any]]:
    """What the network's output ports hold."""
    return {port: [run.values.decode(token) for token in tokens] for port, tokens in run.queues.outputs().items()}


def random_network(rng: random.Random, depth: int = 0) -> Network:
    """A network with one input and one output that comes to rest: actors in a row, some of them nested networks,
    loops, branches, fan-out and join."""
    net = Network(f"net{depth}")
    port = net.input("number")
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(
            ["double", "sum", "sort", "join", "nested", "when", "loop"] if depth < 2 else ["double", "sum", "sort"]
        )
        if kind in ("double", "sum"):
            node = net.add(double if kind == "double" else Sum(start=1))  # type: ignore[call-arg]
            net.connect(port, node.number)
            port = node.out
        elif kind == "sort":
            node, after = net.add(sort), net.add(double)
            net.connect(port, node.number)
            net.connect(node.even, after.number)
            net.connect(node.odd, after.number)
            port = after.out
        elif kind == "join":
            one, other, join = net.add(double), net.add(Sum(start=0)), net.add(add)  # type: ignore[call-arg]
            net.connect(port, one.number)
            net.connect(port, other.number)
            net.connect(one.out, join.left)
            net.connect(other.out, join.right)
            port = join.out
        elif kind == "nested":
            node = net.add(random_network(rng, depth + 1))
            net.connect(port, node.number)
            port = node.result
        elif kind == "when":
            node = net.when(is_even, random_network(rng, depth + 1), double)
            join = net.add(double)
            net.connect(port, node.value)
            net.connect(node.result, join.number)
            net.connect(node.out, join.number)
            port = join.out
        else:
            items, node = net.add(split), net.loop(random_network(rng, depth + 1))
            net.connect(port, items.number)
            net.connect(items.out, node["items"])
            port = node.result
    net.connect(port, net.output("result"))
    return net


def is_even(number: int) -> bool:
    return number % 2 == 0
