"""A graph that has only grown since a run was made, or stands in another order, and the run brought over into it.

What is new may come along where it touches nothing that holds tokens or state: a node that was not there, and a queue
that leads to one, out of the network, or to a node that has neither tokens nor a state nor has begun anything.

The order of nodes says which of them fires first where several can, as the number of workers does, and nothing else:
queues are the same wherever they stand, since a port takes its tokens in the order in which they arrived.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Link, Node, Plan, Ports
from inspector.dataflow.queues import OUTPUTS
from inspector.model.run import Actor, Graph, Queue

Part = TypeVar("Part", Queue, Actor)


def edge_name(link: Link) -> str:
    """The id of a queue's edge in the graph."""
    return "/".join((*link.scope, link.id))


def added(graph: Graph, plan: Plan) -> list[str]:
    """The nodes, nested networks and edges of a plan that a recorded graph lacks, by id."""
    nodes, edges = _known(graph)
    return [
        *(node.name for node in plan.nodes if node.name not in nodes),
        *(name for path in plan.networks if (name := "/".join(path)) not in nodes),
        *(name for link in plan.links if (name := edge_name(link)) not in edges),
    ]


def without(plan: Plan, graph: Graph) -> Plan:
    """The part of a plan that a recorded graph has, in its order. Raises ValueError where what is new gives an old node
    a port."""
    nodes, edges = _known(graph)
    kept = _ordered([node.name for node in plan.nodes], nodes)
    stay = _ordered([edge_name(link) for link in plan.links], edges)
    node_at = {old: new for new, old in enumerate(kept)}
    link_at = {old: new for new, old in enumerate(stay)}

    def ports(old: Ports) -> Ports:
        return {
            port: left
            for port, queues in old.items()
            if (left := tuple(sorted(link_at[queue] for queue in queues if queue in link_at)))
        }

    def smaller(node: Node) -> Node:
        reads = ports(node.reads)
        if gained := [port for port in node.reads if port not in reads]:
            raise ValueError(f"{node.name}: its input port {gained[0]} was not connected")
        body = sorted(node_at[number] for number in node.body if number in node_at)
        inside = range(body[0], body[-1] + 1) if body else range(0)
        return dataclasses.replace(node, reads=reads, writes=ports(node.writes), body=inside)

    def end(number: int | None) -> int | None:
        return None if number is None else node_at[number]

    return dataclasses.replace(
        plan,
        nodes=tuple(smaller(plan.nodes[number]) for number in kept),
        links=tuple(
            dataclasses.replace(link, source=end(link.source), target=end(link.target))
            for link in (plan.links[number] for number in stay)
        ),
        inputs=ports(plan.inputs),
        outputs=ports(plan.outputs),
        networks=tuple(plan.networks[number] for number in _ordered(["/".join(path) for path in plan.networks], nodes)),
    )


def touched(run: NetworkRun, plan: Plan) -> Iterator[str]:
    """What is new in a plan and touches tokens or state of a run of the smaller one, each with the reason."""
    state = run.state()
    old = {node.name: number for number, node in enumerate(run.plan.nodes)}
    edges = {edge_name(link) for link in run.plan.links}
    actors, sizes = state.actors or (), run.queues.sizes
    for link in plan.links:
        name = plan.nodes[link.target].name if link.target is not None else ""
        if edge_name(link) in edges or name not in old:
            continue
        number = old[name]
        waiting = sum(sizes[queue] for queues in run.plan.nodes[number].reads.values() for queue in queues)
        if waiting or actors[number].state or actors[number].unfinished is not None:
            yield f"edge {edge_name(link)} leads to {name}, which holds {'tokens' if waiting else 'state'}"
    for node in plan.nodes:
        if node.kind == "loop" and node.name in old and actors[old[node.name]].state:
            new = [plan.nodes[inner].name for inner in node.body if plan.nodes[inner].name not in old]
            yield from (f"node {name} is inside of {node.name}, which is not through with its items" for name in new)


def grown(run: NetworkRun, plan: Plan) -> NetworkRun:
    """The run of the smaller or otherwise ordered plan, in this one: what is new is as at the beginning of a run."""
    fresh, state, machine = NetworkRun(plan, run.values), run.state(), run.machine()
    empty = fresh.state()
    queues = _placed(empty.queues or (), state.queues or ())
    actors = _placed(empty.actors or (), state.actors or ())
    node_at = {node.name: number for number, node in enumerate(plan.nodes)}
    link_at = {edge_name(link): number for number, link in enumerate(plan.links)}
    numbers = [node_at[node.name] for node in run.plan.nodes]
    links = [link_at[edge_name(link)] for link in run.plan.links]
    orders = {
        number if number == OUTPUTS else str(numbers[int(number)]): {
            port: [links[queue] for queue in order] for port, order in ports.items()
        }
        for number, ports in machine["orders"].items()
    }
    for port, read in plan.outputs.items():
        if len(read) > 1:
            arrived = [queue for queue in read for _ in queues[queue].tokens or ()]
            orders.setdefault(OUTPUTS, {}).setdefault(port, arrived)
    for number, node in enumerate(plan.nodes):  # a port that had one queue and has several now
        for port, read in node.reads.items():
            known = orders.setdefault(str(number), {}) if len(read) > 1 else {}
            if len(read) > 1 and port not in known:
                known[port] = [queue for queue in read for _ in queues[queue].tokens or ()]
    last = machine["last"]
    return NetworkRun.restore(
        plan,
        msgspec.structs.replace(state, queues=queues, actors=actors),
        {"orders": orders, "last": numbers[last] if last >= 0 else last},
        run.values,
    )


def _known(graph: Graph) -> tuple[dict[str, int], dict[str, int]]:
    """Where each node and each edge stands in a graph, by id."""
    nodes = {node.id: place for place, node in enumerate(graph.nodes or ())}
    return nodes, {edge.id: place for place, edge in enumerate(graph.edges or ())}


def _ordered(names: Sequence[str], places: Mapping[str, int]) -> list[int]:
    """The numbers of the names that have a place, by it."""
    return sorted((number for number, name in enumerate(names) if name in places), key=lambda n: places[names[n]])


def _placed(empty: Sequence[Part], old: Sequence[Part]) -> tuple[Part, ...]:
    known = {(part.scope, part.id): part for part in old}
    return tuple(known.get((part.scope, part.id), part) for part in empty)
