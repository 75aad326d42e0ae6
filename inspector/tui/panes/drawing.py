"""Where the boxes and edges of a graph are drawn: networks that are open hold the picture of their inside."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from inspector.model.run import Graph
from inspector.tui.panes.channels import LABEL, Layout, layout
from inspector.tui.panes.layers import TooLarge, ranks, turned
from inspector.tui.panes.nesting import BOUNDARY, Link, Nesting, nesting, short
from inspector.tui.panes.picture import Picture
from inspector.tui.panes.remembered import remembered

MOST_NODES = 400
MOST_WORK = 20_000_000
"""Boxes and edges times the longer side: a bound of what painting them may take."""
MOST_CELLS = 60
"""Cells of a name in its box."""


class Box(NamedTuple):
    """A node's frame, or a boundary's word."""

    path: str
    x: int
    y: int
    width: int
    height: int
    opened: bool


class Way(NamedTuple):
    """An edge's points, downwards; its label's place; whether it runs upwards."""

    link: Link
    points: tuple[tuple[int, int], ...]
    label: tuple[int, int]
    upwards: bool


class Drawing(NamedTuple):
    """Everything with its place. In `picture` and `words` a box is its number and an edge `~number`."""

    boxes: Sequence[Box]
    ways: Sequence[Way]
    width: int
    height: int
    picture: Picture
    words: Mapping[int, Sequence[int]]
    """By row: whose name, size or head stands there."""
    cut: Mapping[int, Sequence[int]]
    """By row: which boxes it cuts."""


@remembered(16)
def drawing(graph: Graph, opened: frozenset[str], labelled: bool, roomy: bool) -> Drawing:
    """The drawing of a graph with these networks open; with room for sizes on the edges if they are
    `labelled`, and in nodes that no edge leads to if it is `roomy`. Raises TooLarge."""
    net = nesting(graph)
    scopes = _scopes(net, opened)
    layouts: dict[str, Layout] = {}
    for scope in reversed(scopes):
        layouts[scope] = _layout(net, scope, layouts, labelled, roomy)
    boxes: list[Box] = []
    ways: list[Way] = []
    origins = {"": (0, 0)}
    for scope in scopes:
        _place(net, scope, layouts, origins, boxes, ways)
    whole = layouts[""]
    if (len(boxes) + len(ways)) * max(whole.height, whole.width) > MOST_WORK:
        raise TooLarge
    return _drawn(boxes, ways, whole.width, whole.height)


def _drawn(boxes: Sequence[Box], ways: Sequence[Way], width: int, height: int) -> Drawing:
    picture = Picture()
    words: dict[int, list[int]] = {}
    cut: dict[int, list[int]] = {}
    for number, box in enumerate(boxes):
        boundary = box.path.startswith(BOUNDARY)
        if not boundary:
            picture.box(box.x, box.y, box.width, box.height, number)
        words.setdefault(box.y if boundary or box.opened else box.y + 1, []).append(number)
        for y in range(box.y, box.y + (1 if box.opened else box.height)):
            cut.setdefault(y, []).append(number)
    for number, way in enumerate(ways):
        (x1, y1), (x2, y2) = way.points[0], way.points[-1]
        # The end without a head grows out of its box.
        points = [*way.points, (x2, y2 + 1)] if way.upwards else [(x1, y1 - 1), *way.points]
        picture.line(points, ~number)
        for y in {way.label[1], y1 if way.upwards else y2}:
            words.setdefault(y, []).append(~number)
    return Drawing(boxes, ways, width, height, picture, words, cut)


def _scopes(net: Nesting, opened: frozenset[str]) -> list[str]:
    """The networks that are open, each before those inside it."""
    found, count = [""], len(net.inside[""])
    for scope in found:
        for path in net.inside.get(scope, ()):
            if path in opened and path in net.inside:
                found.append(path)
                count += len(net.inside[path])
                if count > MOST_NODES:
                    raise TooLarge
    if count > MOST_NODES:
        raise TooLarge
    return found


def _layout(net: Nesting, scope: str, layouts: dict[str, Layout], labelled: bool, roomy: bool) -> Layout:
    paths = net.inside.get(scope, ())
    links = net.links.get(scope, ())
    loops = {link.start for link in links if link.loop}
    numbers = {path: number for number, path in enumerate(paths)}
    wide = {path for path in paths if path in loops or (roomy and path not in net.entering)}
    sizes = [_size(net, path, path in wide, layouts.get(path)) for path in paths]
    edges = [(numbers[link.start], numbers[link.end]) for link in links]
    return layout(sizes, edges, LABEL if labelled else 0)


def _size(net: Nesting, path: str, wide: bool, inner: Layout | None) -> tuple[int, int]:
    name = min(cell_len(short(path)), MOST_CELLS) + (LABEL + 3 if wide else 0) + (path in net.inside)
    if path.startswith(BOUNDARY):
        return max(min(cell_len(short(path)), MOST_CELLS), 1), 1
    if inner is None:
        return name + 6, 3
    return max(inner.width + 4, name + 8), inner.height + 2


def _place(
    net: Nesting,
    scope: str,
    layouts: dict[str, Layout],
    origins: dict[str, tuple[int, int]],
    boxes: list[Box],
    ways: list[Way],
) -> None:
    left, top = origins[scope]
    placed = layouts[scope]
    for path, (x, y), width in zip(net.inside.get(scope, ()), placed.places, placed.widths, strict=True):
        inner = layouts.get(path)
        height = _size(net, path, False, inner)[1]
        boxes.append(Box(path, left + x, top + y, width, height, inner is not None))
        origins[path] = (left + x + 2, top + y + 1)
    for link, route in zip(net.links.get(scope, ()), placed.routes, strict=True):
        if route is not None:
            points = tuple((left + x, top + y) for x, y in route.points)
            x, y = route.label
            ways.append(Way(link, points, (left + x, top + y), route.turned))


class Entry(NamedTuple):
    """A row of the list: a node, or with `link` an edge that leaves it; `back` if it leads to a node above."""

    depth: int
    path: str
    link: Link | None = None
    back: bool = False


@remembered(16)
def listing(graph: Graph, opened: frozenset[str]) -> tuple[Entry, ...]:
    """The graph as rows, those that lead before those they lead to; what is inside an open node follows it."""
    net = nesting(graph)
    leaving: dict[str, list[Entry]] = {}
    order: dict[str, list[str]] = {}
    found: list[Entry] = []
    stack: list[tuple[int, str]] = []

    def enter(scope: str, depth: int) -> None:
        paths, links = net.inside.get(scope, ()), net.links.get(scope, ())
        numbers = {path: number for number, path in enumerate(paths)}
        edges = [(numbers[link.start], numbers[link.end]) for link in links]
        back = turned(len(paths), edges)
        forward = [edge for edge, is_back in zip(edges, back, strict=True) if not is_back and edge[0] != edge[1]]
        rank = ranks(len(paths), forward)
        for link, is_back in zip(links, back, strict=True):
            leaving.setdefault(link.start, []).append(Entry(depth, link.start, link, is_back))
        order[scope] = sorted(paths, key=lambda path: rank[numbers[path]])
        stack.extend((depth, path) for path in reversed(order[scope]))

    enter("", 0)
    while stack:
        depth, path = stack.pop()
        if path in leaving or not path.startswith(BOUNDARY):
            found.append(Entry(depth, path))
        found += leaving.get(path, ())
        if path in opened and path in net.inside:
            enter(path, depth + 1)
    return tuple(found)
