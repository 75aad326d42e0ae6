"""A graph as networks inside each other: which nodes stand in which, and which edges join two of one.

Ids of nodes are paths joined by `/`. An edge belongs to the innermost network that holds both its ends, and
joins what stands there: the node itself or the network it is in. An end that is no node of the graph, or
the network itself, is a boundary, drawn by its name.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from inspector.model.run import Edge, Graph, Node
from inspector.tui.panes.remembered import remembered

BOUNDARY = "\0"
"""What ids of boundaries begin with: no path of a file does, its texts are clean."""


class Link(NamedTuple):
    """An edge in its network: `start` and `end` are what it joins there, `number` its place in the graph."""

    number: int
    edge: Edge
    start: str
    end: str

    @property
    def loop(self) -> bool:
        """Whether it leads from a node to itself."""
        return self.start == self.end


class Nesting(NamedTuple):
    """The nodes by path, None for a network that the file names only in its nodes' ids, and for a boundary;
    what stands in each network (`""` is the whole), what joins it, and which edges leave and enter a node."""

    nodes: Mapping[str, Node | None]
    inside: Mapping[str, Sequence[str]]
    links: Mapping[str, Sequence[Link]]
    leaving: Mapping[str, Sequence[Link]]
    entering: Mapping[str, Sequence[Link]]


@remembered(4)
def nesting(graph: Graph) -> Nesting:
    """The networks of a graph."""
    nodes: dict[str, Node | None] = {_path(node.id): node for node in graph.nodes or ()}
    if graph.nodes is None:
        nodes = {_path(end): None for edge in graph.edges or () for end in (edge.from_, edge.to) if end}
    inside: dict[str, list[str]] = {"": []}
    for path in list(nodes):
        _place(path, nodes, inside)
    links: dict[str, list[Link]] = {}
    for number, edge in enumerate(graph.edges or ()):
        for scope, start, end in _ends(edge, nodes, inside):
            links.setdefault(scope, []).append(Link(number, edge, start, end))
    leaving: dict[str, list[Link]] = {}
    entering: dict[str, list[Link]] = {}
    for link in chain.from_iterable(links.values()):
        leaving.setdefault(link.start, []).append(link)
        entering.setdefault(link.end, []).append(link)
    return Nesting(nodes, inside, links, leaving, entering)


def short(path: str) -> str:
    """A node's own name, or a boundary's."""
    if path.startswith(BOUNDARY):
        return path.rpartition(BOUNDARY)[2]
    return path.rpartition("/")[2] or path


def _path(name: str) -> str:
    """The path that an id is. One with a part that is empty is none: it would stand in itself."""
    return name if all(name.split("/")) else name.replace("/", "\u2215") or "?"


def _place(path: str, nodes: dict[str, Node | None], inside: dict[str, list[str]]) -> None:
    """Put a node into its network, and networks that have no node of their own into theirs."""
    while True:
        parent = path.rpartition("/")[0]
        known = parent in inside
        inside.setdefault(parent, []).append(path)
        if known or parent in nodes:
            return
        nodes[parent] = None
        path = parent


def _ends(edge: Edge, nodes: dict[str, Node | None], inside: dict[str, list[str]]) -> Iterator[tuple[str, str, str]]:
    """Where an edge is seen: (network, what it joins there). First in the innermost network that holds both
    ends; then in each network that it leads into or out of, from or to a boundary there."""
    left, arrow, right = edge.id.partition("-->")
    prefix = left.rpartition("/")[0]
    start, end = (_resolved(name and _path(name), prefix, nodes) for name in (edge.from_, edge.to))
    scope = _scope(start, end)
    one, other = _child(scope, start), _child(scope, end)
    before, behind = (left, right) if arrow else (edge.from_ or "?", edge.to or "?")
    yield (
        scope,
        one or _boundary(scope, before, "<", nodes, inside),
        other or _boundary(scope, behind, ">", nodes, inside),
    )
    for path, child, name, side in ((start, one, behind, ">"), (end, other, before, "<")):
        while path is not None and child is not None and child != path:
            network, child = child, _child(child, path)
            boundary = _boundary(network, name, side, nodes, inside)
            yield (network, child or "", boundary) if side == ">" else (network, boundary, child or "")


def _resolved(name: str | None, prefix: str, nodes: Mapping[str, Node | None]) -> str | None:
    """The node that an edge's end names, by itself or with a port behind a dot, maybe relative to the
    network that the edge's id begins with."""
    for lead in ("", f"{prefix}/") if prefix else ("",):
        rest = name or ""
        while rest:
            if lead + rest in nodes:
                return lead + rest
            rest = rest.rpartition(".")[0]
    return None


def _scope(start: str | None, end: str | None) -> str:
    """The innermost network that holds both ends; a network is its own where the other end is inside it."""
    if start is None or end is None:
        return (start or end or "").rpartition("/")[0]
    if start != end:
        for outer, inner in ((start, end), (end, start)):
            if inner.startswith(f"{outer}/"):
                return outer
    one, other = start.split("/")[:-1], end.split("/")[:-1]
    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    return "/".join(one[:common])


def _child(scope: str, path: str | None) -> str | None:
    """The child of the network that is `path` or holds it; None for the network itself."""
    if path is None or path == scope:
        return None
    depth = len(scope.split("/")) if scope else 0
    return "/".join(path.split("/")[: depth + 1])


def _boundary(scope: str, name: str, side: str, nodes: dict[str, Node | None], inside: dict[str, list[str]]) -> str:
    path = f"{BOUNDARY}{scope}{BOUNDARY}{side}{BOUNDARY}{name.rpartition('/')[2]}"
    if path not in nodes:
        nodes[path] = None
        inside.setdefault(scope, []).append(path)
    return path
