"""How a saved run goes on: what it is, whether it may, what was decided; then the same loop as ever."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from inspector.journal import Journal
from inspector.model.values import Value
from inspector.runner import driving, edits, ending, performing, places, reconciling
from inspector.runner import hooks as hooking
from inspector.runner.claims import Claims, driven
from inspector.runner.data import Advancing, Awaiting, Executing, Resolving
from inspector.runner.effects import Answer, AnyEvent, Approve, Configure, Deny, Edit, Resolve, Wait
from inspector.runner.errors import RequestError
from inspector.runner.leg import Emit, Leg
from inspector.runner.machine import AgentRun
from inspector.runner.messages import Call
from inspector.runner.preflight import MODEL, Decided, Finding, Preflight, examine
from inspector.runner.restore import Restored, load
from inspector.runner.result import RunResult

if TYPE_CHECKING:
    from inspector.runner.driving import Deciding


ANEW = (
    "only the run's prompt is in the file: it begins again from that, with the limits of today's agent, and without "
    "a history or conversation"
)
DOUBT = "started before the run was resumed, no result recorded: it may have happened"
"""What is said of a call that was begun where its run does not tell by whom."""


def restored(source: Any, step: int | None = None) -> Restored:
    """The saved run that is meant. What is in memory is copied: resuming it twice is two runs."""
    if isinstance(source, Restored):
        return source
    if isinstance(source, RunResult):
        source = source.run
    if isinstance(source, AgentRun):
        run = source.copy()
        data = run.data
        return Restored(run=run, id=data.id, format="runinspect", step=0, name=data.agent, definition=data.definition)
    return load(str(source), step)


async def examined(asked: "Deciding[Any]", saved: Restored, claims: Claims | None) -> Preflight:
    """The preflight of a resume, with what the host knows of the run."""
    snapshot = await asked.setup.registry.everything()
    if saved.anew:
        saved.run = asked.agent.new_run(saved.run.data.messages[0], saved.id)
    asked.edited = edits.edited(saved.run.data, asked.decided.edits, snapshot.tools)
    found = examine(
        saved.run.data,
        saved.definition,
        saved.name,
        snapshot.tools,
        hooking.listed(asked.setup.hooks),
        asked.agent.name,
        asked.decided,
        asked.setup.ambiguity,
    )
    if saved.anew:
        found.findings.append(Finding("begins_anew", saved.id, ANEW, False, True))
    if claims is not None and not asked.is_over(saved.run):
        _known(saved, claims, found, asked.decided)
    return found


def _known(saved: Restored, claims: Claims, found: Preflight, decided: Decided) -> None:
    holder = claims.holder(saved.id)
    if holder is not None:
        found.findings.insert(0, Finding("owned", saved.id, driven(holder), decided.take_over is None))
    resumed = claims.resumed(saved.id)
    if resumed is not None:
        found.findings.append(Finding("already_resumed", saved.id, resumed, False, True))


async def go(
    asked: "Deciding[Any]", saved: Restored, trace: str | None, journal: Journal | None, emit: Emit | None
) -> RunResult:
    """Have a saved run go on as a run of its own. Raises ResumeRefused before anything happens."""
    claims = None if saved.path is None else asked._claims or Claims()
    if asked.is_over(saved.run) and not asked.decided.edits:
        return await _replayed(asked, saved, emit)
    found = await examined(asked, saved, claims)
    found.hold_up(asked.decided.accept)
    all_known(asked, saved)
    if saved.path is not None and _only_waits(asked, saved, found):
        # It stays as it is, and no new run is made of it.
        ended = ending.Ending("suspended", found.reason)
        return performing.result(asked, asked._leg(saved.run, saved.id, None, emit), ended, saved.path, None)
    if claims is None:
        return await _continued(asked, saved, claims, trace, journal, emit)
    if asked.decided.take_over is not None:
        asked.taken = claims.holder(saved.id)
    holder = asked.claimed = claims.take(saved.id, over=asked.taken)
    try:
        claims.refuse_resumed(saved.id, asked.decided.accept)  # somebody may have been quicker than this claim
        return await _continued(asked, saved, claims, trace, journal, emit)
    finally:
        claims.release(holder)


def _only_waits(asked: "Deciding[Any]", saved: Restored, found: Preflight) -> bool:
    """Whether nobody decided anything, and nothing of the run can go on before that."""
    going = found.runs or found.again or asked.decided.any() or asked.configured() is not None
    return bool(found.owed) and not going and isinstance(saved.run.next(), Wait)


def all_known(asked: "Deciding[Any]", saved: Restored) -> None:
    """Raises RequestError for a decision that cannot be carried out, before anything runs."""
    decided = asked.decided
    if not decided.calls() and not decided.resolve:
        return
    run, phase = saved.run, saved.run.data.phase
    if isinstance(phase, Advancing) and phase.turn.heard:
        run.next()  # the turn is taken over, so that its calls can be decided about
        phase = run.data.phase
    tried = run.copy()
    if isinstance(phase, Resolving):
        call = phase.turn.parts[phase.index]
        assert isinstance(call, Call)
        ids = {call.call_id, call.internal_id}
        if other := decided.calls() - (ids & {*decided.deny, *decided.resolve}):
            raise RequestError(
                min(other), f"is not what can be decided: {call.name} was not on offer; deny or resolve {call.call_id}"
            )
        if len(decided.resolve) + len(decided.deny) > 1:
            raise RequestError(call.call_id, "two things were decided about this call")
        resolution = _resolution(decided)
        limit = (asked.configured() or Configure()).max_invalid_retries
        limit = run.data.max_invalid_retries if limit is None else limit
        if resolution is not None and resolution.how == "retry" and run.data.invalid_retries >= limit:
            detail = f"cannot be tried again: no retry of {limit} is left (max_invalid_retries)"
            raise RequestError(call.call_id, detail)
        tried.send(resolution or Resolve("fail"))
        return
    if decided.resolve:
        raise RequestError("resolve", "every call was on offer: there is nothing to resolve")
    if isinstance(phase, Executing):
        _one_word_each(decided, tried)
        for _, call_id, _, _, event in _made(decided, tried):
            reconciling.tell(tried, call_id, event)
    else:
        sent = {MODEL} & decided.reconcile.keys() if isinstance(phase, Awaiting) else set()
        other = decided.calls() - sent
        if other:
            raise RequestError(min(other), "nothing is open that could be decided about")
    reconciling.check(tried, decided)


def _one_word_each(decided: Decided, run: AgentRun) -> None:
    calls = [_internal(run, call) for call in (*decided.approve, *decided.deny, *decided.answer, *decided.reconcile)]
    for call in calls:
        if calls.count(call) > 1:
            raise RequestError(run.slot(call).call.call_id, f"two things were decided about this call ({call})")


async def _continued(
    asked: "Deciding[Any]",
    saved: Restored,
    claims: Claims | None,
    trace: str | None,
    journal: Journal | None,
    emit: Emit | None,
) -> RunResult:
    run, run_id = saved.run, places.new_id()
    if saved.path is not None and trace is None and journal is None:
        trace = places.default_trace(run_id)  # what had a journal goes on with one
    run.data.agent = run.data.agent or asked.agent.name
    happened = any(slot.status == "started" for slot in run.slots)
    # What was edited makes other requests: the keys of the old run's must not make one of the new run's a repetition.
    run.data.id = run_id if asked.edited and not happened else run.data.id or run_id
    await asked._definition(run)
    begun = [slot.call.internal_id for slot in run.slots if slot.status == "started"]
    asked.doubts = {call: saved.doubts.get(call, DOUBT) for call in begun}
    link = saved.link

    async def begin(leg: Leg) -> None:
        configured = asked.configured()
        if configured is not None:
            leg.tell(configured)
        await decide(leg, asked)
        await driving.begin(leg)

    return await performing.journaled(asked, run, run_id, trace, journal, emit, link, begin)


async def _replayed(asked: "Deciding[Any]", saved: Restored, emit: Emit | None) -> RunResult:
    """A finished run gives its answer again; nothing runs, but for an append that the memory still owes."""
    leg = asked._leg(saved.run, saved.id, None, emit)
    forgotten = await ending.remember(leg)
    effect = saved.run.next()
    value = getattr(effect, "value", None)
    output = getattr(effect, "output", "") if value is None else value
    ended = ending.Ending("completed", None, None, output, forgotten)
    return performing.result(asked, leg, ended, saved.path, None)


async def decide(leg: Leg, asked: "Deciding[Any]") -> None:
    """Tell the run what was decided, and write down who did."""
    decided, run, recorder = asked.decided, leg.run, leg.recorder
    if asked.taken is not None:
        recorder.decision("take over", driven(asked.taken), None, decided.take_over)
    for code in sorted(decided.accept):
        recorder.decision("accept", code, None, decided.why.get(code))
    for change in asked.edited:
        recorder.decision("edit", change.path, change.told(), decided.why.get(change.path))
    if isinstance(run.data.phase, Awaiting):
        await reconciling.model(leg, asked)
        return
    if isinstance(run.data.phase, Resolving):
        if (resolution := _resolution(decided)) is not None:
            call = next(iter(decided.resolve or decided.deny))
            why = decided.why.get(call) if call is not None else None
            recorder.decision("resolve", call, [resolution.how, resolution.text], why)
            leg.tell(resolution)
        return
    if not isinstance(run.data.phase, Executing):
        return
    for what, call, value, reason, event in _made(decided, run):
        recorder.decision(what, call, value, reason)
        leg.tell(event)
    await reconciling.calls(leg, asked)


def _made(decided: Decided, run: AgentRun) -> Iterator[tuple[str, str, Value, str | None, AnyEvent]]:
    """What was decided about the calls of a batch: the word, the call, a value, why, and what the run is told."""
    why = decided.why.get
    for call, arguments in decided.edit.items():
        yield "edit", call, arguments, why(call), Edit(_internal(run, call), arguments)
    for call in decided.approve:
        yield "approve", call, None, why(call), Approve(_internal(run, call))
    for call, reason in decided.deny.items():
        yield "deny", call, None, reason or why(call), Deny(_internal(run, call), reason)
    for call, value in decided.answer.items():
        yield "answer", call, value, why(call), Answer(_internal(run, call), value)


def _internal(run: AgentRun, call: str) -> str:
    return run.slot(call).call.internal_id


def _resolution(decided: Decided) -> Resolve | None:
    """What becomes of a call that was not on offer; to deny it is to skip it."""
    for how, text in decided.resolve.values():
        return Resolve(how, text)
    return next((Resolve("skip", reason) for reason in decided.deny.values()), None)
