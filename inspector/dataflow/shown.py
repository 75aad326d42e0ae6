"""The parts of a running network as the neutral state has them."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from inspector.dataflow.firing import Firing
from inspector.dataflow.plan import Link, Node
from inspector.model.run import Actor, Pending, PendingStatus, Queue
from inspector.model.values import Value


def queue(link: Link, waiting: Iterable[Value]) -> Queue:
    """A queue with its tokens, head first."""
    tokens = tuple(waiting)
    source, _, target = link.id.partition("-->")
    return Queue(
        id=link.id, scope=link.scope, from_=source, to=target, size=len(tokens), contents="complete", tokens=tokens
    )


def actor(node: Node, count: int, state: Mapping[str, Value], unfinished: Value) -> Actor:
    """A node, how often it has fired, and its state; `unfinished` is what an agent in the middle of a firing holds."""
    return Actor(id=node.path[-1], scope=node.path[:-1], fire_count=count, state=dict(state), unfinished=unfinished)


class Told:
    """What the journal told of pending firings so far; `toggled` are the nodes where that may have changed."""

    def __init__(self) -> None:
        self.toggled: set[int] = set()
        self._left: dict[str, int] = {}
        self._rows: dict[int, str] = {}
        self._held: dict[int, Value] = {}

    def left(self, firing: Firing) -> None:
        """A firing is not ready any more."""
        self._left[firing.id] = firing.number
        self.toggled.add(firing.number)

    def news(
        self,
        ready: Mapping[int, Firing],
        flying: Mapping[int, Firing],
        held: Mapping[int, Value],
        doubted: Container[int],
    ) -> dict[str, Any]:
        """What is to be told now, as fields of a Change."""
        if held != self._held:  # rare: what agents that wait hold is told anew
            self._held = dict(held)
            self._rows = {number: firing.id for number, firing in (*flying.items(), *ready.items())}
            self.toggled.clear()
            self._left.clear()
            return {"pending": tuple(pending(held.values(), [*flying.values()], ready.values(), doubted))}
        owed = []
        for number in sorted(self.toggled):
            firing = ready.get(number) or flying.get(number)
            if firing is not None and self._rows.get(number) != firing.id:
                self._rows[number] = firing.id
                owed.append(_firing(firing, "ready"))
        under_way = {}
        for name, number in self._left.items():
            firing = ready.get(number) or flying.get(number)
            if firing is not None and firing.id == name:
                under_way[name] = number
            elif self._rows.get(number) == name:
                del self._rows[number]
        begun = tuple(name for name in self._left if name not in under_way)
        self._left = under_way
        self.toggled.clear()
        return {"begun": begun, "owed": tuple(owed)}


def pending(
    held: Iterable[Value], flying: Sequence[Firing], ready: Iterable[Firing], doubted: Container[int]
) -> Iterator[Pending]:
    """What is not done: the calls of agents that are `held`, firings under way, and those that are ready; of the nodes
    `doubted` they may have happened."""
    for inner in held:
        for call in inner.get("pending", ()):
            yield msgspec.convert(call, Pending)
    for firing in flying:
        yield _firing(firing, "in_flight")
    for firing in ready:
        yield _firing(firing, "ambiguous" if firing.number in doubted else "ready")


def _firing(firing: Firing, status: PendingStatus) -> Pending:
    return Pending(
        kind="firing", name=firing.node.name, status=status, call_id=firing.id, arguments=dict(firing.tokens)
    )
