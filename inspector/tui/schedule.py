"""One thread that does two kinds of work, so that whoever asks never waits.

What was *asked* for is done at once, and only the latest of each kind: a request that has been overtaken is
never begun. *Long* work goes on in slices of a few milliseconds between requests. Long work that nobody
waits for *rests* while keys are being pressed, and between its slices, because two busy threads share one
interpreter.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial

SLICE = 0.004
"""Seconds that long work may go on before it looks for requests."""

REST = 0.3
"""Seconds without a key after which resting work goes on."""

PAUSE = 0.002
"""Seconds between two slices of resting work."""

Job = Callable[[], None]


class Schedule:
    """The thread. `asked` and `long` are the kinds of work, most urgent first; `failed` is called, in the
    thread, with the kind of work that raised and the exception; `ended` at the end."""

    def __init__(
        self,
        *,
        asked: Sequence[str],
        long: Sequence[str],
        resting: Sequence[str],
        failed: Callable[[str, Exception], None],
        ended: Job,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asked, self._kinds, self._resting = asked, long, resting
        self._failed, self._ended, self.clock = failed, ended, clock
        self._turn = threading.Condition()
        self._wanted: dict[str, Job] = {}
        self._long: dict[str, Generator[None]] = {}
        self._closed = False
        self._rest_until = 0.0
        self._hurry = False
        self._waiting = False
        self._regular: tuple[float, Job] | None = None
        self._due = 0.0
        self._thread = threading.Thread(target=self._loop, name="loader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask(self, kind: str, job: Job) -> None:
        """Do this soon, in place of an earlier request of its kind. From any thread."""
        with self._turn:
            self._wanted[kind] = job
            self._turn.notify()

    def touch(self) -> None:
        """A key was pressed: resting work rests for a while. From any thread."""
        self._rest_until = self.clock() + REST

    def hurry(self, on: bool) -> None:
        """Somebody waits for resting work: it goes on like any other, or again it does not. From any thread."""
        with self._turn:
            self._hurry = on
            self._turn.notify()

    def close(self, wait: float) -> None:
        """End the thread, and wait for that for some seconds at most. From any other thread."""
        with self._turn:
            self._closed = True
            self._turn.notify()
        if self._thread.is_alive():
            self._thread.join(wait)

    def forget(self, *kinds: str) -> None:
        """Drop requests of these kinds, and long work of these kinds. In the thread."""
        with self._turn:
            for kind in kinds:
                self._wanted.pop(kind, None)
                if kind in self._long:
                    self._long.pop(kind).close()

    def begin(self, kind: str, work: Generator[None]) -> None:
        """Go on with this in slices, in place of earlier work of its kind. In the thread."""
        self._long[kind] = work

    def at_work(self, *kinds: str) -> bool:
        """Whether there is long work of these kinds. In the thread."""
        return any(kind in self._long for kind in kinds)

    def every(self, period: float | None, job: Job) -> None:
        """Do this now and then every so many seconds; None: no more. In the thread."""
        self._regular, self._due = (None if period is None else (period, job)), 0.0

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do but look again from time to time."""
        with self._turn:
            return self._waiting and not self._wanted and not self._long

    def _loop(self) -> None:
        while turn := self._next():
            kind, job = turn
            try:
                job()
            except Exception as error:  # a defect must not end the thread
                if kind in self._long:
                    self._long.pop(kind).close()
                self._failed(kind, error)
        self.forget(*self._long)
        self._ended()

    def _next(self) -> tuple[str, Job] | None:
        with self._turn:
            while not self._closed:
                for kind in self._asked:
                    if kind in self._wanted:
                        return kind, self._wanted.pop(kind)
                now = self.clock()
                if self._regular and self._due <= now:
                    self._due = now + self._regular[0]
                    return "regular", self._regular[1]
                for kind in self._kinds:
                    if kind in self._long and (self._hurry or kind not in self._resting or self._rest_until <= now):
                        return kind, partial(self._advance, kind)
                self._waiting = True
                self._turn.wait(self._pause(now))
                self._waiting = False
        return None

    def _pause(self, now: float) -> float | None:
        waits = [self._rest_until] if self._long else []
        if self._regular:
            waits.append(self._due)
        return max(min(waits) - now, 0.001) if waits else None

    def _advance(self, kind: str) -> None:
        rests = kind in self._resting and not self._hurry
        work, now = self._long[kind], self.clock()
        end = now + (PAUSE if rests else SLICE)
        for _ in work:
            if self._wanted or self._closed:
                return
            if self.clock() >= end:
                if rests:
                    self._rest_until = max(self._rest_until, self.clock() + PAUSE)
                return
        if self._long.get(kind) is work:
            del self._long[kind]
