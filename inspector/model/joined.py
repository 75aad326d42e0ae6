"""A run and the one that goes on from it as one timeline.

Steps keep their numbers up to the one that was gone on from; the next number, the *seam*, is the new run's step 0:
what it began with, who decided what. Its own step 1 stands behind that, so a step of its own is `seam` less.
Nothing is read before it is asked for.
"""

from collections.abc import Iterator, Sequence

import msgspec

from inspector.model.run import Definition, Problem, RawRecord, Resume, Run, SourceInfo, State, Step
from inspector.model.source import RunSource


class Joined:
    """The RunSource. `before` may be joined itself; `step` is the last one that counts of the run it ends with, by the
    number that it has there. None: all of them do."""

    def __init__(self, before: RunSource, step: int | None, after: RunSource) -> None:
        self.before, self.after = before, after
        self.source: SourceInfo = after.source
        self._step = step
        self._read = False

    @property
    def seam(self) -> int | None:
        """The number of the seam; None while that is not known."""
        begins = self.before.seam if isinstance(self.before, Joined) else 0
        known = len(self.before)
        if self._step is not None and begins is not None and known >= begins + self._step:
            return begins + self._step + 1
        return known + 1 if self._read else None

    def __len__(self) -> int:
        seam = self.seam
        return len(self.before) if seam is None else seam + len(self.after)

    def index(self) -> Iterator[tuple[int, int]]:
        yield from self.before.index()
        self._read = True
        yield from self.after.index()

    def refresh(self) -> bool:
        return self.after.refresh()

    def run(self) -> Run:
        run, seam = self.after.run(), self.seam
        error, steps = run.error, run.steps
        if error is not None and error.step is not None:
            error = msgspec.structs.replace(error, step=None if seam is None else error.step + seam)
        return msgspec.structs.replace(
            run,
            steps=None if steps is None or seam is None else steps + seam,
            error=error,
            resumed_from=self.before.run().resumed_from,
        )

    def definition(self) -> Definition:
        return self.after.definition()

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        seam = self.seam
        if seam is None or stop <= seam:
            return self.before.steps(start, stop)
        found = list(self.before.steps(start, seam)) if start < seam else []
        if start <= seam:
            found.append(self._resumed(seam))
        for step in self.after.steps(max(start - seam, 1), stop - seam):
            parent = None if step.parent is None else step.parent + seam
            found.append(msgspec.structs.replace(step, seq=step.seq + seam, parent=parent))
        return found

    def _resumed(self, seam: int) -> Step:
        run = self.after.run()
        told = f"{run.id or run.name or 'a run'} goes on from step {seam - 1}; its own step 1 is {seam + 1} here"
        return Step(
            seq=seam, kind="event", name="resumed", status="done", started=run.started, ended=run.started, summary=told
        )

    def state(self, step: int) -> State | None:
        source, own = part(self, step)
        state = source.state(own)
        return None if state is None else msgspec.structs.replace(state, step=step)

    def raw(self, step: int) -> RawRecord | None:
        source, own = part(self, step)
        return source.raw(own)

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        seam = self.seam
        if seam is None:
            yield from self.before.find(text, start, backward=backward)
            return
        if backward:
            if start > seam:
                yield from self._shifted(self.after.find(text, start - seam, backward=True), seam)
            if start >= seam:
                yield from self._find_seam(text, seam)
            yield from self.before.find(text, min(start, seam - 1), backward=True)
            return
        if start < seam:
            for item in self.before.find(text, start):
                if isinstance(item, int) and item >= seam:
                    break
                yield item
        if start <= seam:
            yield from self._find_seam(text, seam)
        yield from self._shifted(self.after.find(text, max(start - seam, 1)), seam)

    def _find_seam(self, text: str, seam: int) -> Iterator[int]:
        raw = self.after.raw(0)
        if text in (self._resumed(seam).summary or "") or (raw is not None and text in raw.text):
            yield seam

    def _shifted(self, items: Iterator[int | tuple[int, int]], seam: int) -> Iterator[int | tuple[int, int]]:
        for item in items:
            yield item + seam if isinstance(item, int) else item

    def resume(self) -> Resume:
        return self.after.resume()

    def problems(self) -> Sequence[Problem]:
        return (*self.before.problems(), *self.after.problems())

    def close(self) -> None:
        self.before.close()
        self.after.close()


def parts(source: RunSource) -> list[tuple[RunSource, int]]:
    """The runs as they were opened, and what is added to the numbers of each; those that are known by now."""
    found: list[tuple[RunSource, int]] = []
    while isinstance(source, Joined):
        if source.seam is not None:
            found.append((source.after, source.seam))
        source = source.before
    return [(source, 0), *reversed(found)]


def part(source: RunSource, step: int) -> tuple[RunSource, int]:
    """(the run as it was opened that holds a step, its number there)."""
    return next((run, step - begin) for run, begin in reversed(parts(source)) if step >= begin)
