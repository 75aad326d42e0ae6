"""The graph as a drawing: the laid out boxes and edges, painted with what a snapshot says of them."""

from collections.abc import Mapping, Sequence

from inspector.tui.line import Line, Opens
from inspector.tui.panes.cells import fit
from inspector.tui.panes.channels import LABEL
from inspector.tui.panes.drawing import Box, Drawing, Way
from inspector.tui.panes.facts import Facts, GraphFold, size_style, size_text
from inspector.tui.panes.moves import QueueRow
from inspector.tui.panes.nesting import BOUNDARY, Nesting, short
from inspector.tui.panes.parts import Each, Row
from inspector.tui.panes.picture import Picture
from inspector.tui.panes.tree import fold_sign


def drawn(net: Nesting, plan: Drawing, facts: Facts) -> Each[Sequence[Box]]:
    """The rows of the drawing, each with the boxes it cuts."""
    picture = Picture()
    # Quiet edges first: where they cross, one with tokens on it lies above them.
    for way in sorted(plan.ways, key=lambda way: size_style(facts.queues.get(way.link.number)) != "dim"):
        _way(picture, way, facts.queues.get(way.link.number))
    loops = {link.start: facts.queues.get(link.number) for links in net.links.values() for link in links if link.loop}
    rows: list[list[Box]] = [[] for _ in range(plan.height)]
    for box in plan.boxes:
        _box(picture, box, net, facts, loops)
        for y in range(box.y, box.y + (1 if box.opened else box.height)):
            rows[y].append(box)
    return Each(rows, lambda y, boxes: _row(picture, y, boxes, net, facts))


def _way(picture: Picture, way: Way, queue: QueueRow | None) -> None:
    style = size_style(queue)
    picture.line(way.points, style)
    # From the box's frame to the first point, and from the last point to the frame or the head.
    (x1, y1), (x2, y2) = way.points[0], way.points[-1]
    picture.line([(x1, y1 - 1), (x1, y1)], style)
    if way.upwards:
        picture.word(x1, y1, "▲", style)
        picture.line([(x2, y2), (x2, y2 + 1)], style)
    else:
        picture.word(x2, y2, "▼", style)
    if queue is not None:
        picture.word(*way.label, size_text(queue)[:LABEL], style)


def _box(picture: Picture, box: Box, net: Nesting, facts: Facts, loops: Mapping[str, QueueRow | None]) -> None:
    if box.path.startswith(BOUNDARY):
        picture.word(box.x, box.y, fit(short(box.path), box.width), "dim")
        return
    mark = facts.mark(box.path)
    picture.box(box.x, box.y, box.width, box.height, mark.style)
    folds = fold_sign(True, box.opened) if box.path in net.inside else ""
    name = f"{mark.sign}{folds or ' '}{short(box.path)}"
    if box.path in loops:
        queue = loops[box.path]
        name += f" @{size_text(queue)}" if queue else " @"
    if box.opened:
        picture.word(box.x + 2, box.y, f"{name[: box.width - 4]} ", mark.style or "heading")
    else:
        picture.word(box.x + 1, box.y + 1, fit(name, box.width - 2), mark.style)


def _row(picture: Picture, y: int, boxes: Sequence[Box], net: Nesting, facts: Facts) -> Row:
    folding = tuple(box.path for box in boxes if box.path in net.inside)
    return Row(
        Line(tuple(picture.row(y)), _opens(boxes, facts)),
        GraphFold(folding) if folding else None,
    )


def _opens(boxes: Sequence[Box], facts: Facts) -> Opens | None:
    """What is known of the nodes of a row."""
    known = [facts.opens(box.path) for box in boxes if not box.path.startswith(BOUNDARY)]
    if len(known) < 2:
        return known[0] if known else None
    return Opens(f"{len(known)} nodes", {opens.title: opens.value for opens in known})
