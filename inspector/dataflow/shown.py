"""The parts of a running network as the neutral state has them."""

from collections.abc import Container, Iterable, Iterator, Sequence

import msgspec

from inspector.dataflow.firing import Firing
from inspector.dataflow.plan import Link
from inspector.model.run import Pending, PendingStatus, Queue
from inspector.model.values import Value


def queue(link: Link, waiting: Iterable[Value]) -> Queue:
    """A queue with its tokens, head first."""
    tokens = tuple(waiting)
    source, _, target = link.id.partition("-->")
    return Queue(
        id=link.id, scope=link.scope, from_=source, to=target, size=len(tokens), contents="complete", tokens=tokens
    )


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
