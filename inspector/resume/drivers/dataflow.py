"""Runs of our own networks, from their traces."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from inspector.dataflow.codec import Unreadable
from inspector.dataflow.definition import opaque
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Plan as NetworkPlan
from inspector.diff import Side, compare
from inspector.errors import RefusedError, UnreadableError, UsageError
from inspector.model.run import Definition, Run, SourceInfo
from inspector.model.stored import Stored, moment
from inspector.model.values import Value
from inspector.resume.apps import App
from inspector.resume.drivers import _firings, _stored
from inspector.resume.jobs import Driver, Emit, Ended, Job, Refused, Start
from inspector.resume.loop import in_loop
from inspector.resume.plan import Decisions, Edit, Need, Plan, Planned, Refusal, Remedy, Warned, planned, refusal, warn
from inspector.runner.ambiguity import ABORTED
from inspector.runner.claims import Claims, driven
from inspector.runner.data import WAITS
from inspector.runner.errors import ResumeRefused
from inspector.runner.network import agents, edits, restore
from inspector.runner.network.durable import saved_network
from inspector.runner.network.fit import ADDED, dropped, fitted, hooked, moving, odd
from inspector.runner.network.given import examine
from inspector.runner.network.offers import opened
from inspector.runner.network.restore import SavedNetwork
from inspector.runner.network.result import CHANGED, NetworkResult
from inspector.runner.network.run import Network, ResumingNetwork
from inspector.runner.network.values import LargeValues
from inspector.runner.outcomes import ExistingOwner
from inspector.runner.places import default_trace, new_id
from inspector.runner.preflight import ACCEPTABLE, Decided, Finding

NAME = "dataflow"
Findings = Sequence[tuple[str, Finding]]
"""What does not fit in agents that are in the middle of a firing, each with the agent's node."""
NAMED = 50
"""Nodes that a plan names; of a longer run, only how many there are."""


def drives(source: SourceInfo, run: Run) -> bool:
    """Whether a run is one of our networks'."""
    return source.format == "runinspect" and run.kind == "dataflow"


def _network(app: App) -> Network:
    if not isinstance(app.value, Network):
        raise UsageError(app.target, f"is of the type {type(app.value).__name__}, and the run needs a Network")
    return app.value


def _saved(job: Job) -> SavedNetwork:
    if isinstance(job.source, Stored):
        step = None if job.at_last else job.step
        return saved_network(f"{job.path}: {job.source.stored.key}", _stored.journal(job, job.source), step)
    if job.path == "-":
        raise UsageError(job.path, "a run is resumed from its own file")
    return restore.load(job.source.source.path, None if job.at_last else job.step)


