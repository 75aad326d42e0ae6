"""The trace's steps of ifs, loops and nested workflows, told to the replay at their moment.

Such a firing has no line of its own; its trace step says behind which line it was over. An if or loop runs
only when nothing else is in flight, so it began right behind the step before it, and the sizes the trace has
then are exact.
"""

import sys
from collections.abc import Mapping, Sequence

from inspector.formats.readers.wfpy.network import Actor
from inspector.formats.readers.wfpy.queues import Queue
from inspector.formats.readers.wfpy.replay import Replay
from inspector.formats.readers.wfpy.stretches import Stretches
from inspector.formats.readers.wfpy.trace import Trace


class Schedule:
    """`firings` has, per actor without lines of its own, behind which step each firing began and was over, and
    its number; `open` where one began that never was over, `gaps` the steps between which firings of it happened
    that no step of the trace tells: inside of another's branch or body. `steps` has the trace's number of each
    firing. The trace's next step stands behind the journal's entry `due`; `told` is the replay's step at its last
    one. `final` are the counts of all firings of the top plan's actors, where a file tells them."""

    def __init__(
        self,
        trace: Trace | None,
        replay: Replay,
        places: Sequence[Queue | None],
        unfinished: Sequence[str],
        final: Mapping[str, int | None],
    ) -> None:
        self._trace, self._replay, self._places = trace, replay, places
        self._steps = trace.steps if trace is not None else []
        self._next = 0
        self._stepping = {step.actor_instance_name for step in self._steps}
        self._unfinished, self._final = unfinished, final
        self.steps: dict[tuple[str, int], int] = {}
        self.firings: dict[str, Stretches] = {}
        self.open: dict[str, int] = {}
        self.gaps: dict[str, Stretches] = {}
        for step in self._steps:
            self.steps[step.actor_instance_name, step.actor_fire_count] = step.step
        self.due = self._due()
        self.told = 0
        self._doubtful: set[str] = set()
        self._restored = {
            actor.name for actor in replay.network.root.actors.values() if replay.controls.is_pending(actor)
        }

    def reached(self, seq: int) -> None:
        """The journal's entries up to `seq` are done, and none waits."""
        while self._next < len(self._steps) and self.due <= seq:
            self._done(self._next)
            self.told = self._replay.step
            self._next += 1
            self.due = self._due()
            self._begin(seq)

    def _due(self) -> int:
        seq = self._steps[self._next].journal_seq if self._next < len(self._steps) else None
        return sys.maxsize if seq is None else seq

    def begin(self) -> None:
        """Before the first entry."""
        self._begin(0)
        self.reached(0)

    def _begin(self, seq: int) -> None:
        steps, replay = self._steps, self._replay
        if self._next < len(steps):
            step = steps[self._next]
            actor = self._actor(step.actor_instance_name)
            if actor is not None and step.actor_kind.startswith("control"):
                inside = (step.journal_seq or 0) > seq
                replay.controls.start(actor, replay.step + (1 if inside else 0))
                self.open[actor.name] = replay.step
                if replay.controls.state(actor).doubtful:
                    self._doubtful.add(actor.name)
            return
        for name in self._unfinished:
            actor = self._actor(name)
            if len(self._unfinished) > 1:
                # One is inside of the other: which began first, and when the other did, is not known.
                self.gaps.setdefault(name, Stretches()).add(self._last_end(name), sys.maxsize)
            if actor is not None and not ("cond" in actor.ins and not actor.ins["cond"][0].fresh):
                replay.controls.start(actor, replay.step + 1)
                self.open[actor.name] = replay.step

    def _done(self, index: int) -> None:
        step = self._steps[index]
        actor = self._actor(step.actor_instance_name)
        if actor is None:
            return
        if step.actor_kind.startswith("control"):
            sizes = self._sizes(index)
            self._replay.controls.finish(actor, sizes, self._replay.step)
            for inner in self._others(actor):
                self._replay.controls.settle(inner, sizes, self._replay.step)
        elif step.actor_kind == "workflow":
            fired = step.actor_fire_count - (actor.base or 0)
            self._replay.feed_up_to(actor, fired, self._replay.step)
            actor.over = max(actor.over, min(fired, len(actor.starts)))
            if actor.child is None:
                self._replay.controls.settle(actor, self._sizes(index), self._replay.step)
        else:
            return
        begun = self.open.pop(actor.name, self._replay.step)
        gap = step.actor_kind.startswith("control") and step.actor_fire_count != self._told_count(actor) + 1
        if gap:
            self.gaps.setdefault(actor.name, Stretches()).add(self._last_end(actor.name), begun)
        if actor.name in self._doubtful:
            self.gaps.setdefault(actor.name, Stretches()).add(begun, self._replay.step)
        if actor.name in self._restored and not gap:
            begun = 0
        self._restored.discard(actor.name)
        self._doubtful.discard(actor.name)
        self.firings.setdefault(actor.name, Stretches()).add(begun, self._replay.step, step.actor_fire_count)

    def _others(self, actor: Actor) -> list[Actor]:
        """The other ifs and loops: they may have fired inside of this one's branch or body, which is a step of the
        trace nowhere."""
        return [one for one in self._replay.network.root.actors.values() if one.is_control and one is not actor]

    def _told_count(self, actor: Actor) -> int:
        """How often an actor had fired by its last firing that is told."""
        firings = self.firings.get(actor.name)
        return firings.numbers[-1] if firings else actor.base or 0

    def _last_end(self, name: str) -> int:
        firings = self.firings.get(name)
        return firings.ends[-1] if firings else 0

    def final(self, actor: Actor) -> int | None:
        """How often an actor of the top plan had fired in the end, where a file tells it."""
        return self._final.get(actor.name)

    def tells(self, actor: Actor, step: int, *, certain: bool) -> bool:
        """Whether the trace tells of all firings of an if or loop up to a step; `certain` where nothing can have
        begun behind the trace's last step that is not known to have."""
        gaps = self.gaps.get(actor.name)
        if gaps is not None and gaps.holding(step) is not None:
            return False
        final = self.final(actor)
        if final is not None and final > self._told_count(actor) and step >= self._last_end(actor.name):
            return False
        if actor.name in self.open:
            return True
        known = actor.name in self._stepping or final is not None
        return known and (certain or step <= self.told)

    def _sizes(self, index: int) -> dict[str, list[int]]:
        sizes: dict[str, list[int]] = {}
        found = self._trace.sizes(index) if self._trace is not None else ()
        for size, queue in zip(found, self._places, strict=False):
            if queue is not None and not queue.scope.path:
                sizes.setdefault(queue.id, []).append(size.size)
        return sizes

    def _actor(self, name: str) -> Actor | None:
        return self._replay.network.root.actors.get(name)
