"""What a snapshot says of each node and edge of the graph."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from inspector.model.run import Actor, PendingStatus
from inspector.model.values import Value
from inspector.tui.line import PENDING_SIGNS, Opens
from inspector.tui.panes.moves import QueueRow, queue_rows
from inspector.tui.panes.nesting import BOUNDARY, Link, Nesting, short
from inspector.tui.panes.parts import shallow
from inspector.tui.panes.signs import PENDING
from inspector.tui.session import StateSnapshot

URGENT: tuple[PendingStatus, ...] = ("ambiguous", "waiting", "in_flight", "denied", "approved", "answered", "ready")
"""Which status a network shows of those inside it: the first."""


DEEPEST = 100
"""Networks inside each other that a name is followed through."""


class GraphFold(NamedTuple):
    """The networks that open and close at a row."""

    paths: tuple[str, ...]


class Mark(NamedTuple):
    """A sign before a node's name, and the meaning of its colour."""

    sign: str = " "
    style: str = ""


class Facts:
    """Looked up by node path and by edge number."""

    def __init__(self, snapshot: StateSnapshot, net: Nesting) -> None:
        step, state = snapshot.step_record, snapshot.state
        self._net, self._snapshot = net, snapshot
        self._failed = step is not None and step.status == "failed"
        self._here = {path for name in _names(step.name if step else "", net) for path in _upwards(name)}
        self._pending: dict[str, PendingStatus] = {}
        for entry in (state.pending if state else None) or ():
            for name in _names(entry.name, net):
                for path in _upwards(name):
                    self._pending[path] = min(self._pending.get(path, entry.status), entry.status, key=URGENT.index)

    @cached_property
    def actors(self) -> Mapping[str, Actor]:
        """The actor of a node."""
        state = self._snapshot.state
        return {"/".join((*actor.scope, actor.id)): actor for actor in (state.actors if state else None) or ()}

    @cached_property
    def queues(self) -> Mapping[int, QueueRow]:
        """The queue on an edge."""
        return dict(_matched(self._net, self._rows))

    @cached_property
    def waiting(self) -> Mapping[str, QueueRow]:
        """The queue that leads to a node on no edge that is known."""
        return dict(_waiting(self._net, self._rows))

    @cached_property
    def _rows(self) -> list[QueueRow]:
        snapshot = self._snapshot
        if snapshot.state is None:
            return []
        return queue_rows(snapshot.state, snapshot.before, snapshot.step_record)

    def marks(self) -> list[Mark]:
        """All marks that there are, each once."""
        found = [self.mark(path) for path in (*self._here, *self._pending)]
        return list(dict.fromkeys(found))

    def mark(self, path: str) -> Mark:
        """The step was here, or something is pending here."""
        if path in self._here:
            return Mark("✗", "failed") if self._failed else Mark("●", "running")
        if path in self._pending:
            status = self._pending[path]
            return Mark(PENDING[status], PENDING_SIGNS[status].style)
        return Mark()

    def opens(self, path: str) -> Opens:
        """All that is known of a node."""
        if path.startswith(BOUNDARY):
            return Opens(short(path), short(path))
        node, actor = self._net.nodes.get(path), self.actors.get(path)
        found: dict[str, Value] = shallow(node) if node else {"id": path}
        if path in self._pending:
            found["pending"] = self._pending[path]
        if actor:
            known = shallow(actor)
            found |= {name: value for name, value in known.items() if name not in ("id", "scope")}
        if path in self.waiting:
            found["queue"] = _contents(self.waiting[path])
        found["in"] = [self._edge(link) for link in self._net.entering.get(path, ())]
        found["out"] = [self._edge(link) for link in self._net.leaving.get(path, ())]
        return Opens(path, found)

    def opens_edge(self, link: Link) -> Opens:
        """All that is known of an edge."""
        return Opens(link.edge.id, self._edge(link))

    def _edge(self, link: Link) -> dict[str, Value]:
        found = shallow(link.edge)
        if link.number in self.queues:
            found |= _contents(self.queues[link.number])
        return found


def _contents(row: QueueRow) -> dict[str, Value]:
    return {"size": row.queue.size, "contents": row.queue.contents, "tokens": row.queue.tokens}


def size_text(row: QueueRow) -> str:
    """A queue's size in at most five cells, and whether the step took or put something."""
    size, moved = row.queue.size, row.moved
    taken = len(moved.taken) + moved.unseen
    sign = "*" if taken and moved.put else "-" if taken else "+" if moved.put else ""
    if size is None:
        return "?" + sign
    if size >= 10_000_000:
        return f"{size // 1_000_000}M{sign}"
    return (f"{size // 1000}k" if size >= 10_000 else f"{size}") + sign


def size_style(row: QueueRow | None) -> str:
    """The meaning of an edge's colour."""
    if row is None:
        return "dim"
    if row.moved.put:
        return "added"
    if row.moved.taken or row.moved.unseen:
        return "removed"
    return "accent" if row.queue.size else "dim"


def _names(name: str, net: Nesting) -> list[str]:
    """The nodes that a step or pending entry names: one, or several joined by commas."""
    if name in net.nodes:
        return [name]
    return [part for part in name.split(", ") if part in net.nodes] or _ending(name, net)


def _ending(name: str, net: Nesting) -> list[str]:
    """The node above a name that goes deeper than the graph is known."""
    return next(([path] for path in _upwards(name) if path in net.nodes), [])


def _upwards(path: str) -> list[str]:
    """A path and those above it, innermost first."""
    parts = path.split("/", DEEPEST)[:DEEPEST] if path else []
    return ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]


def _matched(net: Nesting, rows: list[QueueRow]) -> Iterator[tuple[int, QueueRow]]:
    """Edges and the queues on them: of one id in one network, the first to the first."""
    by_name = {("/".join((*row.queue.scope, row.queue.id)), row.number): row for row in rows if not row.gone}
    if not by_name:
        return
    seen: dict[str, int] = {}
    done: set[int] = set()
    for scope, links in net.links.items():
        for link in links:
            if link.number in done:
                continue
            done.add(link.number)
            for name in (link.edge.id, f"{scope}/{link.edge.id}"):
                number = seen.get(name, 0)
                if (name, number) in by_name:
                    seen[name] = number + 1
                    yield link.number, by_name[name, number]
                    break


def _waiting(net: Nesting, rows: list[QueueRow]) -> Iterator[tuple[str, QueueRow]]:
    """Nodes that no edge leads to, and the queue that does."""
    for row in rows:
        path = "/".join((*row.queue.scope, row.queue.to or ""))
        if path in net.nodes and path not in net.entering and not row.gone:
            yield path, row
