"""Networks as users write them: nodes added, ports connected, networks nested.

`Network` is the builder; `flatten` turns it into a `Plan`, which is what runs: nodes by their path, queues by
number. A nested network is transparent: its ports vanish and its actors stand in the plan under its name, so
`line/splitter` is the actor `splitter` of the network added as `line`. Only control nodes stay: a `loop` feeds
its body one item at a time, a `when` sends a token to one of its branches.

Each connection is a queue with an identity of its own, also where the same two ports are connected twice.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

from inspector.dataflow.actors import Action, Actor, actor_of
from inspector.dataflow.names import qualified
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
    gives: bool
    """Whether tokens come out of it: an actor's output, a network's input."""


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
        return Port(self._network, self._name, name, name in self._outputs)


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
            if port.gives is not gives:
                raise UsageError(f"{self.name}.connect", f"the port {port.name!r} stands on the wrong side")
        if capacity is not None and capacity < 1:
            raise UsageError(f"{self.name}.connect", f"a capacity of {capacity} lets nothing through")
        self.connections.append(_Connection((source.node, source.name), (target.node, target.name), capacity))

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


Ports = dict[str, tuple[int, ...]]
"""The numbers of the queues at each port."""


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of a plan. `reads` maps each input port to the numbers of its queues in the order of connection,
    `writes` each output port to those it puts on. `actor` is None for control nodes; `condition` is a when's;
    `body` is the range of a loop's own nodes in the plan."""

    path: tuple[str, ...]
    kind: str
    class_name: str
    reads: Ports
    writes: Ports
    actor: Actor | None = None
    condition: Callable[[Any], bool] | None = None
    body: range = range(0)

    @functools.cached_property
    def name(self) -> str:
        return "/".join(self.path)

    @property
    def actions(self) -> tuple[Action, ...]:
        return self.actor.actions if self.actor else ()


@dataclasses.dataclass(frozen=True)
class Link:
    """A queue of a plan: `id` within `scope`; the numbers of the nodes at its ends (None: the boundary) with
    their ports."""

    id: str
    scope: tuple[str, ...]
    source: int | None
    source_port: str
    target: int | None
    target_port: str
    capacity: int | None


@dataclasses.dataclass(frozen=True)
class Plan:
    """What runs. Nodes and queues are known by their numbers; `inputs` and `outputs` map the network's own ports
    to queues; `networks` are the paths of nested networks, for showing the graph."""

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    inputs: Ports
    outputs: Ports
    networks: tuple[tuple[str, ...], ...]
    workers: int


Path = tuple[str, ...]
End = tuple[str, Path, str]
"""(`in`, network, port), (`out`, network, port): a port of a network's boundary, seen from inside; (`give`, node,
port), (`take`, node, port): a port of a node that stays in the plan. Networks and nodes by path; () is the top."""


def flatten(network: Network) -> Plan:
    """The plan of a network. Raises UsageError for an input port of an actor that nothing is connected to, since
    it could never fire."""
    flat = _Flattening(network)
    numbers = {path: number for number, path in enumerate(flat.bodies)}
    links = [*flat.links(numbers)]
    reads: dict[int | None, dict[str, tuple[int, ...]]] = {}
    writes: dict[int | None, dict[str, tuple[int, ...]]] = {}
    for number, link in enumerate(links):
        for side, end, port in ((reads, link.target, link.target_port), (writes, link.source, link.source_port)):
            ports = side.setdefault(end, {})
            ports[port] = (*ports.get(port, ()), number)
    nodes = [
        _node(path, body, reads.get(number, {}), writes.get(number, {}), flat.spans[path])
        for number, (path, body) in enumerate(flat.bodies.items())
    ]
    return Plan(
        name=network.name,
        nodes=tuple(nodes),
        links=tuple(links),
        inputs={name: writes.get(None, {}).get(name, ()) for name in network.inputs},
        outputs={name: reads.get(None, {}).get(name, ()) for name in network.outputs},
        networks=tuple(flat.networks),
        workers=network.workers,
    )


def _node(path: Path, body: Actor | Loop | When, reads: Ports, writes: Ports, span: range) -> Node:
    if isinstance(body, Actor):
        body = body.connected(reads)
    if lonely := [port for port in ports_of(body)[0] if port not in reads]:
        raise UsageError("/".join(path), f"nothing is connected to its input port {lonely[0]!r}")
    match body:
        case Actor():
            return Node(path, body.kind, body.class_name, reads, writes, actor=body)
        case Loop():
            return Node(path, "loop", "loop", reads, writes, body=span)
        case When():
            return Node(path, "when", qualified(body.condition), reads, writes, condition=body.condition)


