"""A resume: planned, and then driven, in a thread of this process, so that the screen never waits for it.

What comes of it goes to `post` as events. The code is imported afresh for the first plan, and again whenever
one of its files has changed.
"""

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from inspector.errors import InspectorError, UsageError
from inspector.model.run import Pending
from inspector.model.source import RunSource, claim_of
from inspector.model.stored import Stored, moment
from inspector.model.text import one_line
from inspector.resume.apps import App, load
from inspector.resume.jobs import Job, Plan, Refused, check, open_job, resume
from inspector.resume.plan import Decisions, Ended, Refusal, Warned
from inspector.resume.steering import Steering, read_break
from inspector.runner.claims import Claims, Successor
from inspector.tui.capture import Output, capturing
from inspector.tui.guard import guard
from inspector.tui.owing import owing
from inspector.tui.reports import Part
from inspector.tui.times import age


class Planned(NamedTuple):
    """A plan, or why there is none. `pending` is what is open at the step; `owner` is who drives the run now, in
    words, and `successors` what it was resumed as."""

    decisions: Decisions
    plan: Plan | None = None
    error: str | None = None
    run: str | None = None
    last: int = 0
    pending: tuple[Pending, ...] = ()
    owner: str | None = None
    successors: tuple[Successor, ...] = ()


class Happened(NamedTuple):
    """Something of the run, as `resume --json` prints it; `held` and `going` besides."""

    event: dict[str, Any]


class Said(NamedTuple):
    """A piece of what a model says."""

    text: str


class Printed(NamedTuple):
    """There is more output."""


class Finished(NamedTuple):
    """The end: how the run ended, or why it did not begin."""

    ended: Ended | None = None
    refusals: tuple[Refusal | Warned, ...] = ()
    error: str | None = None


Told = Planned | Happened | Said | Printed | Finished


class Resumption:
    """A resume of a run with the code `target`: after the step of `part`, or before the last step of the node `rerun`;
    with neither, after its last step. `begins` is what the timeline adds to the numbers of that run's steps. `fatal`
    says why the code cannot be imported here; it may take its time. `output`: what was printed before by the run that
    goes on."""

    def __init__(
        self,
        post: Callable[[Told], object],
        part: Part,
        *,
        rerun: str | None = None,
        begins: int = 0,
        target: str,
        breaks: Sequence[str] = (),
        fatal: Callable[[], str | None] = lambda: None,
        output: Output | None = None,
    ) -> None:
        self._post, self._fatal = post, fatal
        self.begins = begins
        self.part, self.path, self.target = part, part.path, target
        self._options: dict[str, Any] = {"run": part.run, "step": part.step, "rerun": rerun, "format": part.format}
        self.output = output or Output()
        self.output.changed = lambda: post(Printed())
        self.steering = Steering(lambda event: post(Happened(event)), [read_break(text) for text in breaks])
        self.driven = False
        """Whether the run has begun, and has not ended."""
        self._app: App | None = None
        self._stamps: object = None
        self._work: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self.thread = threading.Thread(target=self._loop, name="resume", daemon=True)
        self.thread.start()

    def plan(self, decisions: Decisions) -> None:
        """Make the plan with these decisions; answered by Planned."""
        self._work.put(lambda: self._plan(decisions))

    def start(self, decisions: Decisions, expected: str | None) -> None:
        """Do what the plan with the token `expected` says; answered by Happened, and Finished at last."""
        self.driven = True
        self._work.put(lambda: self._run(decisions, expected))

    def hold_at(self, breaks: Sequence[str]) -> None:
        """Have the run held at other places."""
        self.steering.breaks = tuple(read_break(text) for text in breaks)

    def close(self) -> None:
        """End the thread, when nothing is driven."""
        self._work.put(None)

    def _loop(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _job(self, decisions: Decisions) -> Job:
        if self._app is None or _look(self._app.files) != self._stamps:
            why = self._fatal()
            if why is not None:
                raise UsageError(self.target, why)
            guard(_last_words(self.target, None))
            self._app = load(self.target)
            self._stamps = _look(self._app.files)
        job = open_job(self.path, self._app, **self._options)
        return msgspec.structs.replace(job, decisions=decisions, control=self.steering, hear=self._hear)

    def _plan(self, decisions: Decisions) -> None:
        try:
            with capturing(self.output):
                self._post(self._planned(self._job(decisions)))
        except InspectorError as error:
            self._post(Planned(decisions, error=str(error)))
        except Exception as error:  # code of the user: anything
            self._post(Planned(decisions, error=_told(error)))

    def _planned(self, job: Job) -> Planned:
        try:
            plan, run, state = owing(check(job)), job.source.run(), job.source.state(job.step)
            claims, claimed = Claims(), claim_of(job.source)
            return Planned(
                job.decisions,
                plan,
                run=run.id,
                last=len(job.source),
                pending=tuple(state.pending or ()) if state is not None else (),
                owner=_owner(job.source, claims),
                successors=tuple(claims.successors(claimed)) if claimed is not None else (),
            )
        finally:
            job.source.close()

    def _run(self, decisions: Decisions, expected: str | None) -> None:
        try:
            with capturing(self.output):
                job = self._job(decisions)
                self.steering.begins = self.begins + (0 if job.in_place else job.step + 1)
                try:
                    done = Finished(resume(job, self.steering.heard(self._happened), expected=expected))
                finally:
                    job.source.close()
        except Refused as error:
            done = Finished(refusals=tuple(error.refusals))
        except InspectorError as error:
            done = Finished(error=str(error))
        except KeyboardInterrupt:
            done = Finished(error="given up: what was under way may have happened")
        except Exception as error:  # code of the user: anything
            done = Finished(error=_told(error))
        self.driven = False
        self._post(done)

    def _happened(self, event: dict[str, Any]) -> None:
        if event.get("event") == "run":
            guard(_last_words(self.target, event.get("trace") or self.path))
        self._post(Happened(event))

    def _hear(self, item: object) -> None:
        text = getattr(item, "text", None)
        if type(item).__name__ == "TextDelta" and isinstance(text, str):
            self._post(Said(text))


def _owner(source: RunSource, claims: Claims) -> str | None:
    """Who drives a run: in its store, or by the claims of this host."""
    if isinstance(source, Stored):
        claim = source.stored.claim
        if claim is None or not source.lives() or source.stored.final:
            return None
        return f"{claim.who()}{_for(moment(claim.taken))}"
    claimed = claim_of(source)
    holder = claims.holder(claimed) if claimed is not None else None
    if holder is None:
        return None
    return f"process {holder.pid} on {holder.host} since {holder.since}{_for(holder.since)}"


def _for(since: str) -> str:
    passed = age(since, datetime.now(UTC))
    return f" ({passed} then)" if passed else ""


def wrong_break(text: str) -> str | None:
    """What is wrong with a breakpoint as it is written; None for one that is right."""
    try:
        read_break(text)
    except InspectorError as error:
        return str(error)
    return None


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _last_words(target: str, journal: str | None) -> str:
    """What is to be said if the code ends this process."""
    told = f"runinspect: {target}: this process ended without a word, with that code in it"
    return one_line(told if journal is None else f"{told}; the run as far as it came: runinspect {journal}")


def _look(files: Sequence[str]) -> object:
    found = []
    for name in files:
        with contextlib.suppress(OSError):
            status = os.stat(name)
            found.append((name, status.st_size, status.st_mtime_ns))
    return found
