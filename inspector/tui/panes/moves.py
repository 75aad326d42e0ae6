"""What a step took from each queue and put there, from the two states around it and the step's own record."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inspector.model.run import Queue, State, Step
from inspector.model.values import Value, equal

SHIFTS = 64
"""How many tokens a step may have taken to be told from a queue with other contents, where the step's
record does not say; trying every shift of two long queues would cost their product."""


class Moved(NamedTuple):
    """The tokens that left the head, as far as they are known, how many more left, and how many of the
    tokens at the end are new."""

    taken: Sequence[Value] = ()
    unseen: int = 0
    put: int = 0


class QueueRow(NamedTuple):
    """A queue of the state, or one that the step has left empty and gone, with what moved. `number` tells
    queues of one scope and id apart."""

    queue: Queue
    number: int
    moved: Moved
    gone: bool = False


def queue_rows(state: State, before: State | None, step: Step | None) -> list[QueueRow]:
    """The queues of a state, in its order, each with what the step moved."""
    earlier = {(queue.scope, queue.id, number): queue for queue, number in _numbered(before.queues if before else None)}
    records = _Records(step, state.queues or ())
    found = []
    for queue, number in _numbered(state.queues):
        old = earlier.pop((queue.scope, queue.id, number), None)
        found.append(QueueRow(queue, number, _moved(queue, old, records, before is not None)))
    for (_, _, number), old in earlier.items():
        if old.tokens:
            found.append(QueueRow(old, number, Moved(old.tokens, 0, 0), gone=True))
    return found


def _numbered(queues: Sequence[Queue] | None) -> Iterator[tuple[Queue, int]]:
    seen: dict[tuple[tuple[str, ...], str], int] = {}
    for queue in queues or ():
        key = (queue.scope, queue.id)
        seen[key] = seen.get(key, -1) + 1
        yield queue, seen[key]


def _moved(queue: Queue, old: Queue | None, records: "_Records", compared: bool) -> Moved:
    taken = records.taken.get((queue.scope, queue.id))
    put = records.put.get((queue.scope, queue.id), 0)
    if old is not None and _whole(old) and _whole(queue):
        return _between(old.tokens or (), queue.tokens or (), len(taken[0]) + taken[1] if taken else None)
    if old is None and compared and _whole(queue) and not (taken or put):
        return Moved(put=len(queue.tokens or ()))
    return Moved(*(taken or ((), 0)), put=min(put, len(queue.tokens or ())))


def _whole(queue: Queue) -> bool:
    return queue.contents == "complete" and isinstance(queue.tokens, list | tuple)


def _between(old: Sequence[Value], new: Sequence[Value], told: int | None) -> Moved:
    """What moved between two contents of a queue; `told` is how many tokens the step says that it took."""
    old, new = tuple(old), tuple(new)
    least = max(len(old) - len(new), 0)
    shifts = [told] if told is not None and least <= told <= len(old) else []
    for taken in (*shifts, *range(least, min(least + SHIFTS, len(old)))):
        stay = len(old) - taken
        if _same(old[taken:], new[:stay]):
            return Moved(old[:taken], 0, len(new) - stay)
    return Moved(old, 0, len(new))


def _same(old: Sequence[Value], new: Sequence[Value]) -> bool:
    try:
        return old == new
    except RecursionError:
        return all(map(equal, old, new))


class _Records:
    """What the step's record says of each queue, by scope and id."""

    def __init__(self, step: Step | None, queues: Sequence[Queue]) -> None:
        self.taken: dict[tuple[tuple[str, ...], str], tuple[Sequence[Value], int]] = {}
        self.put: dict[tuple[tuple[str, ...], str], int] = {}
        if step is None or not (step.consumed or step.produced):
            return
        scope = tuple(step.name.split("/")[:-1])
        places: dict[str, tuple[tuple[str, ...], str]] = {}
        for queue in queues:
            key = (queue.scope, queue.id)
            places["/".join((*queue.scope, queue.id))] = key
            if queue.id not in places or queue.scope == scope:
                places[queue.id] = key
        for consumed in step.consumed or ():
            if consumed.queue in places:
                tokens = consumed.tokens or ()
                self.taken[places[consumed.queue]] = (tokens, max(consumed.count - len(tokens), 0))
        for produced in step.produced or ():
            if produced.queue in places:
                count = produced.count if produced.tokens is None else len(produced.tokens)
                self.put[places[produced.queue]] = count or 0
