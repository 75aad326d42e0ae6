"""A directed graph in layers, from top to bottom: in which layer a node stands, where in it, and at which column.

Edges that would close a cycle are turned around, every node stands in the layer below the last of its
predecessors, an edge that crosses layers bends in each of them, the order within a layer follows the
barycentres of the neighbours, and the columns are the nearest to the neighbours' that the order allows.
Everything is O(n log n) in nodes and pieces of edges.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

GAP = 3
"""Cells between two boxes of a layer."""
SWEEPS = 4
MOST_PIECES = 4000
"""Bends of edges that a picture is good for."""


class TooLarge(Exception):
    """More than a picture is good for."""


def turned(count: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Which edges to turn around so that no cycle is left: those that lead back in a walk from the first
    node on."""
    following: list[list[int]] = [[] for _ in range(count)]
    for number, (start, _) in enumerate(edges):
        following[start].append(number)
    found = [False] * len(edges)
    colour = bytearray(count)  # 0 not seen, 1 on the way, 2 done
    entered = bytearray(count)
    for _, end in edges:
        entered[end] = 1
    roots = sorted(range(count), key=lambda node: entered[node])
    for root in roots:
        if colour[root]:
            continue
        colour[root] = 1
        stack = [(root, iter(following[root]))]
        while stack:
            node, rest = stack[-1]
            edge = next(rest, None)
            if edge is None:
                colour[node] = 2
                stack.pop()
                continue
            end = edges[edge][1]
            if colour[end] == 1:
                found[edge] = True
            elif not colour[end]:
                colour[end] = 1
                stack.append((end, iter(following[end])))
    return found


def ranks(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The layer of each node of a graph without cycles: one below its lowest predecessor, and a node
    without predecessors right above its highest successor."""
    following: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in edges:
        following[start].append(end)
        waiting[end] += 1
    sources = [node for node in range(count) if not waiting[node]]
    found = [0] * count
    ready = list(sources)
    for node in ready:
        for end in following[node]:
            found[end] = max(found[end], found[node] + 1)
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    for node in sources:
        if following[node]:
            found[node] = min(found[end] for end in following[node]) - 1
    return found


def nearest(wanted: Sequence[float], widths: Sequence[int], gap: int, room: tuple[int, int] | None = None) -> list[int]:
    """Columns in order, each box its width and `gap` apart from the next, as near as can be (in squares) to
    those wanted; from the first to the last column of `room`, where they fit there."""
    offsets, at = [], 0
    for width in widths:
        offsets.append(at)
        at += width + gap
    # Without the offsets the columns must only not fall: merge neighbours that would, to their mean.
    runs: list[tuple[float, int]] = []
    for column, offset in zip(wanted, offsets, strict=True):
        total, count = column - offset, 1
        while runs and runs[-1][0] / runs[-1][1] > total / count:
            before = runs.pop()
            total, count = total + before[0], count + before[1]
        runs.append((total, count))
    levels = [round(total / count) for total, count in runs for _ in range(count)]
    if room is not None:
        low, high = room[0], max(room[1] - (at - gap - 1), room[0])
        levels = [min(max(level, low), high) for level in levels]
    return [level + offset for level, offset in zip(levels, offsets, strict=True)]


class Layered:
    """Boxes of the given sizes (width, height) and edges between their numbers, laid out but for the edges'
    own ways; `port` is how many cells one outgoing edge of a box is from the next. Nodes behind the given
    ones are the bends of edges. Raises TooLarge."""

    def __init__(self, sizes: Sequence[tuple[int, int]], edges: Sequence[tuple[int, int]], port: int) -> None:
        self.count, self.edges, self.port = len(sizes), edges, port
        self.back = turned(self.count, edges)
        self.down = [
            (end, start) if back else (start, end) for (start, end), back in zip(edges, self.back, strict=True)
        ]
        self.rank = ranks(self.count, [edge for edge in self.down if edge[0] != edge[1]])
        outgoing, incoming = [0] * self.count, [0] * self.count
        for start, end in self.down:
            outgoing[start] += start != end
            incoming[end] += start != end
        self.widths = [
            max(width, (outgoing[node] > 1) * outgoing[node] * port + 1, incoming[node] * 2 + 1)
            for node, (width, _) in enumerate(sizes)
        ]
        self.heights = [height for _, height in sizes]
        self.chains = [self._chain(start, end) for start, end in self.down]
        self.above: list[list[int]] = [[] for _ in self.widths]
        self.below: list[list[int]] = [[] for _ in self.widths]
        for chain in self.chains:
            for one, other in pairwise(chain):
                self.below[one].append(other)
                self.above[other].append(one)
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        for node, rank in enumerate(self.rank):
            self.layers[rank].append(node)
        self.x = [0] * len(self.widths)
        self._order()
        self._columns()

    def _chain(self, start: int, end: int) -> list[int]:
        """The nodes an edge goes through, with a bend in each layer between its ends."""
        if start == end:
            return []
        between = range(self.rank[start] + 1, self.rank[end])
        first = len(self.widths)
        if first + len(between) > self.count + MOST_PIECES:
            raise TooLarge
        self.widths += [1] * len(between)
        self.heights += [1] * len(between)
        self.rank += between
        return [start, *range(first, first + len(between)), end]

    def _order(self) -> None:
        place = [0.0] * len(self.widths)
        for layer in self.layers:
            for at, node in enumerate(layer):
                place[node] = at
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            for layer in self.layers if down else reversed(self.layers):
                layer.sort(key=lambda node: _mean([place[other] for other in neighbours[node]], place[node]))
                for at, node in enumerate(layer):
                    place[node] = at

    def _columns(self) -> None:
        for layer in self.layers:
            at = 0
            for node in layer:
                self.x[node] = at
                at += self.widths[node] + GAP
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            for layer in self.layers if down else reversed(self.layers):
                wanted = [
                    _mean([self.middle(other) for other in neighbours[node]], self.middle(node))
                    - (self.widths[node] - 1) // 2
                    for node in layer
                ]
                columns = nearest(wanted, [self.widths[node] for node in layer], GAP)
                for node, column in zip(layer, columns, strict=True):
                    self.x[node] = column
        least = min(self.x, default=0)
        self.x = [column - least for column in self.x]

    def middle(self, node: int) -> int:
        """The column of a node's middle."""
        return self.x[node] + (self.widths[node] - 1) // 2


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise
