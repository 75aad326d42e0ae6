"""The graph as a list: every node, below it the edges that leave it, and what is inside it if it is open."""

from inspector.model.run import Graph
from inspector.tui.line import Line, Span
from inspector.tui.panes.cells import column, fit
from inspector.tui.panes.drawing import Entry, listing
from inspector.tui.panes.facts import Facts, GraphFold, size_style, size_text
from inspector.tui.panes.nesting import BOUNDARY, Nesting, nesting, short
from inspector.tui.panes.parts import Each, Row
from inspector.tui.panes.queues import bar_of
from inspector.tui.panes.remembered import remembered
from inspector.tui.panes.tree import fold_sign

NAME = 32
BAR = 8


def listed(graph: Graph, opened: frozenset[str], facts: Facts, width: int) -> Each[Entry]:
    """The rows of the list."""
    net, names = nesting(graph), _names(graph, opened, min(NAME, max(width // 2, 12)))
    largest = max((row.queue.size or 0 for row in facts.queues.values()), default=0)

    def build(_: int, entry: Entry) -> Row:
        indent = Span("  " * min(entry.depth, max(width // 8, 1)))
        if entry.link is None:
            return _node(entry.path, indent, net, opened, facts, names)
        queue = facts.queues.get(entry.link.number)
        style = size_style(queue)
        target = entry.link.end
        upwards = "↑" if entry.back else "→"
        spans = [
            indent,
            Span(f"      {upwards} ", "dim"),
            Span(fit(short(target), names), "" if queue is None else style),
        ]
        if queue is not None:
            spans.append(Span(f" {size_text(queue):>6} ", style))
            spans.append(Span(bar_of(queue.queue.size or 0, largest, BAR), "bar"))
        spans.append(Span(f"  {entry.link.edge.id}", "dim"))
        return Row(Line(tuple(spans), facts.opens_edge(entry.link)))

    return Each(listing(graph, opened), build)


@remembered(16)
def _names(graph: Graph, opened: frozenset[str], most: int) -> int:
    """The width of the column of names."""
    return column([short(entry.path) for entry in listing(graph, opened)], most)


def _node(path: str, indent: Span, net: Nesting, opened: frozenset[str], facts: Facts, names: int) -> Row:
    folds = path in net.inside
    mark = facts.mark(path)
    node, actor = net.nodes.get(path), facts.actors.get(path)
    if path.startswith(BOUNDARY):
        return Row(Line((indent, Span(f"    {short(path)}", "dim"))))
    about = [word for word in (node.kind, node.class_) if word] if node else []
    if path in facts.waiting:
        about.append(f"queue {size_text(facts.waiting[path])}")
    if actor is not None and actor.fire_count is not None:
        about.append(f"fired {actor.fire_count:,}")
    spans = (
        indent,
        Span(f"{mark.sign} ", mark.style),
        Span(fold_sign(folds, path in opened), "dim"),
        Span(fit(short(path), names), mark.style or "accent"),
        Span("  " + "  ".join(about), "dim"),
    )
    return Row(Line(spans, facts.opens(path)), GraphFold((path,)) if folds else None)
