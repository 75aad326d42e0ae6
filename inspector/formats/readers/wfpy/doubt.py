"""What a failure inside of a nested workflow leaves open, where no checkpoint tells it.

A firing of a nested workflow takes its tokens when it begins, and no line says so before the first firing inside of it
is over. When that one fails, nobody can tell from the journal how often the workflow took.
"""

from collections.abc import Sequence

from inspector.formats.readers.wfpy.journal import Journal
from inspector.formats.readers.wfpy.network import Actor
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.model.run import Record
from inspector.model.text import clean


class Doubt(Record, frozen=True, kw_only=True):
    """`cut`: the nested workflows that the failure cut short, by path, each with whether it is known how many firings
    of it had begun. `queues`: those of which it is not known what they hold, by `id()`."""

    cut: dict[tuple[str, ...], bool]
    queues: frozenset[int]


NONE = Doubt(cut={}, queues=frozenset())


def doubt(rebuilt: Rebuilt, failed: Sequence[str]) -> Doubt:
    """What is open at the end of a run in which the actor at this path failed."""
    path = [clean(name) for name in failed]
    owners = [actor for end in range(1, len(path)) if (actor := rebuilt.network.find(path[:end])) is not None]
    if not owners:
        return NONE
    actor = rebuilt.network.find(path)
    known = actor is not None and _had_its_tokens(actor, rebuilt)
    queues = [] if known else [queue for owner in owners for queue in _edges(owner)]
    return Doubt(cut={owner.path: known for owner in owners}, queues=frozenset(map(id, queues)))


def _edges(owner: Actor) -> list[Queue]:
    outside = [queue for queues in owner.ins.values() for queue in queues]
    inside = [queue for queues in owner.child.entries.values() for queue in queues] if owner.child is not None else []
    return [*outside, *inside]


def _had_its_tokens(actor: Actor, rebuilt: Rebuilt) -> bool:
    """Whether the firing that failed found its tokens where the journal leaves them, so that nothing else moved."""
    counts = _counts(actor, rebuilt.journal, rebuilt.replay.lines)
    queues = [queues[0] for queues in actor.ins.values()]
    for queue in queues:
        wanted = counts.get(queue.id) if counts else {1} if queue.source != BOUNDARY else None
        if wanted is None or len(wanted) > 1 or len(queue.fresh) < max(wanted):
            return False
    return bool(queues)


def _counts(actor: Actor, journal: Journal, lines: Sequence[int]) -> dict[str, set[int]]:
    """How many tokens of each queue the actor took in its firings before, as far as a few of them tell."""
    found: dict[str, set[int]] = {}
    steps = [*actor.firings[:LOOKED_AT], *actor.firings[-LOOKED_AT:]]
    for step in steps:
        entry = journal.entry(lines[step - 1])
        taken = {clean(group[0]): group[1] for group in (entry.consumed if entry is not None else None) or ()}
        for queue in (queue.id for queues in actor.ins.values() for queue in queues[:1]):
            found.setdefault(queue, set()).add(taken.get(queue, 0))
    return found


LOOKED_AT = 50
"""Firings of an actor, the first and the last, that are looked at for what it takes."""
