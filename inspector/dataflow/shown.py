"""The parts of a running network as the neutral state has them."""

from collections.abc import Iterable, Iterator, Mapping
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
    """What is told of pending firings. `toggled` are the nodes where that may have changed since it was told last; of
    the nodes `doubted` the next firing may have happened, and of those in `failed` it did not end well, which says how.
    """

    def __init__(self) -> None:
        self.toggled: set[int] = set()
        self.doubted: set[int] = set()
        self.failed: dict[int, str] = {}
        self._left: dict[str, int] = {}
        self._rows: dict[int, str] = {}
        self._held: dict[int, Value] = {}

    def began(self, number: int) -> None:
        """A firing of the node is under way."""
        self.doubted.discard(number)
        self.failed.pop(number, None)

    def left(self, firing: Firing) -> None:
        """A firing is not ready any more."""
        self._left[firing.id] = firing.number
        self.toggled.add(firing.number)

    def news(
        self, ready: Mapping[int, Firing], flying: Mapping[int, Firing], held: Mapping[int, Value]
    ) -> dict[str, Any]:
        """What is to be told now, as fields of a Change."""
        if held != self._held:  # rare: what agents that wait hold is told anew
            self._held = dict(held)
            self._rows = {number: firing.id for number, firing in (*flying.items(), *ready.items())}
            self.toggled.clear()
            self._left.clear()
            return {"pending": tuple(self.pending(ready, flying, held))}
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
        begun = tuple([name for name in self._left if name not in under_way])
        self._left = under_way
        self.toggled.clear()
        return {"begun": begun, "owed": tuple(owed)}

    def pending(
        self, ready: Mapping[int, Firing], flying: Mapping[int, Firing], held: Mapping[int, Value]
    ) -> Iterator[Pending]:
        """What is not done: the calls of agents that are `held`, firings under way, and those that are ready."""
        for inner in held.values():
            for call in inner.get("pending", ()):
                yield msgspec.convert(call, Pending)
        for firing in flying.values():
            yield _firing(firing, "in_flight")
        for number, firing in ready.items():
            yield _firing(firing, "ambiguous" if number in self.doubted else "ready", self.failed.get(number))


def _firing(firing: Firing, status: PendingStatus, note: str | None = None) -> Pending:
    arguments = dict(firing.tokens)
    return Pending(
        kind="firing", name=firing.node.name, status=status, call_id=firing.id, arguments=arguments, note=note
    )
