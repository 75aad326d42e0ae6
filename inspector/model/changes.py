"""What a step changed: the difference between two states, and a state with it applied.

`apply(a, change(a, b)) == b` for any two states. A queue's change is how many tokens were taken from its
head and what was put at its end; whatever does not fit that is replaced as a whole.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from inspector.model.run import Actor, Hook, Message, Pending, Queue, Record, State
from inspector.model.values import Value

SHIFTS = 64

Part = TypeVar("Part")


class QueueChange(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Queue number `index` of the state before: `taken` tokens gone from its head, `put` at its end, or
    another `queue` in its place."""

    index: int
    taken: int = 0
    put: tuple[Value, ...] = ()
    queue: Queue | None = None


class Change(Record, frozen=True, kw_only=True, omit_defaults=True):
    """From one state to the next. What is UNSET did not change."""

    kept: int | None = None
    """How many messages stay; None: all."""
    messages: tuple[Message, ...] | UnsetType = UNSET
    """Appended messages; the state has some."""
    pending: tuple[Pending, ...] | UnsetType | None = UNSET
    begun: tuple[str, ...] = ()
    """Call ids of what is not pending any more."""
    owed: tuple[Pending, ...] = ()
    """What is pending now and was not."""
    queues: tuple[Queue, ...] | UnsetType | None = UNSET
    """All queues anew, where they are not the same ones."""
    moved: tuple[QueueChange, ...] = ()
    actors: tuple[Actor, ...] | UnsetType | None = UNSET
    """All actors anew."""
    acted: dict[str, Actor] = msgspec.field(default_factory=dict)
    """Actors that changed, by their number in the state before, written as text."""
    values: dict[str, Any] | UnsetType | None = UNSET
    """Values that are new or changed; None: the state no longer has any."""
    dropped: tuple[str, ...] = ()
    """Names of values that are gone."""
    hooks: tuple[Hook, ...] | UnsetType | None = UNSET
    unknown: tuple[str, ...] = ()
    """Parts that the state no longer tells; `state`: the whole state behind this step is not known."""


UNKNOWN = Change(unknown=("state",))
"""What stands for a change to a state that is not known."""


def change(before: State, after: State) -> Change:
    """What turns `before` into `after`. Costs what differs, plus a comparison of what does not."""
    found: dict[str, Any] = {}
    if after.messages is None:
        if before.messages is not None:
            found["unknown"] = ("messages",)
    else:
        old = before.messages or ()
        kept = _common(old, after.messages)
        if kept < len(old):
            found["kept"] = kept
        if kept < len(after.messages) or before.messages is None:
            found["messages"] = tuple(after.messages[kept:])
    for name in ("pending", "hooks"):
        if getattr(before, name) != getattr(after, name):
            found[name] = getattr(after, name)
    _queues(before, after, found)
    _actors(before, after, found)
    _values(before, after, found)
    return Change(**found)


def apply(state: State, change: Change, step: int) -> State:
    """`state` with a change applied, as the state after `step`. Raises ValueError when the change does not
    fit the state, or does not tell the next."""
    if "state" in change.unknown:
        raise ValueError("the state is not known")
    messages: Sequence[Message] | None = state.messages
    if "messages" in change.unknown:
        messages = None
    elif change.messages is not UNSET or change.kept is not None:
        old = tuple(state.messages or ())
        added = () if change.messages is UNSET else change.messages
        messages = (old if change.kept is None else old[: change.kept]) + added
    return State(
        step=step,
        messages=messages,
        pending=_owed(state.pending if change.pending is UNSET else change.pending, change),
        hooks=state.hooks if change.hooks is UNSET else change.hooks,
        queues=_moved(state.queues, change) if change.queues is UNSET else change.queues,
        actors=_acted(state.actors, change) if change.actors is UNSET else change.actors,
        values=_set(state.values, change),
    )


def _owed(pending: tuple[Pending, ...] | None, change: Change) -> tuple[Pending, ...] | None:
    if not change.begun and not change.owed:
        return pending
    gone = {*change.begun, *(item.call_id for item in change.owed)}
    return (*(item for item in pending or () if item.call_id not in gone), *change.owed)