def plan(job: Job) -> Plan:
    """The plan of resuming a network."""
    network, saved = _network(job.app), _saved(job)
    flat = network.plan()
    code = asyncio.run(_described(network, flat))
    diff = compare(Side(definition=saved.header.definition), Side(definition=code))
    base = Plan(resumable=True, driver=NAME, step=job.step, diff=diff)
    if saved.final and job.at_last and not job.decisions.edits:
        return base
    try:
        hooked(saved, code, job.decisions.accept)
        fit = fitted(saved, flat, code, network.values.beside(_large(job)))
        run = fit.run
        changed = edits.edited(run, job.decisions.edits)
        moving(saved, run)
        waits = asyncio.run(_waiting(run, _decided(job, saved)))
        examine(run, {firing: (said.how, said.value) for firing, said in job.decisions.reconcile.items()})
    except ResumeRefused as error:
        remedy: Remedy | None = "accept" if error.code == "hook_missing" else None
        refusal = Refusal(code=error.code, subject=error.place, detail=error.detail, remedy=remedy)
        return msgspec.structs.replace(base, resumable=False, refusals=(refusal,))
    owner = _owner(job, saved)
    held: tuple[Refusal, ...] = ()
    taken: tuple[Warned, ...] = ()
    if owner is not None and job.decisions.take_over is None and not _taken_over(job):
        held = (Refusal(code="owned", subject=saved.header.id, detail=owner, remedy="take_over"),)
    elif owner is not None:
        taken = (warn("owned", saved.header.id, owner),)
    findings = [(agent.name, finding) for agent in waits for finding in agent.found.findings]
    firings = {happened.id for happened in saved.open}
    said = {firing: decided.how for firing, decided in job.decisions.reconcile.items() if firing in firings}
    return msgspec.structs.replace(
        base,
        edits=tuple(Edit(path=change.path, before=change.before, after=change.after) for change in changed),
        refusals=(*held, *_refusals(findings, job.decisions)),
        replays=tuple(_firings.replays(run)),
        runs=(
            *_firings.runs(saved, run, said),
            *(planned(work, agent.name) for agent in waits for work in agent.found.runs),
            *(Planned(name=agent.name, kind="firing", note="begins anew") for agent in waits if agent.anew),
        ),
        runs_again=(
            *_firings.again(saved, flat),
            *_firings.once_more(network, saved, run, said),
            *(planned(work, agent.name) for agent in waits for work in agent.found.again),
        ),
        needs=(
            *_firings.needs(network, saved, run),
            *(
                Need(call_id=owed.call_id, name=f"{agent.name}/{owed.name}", question=owed.question, detail=owed.detail)
                for agent in waits
                for owed in agent.found.owed
            ),
        ),
        warnings=(
            *taken,
            *(Warned(code=ADDED + name, subject=name, detail="is new in the graph", accept=True) for name in fit.added),
            *_warnings(saved, flat, base, run),
            *_about_agents(findings, job.decisions),
        ),
    )


def _owner(job: Job, saved: SavedNetwork) -> str | None:
    """Who drives the run now, in words."""
    if isinstance(job.source, Stored):
        owner = _stored.owner(job.source)
        return None if owner is None else _stored.OWNED.format(owner.who(), moment(owner.renewed))
    holder = Claims().holder(saved.header.id)
    return None if holder is None else driven(holder)


def _taken_over(job: Job) -> bool:
    return isinstance(job.source, Stored) and "owned" in job.decisions.accept


async def _described(network: Network, flat: NetworkPlan) -> Definition:
    async with opened(flat) as offers:
        return network.described(flat, offers)


async def _waiting(run: NetworkRun, decided: Decided) -> list[agents.Waiting]:
    async with opened(run.plan):
        return await agents.waiting(run, decided)


def _decided(job: Job, saved: SavedNetwork) -> Decided:
    """What was decided about the calls of agents; what is about firings is not."""
    decisions, firings = job.decisions, {happened.id for happened in saved.open}
    return Decided(
        approve=list(decisions.approve),
        deny=dict(decisions.deny),
        answer=dict(decisions.answer),
        edit=dict(decisions.arguments),
        edits=dict(decisions.edits),
        reconcile={c: (d.how, d.value) for c, d in decisions.reconcile.items() if c not in firings},
        resolve={call: (made.how, made.text) for call, made in decisions.resolve.items()},
        accept=set(decisions.accept),
        why=dict(decisions.why),
        take_over=decisions.take_over,
    )


def _refusals(findings: Findings, decisions: Decisions) -> Iterator[Refusal]:
    for agent, finding in findings:
        if finding.refusal and not _accepted(finding, decisions):
            yield refusal(finding, agent)


def _about_agents(findings: Findings, decisions: Decisions) -> Iterator[Warned]:
    for agent, finding in findings:
        if not finding.refusal or _accepted(finding, decisions):
            subject, accept = f"{agent}: {finding.subject}", finding.accept
            yield Warned(code=finding.code, subject=subject, detail=finding.detail, accept=accept)


def _accepted(finding: Finding, decisions: Decisions) -> bool:
    return finding.code in ACCEPTABLE and finding.code in decisions.accept


