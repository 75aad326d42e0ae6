"""Networks that run: new, or going on from a trace. Both end in `Driven`, with the one drive loop."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, overload

import msgspec

from inspector.dataflow import network as dataflow
from inspector.dataflow.codec import Codec, Values
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Plan, flatten
from inspector.errors import UsageError
from inspector.journal import Journal, RunStore, refuse_existing
from inspector.model.run import Definition, RunLink
from inspector.model.values import Value
from inspector.runner import hooks as hooking
from inspector.runner import options, signals
from inspector.runner.claims import Claims
from inspector.runner.drive import Control
from inspector.runner.errors import ResumeRefused
from inspector.runner.leg import Telemetry
from inspector.runner.network import agents, edits, restore, tail
from inspector.runner.network.bodies import checked
from inspector.runner.network.driven import Driven, Observe
from inspector.runner.network.fit import fitted, hooked, moving
from inspector.runner.network.given import examine
from inspector.runner.network.nodes import described
from inspector.runner.network.offers import Offers, opened
from inspector.runner.network.restore import SavedNetwork
from inspector.runner.network.result import NetworkResult, only_waits, replayed
from inspector.runner.network.values import LargeValues, Stored
from inspector.runner.network.watch import Watch, dressed, scoped
from inspector.runner.outbox import Sink
from inspector.runner.place import Place, kept_open
from inspector.runner.places import new_id
from inspector.runner.restore import whereabouts

if TYPE_CHECKING:
    from inspector.runner.network.durable import DurableNetwork


class Network(dataflow.Network):
    """A dataflow network that can be run and resumed. `workers` is how many firings may be under way at once,
    `codecs` say how classes of your own are saved. `hooks` hear its firings, the calls of its tools, and what its
    agents do, each behind their own hooks; those of a nested network hear what happens in it. `telemetry` makes the
    spans of a run, also those of agents that have none. Raises TypeError for a hook of no event."""

    def __init__(
        self,
        name: str,
        *,
        workers: int = 1,
        codecs: Iterable[Codec] = (),
        hooks: Iterable[object] = (),
        telemetry: Telemetry | None = None,
    ) -> None:
        super().__init__(name, workers=options.option("workers", workers, options.Count))
        self.values = Values(tuple(codecs))
        self.hooks = tuple(hooking.checked(options.items("hooks", hooks)))
        self.telemetry = telemetry or Telemetry()

    def plan(self) -> Plan:
        """What runs. Raises UsageError for a network that cannot."""
        return dressed(flatten(self), tuple(scoped(self)), self.telemetry)

    def watch(self, run_id: str) -> Watch:
        """Who listens to a run."""
        return Watch(self.name, run_id, tuple(scoped(self)), self.telemetry)

    def described(self, plan: Plan, offers: Offers) -> Definition:
        """What the code of the network is."""
        code = described(plan, self.values, offers)
        return msgspec.structs.replace(code, hooks=hooking.listed(each.hook for each in scoped(self)))

    async def run(
        self,
        inputs: Mapping[str, Iterable[Any]] | None = None,
        *,
        workers: int | None = None,
        trace: str | None = None,
        journal: Journal | None = None,
        id: str | None = None,
        control: Control | None = None,
        observe: Observe | None = None,
        store: RunStore | None = None,
        key: str | None = None,
        sink: Sink | None = None,
    ) -> NetworkResult:
        """Run to the end, a failure, or a stop. `inputs` are the tokens of each input port; `trace` is a new file for
        the journal, `journal` any other place for it. With a `store`, the run is kept there under its `key` (its id
        without one), and `sink` takes its events. A failure is a result too: see `raise_for_status`. `id` is of one's
        own; raises UsageError where an earlier run of that id still is in its trace or store."""
        if store is not None:
            if trace is not None or journal is not None:
                raise UsageError(key or self.name, "a durable run has its journal in the store, and no other one")
            id = id or new_id()
            place = Place(store, id if key is None else key, sink=sink)
            async with kept_open(place.open(id, Claims()), sink) as kept:
                result = await self.run(inputs, workers=workers, journal=kept, id=id, control=control, observe=observe)
            return msgspec.structs.replace(result, trace=store.url)
        given = {port: _listed(self.name, port, tokens) for port, tokens in (inputs or {}).items()}
        if unknown := [port for port in given if port not in self.inputs]:
            known = ", ".join(self.inputs) or "none"
            raise UsageError(self.name, f"has no input port {unknown[0]!r}; it has {known}")
        plan = self.plan()
        _typed(self.name, plan, given)
        if trace is not None:
            refuse_existing(trace)  # before large inputs are written beside it
        run = NetworkRun(plan, self.values.beside(LargeValues(trace)))
        saved = run.feed(given)
        run_id = id or new_id()
        driven = Driven(run, run_id, run_id, workers or plan.workers, control, observe, self.watch(run_id))
        async with opened(plan) as offers:
            return await driven.go(trace, journal, self.described(plan, offers), saved, None, None)

    def run_sync(self, inputs: Mapping[str, Iterable[Any]] | None = None, **options: Any) -> NetworkResult:
        """The same, for a program without an event loop. A signal stops it at the next boundary, a second one at
        once; then raises KeyboardInterrupt or SystemExit."""
        control = options.setdefault("control", Control())
        return signals.run_sync(self.run(inputs, **options), control)

    @overload
    def resume(self, path: str, *, step: int | None = None, rerun: str | None = None) -> "ResumingNetwork": ...
    @overload
    def resume(
        self, path: RunStore, key: str, *, step: int | None = None, rerun: str | None = None
    ) -> "DurableNetwork": ...
    def resume(self, path: Any, key: str | None = None, *, step: int | None = None, rerun: str | None = None) -> Any:
        """The run in a trace, going on from where it ended, from after `step`, or from before the last firing of the
        node `rerun` (or of one in it; a nested network also goes by its own name). With a `key`, the run of that key in
        a store, in its own journal; from an earlier step it is a run of its own there too."""
        rerun = None if rerun is None else self.named(rerun)
        if key is not None:
            from inspector.runner.network.durable import DurableNetwork

            return DurableNetwork(self, path, key, step, rerun)
        return ResumingNetwork(self, path, step, rerun)


def _listed(name: str, port: str, tokens: Iterable[Any]) -> list[Any]:
    # A text and a dict can be gone over too, and are hardly meant as their letters and keys.
    if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Iterable):
        raise UsageError(f"{name}, input {port}", f"takes a list of tokens, not {tokens!r:.80}")
    return list(tokens)


def _typed(name: str, plan: Plan, inputs: Mapping[str, list[Any]]) -> None:
    for port, tokens in inputs.items():
        for queue in plan.inputs[port]:
            for index, token in enumerate(tokens):
                try:
                    checked(plan.links[queue], token)
                except TypeError as error:
                    raise UsageError(f"{name}, input {port}[{index}]", str(error)) from error


class GoingOn(agents.Deciding):
    """A run of a network that goes on: what was decided, and how it is driven. Nothing happens before `run`."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self._reconciled: dict[str, tuple[str, Value]] = {}
        self._options: dict[str, Any] = {}

    def reconcile(self, firing: str, how: str, value: Value = None) -> Self:
        """What is to become of a firing, or of an agent's call, that may have happened: `retry`; `result` with its
        tokens by port (or the one token); `failure` with a text; `abort`; `leave`."""
        if how not in ("retry", "result", "failure", "abort", "leave"):
            raise UsageError("reconcile", f"{how!r} is none of retry, result, failure, abort, leave")
        self._reconciled[firing] = (how, value)
        return self

    def workers(self, number: int) -> Self:
        """How many firings may be under way at once."""
        self._options["workers"] = options.option("workers", number, options.Count)
        return self

    def control(self, control: Control) -> Self:
        """What the run is stopped with from outside."""
        self._options["control"] = control
        return self

    def observe(self, observe: Observe) -> Self:
        """Called with what happens, as `runinspect resume --json` prints it."""
        self._options["observe"] = observe
        return self


