"""What the code of a run is, written down when it begins, and held against the code that goes on with it.

Credentials are masked at the places that the agent names, and wherever their own shape gives them away, before the
digest is made: they are no part of what the code is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from inspector.diff import Side, compare
from inspector.errors import UsageError
from inspector.model import redact
from inspector.model.digest import digest
from inspector.model.run import Definition
from inspector.model.values import Value
from inspector.runner.options import items

_POINTER = re.compile(r"(/([^/~]|~[01])*)+", re.DOTALL)
_INDEX = re.compile("0|[1-9][0-9]{0,8}")
NAMED = 12
"""Differences that are named; more are counted."""


def frozen(definition: Definition, settings: Mapping[str, Value], credentials: Sequence[str]) -> Definition:
    """A definition with its settings, without credentials. `credentials` are JSON pointers into the settings
    (`/params/extra_headers/Authorization`, `/params/servers/0/key`), as `pointers` took them."""
    kept: Any = redact.redacted(dict(settings))
    for pointer in credentials:
        _mask(kept, [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]])
    parts = {
        "tools": [tool.digest for tool in definition.tools or ()],
        "hooks": [[hook.event, hook.name] for hook in definition.hooks or ()],
        "model": definition.model,
        "settings": kept,
    }
    return msgspec.structs.replace(definition, settings=kept, digest=digest(parts))


def pointers(given: Iterable[str]) -> tuple[str, ...]:
    """The JSON pointers (RFC 6901) to credentials. Raises UsageError for one that points to no place: nothing would be
    masked by it."""
    found = (given,) if isinstance(given, str) else tuple(items("credentials", given))
    for pointer in found:
        if not _POINTER.fullmatch(pointer):
            raise UsageError("credentials", f"{pointer!r} is no JSON pointer like /params/headers/Authorization")
    return found


def _mask(value: Any, path: Sequence[str]) -> None:
    for part in path[:-1]:
        value = value[at] if (at := _place(value, part)) is not None else None
    if (at := _place(value, path[-1])) is not None:
        value[at] = redact.mark("credential")


def _place(value: Any, part: str) -> str | int | None:
    """What a part of a pointer is the key or index of; None where there is no such."""
    if isinstance(value, dict):
        return part if part in value else None
    if isinstance(value, list) and _INDEX.fullmatch(part) and int(part) < len(value):
        return int(part)
    return None


def mismatch(recorded: Definition | None, today: Definition) -> str | None:
    """How the code of today differs from what a run was made with, by name; None where it does not."""
    if recorded is None or recorded.digest is None or recorded.digest == today.digest:
        return None
    named = list(_named(recorded, today)) or [f"its digest is {today.digest}, and was {recorded.digest}"]
    more = f", and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return ", ".join(named[:NAMED]) + more


def _named(recorded: Definition, today: Definition) -> Iterator[str]:
    diff = compare(Side(definition=recorded), Side(definition=today))
    for tool in diff.tools.changed:
        yield f"tool {tool.name} changed ({', '.join(change.path for change in tool.changes)})"
    graph = diff.graph
    yield from (f"node {node.id} changed ({', '.join(c.path for c in node.changes)})" for node in graph.changed_nodes)
    for what, added, removed in (
        ("tool", diff.tools.added, diff.tools.removed),
        ("hook", diff.hooks.added, diff.hooks.removed),
        ("node", graph.added_nodes, graph.removed_nodes),
        ("edge", graph.added_edges, graph.removed_edges),
    ):
        yield from (f"{what} {name} is new" for name in added)
        yield from (f"{what} {name} is gone" for name in removed)
    if diff.hooks.reordered:
        yield "the hooks run in another order"
    if [tool.name for tool in recorded.tools or ()] != [tool.name for tool in today.tools or ()] and not diff.tools:
        yield "the tools stand in another order"
    if recorded.model != today.model:
        yield f"the model is {today.model}, and was {recorded.model}"
    yield from (f"settings.{change.path} changed" for change in diff.settings)
