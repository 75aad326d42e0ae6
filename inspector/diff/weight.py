"""What a difference means for going on: `breaking`, to be `accept`ed, or `harmless`.

The weight is that of one run at one step: a tool that changed or is gone breaks what is pending for it, and
nothing else. What `check` found counts more than what can be told from the two sides alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from inspector.diff.definition import ToolChange
from inspector.diff.diff import Diff, Side
from inspector.diff.values import Difference
from inspector.model.run import Record
from inspector.model.values import Value

Weight = Literal["breaking", "accept", "harmless"]
Section = Literal["Tools", "Graph", "Hooks", "Settings", "State"]
Sign = Literal["+", "-", "~"]
OPEN = ("waiting", "ready", "in_flight", "ambiguous", "approved", "denied")
"""Statuses of pending work that may still come to run."""
NAMED = 5
"""Calls that are named where a tool has many."""


class Weighed(Record, frozen=True, kw_only=True):
    """One difference: what it is about, where in it, both sides, and its weight with the reason. Two states
    have no weight: None."""

    section: Section
    sign: Sign
    subject: str
    path: str = ""
    left: Value = None
    right: Value = None
    weight: Weight | None = "harmless"
    why: str | None = None


def weigh(left: Side, diff: Diff, found: Mapping[str, Weight] | None = None) -> tuple[Weighed, ...]:
    """The differences with their weights, in the order of the sections. `found` has the weights of what a
    plan named, by subject; None: there is no plan."""
    pending = left.state.pending or () if left.state is not None else ()
    open_calls: dict[str, list[str]] = {}
    for item in pending:
        if item.kind == "tool" and item.status in OPEN:
            open_calls.setdefault(item.name, []).append(item.call_id or item.name)
    return (
        *_tools(diff, open_calls, found),
        *_graph(diff, found),
        *_hooks(diff),
        *_settings(diff),
        *(_state(change) for change in diff.state),
    )


def _tools(
    diff: Diff, open_calls: Mapping[str, Sequence[str]], found: Mapping[str, Weight] | None
) -> Iterator[Weighed]:
    for name in diff.tools.removed:
        calls = open_calls.get(name, ())
        why = f"{_calls(calls, 'needs', 'need')} it" if calls else "nothing that is pending needs it"
        weight: Weight = "breaking" if calls else "harmless"
        yield Weighed(section="Tools", sign="-", subject=name, weight=weight, why=why)
    for tool in diff.tools.changed:
        yield from _changed(tool, open_calls.get(tool.name, ()), found)
    for name in diff.tools.added:
        yield Weighed(section="Tools", sign="+", subject=name, why="the open batch cannot call it")


def _calls(ids: Sequence[str], one: str, several: str) -> str:
    if len(ids) == 1:
        return f"the call {ids[0]} {one}"
    more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
    return f"the calls {', '.join(ids[:NAMED])}{more} {several}"


def _changed(tool: ToolChange, calls: Sequence[str], found: Mapping[str, Weight] | None) -> Iterator[Weighed]:
    for change in tool.changes:
        weight, why = "harmless", "nothing that is pending calls it"
        if calls and change.path == "description":
            why = "only what the model is told of it"
        elif calls:
            why = f"{_calls(calls, 'waits', 'wait')} for it"
            weight = "breaking" if found is None else found.get(tool.name, "accept")
        yield Weighed(
            section="Tools",
            sign="~",
            subject=tool.name,
            path=change.path,
            left=change.left,
            right=change.right,
            weight=weight,  # type: ignore[arg-type]
            why=why,
        )


def _graph(diff: Diff, found: Mapping[str, Weight] | None) -> Iterator[Weighed]:
    graph, gone = diff.graph, "tokens are on their way by the graph as it was"
    yield from _listed("Graph", "-", "node", graph.removed_nodes, "breaking", gone)
    yield from _listed("Graph", "+", "node", graph.added_nodes, "breaking", gone)
    for node in graph.changed_nodes:
        for change in node.changes:
            structural = change.path in ("kind", "class")
            yield Weighed(
                section="Graph",
                sign="~",
                subject=f"node {node.id}",
                path=change.path,
                left=change.left,
                right=change.right,
                weight="breaking" if structural else "harmless",
                why="it is another actor" if structural else "the new one runs from here on",
            )
    yield from _listed("Graph", "-", "edge", graph.removed_edges, "breaking", gone)
    yield from _listed("Graph", "+", "edge", graph.added_edges, "breaking", gone)
    for edge in graph.changed_edges:
        for change in edge.changes:
            yield Weighed(
                section="Graph",
                sign="~",
                subject=f"edge {edge.id}",
                path=change.path,
                left=change.left,
                right=change.right,
                why="the new one holds from here on",
            )
    # A plan that refuses nothing does not take another order for another graph.
    borne = graph.reordered and found is not None and "breaking" not in found.values()
    if graph.reordered:
        why = "the order decides which of two ready actors is first"
        yield Weighed(section="Graph", sign="~", subject="the same nodes and edges in another order", why=why)
    structure = (graph.added_nodes, graph.removed_nodes, graph.added_edges, graph.removed_edges, graph.changed_nodes)
    digests = (graph.left_digest, graph.right_digest)
    if None not in digests and digests[0] != digests[1] and not any(structure) and not borne:
        yield Weighed(
            section="Graph",
            sign="~",
            subject="digest",
            left=digests[0],
            right=digests[1],
            weight="breaking",
            why="the graph is not the one that the run was made with",
        )


def _hooks(diff: Diff) -> Iterator[Weighed]:
    yield from _listed("Hooks", "-", "", diff.hooks.removed, "breaking", "it was active when the run was saved")
    yield from _listed("Hooks", "+", "", diff.hooks.added, "harmless", "it acts from here on")
    if diff.hooks.reordered:
        yield Weighed(section="Hooks", sign="~", subject="the order", why="an earlier one may end the chain")


def _settings(diff: Diff) -> Iterator[Weighed]:
    for change in diff.settings:
        yield Weighed(
            section="Settings",
            sign="~",
            subject=change.path,
            left=change.left,
            right=change.right,
            why="the run goes on with the new one",
        )


def _listed(
    section: Section, sign: Sign, what: str, names: Iterable[str], weight: Weight, why: str
) -> Iterator[Weighed]:
    for name in names:
        yield Weighed(section=section, sign=sign, subject=f"{what} {name}".strip(), weight=weight, why=why)


def _state(change: Difference) -> Weighed:
    sign: Sign = "+" if change.left is None else "-" if change.right is None else "~"
    return Weighed(section="State", sign=sign, subject=change.path, left=change.left, right=change.right, weight=None)
