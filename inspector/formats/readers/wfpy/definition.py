"""What the code was, as far as a run folder tells: the graph."""

from inspector.formats.readers.wfpy.network import Actor, Network, Scope
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.model.run import Definition, Edge, Graph, Node


def definition(network: Network, digest: str | None, *, complete: bool) -> Definition:
    """The graph of all plans. Nodes and edges inside of a nested workflow have its path before their name."""
    nodes = tuple(map(_node, network.actors()))
    edges = tuple(_edge(queue) for queue in network.queues())
    return Definition(graph=Graph(digest=digest, nodes=nodes or None, edges=edges or None, complete=complete))


def _node(actor: Actor) -> Node:
    # A control node of which a checkpoint alone tells may be an if or a loop: its kind is unknown, not another one.
    kind = None if actor.kind == "control" else actor.kind
    return Node(id="/".join(actor.path), kind=kind, class_=actor.class_name)


def _edge(queue: Queue) -> Edge:
    return Edge(
        id="/".join((*queue.scope.path, queue.id)),
        from_=_end(queue.scope, queue.source),
        to=_end(queue.scope, queue.target),
    )


def _end(scope: Scope, name: str) -> str | None:
    """The node at an end of an edge: the workflow's own ports are those of the node around."""
    return "/".join(scope.path) or None if name in (BOUNDARY, "") else "/".join((*scope.path, name))