class ResumingNetwork(GoingOn):
    """A run in a trace that goes on as a run of its own. `lines` is its journal when that is no file, and `stored`
    gives the large values that stand apart from that; then `path` only says where it is."""

    def __init__(
        self,
        network: Network,
        path: str,
        step: int | None,
        rerun: str | None = None,
        lines: bytes | None = None,
        stored: Stored | None = None,
    ) -> None:
        super().__init__(network)
        self.path, self.step, self.rerun, self._lines = path, step, rerun, lines
        self._stored = stored
        self._claims: Claims | None = None

    def id(self, run_id: str) -> Self:
        """An id of one's own for the new run."""
        self._options["id"] = run_id
        return self

    def claims(self, claims: Claims) -> Self:
        """Where it is written down who drives a run; the platform's state folder without this."""
        self._claims = claims
        return self

    def load(self) -> SavedNetwork:
        """The saved run, with what it is resumed from."""
        if self._lines is not None:
            return restore.read(self.path, tail.of_bytes(self._lines), self.step, self.rerun)
        return restore.load(self.path, self.step, self.rerun)

    def run_sync(self, **options: Any) -> NetworkResult:
        """`run`, for a program without an event loop; signals are heard as by `Network.run_sync`."""
        control = self._options.setdefault("control", Control())
        return signals.run_sync(self.run(**options), control)

    async def run(self, *, trace: str | None = None, journal: Journal | None = None) -> NetworkResult:
        """Go on to the end, a failure, or a stop; of a run that is completed, what it came to, and nothing runs. Raises
        ResumeRefused, before anything runs, when the graph changed, a saved value cannot be read back by today's code,
        or the run was resumed before and `already_resumed` is not accepted; and Owned when somebody alive drives the
        run."""
        plan = self.network.plan()
        async with opened(plan) as offers:
            return await self._run(trace, journal, self.load(), plan, self.network.described(plan, offers))

    def _kept(self, trace: str | None = None) -> LargeValues:
        """The large values of the run; those of the new one stand beside its `trace`."""
        return LargeValues(trace, [self.path] if self._stored is None else [], self._stored)

    async def _run(
        self, trace: str | None, journal: Journal | None, saved: SavedNetwork, plan: Plan, today: Definition
    ) -> NetworkResult:
        if saved.final and not self.decided.edits:
            if saved.status != "completed":
                raise ResumeRefused(self.path, "terminal", f"the run is over: {saved.reason}")
            return replayed(self.network.values, saved, self._kept(), self.path)
        hooked(saved, today, self.decided.accept)
        if trace is not None:
            refuse_existing(trace)
        large = self._kept(trace)
        run = fitted(saved, plan, today, self.network.values.beside(large)).accepted(self.decided.accept)
        open_ids = {happened.id for happened in saved.open}
        calls = {call: decided for call, decided in self._reconciled.items() if call not in open_ids}
        self.decided.reconcile = calls
        await agents.wake(run, self.decided)
        examine(run, self._reconciled)
        claims = self._claims or Claims()
        taken = claims.holder(saved.header.id) if self.decided.take_over is not None else None
        claim = claims.take(saved.header.id, over=taken)
        try:
            claims.refuse_resumed(saved.header.id, self.decided.accept)
            watch = self.network.watch(saved.header.id)
            if not (self.decided.any() or self._reconciled) and (waiting := only_waits(run, saved, watch, self.path)):
                return waiting
            edited = edits.edited(run, self.decided.edits)
            moving(saved, run)
            run_id = self._options.get("id") or new_id()
            if run_id == saved.header.id:
                raise UsageError(run_id, "is the id of the run that is resumed; the new run needs one of its own")
            workers = self._options.get("workers") or plan.workers
            large.bring(restore.referred(run, saved.header.input))
            watch = self.network.watch(run_id)
            watch.take_over(saved.scratch, saved.machine.get("telemetry") or {})
            control, observe = self._options.get("control"), self._options.get("observe")
            # What was edited makes other firings: the keys of the old run's must not make one of the new run's a
            # repetition, but where one is still to be settled.
            origin = run_id if edited and not saved.open else saved.origin
            driven = Driven(run, run_id, origin, workers, control, observe, watch)
            driven.decided, driven.taken, driven.claims = self.decided, taken, claims
            driven.edited = edited
            driven.control.fence(lambda: claims.holds(claim))
            driven.open = {happened.id: self._reconciled.get(happened.id) for happened in saved.open}
            where = whereabouts(self.path if self._stored is None else None)
            link = RunLink(run=saved.header.id, step=saved.step, path=where)
            result = await driven.go(trace, journal, today, saved.header.input, link, self.path)
            return msgspec.structs.replace(result, replayed=saved.step, resumed_from=saved.header.id)
        finally:
            claims.release(claim)
