"""Networks as users write them: nodes added, ports connected, networks nested.

`Network` is the builder; what runs is the `plan` that is made of it.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from inspector.dataflow.actors import Actor, actor_of
from inspector.errors import UsageError

INPUT, OUTPUT = "in", "out"
"""The names that stand for the network's own boundary in the ids of queues."""

Adapter = Callable[[Any], Actor | None]
ADAPTERS: list[Adapter] = []
"""How other things than actors (tools, agents) become nodes: each is asked in turn. The runner adds its own."""


@dataclasses.dataclass(frozen=True)
class Port:
    """One end of a connection: a port of a node (None: of the network's own boundary)."""

    network: "Network"
    node: str | None
    name: str
    gives: bool | None
    """Whether tokens come out of it: an actor's output, a network's input. None: there is one of each kind."""


class NodeHandle:
    """A node that was added; its ports are attributes (`node.text`), or items where a name is taken."""

    def __init__(self, network: "Network", name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self._network, self._name, self._inputs, self._outputs = network, name, inputs, outputs

    def __getattr__(self, name: str) -> Port:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Port:
        if name not in self._inputs and name not in self._outputs:
            known = ", ".join((*self._inputs, *self._outputs))
            raise UsageError(f"{self._network.name}.{self._name}", f"has no port {name!r}; it has {known or 'none'}")
        both = name in self._inputs and name in self._outputs
        return Port(self._network, self._name, name, None if both else name in self._outputs)


@dataclasses.dataclass(frozen=True)
class _Connection:
    source: tuple[str | None, str]
    target: tuple[str | None, str]
    capacity: int | None


class Network:
    """A dataflow network under construction; `workers` is how many firings may be under way at once."""

    def __init__(self, name: str, *, workers: int = 1) -> None:
        self.name, self.workers = name, workers
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.nodes: dict[str, Actor | Network | Loop | When] = {}
        self.connections: list[_Connection] = []

    def add(self, thing: Any, name: str | None = None) -> NodeHandle:
        """Add an actor, a tool, an agent or another network; returns the node, for its ports. A name that is taken
        gets a number. Raises UsageError for what cannot be a node."""
        body: Actor | Network | None = thing if isinstance(thing, Network) else actor_of(thing)
        for adapt in ADAPTERS:
            body = body or adapt(thing)
        if body is None:
            raise UsageError(f"{self.name}.add", f"a {type(thing).__name__} is no actor, tool, agent or network")
        return self._add(body, name or (body.name if isinstance(body, Network) else body.default_name))

    def loop(self, body: Any, name: str = "loop") -> NodeHandle:
        """A node with the input port `items`: each token there is an iterable, whose items go to the only input of
        `body` one by one, the next when the body has come to rest. Outputs are those of the body, and `done`, the
        number of items, when they are all through."""
        inner = _as_network(body)
        if len(inner.inputs) != 1:
            raise UsageError(f"{self.name}.loop", f"the body must have one input, not {len(inner.inputs)}")
        return self._add(Loop(inner), name)

    def when(
        self, condition: Callable[[Any], bool], then: Any, otherwise: Any = None, name: str = "when"
    ) -> NodeHandle:
        """A node with the input port `value`: a token for which `condition` holds goes to the only input of `then`,
        any other to that of `otherwise` (None: to the output port `otherwise`). Outputs are those of both."""
        branches = {"then": _as_network(then)}
        if otherwise is not None:
            branches["otherwise"] = _as_network(otherwise)
        for branch in branches.values():
            if len(branch.inputs) != 1:
                raise UsageError(f"{self.name}.when", f"a branch must have one input, not {len(branch.inputs)}")
        return self._add(When(condition, branches), name)

    def input(self, name: str) -> Port:
        """An input port of the network itself."""
        self.inputs[name] = None
        return Port(self, None, name, True)

    def output(self, name: str) -> Port:
        """An output port of the network itself."""
        self.outputs[name] = None
        return Port(self, None, name, False)

    def connect(self, source: Port, target: Port, *, capacity: int | None = None) -> None:
        """A queue from one port to another. With a `capacity`, a firing that would put a token there waits while the
        queue holds that many; a firing that puts several tokens at once may go over it."""
        for port, gives in ((source, True), (target, False)):
            if port.network is not self:
                raise UsageError(f"{self.name}.connect", f"the port {port.name!r} belongs to {port.network.name!r}")
            if port.gives is (not gives):
                raise UsageError(f"{self.name}.connect", f"the port {port.name!r} stands on the wrong side")
        if capacity is not None and capacity < 1:
            raise UsageError(f"{self.name}.connect", f"a capacity of {capacity} lets nothing through")
        self.connections.append(_Connection((source.node, source.name), (target.node, target.name), capacity))

    def named(self, name: str) -> str:
        """The path of a node by that, or by the name that the network in it was made with (of a loop, its body); any
        other name as it is. Raises UsageError for the name of several."""
        places = dict(_places(self, ""))
        found = [place for place, own in places.items() if own == name]
        if name in places or not found:
            return name
        if len(found) > 1:
            raise UsageError(f"{self.name}: {name}", f"several nodes are it: {', '.join(found)}")
        return found[0]

    def _add(self, body: "Actor | Network | Loop | When", name: str) -> NodeHandle:
        unique, number = name, 1
        while unique in self.nodes or unique in (INPUT, OUTPUT):
            number += 1
            unique = f"{name}_{number}"
        if "/" in unique:
            raise UsageError(f"{self.name}.add", f"the name {unique!r} holds a slash")
        self.nodes[unique] = body
        inputs, outputs = ports_of(body)
        return NodeHandle(self, unique, inputs, outputs)


@dataclasses.dataclass(frozen=True)
class Loop:
    """A control node that feeds `body` the items of its input one at a time."""

    body: Network


@dataclasses.dataclass(frozen=True)
class When:
    """A control node that sends a token to one of `branches` (`then`, and `otherwise` if there is one)."""

    condition: Callable[[Any], bool]
    branches: dict[str, Network]


def _places(network: Network, above: str) -> Iterator[tuple[str, str | None]]:
    """The paths of all nodes, each with the own name of the network in it, if there is one."""
    for name, body in network.nodes.items():
        here = f"{above}{name}"
        match body:
            case Actor():
                yield here, None
            case When():
                yield here, None
                for branch, inner in body.branches.items():
                    yield f"{here}/{branch}", inner.name
                    yield from _places(inner, f"{here}/{branch}/")
            case _:
                inner = body.body if isinstance(body, Loop) else body
                yield here, inner.name
                yield from _places(inner, f"{here}/")


def ports_of(body: Actor | Network | Loop | When) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The input and output ports of what a node stands for."""
    match body:
        case Actor():
            return body.inputs, body.outputs
        case Network():
            return tuple(body.inputs), tuple(body.outputs)
        case Loop():
            return ("items",), (*body.body.outputs, "done")
        case When():
            outputs = dict.fromkeys(port for branch in body.branches.values() for port in branch.outputs)
            return ("value",), (*outputs, *(() if "otherwise" in body.branches else ("otherwise",)))


def _as_network(body: Any) -> Network:
    if isinstance(body, Network):
        return body
    inner = Network("body")
    node = inner.add(body)
    inputs, outputs = ports_of(inner.nodes[node._name])
    for port in inputs:
        inner.connect(inner.input(port), node[port])
    for port in outputs:
        inner.connect(node[port], inner.output(port))
    return inner
