"""The plan of resuming a run of wfpy: from its checkpoint at the last step, else by replaying its journal."""

from collections.abc import Iterator
from typing import Any

import msgspec

from inspector.diff import Side, compare
from inspector.errors import RefusedError, UsageError
from inspector.formats.readers.wfpy.outcome import FRESH
from inspector.formats.readers.wfpy.run import WfpyRun
from inspector.model.run import Record
from inspector.model.text import clean
from inspector.resume.apps import App
from inspector.resume.drivers.wfpy import graph, preview, values
from inspector.resume.drivers.wfpy.library import Library
from inspector.resume.drivers.wfpy.saved import Firings, checkpoint_of, header_of, read_checkpoint
from inspector.resume.jobs import Job
from inspector.resume.plan import Plan, Planned, Refusal, Warned, warn
from inspector.runner.claims import Claims, driven

NAME = "wfpy"


class Prepared(Record, frozen=True, kw_only=True):
    """What a resume goes by: `checkpoint` at the last step of a run that left one, else `firings`. `names` are those
    that the workflow's module had before."""

    library: Any
    plan: Any
    run: Any
    module: Any
    checkpoint: dict[str, Any] | None = None
    firings: Any = None
    names: tuple[str, ...] = ()


def workflow_of(app: App) -> Any:
    """The workflow that the target names. Raises UsageError when it is none."""
    found = getattr(app.value, "_wfpy_workflow", None)
    if found is None:
        kind = type(app.value).__name__
        raise UsageError(app.target, f"is of the type {kind}, and the run needs a workflow of wfpy")
    return found


def run_of(job: Job) -> WfpyRun:
    """The run, as its reader has it."""
    assert isinstance(job.source, WfpyRun)
    return job.source


def plan(job: Job) -> Plan:
    """The plan, with whatever refuses it."""
    library, run, workflow = Library(), run_of(job), workflow_of(job.app)
    _version(run)
    _same_workflow(run, workflow, job.app)
    today = library.plan(job.app)
    now = graph.definition(today, library.digest(today))
    before = graph.recorded(job.source.definition(), now)
    diff = compare(Side(definition=before), Side(definition=now))
    base = Plan(resumable=True, driver=NAME, step=job.step, diff=diff)
    subject = clean(str(workflow.name))
    refused = [*_state(job), *graph.refusals(subject, before, now, diff)]
    if refused:
        return msgspec.structs.replace(base, resumable=False, refusals=tuple(refused))
    try:
        prepared, found = prepare(job, library, today)
    except RefusedError as error:
        refusal = Refusal(code=error.code, subject=error.place, detail=error.detail)
        return msgspec.structs.replace(base, resumable=False, refusals=(refusal,))
    later = preview.again(job)
    return msgspec.structs.replace(
        base,
        refusals=tuple(_values(prepared, found)),
        replays=tuple(preview.replays(job, prepared.firings)),
        runs=tuple(preview.runs(job, today)),
        runs_again=tuple(
            Planned(name=name, kind="firing", note=f"{count} completed behind the step")
            for name, count in later.most_common(preview.NAMED)
        ),
        warnings=(*preview.warnings(job, run, today, prepared.firings), *_about_values(prepared, found)),
    )


def prepare(job: Job, library: Library, today: Any) -> tuple[Prepared, list[values.Named]]:
    """What the resume goes by, and what its saved values name. Raises RefusedError."""
    run = run_of(job)
    names: dict[tuple[str, str, str | None], values.Named] = {}
    own = checkpoint_of(run)
    checkpoint, firings = None, None
    if job.at_last and own is not None:
        checkpoint = read_checkpoint(run)
        values.named("run.wf-checkpoint.json", [checkpoint.get("plan"), checkpoint.get("context")], names)
    else:
        firings = Firings(run, job.step)
        values.named("inputs", firings.header.get("inputs"), names)
        twice = _twice(today)
        for entry in firings:
            values.named(clean(f"{entry['actor']}, firing {entry.get('fireCount')}"), entry, names)
            _distinct(entry, twice)
    found = list(names.values())
    module = values.module_of(job.app.value._wfpy_workflow)
    aliases = values.own_names(module, _source_path(run), found)
    prepared = Prepared(
        library=library,
        plan=today,
        run=run,
        module=module,
        checkpoint=checkpoint,
        firings=firings,
        names=tuple(aliases),
    )
    return prepared, found


