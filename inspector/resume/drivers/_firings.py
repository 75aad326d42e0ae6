"""What a plan says of the firings of a network: those that are taken over, that run, and that run again."""

from collections import Counter
from collections.abc import Iterator, Mapping

from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Plan
from inspector.resume.plan import Need, Planned
from inspector.runner.network.restore import SavedNetwork
from inspector.runner.network.run import Network

NAMED = 50
"""Nodes that a plan names; of a longer run, only how many there are."""
ENDS = frozenset({"failure", "abort"})
"""What can be said of a firing that ends the run before anything else begins."""
Said = Mapping[str, str]
"""What was decided about firings that may have happened, by id."""


def replays(run: NetworkRun) -> Iterator[Planned]:
    """The firings that are taken over, by node."""
    counts = Counter({node.name: run.completed(number) for number, node in enumerate(run.plan.nodes)})
    for name, count in (+counts).most_common(NAMED):
        yield Planned(name=name, kind="firing", note=f"{count} completed, taken over")


def runs(saved: SavedNetwork, run: NetworkRun, said: Said) -> Iterator[Planned]:
    """The firings that can begin, and had not."""
    begun = {happened.id for happened in saved.open}
    for firing in run.ready() if ENDS.isdisjoint(said.values()) else ():
        if firing.id not in begun or firing.node.actor is None:
            yield Planned(name=firing.node.name, kind="firing", call_id=firing.id)


def again(saved: SavedNetwork, flat: Plan) -> Iterator[Planned]:
    """The firings behind the step, by node."""
    harmless = {node.name for node in flat.nodes if node.actor is not None and node.actor.idempotency == "supported"}
    for name, count in Counter(saved.later()).most_common(NAMED):
        declared = ", declared harmless to run again" if name in harmless else ""
        yield Planned(name=name, kind="firing", note=f"{count} completed behind the step{declared}")


def once_more(network: Network, saved: SavedNetwork, run: NetworkRun, said: Said) -> Iterator[Planned]:
    """The firings that may have happened, and would run once more: as somebody said, as they declare that this is
    without harm, or as a hook may say."""
    watch = network.watch(saved.header.id)
    for firing in _begun(saved, run) if ENDS.isdisjoint(said.values()) else ():
        if (how := said.get(firing.id)) is not None:
            note = "may have happened before" if how == "retry" else None
        elif _harmless(firing):
            note = "may have happened, declared harmless to run again"
        else:
            note = "may have happened; a hook is asked" if watch.consulted(firing.node.name) else None
        if note is not None:
            yield Planned(name=firing.node.name, kind="firing", call_id=firing.id, note=note)


def needs(network: Network, saved: SavedNetwork, run: NetworkRun) -> Iterator[Need]:
    """The firings that may have happened, and that somebody has to say something about."""
    watch = network.watch(saved.header.id)
    detail = "it was begun, and no end of it is recorded: it may have had its effects"
    for firing in _begun(saved, run):
        if not _harmless(firing) and not watch.consulted(firing.node.name):
            yield Need(call_id=firing.id, name=firing.node.name, question="reconcile", detail=detail)


def _begun(saved: SavedNetwork, run: NetworkRun) -> Iterator[Firing]:
    """The firings of bodies that may have had their effects."""
    begun = {happened.id for happened in saved.open}
    for firing in run.ready():
        actor = firing.node.actor
        if firing.id in begun and actor is not None and actor.kind != "agent":
            yield firing


def _harmless(firing: Firing) -> bool:
    return firing.node.actor is not None and firing.node.actor.idempotency == "supported"
