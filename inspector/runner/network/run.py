"""Networks that run: new, or going on from a trace. Both end in `_driven`, with the one drive loop."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import msgspec

from inspector.dataflow import network as dataflow
from inspector.dataflow.actors import Actor
from inspector.dataflow.codec import Codec, Unsavable, Values
from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.network import flatten
from inspector.errors import UsageError
from inspector.journal import Journal, TraceFile
from inspector.model.run import Definition, RunError, RunLink, RunStatus
from inspector.model.text import clean
from inspector.model.values import Value
from inspector.runner.claims import Claims
from inspector.runner.drive import Control, drive
from inspector.runner.driving import new_id
from inspector.runner.effects import Effect
from inspector.runner.network import agents, restore
from inspector.runner.network.bodies import Outcome, fire
from inspector.runner.network.effects import Decide, Failure, Fire, NetworkMachine
from inspector.runner.network.fit import fits, readable
from inspector.runner.network.nodes import described
from inspector.runner.network.recorder import NetworkRecorder
from inspector.runner.network.report import leftovers
from inspector.runner.network.restore import SavedNetwork
from inspector.runner.network.result import NetworkResult
from inspector.runner.network.threads import Threads
from inspector.runner.preflight import Decided

Observe = Callable[[dict[str, Any]], None]


class Network(dataflow.Network):
    """A dataflow network that can be run and resumed. `workers` is how many firings may be under way at once,
    `codecs` say how classes of your own are saved."""

    def __init__(self, name: str, *, workers: int = 1, codecs: Iterable[Codec] = ()) -> None:
        super().__init__(name, workers=workers)
        self.values = Values(tuple(codecs))

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
    ) -> NetworkResult:
        """Run to the end, a failure, or a stop. `inputs` are the tokens of each input port; `trace` is a new file for
        the journal, `journal` any other place for it. A failure is a result too: see `raise_for_status`."""
        given = {port: list(tokens) for port, tokens in (inputs or {}).items()}
        if unknown := [port for port in given if port not in self.inputs]:
            known = ", ".join(self.inputs) or "none"
            raise UsageError(self.name, f"has no input port {unknown[0]!r}; it has {known}")
        plan = flatten(self)
        run = NetworkRun(plan, self.values)
        run.feed(given)
        run_id = id or new_id()
        driven = Driven(run, run_id, run_id, workers or plan.workers, control, observe)
        saved = {port: [self.values.encode(token) for token in tokens] for port, tokens in given.items()}
        return await driven.go(trace, journal, described(plan, self.values), saved, None, None)

    def run_sync(self, inputs: Mapping[str, Iterable[Any]] | None = None, **options: Any) -> NetworkResult:
        """The same, for a program without an event loop."""
        return asyncio.run(self.run(inputs, **options))

    def resume(self, path: str, *, step: int | None = None) -> "ResumingNetwork":
        """The run in a trace, going on from where it ended, or from after `step`."""
        return ResumingNetwork(self, path, step)


class ResumingNetwork(agents.Deciding):
    """A run of a network that goes on. Nothing happens before `run`."""

    def __init__(self, network: Network, path: str, step: int | None) -> None:
        super().__init__()
        self.network, self.path, self.step = network, path, step
        self._reconciled: dict[str, tuple[str, Value]] = {}
        self._options: dict[str, Any] = {}
        self._claims: Claims | None = None

    def reconcile(self, firing: str, how: str, value: Value = None) -> Self:
        """What is to become of a firing, or of an agent's call, that may have happened: `retry`; `result` with its
        tokens by port (or the one token); `failure` with a text; `abort`; `leave`."""
        if how not in ("retry", "result", "failure", "abort", "leave"):
            raise UsageError("reconcile", f"{how!r} is none of retry, result, failure, abort, leave")
        self._reconciled[firing] = (how, value)
        return self

    def workers(self, number: int) -> Self:
        """How many firings may be under way at once."""
        self._options["workers"] = number
        return self

    def control(self, control: Control) -> Self:
        """What the run is stopped with from outside."""
        self._options["control"] = control
        return self

    def observe(self, observe: Observe) -> Self:
        """Called with what happens, as `runinspect resume --json` prints it."""
        self._options["observe"] = observe
        return self

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
        return restore.load(self.path, self.step)

    def run_sync(self, **options: Any) -> NetworkResult:
        """`run`, for a program without an event loop."""
        return asyncio.run(self.run(**options))

    async def run(self, *, trace: str | None = None, journal: Journal | None = None) -> NetworkResult:
        """Go on to the end, a failure, or a stop. Raises ResumeRefused, before anything runs, when the graph changed or
        a saved value cannot be read back by today's code, and Owned when somebody alive drives the run."""
        saved = self.load()
        plan = flatten(self.network)
        today = described(plan, self.network.values)
        fits(saved, plan, today)
        run = saved.restore(plan, self.network.values)
        readable(saved.path, run)
        open_ids = {happened.id for happened in saved.open}
        calls = {call: decided for call, decided in self._reconciled.items() if call not in open_ids}
        self.decided.reconcile = calls
        await agents.wake(run, self.decided)
        claims = self._claims or Claims()
        claim = claims.take(saved.header.id)
        try:
            run_id = self._options.get("id") or new_id()
            claims.succeeded(saved.header.id, run_id, trace)
            workers = self._options.get("workers") or plan.workers
            driven = Driven(
                run, run_id, saved.origin, workers, self._options.get("control"), self._options.get("observe")
            )
            driven.decided = self.decided
            driven.open = {happened.id: self._reconciled.get(happened.id) for happened in saved.open}
            result = await driven.go(
                trace, journal, today, saved.header.input, RunLink(run=saved.header.id, step=saved.step), self.path
            )
            return msgspec.structs.replace(result, replayed=saved.step, resumed_from=saved.header.id)
        finally:
            claims.release(claim)


