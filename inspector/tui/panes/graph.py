"""Graph: nodes and edges as a drawing or a list, with the queues' sizes, and where the step happened.

The drawing is laid out once per graph and set of open networks, so it stands still while one steps; what
changes is painted over it. A graph that does not fit the pane is a list at first, and one of very many nodes
is a plain list always: laying it out would let the screen wait.
"""

from collections import Counter
from collections.abc import Hashable, Set

from inspector.model.run import Graph
from inspector.tui.line import Line, Span, plain
from inspector.tui.panes.cells import counted
from inspector.tui.panes.drawing import Drawing, drawing
from inspector.tui.panes.facts import Facts, GraphFold
from inspector.tui.panes.graphdrawn import drawn
from inspector.tui.panes.graphlisted import listed
from inspector.tui.panes.graphplain import flat, plainly
from inspector.tui.panes.layers import TooLarge
from inspector.tui.panes.nesting import BOUNDARY, Nesting, nesting
from inspector.tui.panes.parts import Fixed, Part, Stack, note
from inspector.tui.panes.remembered import remembered
from inspector.tui.session import StateSnapshot

FEW = 12
"""Nodes of a graph whose networks are all open at first."""
LARGE = 100
"""More nodes or edges are a list at first, however wide the pane."""
MOST_LISTED = 5000
"""More nodes or edges are not put in order."""
FORM = "drawing or list"
"""The fold that turns the drawing into the list and back."""


SIGNS = {
    "●": "this step",
    "✗": "this step, or what is denied",
    "?": "waits",
    "○": "can run",
    "►": "runs",
    "!": "may have happened",
    "✓": "answered or approved",
}
"""What the signs before names say."""


def title(snapshot: StateSnapshot) -> str | None:
    """No count in the tab; None where the file does not tell."""
    return None if snapshot.definition.graph is None else ""


def lines(snapshot: StateSnapshot, width: int, toggled: Set[Hashable] = frozenset()) -> Stack:
    """The pane's lines."""
    graph = snapshot.definition.graph
    if graph is None or not (graph.nodes or graph.edges):
        return note("this file does not record a graph" if graph is None else "the graph is empty")
    if len(graph.nodes or ()) > MOST_LISTED or len(graph.edges or ()) > MOST_LISTED:
        net = flat(graph)
        facts, heading = Facts(snapshot, net), _heading(graph, len(net.nodes), too_large=True)
        return Stack([Fixed([heading, _legend(facts)]), *plainly(graph, facts, width)])
    net = nesting(graph)
    opened = _opened(net, toggled)
    facts = Facts(snapshot, net)
    # A large graph is not laid out before somebody asks for the drawing.
    asked, large = FORM in toggled, len(net.nodes) > LARGE or len(graph.edges or ()) > LARGE
    plan = _plan(graph, opened, bool(facts.queues), bool(facts.waiting)) if asked or not large else None
    as_drawing = plan is not None and (plan.width < width) != asked
    body: Part = drawn(net, plan, facts) if plan and as_drawing else listed(graph, opened, facts, width)
    heading = _heading(graph, _count(graph), too_large=asked and plan is None)
    return Stack([Fixed([heading, _legend(facts, len(net.inside) > 1)]), body])


def _plan(graph: Graph, opened: frozenset[str], labelled: bool, roomy: bool) -> Drawing | None:
    try:
        return drawing(graph, opened, labelled, roomy)
    except TooLarge:
        return None


def _opened(net: Nesting, toggled: Set[Hashable]) -> frozenset[str]:
    """The networks that are open: all of a small graph at first, and none of a large one."""
    networks = {path for path in net.inside if path}
    times = Counter(path for fold in toggled if isinstance(fold, GraphFold) for path in fold.paths)
    swapped = {path for path, count in times.items() if count % 2}
    return frozenset(networks ^ (swapped & networks) if len(net.nodes) <= FEW else swapped & networks)


@remembered(4)
def _count(graph: Graph) -> int:
    return sum(not path.startswith(BOUNDARY) for path in nesting(graph).nodes)


def _heading(graph: Graph, nodes: int, too_large: bool) -> Line:
    words = [counted(nodes, "node"), counted(len(graph.edges or ()), "edge")]
    if graph.edges is None:
        words[1] = "edges not recorded"
    if not graph.complete:
        words.append("only parts of the graph are recorded")
    if too_large:
        words.append("too large to draw")
    return plain(", ".join(words), "heading")


def _legend(facts: Facts, nested: bool = False) -> Line:
    """What the signs say that are to be seen; always one line, so that the drawing stands still."""
    spans = [Span(f"{mark.sign} {SIGNS[mark.sign]}  ", mark.style) for mark in facts.marks()]
    if nested:
        spans.append(Span("▸ holds a network", "dim"))
    return Line(tuple(spans))
