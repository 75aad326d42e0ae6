"""What the records of a run tell, and where tokens may have moved that they do not tell of."""

from bisect import bisect_left, bisect_right

from inspector.formats.readers.wfpy.network import Actor
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.formats.readers.wfpy.rebuild import Rebuilt


class Telling:
    """Asks a rebuilt run. `ended_well`: it finished, so that nothing was in flight at its end."""

    def __init__(self, rebuilt: Rebuilt, *, ended_well: bool) -> None:
        self._rebuilt, self._ended_well = rebuilt, ended_well

    def unsure(self, queue: Queue, step: int) -> bool:
        """Whether tokens may have moved that no record tells of: through an if or loop of which no firing is
        recorded, or out of a nested workflow to a queue that no record names."""
        actors, owner = queue.scope.actors, queue.scope.owner
        source, target = actors.get(queue.source), actors.get(queue.target)
        if source is not None and source.is_control and not self.control(source, step):
            # An item is there for a while, until it is taken.
            return queue.out_port != "item" or not _took(queue, step)
        if source is not None and (source.hides(queue.out_port) or self._kept_back(source, step)):
            return True
        if target is not None and target.is_control and not self.control(target, step):
            return queue.size(step) > 0
        if target is not None and target.child is not None and self.quiet(target, step):
            return True
        if queue.source == BOUNDARY and owner is not None and self.quiet(owner, step):
            return True
        if queue.target != BOUNDARY or owner is None:
            return False
        if not owner.outs.get(queue.in_port):
            return queue.size(step) > 0
        # It may be here still: an if or loop beside it hands it on when it is done.
        begun = bisect_right(owner.starts, step)
        since = owner.starts[begun - 1] if begun else 0
        put = bisect_left(queue.puts, since) < bisect_right(queue.puts, step)
        return put and self._kept_back(owner, step)

    def _kept_back(self, source: Actor, step: int) -> bool:
        """Whether what was put inside of a nested workflow may not have come out yet: an if or loop in it hands it on
        when it is done."""
        begun = bisect_right(source.starts, step)
        if source.child is None or not begun or not source.child.has_controls():
            return False
        last = begun == len(source.starts) and step >= self._rebuilt.replay.step
        return step < source.ends[begun - 1] or (last and not self._ended_well)

    def control(self, control: Actor, step: int) -> bool:
        """Whether all that an if or loop took and put up to a step is recorded."""
        rebuilt = self._rebuilt
        if rebuilt.schedule is None or rebuilt.trace is None or control.scope.owner is not None:
            return False
        if self._ended_well and step >= rebuilt.replay.step:
            return True
        return rebuilt.schedule.tells(control, step, certain=self._ended_well or rebuilt.checkpoint is not None)

    def quiet(self, owner: Actor, step: int) -> bool:
        """Whether a firing may be over in which nobody inside fired: it took its tokens at any moment since they
        were there, which nothing but the trace tells."""
        if self._rebuilt.trace is not None:
            return False
        begun = bisect_right(owner.starts, step)
        later = owner.starts[begun : begun + 2]
        if len(later) < 2 or later[0] != later[1]:
            return False
        heads = [queues[0] for queues in owner.ins.values() if queues]
        return all(queue.size(step) > 0 for queue in heads)


def _took(queue: Queue, step: int) -> bool:
    """Whether a token of the queue was taken in this very step."""
    return bisect_left(queue.takes, step) < bisect_right(queue.takes, step)