def _source_path(run: WfpyRun) -> str | None:
    own = checkpoint_of(run)
    for source in (own, run.artifacts.record, run.artifacts.viewer, run.artifacts.live):
        found = source.text("sourcePath") if source is not None else None
        if found:
            return found
    return None


def _version(run: WfpyRun) -> None:
    own = checkpoint_of(run)
    if own is not None and own.version != 1:
        detail = f"the checkpoint has version {own.version!r}, and wfpy 1.1 resumes version 1"
        raise RefusedError(own.label, "version_unsupported", detail)


def _same_workflow(run: WfpyRun, workflow: Any, app: App) -> None:
    name = header_of(run).get("workflowName")
    own = checkpoint_of(run)
    name = name if isinstance(name, str) else own.text("workflowName") if own is not None else run.run().name
    if name is not None and name != clean(str(workflow.name)):
        raise RefusedError(app.target, "other_run", f"is the workflow {workflow.name!r}, and this is a run of {name!r}")


def _state(job: Job) -> Iterator[Refusal]:
    """What the way the run ended refuses."""
    run = run_of(job)
    found, own = run.run(), checkpoint_of(run)
    name = found.id or job.path
    if found.status == "completed" and job.at_last:
        yield Refusal(code="terminal", subject=name, detail="the run is finished; choose a step before its last one")
    if found.status == "running" and job.decisions.take_over is None:
        detail = (
            f"its files say that it is running, and changed less than {FRESH:.0f} s ago; wfpy itself cannot be stopped "
            "from here: wait, or take it over when its process is known to have ended"
        )
        yield Refusal(code="owned", subject=name, detail=detail, remedy="take_over")
    owner = Claims().holder(run.claim)
    if owner is not None and job.decisions.take_over is None:
        yield Refusal(code="owned", subject=name, detail=driven(owner), remedy="take_over")
    if job.at_last and own is not None and not own.resumable:
        reasons = "; ".join(own.reasons) or "it gives no reason"
        yield Refusal(code="not_resumable", subject=own.label, detail=f"the checkpoint cannot be resumed: {reasons}")


def _twice(today: Any) -> set[tuple[str, str]]:
    """Queues that share an id with another of their plan: a replay would put all their tokens on one of them."""
    found = set()
    for path, inner in graph.plans(today):
        seen: set[str] = set()
        for queue in inner.all_queues:
            if queue.id in seen:
                found.add(("/".join(path), queue.id))
            seen.add(queue.id)
    return found


def _distinct(entry: dict[str, Any], twice: set[tuple[str, str]]) -> None:
    if not twice:
        return
    scope = entry["actor"].rpartition("/")[0]
    for group in (*(entry.get("consumed") or ()), *(entry.get("produced") or ())):
        if (scope, group[0]) in twice:
            detail = "two connections have this id, and wfpy replays the tokens of both onto one of them"
            raise RefusedError(clean(group[0]), "step_not_resumable", detail)


def _values(prepared: Prepared, found: list[values.Named]) -> Iterator[Refusal]:
    for item in found:
        reason = values.unreadable(item, prepared.names, prepared.module)
        if reason is not None:
            yield Refusal(code="value_unreadable", subject=item.where, detail=reason)


def _about_values(prepared: Prepared, found: list[values.Named]) -> Iterator[Warned]:
    pickled = [f"{item.module}:{item.name}" for item in found if item.tag == "pickle"]
    if pickled:
        detail = "these are kept as pickles, and reading one back runs what it says: resume only what you trust"
        yield warn("pickled", ", ".join(pickled), detail)
    if prepared.firings is not None:
        yield from preview.sets(prepared.firings)
