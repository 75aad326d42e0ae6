"""Agents inside of a network: a firing of one is an agent run of its own, with its turns and its open batch.

What the agent's run writes down goes into the network's journal, record by record, as moves of the firing it
belongs to. So wherever the process ends, the firing goes on inside: nothing that the agent did is done again. An
agent that waits for somebody is held: the network goes on elsewhere, and its state has all that the agent needs.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec

from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.errors import InspectorError
from inspector.model.records import Checkpoint, JournalRecord, Move
from inspector.model.run import Pending, RunError
from inspector.model.values import Value, to_json
from inspector.runner import options, restore, resuming
from inspector.runner.agent import Agent
from inspector.runner.ambiguity import ABORTED
from inspector.runner.data import Advancing, Executing, Failed, Resolving, RunData
from inspector.runner.drive import Control
from inspector.runner.driving import Driving, Resuming
from inspector.runner.effects import Effect
from inspector.runner.errors import ResumeRefused, RunnerError
from inspector.runner.machine import AgentRun
from inspector.runner.messages import Call, sound
from inspector.runner.network.bodies import saved
from inspector.runner.network.nodes import prompt_of
from inspector.runner.preflight import Decided, Preflight, Resolution, raised, savable
from inspector.runner.result import RunResult, pending_calls

if TYPE_CHECKING:
    from inspector.runner.network.driven import Driven

NESTED = "nested"
"""The event of the moves that hold the records of an agent's run."""


class Inside:
    """The journal of an agent's run inside of a firing. `data` is the run itself, once it has begun."""

    def __init__(self, write: Callable[..., None], seq: Callable[[], int], firing: str) -> None:
        self._write, self._seq, self._firing = write, seq, firing
        self.data: RunData | None = None

    def append(self, *records: JournalRecord, durable: bool = False) -> None:
        """Add records, as moves of the firing."""
        for record in records:
            if isinstance(record, Checkpoint) and isinstance(record.machine, RunData):
                self.data = record.machine
            event = {"event": NESTED, "firing": self._firing, "record": msgspec.Raw(to_json(record).encode())}
            self._write(Move(seq=self._seq(), event=event), durable=durable and record is records[-1])

    def close(self) -> None:
        """Nothing: the network's journal goes on."""


class Linked(Control):
    """Stops an agent when its network is stopped."""

    def __init__(self, outer: Control) -> None:
        self._outer = outer
        super().__init__()

    @property
    def stopping(self) -> bool:
        return self._outer.stopping

    @stopping.setter
    def stopping(self, value: bool) -> None:
        if value:
            self._outer.stop()

    async def back_off(self, seconds: float) -> None:
        await self._outer.back_off(seconds)

    def fenced_off(self, *, now: bool = False) -> bool:
        return self._outer.fenced_off(now=now)

    def holds(self, effect: Effect) -> bool:
        return self._outer.holds(effect)

    async def hold(self, effect: Effect) -> None:
        await self._outer.hold(effect)


class Deciding:
    """What was decided about the calls of agents that wait, by call id."""

    def __init__(self) -> None:
        self.decided = Decided()

    def approve(self, *calls: str) -> Self:
        """Let these calls run."""
        self.decided.approve += calls
        return self

    def deny(self, call: str, reason: str | None = None) -> Self:
        """Keep a call from running; the reason becomes its result."""
        self.decided.deny[call] = None if reason is None else sound(str(reason))
        return self

    def answer(self, call: str, value: Value) -> Self:
        """The result of a call that waits for one."""
        self.decided.answer[call] = savable(call, value)
        return self

    def edit(self, call: str, arguments: Value) -> Self:
        """Have a call run with these arguments."""
        self.decided.edit[call] = savable(call, arguments)
        return self

    def change(self, place: str, value: Value) -> Self:
        """Have the run go on with another value in a place of its state: `queues.a.out-->b.x[0]`,
        `actors.b.state.FIELD`, `values.NAME`; those of a difference. Values are as they stand in the file."""
        self.decided.edits[place] = value
        return self

    def resolve(self, call: str, how: Resolution, text: str | None = None) -> Self:
        """What becomes of a call that was not on offer: `repair` to a name, `retry` or `skip` with a text, `fail`,
        `stop`."""
        told = None if text is None else sound(options.option("resolve", text, str))
        self.decided.resolve[call] = (options.one_of("resolve", how, Resolution), told)
        return self

    def accept(self, *codes: str) -> Self:
        """Go on in spite of what has these codes."""
        self.decided.accept |= set(codes)
        return self


