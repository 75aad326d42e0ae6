"""The graph that a run was made with, and that of the code now: wfpy says only that it changed, here is where."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inspector.diff import Diff
from inspector.model.run import Definition, Edge, Graph, Node
from inspector.resume.plan import Refusal

BOUNDARY = "WF"


def definition(plan: Any, digest: str | None) -> Definition:
    """What a plan is: nodes and edges of all plans in it, those of a nested one behind its path."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    for path, inner in plans(plan):
        nodes += [_node(path, actor) for actor in inner.actors]
        edges += [_edge(path, queue) for queue in inner.all_queues]
    return Definition(graph=Graph(digest=digest, nodes=tuple(nodes) or None, edges=tuple(edges) or None))


def plans(plan: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every plan with its instance path, depth first."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), plan)]
    while stack:
        path, inner = stack.pop()
        yield path, inner
        nested = [((*path, actor.name), actor.sub_plan) for actor in inner.actors if actor.sub_plan is not None]
        stack += reversed(nested)


def _node(path: Sequence[str], actor: Any) -> Node:
    return Node(id="/".join((*path, actor.name)), kind=actor.kind, class_=type(actor.instance).__name__)


def _edge(path: tuple[str, ...], queue: Any) -> Edge:
    left, _, right = queue.id.partition("-->")
    ends = [_end(path, side.partition(".")[0]) for side in (left, right)]
    return Edge(id="/".join((*path, queue.id)), from_=ends[0], to=ends[1])


def _end(path: tuple[str, ...], name: str) -> str | None:
    return "/".join(path) or None if name in (BOUNDARY, "") else "/".join((*path, name))


def recorded(saved: Definition, now: Definition) -> Definition:
    """The saved definition for a comparison. The digest covers all of the graph: where it is the same, what the
    files tell only in part is what the code says."""
    graph = saved.graph
    if graph is None or now.graph is None or graph.digest is None:
        return saved
    if graph.digest == now.graph.digest:
        return msgspec.structs.replace(saved, graph=now.graph)
    nodes = tuple(
        msgspec.structs.replace(node, kind=None) if node.kind == "control" else node for node in graph.nodes or ()
    )
    return msgspec.structs.replace(saved, graph=msgspec.structs.replace(graph, nodes=nodes or None))


def refusals(subject: str, saved: Definition, now: Definition, diff: Diff) -> list[Refusal]:
    """Why a changed graph is refused, node by node and edge by edge; none where it did not change."""
    old, new = saved.graph, now.graph
    if old is None or new is None or old.digest is None or old.digest == new.digest:
        return []
    found = [*_nodes(old, new, diff), *_edges(old, new, diff)]
    if not found and diff.graph.reordered:
        found = [(subject, "its actors or connections stand in another order, which wfpy takes for another graph")]
    if not found:
        found = [
            (subject, "its digest differs; by name nothing does that the files tell: the kind or class of an actor")
        ]
    return [Refusal(code="graph_changed", subject=name, detail=detail) for name, detail in found]


def _nodes(old: Graph, new: Graph, diff: Diff) -> Iterator[tuple[str, str]]:
    known = {node.id for node in new.nodes or ()}
    for node in old.nodes or ():
        if node.id not in known:
            yield node.id, "the run has this actor, and the workflow has it no more"
    for name in diff.graph.added_nodes:
        yield name, "the workflow has this actor, and the run did not"
    for change in diff.graph.changed_nodes:
        parts = [f"its {part.path} was {part.left} and is {part.right}" for part in change.changes]
        yield change.id, "; ".join(parts)


def _edges(old: Graph, new: Graph, diff: Diff) -> Iterator[tuple[str, str]]:
    """Connections between actors that both sides have: those of others go with them."""
    both = {node.id for node in old.nodes or ()} & {node.id for node in new.nodes or ()} | {None}
    ends = {edge.id: {edge.from_, edge.to} for edge in (*(old.edges or ()), *(new.edges or ()))}
    for names, what in (
        (diff.graph.removed_edges, "the run has this connection, and the workflow has it no more"),
        (diff.graph.added_edges, "the workflow has this connection, and the run did not"),
    ):
        for name in names:
            if ends.get(name.rpartition(" #")[0] or name, ends.get(name, set())) <= both:
                yield name, what
