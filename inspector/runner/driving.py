"""From an agent to a run that is driven: new, or going on. Both end in `performing`, in the same loop.

The options of a run that goes on are seeded from the run, not from the agent; setting one afterwards counts
more, and becomes part of the run.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from msgspec.structs import replace

from inspector.errors import UsageError
from inspector.journal import Journal, RunStore
from inspector.model.run import Definition
from inspector.model.values import Value
from inspector.runner import ending, hookchain, options, performing, place, signals
from inspector.runner import hooks as hooking
from inspector.runner.claims import Claims, Holder
from inspector.runner.data import Finished
from inspector.runner.drive import Control
from inspector.runner.edits import Edited
from inspector.runner.effects import (
    Announce,
    Configure,
    Stop,
)
from inspector.runner.hooks import RunStart
from inspector.runner.items import Final
from inspector.runner.leg import Emit, Leg
from inspector.runner.machine import AgentRun
from inspector.runner.messages import Message, sound
from inspector.runner.models import Model
from inspector.runner.outbox import Sink
from inspector.runner.places import new_id
from inspector.runner.preflight import Decided, Reconciling, Resolution, savable
from inspector.runner.recorder import Recorder
from inspector.runner.result import RunResult
from inspector.runner.view import View

if TYPE_CHECKING:
    from inspector.runner.agent import Agent


Ran = TypeVar("Ran")


class Driving(Generic[Ran]):
    """What a prompt and a resume have in common: options, and the ways to run. Every option raises UsageError for what
    it cannot be."""

    def __init__(self, agent: "Agent") -> None:
        self.agent = agent
        self.setup = agent.setup
        self._configured: dict[str, Any] = {}
        self._control: Control | None = None
        self._observe: Callable[[dict[str, Any]], None] | None = None
        self._claims: Claims | None = None
        self.claimed: Holder | None = None
        """The claim of the run that goes on, while it is driven."""
        self.in_store = False
        """Whether the run is inside of one that is kept in a store."""
        self.doubts: dict[str, str] = {}
        """Why calls that were begun before it goes on may have happened, by call."""

    def max_turns(self, number: int) -> Self:
        """At most this many model turns, in all processes together."""
        self._configured["max_turns"] = options.option("max_turns", number, options.Number)
        return self

    def max_invalid_retries(self, number: int) -> Self:
        """How often the model may be asked again after it called a tool that was not on offer."""
        self._configured["max_invalid_retries"] = options.option("max_invalid_retries", number, options.Count)
        return self

    def token_budget(self, number: int) -> Self:
        """No model call begins once this many tokens are spent."""
        self._configured["token_budget"] = options.option("token_budget", number, options.Number)
        return self

    def tool_choice(self, choice: str | Iterable[str]) -> Self:
        """`auto`, `none`, `required`, or the names of which one must be called."""
        self._configured["choice"] = options.tool_choice(choice)
        return self

    def add_hook(self, hook: object) -> Self:
        """One more hook, behind the agent's."""
        self.setup = replace(self.setup, hooks=(*self.setup.hooks, *hooking.checked([hook])))
        return self

    def concurrency(self, number: int) -> Self:
        """How many calls of a batch may run at a time."""
        self.setup = replace(self.setup, concurrency=max(options.option("concurrency", number, options.Count), 1))
        return self

    def control(self, control: Control) -> Self:
        """What the run is stopped with from outside."""
        self._control = options.instance("control", control, Control)
        return self

    def observe(self, observe: Callable[[dict[str, Any]], None]) -> Self:
        """Called with what happens, as `runinspect run --json` prints it."""
        self._observe = options.function("observe", observe)
        return self

    def claims(self, claims: Claims) -> Self:
        """Where it is written down who drives a run; the platform's state folder without this."""
        self._claims = options.instance("claims", claims, Claims)
        return self

    async def run(self, *, trace: str | None = None, journal: Journal | None = None, hear: Emit | None = None) -> Ran:
        """Run to the end or to a suspension. `trace` is a new file for the journal, `journal` any other
        place for it; a run that is resumed from a file has its trace in the platform's data folder without
        them. `hear` takes the items of `stream` as they come. A failure is a result too: see
        `RunResult.raise_for_status`."""
        return await self._go(trace, journal, hear)

    def run_sync(self, *, trace: str | None = None, journal: Journal | None = None) -> Ran:
        """The same, for a program without an event loop. A signal stops it at the next boundary, a second one at
        once; then raises KeyboardInterrupt or SystemExit."""
        self._control = self._control or Control()
        return signals.run_sync(self.run(trace=trace, journal=journal), self._control)

    async def stream(self, *, trace: str | None = None, journal: Journal | None = None) -> AsyncIterator[Any]:
        """The same, item by item as it happens; the last one is `Final` with the result."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        end = object()
        task = asyncio.ensure_future(self._go(trace, journal, queue.put_nowait))
        task.add_done_callback(lambda done: queue.put_nowait(end))
        try:
            while (item := await queue.get()) is not end:
                yield item
            yield Final(task.result())
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _go(self, trace: str | None, journal: Journal | None, emit: Emit | None) -> Ran:
        raise NotImplementedError

    async def _opened(self, body: Callable[[], Awaitable[Ran]]) -> Ran:
        """`body` with the agent's connections open."""
        if self.agent.entered or not self.setup.registry.sources:
            return await body()
        await self.agent.open()
        try:
            return await body()
        finally:
            await self.agent.close()

    async def today(self) -> Definition:
        """What the code is that a run is driven with."""
        return await self.agent.definition(self.setup)

    async def _definition(self, run: AgentRun) -> None:
        run.data.definition = await self.today()

    def _leg(
        self, run: AgentRun, run_id: str, journal: Journal | None, emit: Emit | None, model: Model | None = None
    ) -> Leg:
        shown = View(run.data, hooking.listed(self.setup.hooks))
        shown.doubts.update(self.doubts)
        recorder = Recorder(journal, run.data, shown)
        leg = Leg(
            self.setup,
            run,
            recorder,
            model,
            run_id=run_id,
            emit=emit,
            control=self._control,
            observe=self._observe,
        )
        leg.in_store = self.in_store
        return leg


