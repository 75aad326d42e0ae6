"""The difference of two runs at a step each, or of a run and today's code."""

from inspector.diff import definition, state
from inspector.diff.definition import GraphDiff, HookDiff, ToolDiff
from inspector.diff.values import Difference
from inspector.model.run import Definition, Hook, Record, State


class Side(Record, frozen=True, kw_only=True):
    """One side: what the code was, and the state; None for a side that is code alone."""

    definition: Definition
    state: State | None = None


class Diff(Record, frozen=True, kw_only=True):
    """`runinspect.diff/1`. `unknown` names what one side does not record, so that it cannot be compared and
    does not count as a difference."""

    schema: str = "runinspect.diff/1"
    same: bool
    tools: ToolDiff
    graph: GraphDiff
    hooks: HookDiff
    settings: tuple[Difference, ...] = ()
    state: tuple[Difference, ...] = ()
    unknown: tuple[str, ...] = ()


def compare(left: Side, right: Side, *, states: bool = False) -> Diff:
    """What is different on the right. Costs the size of both sides. `states`: both are runs at a step, so that a state
    that is not there is one that the file cannot tell."""
    tools, tools_known = definition.tools(left.definition, right.definition)
    graph, graph_known = definition.graph(left.definition, right.definition)
    hooks, hooks_known = definition.hooks(_hooks(left), _hooks(right))
    known = {"tools": tools_known, "graph": graph_known, "hooks": hooks_known}
    unknown = [name for name, is_known in known.items() if not is_known]
    changes: list[Difference] = []
    if left.state is not None and right.state is not None:
        changes, missing = state.state(left.state, right.state)
        unknown += missing
    elif states:
        unknown.append("state")
    settings = definition.settings(left.definition, right.definition)
    return Diff(
        same=not (tools or graph or hooks or settings or changes),
        tools=tools,
        graph=graph,
        hooks=hooks,
        settings=settings,
        state=tuple(changes),
        unknown=tuple(unknown),
    )


def _hooks(side: Side) -> tuple[Hook, ...] | None:
    if side.state is not None and side.state.hooks is not None:
        return side.state.hooks
    return side.definition.hooks
