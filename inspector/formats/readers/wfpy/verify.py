"""The rebuilt queues against wfpy's trace, and the graph against its fingerprint.

With several workers the trace counts firings in flight: a token already taken, or already put, by a firing
whose line follows. Such a difference is no disagreement.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from inspector.formats.readers.wfpy.artifacts import Facts
from inspector.formats.readers.wfpy.network import Network
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.formats.readers.wfpy.replay import Replay
from inspector.formats.readers.wfpy.trace import Trace
from inspector.model.run import Problem

LISTED = 20
"""Disagreements that are listed one by one."""
BATCH = 64


class TraceCheck:
    """Compares step by step. `unsure` says of which queues it is not known what is in them; `ended_well`: nothing
    was in flight at the end. `run` yields the number of steps compared, now and then; `problems` are what was
    found."""

    def __init__(
        self,
        trace: Trace,
        replay: Replay,
        places: Sequence[Queue | None],
        unsure: Callable[[Queue, int], bool],
        *,
        ended_well: bool,
    ) -> None:
        self._trace, self._replay, self._places, self._unsure = trace, replay, places, unsure
        self._ended_well = ended_well
        self.problems: list[Problem] = []

    def run(self) -> Iterator[int]:
        steps, replay = self._trace.steps, self._replay
        if replay.lost_at is not None or not self._places:
            return
        unsettled = set(replay.unsettled)
        for index, step in enumerate(steps):
            seq = step.journal_seq
            last_of_its = index + 1 == len(steps) or steps[index + 1].journal_seq != seq
            if seq is None or seq > replay.read or seq in unsettled or not last_of_its:
                continue
            self._check(index, seq)
            if len(self.problems) > LISTED:
                return
            if index % BATCH == 0:
                yield index

    def _check(self, index: int, step: int) -> None:
        sizes = self._trace.sizes(index)
        if len(sizes) != len(self._places):
            return
        for size, queue in zip(sizes, self._places, strict=True):
            if queue is None or queue.is_vague(step) or (queue.scope.path and queue.target == BOUNDARY):
                continue
            least, most = self._range(queue, step)
            if not least <= size.size <= most and not self._unsure(queue, step):
                number = self._trace.steps[index].step
                name = "/".join((*queue.scope.path, queue.id))
                message = f"step {number}: {size.size} tokens in {name}, and the journal's firings leave {least}"
                if least != most:
                    message += f" to {most}"
                self._note(index, message)
                return

    def _range(self, queue: Queue, step: int) -> tuple[int, int]:
        """The sizes that a queue can have had while firings were in flight whose lines follow."""
        size = queue.size(step)
        taken, put = _following(queue.takes, step), _following(queue.puts, step)
        source = queue.scope.actors.get(queue.source)
        if not self._ended_well:
            taken = taken or size
            put = put or 1_000_000
        if source is not None and source.child is not None:
            taken = size
        return max(size - taken, 0), size + put

    def _note(self, index: int, message: str) -> None:
        if len(self.problems) == LISTED:
            message = "further steps disagree with the journal too; they are not listed"
        self.problems.append(Problem(severity="warning", where=self._trace.where(index), message=message))


def _following(steps: Sequence[int], step: int) -> int:
    """How many tokens the next firing moved."""
    begin = bisect_right(steps, step)
    return bisect_right(steps, steps[begin]) - begin if begin < len(steps) else 0


def fingerprint(network: Network, record: Facts | None) -> str | None:
    """The digest of the graph as wfpy computes it, None where an artifact lacks what it is made of: inside of
    a nested workflow no file names the classes."""
    actors = record.objects("actors") if record is not None else []
    shape = [[actor.get(key) for key in ("instanceName", "entityKind", "entityName")] for actor in actors]
    plain = all(isinstance(part, str) for entry in shape for part in entry)
    if not shape or not plain or any(kind == "workflow" for _, kind, _ in shape):
        return None
    text = json.dumps({"actors": shape, "queues": [queue.id for queue in network.root.queues]}, sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
