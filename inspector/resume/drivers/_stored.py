"""Runs of a store, for the drivers: looked at in the copy that is shown, and resumed in the store itself."""

from collections.abc import Callable
from typing import Any

import msgspec

from inspector.model.run import Definition
from inspector.model.stored import Stored, StoredRun, moment, store_path
from inspector.resume import Emit, Job, Refused, turns
from inspector.resume.loop import in_loop
from inspector.resume.plan import Plan, Refusal
from inspector.runner import frozen, restore
from inspector.runner.durable import DurableResuming, saved_run
from inspector.runner.errors import ResumeRefused
from inspector.runner.outcomes import ExistingOwner
from inspector.runner.preflight import Finding
from inspector.runner.restore import Restored
from inspector.runner.result import RunResult
from inspector.store import open_store


class Ended(msgspec.Struct, frozen=True):
    """How a run of a store ended: `replayed` counts the steps that it had before."""

    key: str
    store: str
    result: RunResult
    replayed: int


def saved(job: Job, source: Stored) -> Restored:
    """The run as it stands in the copy. Raises UnreadableError and ResumeRefused."""
    if job.at_last:
        return saved_run(job.path, source.stored.key, source.journal())
    return restore.read_trace(f"{job.path}: {source.stored.key}", source.journal(), job.step)


def findings(job: Job, source: Stored, found: Restored, today: Definition) -> list[Finding]:
    """What a store has against a resume, besides what any run has."""
    against: list[Finding] = []
    owner = None if source.stored.final or not source.lives() else source.stored.claim
    if owner is not None and "owned" not in job.decisions.accept and job.decisions.take_over is None:
        detail = (
            f"is driven by {owner.who()}, last heard of at {moment(owner.renewed)}; when that is known to be gone, "
            "take it over: --accept owned"
        )
        against.append(Finding("owned", source.stored.key, detail))
    differs = frozen.mismatch(found.definition, today) if job.at_last else None
    if differs is not None:
        against.append(Finding("definition_changed", found.name or source.stored.key, differs))
    return against


def resume(job: Job, source: Stored, plan: Plan, decide: Callable[[Job, Any], DurableResuming], emit: Emit) -> Ended:
    """Have the run go on in the store. Raises Refused when somebody drives it, or it does not fit."""
    row: StoredRun = source.stored
    store = open_store(store_path(job.path))
    try:
        asked = decide(job, job.app.value.resume(store, row.key))
        if row.thread is not None and row.turn is not None:
            thread, *_ = turns.checked(store, row.thread, row.turn, row.key)
            asked.metadata(turns.metadata(thread, row))
        asked.observe(emit).control(job.control)
        outcome = in_loop(asked.run(hear=job.hear), job.control)
    except ResumeRefused as error:
        raise Refused([Refusal(code=error.code, subject=error.place, detail=error.detail)], plan) from error
    finally:
        store.close()
    if isinstance(outcome, ExistingOwner):
        raise Refused([Refusal(code="owned", subject=row.key, detail=str(outcome))], plan)
    return Ended(row.key, job.path, outcome.result, row.steps)
