"""The state after any step, from checkpoints and the changes between them.

Going to a step costs the way from the nearest state that is known: a checkpoint of the file, or one of the
states kept here. The states of the last stretch that was walked are kept, so a step back costs nothing;
where a file has no checkpoint for long, a state is kept once a stretch.
"""

from collections.abc import Callable

import msgspec

from inspector.model.changes import Change, apply
from inspector.model.run import State

STRETCH = 256
KEPT = 64
"""States that are kept at most, at even distances."""

Known = tuple[State, int]
"""A state, and the number that the file gives its step."""


class States:
    """States of a run. `nearest(n)` is the last step at or before `n` that has a checkpoint (None: there is
    none); `load` reads that checkpoint (None: it cannot be read, and is not `nearest` any more); `change` is
    the change of a step with the number that the file gives the step (None: it cannot be read). Behind a gap
    in the numbers no state is known until the next checkpoint."""

    def __init__(
        self,
        nearest: Callable[[int], int | None],
        load: Callable[[int], Known | None],
        change: Callable[[int], tuple[Change, int] | None],
    ) -> None:
        self._nearest, self._load, self._change = nearest, load, change
        self.forget()

    def forget(self) -> None:
        """The file is another one now."""
        self._start = self._origin = 0
        self._walk: list[Known | None] = []
        self._kept: dict[int, Known] = {}
        self._every = STRETCH

    def at(self, step: int) -> State | None:
        """The state after `step`, None when it cannot be told."""
        known = self._walked(step)
        if known is None:
            base, kept = self._nearest(step), self._kept_before(step)
            near = max(base or 0, kept or 0)
            if not self._walk or not (base or 0) <= self._start <= step or near >= self._start + len(self._walk):
                self._begin(step, base)
            while self._start + len(self._walk) <= step:
                self._forward()
            known = self._walked(step)
        return known[0] if known else None

    def number(self, step: int) -> int | None:
        """The number that the file gives the step of the state that `at` told last."""
        known = self._walked(step)
        return known[1] if known else None

    def _walked(self, step: int) -> Known | None:
        place = step - self._start
        return self._walk[place] if 0 <= place < len(self._walk) else None

    def _kept_before(self, step: int) -> int | None:
        return max((place for place in self._kept if place <= step), default=None)

    def _begin(self, step: int, base: int | None) -> None:
        kept = self._kept_before(step)
        if kept is not None and (base is None or kept > base):
            self._start, self._walk = kept, [self._kept[kept]]
            return
        known = None
        while base is not None and (known := self._load(base)) is None:
            base = self._nearest(step)
        self._start = self._origin = base or 0
        self._walk = [known]

    def _forward(self) -> None:
        step, before = self._start + len(self._walk), self._walk[-1]
        known = self._after(before, step) if before else None
        if len(self._walk) < STRETCH:
            self._walk.append(known)
        else:
            self._start, self._walk = step, [known]
        if known and step % self._every == 0 and step - self._origin >= STRETCH:
            self._kept[step] = known
            if len(self._kept) > KEPT:
                self._every *= 2
                self._kept = {place: state for place, state in self._kept.items() if place % self._every == 0}

    def _after(self, before: Known, step: int) -> Known | None:
        found = self._change(step)
        if found is None or found[1] != before[1] + 1:
            return None
        try:
            return apply(before[0], found[0], step), found[1]
        except (ValueError, TypeError, msgspec.ValidationError):
            return None
