"""Runs of a store, for the drivers: looked at in the copy that is shown, and resumed in the store itself."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from inspector.errors import UsageError
from inspector.model.run import Definition
from inspector.model.stored import Claim, Stored, StoredRun, moment
from inspector.resume import turns
from inspector.resume.jobs import Emit, Job, Refused
from inspector.resume.loop import in_loop
from inspector.resume.plan import Plan, Refusal
from inspector.runner import frozen
from inspector.runner.durable import DurableResuming, saved_run, whole
from inspector.runner.errors import ResumeRefused
from inspector.runner.outcomes import ExistingOwner, Outcome, Started, TerminalReplay
from inspector.runner.preflight import Finding
from inspector.runner.restore import Restored
from inspector.runner.result import RunResult
from inspector.store import Store, open_store


class Ended(msgspec.Struct, frozen=True):
    """How a run of a store ended: `replayed` counts the steps that it had before."""

    key: str
    store: str
    result: RunResult
    replayed: int
    outcome: Literal["started", "terminal_replay"]


def saved(job: Job, source: Stored) -> Restored:
    """The run as it stands in the copy. Raises UnreadableError and ResumeRefused."""
    return saved_run(job.path, source.stored.key, journal(job, source), None if job.at_last else job.step)


def journal(job: Job, source: Stored) -> bytes:
    """The journal as it stands in the copy. Raises UnreadableError when not all of it is there."""
    return whole(f"{job.path}: {source.stored.key}", source.journal(), source.stored)


OWNED = "is driven by {}, last heard of at {}"


def owner(source: Stored) -> Claim | None:
    """Who drives a run now, as far as the copy tells."""
    return None if source.stored.final or not source.lives() else source.stored.claim


def no_trace(job: Job) -> None:
    """Raises UsageError for a trace of a run that goes on in the store."""
    if job.trace is not None:
        raise UsageError("--trace", "the run goes on in the store, and has its journal there")


@contextlib.contextmanager
def opened(place: str) -> Iterator[Store]:
    """A store while it is needed."""
    store = open_store(place)
    try:
        yield store
    finally:
        store.close()


def findings(job: Job, source: Stored, found: Restored, today: Definition) -> list[Finding]:
    """What a store has against a resume, besides what any run has."""
    against: list[Finding] = []
    holder = owner(source)
    if holder is not None:
        taken = "owned" in job.decisions.accept or job.decisions.take_over is not None
        detail = OWNED.format(holder.who(), moment(holder.renewed))
        against.append(Finding("owned", source.stored.key, detail, refusal=not taken))
    differs = frozen.mismatch(found.definition, today) if job.in_place else None
    if differs is not None:
        against.append(Finding("definition_changed", found.name or source.stored.key, differs))
    return against


def resume(job: Job, source: Stored, plan: Plan, decide: Callable[[Job, Any], DurableResuming], emit: Emit) -> Ended:
    """Have the run go on in the store. Raises Refused when somebody drives it, or it does not fit."""
    no_trace(job)
    row: StoredRun = source.stored
    try:
        with opened(job.path) as store:
            outcome = _went_on(job, store, row, decide, emit)
    except ResumeRefused as error:
        raise Refused([Refusal(code=error.code, subject=error.place, detail=error.detail)], plan) from error
    if isinstance(outcome, ExistingOwner):
        raise Refused([Refusal(code="owned", subject=row.key, detail=str(outcome))], plan)
    return Ended(row.key, job.path, outcome.result, row.steps, named(outcome))


def named(outcome: Started[Any] | TerminalReplay[Any]) -> Literal["started", "terminal_replay"]:
    """An outcome as a word."""
    return "started" if isinstance(outcome, Started) else "terminal_replay"


def _went_on(
    job: Job, store: Store, row: StoredRun, decide: Callable[[Job, Any], DurableResuming], emit: Emit
) -> Outcome[RunResult]:
    asked = decide(job, job.app.value.resume(store, row.key))
    if row.thread is not None and row.turn is not None:
        thread, *_ = turns.checked(store, row.thread, row.turn, row.key)
        asked.metadata(turns.metadata(thread, row))
    asked.observe(emit).control(job.control)
    return in_loop(asked.run(hear=job.hear), job.control)
