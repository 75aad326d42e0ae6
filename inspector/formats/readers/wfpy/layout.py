"""The network as the artifacts other than the journal tell it: actors in declaration order, queues in the
order of connection, and which queue of the trace is which.
"""

import re
from collections.abc import Sequence

from inspector.formats.readers.wfpy.artifacts import Facts
from inspector.formats.readers.wfpy.checkpoint import Checkpoint
from inspector.formats.readers.wfpy.network import Network, Scope
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.formats.readers.wfpy.trace import Trace, segments

_CONTROL = re.compile(r"(if|loop)(_\d+)?")


def build(record: Facts | None, checkpoint: Checkpoint | None, trace: Trace | None, names: Network) -> Network:
    """The network, in the order in which wfpy declares it as far as that is known; `names` is what the journal
    names. Raises TooLarge."""
    network = Network()
    if record is not None:
        declare(network, record)
    if checkpoint is not None:
        checkpoint.learn(network)
    if trace is not None and len(trace):
        kinds(network, trace)
        if checkpoint is None and (parts := segments(trace.sizes(0))):
            connect(network.root, parts[0])
    network.merge(names)
    return network


def declare(network: Network, record: Facts) -> None:
    """The actors of the top plan, with kind and class, from the run record."""
    for entry in record.objects("actors"):
        name, kind, class_name = (entry.get(key) for key in ("instanceName", "entityKind", "entityName"))
        if isinstance(name, str) and name:
            actor = network.root.actor(name)
            actor.kind = kind if isinstance(kind, str) else actor.kind
            actor.class_name = class_name if isinstance(class_name, str) else actor.class_name


def kinds(network: Network, trace: Trace) -> None:
    """Kinds of the actors that the trace saw firing."""
    for step in trace.steps:
        if step.actor_instance_name and step.actor_kind:
            actor = network.root.actor(step.actor_instance_name)
            actor.kind = actor.kind or step.actor_kind


def connect(scope: Scope, ids: Sequence[str]) -> list[Queue]:
    """The queues of a plan by their ids, in order; an id that stands twice is two queues."""
    seen: dict[str, int] = {}
    found = []
    for queue_id in ids:
        occurrence = seen[queue_id] = seen.get(queue_id, 0) + 1
        found.append(scope.queues_of(queue_id, occurrence)[occurrence - 1])
    return found


def places(network: Network, trace: Trace) -> list[Queue | None]:
    """The queue that stands at each place of a trace's step. Plans in it have the name of their workflow, not
    of their instance: each goes to the first nested plan that has all its known queues there."""
    if not len(trace):
        return []
    parts = segments(trace.sizes(0))
    found: list[Queue | None] = []
    free = [scope for scope in network.scopes() if scope.path]
    unfired = [
        actor.name
        for actor in network.root.actors.values()
        if actor.kind == "workflow" and actor.child is None and not actor.fired
    ]
    scopes = [network.root, *(_claim(free, ids) for ids in parts[1:])]
    if scopes.count(None) == len(unfired):
        # With more plans than that, some are deeper inside, and nobody knows which is whose.
        left = iter(unfired)
        scopes = [network.root.inside(next(left)) if scope is None else scope for scope in scopes]
    for scope, ids in zip(scopes, parts, strict=False):
        found += connect(scope, ids) if scope is not None else [None] * len(ids)
    return found


def _claim(free: list[Scope], ids: Sequence[str]) -> Scope | None:
    known = set(ids)
    fitting = next((scope for scope in free if all(queue.id in known for queue in scope.queues)), None)
    if fitting is not None:
        free.remove(fitting)
    return fitting


def _named(names: set[str]) -> set[str]:
    """Those that are not the name of an if or loop: each plan has its own of these."""
    return {name for name in names if not _CONTROL.fullmatch(name)}


def overlay(network: Network, viewer: Facts) -> None:
    """Queues that the overlay names and no line does. It has all plans' queues in one heap: those are taken
    whose actors are known to be at the top, and not inside a nested workflow."""
    nested = {name for scope in network.scopes() if scope.path for name in scope.actors}
    top = {*network.root.actors} - nested
    for key, edge in viewer.object("edges").items():
        queue_id = edge.get("queueId") if isinstance(edge, dict) else None
        if not isinstance(queue_id, str) or not key:
            continue
        left, _, right = queue_id.partition("-->")
        ends = {left.partition(".")[0], right.partition(".")[0]} - {BOUNDARY}
        if (_named(ends & top) and not ends & nested) or not network.root.actors:
            network.root.queues_of(queue_id, 1)
