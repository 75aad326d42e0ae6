"""The parts of a running network as the neutral state has them."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from inspector.dataflow.firing import Firing
from inspector.dataflow.network import Link
from inspector.model.run import Pending, Queue
from inspector.model.values import Value


def queue(link: Link, waiting: Iterable[Value]) -> Queue:
    """A queue with its tokens, head first."""
    tokens = tuple(waiting)
    source, _, target = link.id.partition("-->")
    return Queue(
        id=link.id, scope=link.scope, from_=source, to=target, size=len(tokens), contents="complete", tokens=tokens
    )


def pending(held: Iterable[Value], flying: Sequence[Firing], ready: Iterable[Firing]) -> Iterator[Pending]:
    """What is not done: the calls of agents that are `held`, and firings under way or ready."""
    for inner in held:
        for call in inner.get("pending", ()):
            yield msgspec.convert(call, Pending)
    for firings, status in ((flying, "in_flight"), (ready, "ready")):
        for firing in firings:
            yield Pending(
                kind="firing",
                name=firing.node.name,
                status=status,  # type: ignore[arg-type]
                call_id=firing.id,
                arguments=dict(firing.tokens),
            )
