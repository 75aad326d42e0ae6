"""The run again, from its journal: every queue at every firing, in causal order.

An entry is done when the tokens it took are there; one that stands before the entries that made them (two
workers, one journal) waits for them, and its actor's later entries wait behind it. What nested workflows
move is not journalled, but follows: a firing takes one token from the first queue of each port and puts it
inside, and what comes out goes on at once. A digest of what a firing took checks each step of this.
"""

from array import array
from collections import deque
from collections.abc import Sequence
from typing import Literal

import msgspec

from inspector.formats.readers.wfpy.control import Controls
from inspector.formats.readers.wfpy.journal import Entry, Journal, Text
from inspector.formats.readers.wfpy.network import BOUNDARY, Actor, Network, Queue
from inspector.formats.readers.wfpy.tokens import ELSEWHERE, Store, matches
from inspector.model.run import Problem
from inspector.model.text import clean

WINDOW = 1000
"""Entries that wait at most for their tokens; the oldest is then done without them."""
AHEAD = 64
"""Tokens that are looked at for the one a firing took, where records are missing."""
KEPT = 32 << 20
"""Bytes of waiting tokens that are kept for their digests; the text of others is read again."""
_FILES = (b'"', b'{"$wfType": "path"', b'{"$wfType": "file"', b'{"$wfType": "resource"')
Wanted = list[tuple[Queue, int, str]]
Start = Literal["none", "inputs", "all"]


