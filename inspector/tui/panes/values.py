"""Values: shared values and what each actor keeps, as trees that fold, with what the step changed marked."""

from collections import Counter
from collections.abc import Hashable, Mapping, Set
from typing import Any

from inspector.model.run import Actor, State
from inspector.model.values import Value
from inspector.tui.line import plain
from inspector.tui.panes.branch import MISSING, Path
from inspector.tui.panes.cells import counted
from inspector.tui.panes.parts import Fixed, Part, Stack, note
from inspector.tui.panes.tree import Tree
from inspector.tui.session import StateSnapshot


def title(snapshot: StateSnapshot) -> str | None:
    """No count in the tab; None where the file does not tell."""
    state = snapshot.state
    return None if state is None or (state.values is None and state.actors is None) else ""


def lines(snapshot: StateSnapshot, width: int, toggled: Set[Hashable] = frozenset()) -> Stack:
    """The pane's lines."""
    state = snapshot.state
    if state is None or (state.values is None and state.actors is None):
        return note("this file does not record values or actors")
    before = snapshot.before
    parts: list[Part] = []
    if state.values is not None:
        parts.append(Fixed([plain(counted(len(state.values), "value"), "heading")]))
        old = MISSING if before is None or before.values is None else before.values
        parts.append(
            Tree("values", state.values, toggled, before=old, width=width, place=lambda path: f"values.{path[0]}")
        )
    if state.actors is not None:
        parts.append(Fixed([plain(counted(len(state.actors), "actor"), "heading")]))
        now = actors(state)
        was = MISSING if before is None or before.actors is None else _told(actors(before), now)
        parts.append(Tree("actors", now, toggled, before=was, width=width, place=_field))
    return Stack(parts)


def _field(path: Path) -> str | None:
    """The field of an actor's state that a path leads to or into."""
    return f"actors.{path[0]}.state.{path[2]}" if len(path) > 2 and path[1] == "state" else None


def actors(state: State) -> dict[str, dict[str, Any]]:
    """What is known of each actor, by its path; a number tells actors of one path apart."""
    found: dict[str, dict[str, Any]] = {}
    seen: Counter[str] = Counter()
    for actor in state.actors or ():
        path = "/".join((*actor.scope, actor.id))
        seen[path] += 1
        found[path if seen[path] == 1 else f"{path} #{seen[path]}"] = _actor(actor)
    return found


def _told(was: Mapping[str, dict[str, Any]], now: Mapping[str, dict[str, Any]]) -> dict[str, Value]:
    """The actors of the step before, less what is unknown at one of the two steps: that is no change."""
    told: dict[str, Value] = {}
    for path, actor in was.items():
        beside = now.get(path, actor)
        unsure = [name for name in ("fired", "state") if (name in actor) != (name in beside)]
        known = {name: value for name, value in actor.items() if name not in unsure}
        told[path] = known | {name: beside[name] for name in unsure if name in beside}
    return told


def _actor(actor: Actor) -> dict[str, Any]:
    known = {"fired": actor.fire_count, "unfinished": actor.unfinished, "state": actor.state}
    return {name: value for name, value in known.items() if value is not None}
