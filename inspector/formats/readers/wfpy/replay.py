"""The run again, from its journal: every queue at every firing, in causal order.

An entry is done when the tokens it took are there; one that stands before the entries that made them (two
workers, one journal) waits for them, and its actor's later entries wait behind it. A digest of what each
firing took checks that it took the right ones.
"""

from array import array
from hashlib import sha256

import msgspec

from inspector.formats.problems import Problems
from inspector.formats.readers.wfpy.control import BY_CONTROL
from inspector.formats.readers.wfpy.copies import copies, names_file
from inspector.formats.readers.wfpy.flow import Flow
from inspector.formats.readers.wfpy.journal import UNREAD, Entry, Journal
from inspector.formats.readers.wfpy.network import Actor, Network
from inspector.formats.readers.wfpy.queues import Queue
from inspector.formats.readers.wfpy.tokens import Store, matches
from inspector.model.run import Problem
from inspector.model.text import clean

WINDOW = 1000
"""Entries that wait at most for their tokens; the oldest is then done without them."""
AHEAD = 64
"""Tokens that are looked at for the one a firing took, where records are missing."""
Wanted = list[tuple[Queue, int, str]]


class Replay(Flow):
    """The machine. `lines` has the journal line of each step, `contexts` the steps that changed the shared
    context, `unsettled` after how many entries some waited; `stopped_at` is the first firing that cannot be
    replayed."""

    def __init__(self, network: Network, store: Store, journal: Journal, *, unknown_inputs: bool = False) -> None:
        super().__init__(network, store, unknown_inputs=unknown_inputs)
        self.journal = journal
        self.lines, self.contexts, self.unsettled = array("I"), array("I"), array("I")
        self.stopped_at: int | None = None
        self.problems: list[Problem] = Problems()
        self.read = 0

    def lost(self) -> None:
        """A line here is damaged or missing: what its firing did is not known."""
        if self.lost_at is None:
            self.lost_at = self.step

    def take_in(self, number: int, entry: Entry) -> None:
        """The next entry of the journal. Raises TooLarge."""
        actor = self.network.at(entry.actor)
        self.read += 1
        if actor.backlog or not self._try(actor, number, entry):
            actor.backlog.append((number, entry))
            self._held.append((number, actor, entry))
            self.waiting += 1
            self.reordered = True
            if self.waiting > WINDOW:
                self._force()
        if self._woken:
            self._wake()
        if self.waiting:
            self.unsettled.append(self.read)

    def flush(self) -> bool:
        """Nothing follows: do what still waits, with what is there. Whether anything did."""
        waited = self.waiting > 0
        while self.waiting:
            self._force()
            self._wake()
        return waited

    def _try(self, actor: Actor, number: int, entry: Entry) -> bool:
        owner = actor.scope.owner
        if owner is not None and not self.enter(owner):
            return False
        wanted = self._wanted(actor, entry) if entry.consumed else ()
        for queue, count, _ in wanted:
            if len(queue.fresh) < count and not self.supply(queue, count):
                queue.waiter = actor
                return False
        self._do(actor, number, entry, wanted)
        return True

    def _wanted(self, actor: Actor, entry: Entry) -> Wanted:
        groups = entry.consumed or []
        if len(groups) == 1:
            queue_id, count, digest = groups[0]
            return [(actor.queue(queue_id), count, digest)]
        seen: dict[str, int] = {}
        found = []
        for queue_id, count, digest in groups:
            occurrence = seen[queue_id] = seen.get(queue_id, -1) + 1
            found.append((actor.queue(queue_id, occurrence), count, digest))
        return found

    def _do(self, actor: Actor, number: int, entry: Entry, wanted: Wanted | tuple[()]) -> None:
        step = self.step = self.step + 1
        self.lines.append(number)
        if entry.fire_count != (actor.base or 0) + len(actor.firings) + 1:
            self._count(actor, entry, step)
        actor.firings.append(step)
        for queue, count, digest in wanted:
            self._consume(actor, queue, count, digest)
        if entry.produced:
            self._produce(actor, number, entry)
        if entry.not_replayable is not None:
            self.stopped_at = self.stopped_at or step
            for queue in actor.queues():
                queue.blur(step)
        if entry.context is not msgspec.UNSET:
            self.contexts.append(step)
        outer = actor.scope.owner
        while outer is not None:
            if outer.ends:
                outer.ends[-1] = step
            outer = outer.scope.owner

    def _count(self, actor: Actor, entry: Entry, step: int) -> None:
        """Firings of an actor are numbered: a gap is a lost line, and nobody knows what it moved."""
        before = entry.fire_count - 1 - len(actor.firings)
        if actor.base is not None and before > actor.base:
            self.lost()
            for queue in actor.queues():
                queue.blur(min((self.lost_at or 0) + 1, step))
        actor.base = max(before, actor.base or 0)

    def _produce(self, actor: Actor, number: int, entry: Entry) -> None:
        ref = number << 32
        groups = entry.produced or []
        seen: dict[str, int] = {}
        for queue_id, tokens in groups:
            if len(groups) > 1:
                seen[queue_id] = seen.get(queue_id, -1) + 1
            queue = actor.queue(queue_id, seen.get(queue_id, 0) if seen else 0)
            for token in tokens:
                text = bytes(memoryview(token))
                self.put(queue, ref, self.step, text if text != UNREAD else None)
                ref += 1

    def _consume(self, actor: Actor, queue: Queue, count: int, digest: str) -> None:
        if count == 1 and queue.fresh:
            text = queue.fresh[0]
            if text is not None and sha256(b"[" + text + b"]").hexdigest() == digest:
                self.take(queue, self.step)
                return
        if len(queue.fresh) < count:
            count = len(queue.fresh)
        elif self._same(queue, 0, count, digest) is False:
            count = self._differ(actor, queue, count, digest)
        for _ in range(count):
            self.take(queue, self.step)

    def _same(self, queue: Queue, begin: int, count: int, digest: str) -> bool | None:
        """Whether these tokens of the queue are those of the digest, None where that cannot be told."""
        return matches([self._text(queue, at) for at in range(begin, begin + count)], digest)

    def _text(self, queue: Queue, at: int) -> bytes | None:
        text = queue.fresh[at]
        return self.store.text(queue.head(at)) if text is None else text

    def _differ(self, actor: Actor, queue: Queue, count: int, digest: str) -> int:
        """The head of the queue is not what the digest says was taken. Returns how many to take."""
        if self.may_begin_with_more(queue) and len(queue.takes) == len(queue.initial):
            for _ in range(count):
                self.seed(queue, self.store.unknown())
            return count
        ahead = range(1, min(AHEAD, len(queue.fresh) - count + 1))
        found = next((at for at in ahead if self._same(queue, at, count, digest)), None)
        if queue.is_vague(self.step) or self.lost_at is not None:
            queue.blur(self.step)
            return 0 if found is None else found + count
        source, port = queue.putter()
        if source is not None and (source.is_control or source.hides(port)):
            self._forget(queue, count, BY_CONTROL)
        elif queue.merged():
            if found is not None and not queue.untaken_initial:
                queue.bring_forward(found, count)
            else:
                self._forget(queue, count, "put on one output by several actors at once")
        elif not self._copied(queue, count, digest):
            path, where = "/".join(actor.path), str(self.journal.place(self.lines[-1]))
            message = f"{path} took a token of {queue.id} that is not the one put there, or changed it"
            self._note(where, f"{message}: its digest differs")
        return count

    def _copied(self, queue: Queue, count: int, digest: str) -> bool:
        """Whether the tokens are files that came out of a nested workflow: those are copied, and the tokens
        name the copies."""
        source = queue.scope.actors.get(queue.source)
        texts = [self._text(queue, at) for at in range(count)]
        if source is None or source.child is None or not all(map(names_file, texts)):
            return False
        begin = len(queue.takes)
        guesses = copies(texts[0], source, queue.out_port, queue.put_at(begin)) if count == 1 else ()
        found = next((text for text in guesses if matches([text], digest)), None)
        if found is None:
            self._forget(queue, count, "a nested workflow copied the file")
        else:
            queue.replace(begin, self.store.of_text(found))
        return True

    def _forget(self, queue: Queue, count: int, reason: str) -> None:
        """It is not known after all what the next tokens of a queue are."""
        for at in range(count):
            queue.replace(len(queue.takes) + at, self.store.unknown(reason))

    def _force(self) -> None:
        """Do the entry that waits longest with what is there."""
        while self._held:
            number, actor, entry = self._held.popleft()
            if not actor.backlog or actor.backlog[0][1] is not entry:
                continue
            actor.backlog.popleft()
            self.waiting -= 1
            wanted = self._wanted(actor, entry)
            for queue, count, _ in wanted:
                queue.waiter = None
                if len(queue.fresh) < count:
                    shown = f"{'/'.join(actor.path)} took {count} of {queue.id}"
                    self._note(str(self.journal.place(number)), f"{shown}, and no line puts that many there")
                    queue.blur(self.step + 1)
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