def _warnings(saved: SavedNetwork, flat: NetworkPlan, base: Plan, run: NetworkRun) -> Iterator[Warned]:
    if (resumed := Claims().resumed(saved.header.id)) is not None:
        yield warn("already_resumed", saved.header.id, resumed)
    harmless = {node.name for node in flat.nodes if node.actor is None or node.actor.idempotency == "supported"}
    later = Counter(saved.later())
    for name, count in later.items():
        if name not in harmless:
            detail = (
                f"{count} firing{'' if count == 1 else 's'} behind the step: effects are not undone, and come again"
            )
            yield warn("side_effects", name, detail)
    if saved.reason == CHANGED and saved.error is not None and saved.step == saved.last:
        detail = f"{saved.error.message}; what its firings gave is taken over, and may come of that"
        yield warn("parameter_changed", "/".join(saved.error.where or ()), detail)
    for happened in saved.begun:
        if happened.name not in harmless:
            yield warn("side_effects", happened.name, "was under way behind the step: what it did then is not undone")
    if later:
        total = sum(later.values())
        yield warn("runs_again", saved.header.id, f"{total} completed firings stand behind step {saved.step}")
    for node in base.diff.graph.changed_nodes:
        changed = ", ".join(change.path for change in node.changes)
        yield warn("node_changed", node.id, f"{changed} is not what the run was made with; the new one runs")
    for name, unknown in opaque(saved.header.definition):
        detail = f"{unknown} cannot be saved: whether it is the same, and what bodies changed in it, is not known"
        yield warn("parameters_unknown", name, detail)
    for edge in base.diff.graph.changed_edges:
        detail = ", ".join(f"{change.path} was {change.left}, and is {change.right}" for change in edge.changes)
        yield warn("edge_changed", edge.id, f"{detail}; the new one holds")
    if base.diff.graph.reordered:
        yield warn("graph_reordered", flat.name, "which of several nodes that can fire is first may be another one now")
    for change in base.diff.settings:
        yield warn("settings_changed", change.path, f"was {change.left}, and is {change.right}; the new one holds")
    for name, fields in dropped(run):
        yield warn(
            "state_dropped", name, f"has no state field {', '.join(fields)} any more; what was saved of it is lost"
        )
    for name, detail in odd(run):
        yield warn("state_changed", name, detail)
    for tool in base.diff.tools.changed:
        changed = ", ".join(change.path for change in tool.changes)
        yield warn("tool_changed", tool.name, f"{changed} is not what the run was made with; the new one runs")


def resume(job: Job, plan: Plan, emit: Emit) -> Ended:
    """Carry a plan out."""
    saved = _saved(job)
    in_store = isinstance(job.source, Stored)
    if saved.final and job.at_last and not job.decisions.edits and not in_store:
        return Ended(
            run=saved.header.id,
            status=saved.status or "unknown",
            reason=saved.reason,
            output=_output(saved, _large(job)) if saved.status == "completed" else None,
            trace=job.path,
            replayed=saved.step,
            outcome="terminal_replay",
            final=saved.status == "failed",
        )
    if plan.needs and not (plan.runs or job.decisions.calls() or plan.edits or plan.takes_over):
        # Nothing would run: it stays as it is, and no new run is made of it.
        reason = WAITS[plan.needs[0].question]
        run = job.source.stored.key if isinstance(job.source, Stored) else saved.header.id
        return Ended(run=run, status="suspended", reason=reason, trace=job.path, outcome=None)
    if isinstance(job.source, Stored) and job.in_place:
        return _resume_stored(job, job.source, plan, saved, emit)
    # Behind a store, what goes on from an earlier step, or edited, is a run of its own, with a trace.
    lines, stored = (job.source.journal(), job.source.large().data) if isinstance(job.source, Stored) else (None, None)
    step = None if job.at_last else job.step
    asked = ResumingNetwork(_network(job.app), saved.path, step, lines=lines, stored=stored)
    asked.decided = _decided(job, saved)
    for firing, decided in job.decisions.reconcile.items():
        asked.reconcile(firing, decided.how, decided.value)
    run_id = new_id()
    asked.observe(emit).control(job.control).id(run_id)
    try:
        result = in_loop(asked.run(trace=job.trace or default_trace(run_id)), job.control)
    except RefusedError as error:
        raise Refused([Refusal(code=error.code, subject=error.place, detail=error.detail)], plan) from error
    return _ended(result, emit)


