"""Resuming: from a run in a file to a plan, and from a plan to a run that continues.

A driver resumes the runs of one kind. It is one module (or package) in `drivers` with one entry, `DRIVER`,
and nothing else names it. It says which runs it `drives`, makes the `plan` without running anything of the
run, and `resume`s: the plan was accepted by then, and its needs are met. What every driver would have to do
alike is done here, once: opening, the token of a plan, refusals, warnings, needs.
"""

import hashlib
import importlib
import os
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec

from inspector import audit
from inspector.errors import InspectorError, RefusedError, UnreadableError, UsageError
from inspector.model.nodes import LOOKED_AT, perhaps, within
from inspector.model.run import Definition, Record, Run, SourceInfo
from inspector.model.source import RunSource
from inspector.model.stored import Stored
from inspector.model.values import Value, clean_value, to_json
from inspector.resume.apps import App
from inspector.resume.plan import Decisions, Edit, Ended, Need, Plan, Planned, Refusal, Warned, warn
from inspector.runner.data import WAITS
from inspector.runner.drive import Control

Emit = Callable[[dict[str, Any]], None]
"""Takes the events of a run as they happen: dicts with an `event`, as `resume --json` prints them."""


class Job(Record, frozen=True, kw_only=True):
    """A run to be resumed after `step`, with today's code. `source` is fully indexed; `trace` is where
    the new run's trace goes (None: the driver's choice in the platform's data folder)."""

    path: str
    source: RunSource
    step: int
    app: App
    decisions: Decisions = msgspec.field(default_factory=Decisions)
    trace: str | None = None
    at_last: bool = True
    """Whether `step` is the run's last one."""
    control: Control = msgspec.field(default_factory=Control)
    """What the run is steered with."""
    hear: Callable[[Any], None] | None = None
    """Takes the stream items of an agent's model and tools; None: models are not streamed."""

    @property
    def in_place(self) -> bool:
        """Whether it goes on in its store; else, from an earlier step or with edits, as a run of its own."""
        return isinstance(self.source, Stored) and self.at_last and not self.decisions.edits


class Start(Record, frozen=True, kw_only=True):
    """A run to be started with today's code: what it is given, and where its trace goes."""

    app: App
    input: Value = None
    trace: str | None = None
    store: str | None = None
    """The store that it is kept in, in place of a trace; under `key`, or its own id."""
    key: str | None = None
    control: Control = msgspec.field(default_factory=Control)


class Driver(Record, frozen=True, kw_only=True):
    """How runs of one kind are resumed. `partial`: a run can go on as far as the decisions reach, and is
    then suspended again; otherwise nothing runs while a need is open. For programs of ours also: which
    objects it `takes`, how it `start`s a run of one, and what one is `today`."""

    name: str
    drives: Callable[[SourceInfo, Run], bool]
    plan: Callable[[Job], Plan]
    resume: Callable[[Job, Plan, Emit], Ended]
    partial: bool = False
    edits: bool = True
    """Whether values of the state can be edited."""
    takes: Callable[[Any], bool] = lambda value: False
    start: Callable[[Start, Emit], Ended] | None = None
    today: Callable[[App], Definition] | None = None


class Refused(RefusedError):
    """The resume of a plan with refusals, or with warnings that nobody accepted."""

    def __init__(self, refusals: Sequence[Refusal | Warned], plan: Plan | None = None) -> None:
        self.refusals, self.plan = refusals, plan
        super().__init__(refusals[0].subject, refusals[0].code, refusals[0].detail)
        if refusals[0].code == "owned":
            self.exit_code = 5


BATCH = 500
"""Steps that are looked at at once."""


@cache
def all_drivers() -> Sequence[Driver]:
    """All drivers, by name."""
    package = importlib.import_module("inspector.resume.drivers")
    return [
        importlib.import_module(f"{package.__name__}.{module.name}").DRIVER
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    ]


def driver_of(source: RunSource) -> Driver | None:
    """The driver for a run, None where there is none."""
    run = source.run()
    return next((driver for driver in all_drivers() if driver.drives(source.source, run)), None)