class Prompt(Driving[RunResult]):
    """A new run."""

    def __init__(self, agent: "Agent", message: Message) -> None:
        super().__init__(agent)
        self._message = message
        self._history: tuple[Message, ...] | None = None
        self._conversation: str | None = None
        self._id: str | None = None
        self._place: place.Place | None = None

    def history(self, messages: Iterable[Message]) -> Self:
        """What came before; the memory is then neither read nor written."""
        self._history = options.messages("history", messages)
        return self

    def conversation(self, name: str) -> Self:
        """The conversation of the agent's memory that this belongs to."""
        self._conversation = options.option("conversation", name, str)
        return self

    def id(self, run_id: str) -> Self:
        """An id of one's own for the run: another one than that of any run that this host holds in a trace or store,
        since the idempotency keys of its calls begin with it. `run` raises UsageError, before anything runs, where an
        earlier one of that id still is where it was begun."""
        self._id = options.option("id", run_id, options.Name)
        return self

    def durable(
        self,
        store: RunStore,
        key: str,
        *,
        thread: str | None = None,
        turn: str | None = None,
        metadata: Mapping[str, Value] | None = None,
        sink: Sink | None = None,
    ) -> Self:
        """Keep the run in a store, under a key of one's own. `metadata` is for tools and whoever looks; `sink`
        takes the run's events, each at least once. Raises StoreError when it runs, if there is such a run."""
        self._place = place.Place(store, key, thread, turn, metadata, sink)
        self.setup = replace(self.setup, metadata=dict(metadata or {}))
        return self

    async def _go(self, trace: str | None, journal: Journal | None, emit: Emit | None) -> RunResult:
        if self._place is not None and (trace is not None or journal is not None):
            raise UsageError(self._place.key, "a durable run has its journal in the store, and no other one")
        conversation = self._conversation if self._history is None else None
        run = self.agent.new_run(self._message, self._id or new_id(), self._history, conversation)
        if self._configured:
            run.send(Configure(**self._configured))

        async def body() -> RunResult:
            await self._definition(run)
            if self._place is not None:
                return await place.begun(self, run, self._place, emit, begin)
            return await performing.journaled(self, run, run.data.id, trace, journal, emit, None, begin)

        return await self._opened(body)