class _Flattening:
    """One pass over a network and what it nests: the nodes that stay, and from each end of a connection the ends
    that it leads to."""

    def __init__(self, network: Network) -> None:
        self.bodies: dict[Path, Actor | Loop | When] = {}
        self.spans: dict[Path, range] = {}
        self.networks: list[Path] = []
        self._leads: dict[End, list[tuple[End, int | None]]] = {}
        self._starts: list[tuple[End, Path, str]] = [(("in", (), port), (), port) for port in network.inputs]
        self._walk(network, (), frozenset())

    def _walk(self, network: Network, path: Path, above: frozenset[int]) -> None:
        if id(network) in above:
            raise UsageError(network.name, "is nested in itself")
        inside = above | {id(network)}
        for name, body in network.nodes.items():
            here = (*path, name)
            if isinstance(body, Network):
                self.networks.append(here)
                self._walk(body, here, inside)
            else:
                self._stay(body, here, inside)
        for connection in network.connections:
            target = self._target(network, path, *connection.target)
            for source in self._sources(network, path, *connection.source):
                self._leads.setdefault(source, []).append((target, connection.capacity))

    def _stay(self, body: Actor | Loop | When, here: Path, inside: frozenset[int]) -> None:
        self.bodies[here] = body
        begin = len(self.bodies)
        own: tuple[str, ...] = ()
        match body:
            case Actor():
                own = body.outputs
            case Loop():
                own = ("done",)
                self._walk(body.body, here, inside)
                self._starts.append((("in", here, next(iter(body.body.inputs))), here, "item"))
            case When():
                own = () if "otherwise" in body.branches else ("otherwise",)
                for branch, inner in body.branches.items():
                    self.networks.append((*here, branch))
                    self._walk(inner, (*here, branch), inside)
                    self._starts.append((("in", (*here, branch), next(iter(inner.inputs))), here, branch))
        self._starts += [(("give", here, port), here, port) for port in own]
        self.spans[here] = range(begin, len(self.bodies))

    def _target(self, network: Network, path: Path, node: str | None, port: str) -> End:
        if node is None:
            return ("out", path, port)
        return ("in" if isinstance(network.nodes[node], Network) else "take", (*path, node), port)

    def _sources(self, network: Network, path: Path, node: str | None, port: str) -> Iterator[End]:
        if node is None:
            yield ("in", path, port)
            return
        here, body = (*path, node), network.nodes[node]
        match body:
            case Network():
                yield ("out", here, port)
            case Loop() if port in body.body.outputs:
                yield ("out", here, port)
            case When() if any(port in branch.outputs for branch in body.branches.values()):
                yield from (
                    ("out", (*here, name), port) for name, inner in body.branches.items() if port in inner.outputs
                )
            case _:
                yield ("give", here, port)

    def links(self, numbers: dict[Path, int]) -> Iterator[Link]:
        """Every way from a port that makes tokens to one that takes them, through any number of boundaries."""
        seen: dict[tuple[Path, str], int] = {}
        for start, path, port in self._starts:
            for (_, target, target_port), capacity in self._ends(start, ()):
                scope = _common(path[:-1], target[:-1])
                source_name = "/".join(path[len(scope) :]) or INPUT
                target_name = "/".join(target[len(scope) :]) or OUTPUT
                name = f"{source_name}.{port}-->{target_name}.{target_port}"
                seen[scope, name] = count = seen.get((scope, name), 0) + 1
                yield Link(
                    id=name if count == 1 else f"{name} #{count}",
                    scope=scope,
                    source=numbers.get(path),
                    source_port=port,
                    target=numbers.get(target),
                    target_port=target_port,
                    capacity=capacity,
                )

    def _ends(self, start: End, behind: tuple[End, ...]) -> Iterator[tuple[End, int | None]]:
        for target, capacity in self._leads.get(start, ()):
            side, path, port = target
            if side == "take" or (side == "out" and path == ()):
                yield target, capacity
            elif target in behind:
                raise UsageError("/".join(path), f"the port {port!r} leads to itself")
            else:
                for end, further in self._ends(target, (*behind, target)):
                    yield end, min((size for size in (capacity, further) if size is not None), default=None)


def _common(one: Path, other: Path) -> Path:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]
