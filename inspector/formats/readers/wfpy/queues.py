"""One queue, and all that ever passed through it.

A queue is a log: the tokens put on it in order, and the step of each put and each take. So its contents after
any step are a range of that log, found by two binary searches, and no snapshots are needed; a token costs
sixteen bytes, whatever it is, and is decoded when somebody looks.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inspector.formats.readers.wfpy.journal import Text

if TYPE_CHECKING:
    from inspector.formats.readers.wfpy.network import Actor, Scope

BOUNDARY = "WF"
"""What stands in a queue's id for the workflow's own ports."""


class Queue:
    """One connection of a plan. `refs` say where its tokens stand, `puts` and `takes` after which step they
    were there or gone; `initial` are the tokens it began with, before those of `refs`; `fresh` has the texts of
    those that are in it now. From step `vague_from` on the records do not tell what is in it. `leaves`: it is
    an output of a nested workflow."""

    __slots__ = (
        *("id", "scope", "source", "out_port", "target", "in_port", "ordinal"),
        *("refs", "puts", "takes", "initial", "fresh", "waiter", "vague_from", "leaves"),
    )

    def __init__(self, scope: "Scope", queue_id: str, ordinal: int) -> None:
        self.id, self.scope, self.ordinal = queue_id, scope, ordinal
        left, _, right = queue_id.partition("-->")
        self.source, _, self.out_port = left.partition(".")
        self.target, _, self.in_port = right.partition(".")
        self.leaves = scope.owner is not None and self.target == BOUNDARY
        self.refs, self.puts, self.takes = array("Q"), array("I"), array("I")
        self.initial: list[int] = []
        self.fresh: deque[Text] = deque()
        self.waiter: Actor | None = None
        self.vague_from: int | None = None

    @property
    def untaken_initial(self) -> int:
        """How many of the tokens it began with are still in it."""
        return max(len(self.initial) - len(self.takes), 0)

    @property
    def untouched(self) -> bool:
        """Whether all that was taken so far was there at the beginning."""
        return len(self.takes) <= len(self.initial)

    def putter(self) -> "tuple[Actor | None, str]":
        """The actor that puts what comes here, and its port: of an input of a nested workflow, the one that puts it
        before that workflow. None where no record names one."""
        queue = self
        while queue.source == BOUNDARY and queue.scope.owner is not None:
            above = queue.scope.owner.ins.get(queue.out_port)
            if not above:
                return None, ""
            queue = above[0]
        return queue.scope.actors.get(queue.source), queue.out_port

    def merged(self) -> bool:
        """Whether what comes here was put on one output of a nested workflow by several actors, so that the
        order of the journal's lines need not be that of the tokens."""
        source, port = self.putter()
        return source is not None and source.merges(port)

    def shuffled(self) -> bool:
        """Whether what comes here may lie in another order than the lines say: an if or loop in a nested workflow
        keeps what several actors put until it is done, and then it is handed on by queue."""
        source = self.scope.actors.get(self.source)
        child = source.child if source is not None else None
        return child is not None and child.has_controls() and self.merged()

    def begin_with(self, ref: int, text: Text) -> None:
        """One more token that was there at the beginning, behind those known already."""
        self.fresh.insert(len(self.initial) - min(len(self.takes), len(self.initial)), text)
        self.initial.append(ref)

    def is_vague(self, step: int) -> bool:
        return self.vague_from is not None and step >= self.vague_from

    def blur(self, step: int) -> None:
        """From `step` on nobody knows what is in it."""
        self.vague_from = step if self.vague_from is None else min(self.vague_from, step)

    def size(self, step: int) -> int:
        """How many tokens it holds after `step`."""
        return len(self.initial) + bisect_right(self.puts, step) - bisect_right(self.takes, step)

    def contents(self, step: int) -> Sequence[int]:
        """The tokens in it after `step`, head first."""
        begin = bisect_right(self.takes, step)
        return self._range(begin, begin + self.size(step))

    def latest(self, count: int) -> Sequence[int]:
        """The tokens that were put last, also those that went on."""
        end = len(self.initial) + len(self.refs)
        return self._range(max(end - count, 0), end)

    def taken(self, step: int) -> Sequence[int]:
        """The tokens taken in `step`."""
        return self._range(bisect_left(self.takes, step), bisect_right(self.takes, step))

    def _range(self, begin: int, end: int) -> Sequence[int]:
        known = len(self.initial)
        if begin >= known:
            return self.refs[begin - known : end - known]
        return [*self.initial[begin:end], *self.refs[: max(end - known, 0)]]

    def head(self, at: int = 0) -> int:
        """The token at the head now, or one behind it."""
        index = len(self.takes) + at
        known = len(self.initial)
        return self.initial[index] if index < known else self.refs[index - known]

    def put_at(self, index: int) -> int:
        """The step in which token number `index` of its log was put."""
        known = len(self.initial)
        return 0 if index < known else self.puts[index - known]

    def bring_forward(self, at: int, count: int) -> None:
        """Put `count` tokens that stand `at` places behind the head before it."""
        begin = len(self.takes) - len(self.initial)
        moved, passed = self.refs[begin + at : begin + at + count], self.refs[begin : begin + at]
        self.refs[begin : begin + at + count] = moved + passed
        texts = [self.fresh.popleft() for _ in range(at + count)]
        self.fresh.extendleft(reversed(texts[at:] + texts[:at]))

    def replace(self, index: int, ref: int) -> None:
        """Say better what token number `index` of its log is."""
        if index < len(self.initial):
            self.initial[index] = ref
        else:
            self.refs[index - len(self.initial)] = ref