def inner_of(run: AgentRun) -> Value:
    """What an agent in the middle of a firing holds: its run, and the calls that wait for somebody."""
    pending = [
        Pending(
            kind="tool",
            name=call.name,
            status="ambiguous" if call.why == "reconciliation" else "waiting",
            call_id=call.call_id,
            internal_call_id=call.internal_id,
            arguments=call.arguments,
            note=call.why,
        )
        for call in pending_calls(run)
    ]
    return restore.decode(to_json({"agent": run.data.agent, "run": run.data, "pending": pending}))


def restored(records: list[Value]) -> Value:
    """What an agent held whose firing was cut short, from the records of its run; None where it had not begun."""
    data = b"\n".join(to_json(record).encode() for record in records)
    try:
        return inner_of(restore.read_trace("the agent's run", data, None).run)
    except (InspectorError, RunnerError, ValueError, KeyError, TypeError):
        return None


def going_on(agent: Agent, inner: Value, decided: Decided) -> Resuming | None:
    """The agent's run, going on, with what was decided about its calls. None for one that failed for good: its
    firing begins anew."""
    run = AgentRun.from_value(inner["run"])
    failed, limits = isinstance(run.data.phase, Failed), agent.limits
    if failed and not raised(run.data, limits.max_turns, limits.token_budget):
        return None
    asked = agent.resume(run)
    known = _calls(run)
    asked.decided = Decided(
        approve=[call for call in decided.approve if call in known],
        deny=_among(decided.deny, known),
        answer=_among(decided.answer, known),
        edit=_among(decided.edit, known),
        reconcile=_among(decided.reconcile, known),
        resolve=_among(decided.resolve, known),
        accept=set(decided.accept),
        why=decided.why,
    )
    if failed:
        asked.max_turns(limits.max_turns)
    if failed and limits.token_budget is not None:
        asked.token_budget(limits.token_budget)
    return asked


def _among(decisions: Mapping[Any, Any], known: set[str]) -> dict[Any, Any]:
    return {call: value for call, value in decisions.items() if call in known}


def _calls(run: AgentRun) -> set[str]:
    """The ids by which the open calls of a run can be decided about."""
    probe = run.copy()
    if isinstance(probe.data.phase, Advancing) and probe.data.phase.turn.heard:
        probe.next()
    phase = probe.data.phase
    calls = [slot.call for slot in phase.slots] if isinstance(phase, Executing) else []
    if isinstance(phase, Resolving):
        calls = [part for part in phase.turn.parts[phase.index :][:1] if isinstance(part, Call)]
    return {name for call in calls for name in (call.call_id, call.internal_id) if name}


class Waiting(msgspec.Struct, frozen=True):
    """An agent of a saved network that is in the middle of a firing: node `number`, and what a resume of it finds;
    `anew`: it failed for good, and its firing begins anew."""

    number: int
    name: str
    found: Preflight
    anew: bool = False

    @property
    def stays(self) -> bool:
        """Whether nothing of it can go on before somebody decides."""
        return bool(self.found.owed) and not (self.found.runs or self.found.again)


async def waiting(run: NetworkRun, decided: Decided) -> list[Waiting]:
    """The agents of a saved network that are in the middle of a firing. Raises ResumeRefused for a decision about a
    call that none of them has, and RequestError for one that cannot be carried out."""
    found, known = [], set[str]()
    for number, inner in run.held.items():
        node = run.plan.nodes[number]
        agent = node.actor.target if node.actor is not None else None
        assert isinstance(agent, Agent)
        asked = going_on(agent, inner, decided)
        if asked is None:
            found.append(Waiting(number, node.name, Preflight(), anew=True))
            continue
        known |= asked.decided.calls()
        saved = resuming.restored(asked.source)
        found.append(Waiting(number, node.name, await resuming.examined(asked, saved, None)))
        resuming.all_known(asked, saved)
    if unknown := decided.calls() - known:
        call = sorted(unknown)[0]
        raise ResumeRefused(call, "not_resumable", "nothing is open that could be decided about")
    return found


