"""Which checkpoints of a folder follow which, and so what runs there are."""

from collections.abc import Sequence
from typing import NamedTuple

from inspector.formats.readers.agent_framework.checkpoint import Header
from inspector.model.moments import chronological
from inspector.model.run import Problem, RunLink


class Chain(NamedTuple):
    """The checkpoints of a run, oldest first; `origin` is the checkpoint of another run that it goes on from."""

    headers: list[Header]
    origin: RunLink | None = None


def chains(headers: Sequence[Header], problems: list[Problem]) -> list[Chain]:
    """The runs that checkpoints form by their predecessors, oldest first: what follows a checkpoint that was
    followed before is a run of its own. Each checkpoint is in one of them."""
    known = {header.id: header for header in headers}
    following: dict[str, list[Header]] = {}
    waiting: list[tuple[Header, RunLink | None]] = []
    for header in sorted(headers, key=lambda header: (chronological(header.timestamp), header.label)):
        if header.previous in known and header.previous != header.id:
            following.setdefault(header.previous or "", []).append(header)
            continue
        if header.previous is not None:
            message = f"its predecessor {header.previous} is not here"
            problems.append(Problem(severity="warning", where=header.label, message=message))
        waiting.append((header, None))
    found: list[Chain] = []
    while waiting or known:
        if not waiting:  # all that is left follows itself, round and round
            start = min(known.values(), key=lambda header: (chronological(header.timestamp), header.label))
            problems.append(Problem(severity="error", where=start.label, message="it follows itself in a ring"))
            waiting.append((start, None))
        first, origin = waiting.pop(0)
        chain: list[Header] = []
        at: Header | None = first
        while at is not None and known.pop(at.id, None) is not None:
            chain.append(at)
            after = following.get(at.id, [])
            waiting += [(other, RunLink(run=first.id, step=len(chain))) for other in after[1:]]
            at = after[0] if after else None
        if chain:
            found.append(Chain(chain, origin))
    found.sort(key=lambda chain: (chronological(chain.headers[0].timestamp), chain.headers[0].label))
    return _joined(found, problems)


def _joined(found: Sequence[Chain], problems: list[Problem]) -> list[Chain]:
    """The same with chains that begin with an answer put behind the chain that asks for it."""
    joined: list[Chain] = []
    for chain in found:
        first = chain.headers[0]
        asking = [other for other in joined if first.answers & other.headers[-1].asks and _alike(first, other)]
        if first.answers and len(asking) == 1:
            last = asking[0].headers[-1]
            message = f"names no predecessor; it answers what {last.id} asks, and is shown behind it"
            problems.append(Problem(severity="warning", where=first.label, message=message))
            asking[0].headers.extend(chain.headers)
        else:
            joined.append(chain)
    return joined


def _alike(header: Header, chain: Chain) -> bool:
    last = chain.headers[-1]
    return (header.workflow, header.graph) == (last.workflow, last.graph)
