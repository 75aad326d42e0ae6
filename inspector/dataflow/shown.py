"""The parts of a running network as the neutral state has them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from inspector.dataflow.firing import Firing
from inspector.dataflow.plan import Link, Node
from inspector.model.changes import QueueChange
from inspector.model.run import Actor, Consumed, Pending, PendingStatus, Produced, Queue
from inspector.model.values import Value


def queue(link: Link, waiting: Iterable[Value]) -> Queue:
    """A queue with its tokens, head first."""
    tokens = tuple(waiting)
    source, _, target = link.id.partition("-->")
    return Queue(
        id=link.id, scope=link.scope, from_=source, to=target, size=len(tokens), contents="complete", tokens=tokens
    )


def actor(node: Node, count: int, state: dict[str, Value], unfinished: Value) -> Actor:
    """A node, how often it has fired, and its state; `unfinished` is what an agent in the middle of a firing holds."""
    path = node.path
    return Actor(id=path[-1], scope=path[:-1], fire_count=count, state=state, unfinished=unfinished)


def moves(
    links: Sequence[Link], taken: Mapping[int, Value], put: Sequence[tuple[int, Sequence[Value]]]
) -> tuple[tuple[Consumed, ...], tuple[Produced, ...], tuple[QueueChange, ...]]:
    """The tokens that a step took, by queue, and those that it put, in the order of the queues: as fields of the step,
    and as the change of the queues."""
    moved = {queue: QueueChange(index=queue, taken=1) for queue in taken}
    for queue, tokens in put:
        moved[queue] = QueueChange(index=queue, taken=int(queue in taken), put=tuple(tokens))
    return (
        tuple([Consumed(queue=links[queue].id, count=1, tokens=(token,)) for queue, token in taken.items()]),
        tuple([Produced(queue=links[queue].id, tokens=tuple(t), count=len(t)) for queue, t in put]),
        tuple([moved[queue] for queue in sorted(moved)]),
    )


Told = tuple[Firing, PendingStatus, str | None]
"""What is told of a firing: whether it is under way, and what came of it before."""


class Firings:
    """The firings that are not done, by node: those that are `ready`, those that are `flying` (under way), and the
    calls of agents that are `held`; and what of them has been told. A firing under way is told as that when its body
    has begun; one that failed is told as ready, with how it did, whether or not it may begin again by now."""

    def __init__(self, ready: Mapping[int, Firing], flying: Mapping[int, Firing], held: Mapping[int, Value]) -> None:
        self._ready, self._flying, self._held = ready, flying, held
        self.toggled: set[int] = set()
        """The nodes where something may have changed since it was told last."""
        self._doubted: set[int] = set()
        self._started: set[int] = set()
        self._failed: dict[int, tuple[Firing, str]] = {}
        self._rows: dict[int, Told] | None = None
        self._calls: dict[int, Value] = {}

    def began(self, number: int) -> None:
        """A firing of the node is under way."""
        self.toggled.add(number)
        self._doubted.discard(number)
        self._failed.pop(number, None)

    def started(self, number: int) -> None:
        """Its body has begun."""
        self._started.add(number)
        self.toggled.add(number)

    def landed(self, number: int) -> None:
        """It is not under way any more."""
        self._started.discard(number)
        self.toggled.add(number)

    def failed(self, firing: Firing, why: str) -> None:
        """It did not end well."""
        self._failed[firing.number] = firing, why
        self.toggled.add(firing.number)

    def doubt(self, number: int) -> None:
        """The next firing of the node may have happened."""
        self._doubted.add(number)
        self.toggled.add(number)

    def news(self) -> tuple[tuple[Pending, ...] | UnsetType, tuple[str, ...], tuple[Pending, ...]]:
        """What is to be told now, as the fields `pending`, `begun` and `owed` of a Change."""
        rows = self._rows
        if rows is None or self._held != self._calls:  # the first time; and what agents that wait hold is told anew
            self._calls = dict(self._held)
            self._rows = {number: told for number in self._numbers() if (told := self._told(number)) is not None}
            self.toggled.clear()
            return tuple(self.pending()), (), ()
        begun, owed = [], []
        for number in sorted(self.toggled):
            old, new = rows.get(number), self._told(number)
            if old is not None and (new is None or new[0].id != old[0].id):
                begun.append(old[0].id)
                del rows[number]
            if new is not None and (old is None or new[0].id != old[0].id or new[1:] != old[1:]):
                rows[number] = new
                owed.append(_pending(*new))
        self.toggled.clear()
        return UNSET, tuple(begun), tuple(owed)

    def pending(self) -> Iterator[Pending]:
        """What is not done: the calls of agents that are held, firings under way, and those that are ready."""
        for inner in self._held.values():
            for call in inner.get("pending", ()):
                yield msgspec.convert(call, Pending)
        for number in self._numbers():
            if (told := self._told(number)) is not None:
                yield _pending(*told)

    def _numbers(self) -> Iterable[int]:
        return dict.fromkeys((*self._flying, *self._ready, *self._failed))

    def _told(self, number: int) -> Told | None:
        if (firing := self._flying.get(number)) is not None:
            return firing, "in_flight" if number in self._started else "ready", None
        failed, why = self._failed.get(number, (None, None))
        if (firing := self._ready.get(number, failed)) is None:
            return None
        return firing, "ambiguous" if number in self._doubted else "ready", why


def _pending(firing: Firing, status: PendingStatus, note: str | None) -> Pending:
    return Pending(
        kind="firing",
        name=firing.node.name,
        status=status,
        call_id=firing.id,
        arguments=dict(firing.tokens),
        note=note,
    )