async def begin(leg: Leg) -> None:
    """The conversation is loaded, and the hooks on the start are heard: once in the life of a run."""
    if leg.data.announced or leg.data.turn:
        return
    await ending.recall(leg)
    event = RunStart(**leg.heard(), prompt=leg.data.messages[0])
    told, action = await hookchain.rewritten(leg.setup.hooks, event)
    leg.tell(Announce(told.prompt if told.prompt is not leg.data.messages[0] else None))
    if action.kind == "stop":
        leg.tell(Stop(action.value))


class Deciding(Driving[Ran]):
    """A run that goes on. Decisions are by call id: the provider's, or the run's own where two calls share
    one."""

    def __init__(self, agent: "Agent") -> None:
        super().__init__(agent)
        self.decided = Decided()
        self.taken: Holder | None = None
        """From whom the run was taken over, once it was."""
        self.edited: list[Edited] = []
        """What was changed in the saved run, once it was."""

    def approve(self, *calls: str) -> Self:
        """Let these calls run."""
        for call in calls:
            options.option("approve", call, str)
        self.decided.approve += [call for call in dict.fromkeys(calls) if call not in self.decided.approve]
        return self

    def deny(self, call: str, reason: str | None = None) -> Self:
        """Keep a call from running; the reason becomes its result."""
        self.decided.deny[options.option("deny", call, str)] = None if reason is None else sound(str(reason))
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
        """Have the run go on with another value in a place of its state: `messages[3].text`,
        `messages[3].calls[0].arguments`, `pending.c1.result`, `values.NAME`; those of a difference. Numbers are from
        0."""
        self.decided.edits[place] = savable(place, value)
        return self

    def reconcile(self, call: str, how: str, value: Value = None) -> Self:
        """What becomes of a call that may have happened (`model` is the model's): `retry`, `result` (a value),
        `failure` (a text), `abort` the run, or `leave` it open."""
        self.decided.reconcile[call] = (options.one_of("reconcile", how, Reconciling), savable(call, value))
        return self

    def resolve(self, how: Resolution, text: str | None = None, *, call: str | None = None) -> Self:
        """What becomes of the call that was not on offer: `repair` to a name, `retry` or `skip` with a text, `fail`,
        `stop`. With a `call`, only of that one. Without this the hooks decide, and where none does the run fails."""
        told = None if text is None else sound(options.option("resolve", text, str))
        self.decided.resolve[call] = (options.one_of("resolve", how, Resolution), told)
        return self

    def accept(self, *codes: str) -> Self:
        """Go on in spite of what has these codes."""
        self.decided.accept |= {options.option("accept", code, str) for code in codes}
        return self

    def because(self, reasons: Mapping[str, str], *, take_over: str | None = None) -> Self:
        """Why calls were decided about as they were, by call; and why the run is taken from whoever drives it,
        who stops at the next boundary then."""
        options.option("because", reasons, dict[str, str])
        self.decided.why |= {call: sound(why) for call, why in reasons.items()}
        self.decided.take_over = take_over
        return self

    def max_turns(self, number: int) -> Self:
        super().max_turns(number)
        self.decided.max_turns = number
        return self

    def token_budget(self, number: int) -> Self:
        super().token_budget(number)
        self.decided.token_budget = number
        return self

    def configured(self) -> Configure | None:
        """The options that were set, as the run is told them."""
        return Configure(**self._configured) if self._configured else None

    def is_over(self, run: AgentRun) -> bool:
        """Whether the run has its answer, and there is nothing to drive."""
        return isinstance(run.data.phase, Finished)


class Resuming(Deciding[RunResult]):
    """A run of a file, or of memory, that goes on as a run of its own."""

    def __init__(self, agent: "Agent", source: Any, step: int | None) -> None:
        super().__init__(agent)
        self.source, self.step = source, step

    async def _go(self, trace: str | None, journal: Journal | None, emit: Emit | None) -> RunResult:
        from inspector.runner import resuming

        async def body() -> RunResult:
            return await resuming.go(self, resuming.restored(self.source, self.step), trace, journal, emit)

        return await self._opened(body)