def open_job(
    path: str,
    app: App,
    *,
    run: str | None = None,
    step: int | None = None,
    rerun: str | None = None,
    format: str | None = None,
    trace: str | None = None,
) -> Job:
    """The job of resuming what a path holds, at its end, at `step`, or at the step before the last one of the node
    `rerun` (or of one in it). Raises UnreadableError and UsageError."""
    from inspector.formats import open_path

    source = open_path(path, format).open(run)
    for _ in source.index():
        pass
    last = len(source)
    if rerun is not None:
        if step is not None:
            raise UsageError(f"--rerun {rerun}", "and --step say both where to go on from")
        named = getattr(app.value, "named", None)
        step = _before(source, named(rerun) if callable(named) and source.run().kind == "dataflow" else rerun)
    if step is not None and not 0 <= step <= last:
        raise UsageError(f"--step {step}", f"the steps of this run are 0 to {last}")
    at = last if step is None else step
    return Job(
        path=path,
        source=source,
        step=at,
        app=app,
        trace=trace,
        at_last=at == last,
    )


def _before(source: RunSource, node: str) -> int:
    """The step before the last one of a node."""
    names = dict[str, None]()
    for begin in range(len(source) // BATCH * BATCH + 1, 0, -BATCH):
        for step in reversed(source.steps(begin, min(begin + BATCH, len(source) + 1))):
            if step.name is not None and within(step.name, node):
                return step.seq - 1
            if step.name is not None and len(names) < LOOKED_AT:
                names[step.name] = None
    before = source.run().resumed_from
    earlier = f"; the steps before it went on are those of {before.run}" if before is not None else ""
    raise UsageError(f"--rerun {node}", f"no step of the run has this name{earlier}{perhaps(node, names)}")


def check(job: Job) -> Plan:
    """The plan of a job: what would be replayed and run, what is owed, and why it is refused, if it is."""
    driver = driver_of(job.source)
    if driver is None:
        return _not_resumable(job)
    if job.decisions.edits and not driver.edits:
        return _not_editable(job, driver)
    try:
        plan = driver.plan(job)
    except RefusedError as error:
        refusal = Refusal(code=error.code, subject=error.place, detail=error.detail)
        plan = Plan(resumable=False, driver=driver.name, step=job.step, refusals=(refusal,))
    except UnreadableError as error:
        refusal = Refusal(code="value_unreadable", subject=error.place, detail=error.reason)
        plan = Plan(resumable=False, driver=driver.name, step=job.step, refusals=(refusal,))
    if any(refusal.code == "owned" for refusal in plan.refusals):
        plan = _driven(plan)
    return msgspec.structs.replace(plan, plan=token(job), resumable=plan.resumable and not plan.refusals)


def _driven(plan: Plan) -> Plan:
    """The plan of a run that somebody drives: what is under way there is theirs, so nothing of it may have happened
    without a word, is owed here, or would run."""
    refusals = (refusal for refusal in plan.refusals if refusal.code != "model_in_flight")
    warnings = (warning for warning in plan.warnings if warning.code != "runs_again")
    return msgspec.structs.replace(
        plan, needs=(), runs=(), runs_again=(), refusals=tuple(refusals), warnings=tuple(warnings)
    )


def resume(job: Job, emit: Emit, *, expected: str | None = None) -> Ended:
    """Do what the plan of the job says. `expected` is the token of the plan that was agreed to. Raises
    Refused, with the plan, before anything runs."""
    plan = check(job)
    refusals: Sequence[Refusal | Warned] = plan.refusals
    if not refusals and expected is not None and expected != plan.plan:
        detail = "the file or the code changed since the plan was made: check again"
        refusals = (Refusal(code="plan_changed", subject=job.path, detail=detail),)
    if refusals := refusals or plan.unaccepted(job.decisions.accept):
        raise Refused(refusals, plan)
    driver = driver_of(job.source)
    assert driver is not None  # without one the plan is refused
    owed = [need for need in plan.needs if not job.decisions.met(need)]
    for need in owed:
        emit({"event": "needs", **msgspec.structs.asdict(need)})
    if owed and not driver.partial:
        run = job.source.run()
        return Ended(run=run.id, status="suspended", reason=WAITS[owed[0].question], trace=job.path, outcome=None)
    _audit(job, plan)
    return driver.resume(job, plan, emit)


def _audit(job: Job, plan: Plan) -> None:
    """Write down who goes on with the run, and what was decided. Raises UsageError when that cannot be."""
    made, run = job.decisions, job.source.run().id
    if made.take_over is not None:
        audit.record("take over", run, path=job.path, reason=made.take_over)
    for what, calls in (("approve", made.approve), ("deny", made.deny), ("answer", made.answer)):
        for call in calls:
            reason = made.deny.get(call) if what == "deny" else None
            audit.record(what, call, run=run, reason=reason or made.why.get(call))
    for call in made.arguments:
        audit.record("edit", call, run=run, reason=made.why.get(call))
    for path in made.edits:
        audit.record("edit", path, run=run, reason=made.why.get(path))
    for call, decided in made.reconcile.items():
        audit.record("reconcile", call, run=run, how=decided.how, reason=made.why.get(call))
    for call, resolved in made.resolve.items():
        audit.record("resolve", call, run=run, how=resolved.how, reason=resolved.text or made.why.get(call))
    for code in sorted(made.accept):
        audit.record("accept", code, run=run)
    audit.record("resume", run, path=job.path, step=job.step, app=job.app.target, plan=plan.plan)


def start(asked: Start, emit: Emit) -> Ended:
    """Start a run of what the target names. Raises UsageError when nothing here runs such an object."""
    driver = next(
        (driver for driver in all_drivers() if driver.start is not None and driver.takes(asked.app.value)), None
    )
    if driver is None or driver.start is None:
        kind = type(asked.app.value).__name__
        raise UsageError(asked.app.target, f"is of the type {kind}: only agents and networks of inspector can be run")
    return driver.start(asked, emit)


def today(app: App) -> Definition:
    """What the code is now. Raises UsageError for an object that no driver can describe."""
    driver = next((driver for driver in all_drivers() if driver.today is not None and driver.takes(app.value)), None)
    if driver is None or driver.today is None:
        raise UsageError(app.target, f"is of the type {type(app.value).__name__}: its definition cannot be told")
    return driver.today(app)


def token(job: Job) -> str:
    """A digest of what a plan depends on: the file, the run and step with its edits, the code. What is decided about
    single calls is not in it."""
    source = job.source
    # Other runs of a store change its file, and nothing of this one.
    stamps = [source.stored.revision] if isinstance(source, Stored) else _stamps(job.path)
    parts = [source.run().id, job.step, job.app.target, job.app.digest, *stamps]
    if job.decisions.edits:
        parts.append(job.decisions.edits)
    return hashlib.sha256(to_json(clean_value(parts)).encode()).hexdigest()[:32]


def _stamps(path: str) -> list[list[object]]:
    """Name, size and time of the files behind a path."""
    found: list[list[object]] = []
    names = [path, path + "-wal"]
    if os.path.isdir(path):
        names = [os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files]
    for name in sorted(names)[:100_000]:
        try:
            status = os.stat(name)
        except OSError:
            continue
        found.append([name, status.st_size, status.st_mtime_ns])
    return found


def _not_editable(job: Job, driver: Driver) -> Plan:
    detail = f"the driver {driver.name} has the run go on from its own files, and takes their values as they are"
    refusals = tuple(Refusal(code="edit_invalid", subject=path, detail=detail) for path in job.decisions.edits)
    return Plan(resumable=False, driver=driver.name, step=job.step, plan=token(job), refusals=refusals)


def _not_resumable(job: Job) -> Plan:
    name = job.source.source.format
    detail = f"a {name} file can be looked at, but nothing here resumes it; see `runinspect formats`"
    if name == "runinspect":
        detail = "what the run was stands at its beginning, and that is damaged; cut short there, nothing had run yet"
    refusal = Refusal(code="not_resumable", subject=job.path, detail=detail)
    return Plan(resumable=False, driver=None, step=job.step, plan=token(job), refusals=(refusal,))


__all__ = [
    "App",
    "Decisions",
    "Driver",
    "Edit",
    "Emit",
    "Ended",
    "InspectorError",
    "Job",
    "Need",
    "Plan",
    "Planned",
    "Refusal",
    "Refused",
    "Start",
    "Warned",
    "all_drivers",
    "check",
    "driver_of",
    "open_job",
    "resume",
    "start",
    "today",
    "token",
    "warn",
]
