"""The ways of a layered graph's edges: where they leave and enter the boxes, and on which track they go sideways.

Between two layers an edge goes down, sideways on a track, and down again. Two pieces of edges share a
track only where they do not touch, and an edge enters a box in a column where no other one left above,
so what looks like a crossing is one.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from inspector.tui.panes.layers import Layered, nearest

LABEL = 5
"""Cells of an edge's label."""


class Route(NamedTuple):
    """An edge's way: straight stretches between these points, downwards. `turned` says that the edge itself
    runs upwards, `label` is where its label begins."""

    points: tuple[tuple[int, int], ...]
    turned: bool
    label: tuple[int, int]


class Layout(NamedTuple):
    """Places of the boxes' upper left corners, widths (at least those asked for), and the edges' routes; a
    loop from a node to itself has none."""

    places: list[tuple[int, int]]
    widths: list[int]
    routes: list[Route | None]
    width: int
    height: int


def layout(sizes: Sequence[tuple[int, int]], edges: Sequence[tuple[int, int]], label: int = 0) -> Layout:
    """The layout of boxes of these sizes (width, height) and edges between their numbers, with so many cells
    beside the beginning of each edge for its label. Raises TooLarge."""
    return _Channels(Layered(sizes, edges, label + 2), label).layout()


class _Channels:
    """Where edges leave and enter their boxes, and the tracks on which they go sideways."""

    def __init__(self, graph: Layered, label: int) -> None:
        self.graph, self.label = graph, label
        self.leave: dict[tuple[int, int], int] = {}
        """The column in which an edge (by its number) leaves a node."""
        self.enter: dict[tuple[int, int], int] = {}
        self.points: list[list[tuple[int, int]]] = [[] for _ in graph.chains]
        self.outgoing: list[list[tuple[int, int]]] = [[] for _ in graph.widths]
        self.incoming: list[list[tuple[int, int]]] = [[] for _ in graph.widths]
        for number, chain in enumerate(graph.chains):
            for one, other in pairwise(chain):
                self.outgoing[one].append((number, other))
                self.incoming[other].append((number, one))

    def layout(self) -> Layout:
        graph = self.graph
        y = [0] * len(graph.widths)
        top = 0
        for rank, layer in enumerate(graph.layers):
            if rank:
                top = self._channel(graph.layers[rank - 1], layer, top)
            for node in layer:
                y[node] = top
                if node < graph.count:
                    self._leave(node)
                for number, _ in self.outgoing[node] if node < graph.count else ():
                    self.points[number].append((self.leave[number, node], top + graph.heights[node]))
            top += max((graph.heights[node] for node in layer), default=0)
        routes = [self._route(number) for number in range(len(graph.chains))]
        right = [graph.x[node] + graph.widths[node] for node in range(len(graph.widths))]
        right += [x + 1 for points in self.points for x, _ in points]
        right += [route.label[0] + self.label for route in routes if route]
        places = [(graph.x[node], y[node]) for node in range(graph.count)]
        return Layout(places, graph.widths[: graph.count], routes, max(right, default=0), top)

    def _route(self, number: int) -> Route | None:
        points = self.points[number]
        if not points:
            return None
        x, y = points[0]
        return Route(tuple(points), self.graph.back[number], (x + 1, y))

    def _leave(self, node: int) -> None:
        """Spread a box's outgoing edges over its lower side, in the order in which they go on."""
        x, width = self.graph.x[node], self.graph.widths[node]
        edges = sorted(self.outgoing[node], key=lambda edge: (self.graph.middle(edge[1]), edge[0]))
        port = self.graph.port
        spare = width - 1 - port * len(edges)
        first = x + 1 + max(spare // 2, 0) if len(edges) > 1 else x + (width - 1) // 2
        for at, (number, _) in enumerate(edges):
            self.leave[number, node] = first + at * port

    def _channel(self, upper: Sequence[int], lower: Sequence[int], top: int) -> int:
        """Lead all edges between two layers; gives the row where the lower layer begins."""
        used = {self.leave[number, node]: number for node in upper for number, _ in self.outgoing[node]}
        for node in lower:
            self._enter(node, used)
        pieces = sorted(
            (min(pair), max(pair), number, node)
            for node in lower
            for number, above in self.incoming[node]
            if (pair := (self.leave[number, above], self.enter[number, node]))[0] != pair[1]
        )
        ends: list[tuple[int, int]] = []
        rows: dict[tuple[int, int], int] = {}
        for left, right, number, node in pieces:
            track = heappop(ends)[1] if ends and ends[0][0] < left - 1 else len(ends)
            heappush(ends, (right, track))
            rows[number, node] = top + 1 + track
        bottom = top + 2 + len(ends)
        for node in lower:
            for number, above in self.incoming[node]:
                if (number, node) in rows:
                    row = rows[number, node]
                    self.points[number] += [(self.leave[number, above], row), (self.enter[number, node], row)]
                if node < self.graph.count:
                    self.points[number].append((self.enter[number, node], bottom - 1))
        return bottom

    def _enter(self, node: int, used: dict[int, int]) -> None:
        """Choose the columns in which edges enter a node: straight below where they left where that can
        be, and never below where another edge left."""
        graph = self.graph
        edges = sorted((self.leave[number, above], number) for number, above in self.incoming[node])
        if node >= graph.count:
            (above, number), x = edges[0], graph.x[node]
            graph.x[node] = self._free(min(max(above, x - 1), x + 1), number, used, (x - 1, x + 1))
            self.enter[number, node] = self.leave[number, node] = graph.x[node]
            return
        left, right = graph.x[node] + 1, graph.x[node] + graph.widths[node] - 2
        columns = nearest([column for column, _ in edges], [1] * len(edges), 1, (left, max(left, right)))
        for (_, number), column in zip(edges, columns, strict=True):
            self.enter[number, node] = self._free(column, number, used, (left, right))

    @staticmethod
    def _free(column: int, number: int, used: dict[int, int], room: tuple[int, int]) -> int:
        """The column, or the nearest one in the room, where no other edge left or enters."""
        for candidate in sorted(range(room[0], room[1] + 1), key=lambda at: abs(at - column)):
            if used.setdefault(candidate, number) == number:
                return candidate
        return column
