"""The rebuilt queues against the checkpoint that the run left: every disagreement is a problem.

What only ifs, loops and nested workflows can have moved is moved first, since no line says it. Tokens that the
journal does not hold are taken from the checkpoint.
"""

import json
from collections.abc import Callable, Sequence

from inspector.formats.readers.wfpy.checkpoint import Checkpoint, SavedQueue
from inspector.formats.readers.wfpy.copies import names_file
from inspector.formats.readers.wfpy.journal import Text
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.formats.readers.wfpy.replay import Replay
from inspector.model.run import Problem


class Comparison:
    """A checkpoint and the replay of the journal that leads to it. `unsure` says of which queues it is not known
    what is in them."""

    def __init__(
        self, checkpoint: Checkpoint, replay: Replay, unsure: Callable[[Queue, int], bool] = lambda queue, step: False
    ) -> None:
        self.checkpoint, self.replay, self.store, self._unsure = checkpoint, replay, replay.store, unsure
        self.problems: list[Problem] = []
        whole = (saved for saved in checkpoint.queues if saved.whole)
        self._saved = [(saved, queue) for saved in whole if (queue := self._queue(saved)) is not None]
        # An if or loop that was cut short took its tokens behind the last step.
        self._end = replay.step + 1
        self._stuck: dict[int, int] = {}
        """How many of the tokens in a queue the checkpoint still has inside of a nested workflow."""

    def run(self) -> list[Problem]:
        """The disagreements."""
        self._move()
        for saved, queue in self._saved:
            if queue.scope.owner is not None and queue.target == BOUNDARY:
                self._compare(saved, queue, self._inside(saved, queue))
        for saved, queue in self._saved:
            if queue.scope.owner is None or queue.target != BOUNDARY:
                self._begin_with_more(saved, queue)
                held = queue.contents(self._end)
                self._compare(saved, queue, held[: len(held) - self._stuck.get(id(queue), 0)])
        self._counts()
        return self.problems

    def _queue(self, saved: SavedQueue) -> Queue | None:
        found = self.replay.network.plan(saved.scope).named(saved.id)
        return found[saved.ordinal] if saved.ordinal < len(found) else None

    def _move(self) -> None:
        """Firings of composites that the checkpoint counts and nothing else shows."""
        step = self._end
        for entry in self.checkpoint.actors:
            actor = self.replay.network.find((*entry.scope, entry.name))
            if actor is not None and actor.child is not None:
                begun = (entry.fire_count or 0) + (entry.pending is not None)
                self.replay.feed_up_to(actor, begun - (actor.base or 0), step)
            elif actor is not None and entry.control is not None:
                sizes: dict[str, list[int]] = {}
                for saved in self.checkpoint.queues:
                    if saved.scope == entry.scope:
                        sizes.setdefault(saved.id, []).append(len(saved.tokens))
                self.replay.controls.settle(actor, sizes, step)

    def _inside(self, saved: SavedQueue, queue: Queue) -> Sequence[int]:
        """What an output of a nested workflow holds: nothing, as it goes on at once, but for what the failure
        of another firing kept there; the replay has that beyond already."""
        step = self._end
        beyond = self._beyond(queue)
        if not beyond:
            return queue.contents(step)
        lengths = {id(other): len(other_saved.tokens) for other_saved, other in self._saved}
        count = min(len(saved.tokens), len(queue.initial) + len(queue.refs))
        # What an if or loop put beyond is in no line, and so no reckoning.
        for other in (other for other in beyond if not self._hidden(other)):
            surplus = other.size(step) - lengths.get(id(other), 0) - self._stuck.get(id(other), 0)
            count = max(min(count, surplus), 0)
        for other in beyond:
            self._stuck[id(other)] = self._stuck.get(id(other), 0) + count
        # Beyond, they may lie among what others put there.
        return queue.latest(count)

    def _beyond(self, queue: Queue) -> list[Queue]:
        """Where tokens on an output of a nested workflow come to lie in the end."""
        found, stack = [], [queue]
        while stack:
            at = stack.pop()
            owner = at.scope.owner
            if owner is None or at.target != BOUNDARY:
                found.append(at)
            else:
                stack += owner.outs.get(at.in_port, ())
        return found

    def _begin_with_more(self, saved: SavedQueue, queue: Queue) -> None:
        """Tokens that were there from the beginning, of a run that does not say what it began with."""
        missing = len(saved.tokens) - queue.size(self._end)
        if missing > 0 and self.replay.may_begin_with_more(queue):
            for index in range(missing):
                self.replay.seed(queue, self.checkpoint.token(self.store, saved, index))

    def _compare(self, saved: SavedQueue, queue: Queue, expected: Sequence[int]) -> None:
        if queue.is_vague(self._end) or self._hidden(queue):
            return
        same = min(len(expected), len(saved.tokens))
        # Tokens that several actors put on one output may lie in another order than the lines say.
        begin = min(len(queue.takes), len(queue.initial) + len(queue.refs) - len(expected))
        for index in range(0 if queue.merged() else same):
            if self.store.is_unknown(expected[index]) or self._copied(queue, expected[index]):
                queue.replace(begin + index, self.checkpoint.token(self.store, saved, index))
            elif self.checkpoint.exact and not _same(self.store.text(expected[index]), saved.text(index)):
                self._note(saved, f"its token {index + 1} is not the one that the journal's firings put there")
                break
        more, less = len(saved.tokens) - same, len(expected) - same
        if more and (*saved.scope, queue.source) == self.checkpoint.failed_path:
            self._note(
                saved,
                f"{more} of its tokens are of the firing that failed: its input was given back, so a resume makes "
                "them once more",
            )
        elif (more or less) and not self._unsure(queue, self.replay.step):
            self._note(saved, f"it holds {len(saved.tokens)} tokens, and the journal's firings leave {len(expected)}")

    def _hidden(self, queue: Queue) -> bool:
        source = queue.scope.actors.get(queue.source)
        return source is not None and source.hides(queue.out_port)

    def _copied(self, queue: Queue, ref: int) -> bool:
        source = queue.scope.actors.get(queue.source)
        return source is not None and source.child is not None and names_file(self.store.text(ref))

    def _counts(self) -> None:
        for entry in self.checkpoint.actors:
            actor = self.replay.network.find((*entry.scope, entry.name))
            if actor is None or not actor.fired or actor.base is None or entry.fire_count is None:
                continue
            counted = actor.base + len(actor.firings)
            if counted != entry.fire_count:
                where = f"{self.checkpoint.label} {'/'.join(actor.path)}"
                message = f"it fired {entry.fire_count} times, and the journal has {counted}"
                self.problems.append(Problem(severity="warning", where=where, message=message))

    def _note(self, saved: SavedQueue, message: str) -> None:
        where = f"{self.checkpoint.label} {'/'.join((*saved.scope, saved.id))}"
        self.problems.append(Problem(severity="warning", where=where, message=message))


def _same(one: Text, other: Text) -> bool:
    if one == other or one is None or other is None:
        return True
    try:
        return json.dumps(json.loads(one)) == json.dumps(json.loads(other))
    except (ValueError, RecursionError):
        return True
