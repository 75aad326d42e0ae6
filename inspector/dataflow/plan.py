"""What runs of a network: a plan, with nodes by their path and queues by number.

A nested network is transparent: its ports vanish and its actors stand in the plan under its name, so
`line/splitter` is the actor `splitter` of the network added as `line`. Only control nodes stay: a `loop` feeds
its body one item at a time, a `when` sends a token to one of its branches.

Each connection is a queue with an identity of its own, also where the same two ports are connected twice.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from inspector.dataflow import types
from inspector.dataflow.actors import Action, Actor
from inspector.dataflow.names import qualified
from inspector.dataflow.network import INPUT, OUTPUT, Loop, Network, When, ports_of
from inspector.errors import UsageError

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

    @functools.cached_property
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
    hint: Any = Any


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

    @functools.cached_property
    def passed(self) -> frozenset[int]:
        """The queues that control nodes put on: they pass tokens on, and do not look into them."""
        control = {number for number, node in enumerate(self.nodes) if node.actor is None}
        return frozenset(queue for queue, link in enumerate(self.links) if link.source in control)


Path = tuple[str, ...]
End = tuple[str, Path, str]
"""(`in`, network, port), (`out`, network, port): a port of a network's boundary, seen from inside; (`give`, node,
port), (`take`, node, port): a port of a node that stays in the plan. Networks and nodes by path; () is the top."""


def flatten(network: Network) -> Plan:
    """The plan of a network. Raises UsageError for an input port of an actor that nothing is connected to, since
    it could never fire, and for ports that are connected whose types have no value in common."""
    flat = _Flattening(network)
    numbers = {path: number for number, path in enumerate(flat.bodies)}
    links = [*flat.links(numbers)]
    for link in links:
        _possible(link, flat.bodies)
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


def _possible(link: Link, bodies: Mapping[Path, Actor | Loop | When]) -> None:
    source = None if link.source is None else [*bodies.values()][link.source]
    given = source.gives.get(link.source_port, Any) if isinstance(source, Actor) else Any
    if not types.possible(given, link.hint):
        why = f"the one gives {types.name(given)}, and the other takes {types.name(link.hint)}"
        raise UsageError("/".join((*link.scope, link.id)), why)


def _hint(body: Actor | Loop | When | None, port: str) -> Any:
    return body.hints.get(port, Any) if isinstance(body, Actor) else Any


def _node(path: Path, body: Actor | Loop | When, reads: Ports, writes: Ports, span: range) -> Node:
    if isinstance(body, Actor):
        body = body.connected(reads)
    if lonely := [port for port in ports_of(body)[0] if port not in reads]:
        raise UsageError("/".join(path), f"nothing is connected to its input port {lonely[0]!r}")
    match body:
        case Actor():
            # One that stands in several places, or runs, has parameters of its own in each: they fire at the same time.
            own = dataclasses.replace(body)
            return Node(path, body.kind, body.class_name, reads, writes, actor=own)
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
                    hint=_hint(self.bodies.get(target), target_port),
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
