"""Whether a saved run fits the network of today: looked at before anything runs."""

from inspector.dataflow.codec import Unreadable
from inspector.dataflow.definition import digest
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Plan
from inspector.model.run import Definition
from inspector.runner.errors import ResumeRefused
from inspector.runner.network.restore import SavedNetwork


def fits(saved: SavedNetwork, plan: Plan, today: Definition) -> None:
    """Raises ResumeRefused, naming each node and edge, when the graph is not the one that the run was made with."""
    graph = saved.header.definition.graph
    if graph is None or graph.digest is None:
        raise ResumeRefused(saved.path, "definition_unknown", "the trace does not record its graph")
    if graph.digest == digest(plan):
        return
    assert today.graph is not None
    found = []
    for what, old, new in (
        (
            "node",
            {n.id: (n.kind, n.class_) for n in graph.nodes or ()},
            {n.id: (n.kind, n.class_) for n in today.graph.nodes or ()},
        ),
        ("edge", {e.id: () for e in graph.edges or ()}, {e.id: () for e in today.graph.edges or ()}),
    ):
        found += [f"{what} {name} is gone" for name in old if name not in new]
        found += [f"{what} {name} is new" for name in new if name not in old]
        found += [f"{what} {name} is another" for name in old if name in new and old[name] != new[name]]
    raise ResumeRefused(plan.name, "graph_changed", "; ".join(found) or "nodes, ports or edges stand in another order")


def readable(path: str, run: NetworkRun) -> None:
    """Raises ResumeRefused when today's code cannot read back a token or a state, naming each."""
    state = run.state()
    parts = [
        *(("/".join((*queue.scope, queue.id)), token) for queue in state.queues or () for token in queue.tokens or ()),
        *(
            ("/".join((*actor.scope, actor.id)), value)
            for actor in state.actors or ()
            for value in (actor.state or {}).values()
        ),
        *((f"context.{name}", value) for name, value in (state.values or {}).items()),
    ]
    for place, value in parts:
        try:
            run.values.decode(value)
        except Unreadable as error:
            raise ResumeRefused(path, "value_unreadable", f"{place}: {error}") from error
