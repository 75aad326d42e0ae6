"""Today's code of the open run: which target it is, and the verdict on it, made again when its files change.

One thread asks another process each time; nothing is imported here.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable

import msgspec

from inspector.resume.judge import Asked, judged
from inspector.tui.owing import owing
from inspector.tui.reports import Judged, Part

PERIOD = 1.0
"""Seconds between two looks at the files."""
AGAIN = 10.0
"""Seconds after which it is judged again whether somebody still drives the run: nothing tells of that."""


class Code:
    """Answers by reports to `post`, from its own thread. `target` None: no code was named yet."""

    def __init__(self, post: Callable[[Judged], object], part: Part) -> None:
        self._post, self._part = post, part
        self._turn = threading.Condition()
        self._wanted: list[tuple[int | None, Part]] = []
        self._files: tuple[str, ...] = ()
        self._stamps: object = None
        self._closed = False
        self._again: float | None = None
        self._thread: threading.Thread | None = None
        self._tried: object = None
        """What the files were when a process was last begun that imported them, and that has ended."""
        self._fatal: str | None = None
        self.target: str | None = None

    def name(self, target: str) -> None:
        """This is the code. Somebody said so, and that it may be imported."""
        self.target = target
        self._files = (target.rpartition(":")[0],)
        self.judge(None)
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="code", daemon=True)
            self._thread.start()

    def judge(self, step: int | None, part: Part | None = None) -> None:
        """Make the verdict for a step (None: the last one) again; `part` is the run that it is of, where that is
        another one, and its number there."""
        wanted = step, part or self._part
        with self._turn:
            if wanted not in self._wanted:
                self._wanted.append(wanted)
            self._turn.notify_all()

    def fatal(self) -> str | None:
        """Why the code, as its files are now, cannot be imported into this process without an end of that; None
        where it can. Waits until another process has tried."""
        with self._turn:
            while self._tried is None or self._tried != self._look():
                if self._closed:
                    return "the screen was left"
                self._turn.notify_all()  # the thread looks at the files whenever it wakes
                self._turn.wait(PERIOD)
            return self._fatal

    def close(self) -> None:
        """End the thread when it comes to it."""
        with self._turn:
            self._closed = True
            self._turn.notify_all()

    def _loop(self) -> None:
        while not self._closed:
            with self._turn:
                if not self._wanted:
                    self._turn.wait(PERIOD)
                wanted, self._wanted = self._wanted, []
            due = self._again is not None and time.monotonic() > self._again
            if not wanted and (due or self._look() != self._stamps):
                wanted = [(None, self._part)]
            for step, part in wanted:
                if not self._closed:
                    self._judge(step, part)

    def _judge(self, step: int | None, part: Part) -> None:
        assert self.target is not None
        target = self.target
        self._stamps = self._look()
        path = None if part.path == "-" else os.path.abspath(part.path)
        verdict = judged(Asked(target=target, path=path, run=part.run, step=part.step, format=part.format))
        if verdict.plan is not None:
            verdict = msgspec.structs.replace(verdict, plan=owing(verdict.plan))
        if verdict.files and verdict.files != self._files:
            self._files = verdict.files
            self._stamps = self._look()
        with self._turn:
            self._tried, self._fatal = self._stamps, verdict.died
            self._turn.notify_all()
        if step is None:
            refusals = verdict.plan.refusals if verdict.plan is not None else ()
            owned = any(refusal.code == "owned" for refusal in refusals)
            self._again = time.monotonic() + AGAIN if owned else None
        self._post(Judged(target, step, verdict))

    def _look(self) -> object:
        """What changes when a file is written to."""
        found = []
        for name in self._files:
            with contextlib.suppress(OSError):
                status = os.stat(name)
                found.append((name, status.st_size, status.st_mtime_ns))
        return found
