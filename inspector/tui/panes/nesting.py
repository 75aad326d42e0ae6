"""A graph as networks inside each other: which nodes stand in which, and which edges join two of one.

Ids of nodes are paths joined by `/`. An edge belongs to the innermost network that holds both its ends, and
joins what stands there: the node itself or the network it is in. An end that is no node of the graph is
a boundary, drawn by its name.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from inspector.model.run import Edge, Graph, Node

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

    def all_inside(self, scope: str) -> Iterator[str]:
        """Everything in a network, however deep."""
        stack = [scope]
        while stack:
            for path in self.inside.get(stack.pop(), ()):
                yield path
                stack.append(path)


@lru_cache(maxsize=4)
def nesting(graph: Graph) -> Nesting:
    """The networks of a graph."""
    nodes: dict[str, Node | None] = {node.id: node for node in graph.nodes or ()}
    if graph.nodes is None:
        nodes = {end: None for edge in graph.edges or () for end in (edge.from_, edge.to) if end}
    inside: dict[str, list[str]] = {"": []}
    for path in list(nodes):
        _place(path, nodes, inside)
    links: dict[str, list[Link]] = {}
    for number, edge in enumerate(graph.edges or ()):
        prefix = edge.id.partition("-->")[0].rpartition("/")[0]
        start, end = (_resolved(name, prefix, nodes) for name in (edge.from_, edge.to))
        scope = _scope(start, end)
        joined = [
            _child(scope, path) or _boundary(scope, name, side, nodes, inside)
            for path, name, side in ((start, edge.from_, "<"), (end, edge.to, ">"))
        ]
        links.setdefault(scope, []).append(Link(number, edge, *joined))
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


def _resolved(name: str | None, prefix: str, nodes: Mapping[str, Node | None]) -> str | None:
    """The node that an edge's end names, by itself or with a port behind a dot, maybe relative to the
    network that the edge's id begins with."""
    for lead in (f"{prefix}/", "") if prefix else ("",):
        rest = name or ""
        while rest:
            if lead + rest in nodes:
                return lead + rest
            rest = rest.rpartition(".")[0]
    return None


def _scope(start: str | None, end: str | None) -> str:
    """The innermost network that holds both ends."""
    if start is None or end is None:
        return (start or end or "").rpartition("/")[0]
    one, other = start.split("/")[:-1], end.split("/")[:-1]
    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    # A network and a node inside it are joined where the network stands.
    return "/".join(one[:common])


def _child(scope: str, path: str | None) -> str | None:
    """The child of the network that is `path` or holds it."""
    if path is None:
        return None
    depth = len(scope.split("/")) if scope else 0
    return "/".join(path.split("/")[: depth + 1])


def _boundary(
    scope: str, name: str | None, side: str, nodes: dict[str, Node | None], inside: dict[str, list[str]]
) -> str:
    label = (name or "?").rpartition("/")[2]
    path = f"{BOUNDARY}{scope}{BOUNDARY}{side}{BOUNDARY}{label}"
    if path not in nodes:
        nodes[path] = None
        inside.setdefault(scope, []).append(path)
    return path
