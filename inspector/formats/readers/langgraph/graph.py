"""What a LangGraph store tells of the graph: the nodes that have left a trace."""

from collections.abc import Sequence

from inspector.formats.readers.langgraph.frames import INPUT, INTERRUPT, Frame, target
from inspector.formats.readers.langgraph.tasks import UNKNOWN
from inspector.model.run import Edge, Graph, Node

_HOOKS = ("before_agent", "before_model", "after_model", "after_agent")


def graph(known: Frame | None, following: Sequence[str]) -> Graph | None:
    """The nodes that ran, those that a channel triggers by its name, and those that are `following`; None
    where nothing can be read."""
    if known is None:
        return None
    named: set[str | None] = {node for node in following if node != UNKNOWN}
    named |= {target(channel) for channel in (*known.versions, *known.channels)} | {send.node for send in known.sends}
    names = sorted({name for name in (*known.seen, *named) if name and name not in (INPUT, INTERRUPT)})
    edges = []
    for channel in sorted(known.versions):
        joined = target(channel)
        if channel.startswith("join:") and joined:
            edges += [Edge(id=f"{channel}:{source}", from_=source, to=joined) for source in sources(channel)]
    nodes = tuple(Node(id=name, kind=_kind(name)) for name in names)
    return Graph(nodes=nodes, edges=tuple(edges) or None, complete=False)


def sources(join: str) -> list[str]:
    """The nodes that a join waits for, `join:a+b:c`."""
    return join.split(":", 1)[1].rpartition(":")[0].split("+")


def _kind(name: str) -> str | None:
    """What a node's name says of it: middleware of an agent has nodes of its own."""
    return "middleware" if name.rpartition(".")[2] in _HOOKS else None
