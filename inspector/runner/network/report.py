"""Why a network came to rest: what is left in its queues, and what each node that holds some waits for."""

from collections.abc import Iterator

import msgspec

from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Link, Node
from inspector.model.run import RunError


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that nobody took: how many in which queue, and why, in words. `kind`: `starved` (another input port
    has none), `refused` (no guard accepts what stands in front), `deadlock` (it would fire, but for
    an output queue that is full)."""

    queue: str
    count: int
    node: str
    kind: str
    why: str


DEADLOCK = "deadlock"
"""Why a run that is at rest, and not at its end, has failed."""


def standstill(run: NetworkRun) -> RunError | None:
    """That a run which is at rest has not come to its end: a node would fire, also a source of which nobody knows
    whether it has more, but for a queue that is as full as it may be, and nobody takes from there."""
    for number, node in enumerate(run.plan.nodes):
        if run.firing(number, full=True) is not None:
            message = f"{_full(run, node)} is full, and nothing takes from there: {node.name} waits"
            return RunError(type="Deadlock", message=message, where=node.path)
    return None


def leftovers(run: NetworkRun) -> list[Leftover]:
    """The leftover tokens of a run that is at rest, queue by queue; those of its outputs are its results."""
    return list(_leftovers(run))


def _leftovers(run: NetworkRun) -> Iterator[Leftover]:
    sizes = run.queues.sizes
    for link, size in zip(run.plan.links, sizes, strict=True):
        if not size or link.target is None:
            continue
        node = run.plan.nodes[link.target]
        kind, why = _why(run, link.target, sizes)
        yield Leftover(queue=_name(link), count=size, node=node.name, kind=kind, why=why)


def _why(run: NetworkRun, number: int, sizes: list[int]) -> tuple[str, str]:
    node = run.plan.nodes[number]
    if run.firing(number, full=True) is not None:
        return DEADLOCK, f"{_full(run, node)} is full"
    empty = [port for port, queues in node.reads.items() if not any(sizes[queue] for queue in queues)]
    if empty:
        return "starved", f"no token at the input port {', '.join(empty)}"
    return "refused", "no action accepts the tokens in front"


def _name(link: Link) -> str:
    return "/".join((*link.scope, link.id))


def _full(run: NetworkRun, node: Node) -> str:
    """The full queues behind a node, by name."""
    links = [(run.plan.links[number], run.queues.sizes[number]) for to in node.writes.values() for number in to]
    return ", ".join(_name(link) for link, size in links if link.capacity is not None and size >= link.capacity)