def _resume_stored(job: Job, source: Stored, plan: Plan, saved: SavedNetwork, emit: Emit) -> Ended:
    """Have the run go on in the store itself."""
    key = source.stored.key
    _stored.no_trace(job)
    with _stored.opened(job.path) as store:
        asked = _network(job.app).resume(store, key)
        asked.decided = _decided(job, saved)
        for firing, decided in job.decisions.reconcile.items():
            asked.reconcile(firing, decided.how, decided.value)
        asked.observe(emit).control(job.control)
        try:
            outcome = in_loop(asked.run(), job.control)
        except RefusedError as error:
            raise Refused([Refusal(code=error.code, subject=error.place, detail=error.detail)], plan) from error
    if isinstance(outcome, ExistingOwner):
        raise Refused([Refusal(code="owned", subject=key, detail=str(outcome))], plan)
    told = {"run": key, "trace": job.path, "outcome": _stored.named(outcome)}
    return msgspec.structs.replace(_ended(outcome.result, emit), **told)


def _large(job: Job) -> LargeValues:
    """The large values of the run that is resumed."""
    if isinstance(job.source, Stored):
        return LargeValues(None, stored=job.source.large().data)
    return LargeValues(None, [job.source.source.path])


def _output(saved: SavedNetwork, large: LargeValues) -> Value:
    """The output of a run that is over, whole. Raises UnreadableError where a large value of it is gone."""
    try:
        return {port: [large.whole(token) for token in tokens] for port, tokens in (saved.output or {}).items()}
    except Unreadable as error:
        raise UnreadableError(saved.path, str(error)) from error


def start(asked: Start, emit: Emit) -> Ended:
    """Start a run of a network; the input is an object of the tokens of each port, one value for one token."""
    network = _network(asked.app)
    given = asked.input if asked.input is not None else {}
    if not isinstance(given, dict):
        raise UsageError("--input", "a network needs an object of its ports: --input '{\"port\": [...]}'")
    inputs = {port: tokens if isinstance(tokens, list) else [tokens] for port, tokens in given.items()}
    run_id = new_id()
    if asked.store is not None:
        key = run_id if asked.key is None else asked.key
        with _stored.opened(asked.store) as store:
            durable = network.run(inputs, id=run_id, observe=emit, control=asked.control, store=store, key=key)
            return msgspec.structs.replace(_ended(in_loop(durable, asked.control), emit), run=key)
    trace = asked.trace or default_trace(run_id)
    going = network.run(inputs, trace=trace, id=run_id, observe=emit, control=asked.control)
    return _ended(in_loop(going, asked.control), emit)


def _ended(result: NetworkResult, emit: Emit) -> Ended:
    for error in (*(failure.error for failure in result.failures), *filter(None, [result.stuck])):
        where = "/".join(error.where or ())
        emit({"event": "error", "where": where, "type": error.type, "message": error.message})
    for left in result.leftovers:
        emit({"event": "leftover", "queue": left.queue, "count": left.count, "kind": left.kind, "why": left.why})
    if result.open or result.pending:
        emit({"event": "suspended", "reason": result.reason, "pending": [*result.open, *result.pending]})
    return Ended(
        run=result.run_id,
        status=result.status,
        reason=result.reason,
        output=result.saved_outputs if result.status == "completed" else None,
        trace=result.trace,
        resumed_from=result.resumed_from,
        replayed=result.replayed,
        ran=result.steps,
        final=result.reason == ABORTED,
    )


def today(app: App) -> Definition:
    """What a network is now."""
    network = _network(app)
    return asyncio.run(_described(network, network.plan()))


DRIVER = Driver(
    name=NAME,
    drives=drives,
    plan=plan,
    resume=resume,
    takes=lambda value: isinstance(value, Network),
    start=start,
    today=today,
    partial=True,
)
