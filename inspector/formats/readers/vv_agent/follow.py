"""A run of a store, read anew when the store has changed or its owner's lease has ended."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from inspector.errors import UsageError
from inspector.formats.readers.vv_agent.claim import Claim
from inspector.model.run import Definition, Problem, RawRecord, Resume, Run, SourceInfo, State, Step
from inspector.model.source import RunSource


class Shelf(Protocol):
    """The store that a run stands in."""

    generation: int

    def look(self) -> bool: ...
    def now(self) -> float: ...
    def load(self, run_id: str) -> tuple[RunSource, Claim] | None: ...


class Followed:
    """A RunSource over the run that `shelf` loads. Raises UsageError when it has none of that id."""

    def __init__(self, shelf: Shelf, run_id: str) -> None:
        self._shelf, self._id = shelf, run_id
        found = shelf.load(run_id)
        if found is None:
            raise UsageError(run_id, "the run is gone from its store")
        self._run, self._claim = found
        self._generation = shelf.generation
        self.source: SourceInfo = self._run.source

    def __len__(self) -> int:
        return len(self._run)

    def index(self) -> Iterator[tuple[int, int]]:
        return self._run.index()

    def refresh(self) -> bool:
        self._shelf.look()
        ended = self._claim.live and (self._claim.until or 0) <= self._shelf.now() * 1000
        if self._generation == self._shelf.generation and not ended:
            return False
        self._generation = self._shelf.generation
        found = self._shelf.load(self._id)
        if found is None:  # the run is deleted: what was read of it stays
            return False
        self._run, self._claim = found
        self.source = self._run.source
        return True

    def run(self) -> Run:
        return self._run.run()

    def definition(self) -> Definition:
        return self._run.definition()

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        return self._run.steps(start, stop)

    def state(self, step: int) -> State | None:
        return self._run.state(step)

    def raw(self, step: int) -> RawRecord | None:
        return self._run.raw(step)

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        return self._run.find(text, start, backward=backward)

    def resume(self) -> Resume:
        return self._run.resume()

    def problems(self) -> Sequence[Problem]:
        return self._run.problems()

    def close(self) -> None:
        """Nothing of its own to give back: the store has the files."""
