"""Ifs and loops. They have no lines in the journal: what they take and put is told by what others took, by
the trace's steps of theirs, and by checkpoints.

An if takes a condition, runs its branch, and passes the condition on. A loop takes an iterable, puts an item,
runs its body, and so on; when the items are used up it puts None on `out`. Where the iterable is known its
items are too.
"""

from typing import Protocol

from inspector.formats.readers.wfpy.checkpoint import Checkpoint, SavedActor, SavedQueue
from inspector.formats.readers.wfpy.network import Actor
from inspector.formats.readers.wfpy.queues import Queue
from inspector.formats.readers.wfpy.tokens import Store, elements

NOTHING = b"null"
BY_CONTROL = "put by an if or a loop, whose tokens are not in the journal"


class Machine(Protocol):
    """What moves tokens: the replay."""

    store: Store

    def put(self, queue: Queue, ref: int, step: int) -> None: ...
    def take(self, queue: Queue, step: int) -> int: ...


class Control:
    """How far an if or a loop is. `items` are those of the iterable in hand, None where they are not known;
    `doubtful`: whether a loop has one in hand is not known, since it fired where no record tells."""

    __slots__ = ("doubtful", "emit", "index", "initialized", "items", "pending", "put_items")

    def __init__(self) -> None:
        self.initialized = self.pending = self.doubtful = False
        self.items: list[int] | None = None
        self.index = 0
        self.emit: int | None = None
        self.put_items = 0


