"""Runs of networks in a store that go on there, in their own journal."""

from typing import Self

import msgspec

from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Plan
from inspector.errors import RefusedError, StoreError, UnreadableError, UsageError
from inspector.journal import RunStore
from inspector.model.run import Definition
from inspector.model.stored import Claim, StoredRun
from inspector.runner import signals
from inspector.runner.claims import Claims
from inspector.runner.drive import Control
from inspector.runner.durable import RACES, TRIES, existing, journal_of
from inspector.runner.errors import RunnerError
from inspector.runner.network import agents, restore, tail
from inspector.runner.network.driven import Driven
from inspector.runner.network.fit import fitted, hooked, moving
from inspector.runner.network.given import examine
from inspector.runner.network.offers import opened
from inspector.runner.network.restore import SavedNetwork
from inspector.runner.network.result import NetworkResult, replayed
from inspector.runner.network.run import GoingOn, Network, ResumingNetwork
from inspector.runner.network.values import LargeValues
from inspector.runner.outbox import Outbox, Sink
from inspector.runner.outcomes import Outcome, Started, TerminalReplay
from inspector.runner.place import kept_open
from inspector.runner.places import default_trace, new_id


class DurableNetwork(GoingOn):
    """A run of a store that goes on there. `.run()` is an outcome: it started, somebody else drives it, or it is over
    and its outputs are given again. Raises ResumeRefused, and nothing is changed, when it does not fit the network of
    today; with `.accept("owned")` the claim of somebody who holds it is taken over.

    Before its last one, after a `step`, or before the last firing of the node `rerun`, or with values that were
    changed, it goes on as a run of its own, with a trace: what the store holds stays as it is, whoever drives it, and
    `.result.run_id` is another."""

    def __init__(
        self, network: Network, store: RunStore, key: str, step: int | None = None, rerun: str | None = None
    ) -> None:
        super().__init__(network)
        self.store, self.key, self.step, self.rerun = store, key, step, rerun
        self._sink: Sink | None = None

    def _large(self, digest: str) -> bytes | None:
        return self.store.large(self.key, digest)

    def sink(self, sink: Sink) -> Self:
        """What takes the run's events, if it was begun with one."""
        self._sink = sink
        return self

    def run_sync(self, *, trace: str | None = None) -> Outcome[NetworkResult]:
        """`run`, for a program without an event loop; signals are heard as by `Network.run_sync`."""
        control = self._options.setdefault("control", Control())
        return signals.run_sync(self.run(trace=trace), control)

    async def run(self, *, trace: str | None = None) -> Outcome[NetworkResult]:
        """Go on to the end, a failure, or a stop. `trace` is a new file for the journal of a run of its own; in the
        platform's data folder without it."""
        earlier = self.step is not None and self.step != self.store.read(self.key).steps
        if self.rerun is not None or earlier or self.decided.edits:
            return await self._apart(trace)
        if trace is not None:
            raise UsageError(self.key, "a durable run has its journal in the store, and no other one")
        plan = self.network.plan()
        async with opened(plan) as offers:
            today = self.network.described(plan, offers)
            for _ in range(TRIES):
                if (outcome := await self._tried(plan, today)) is not None:
                    return outcome
        raise StoreError(self.key, "revision_conflict", "others change the run all the time: try again")

    async def _apart(self, trace: str | None) -> Started[NetworkResult]:
        place, lines = f"{self.store.url}: {self.key}", journal_of(self.store, self.store.read(self.key))
        apart = ResumingNetwork(self.network, place, self.step, self.rerun, lines, self._large)
        run_id = new_id()
        apart.decided, apart._reconciled, apart._options = self.decided, self._reconciled, {**self._options}
        apart.id(run_id)
        return Started(key=self.key, attempt=1, result=await apart.run(trace=trace or default_trace(run_id)))

    async def _tried(self, plan: Plan, today: Definition) -> Outcome[NetworkResult] | None:
        """None when somebody else was quicker."""
        row = self.store.read(self.key)
        if row.final:
            return TerminalReplay(key=self.key, result=await self._replayed(row))
        owner = self.store.owner(row)
        by_force = "owned" in self.decided.accept or self.decided.take_over is not None
        if owner is not None and not by_force:
            return existing(row, owner)
        try:
            saved = saved_network(f"{self.store.url}: {self.key}", journal_of(self.store, row))
            run = await self._fitting(saved, plan, today)
        except (RefusedError, RunnerError, UnreadableError):
            if self.store.read(self.key).revision == row.revision:
                raise
            return None
        try:
            journal = self.store.take(row, by_force=owner is not None, definition=None)
        except StoreError as error:
            if error.code not in RACES:
                raise
            return None
        claimed = journal.run
        assert claimed is not None
        async with kept_open(journal, self._sink):
            driven = self._driven(run, saved, row, owner)
            result = await driven.go(None, journal, today, saved.header.input, None, None, goes_on=True)
        result = msgspec.structs.replace(result, replayed=saved.step, trace=self.store.url)
        return Started(key=self.key, attempt=claimed.attempt, result=result)

    async def _fitting(self, saved: SavedNetwork, plan: Plan, today: Definition) -> NetworkRun:
        hooked(saved, today, self.decided.accept)
        Claims().refuse_resumed(saved.header.id, self.decided.accept)
        values = self.network.values.beside(LargeValues(None, stored=self._large))
        run = fitted(saved, plan, today, values).accepted(self.decided.accept)
        run.seq = saved.step  # the journal goes on, and so do the numbers of its steps
        open_ids = {happened.id for happened in saved.open}
        self.decided.reconcile = {call: how for call, how in self._reconciled.items() if call not in open_ids}
        await agents.wake(run, self.decided)
        examine(run, self._reconciled)
        moving(saved, run)
        return run

    def _driven(self, run: NetworkRun, saved: SavedNetwork, row: StoredRun, owner: Claim | None) -> Driven:
        watch = self.network.watch(row.id)
        watch.take_over(saved.scratch, saved.machine.get("telemetry") or {})
        control, observe = self._options.get("control"), self._options.get("observe")
        workers = self._options.get("workers") or run.plan.workers
        driven = Driven(run, row.id, saved.origin, workers, control, observe, watch)
        driven.decided = self.decided
        driven.open = {happened.id: self._reconciled.get(happened.id) for happened in saved.open}
        if owner is not None:
            driven.taken_from = owner.who()
        return driven

    async def _replayed(self, row: StoredRun) -> NetworkResult:
        saved = saved_network(f"{self.store.url}: {self.key}", journal_of(self.store, row))
        if not row.acknowledged:
            await Outbox(self.store.over(row), self._sink).finish()
        return replayed(self.network.values, saved, LargeValues(None, stored=self._large), self.store.url)


def saved_network(place: str, data: bytes, step: int | None = None) -> SavedNetwork:
    """The run that a journal of a store is. Raises UnreadableError, and ResumeRefused."""
    return restore.read(place, tail.of_bytes(data), step)
