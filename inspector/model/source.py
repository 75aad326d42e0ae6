"""How a run is fetched: the protocol between whoever has a run and whoever shows it.

Nothing is read before it is asked for. `open_path` (in `formats`) returns a `RunSet`; its `open`
gives a `RunSource`, whose steps may still be unknown: `index` reads on in batches, and meanwhile
everything that is known can be shown. A live run is the same thing: `refresh` takes in what was
appended.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from inspector.model.records import JournalRecord
from inspector.model.run import (
    Definition,
    Problem,
    RawRecord,
    Resume,
    Run,
    RunRow,
    SourceInfo,
    State,
    Step,
)
from inspector.model.values import Value


class RunSource(Protocol):
    """One run. Methods may be called from any one thread at a time."""

    source: SourceInfo

    def __len__(self) -> int:
        """How many steps are known so far."""

    def index(self) -> Iterator[tuple[int, int]]:
        """Read on until the end of what there is: yields (bytes read, bytes in all) after each batch
        of at most a few milliseconds, and can be left at any yield and taken up again."""

    def refresh(self) -> bool:
        """Take in what was appended to the source since; True when anything changed."""

    def run(self) -> Run:
        """The run as a whole, as far as it is known."""

    def definition(self) -> Definition:
        """What the code was."""

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        """The steps with start <= seq < stop; those that do not exist are left out."""

    def state(self, step: int) -> State | None:
        """The state after `step` (0: before the first), None where the source cannot tell."""

    def raw(self, step: int) -> RawRecord | None:
        """The record of a step as it stands in the source; step 0 is what came before the first."""

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        """Search names, summaries and raw text, ignoring nothing, from step `start` on (inclusive):
        yields (bytes or steps searched, those in all) as it goes, and the seq of each hit as a plain int."""

    def resume(self) -> Resume:
        """Whether it can be continued."""

    def problems(self) -> Sequence[Problem]:
        """What is wrong with the source, as far as it was read."""

    def close(self) -> None:
        """Give back files and copies."""


class Large(Protocol):
    """The large values of a journal, by the digests that stand for them in its records (see `large`). What is wrong
    with one becomes a problem of the run."""

    def digests(self) -> Iterator[str]:
        """Those of all values."""

    def data(self, digest: str) -> bytes | None:
        """The bytes of a value; None where they are not, or not whole."""

    def value(self, digest: str) -> Value:
        """A value; None where it is not, or not whole."""


@runtime_checkable
class Journaled(Protocol):
    """What a RunSource offers besides that is a journal of ours already."""

    def records(self) -> Iterator[JournalRecord]:
        """Its records, but for those that cannot be read."""

    def verbatim(self) -> Iterator[bytes]:
        """The bytes of the file."""

    def large(self) -> Large:
        """The values that stand apart from its records."""


@runtime_checkable
class Claimed(Protocol):
    """What a RunSource offers besides whose runs are claimed by another name than their id."""

    claim: str


def claim_of(source: RunSource) -> str | None:
    """By what name a run is claimed on this host; None where it has none."""
    return source.claim if isinstance(source, Claimed) else source.run().id


@runtime_checkable
class Redefined(Protocol):
    """What a RunSource offers besides that records what the code was more than once."""

    def definition_at(self, step: int) -> Definition:
        """What the code was at a step."""


def definition_at(source: RunSource, step: int) -> Definition:
    """What the code was at a step; where that is recorded once, what it was."""
    return source.definition_at(step) if isinstance(source, Redefined) else source.definition()


@runtime_checkable
class Held(Protocol):
    """What a RunSource offers besides that knows which process writes it."""

    def holder(self) -> str | None:
        """The process that a run is running in, as HOST:PID."""


@runtime_checkable
class Narrowing(Protocol):
    """A set of runs that can be asked for some of them, at the cost of those alone."""

    def some(self, status: str | None, name: str | None, limit: int | None = None) -> Sequence[RunRow]:
        """The rows that are so, newest last, at most the newest `limit`; None: whatever it is."""


class RunSet(Protocol):
    """All the runs behind one path: often one."""

    source: SourceInfo

    def rows(self) -> Sequence[RunRow]:
        """One row per run, newest last."""

    def open(self, run_id: str | None = None) -> RunSource:
        """The run of that id; None for the only one. Raises UsageError when there is no such run, or
        more than one and no id."""

    def problems(self) -> Sequence[Problem]:
        """What is wrong with the source, apart from the runs themselves."""

    def refresh(self) -> bool:
        """Look again which runs there are; True when the rows changed."""

    def close(self) -> None:
        """Give back files and copies."""