def _common(old: Sequence[Message], new: Sequence[Message]) -> int:
    shared = getattr(old, "shared", None)
    if shared is not None and (length := shared(new)) is not None:
        return int(length)
    short = min(len(old), len(new))
    if isinstance(old, tuple) and isinstance(new, tuple) and old[:short] == new[:short]:
        return short
    return next((at for at in range(short) if old[at] is not new[at] and old[at] != new[at]), short)


def _aligned(old: Sequence[Part] | None, new: Sequence[Part] | None, key: Callable[[Part], object]) -> bool:
    return old is not None and new is not None and len(old) == len(new) and all(map(_same(key), old, new))


def _same(key: Callable[[Part], object]) -> Callable[[Part, Part], bool]:
    return lambda one, other: one is other or key(one) == key(other)


def _queues(before: State, after: State, found: dict[str, Any]) -> None:
    if not _aligned(before.queues, after.queues, lambda queue: (queue.scope, queue.id)):
        if before.queues != after.queues:
            found["queues"] = after.queues
        return
    pairs = zip(before.queues or (), after.queues or (), strict=True)
    moved = [_queue(index, old, new) for index, (old, new) in enumerate(pairs) if old is not new and old != new]
    if moved:
        found["moved"] = tuple(moved)


def _queue(index: int, old: Queue, new: Queue) -> QueueChange:
    if _whole(old) and _whole(new) and (old.from_, old.to) == (new.from_, new.to):
        before, after = old.tokens or (), new.tokens or ()
        if type(before) is not type(after):  # parts of one kind of sequence may be compared without being looked at
            before, after = list(before), list(after)
        least = max(len(before) - len(after), 0)
        # A step takes few tokens; trying every shift of two long queues would cost their product.
        for taken in (*range(least, min(least + SHIFTS, len(before))), len(before)):
            stay = len(before) - taken
            if before[taken:] == after[:stay]:
                return QueueChange(index=index, taken=taken, put=tuple(after[stay:]))
    return QueueChange(index=index, queue=new)


def _whole(queue: Queue) -> bool:
    return queue.contents == "complete" and queue.tokens is not None and queue.size == len(queue.tokens)


def _moved(queues: Sequence[Queue] | None, change: Change) -> tuple[Queue, ...] | None:
    if not change.moved:
        return None if queues is None else tuple(queues)
    found = list(queues or ())
    for moved in change.moved:
        if not 0 <= moved.index < len(found):
            raise ValueError(f"there is no queue number {moved.index}")
        old = found[moved.index]
        if moved.queue is not None:
            found[moved.index] = moved.queue
            continue
        tokens = tuple(chain((old.tokens or ())[moved.taken :], moved.put))
        found[moved.index] = msgspec.structs.replace(old, tokens=tokens, size=len(tokens))
    return tuple(found)


def _actors(before: State, after: State, found: dict[str, Any]) -> None:
    if not _aligned(before.actors, after.actors, lambda actor: (actor.scope, actor.id)):
        if before.actors != after.actors:
            found["actors"] = after.actors
        return
    pairs = zip(before.actors or (), after.actors or (), strict=True)
    acted = {str(index): new for index, (old, new) in enumerate(pairs) if old is not new and old != new}
    if acted:
        found["acted"] = acted


def _acted(actors: Sequence[Actor] | None, change: Change) -> tuple[Actor, ...] | None:
    if not change.acted:
        return None if actors is None else tuple(actors)
    found = list(actors or ())
    for index, actor in change.acted.items():
        if not (index.isdecimal() and int(index) < len(found)):
            raise ValueError(f"there is no actor number {index}")
        found[int(index)] = actor
    return tuple(found)


def _values(before: State, after: State, found: dict[str, Any]) -> None:
    if before.values == after.values:
        return
    if after.values is None:
        found["values"] = None
        return
    old = before.values or {}
    found["values"] = {name: value for name, value in after.values.items() if name not in old or old[name] != value}
    if gone := tuple(name for name in old if name not in after.values):
        found["dropped"] = gone


def _set(values: dict[str, Any] | None, change: Change) -> dict[str, Any] | None:
    if change.values is None:
        return None
    if change.values is UNSET and not change.dropped:
        return values
    new = {} if change.values is UNSET else change.values
    return {name: value for name, value in ((values or {}) | new).items() if name not in change.dropped}
