"""Stopping a run by signals, in three ways that grow ruder.

The first SIGINT or SIGTERM lets the run stop at its next boundary. The second gives up what is under way, which may
then have happened; behind a SIGTERM it comes by itself when the grace period is over. A third ends the process wherever
it is: the journal is whole at any instant, so even then nothing completed is lost. A SIGUSR1 stops nothing: it has the
whole state written down at the next boundary.
"""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import threading
from collections.abc import Coroutine, Iterator
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from inspector.errors import JournalError, before
from inspector.runner.drive import Control

T = TypeVar("T")
GRACE = 8.0
"""Seconds between a SIGTERM and giving up; RUNINSPECT_GRACE says otherwise. Most supervisors kill after ten."""


def run(going: Coroutine[Any, Any, T], control: Control) -> T:
    """Run in a loop of its own; in the main thread signals are heard, and SIGINT and SIGTERM are as before
    afterwards. Raises KeyboardInterrupt when the run was given up, and JournalError when code of the run has closed
    the files of this process."""
    try:
        with Signals(control) as signals:
            return _looped(signals.hearing(going))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def run_sync(going: Coroutine[Any, Any, T], control: Control) -> T:
    """The same, for a program of its own, which shall end as any other: when the run has stopped by a signal, and that
    is written down, raises KeyboardInterrupt for a SIGINT and SystemExit for a SIGTERM. Raises RuntimeError where a
    loop runs already, and JournalError as `run` does."""
    if _in_a_loop():
        going.close()
        raise RuntimeError("an event loop runs here already: await run() in the place of run_sync()")
    try:
        with Signals(control) as signals:
            result = _looped(signals.hearing(going))
    except asyncio.CancelledError:
        if signals.last is None:
            raise
    if signals.last == signal.SIGTERM:
        raise SystemExit(128 + signal.SIGTERM)
    if signals.last is not None:
        raise KeyboardInterrupt
    return result


def _looped(going: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(going)
    except OSError as error:
        # What was open is gone, the loop's own files too: not even the failure could be awaited.
        if error.errno != errno.EBADF:
            raise
        raise before(error) or _cut_short() from error


def _cut_short() -> JournalError:
    reason = "code of the run has closed the files that this process had open; the run stopped where its journal ends"
    found = JournalError("files", reason)
    found.cut_short()
    return found


class Signals:
    """What SIGINT and SIGTERM do while a run is driven; nothing outside of the main thread. `last` is the signal that
    was heard, if any."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.last: int | None = None
        self._grace = _grace()
        self._before: dict[int, Any] = {}
        self._timer: threading.Timer | None = None
        self._cancel: Any = None
        self._given_up = False

    async def hearing(self, going: Coroutine[Any, Any, T]) -> T:
        """`going`, as the task that is cancelled when the run is given up."""
        task, loop = asyncio.ensure_future(going), asyncio.get_running_loop()
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        self.control.cancels(self._cancel)
        try:
            with _waking(loop) if self._before else contextlib.nullcontext():
                return await task
        finally:
            self.control.cancels(None)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._heard) for number in (signal.SIGINT, signal.SIGTERM)}
            self._before[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, lambda *_: self.control.checkpoint())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._timer is not None:
            self._timer.cancel()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        again, self.last = self.last is not None or self.control.stopping, number
        if not again:
            self.control.stop()
            if number == signal.SIGTERM:
                self._later(number)
        elif not self._given_up and self._cancel is not None:
            self._given_up = True
            if number == signal.SIGTERM:
                self._later(number)
            self._cancel()
            self.control.interrupt()
        else:
            raise KeyboardInterrupt

    def _later(self, number: int) -> None:
        """The same signal again when the grace period is over. A body may block the loop, so no timer of it will do."""
        if self._timer is not None:
            self._timer.cancel()
        main = threading.main_thread().ident
        assert main is not None
        self._timer = threading.Timer(self._grace, signal.pthread_kill, (main, number))
        self._timer.daemon = True
        self._timer.start()


@contextlib.contextmanager
def _waking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Have signals wake the loop: one that comes just before it waits is heard only when something else wakes it."""
    woken, waker = socket.socketpair()
    with woken, waker:
        woken.setblocking(False)
        waker.setblocking(False)
        loop.add_reader(woken, woken.recv, 4096)
        before = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(woken)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _grace() -> float:
    try:
        return max(float(os.environ.get("RUNINSPECT_GRACE", GRACE)), 0.0)
    except ValueError:
        return GRACE
