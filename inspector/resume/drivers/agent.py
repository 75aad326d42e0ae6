"""Agent runs: our own traces, our saved runs, and those of rig."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from inspector.diff import Side, compare
from inspector.errors import UsageError
from inspector.model.run import Definition, Run, SourceInfo, Step
from inspector.model.stored import Stored
from inspector.model.values import Value, to_json
from inspector.resume.apps import App
from inspector.resume.drivers import _stored
from inspector.resume.jobs import Driver, Emit, Ended, Job, Refused, Start
from inspector.resume.loop import in_loop
from inspector.resume.plan import Edit, Need, Plan, Planned, Refusal, Warned, planned, refusal, warn
from inspector.resume.steering import Steering
from inspector.runner import restore, resuming
from inspector.runner.agent import Agent
from inspector.runner.claims import Claims
from inspector.runner.data import WAITS, Failed
from inspector.runner.drive import Control
from inspector.runner.driving import Deciding, Resuming
from inspector.runner.durable import told
from inspector.runner.errors import ResumeRefused
from inspector.runner.leg import Setup
from inspector.runner.places import default_trace, new_id
from inspector.runner.preflight import ACCEPTABLE, LIMITS, Preflight
from inspector.runner.restore import Restored
from inspector.runner.result import RunResult

NAME = "agent"
Asked = TypeVar("Asked", bound=Deciding[Any])


def drives(source: SourceInfo, run: Run) -> bool:
    """Whether a run is an agent's that can be driven here."""
    return source.format == "rig" or (source.format == "runinspect" and run.kind == "agent")


def _agent(app: App) -> Agent:
    if not isinstance(app.value, Agent):
        raise UsageError(app.target, f"is of the type {type(app.value).__name__}, and the run needs an Agent")
    return app.value


def _saved(job: Job) -> Restored:
    source = job.source
    if isinstance(source, Stored):
        return _stored.saved(job, source)
    path = job.path if os.path.isfile(job.path) else job.source.source.path
    if job.path == "-" or not os.path.isfile(path):
        raise UsageError(job.path, "a run is resumed from its own file")
    return restore.load(path, None if job.at_last else job.step)


def _asked(job: Job, saved: Restored) -> Resuming:
    return decide(job, _agent(job.app).resume(saved))


def decide(job: Job, asked: Asked) -> Asked:
    """Tell a run that goes on what was decided."""
    decisions = job.decisions
    asked.approve(*decisions.approve).accept(*decisions.accept)
    asked.because(decisions.why, take_over=decisions.take_over)
    for call, reason in decisions.deny.items():
        asked.deny(call, reason)
    for call, value in decisions.answer.items():
        asked.answer(call, value)
    for call, arguments in decisions.arguments.items():
        asked.edit(call, arguments)
    for path, value in decisions.edits.items():
        asked.change(path, value)
    for call, reconciliation in decisions.reconcile.items():
        asked.reconcile(call, reconciliation.how, reconciliation.value)
    for call, resolved in decisions.resolve.items():
        asked.resolve(resolved.how, resolved.text, call=call)
    if decisions.max_turns is not None:
        asked.max_turns(decisions.max_turns)
    if decisions.token_budget is not None:
        asked.token_budget(decisions.token_budget)
    return asked


def plan(job: Job) -> Plan:
    """The plan of resuming an agent run."""
    agent, saved = _agent(job.app), _saved(job)
    asked = _asked(job, saved)
    today = asyncio.run(_today(agent))
    diff = compare(Side(definition=job.source.definition(), state=None), Side(definition=today))
    if asked.is_over(saved.run) and not job.decisions.edits:
        detail = "the run is finished: its answer is in the file"
        refusals = (Refusal(code="terminal", subject=job.path, detail=detail),) if saved.format == "rig" else ()
        return Plan(resumable=not refusals, driver=NAME, step=job.step, refusals=refusals, diff=diff)
    found = asyncio.run(_examined(agent, asked, saved))
    if isinstance(job.source, Stored):
        found.findings += _stored.findings(job, job.source, saved, today)
    refused = [item for item in found.findings if item.refusal]
    accepted = [item for item in refused if item.code in ACCEPTABLE and item.code in job.decisions.accept]
    warned = [item for item in found.findings if not item.refusal]
    return Plan(
        resumable=True,
        driver=NAME,
        step=job.step,
        replays=_replays(job),
        runs=tuple(planned(work) for work in found.runs),
        runs_again=tuple(planned(work) for work in found.again),
        needs=tuple(_needs(job, found, saved)),
        edits=tuple(Edit(path=change.path, before=change.before, after=change.after) for change in asked.edited),
        refusals=tuple(refusal(item) for item in refused if item not in accepted),
        warnings=(
            *(Warned(code=item.code, subject=item.subject, detail=item.detail) for item in accepted),
            *(Warned(code=item.code, subject=item.subject, detail=item.detail, accept=item.accept) for item in warned),
            *_left_behind(job),
        ),
        diff=diff,
    )


async def _today(agent: Agent) -> Definition:
    async with contextlib.AsyncExitStack() as stack:
        if agent.setup.registry.sources:
            await stack.enter_async_context(agent)
        return await agent.definition()


async def _examined(agent: Agent, asked: Resuming, saved: Restored) -> Preflight:
    async with contextlib.AsyncExitStack() as stack:
        if agent.setup.registry.sources:
            await stack.enter_async_context(agent)
        return await resuming.examined(asked, saved, Claims() if saved.path is not None else None)


