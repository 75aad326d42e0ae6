"""The graph as a drawing: the laid out boxes and edges, with what a snapshot says of them."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from inspector.tui.line import Line, Opens
from inspector.tui.panes.cells import fit
from inspector.tui.panes.channels import LABEL
from inspector.tui.panes.drawing import Box, Drawing, Way
from inspector.tui.panes.facts import Facts, GraphFold, size_style, size_text
from inspector.tui.panes.moves import QueueRow
from inspector.tui.panes.nesting import BOUNDARY, Nesting, short
from inspector.tui.panes.parts import Each, Row
from inspector.tui.panes.picture import Word
from inspector.tui.panes.tree import fold_sign


def drawn(net: Nesting, plan: Drawing, facts: Facts) -> Each[int]:
    """The rows of the drawing."""
    loops = {link.start: facts.queues.get(link.number) for links in net.links.values() for link in links if link.loop}

    def look(owner: int) -> str:
        """Boxes are numbered from 0 up, edges from -1 down."""
        if owner >= 0:
            return facts.mark(plan.boxes[owner].path).style
        return size_style(facts.queues.get(plan.ways[~owner].link.number))

    def build(_: int, y: int) -> Row:
        words: dict[int, Word] = {}
        for number in plan.words.get(y, ()):
            if number >= 0:
                x, word = _name(plan.boxes[number], net, facts, loops)
                words[x] = word
            else:
                words |= _on_way(plan.ways[~number], y, facts.queues.get(plan.ways[~number].link.number))
        boxes = [plan.boxes[number] for number in plan.cut.get(y, ())]
        folding = tuple(box.path for box in boxes if box.path in net.inside)
        line = Line(tuple(plan.picture.row(y, words, look)), _opens(boxes, facts))
        return Row(line, GraphFold(folding) if folding else None)

    return Each(range(plan.height), build)


def _on_way(way: Way, y: int, queue: QueueRow | None) -> dict[int, Word]:
    """What stands on an edge in a row: its size where it begins, a head where it ends."""
    found: dict[int, Word] = {}
    style = size_style(queue)
    if queue is not None and y == way.label[1]:
        found[way.label[0]] = (size_text(queue)[:LABEL], style)
    x, head = way.points[0] if way.upwards else way.points[-1]
    if y == head:
        found[x] = ("▲" if way.upwards else "▼", style)
    return found


def _name(box: Box, net: Nesting, facts: Facts, loops: Mapping[str, QueueRow | None]) -> tuple[int, Word]:
    """A box's name and where it stands: in the middle, or in the frame of a network that is open."""
    if box.path.startswith(BOUNDARY):
        name = short(box.path)
        name = fit(name, min(cell_len(name), box.width))
        return box.x + (box.width - cell_len(name)) // 2, (name, "dim")
    mark = facts.mark(box.path)
    sign = fold_sign(True, box.opened) if box.path in net.inside else " "
    name = f"{mark.sign}{sign}{short(box.path)}"
    if box.path in loops:
        queue = loops[box.path]
        name += f" @{size_text(queue)}" if queue else " @"
    elif box.path in facts.waiting:
        name += f" [{size_text(facts.waiting[box.path])}]"
    name = fit(name, min(cell_len(name), box.width - 4))
    if box.opened:
        return box.x + 2, (f"{name} ", mark.style or "heading")
    return box.x + max((box.width - cell_len(name) - 1) // 2, 1), (name, mark.style)


def _opens(boxes: Sequence[Box], facts: Facts) -> Opens | None:
    """What is known of the nodes of a row."""
    known = [facts.opens(box.path) for box in boxes if not box.path.startswith(BOUNDARY)]
    if len(known) < 2:
        return known[0] if known else None
    return Opens(f"{len(known)} nodes", {opens.title: opens.value for opens in known})
