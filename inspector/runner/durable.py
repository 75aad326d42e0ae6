"""Agent runs of a store that go on there in another process.

What is looked at before a run goes on is looked at without a claim, and a refusal changes nothing. The claim is for
the revision that was looked at: if somebody was quicker, everything is looked at again.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import msgspec

from inspector.errors import RefusedError, StoreError, UnreadableError, UsageError
from inspector.journal import ClaimedJournal, Journal, RunStore
from inspector.model.records import End
from inspector.model.run import Definition
from inspector.model.stored import Claim, OperationRow, StoredRun, moment
from inspector.model.values import Value
from inspector.runner import driving, frozen, performing, restore, resuming, view
from inspector.runner.claims import Claims
from inspector.runner.driving import Deciding
from inspector.runner.errors import ResumeRefused, RunnerError
from inspector.runner.leg import Emit, Leg, Setup
from inspector.runner.outbox import Outbox, Sink
from inspector.runner.outcomes import ExistingOwner, Outcome, Started, TerminalReplay
from inspector.runner.place import kept_open
from inspector.runner.preflight import Finding, Preflight
from inspector.runner.restore import Restored
from inspector.runner.result import RunResult
from inspector.runner.toolstep import close_batch

if TYPE_CHECKING:
    from inspector.runner.agent import Agent

CLOCKS_MS = 60_000
"""How far the clocks of two hosts may be apart without a word."""
RACES = ("claim_active", "revision_conflict", "step_conflict", "run_final")
"""What a claim is refused with when somebody else was quicker."""
TRIES = 5
"""How often a run is looked at again when somebody else was quicker."""


async def resumed(
    asked: "DurableResuming", store: RunStore, key: str, sink: Sink | None, emit: Emit | None
) -> Outcome[RunResult]:
    """Have a run go on. Raises ResumeRefused before anything is changed, and StoreError."""
    for _ in range(TRIES):
        row = store.read(key)
        if row.final:
            return TerminalReplay(key=key, result=await replayed(asked, store, row, sink))
        owner = store.owner(row)
        by_force = "owned" in asked.decided.accept or asked.decided.take_over is not None
        if owner is not None and not by_force:
            return existing(row, owner)
        try:
            saved, definition = await _fitting(asked, store, row)
        except (RefusedError, RunnerError, UnreadableError):
            if store.read(key).revision == row.revision:
                raise
            continue  # that was somebody else's run by now
        try:
            journal = store.take(row, by_force=owner is not None, definition=definition)
        except StoreError as error:
            if error.code not in RACES:
                raise
            continue
        return await _started(asked, store, key, saved, journal, owner, sink, emit)
    raise StoreError(key, "revision_conflict", "others change the run all the time: try again")


async def _fitting(asked: Deciding[Any], store: RunStore, row: StoredRun) -> tuple[Restored, Definition | None]:
    """The run of a row, when it fits, and the code of today where it is another and was accepted. Raises
    ResumeRefused, RequestError and UnreadableError."""
    saved = saved_run(store.url, row.key, journal_of(store, row))
    found, definition = await examined(asked, saved)
    found.hold_up(asked.decided.accept)
    resuming.all_known(asked, saved)
    return saved, definition


def journal_of(store: RunStore, row: StoredRun) -> bytes:
    """The journal of a run as its row was read: what others have written since is left out. Raises UnreadableError when
    not all of it is there: what is missing may have happened."""
    data = b"".join(store.journal(row.key))[: row.size]
    return whole(f"{store.url}: {row.key}", data, row)


def whole(place: str, data: bytes, row: StoredRun) -> bytes:
    """The journal, when it is as long as its row says. Raises UnreadableError."""
    if len(data) < row.size:
        detail = f"lines of its journal are missing: it has {len(data)} bytes of {row.size}"
        raise UnreadableError(place, f"is damaged: {detail}")
    return data


def existing(row: StoredRun, owner: Claim) -> ExistingOwner:
    """Who drives a run."""
    ahead = owner.renewed - time.time() * 1000 > CLOCKS_MS
    return ExistingOwner(
        key=row.key,
        host=owner.program.host,
        pid=owner.program.pid,
        user=owner.program.user,
        since=moment(owner.taken),
        expires=moment(owner.expires),
        renewed=moment(owner.renewed),
        attempt=row.attempt,
        note="that is still to come: a clock was set back" if ahead else None,
    )


def saved_run(url: str, key: str, data: bytes, step: int | None = None) -> Restored:
    """The run that a journal of a store is, as it was after `step` (None: as far as it came). Raises UnreadableError,
    and ResumeRefused."""
    try:
        return restore.read_trace(f"{url}: {key}", data, step)
    except (ResumeRefused, UnreadableError):
        raise
    except (RunnerError, ValueError, KeyError, TypeError, IndexError, RecursionError, msgspec.MsgspecError) as error:
        raise UnreadableError(f"{url}: {key}", f"is damaged: {error}") from error


async def examined(asked: Deciding[Any], saved: Restored) -> tuple[Preflight, Definition | None]:
    """What a preflight finds, and the code of today where it is another."""
    found = await resuming.examined(asked, saved, asked._claims or Claims())
    today = await asked.today()
    differs = frozen.mismatch(saved.definition, today)
    if differs is None:
        return found, None
    found.findings.append(Finding("definition_changed", saved.name or saved.id, differs))
    return found, today


async def _started(
    asked: "DurableResuming",
    store: RunStore,
    key: str,
    saved: Restored,
    journal: ClaimedJournal,
    taken: Claim | None,
    sink: Sink | None,
    emit: Emit | None,
) -> Started[RunResult]:
    run, row = saved.run, journal.run
    assert row is not None
    try:
        await asked._definition(run)
        asked.setup = told(asked.setup, row)

        async def begin(leg: Leg) -> None:
            leg.durable = True
            leg.recorder.after(saved.step)
            open_step = _take_up(leg, store.operations(key))
            leg.recorder.begin()
            with leg.recorder.together():
                configured = asked.configured()
                if configured is not None:
                    leg.tell(configured)
                if taken is not None:
                    leg.recorder.decision("take over", taken.who(), None, asked.decided.take_over)
                await resuming.decide(leg, asked)
                if open_step and leg.run.slots and view.settled(leg.run.slots):
                    close_batch(leg)
            if asked.started is not None:
                asked.started(row)
            await driving.begin(leg)

        async with kept_open(journal, sink):
            result = await performing.journaled(asked, run, saved.id, None, journal, emit, None, begin, goes_on=True)
        return Started(key=key, attempt=row.attempt, result=msgspec.structs.replace(result, trace=store.url))
    finally:
        journal.close()


def _take_up(leg: Leg, rows: Sequence[OperationRow]) -> bool:
    """Tell a leg what the journal holds of an earlier process: what may have happened, and since when the open batch
    is under way. Whether the step of that batch is still to be written."""
    for row in rows:
        if row.operation.status == "ambiguous" and row.operation.kind in ("model", "tool"):
            leg.open[row.operation.internal_call_id or ""] = row.operation
            leg.doubt(row.operation)
    later = [row.started for row in rows if row.operation.kind == "tool" and row.operation.seq > leg.recorder.seq]
    begun = [at for at in later if at is not None]
    if begun and leg.run.slots:
        leg.batch_started = moment(min(begun))
    return bool(begun) or not view.settled(leg.run.slots)


async def replayed(asked: Deciding[Any], store: RunStore, row: StoredRun, sink: Sink | None) -> RunResult:
    """What a finished run came to, from its journal; what its events are still owed is done."""
    data = journal_of(store, row)
    saved = saved_run(store.url, row.key, data)
    end = _end(data)
    if not row.acknowledged:
        await Outbox(store.over(row), sink).finish()
    return RunResult(
        status=row.status,
        reason=row.reason,
        output=performing.typed(asked.agent.output_type, end.output if end is not None else None),
        pending=[],
        run=saved.run,
        run_id=row.id,
        trace=store.url,
        error=end.error if end is not None else None,
    )


def _end(data: bytes) -> End | None:
    """The record that a journal ends with."""
    last = data[data.rfind(b"\n", 0, -1) + 1 :]
    return msgspec.convert(restore.decode(last.decode()), End) if last.startswith(b'{"record":"end"') else None


class DurableResuming(Deciding[Outcome[RunResult]]):
    """A run of a store that goes on there. `.run()` is an outcome: it started, somebody else drives it, or it is
    over and its result is given again. Raises ResumeRefused, and nothing is changed, when the run does not fit the
    code any more; with `.accept("definition_changed")` it goes on with the code of today, and with
    `.accept("owned")` the claim of somebody who holds it is taken over.

    Before its last one, after a `step` it goes on as a run of its own, with a trace: what the store holds stays as it
    is, whoever drives it, and `.result.run_id` is another."""

    def __init__(self, agent: "Agent", store: RunStore, key: str, step: int | None = None) -> None:
        super().__init__(agent)
        self._store, self.key, self.step = store, key, step
        self._sink: Sink | None = None
        self.started: Callable[[StoredRun], None] | None = None
        """Called once the run is claimed, and what may have happened is settled or left."""

    def sink(self, sink: Sink) -> Self:
        """What takes the run's events, if it was begun with one."""
        self._sink = sink
        return self

    def metadata(self, values: Mapping[str, Value]) -> Self:
        """What tools are to know besides; what the run was begun with counts more."""
        self.setup = msgspec.structs.replace(self.setup, metadata=dict(values))
        return self

    async def _go(self, trace: str | None, journal: Journal | None, emit: Emit | None) -> Outcome[RunResult]:
        row = self._store.read(self.key)
        earlier = self.step if self.step != row.steps else None
        if earlier is not None or self.decided.edits:
            saved = saved_run(self._store.url, self.key, journal_of(self._store, row), earlier)
            return await self._opened(lambda: self._apart(row, saved, trace, journal, emit))
        if trace is not None or journal is not None:
            raise UsageError(self.key, "a durable run has its journal in the store, and no other one")
        return await self._opened(lambda: resumed(self, self._store, self.key, self._sink, emit))

    async def _apart(
        self, row: StoredRun, saved: Restored, trace: str | None, journal: Journal | None, emit: Emit | None
    ) -> Started[RunResult]:
        self.setup = told(self.setup, row)
        return Started(key=self.key, attempt=1, result=await resuming.go(self, saved, trace, journal, emit))


def told(setup: Setup, row: StoredRun) -> Setup:
    """The setup with what the run was begun with for its tools to know."""
    return msgspec.structs.replace(setup, metadata={**setup.metadata, **row.metadata})
