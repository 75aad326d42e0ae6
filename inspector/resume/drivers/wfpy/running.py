"""Carrying a plan out: wfpy runs in a thread of this process, in a folder of its own, and tells of its firings."""

import json
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import platformdirs

from inspector.errors import JournalError, RefusedError, UnreadableError, UsageError
from inspector.formats import jsontext
from inspector.formats.document import Document
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, parse
from inspector.formats.readers.wfpy.names import JOURNAL, RECORD, TRACE
from inspector.formats.readers.wfpy.typed import typed
from inspector.model.text import clean
from inspector.model.values import Value, preview, to_json
from inspector.resume.drivers.wfpy import digests, values
from inspector.resume.drivers.wfpy.library import Library, quiet
from inspector.resume.drivers.wfpy.planning import Prepared, prepare, run_of
from inspector.resume.drivers.wfpy.saved import checkpoint_path
from inspector.resume.jobs import Emit, Ended, Job, Refused
from inspector.resume.loop import in_loop
from inspector.resume.plan import Plan, Refusal
from inspector.resume.steering import Steering
from inspector.runner.claims import Claims, Holder, Owned, driven
from inspector.runner.drive import Control
from inspector.runner.places import new_id
from inspector.runner.recorder import decision, now
from inspector.runner.threads import in_thread

DECISIONS = ".decisions.jsonl"
"""What the file beside a run's folder is called that says who decided what, behind the folder's name."""


class Place(msgspec.Struct, frozen=True):
    """Where the new run goes: wfpy makes the folder `run_id` in `base`."""

    base: str
    run_id: str

    @property
    def folder(self) -> str:
        return os.path.join(self.base, self.run_id)


def resume(job: Job, plan: Plan, emit: Emit) -> Ended:
    """Resume the run. Its own folder is only read."""
    library = Library()
    prepared, _ = prepare(job, library, library.plan(job.app))
    place, run = _place(job), run_of(job)
    claims, claimed = Claims(), run.claim
    taken = claims.holder(claimed) if job.decisions.take_over is not None else None
    try:
        held = claims.take(claimed, over=taken)
    except Owned as error:
        raise Refused([Refusal(code="owned", subject=job.path, detail=error.detail)], plan) from error
    try:
        with values.under_names(prepared.module, prepared.names), tempfile.TemporaryDirectory() as scratch:
            source = _source(job, prepared, scratch, plan)
            claims.succeeded(claimed, place.run_id, place.folder)
            job.control.fence(lambda: claims.holds(held))
            _note(job, place, _from_whom(job, taken))
            begun = {"event": "run", "run": place.run_id, "trace": place.folder}
            watch = Watch(library, job.control, emit, begun)
            done = in_loop(in_thread(lambda: _run(job, prepared, place, source, watch), "wfpy"), job.control)
            return _ended(job, prepared, place, watch, done, emit)
    finally:
        claims.release(held)


def _from_whom(job: Job, taken: Holder | None) -> str | None:
    """From whom the run is taken, in words; None where nobody seems to drive it."""
    if taken is not None:
        return driven(taken)
    running = job.decisions.take_over is not None and job.source.run().status == "running"
    return "seems to be driven by wfpy itself: its files still changed" if running else None


def _note(job: Job, place: Place, taken: str | None) -> None:
    """Write down who has the run go on, and what was accepted, beside the new run: wfpy's files have no room for it."""
    made, source = job.decisions, job.source.run().id
    at = now()
    said: list[tuple[str, str | None, Value, str | None]] = [
        *([("take over", taken, None, made.take_over)] if taken is not None else []),
        *(("accept", code, None, made.why.get(code)) for code in sorted(made.accept)),
        ("resume", source, {"path": job.path, "step": job.step, "app": job.app.target}, made.why.get(source or "")),
    ]
    path = place.folder + DECISIONS
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(fd, "a", encoding="utf-8") as file:
            file.write("".join(to_json(decision(*each, at)) + "\n" for each in said))
    except OSError as error:
        raise JournalError(path, error.strerror or "cannot be written to") from error


def _place(job: Job) -> Place:
    if job.trace is None:
        base = os.path.join(platformdirs.user_data_dir("runinspect"), "wfpy")
        os.makedirs(base, mode=0o700, exist_ok=True)
        return Place(base, new_id())
    path = os.path.abspath(job.trace)
    name = os.path.basename(path)
    if os.path.lexists(path):
        raise UsageError(job.trace, "exists already: wfpy puts the new run into a new folder of that name")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise UsageError(job.trace, f"{name!r} cannot be a run's id: letters, digits, - and _")
    folder = run_of(job).artifacts.folder
    if folder is not None and os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder):
        raise UsageError(job.trace, "is inside of the run's own folder, which stays as it is")
    return Place(os.path.dirname(path), name)


def _source(job: Job, prepared: Prepared, scratch: str, plan: Plan) -> tuple[str, int | None]:
    """What wfpy resumes from: the checkpoint, or a folder made for the step. All values are read back once before
    anything runs, since wfpy does that in the middle of a replay."""
    library = prepared.library
    try:
        with quiet():
            if prepared.checkpoint is not None:
                library.restore(prepared.plan, prepared.checkpoint["plan"])
                library.decode(prepared.checkpoint.get("context"))
                return checkpoint_path(prepared.run), None
            firings = prepared.firings
            name = job.source.run().id or "run"
            folder = os.path.join(scratch, re.sub(r"[^A-Za-z0-9_.-]", "-", name).lstrip(".") or "run")
            os.mkdir(folder)
            library.decode(firings.header["inputs"])
            firings.write(folder, digests.renewed(firings, firings.header["inputs"], library))
            return folder, len(firings)
    except RefusedError:
        raise
    except Exception as error:
        detail = f"a saved value cannot be read back by the code: {type(error).__name__}: {error}"
        raise Refused([Refusal(code="value_unreadable", subject=job.path, detail=clean(detail))], plan) from error