class Controls:
    """All ifs and loops of a run."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._store = machine, machine.store
        self._states: dict[int, Control] = {}

    def state(self, actor: Actor) -> Control:
        return self._states.setdefault(id(actor), Control())

    def is_pending(self, actor: Actor) -> bool:
        """Whether a firing of it has begun and is not over."""
        found = self._states.get(id(actor))
        return found is not None and found.pending

    def restore(self, actor: Actor, saved: Checkpoint, entry: SavedActor) -> None:
        """Begin where the checkpoint of another run has it."""
        state, control = self.state(actor), entry.control or {}
        state.items = saved.items(self._store, control)
        state.initialized = state.items is not None or control.get("initialized") is True
        index = control.get("loopIndex")
        state.index = index if isinstance(index, int) else 0
        if isinstance(entry.pending, dict):
            state.pending, state.put_items = True, 1
            emitted = SavedQueue(entry.scope, "", 0, [entry.pending.get("emit")])
            state.emit = saved.token(self._store, emitted, 0)

    def supply(self, actor: Actor, queue: Queue, count: int, step: int) -> None:
        """Put on `queue` what is missing to `count`: somebody takes it, so it was there."""
        while len(queue.fresh) < count:
            if queue.out_port == "item":
                self._item(actor, step)
            elif self._is_if(actor):
                self._begin_if(actor, step)
                self._end_if(actor, step)
            else:
                self._end_loop(actor, step)
            if len(queue.fresh) < count:
                self._machine.put(queue, self._store.unknown(BY_CONTROL), step)

    def start(self, actor: Actor, step: int) -> None:
        """A firing of it begins: it takes its condition, or its iterable when it has none in hand, and puts
        the next item, if that is known; else the item is there when somebody takes it."""
        if self._is_if(actor):
            self._begin_if(actor, step)
        elif not self.state(actor).doubtful:
            self._begin_loop(actor, step)
            state = self.state(actor)
            if state.items is not None and state.index < len(state.items) and not state.put_items:
                self._item(actor, step)

    def finish(self, actor: Actor, sizes: dict[str, list[int]], step: int) -> None:
        """The firing is over; `sizes` are those the trace has of its queues now."""
        state = self.state(actor)
        if self._is_if(actor):
            if not state.pending:
                self._begin_if(actor, step)
            self._end_if(actor, step)
        elif state.doubtful:
            ended = self._short(actor, "out", sizes)
            self.settle(actor, sizes, step)
            state.initialized, state.doubtful = not ended, False
        elif not state.put_items and self._short(actor, "item", sizes):
            self._item(actor, step)
        elif not state.put_items and (self._short(actor, "out", sizes) or "out" not in actor.outs):
            self._end_loop(actor, step)
        state.put_items = 0
        self.settle(actor, sizes, step)

    def settle(self, actor: Actor, sizes: dict[str, list[int]], step: int) -> None:
        """Take and put until the actor's queues have the sizes that the trace has."""
        moved = False
        for queue in actor.queues():
            known = sizes.get(queue.id, [])
            if queue.ordinal < len(known):
                before = len(queue.fresh)
                self._settle(actor, queue, known[queue.ordinal], step)
                moved = moved or (queue.out_port != "item" and len(queue.fresh) != before)
        if moved and not self._is_if(actor):
            state = self.state(actor)
            state.doubtful, state.items = True, None

    def _is_if(self, actor: Actor) -> bool:
        named = actor.kind if actor.kind not in (None, "control") else f"control-{actor.name}"
        return "cond" in actor.ins or (named or "").startswith("control-if")

    def _short(self, actor: Actor, port: str, sizes: dict[str, list[int]]) -> bool:
        return any(
            queue.ordinal < len(sizes.get(queue.id, [])) and sizes[queue.id][queue.ordinal] > len(queue.fresh)
            for queue in actor.outs.get(port, ())
        )

    def _settle(self, actor: Actor, queue: Queue, size: int, step: int) -> None:
        while queue.target == actor.name and len(queue.fresh) > size:
            self._machine.take(queue, step)
        while queue.source == actor.name and 0 < size - len(queue.fresh) < 10_000:
            self._machine.put(queue, self._store.unknown(BY_CONTROL), step)

    def _begin_if(self, actor: Actor, step: int) -> None:
        state = self.state(actor)
        if state.pending:
            return
        state.pending = True
        queue = next(iter(actor.ins.get("cond", ())), None)
        state.emit = self._machine.take(queue, step) if queue is not None and len(queue.fresh) else None

    def _end_if(self, actor: Actor, step: int) -> None:
        state = self.state(actor)
        ref = self._store.unknown(BY_CONTROL) if state.emit is None else state.emit
        state.pending, state.emit = False, None
        for queue in actor.outs.get("out", ()):
            self._machine.put(queue, ref, step)

    def _begin_loop(self, actor: Actor, step: int) -> None:
        state = self.state(actor)
        if state.initialized:
            return
        state.initialized, state.index = True, 0
        queue = next(iter(actor.ins.get("iter", ())), None)
        if queue is not None and len(queue.fresh):
            found = elements(self._store.text(self._machine.take(queue, step)))
            state.items = None if found is None else [self._store.of_text(item) for item in found]

    def _item(self, actor: Actor, step: int) -> None:
        state = self.state(actor)
        if not state.doubtful:
            self._begin_loop(actor, step)
        lists = next(iter(actor.ins.get("iter", ())), None)
        while state.items is not None and state.index >= len(state.items):
            # Nothing is left of this list; the next one may be empty too.
            self._end_loop(actor, step)
            more = lists is not None and len(lists.fresh) > 0
            self._begin_loop(actor, step)
            if not more:
                break
        known = state.items is not None and state.index < len(state.items)
        ref = state.items[state.index] if known and state.items else self._store.unknown(BY_CONTROL)
        state.index += 1
        state.put_items += 1
        for queue in actor.outs.get("item", ()):
            self._machine.put(queue, ref, step)

    def _end_loop(self, actor: Actor, step: int) -> None:
        state = self.state(actor)
        if state.initialized and state.items is not None and state.index < len(state.items):
            return
        static = state.items if "iter" not in actor.ins else None
        state.initialized, state.items = False, static
        for queue in actor.outs.get("out", ()):
            self._machine.put(queue, self._store.of_text(NOTHING), step)
