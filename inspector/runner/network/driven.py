"""One stretch of a run of a network in one process: the performer of the one drive loop."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from inspector.dataflow.firing import Committed, Firing
from inspector.dataflow.machine import NetworkRun
from inspector.errors import JournalError
from inspector.journal import ClaimedJournal, Journal, TraceFile, refuse_existing
from inspector.model.run import Definition, RunError, RunLink, RunStatus
from inspector.model.values import Value
from inspector.runner.ambiguity import ABORTED
from inspector.runner.claims import Claims, Holder, driven
from inspector.runner.drive import Control, drive
from inspector.runner.edits import Edited
from inspector.runner.effects import Effect
from inspector.runner.errors import ResumeRefused
from inspector.runner.hookchain import Stopped
from inspector.runner.network import agents
from inspector.runner.network.bodies import (
    Outcome,
    OutOfTime,
    described,
    fire,
    idempotency_key,
    leaves_open,
    repeatable,
)
from inspector.runner.network.effects import Decide, Failure, Fire, NetworkMachine
from inspector.runner.network.given import tokens_of
from inspector.runner.network.recorder import NetworkRecorder
from inspector.runner.network.report import DEADLOCK, leftovers, standstill
from inspector.runner.network.result import CHANGED, NetworkResult
from inspector.runner.network.watch import Watch
from inspector.runner.preflight import Decided
from inspector.runner.threads import Threads, being_cancelled, ends

Observe = Callable[[dict[str, Any]], None]
Puts = Sequence[tuple[str, Value]]


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
        watch: Watch,
    ) -> None:
        self.watch, self._idle = watch, watch.idle
        self.run, self.run_id, self.origin = run, run_id, origin
        self.machine = NetworkMachine(run, max(workers, 1))
        self.threads = Threads()
        self.control, self.observe = control or Control(), observe
        # Elsewhere than in the main thread, where signals are heard, nothing could end what is done inline.
        main = threading.current_thread() is threading.main_thread()
        self._inline = self.control.inline if workers <= 1 and main else None
        self.open: dict[str, tuple[str, Value] | None] = {}
        self.decided = Decided()
        self.claims = Claims()
        self.taken: Holder | None = None
        """From whom the run was taken over."""
        self.edited: list[Edited] = []
        """What was changed in the saved run."""
        self.taken_from: str | None = None
        """The same in words, of a run in a store."""
        self.recorder = NetworkRecorder(None, run, origin)
        self.given_up: list[Firing] = []
        self.why_failed: str | None = None
        self.in_store = self._goes_on = self._begun = False

    async def go(
        self,
        trace: str | None,
        journal: Journal | None,
        code: Definition,
        inputs: Value,
        link: RunLink | None,
        source: str | None,
        *,
        goes_on: bool = False,
    ) -> NetworkResult:
        """Drive, and write it all down; `goes_on`: in the journal that the run has."""
        self._goes_on, self.in_store = goes_on, isinstance(journal, ClaimedJournal)
        claim = self.claims.take(self.run_id) if trace is not None else None
        own: TraceFile | None = None
        try:
            if trace is not None:
                refuse_existing(trace)
                self.claims.begin(self.run_id, trace)
                own = TraceFile(trace)
            self.recorder = NetworkRecorder(journal if own is None else own, self.run, self.origin)
            if claim is not None:
                self.control.fence(lambda: self.claims.holds(claim))
            self.recorder.kept = self.watch.kept
            self.machine.checkpoint = lambda: self.recorder.checkpoint("request")
            with self.watch.run_span() as span:  # the first checkpoint knows of it
                for firing in self._doubtful():  # and of this: the process may end behind it
                    if firing.node.kind != "agent":
                        self.run.doubt(firing.number)
                if goes_on:
                    self.recorder.checkpoint("resumed")
                else:
                    mark = partial(self.claims.succeeded, link.run, self.run_id, trace) if link is not None else None
                    self.recorder.header(self.run_id, code, inputs, link, source, mark)
                self._begun = True
                if self.observe is not None:
                    self.observe({"event": "run", "run": self.run_id, "trace": trace})
                taken = self.taken_from or (driven(self.taken) if self.taken is not None else None)
                if taken is not None:
                    self.recorder.decision("take over", taken, None, self.decided.take_over)
                for accepted in sorted(self.decided.accept):
                    self.recorder.decision("accept", accepted, None, self.decided.why.get(accepted))
                for change in self.edited:
                    self.recorder.decision("edit", change.path, change.told(), self.decided.why.get(change.path))
                left, ended = await self._reconcile(), None
                if not left and not self.machine.failures:
                    ended = await drive(self.machine, self._perform, self.control)
                self._look()
                result = await self._settled(self._result(ended, left, trace))
                self.watch.telemetry.ended(span, result.status, result.error)
                return result
        except (asyncio.CancelledError, KeyboardInterrupt):
            with contextlib.suppress(JournalError):
                self._result(None, [], trace)
            raise
        except JournalError as error:
            if self._begun:
                error.cut_short()
            raise
        finally:
            self.threads.close()
            if own is not None:
                own.close()
            if claim is not None:
                self.claims.release(claim)

    def _doubtful(self) -> list[Firing]:
        """The firings that may have happened in an earlier process, and have not been completed."""
        ready = {firing.id: firing for firing in self.run.ready()}
        return [ready[firing] for firing in self.open if firing in ready]

    async def _reconcile(self) -> list[str]:
        """Do what was decided about firings that may have happened, by somebody or else by a hook; the ids of those
        that still wait."""
        left: list[str] = []
        for firing in self._doubtful():
            firing_id, decided, why = firing.id, self.open[firing.id], self.decided.why.get(firing.id)
            if decided is None and firing.node.kind != "agent":
                try:
                    decided, why = await self.watch.doubts(self.run, firing, self.origin), "a hook decided"
                except Stopped as stopped:
                    self.stop(stopped.reason)
                    return left
                finally:
                    self.keep_scratch()
            how, value = decided or ("retry" if repeatable(firing) else "leave", None)
            if decided is not None:
                self.recorder.decision(f"reconcile {how}", firing_id, value, why)
            if how == "leave":
                left.append(firing_id)
                self.recorder.operation(firing, "ambiguous")  # also in this journal: it may be resumed in turn
                self.run.doubt(firing.number)
            elif how == "result":
                self.run.begin(firing)
                try:
                    puts = tokens_of(self.run, firing, value)
                except ResumeRefused as error:  # what a hook said; what somebody decided was looked at before
                    self.run.release(firing)
                    self.fail(firing, RunError(message=error.detail, where=firing.node.path), ambiguous=True)
                    continue
                self.step(self.run.commit(firing, puts, dict(firing.state)), firing if self._goes_on else None)
            elif how != "retry":
                self.run.begin(firing)
                self.run.release(firing)
                gone = how == "abort"
                self.why_failed = ABORTED if gone else self.why_failed
                kind, text = (ABORTED, "given up") if gone else (None, str(value))
                self.fail(firing, RunError(type=kind, message=text, where=firing.node.path), ambiguous=gone)
        return left

    def _look(self) -> None:
        """Behind the last firing: a node that is found only now to have changed its parameters has failed."""
        for number, node in enumerate(self.run.plan.nodes):
            if node.actor is not None and (why := node.actor.overlooked()) is not None:
                count = self.run.completed(number)
                firing = Firing(f"{node.name}#{count}", number, node, None, (), {}, {}, count)
                error = RunError(type="TypeError", message=why, where=node.path)
                # First, since the journal's end names that one, and has no other place for a firing that was committed.
                self.why_failed = self.why_failed or CHANGED
                self.machine.failures.insert(0, Failure(firing, error))

    def _perform(self, effect: Effect) -> Coroutine[Any, Any, object]:
        if isinstance(effect, Decide):
            return self._decide(effect.firing)
        assert isinstance(effect, Fire)
        return self._fire(effect.firing) if self._idle else self._watched(effect.firing)

    async def _watched(self, firing: Firing) -> None:
        """The firing, with whoever listens."""
        watch, failed = self.watch, len(self.machine.failures)
        tokens = {port: self.run.values.decode(token) for port, token in firing.tokens.items()}
        try:
            if firing.number not in self.run.held:
                await watch.begins(firing, tokens, idempotency_key(self.origin, firing))
        except Stopped as stopped:
            self.run.release(firing)
            self.stop(stopped.reason)
            return
        except asyncio.CancelledError:
            self.run.release(firing)
            raise
        finally:
            self.keep_scratch()
        with watch.span(firing) as span:
            puts = await self._fire(firing)
            mine = [each.error for each in self.machine.failures[failed:] if each.firing is firing]
            error = mine[0] if mine else None
            watch.telemetry.fired(span, error)
        if puts is None and error is None:
            return  # an agent waits, or the run was stopped
        try:
            await watch.ended(firing, tokens, puts or (), error)
        except Stopped as stopped:
            self.stop(stopped.reason)
        finally:
            self.keep_scratch()

    def stop(self, reason: str) -> None:
        """A hook ends the run; what is under way ends first."""
        self.machine.stopped = self.machine.stopped or reason

    def keep_scratch(self) -> None:
        """Write down what hooks put into their scratchpad."""
        try:
            scratch = self.watch.changed()
        except Stopped as stopped:
            self.stop(stopped.reason)
            return
        if scratch is not None:
            self.recorder.scratch(scratch)

    async def _fire(self, firing: Firing) -> Puts | None:
        """Fire, and commit it; the tokens that it put, None when it did not end well."""
        if firing.node.kind == "agent":
            return await agents.fire(self, firing)
        self.run.start(firing)
        started = self.recorder.operation(firing, "started")
        self.note("operation", firing, status="started")
        try:
            outcome = await fire(self.run, firing, self.origin, self.threads, self._inline, self.watch)
        except (asyncio.CancelledError, KeyboardInterrupt) as error:
            if isinstance(error, asyncio.CancelledError) and not self._cancelled():
                self._failed(firing, error)  # of something that the body waited for
                return None
            self._give_up(firing)
            raise
        except Stopped as stopped:
            self.run.release(firing)
            self.recorder.operation(firing, "failed", RunError(message=f"stopped: {stopped.reason}"))
            self.stop(stopped.reason)
        except BaseException as error:
            if ends(error):
                raise
            self._failed(firing, error)
        else:
            self._commit(firing, outcome, started)
            return outcome.puts
        return None

    def _cancelled(self) -> bool:
        return self.control.interrupted or being_cancelled()

    def _failed(self, firing: Firing, error: BaseException) -> None:
        self.run.release(firing)
        doubt = isinstance(error, OutOfTime) or (self.in_store and leaves_open(firing, error))
        self.fail(firing, described(firing, error), ambiguous=doubt)

    def _commit(self, firing: Firing, outcome: Outcome, started: str) -> None:
        ended = self.recorder.clock()
        done = self.run.commit(firing, outcome.puts, outcome.state, outcome.context, (started, ended))
        self.step(done, firing, ended)

    async def _decide(self, firing: Firing) -> None:
        at = self.recorder.clock()
        try:
            condition = firing.node.condition
            outcome = condition is None or bool(condition(self.run.values.decode(firing.tokens["value"])))
            done = self.run.decide(firing, outcome, (at, at))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if firing in self.run.flying:
                self.run.release(firing)
            self.fail(firing, described(firing, error))
        else:
            self.step(done)

    def step(self, done: Committed, firing: Firing | None = None, at: str | None = None) -> None:
        """Write down a step, with its firing the end of that too, and tell of it."""
        self.recorder.step(done, firing, at)
        if self.observe is not None:
            step = done.step
            self.observe(
                {"event": "step", "seq": step.seq, "kind": step.kind, "name": step.name, "status": step.status}
            )

    def fail(self, firing: Firing, error: RunError, *, ambiguous: bool = False) -> None:
        """The firing failed; nothing more begins."""
        self.machine.failures.append(Failure(firing, error, ambiguous))
        kind = f"{error.type}: " if error.type else ""
        self.run.fail(firing, f"failed: {kind}{error.message}", doubted=ambiguous)
        self.recorder.operation(firing, "ambiguous" if ambiguous else "failed", error)
        self.note("operation", firing, status="failed", error=error.message)

    def _give_up(self, firing: Firing) -> None:
        self.run.release(firing)
        self.recorder.operation(firing, "ambiguous")
        self.given_up.append(firing)
        self.note("operation", firing, status="ambiguous")

    def note(self, event: str, firing: Firing, **about: Any) -> None:
        """Tell whoever follows the run from outside."""
        if self.observe is not None:
            self.observe({"event": event, "kind": "firing", "name": firing.node.name, "id": firing.id, **about})

    async def _settled(self, result: NetworkResult) -> NetworkResult:
        if self.watch.hooks and result.status not in ("suspended", "interrupted"):
            with contextlib.suppress(Stopped):  # it is over already
                await self.watch.settled(result.status, result.saved_outputs, result.error)
        return result

    def _result(self, ended: Effect | None, left: list[str], trace: str | None) -> NetworkResult:
        failures = self.machine.failures
        status, reason = self._ending(ended, left)
        outputs = self.run.queues.outputs()
        for failure in failures:
            self.run.reopen(failure.firing.number)
            self.run.unhold(failure.firing.number)
        if self.machine.stopped is not None:
            for number in range(len(self.run.plan.nodes)):
                self.run.reopen(number)
        for firing in self.given_up:
            self.run.doubt(firing.number)
        rest = leftovers(self.run) if status == "completed" else []
        stuck = standstill(self.run) if status == "completed" else None
        if stuck is not None:
            status, reason = "failed", DEADLOCK
        error = failures[0].error if failures else stuck
        self.recorder.end(status, reason, error, outputs if status == "completed" else None)
        return NetworkResult(
            status=status,
            reason=reason,
            saved_outputs={port: [self.run.values.whole(token) for token in kept] for port, kept in outputs.items()},
            outputs={port: [self.run.values.decode(token) for token in tokens] for port, tokens in outputs.items()},
            run_id=self.run_id,
            failures=failures,
            leftovers=rest,
            stuck=stuck,
            open=[*left, *(firing.id for firing in self.given_up)],
            pending=list(agents.calls(self.run)),
            trace=trace,
            steps=self.recorder.steps,
        )

    def _ending(self, ended: Effect | None, left: list[str]) -> tuple[RunStatus, str | None]:
        if self.machine.failures:
            return "failed", self.why_failed
        if self.machine.stopped is not None:
            return "cancelled", self.machine.stopped
        if left:
            return "suspended", "reconciliation"
        if ended is None:
            if self._cancelled():
                return "interrupted", "cancelled"
            return ("suspended", "breakpoint") if self.control.broke else ("interrupted", "stopped")
        if self.run.held:
            return "suspended", str(next((call["note"] for call in agents.calls(self.run)), "tools"))
        return "completed", None