class Driven:
    """One stretch of a run in one process. `open` are the firings that may have happened in an earlier one, each with
    what was decided about it."""

    def __init__(
        self,
        run: NetworkRun,
        run_id: str,
        origin: str,
        workers: int,
        control: Control | None,
        observe: Observe | None,
    ) -> None:
        self.run, self.run_id, self.origin = run, run_id, origin
        self.machine = NetworkMachine(run, max(workers, 1))
        self.threads = Threads()
        self.control, self.observe = control or Control(), observe
        self.open: dict[str, tuple[str, Value] | None] = {}
        self.decided = Decided()
        self.recorder = NetworkRecorder(None, run, origin)
        self._aborted = False

    async def go(
        self,
        trace: str | None,
        journal: Journal | None,
        code: Definition,
        inputs: Value,
        link: RunLink | None,
        source: str | None,
    ) -> NetworkResult:
        """Drive, and write it all down."""
        own = TraceFile(trace) if trace is not None else None
        self.recorder = NetworkRecorder(journal if own is None else own, self.run, self.origin)
        try:
            self.recorder.header(self.run_id, code, inputs, link, source)
            left = self._reconcile()
            ended = None if left or self._aborted else await drive(self.machine, self._perform, self.control)
            return self._result(ended, left, trace)
        except asyncio.CancelledError:
            self._result(None, [], trace)
            raise
        finally:
            self.threads.close()
            if own is not None:
                own.close()

    def _reconcile(self) -> list[str]:
        """Do what was decided about firings that may have happened; the ids of those that still wait."""
        left = []
        for firing_id, decided in self.open.items():
            firing = next(
                (firing for firing in self.run.ready(len(self.run.plan.nodes)) if firing.id == firing_id), None
            )
            if firing is None:
                continue
            how, value = decided or ("retry" if _repeatable(firing) else "leave", None)
            if decided is not None:
                self.recorder.decision(f"reconcile {how}", firing_id, value, None)
            if how == "leave":
                left.append(firing_id)
            elif how == "result":
                self.run.begin(firing)
                self.step(self.run.commit(firing, _puts(firing, value), firing.state))
            elif how in ("failure", "abort"):
                self.run.begin(firing)
                self.run.release(firing)
                self._aborted = True
                text = str(value) if how == "failure" else "aborted: what the firing did is not known"
                self.fail(firing, RunError(message=text, where=firing.node.path))
        return left

    async def _perform(self, effect: Effect) -> None:
        assert isinstance(effect, Fire | Decide)
        firing = effect.firing
        if isinstance(effect, Decide):
            self._decide(firing)
            return
        if firing.node.kind == "agent":
            await agents.fire(self, firing)
            return
        started = self.recorder.operation(firing, "started")
        self.note("operation", firing, status="started")
        try:
            outcome = await fire(self.run, firing, self.origin, self.threads, alone=self.machine.workers == 1)
        except asyncio.CancelledError:
            self._give_up(firing)
            raise
        except Exception as error:
            self.run.release(firing)
            self.fail(firing, _described(firing, error), ambiguous=isinstance(error, TimeoutError))
        else:
            self._commit(firing, outcome, started)

    def _commit(self, firing: Firing, outcome: Outcome, started: str) -> None:
        ended = self.recorder.clock()
        self.step(self.run.commit(firing, outcome.puts, outcome.state, outcome.context, started=started, ended=ended))
        self.recorder.operation(firing, "succeeded", at=ended)

    def _decide(self, firing: Firing) -> None:
        at = self.recorder.clock()
        try:
            condition = firing.node.condition
            outcome = condition is None or bool(condition(self.run.values.decode(firing.tokens["value"])))
            done = self.run.decide(firing, outcome, started=at, ended=at)
        except Exception as error:
            if firing in self.run.flying:
                self.run.release(firing)
            self.fail(firing, _described(firing, error))
        else:
            self.step(done)

    def step(self, done: Any) -> None:
        """Write down a step, and tell of it."""
        self.recorder.step(done)
        if self.observe is not None:
            step = done.step
            self.observe(
                {"event": "step", "seq": step.seq, "kind": step.kind, "name": step.name, "status": step.status}
            )

    def fail(self, firing: Firing, error: RunError, *, ambiguous: bool = False) -> None:
        """The firing failed; nothing more begins."""
        self.machine.failures.append(Failure(firing, error, ambiguous))
        self.recorder.operation(firing, "ambiguous" if ambiguous else "failed", error)
        self.note("operation", firing, status="failed", error=error.message)

    def _give_up(self, firing: Firing) -> None:
        self.run.release(firing)
        self.recorder.operation(firing, "ambiguous")
        self.open[firing.id] = None
        self.note("operation", firing, status="ambiguous")

    def note(self, event: str, firing: Firing, **about: Any) -> None:
        """Tell whoever follows the run from outside."""
        if self.observe is not None:
            self.observe({"event": event, "kind": "firing", "name": firing.node.name, "id": firing.id, **about})

    def _result(self, ended: Effect | None, left: list[str], trace: str | None) -> NetworkResult:
        failures = self.machine.failures
        given_up = [firing_id for firing_id, decided in self.open.items() if decided is None and firing_id not in left]
        status, reason = self._ending(ended, left)
        outputs = self._outputs()
        for failure in failures:  # so that the last state shows what did not get done as still to be done
            self.run.reopen(failure.firing.number)
            self.run.unhold(failure.firing.number)
        self.recorder.end(
            status, reason, failures[0].error if failures else None, outputs if status == "completed" else None
        )
        return NetworkResult(
            status=status,
            reason=reason,
            saved_outputs=outputs,
            outputs={port: [self.run.values.decode(token) for token in tokens] for port, tokens in outputs.items()},
            run_id=self.run_id,
            failures=failures,
            leftovers=leftovers(self.run) if status == "completed" else [],
            open=[*left, *(given_up if ended is None else [])],
            pending=list(agents.calls(self.run)),
            trace=trace,
            steps=self.recorder.steps,
        )

    def _ending(self, ended: Effect | None, left: list[str]) -> tuple[RunStatus, str | None]:
        if self.machine.failures:
            return "failed", "aborted" if self._aborted else None
        if left:
            return "suspended", "reconciliation"
        if ended is None:
            return "interrupted", "stopped"
        if self.run.held:
            return "suspended", str(next((call["note"] for call in agents.calls(self.run)), "tools"))
        return "completed", None

    def _outputs(self) -> dict[str, list[Value]]:
        queues = self.run.state().queues or ()
        return {
            port: [token for number in numbers for token in queues[number].tokens or ()]
            for port, numbers in self.run.plan.outputs.items()
        }


def _repeatable(firing: Firing) -> bool:
    actor = firing.node.actor
    # What an agent did before it was cut short is in its own records: it goes on behind them.
    return actor is None or actor.kind == "agent" or actor.idempotency == "supported"


def _puts(firing: Firing, value: Value) -> list[tuple[str, Value]]:
    actor: Actor | None = firing.node.actor
    outputs = actor.outputs if actor else ()
    if isinstance(value, dict) and value and set(value) <= set(outputs):
        return [(port, token) for port, token in value.items()]
    if len(outputs) == 1:
        return [(outputs[0], value)]
    if value is None:
        return []
    raise UsageError(f"--reconcile {firing.id}", f"the result must be an object of the ports {', '.join(outputs)}")


def _described(firing: Firing, error: Exception) -> RunError:
    if isinstance(error, TimeoutError):
        timeout = firing.node.actor.timeout if firing.node.actor else None
        return RunError(type="TimeoutError", message=f"no end after {timeout} s", where=firing.node.path)
    kind = type(error).__qualname__ if not isinstance(error, Unsavable) else "Unsavable"
    return RunError(type=kind, message=clean(str(error)), where=firing.node.path)
