"""A run that leaves the screen: a process of its own goes on with it, and is followed like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import platformdirs

from inspector.runner.claims import Claims
from inspector.runner.places import default_trace, new_id
from inspector.tui.reports import Part

if TYPE_CHECKING:
    from inspector.model.run import RunLink
    from inspector.tui.desk import Desk
    from inspector.tui.live import Live
    from inspector.tui.runresume import RunResume

LOOK = 0.1
"""Seconds between two looks whether the new run has begun."""

_started: list[subprocess.Popen[bytes]] = []
"""Those that may still run: they are nobody's to wait for."""


class Apart(NamedTuple):
    """The process, where its output goes, and the new run's trace; None where it goes on in its store."""

    process: subprocess.Popen[bytes]
    log: str
    trace: str | None

    def told(self) -> str:
        """That it goes on, or went on, in words."""
        code, output = self.process.poll(), f"; its output: {self.log}"
        if code is None:
            return f"goes on as process {self.process.pid}{output}"
        how = "" if code in (0, 4) else f" with {code}"
        return f"went on as process {self.process.pid}, which has ended{how}{output}"


def begin(place: str, run: str | None, target: str, *, trace: str | None) -> Apart:
    """Have a process resume a run. It outlives this one. Raises OSError."""
    folder = os.path.join(platformdirs.user_state_dir("runinspect"), "detached")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    log = os.path.join(folder, f"{new_id()}.log")
    command = [sys.executable, "-m", "inspector", "resume", place, "--app", target, "--json"]
    command += ["--run", run] if run is not None else []
    command += ["--trace", trace] if trace is not None else []
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=fd, stderr=fd, start_new_session=True)
    finally:
        os.close(fd)
    _started[:] = [*(other for other in _started if other.poll() is None), process]
    return Apart(process, log, trace)


def whereabouts(link: RunLink, beside: str) -> Part | None:
    """Where a run is that another one, `beside` which it may stand, goes on from; None where that cannot be told."""
    name = os.path.basename(link.run)
    places = [
        (link.path, None) if isinstance(link.path, str) else None,
        Claims().begun(link.run),
        (os.path.join(os.path.dirname(os.path.abspath(beside)), name), None) if name.strip(".") else None,
    ]
    found = next((place for place in places if place is not None and os.path.exists(place[0])), None)
    return None if found is None else Part(found[0], run=found[1], step=link.step)


def went_on(claim: str, known: int) -> tuple[int, str | None]:
    """(how many runs the one with a claim was resumed as, the trace of the newest where there are more than `known` and
    it has begun). Raises OSError."""
    found = Claims().successors(claim)
    trace = found[-1].trace if len(found) > known else None
    return len(found), trace if trace is not None and _begun(trace) else None


def go_on(desk: Desk, live: Live) -> None:
    """Go on in another process with what was stopped here, and show how it goes."""
    run = desk.run
    assert run is not None
    assert live.ended is not None
    place = live.ended.trace or live.resumption.path
    stored = place == live.resumption.path
    try:
        apart = begin(
            place, desk.opened_run if stored else None, live.resumption.target, trace=None if stored else _trace(place)
        )
    except OSError as error:
        run.tell(f"no process could be started: {error.strerror}; r goes on here", "failed")
        return
    live.apart = apart
    live.trace = apart.trace or live.trace
    run.update_verdict()
    _follow(desk, apart)
    _until_over(run, apart)


def _until_over(run: RunResume, apart: Apart) -> None:
    """Tell of the process as soon as it has ended, too."""
    if apart.process.poll() is None:
        run.set_timer(LOOK, lambda: _until_over(run, apart))
    else:
        run.update_live()


def _trace(place: str) -> str:
    """Where the trace of the run that follows goes: beside the others of its kind."""
    if os.path.isdir(place):
        return os.path.join(os.path.dirname(os.path.abspath(place)), new_id())
    return default_trace(new_id())


def _follow(desk: Desk, apart: Apart) -> None:
    run = desk.run
    if run is None:
        return
    if apart.trace is None:
        desk.loader.follow(True)
    elif _begun(apart.trace):
        desk.enter(Part(apart.trace), behind=desk.parts())
    elif apart.process.poll() is not None:
        run.tell(f"the process ended with {apart.process.returncode}: see {apart.log}; r goes on here", "failed")
    else:
        run.set_timer(LOOK, lambda: _follow(desk, apart))


def _begun(trace: str) -> bool:
    """Whether there is something to open: a record, or a folder with files."""
    try:
        return len(os.listdir(trace)) > 1 if os.path.isdir(trace) else os.path.getsize(trace) > 0
    except OSError:
        return False
