"""A new run in a store."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from inspector.journal import ClaimedJournal, RunStore
from inspector.model.values import Value
from inspector.runner import performing
from inspector.runner.claims import Claims
from inspector.runner.leg import Emit, Leg
from inspector.runner.machine import AgentRun
from inspector.runner.outbox import Outbox, Sink
from inspector.runner.result import RunResult

if TYPE_CHECKING:
    from inspector.runner.driving import Driving


class Place(msgspec.Struct, frozen=True):
    """Where a new run is kept, and what is kept with it."""

    store: RunStore
    key: str
    thread: str | None = None
    turn: str | None = None
    metadata: Mapping[str, Value] | None = None
    sink: Sink | None = None

    def open(self, run_id: str, claims: Claims) -> ClaimedJournal:
        """The journal of the new run. Raises StoreError, and UsageError for an id that was used before."""
        journal = self.store.begin(
            self.key, thread=self.thread, turn=self.turn, metadata=self.metadata, sink=self.sink is not None
        )
        claims.begin(run_id, self.store.url, self.key)
        return journal


@contextlib.asynccontextmanager
async def kept_open(journal: ClaimedJournal, sink: Sink | None) -> AsyncIterator[ClaimedJournal]:
    """The journal of a durable run while it is driven; its events are delivered meanwhile, and what is left of them
    at the end."""
    try:
        async with Outbox(journal, sink):
            yield journal
    finally:
        journal.close()


Begin = Callable[[Leg], Awaitable[None]]


async def begun(driving: "Driving[Any]", run: AgentRun, place: Place, emit: Emit | None, begin: Begin) -> RunResult:
    """Drive a new run. Raises StoreError when there is a run of that key, and UsageError for a used id."""
    journal = place.open(run.data.id, driving._claims or Claims())

    async def first(leg: Leg) -> None:
        leg.durable = True
        await begin(leg)

    async with kept_open(journal, place.sink):
        result = await performing.journaled(driving, run, run.data.id, None, journal, emit, None, first)
    return msgspec.structs.replace(result, trace=place.store.url)
