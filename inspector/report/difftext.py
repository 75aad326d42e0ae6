"""A difference as plain text: one change a line."""

from collections.abc import Iterator

from inspector.diff import Diff
from inspector.diff.values import Difference
from inspector.model.text import one_line
from inspector.model.values import preview

WIDTH = 80


def diff_report(diff: Diff) -> Iterator[str]:
    """The lines of a difference; the first is the verdict."""
    yield "the same" if diff.same else "they differ"
    yield from _listed("tool", diff.tools.added, diff.tools.removed)
    for tool in diff.tools.changed:
        for change in tool.changes:
            yield _changed(f"tool {tool.name}", change)
    yield from _listed("node", diff.graph.added_nodes, diff.graph.removed_nodes)
    for node in diff.graph.changed_nodes:
        for change in node.changes:
            yield _changed(f"node {node.id}", change)
    yield from _listed("edge", diff.graph.added_edges, diff.graph.removed_edges)
    for edge in diff.graph.changed_edges:
        for change in edge.changes:
            yield _changed(f"edge {edge.id}", change)
    if diff.graph.reordered:
        yield "~ graph: the same nodes and edges in another order"
    digests = (diff.graph.left_digest, diff.graph.right_digest)
    if None not in digests and digests[0] != digests[1]:
        yield one_line(f"~ graph digest: {digests[0]} → {digests[1]}")
    yield from _listed("hook", diff.hooks.added, diff.hooks.removed)
    if diff.hooks.reordered:
        yield "~ hooks: in another order"
    for change in diff.settings:
        yield _changed("setting", change)
    for change in diff.state:
        yield _changed("state", change)
    if diff.unknown:
        yield f"cannot be compared, as one side does not record it: {', '.join(diff.unknown)}"


def _listed(what: str, added: tuple[str, ...], removed: tuple[str, ...]) -> Iterator[str]:
    yield from (one_line(f"+ {what} {name}") for name in added)
    yield from (one_line(f"- {what} {name}") for name in removed)


def _changed(what: str, change: Difference) -> str:
    left, right = preview(change.left, WIDTH), preview(change.right, WIDTH)
    return one_line(f"~ {what} {change.path}: {left} → {right}")