class Replay:
    """The machine. `step` counts the firings done; `lines` has the journal line of each. `unknown_start`:
    which queues may have begun with tokens that no file holds. The network is that of the whole journal: an
    actor that did not fire there never does. `stopped_at` is the first firing that cannot be replayed."""

    def __init__(self, network: Network, store: Store, journal: Journal, *, unknown_start: Start = "none") -> None:
        self.network, self.store, self.journal = network, store, journal
        self.unknown_start = unknown_start
        self.stopped_at: int | None = None
        self.controls = Controls(self)
        self.problems: list[Problem] = journal.problems
        self.step = 0
        self.lines = array("I")
        self.waiting = 0
        self.reordered = False
        self.contexts = array("I")
        self.read = 0
        self.unsettled = array("I")
        """After how many entries some waited for their tokens."""
        self._held: deque[tuple[int, Actor]] = deque()
        self._woken: list[Actor] = []
        self._kept = 0
        self.lost_at: int | None = None
        network.running = True

    def lost(self) -> None:
        """A line here is damaged or missing: what its firing did is not known."""
        if self.lost_at is None:
            self.lost_at = self.step

    def take_in(self, number: int, entry: Entry) -> None:
        """The next entry of the journal. Raises TooLarge."""
        actor = self.network.at(entry.actor)
        if actor.backlog or not self._try(actor, number, entry):
            actor.backlog.append((number, entry))
            self._held.append((number, actor))
            self.waiting += 1
            self.reordered = True
            if self.waiting > WINDOW:
                self._force()
        self._wake()
        self.read += 1
        if self.waiting:
            self.unsettled.append(self.read)

    def flush(self) -> bool:
        """Nothing follows: do what still waits, with what is there. Whether anything did."""
        waited = self.waiting > 0
        while self.waiting:
            self._force()
            self._wake()
        return waited

    def seed(self, queue: Queue, ref: int) -> None:
        """A token that is in the queue at the beginning."""
        queue.begin_with(ref, self.store.text(ref))

    def put(self, queue: Queue, ref: int, step: int, text: Text = None) -> None:
        """Put a token on a queue; a token on an output of a nested workflow goes on at once."""
        if text is None and ref & ELSEWHERE:
            text = self.store.text(ref)
        while True:
            queue.refs.append(ref)
            queue.puts.append(step)
            self._keep(queue, text)
            if queue.waiter is not None:
                self._woken.append(queue.waiter)
                queue.waiter = None
            elif self.waiting:
                self._wake_inside(queue)
            targets = self._beyond(queue)
            if not targets:
                return
            self.take(queue, step)
            for other in targets[1:]:
                self.put(other, ref, step, text)
            queue = targets[0]

    def _wake_inside(self, queue: Queue) -> None:
        """A token for a composite may be what somebody inside of it waits for."""
        target = queue.scope.actors.get(queue.target)
        if target is not None and (target.child is not None or target.is_control):
            self._woken += {id(actor): actor for _, actor in self._held if actor.backlog}.values()

    def _beyond(self, queue: Queue) -> Sequence[Queue]:
        """The queues outside of a nested workflow that go on from one of its outputs."""
        owner = queue.scope.owner
        if owner is None or queue.target != BOUNDARY:
            return ()
        return owner.outs.get(queue.in_port, ())

    def _keep(self, queue: Queue, text: Text) -> None:
        if text is not None and self._kept + len(text) > KEPT:
            text = None
        self._kept += len(text or b"")
        queue.fresh.append(text)

    def take(self, queue: Queue, step: int) -> int:
        """Take the token at the head; its reference."""
        ref = queue.head()
        text = queue.fresh.popleft()
        self._kept -= len(text or b"")
        queue.takes.append(step)
        return ref

    def feed(self, composite: Actor, step: int) -> bool:
        """Begin a firing of a nested workflow: one token of each port goes inside. False when one lacks."""
        heads = [queues[0] for queues in composite.ins.values() if queues]
        if composite.child is None or not heads:
            return False
        if not all(self._supply(queue, 1) for queue in heads):
            return False
        for queue in heads:
            text = queue.fresh[0] if queue.fresh else None
            ref = self.take(queue, step) if queue.available else self.store.unknown()
            for inner in composite.child.entries.get(queue.in_port, ()):
                self.put(inner, ref, step, text)
        composite.starts.append(step)
        composite.ends.append(step)
        return True

    def _try(self, actor: Actor, number: int, entry: Entry) -> bool:
        wanted: Wanted = []
        seen: dict[str, int] = {}
        for queue_id, count, digest in entry.consumed or ():
            occurrence = seen.get(queue_id, 0)
            seen[queue_id] = occurrence + 1
            queue = actor.queue(queue_id, occurrence)
            if queue.available < count and not self._supply(queue, count):
                queue.waiter = actor
                return False
            wanted.append((queue, count, digest))
        self._do(actor, number, entry, wanted)
        return True

    def _supply(self, queue: Queue, count: int) -> bool:
        """Whether `count` tokens can be taken, or it is known why not: what moves without a line is moved."""
        step = self.step + 1
        if queue.available >= count:
            return True
        scope = queue.scope
        missing = count - queue.available
        if missing > 100_000:
            return False
        if queue.source == BOUNDARY and scope.owner is not None:
            self._feed_to(scope.owner, queue, count, step)
        elif queue.source in scope.actors:
            source = scope.actors[queue.source]
            if source.is_control:
                self.controls.supply(source, queue, count, step)
            elif source.child is None and (source.kind == "workflow" or not source.fired):
                self._put_unknown(queue, missing, step)
        if queue.available < count and self.may_begin_with_more(queue):
            for _ in range(count - queue.available):
                self.seed(queue, self.store.unknown())
        if queue.available < count and (queue.is_vague(step) or (self.lost_at is not None and not self.reordered)):
            queue.blur(step)
            return True
        return queue.available >= count

    def _feed_to(self, owner: Actor, queue: Queue, count: int, step: int) -> None:
        """Begin firings of a nested workflow until `queue`, one of its inputs, holds `count`."""
        unseen = queue.out_port not in owner.ins  # fed by a queue that no record names
        while queue.available < count:
            if not self.feed(owner, step) and (owner.ins or not unseen):
                return
            if unseen:
                self.put(queue, self.store.unknown(), step)

    def may_begin_with_more(self, queue: Queue) -> bool:
        """Whether the token that is missing can be one that the queue began with."""
        if self.unknown_start == "none" or not queue.untouched:
            return False
        return self.unknown_start == "all" or (queue.source == BOUNDARY and queue.scope.owner is None)

    def _put_unknown(self, queue: Queue, count: int, step: int) -> None:
        for _ in range(count):
            self.put(queue, self.store.unknown(), step)

    def _do(self, actor: Actor, number: int, entry: Entry, wanted: Wanted) -> None:
        self.step += 1
        step = self.step
        self.lines.append(number)
        self._count(actor, entry, step)
        actor.firings.append(step)
        for queue, count, digest in wanted:
            self._consume(actor, queue, count, digest)
        if entry.not_replayable is not None:
            self.stopped_at = self.stopped_at or step
            for queue in actor.queues():
                queue.blur(step)
        if entry.produced:
            self._produce(actor, number, entry)
        if entry.context is not msgspec.UNSET:
            self.contexts.append(step)
        outer = actor.scope.owner
        while outer is not None:
            if outer.ends:
                outer.ends[-1] = step
            outer = outer.scope.owner

    def _count(self, actor: Actor, entry: Entry, step: int) -> None:
        """Firings of an actor are numbered: a gap is a lost line, and nobody knows what it moved."""
        if not actor.firings and actor.base is None:
            actor.base = entry.fire_count - 1
        if entry.fire_count > (actor.base or 0) + len(actor.firings) + 1:
            self.lost()
            for queue in actor.queues():
                queue.blur(min(self.lost_at or 0, step))
            actor.base = entry.fire_count - 1 - len(actor.firings)

    def _produce(self, actor: Actor, number: int, entry: Entry) -> None:
        ref = number << 32
        seen: dict[str, int] = {}
        for queue_id, tokens in entry.tokens():
            occurrence = seen.get(queue_id, 0)
            seen[queue_id] = occurrence + 1
            queue = actor.queue(queue_id, occurrence)
            for token in tokens:
                self.put(queue, ref, self.step, token)
                ref += 1

    def _consume(self, actor: Actor, queue: Queue, count: int, digest: str) -> None:
        if queue.available >= count:
            if self._same(queue, 0, count, digest) is False:
                count = self._differ(actor, queue, count, digest)
        else:
            count = queue.available
        for _ in range(count):
            self.take(queue, self.step)

    def _same(self, queue: Queue, begin: int, count: int, digest: str) -> bool | None:
        texts: list[Text] = []
        for at in range(begin, begin + count):
            text = queue.fresh[at]
            texts.append(self.store.text(queue.head(at)) if text is None else text)
        return matches(texts, digest)

    def _differ(self, actor: Actor, queue: Queue, count: int, digest: str) -> int:
        """The head of the queue is not what the digest says was taken. Returns how many to take."""
        if self.may_begin_with_more(queue) and len(queue.takes) == len(queue.initial):
            for _ in range(count):
                self.seed(queue, self.store.unknown())
            return count
        if queue.is_vague(self.step) or self.lost_at is not None:
            queue.blur(self.step)
            ahead = range(1, min(AHEAD, queue.available - count + 1))
            found = next((at for at in ahead if self._same(queue, at, count, digest)), None)
            return 0 if found is None else found + count
        source = queue.scope.actors.get(queue.source)
        if source is not None and source.child is not None and self.names_file(queue.fresh[0]):
            # A file on its way out of a nested workflow is copied, and its token names the copy.
            for at in range(count):
                queue.replace(len(queue.takes) + at, self.store.unknown("a nested workflow copied the file"))
            return count
        shown = "/".join(actor.path)
        where = str(self.journal.place(self.lines[-1]))
        self._note(where, f"{shown} took a token of {queue.id} that is not the one put there: its digest differs")
        return count

    def names_file(self, text: Text) -> bool:
        """Whether a token may be the path of a file, which a nested workflow copies on its way out."""
        return text is not None and text.startswith(_FILES)

    def _force(self) -> None:
        """Do the entry that waits longest with what is there."""
        while self._held:
            number, actor = self._held.popleft()
            if not actor.backlog or actor.backlog[0][0] != number:
                continue
            entry = actor.backlog.popleft()[1]
            self.waiting -= 1
            wanted: Wanted = []
            seen: dict[str, int] = {}
            for queue_id, count, digest in entry.consumed or ():
                seen[queue_id] = seen.get(queue_id, 0) + 1
                queue = actor.queue(queue_id, seen[queue_id] - 1)
                queue.waiter = None
                if queue.available < count:
                    where = str(self.journal.place(number))
                    shown = f"{'/'.join(actor.path)} took {count} of {queue.id}"
                    self._note(where, f"{shown}, and no line before or behind puts that many there")
                    queue.blur(self.step + 1)
                wanted.append((queue, count, digest))
            self._do(actor, number, entry, wanted)
            self._woken.append(actor)
            return

    def _wake(self) -> None:
        """Do what waited for tokens that are there now."""
        while self._woken:
            actor = self._woken.pop(0)
            while actor.backlog and self._try(actor, *actor.backlog[0]):
                actor.backlog.popleft()
                self.waiting -= 1
        if not self.waiting:
            self._held.clear()

    def _note(self, where: str, message: str) -> None:
        self.problems.append(Problem(severity="warning", where=where, message=clean(message)))
