"""A graph of very many nodes as a plain list: its nodes and then its edges, in the order of the file.

A list in the graph's own order costs seconds for a hundred thousand nodes, and the screen would wait for it.
"""

from rich.cells import cell_len

from inspector.model.run import Edge, Graph, Node
from inspector.tui.line import Line, Opens, Span
from inspector.tui.panes.cells import fit
from inspector.tui.panes.facts import Facts
from inspector.tui.panes.nesting import Nesting
from inspector.tui.panes.parts import Each, shallow
from inspector.tui.panes.remembered import remembered

NAME = 32


@remembered(4)
def flat(graph: Graph) -> Nesting:
    """The nodes, as if nothing stood inside anything and no edge were known."""
    if graph.nodes is None:
        nodes: dict[str, Node | None] = {
            end: None for edge in graph.edges or () for end in (edge.from_, edge.to) if end
        }
    else:
        nodes = {node.id: node for node in graph.nodes}
    return Nesting(nodes, {}, {}, {}, {})


def plainly(graph: Graph, facts: Facts, width: int) -> tuple[Each[Node], Each[Edge]]:
    """The rows of the list: those of the nodes and those of the edges."""
    most = min(NAME, max(width // 2, 12))

    def node_row(_: int, node: Node) -> Line:
        mark = facts.mark(node.id)
        about = "  ".join(filter(None, (node.kind, node.class_)))
        name = Span(_name(node.id, most), mark.style or "accent")
        return Line((Span(f"{mark.sign} ", mark.style), name, Span(f"  {about}", "dim")), _opens(node))

    def edge_row(_: int, edge: Edge) -> Line:
        ends = f"  {_name(edge.from_ or '?', most)} → {_name(edge.to or '?', most)}"
        return Line((Span(ends), Span(f"  {edge.id}", "dim")), _opens(edge))

    return Each(graph.nodes or (), node_row), Each(graph.edges or (), edge_row)


def _name(text: str, most: int) -> str:
    return fit(text, min(cell_len(text[:most]), most))


def _opens(of: Node | Edge) -> Opens:
    return Opens(of.id, shallow(of))