async def wake(run: NetworkRun, decided: Decided) -> None:
    """Let the agents that can go on do so. Raises ResumeRefused when one does not fit its code any more."""
    agents = await waiting(run, decided)
    for agent in agents:
        agent.found.hold_up(decided.accept, f"{agent.name}: ")
    for agent in agents:
        if agent.anew:
            run.drop(agent.number)
        elif not agent.stays:
            run.unhold(agent.number)


async def fire(driven: "Driven", firing: Firing) -> list[tuple[str, Value]] | None:
    """Run the agent of a firing: to its answer, or until it waits for somebody. The tokens that it put, None where it
    put none."""
    recorder, run = driven.recorder, driven.run
    agent: Agent = firing.node.actor.target  # type: ignore[union-attr]
    inside = Inside(recorder.write, lambda: run.seq, firing.id)
    run.start(firing)
    started = recorder.operation(firing, "started")
    driven.note("operation", firing, status="started")
    try:
        asked = _asked(driven, firing, agent).control(Linked(driven.control))
        asked.in_store = driven.in_store
        if driven.observe is not None:
            asked.observe(_within(driven.observe, firing))
        result = await asked.run(journal=inside)
    except asyncio.CancelledError:
        _hold(run, firing, inside)
        raise
    except Exception as error:
        _hold(run, firing, inside)
        driven.fail(firing, RunError(type=type(error).__name__, message=str(error), where=firing.node.path))
        return None
    return _ended(driven, firing, inside, result, started)


def _asked(driven: "Driven", firing: Firing, agent: Agent) -> Driving[RunResult]:
    inner = driven.run.held.get(firing.number)
    asked = going_on(agent, inner, driven.decided) if inner is not None else None
    if asked is not None:
        return asked
    token = driven.run.values.decode(firing.tokens["prompt"])
    # The id is the same in every process, so that effects have the same idempotency keys.
    return agent.prompt(prompt_of(token)).id(f"{driven.origin}/{firing.id}")


def _within(observe: Callable[[dict[str, Any]], None], firing: Firing) -> Callable[[dict[str, Any]], None]:
    def observed(event: dict[str, Any]) -> None:
        if event.get("event") != "run":
            observe({**event, "within": firing.id})

    return observed


def _ended(
    driven: "Driven", firing: Firing, inside: Inside, result: RunResult, started: str
) -> list[tuple[str, Value]] | None:
    run = driven.run
    if result.status == "completed":
        try:
            puts = [("answer", saved(run, firing, "answer", result.output))]
        except TypeError as error:
            _hold(run, firing, inside)
            driven.fail(firing, RunError(type=type(error).__name__, message=str(error), where=firing.node.path))
            return None
        ended = driven.recorder.clock()
        driven.step(run.commit(firing, puts, {}, times=(started, ended)), firing, ended)
        return puts
    _hold(run, firing, inside)
    if result.status in ("failed", "cancelled"):
        found = result.error or RunError(message=result.reason)
        driven.why_failed = ABORTED if result.reason == ABORTED else driven.why_failed
        driven.fail(firing, msgspec.structs.replace(found, where=firing.node.path), ambiguous=result.reason == ABORTED)
    else:
        driven.note("operation", firing, status="suspended", reason=result.reason)
    return None


def _hold(run: NetworkRun, firing: Firing, inside: Inside) -> None:
    if inside.data is None:
        run.release(firing)
    else:
        run.hold(firing, inner_of(AgentRun(inside.data)))


def calls(run: NetworkRun) -> Iterator[dict[str, Value]]:
    """The calls that agents wait for somebody with."""
    for number, inner in run.held.items():
        for call in inner.get("pending", ()):
            yield {"node": run.plan.nodes[number].name, **call}
