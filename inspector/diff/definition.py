"""How two definitions differ: tools by name, the graph by node and edge, hooks by event and order."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from inspector.diff.values import Difference, differences
from inspector.model.run import Definition, Edge, Graph, Hook, Node, Record, Tool


class ToolChange(Record, frozen=True, kw_only=True):
    """A tool that both sides have, and where it differs."""

    name: str
    changes: tuple[Difference, ...]


class ToolDiff(Record, frozen=True, kw_only=True):
    """Tools by name. A side that knows only the tools that were called misses none: nothing is `added` or
    `removed` then."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[ToolChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


class NodeChange(Record, frozen=True, kw_only=True):
    """A node that both sides have, and where it differs."""

    id: str
    changes: tuple[Difference, ...]


class EdgeChange(Record, frozen=True, kw_only=True):
    """An edge that both sides have, and where it differs."""

    id: str
    changes: tuple[Difference, ...]


class GraphDiff(Record, frozen=True, kw_only=True):
    """Nodes and edges by id. `reordered`: those of both in another order. The digests are those that the
    sides carry, None where one has none."""

    added_nodes: tuple[str, ...] = ()
    removed_nodes: tuple[str, ...] = ()
    changed_nodes: tuple[NodeChange, ...] = ()
    added_edges: tuple[str, ...] = ()
    removed_edges: tuple[str, ...] = ()
    changed_edges: tuple[EdgeChange, ...] = ()
    reordered: bool = False
    left_digest: str | None = None
    right_digest: str | None = None

    def __bool__(self) -> bool:
        nodes = (self.added_nodes, self.removed_nodes, self.changed_nodes)
        edges = (self.added_edges, self.removed_edges, self.changed_edges)
        digests = (self.left_digest, self.right_digest)
        return any((*nodes, *edges)) or self.reordered or (None not in digests and digests[0] != digests[1])


class HookDiff(Record, frozen=True, kw_only=True):
    """Hooks as `event: name`. `reordered`: those of an event run in another order."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.reordered)


def tools(left: Definition, right: Definition) -> tuple[ToolDiff, bool]:
    """The difference of two registries, and whether both are whole, so that it says all."""
    whole = all(side.tools is not None and side.tools_known in ("registry", "advertised") for side in (left, right))
    old = {tool.name: tool for tool in left.tools or ()}
    new = {tool.name: tool for tool in right.tools or ()}
    changed = [
        ToolChange(name=name, changes=changes)
        for name in old
        if name in new and (changes := tuple(_tool(old[name], new[name])))
    ]
    return ToolDiff(
        added=tuple(name for name in new if name not in old) if whole else (),
        removed=tuple(name for name in old if name not in new) if whole else (),
        changed=tuple(changed),
    ), whole


def _tool(old: Tool, new: Tool) -> Iterable[Difference]:
    for field in ("description", "schema", "idempotency", "needs_approval"):
        one, other = getattr(old, field), getattr(new, field)
        if one is not None and other is not None:
            yield from differences(one, other, field)


def graph(left: Definition, right: Definition) -> tuple[GraphDiff, bool]:
    """The difference of two graphs, and whether both are known."""
    one, other = left.graph or Graph(), right.graph or Graph()
    known = left.graph is not None and right.graph is not None
    nodes = one.nodes is not None and other.nodes is not None and one.complete and other.complete
    edges = one.edges is not None and other.edges is not None and one.complete and other.complete
    old_nodes, new_nodes = (one.nodes or (), other.nodes or ()) if nodes else ((), ())
    old_edges, new_edges = (one.edges or (), other.edges or ()) if edges else ((), ())
    return GraphDiff(
        added_nodes=_missing(new_nodes, old_nodes),
        removed_nodes=_missing(old_nodes, new_nodes),
        changed_nodes=tuple(_nodes(old_nodes, new_nodes)),
        added_edges=_missing(new_edges, old_edges),
        removed_edges=_missing(old_edges, new_edges),
        changed_edges=tuple(_edges(old_edges, new_edges)),
        reordered=_reordered(old_nodes, new_nodes) or _reordered(old_edges, new_edges),
        left_digest=one.digest,
        right_digest=other.digest,
    ), known and (nodes or None not in (one.digest, other.digest))


def _ids(items: Sequence[Node] | Sequence[Edge]) -> list[str]:
    """Ids, where an id that stands more than once is numbered, so that each edge keeps an identity."""
    seen: dict[str, int] = {}
    found = []
    for item in items:
        seen[item.id] = seen.get(item.id, 0) + 1
        found.append(item.id if seen[item.id] == 1 else f"{item.id} #{seen[item.id]}")
    return found


def _missing(here: Sequence[Node] | Sequence[Edge], there: Sequence[Node] | Sequence[Edge]) -> tuple[str, ...]:
    known = set(_ids(there))
    return tuple(name for name in _ids(here) if name not in known)


def _reordered(old: Sequence[Node] | Sequence[Edge], new: Sequence[Node] | Sequence[Edge]) -> bool:
    before, after = _ids(old), _ids(new)
    common = {*before} & {*after}
    return [name for name in before if name in common] != [name for name in after if name in common]


def _nodes(old: Sequence[Node], new: Sequence[Node]) -> Iterable[NodeChange]:
    later = {node.id: node for node in new}
    for node in old:
        other = later.get(node.id)
        if other is None:
            continue
        changes = tuple(_node(node, other))
        if changes:
            yield NodeChange(id=node.id, changes=changes)


def _node(old: Node, new: Node) -> Iterable[Difference]:
    fields = (("kind", old.kind, new.kind), ("class", old.class_, new.class_), ("body", old.body, new.body))
    for name, mine, yours in (*fields, ("idempotency", old.idempotency, new.idempotency)):
        if None not in (mine, yours) and mine != yours:
            yield Difference(path=name, left=mine, right=yours)
    if old.parameters is not None and new.parameters is not None:
        yield from differences(old.parameters, new.parameters, "parameters")
    if UNSET not in (old.state, new.state):
        yield from differences(old.state, new.state, "state")
    if UNSET not in (old.timeout, new.timeout) and old.timeout != new.timeout:
        yield Difference(path="timeout", left=old.timeout, right=new.timeout)


def _edges(old: Sequence[Edge], new: Sequence[Edge]) -> Iterable[EdgeChange]:
    later = {edge.id: edge for edge in new}
    for edge in old:
        other = later.get(edge.id)
        if other is None or UNSET in (edge.capacity, other.capacity) or edge.capacity == other.capacity:
            continue
        change = Difference(path="capacity", left=edge.capacity, right=other.capacity)
        yield EdgeChange(id=edge.id, changes=(change,))


def hooks(left: Sequence[Hook] | None, right: Sequence[Hook] | None) -> tuple[HookDiff, bool]:
    """The difference of two lists of hooks, and whether both are known."""
    if left is None or right is None:
        return HookDiff(), False
    old, new = [*map(_hook, left)], [*map(_hook, right)]
    common = [name for name in old if name in new]
    return HookDiff(
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        reordered=common != [name for name in new if name in old],
    ), True


def _hook(hook: Hook) -> str:
    return f"{hook.event}: {hook.name}" if hook.event else hook.name


def settings(left: Definition, right: Definition) -> tuple[Difference, ...]:
    """The difference of two sets of settings; none where one is not known."""
    if left.settings is UNSET or right.settings is UNSET:
        return ()
    return tuple(differences(left.settings, right.settings, ""))
