"""Whether a saved run fits the network of today: looked at before anything runs."""

from collections.abc import Container, Iterator

import msgspec

from inspector.dataflow import growth, types
from inspector.dataflow.codec import Unreadable, Values
from inspector.dataflow.definition import digest
from inspector.dataflow.machine import EXHAUSTED, NetworkRun
from inspector.dataflow.plan import Plan
from inspector.model.run import Definition, Graph
from inspector.runner.errors import ResumeRefused
from inspector.runner.network.bodies import checked
from inspector.runner.network.report import DEADLOCK, standstill
from inspector.runner.network.restore import SavedNetwork

ADDED = "graph_added:"
"""The code of something new in the graph, in front of its id: each is accepted by its own."""


class Fitted(msgspec.Struct):
    """A saved run in the network of today. `added`: what the graph has besides, by id; each must be accepted."""

    run: NetworkRun
    added: list[str]

    def accepted(self, codes: Container[str]) -> NetworkRun:
        """The run; raises ResumeRefused, naming what is new and is not among the accepted `codes`."""
        if standing := [name for name in self.added if ADDED + name not in codes]:
            each = ", ".join(ADDED + name for name in standing)
            raise ResumeRefused(self.run.plan.name, "graph_changed", f"new are {', '.join(standing)} (accept {each})")
        return self.run


def hooked(saved: SavedNetwork, today: Definition, codes: Container[str]) -> None:
    """Raises ResumeRefused when a hook that the run had is not there any more, and that is not accepted."""
    now = {(hook.event, hook.name) for hook in today.hooks or ()}
    gone = [hook for hook in saved.header.definition.hooks or () if (hook.event, hook.name) not in now]
    if gone and "hook_missing" not in codes:
        named = ", ".join(f"{hook.name} ({hook.event})" for hook in gone)
        raise ResumeRefused(saved.header.name or saved.path, "hook_missing", f"not registered any more: {named}")


def fitted(saved: SavedNetwork, plan: Plan, today: Definition, values: Values) -> Fitted:
    """The saved run as one of today's plan. Raises ResumeRefused, naming each node and edge, when the graph is another
    than by its order and additions that touch nothing which holds tokens or state, and each value that today's code
    cannot read."""
    graph = saved.header.definition.graph
    if graph is None or graph.digest is None:
        raise ResumeRefused(saved.path, "definition_unknown", "the trace does not record its graph")
    assert today.graph is not None
    if graph.digest == digest(plan):
        found = Fitted(saved.restore(plan, values), [])
    else:
        found = _grown(saved, graph, plan, today.graph, values)
    _readable(saved.path, found.run)
    return found


def moving(saved: SavedNetwork, run: NetworkRun) -> None:
    """Raises ResumeRefused where a run that came to rest before a full queue would only rest there again."""
    at_rest = saved.reason == DEADLOCK and saved.step == saved.last and run.first() is None
    if at_rest and (stuck := standstill(run)) is not None:
        raise ResumeRefused(saved.header.name or saved.path, "deadlock", stuck.message or "")


def dropped(run: NetworkRun) -> Iterator[tuple[str, list[str]]]:
    """The fields of a restored state that today's actors do not have, by node: its next firing drops them."""
    for node, actor in zip(run.plan.nodes, run.state().actors or (), strict=True):
        known = {*node.actor.state, EXHAUSTED} if node.actor is not None else actor.state
        if gone := [name for name in actor.state or {} if name not in known]:
            yield node.name, gone


def odd(run: NetworkRun) -> Iterator[tuple[str, str]]:
    """The fields of a restored state that hold what their type today does not say, by node, in words. The default tells
    whether the type is meant."""
    for node, saved in zip(run.plan.nodes, run.state().actors or (), strict=True):
        actor = node.actor
        for field, default in actor.state.items() if actor is not None else ():
            hint = types.hint_of(actor.factory, field) if actor is not None else None
            value = run.values.decode((saved.state or {})[field])
            if types.fits(default, hint) and not types.fits(value, hint):
                yield node.name, f"{field} is {types.name(hint)} now, and what was saved is {type(value).__qualname__}"


def _grown(saved: SavedNetwork, graph: Graph, plan: Plan, today: Graph, values: Values) -> Fitted:
    changes, additions = _changes(graph, today), growth.added(graph, plan)
    smaller = None
    if not changes:
        try:
            smaller = growth.without(plan, graph)
        except ValueError as error:
            changes = [str(error)]
    if smaller is None or digest(smaller) != graph.digest:
        new = [f"{'edge' if '-->' in name else 'node'} {name} is new" for name in additions]
        why = "; ".join([*changes, *new]) if changes else "a node has other output ports that nothing is connected to"
        raise ResumeRefused(plan.name, "graph_changed", why)
    run = saved.restore(smaller, values)
    if touched := list(growth.touched(run, plan)):
        raise ResumeRefused(plan.name, "graph_changed", "; ".join(touched))
    return Fitted(growth.grown(run, plan), additions)


def _changes(graph: Graph, today: Graph) -> list[str]:
    found = []
    nodes = {node.id: (node.kind, node.class_) for node in today.nodes or ()}
    edges = {edge.id for edge in today.edges or ()}
    for node in graph.nodes or ():
        if node.id not in nodes:
            found.append(f"node {node.id} is gone")
        elif nodes[node.id] != (node.kind, node.class_):
            found.append(f"node {node.id} is another: {nodes[node.id][1]}, not {node.class_}")
    found += [f"edge {edge.id} is gone" for edge in graph.edges or () if edge.id not in edges]
    return found


def _unfit(run: NetworkRun) -> Iterator[str]:
    """The waiting tokens that the port they go to does not take, as its type is today."""
    for number, link in enumerate(run.plan.links):
        # What a control node passes on is looked at when it is taken, as in any run.
        for token in () if number in run.plan.passed else run.queues[number]:
            try:
                checked(link, run.values.decode(token))
            except TypeError as error:
                yield str(error)
            except Unreadable:
                pass


def _readable(path: str, run: NetworkRun) -> None:
    state = run.state()
    parts = [
        *(("/".join((*queue.scope, queue.id)), token) for queue in state.queues or () for token in queue.tokens or ()),
        *(
            (f"{'/'.join((*actor.scope, actor.id))}.{field}", value)
            for actor in state.actors or ()
            for field, value in (actor.state or {}).items()
        ),
        *((f"context.{name}", value) for name, value in (state.values or {}).items()),
    ]
    unreadable = list(_unfit(run))
    for place, value in parts:
        try:
            run.values.decode(value)
        except Unreadable as error:
            unreadable.append(f"{place}: {error}")
    if unreadable:
        raise ResumeRefused(path, "value_unreadable", "; ".join(dict.fromkeys(unreadable)))
