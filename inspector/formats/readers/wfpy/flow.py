"""How tokens move through a network: put, taken, into a nested workflow and out of it.

What nested workflows move is not journalled, but follows: a firing takes one token from the first queue of
each port and puts it inside, and what comes out goes on at once. What ifs and loops move is told by `Controls`.
"""

from collections import deque

from inspector.formats.readers.wfpy.control import Controls
from inspector.formats.readers.wfpy.journal import Entry, Text
from inspector.formats.readers.wfpy.network import Actor, Network
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.formats.readers.wfpy.tokens import ELSEWHERE, Store

KEPT = 32 << 20
"""Bytes of waiting tokens that are kept for their digests; the text of others is read again."""
MOST = 100_000
"""Tokens that one firing can have taken and nobody recorded."""


class Flow:
    """The moving of tokens. `step` counts the firings done. `unknown_inputs`: no file holds the run's inputs.
    `lost_at`: behind which step a line was lost. The network is that of the whole journal: an actor that did
    not fire there never does."""

    def __init__(self, network: Network, store: Store, *, unknown_inputs: bool = False) -> None:
        self.network, self.store = network, store
        self.unknown_inputs = unknown_inputs
        self.controls = Controls(self)
        self.step = 0
        self.waiting = 0
        """Entries that wait for their tokens."""
        self.reordered = False
        self.lost_at: int | None = None
        self._held: deque[tuple[int, Actor, Entry]] = deque()
        self._woken: list[Actor] = []
        self._kept = 0
        network.running = True

    def seed(self, queue: Queue, ref: int) -> None:
        """A token that is in the queue at the beginning."""
        queue.begin_with(ref, self.store.text(ref))

    def hand_on(self, queue: Queue) -> None:
        """What an output of a nested workflow holds at the beginning goes on with the first step, as what is put
        there later does at once."""
        owner = queue.scope.owner
        beyond = owner.outs.get(queue.in_port) if queue.leaves and owner is not None else None
        for text in list(queue.fresh) if beyond else ():
            ref = self.take(queue, 1)
            for other in beyond or ():
                self.put(other, ref, 1, text)

    def put(self, queue: Queue, ref: int, step: int, text: Text = None) -> None:
        """Put a token on a queue; a token on an output of a nested workflow goes on at once."""
        if text is None:
            text = self.store.text(ref) if ref & ELSEWHERE else None
        elif self._kept > KEPT:
            text = None
        else:
            self._kept += len(text)
        queue.refs.append(ref)
        queue.puts.append(step)
        queue.fresh.append(text)
        if self.waiting:
            self._wake_for(queue)
        if queue.leaves:
            owner = queue.scope.owner
            beyond = owner.outs.get(queue.in_port) if owner is not None else None
            if beyond:
                self.take(queue, step)
                for other in beyond:
                    self.put(other, ref, step, text)

    def take(self, queue: Queue, step: int) -> int:
        """Take the token at the head; its reference."""
        ref = queue.head()
        text = queue.fresh.popleft()
        if text is not None and not ref & ELSEWHERE:
            self._kept -= len(text)
        queue.takes.append(step)
        return ref

    def _wake_for(self, queue: Queue) -> None:
        """Somebody may wait for a token here, or inside of the composite that this is an input of."""
        if queue.waiter is not None:
            self._woken.append(queue.waiter)
            queue.waiter = None
            return
        target = queue.scope.actors.get(queue.target)
        if target is not None and (target.child is not None or target.is_control):
            self._woken += {id(actor): actor for _, actor, _ in self._held if actor.backlog}.values()

    def feed(self, composite: Actor, step: int) -> bool:
        """Begin a firing of a nested workflow: one token of each port goes inside. False when one lacks."""
        heads = [queues[0] for queues in composite.ins.values()]
        if composite.child is None or not heads or not all(self.supply(queue, 1) for queue in heads):
            return False
        for queue in heads:
            text = queue.fresh[0] if queue.fresh else None
            ref = self.take(queue, step) if queue.fresh else self.store.unknown()
            for inner in composite.child.entries.get(queue.in_port, ()):
                self.put(inner, ref, step, text)
        self._feed_unseen(composite, step)
        composite.starts.append(step)
        composite.ends.append(step)
        return True

    def _feed_unseen(self, composite: Actor, step: int) -> None:
        """Where somebody inside takes what comes in by a port, a queue leads to it that no line names."""
        entries = composite.child.entries if composite.child is not None and not self.network.complete else {}
        for port in entries.keys() - composite.ins.keys():
            for inner in entries[port]:
                self.put(inner, self.store.unknown(), step)

    def feed_up_to(self, composite: Actor, firings: int, step: int) -> None:
        """Begin firings until there are as many as are known to have begun."""
        for _ in range(min(firings - len(composite.starts), MOST)):
            if not self.feed(composite, step):
                return

    def enter(self, composite: Actor) -> bool:
        """Somebody fires inside of a nested workflow, so a firing of it has begun. False when its tokens are
        not there yet."""
        outer = composite.scope.owner
        if outer is not None and not self.enter(outer):
            return False
        if len(composite.starts) > composite.over or not composite.ins:
            return True
        return self.feed(composite, self.step + 1)

    def supply(self, queue: Queue, count: int) -> bool:
        """Whether `count` tokens can be taken, or it is known why not: what moves without a line is moved."""
        step = self.step + 1
        missing = count - len(queue.fresh)
        if missing <= 0:
            return True
        if missing > MOST:
            return False
        scope = queue.scope
        source = scope.actors.get(queue.source)
        if queue.source == BOUNDARY and scope.owner is not None:
            self._feed_to(scope.owner, queue, count, step)
        elif source is not None and source.is_control:
            self.controls.supply(source, queue, count, step)
        elif source is not None and (hidden := source.hides(queue.out_port)) | (not source.makes(queue.out_port)):
            if hidden:
                queue.blur(step)
            for _ in range(missing):
                self.put(queue, self.store.unknown(), step)
        elif self.may_begin_with_more(queue):
            for _ in range(missing):
                self.seed(queue, self.store.unknown())
        if len(queue.fresh) >= count:
            return True
        excused = queue.is_vague(step) or (self.lost_at is not None and not self.reordered)
        if excused:
            queue.blur(step)
        return excused

    def _feed_to(self, owner: Actor, queue: Queue, count: int, step: int) -> None:
        """Begin firings of a nested workflow until `queue`, one of its inputs, holds `count`."""
        unseen = queue.out_port not in owner.ins  # fed by a queue that no record names
        if unseen:
            self._blur_above(owner, step)
        while len(queue.fresh) < count:
            if self.feed(owner, step):
                continue
            if owner.ins or not unseen:
                return
            before = len(queue.fresh)
            self._feed_unseen(owner, step)
            if len(queue.fresh) == before:
                self.put(queue, self.store.unknown(), step)

    def _blur_above(self, owner: Actor, step: int) -> None:
        """How often the workflows around `owner` took tokens, to hand them in, is not known."""
        outer = owner.scope.owner
        while outer is not None:
            for queues in outer.ins.values():
                for queue in queues:
                    queue.blur(step)
            outer = outer.scope.owner

    def may_begin_with_more(self, queue: Queue) -> bool:
        """Whether the token that is missing can be one that the queue began with."""
        outermost = queue.source == BOUNDARY and queue.scope.owner is None
        return self.unknown_inputs and outermost and queue.untouched