class Watch:
    """Hears of every firing, and stops the run before the next one when that is asked for."""

    def __init__(self, library: Any, control: Control, emit: Emit, begun: dict[str, Any] | None = None) -> None:
        self._library, self._control, self._emit, self._begun = library, control, emit, begun
        self._lock = threading.Lock()
        self.replayed = self.ran = 0

    def around(self, original: Callable[..., bool]) -> Callable[..., bool]:
        """wfpy's step of an actor, watched."""

        def step(actor: Any, plan: Any, *rest: Any, **named: Any) -> bool:
            if self._visible():
                self._begin()
            self._hold(actor, plan)
            if self._control.fenced_off():
                self._control.stop()
            if self._control.stopping:
                # What wfpy itself takes for being stopped: it writes a checkpoint, and no actor is to blame.
                raise KeyboardInterrupt
            fired = original(actor, plan, *rest, **named)
            if fired and actor.sub_plan is None and not actor.kind.startswith("control-"):
                self._fired(actor, plan)
            return fired

        return step

    def _hold(self, actor: Any, plan: Any) -> None:
        """Wait where somebody steers the run, and wants it held before this actor fires."""
        control = self._control
        if not isinstance(control, Steering) or actor.sub_plan is not None or not self._library.maybe_ready(actor):
            return
        names = (clean(self._library.path(plan, actor)),)
        if control.holds_before("node", names):
            control.hold_here("node", names)

    def _visible(self) -> bool:
        """Whether there is something in the new run's folder to look at."""
        if self._begun is None:
            return False
        try:
            return os.path.getsize(os.path.join(self._begun["trace"], JOURNAL)) > 0
        except OSError:
            return False

    def _begin(self) -> None:
        with self._lock:
            begun, self._begun = self._begun, None
            if begun is not None:
                self._emit(begun)

    def _fired(self, actor: Any, plan: Any) -> None:
        self._begin()
        with self._lock:
            replayed = bool(actor.replayed)
            self.replayed += replayed
            self.ran += not replayed
            status = "replayed" if replayed else "done"
            name = clean(self._library.path(plan, actor))
            self._emit(
                {"event": "step", "seq": self.replayed + self.ran, "kind": "firing", "name": name, "status": status}
            )


class Done(msgspec.Struct):
    """How wfpy's run ended: with outputs, or an error."""

    outputs: dict[str, Any] | None = None
    error: BaseException | None = None


def _run(job: Job, prepared: Prepared, place: Place, source: tuple[str, int | None], watch: Watch) -> Done:
    library = prepared.library
    try:
        with quiet(), library.stepping(watch.around):
            found = library.runner.run(
                job.app.value, resume_from=source[0], at_step=source[1], out_dir=place.base, run_id=place.run_id
            )
        return Done(outputs=found)
    except BaseException as error:  # an actor may raise anything, sys.exit too
        return Done(error=error)


def _ended(job: Job, prepared: Prepared, place: Place, watch: Watch, done: Done, emit: Emit) -> Ended:
    if stopped := _field(place, RECORD, "replayStopped"):
        emit({"event": "replay_stopped", "why": clean(str(stopped))})
    if done.error is None:
        # With several workers wfpy may come to rest while an actor could still fire, and calls the run completed.
        left_over = _field(place, TRACE, "leftovers")
        for left in left_over if isinstance(left_over, list) else ():
            if isinstance(left, dict) and {"queueId", "count"} <= left.keys():
                why = "wfpy came to rest without these being taken, and does not say why"
                queue = clean(str(left["queueId"]))
                emit({"event": "leftover", "queue": queue, "count": left["count"], "kind": "unknown", "why": why})
    status: Any = "completed"
    reason = None
    if done.error is not None:
        status = "cancelled" if job.control.stopping and isinstance(done.error, KeyboardInterrupt) else "failed"
        if status == "cancelled" and job.control.broke:
            status, reason = "suspended", "breakpoint"
        where = "/".join(getattr(done.error, "_wfpy_failed_path", None) or ())
        message = str(done.error) or type(done.error).__name__
        emit({"event": "error", "where": where, "type": type(done.error).__name__, "message": clean(message)})
    return Ended(
        run=place.run_id,
        status=status,
        reason=reason,
        output=dict(_outputs(prepared, done.outputs)) if done.outputs is not None else None,
        trace=place.folder,
        resumed_from=job.source.run().id,
        replayed=watch.replayed if prepared.checkpoint is None else job.step,
        ran=watch.ran,
    )


def _field(place: Place, name: str, key: str) -> Value:
    """A field of an artifact, which may be large; None where it is not there or cannot be read."""
    try:
        document = Document(File(os.path.join(place.folder, name)))
    except (UnreadableError, Damaged):
        return None
    try:
        return document.get(key)
    finally:
        document.close()


def _outputs(prepared: Prepared, outputs: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    """The tokens of each output port; of a port that got none, none."""
    for port, tokens in outputs.items():
        if tokens is not None:
            tokens = tokens if isinstance(tokens, list) else [tokens]
        yield clean(str(port)), [_shown(prepared.library, token) for token in tokens or ()]


def _shown(library: Any, token: Any) -> Value:
    try:
        return typed(_clean(library.encode(token)))
    except (ValueError, RecursionError):
        return preview(clean(repr(token)), 200)


def _clean(value: Any) -> Value:
    return parse(json.dumps(value).encode(), jsontext.Place("output"), [])