def _needs(job: Job, found: Preflight, saved: Restored) -> Iterator[Need]:
    """What is owed. Of what may have happened, the journal knows more than the run; so it does where that is taken
    over while its process is still there."""
    state = job.source.state(job.step)
    pending = state.pending if state is not None and state.pending is not None else ()
    notes: dict[str | None, str | None]
    notes = {slot.call.call_id: saved.doubts.get(slot.call.internal_id) for slot in saved.run.slots}
    notes |= {item.call_id: item.note for item in pending if item.status == "ambiguous" and item.note}
    for owed in found.owed:
        known = notes.get(owed.call_id) if owed.question == "reconcile" else None
        yield Need(call_id=owed.call_id, name=owed.name, question=owed.question, detail=known or owed.detail)


def _replays(job: Job) -> tuple[Planned, ...]:
    """The steps that the run already has: they are taken over, and not run."""
    steps = job.source.steps(1, job.step + 1)
    return tuple(Planned(name=step.name, kind=step.kind, step=step.seq) for step in steps if step.status == "done")


def _left_behind(job: Job) -> list[Warned]:
    """What happened after the step, and is not undone by going back to it."""
    if job.at_last:
        return []
    later = [step for step in job.source.steps(job.step + 1, len(job.source) + 1) if step.kind == "tools"]
    named = [(step.seq, _did(job, step)) for step in later]
    return [
        warn("side_effects", name, f"step {seq} ran after the chosen step; what it did is not undone")
        for seq, name in named
        if name
    ]


def _did(job: Job, step: Step) -> str:
    """The calls of a batch that were made, by the names of their tools: of one that is not done some only wait."""
    state = job.source.state(step.seq) if step.status == "pending" else None
    if state is None or state.pending is None:
        return step.name
    return ", ".join(item.name for item in state.pending if item.status in ("answered", "in_flight", "ambiguous"))


def resume(job: Job, plan: Plan, emit: Emit) -> Ended:
    """Carry a plan out."""
    saved = _saved(job)
    asked = _asked(job, saved)
    over = asked.is_over(saved.run)
    doing = plan.runs or plan.runs_again or plan.edits or job.decisions.calls()
    if plan.needs and not (doing or plan.takes_over):
        # Nothing would run: it stays as it is, and no new run is made of it.
        key = job.source.stored.key if isinstance(job.source, Stored) else saved.id
        return Ended(run=key, status="suspended", reason=_reason(plan), trace=job.path, outcome=None)
    _name_models(job.control, asked.setup)
    if isinstance(job.source, Stored) and job.in_place:
        return _ended_as(_stored.resume(job, job.source, plan, decide, emit), emit)
    asked.observe(emit).control(job.control)
    if isinstance(job.source, Stored):
        asked.setup = told(asked.setup, job.source.stored)
    try:
        result = in_loop(asked.run(trace=job.trace, hear=job.hear), job.control)
    except ResumeRefused as error:
        raise Refused([Refusal(code=error.code, subject=error.place, detail=error.detail)], plan) from error
    ended = _ended(result, emit)
    if over:
        return msgspec.structs.replace(ended, replayed=saved.step, resumed_from=None, outcome="terminal_replay")
    return msgspec.structs.replace(ended, replayed=saved.step, resumed_from=saved.id)


def _name_models(control: Control, setup: Setup) -> None:
    """So that breakpoints can name them."""
    if isinstance(control, Steering):
        model = setup.model
        control.models = (model if isinstance(model, str) else getattr(model, "name", "model"),)


def _reason(plan: Plan) -> str | None:
    return WAITS[plan.needs[0].question] if plan.needs else None


def start(asked: Start, emit: Emit) -> Ended:
    """Start a run of an agent; the input is its prompt."""
    agent = _agent(asked.app)
    if asked.input is None:
        raise UsageError("--input", "an agent needs a prompt: --input '\"...\"'")
    prompt = asked.input if isinstance(asked.input, str) else to_json(asked.input)
    run_id = new_id()
    _name_models(asked.control, agent.setup)
    going = agent.prompt(prompt).id(run_id).observe(emit).control(asked.control)
    if asked.store is None:
        return _ended(in_loop(going.run(trace=asked.trace or default_trace(run_id)), asked.control), emit)
    key = run_id if asked.key is None else asked.key
    with _stored.opened(asked.store) as store:
        result = in_loop(going.durable(store, key).run(), asked.control)
    return msgspec.structs.replace(_ended(result, emit), run=key)


def _ended_as(stored: "_stored.Ended", emit: Emit) -> Ended:
    ended = _ended(stored.result, emit)
    told = {"run": stored.key, "trace": stored.store, "replayed": stored.replayed, "outcome": stored.outcome}
    return msgspec.structs.replace(ended, **told)


def _ended(result: RunResult, emit: Emit) -> Ended:
    if result.status in ("suspended", "interrupted") and result.pending:
        pending: list[Value] = [msgspec.structs.asdict(call) for call in result.pending]
        emit({"event": "suspended", "reason": result.reason, "pending": pending})
    if result.error is not None:
        emit({"event": "error", "type": result.error.type, "message": result.error.message})
    phase = result.run.data.phase
    return Ended(
        run=result.run_id,
        status=result.status,
        reason=result.reason,
        output=_told(result.output),
        trace=result.trace,
        resumed_from=result.resumed_from,
        ran=result.steps,
        final=isinstance(phase, Failed) and phase.kind not in LIMITS,
    )


def _told(output: Any) -> Value:
    """An answer as a value; objects of the agent's output type become one."""
    return output if output is None or isinstance(output, str | dict | list) else msgspec.to_builtins(output)


def today(app: App) -> Definition:
    """What an agent is now."""
    return asyncio.run(_today(_agent(app)))


DRIVER = Driver(
    name=NAME,
    drives=drives,
    plan=plan,
    resume=resume,
    partial=True,
    takes=lambda value: isinstance(value, Agent),
    start=start,
    today=today,
)
