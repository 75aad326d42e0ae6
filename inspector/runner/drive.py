"""The one drive loop. It asks a machine for effects and has them performed, until an effect ends the run.

It knows nothing of agents and networks: a machine is something to ask, a performer does what it asks and
tells the machine what came of it. Effects that are `exclusive` are performed before the machine is asked
again; others overlap. Before it asks, it looks whether the run shall stop: between two effects everything
is data.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from inspector.runner.effects import Busy, Effect
from inspector.runner.errors import RunClosed

FENCE = 0.1
"""Seconds between two looks whether the run is still one's own."""


class Control:
    """How a run is steered and stopped from outside; from any thread or signal handler. To give up what is
    under way too, cancel the task: what was begun then may have happened."""

    def __init__(self) -> None:
        self.stopping = False
        self.broke = False
        """Whether it was stopped at a breakpoint: somebody wants to look, and nothing has gone wrong."""
        self.taken_over = False
        """Whether it was seen that somebody else took the run over."""
        self._wanted = False
        self._inline = False
        self.interrupted = False
        """Whether what was done inline was ended."""
        self._lock = threading.Lock()
        self._inbox: list[str] = []
        self._cancel: Callable[[], object] | None = None
        self._fences: list[Callable[[], bool]] = []
        self._looked = 0.0
        self._pauses: list[Callable[[], None]] = []
        self._closed: str | None = None

    def stop(self) -> None:
        """Stop at the next boundary; a pause between two tries is one."""
        self.stopping = True
        for wake in [*self._pauses]:
            wake()

    async def back_off(self, seconds: float) -> None:
        """Wait so long, but no longer than until the run shall stop."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        until = loop.time() + seconds

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(woken.set)

        self._pauses.append(wake)
        try:
            while not self.stopping and (left := until - loop.time()) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), min(left, FENCE) if self._fences else left)
                if self.fenced_off():
                    self.stop()
        finally:
            self._pauses.remove(wake)

    def checkpoint(self) -> None:
        """Write the whole state into the journal at the next boundary, and go on."""
        self._wanted = True

    def wants_checkpoint(self) -> bool:
        """Whether a checkpoint was asked for since the last look."""
        wanted, self._wanted = self._wanted, False
        return wanted

    def inline(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, done here and now, in the loop's own thread: `interrupt` ends it."""
        self._inline = True
        try:
            return work()
        finally:
            self._inline = False

    def interrupt(self) -> None:
        """End what is done inline, by a CancelledError; called in its thread, so from a signal handler."""
        if self._inline:
            self._inline, self.interrupted = False, True
            raise asyncio.CancelledError

    def cancels(self, cancel: Callable[[], object] | None) -> None:
        """How what is under way is given up, from any thread; None: nothing is, any more."""
        self._cancel = cancel

    def give_up(self) -> None:
        """Stop, and do not wait for what is under way: it may have happened, and is written down as that."""
        self.stop()
        if self._cancel is not None:
            self._cancel()

    def fence(self, holds: Callable[[], bool]) -> None:
        """Stop when this is no longer so: somebody else took the run over."""
        self._fences.append(holds)

    def fenced_off(self, *, now: bool = False) -> bool:
        """Whether somebody else took the run over; looked up a few times a second at most, unless `now`."""
        if not self._fences or (time.monotonic() < self._looked + FENCE and not now):
            return False
        self._looked = time.monotonic()
        self.taken_over = not all(holds() for holds in self._fences)
        return self.taken_over

    def holds(self, effect: Effect) -> bool:
        """Whether the run shall be held before this effect; asked before each."""
        return False

    async def hold(self, effect: Effect) -> None:
        """Return when the run may go on with the effect, or shall stop."""

    def steer(self, message: str) -> None:
        """A message for the model, before its next call. Raises RunClosed when the run takes no more."""
        with self._lock:
            if self._closed is not None:
                raise RunClosed("run", f"the run is {self._closed}: it takes no more messages")
            self._inbox.append(message)

    def ask(self, take: Callable[[str], None], ask: Callable[[], Effect]) -> Effect:
        """Ask a machine for its next effect, after it took what came in. Nothing comes in between: a message
        is taken before the end, or refused after it."""
        with self._lock:
            for message in self._inbox:
                take(message)
            self._inbox.clear()
            try:
                effect = ask()
            except Exception:
                self._closed = "over"
                raise
            if effect.ending:
                self._closed = "over or suspended"
            return effect

    def close(self, reason: str) -> list[str]:
        """Take no more messages; returns those that nobody took."""
        with self._lock:
            self._closed = self._closed or reason
            left, self._inbox = self._inbox, []
            return left


class Machine(Protocol):
    """What is driven."""

    def next(self) -> Effect:
        """What is to be done now."""

    def checkpoint(self) -> None:
        """Write down the whole state."""

    def drop(self, effect: Effect) -> None:
        """What it asked for last is not performed: the run is stopped before it."""


BREATH = 0.01
"""Seconds after which the loop lets others run, however quickly effects follow each other."""
Perform = Callable[[Effect], Coroutine[Any, Any, object]]


async def drive(machine: Machine, perform: Perform, control: Control) -> Effect | None:
    """Drive to the end: the ending effect, or None when the run was stopped at a boundary. What `perform`
    raises comes out, after what else is under way has ended."""
    running = _Running()
    breath = time.monotonic() + BREATH
    try:
        while True:
            running.collect()
            if control.fenced_off():
                control.stop()
            if control.stopping:
                if not running.tasks:
                    return None
                await running.one()
                continue
            if control.wants_checkpoint():
                machine.checkpoint()
            effect = machine.next()
            if effect.ending and not running.tasks:
                return effect
            if effect.ending or isinstance(effect, Busy):
                await running.one()
                continue
            if control.holds(effect):
                await control.hold(effect)
                if control.fenced_off(now=True):
                    control.stop()
                if control.stopping:
                    machine.drop(effect)
                    continue
            if effect.exclusive:
                await perform(effect)
                # What never waits must not keep timers and signals from being heard.
                if time.monotonic() > breath:
                    await asyncio.sleep(0)
                    breath = time.monotonic() + BREATH
            else:
                running.begin(perform(effect))
    finally:
        await running.cancel()


class _Running:
    """The effects under way. One that was begun has always taken its first steps when `one` returns or raises."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[object]] = set()
        self._ended: list[asyncio.Task[object]] = []
        self._waiter: asyncio.Future[None] | None = None

    def begin(self, performing: Coroutine[Any, Any, object]) -> None:
        """One more."""
        task = asyncio.ensure_future(performing)
        self.tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[object]) -> None:
        self.tasks.discard(task)
        self._ended.append(task)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def one(self) -> None:
        """Wait until one has ended."""
        if self._ended:
            return
        if not self.tasks:
            raise RuntimeError("the machine waits, but nothing is under way")
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def collect(self) -> None:
        """Forget those that have ended. Raises what one of them raised."""
        while self._ended:
            self._ended.pop().result()

    async def cancel(self) -> None:
        """End all of them."""
        left = [*self.tasks]
        for task in left:
            task.cancel()
        if left or self._ended:  # what has ended is looked at too, since nobody else will
            await asyncio.gather(*left, *self._ended, return_exceptions=True)
