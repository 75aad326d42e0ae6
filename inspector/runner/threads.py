"""Threads for work that blocks. They are daemons: work that never ends does not keep its process from ending."""

import asyncio
import contextlib
import contextvars
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

BEAT = 1.0
"""Seconds after which a loop that waits for threads looks about by itself: where a body has closed the files of the
process, nothing wakes it any more."""

Work = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """As many threads as work is under way at once; those that are done wait for more."""

    def __init__(self, name: str = "body") -> None:
        self._name = name
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads = self._busy = 0
        self._beating = False

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, done in a thread; what it raises is raised. Cancelled, the thread goes on alone."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        context = contextvars.copy_context()
        self._busy += 1
        if not self._beating:
            self._beat(loop)
        if self._busy > self._threads:
            self._threads += 1
            threading.Thread(target=_serve, args=(self._work,), name=self._name, daemon=True).start()
        self._work.put((loop, future, lambda: context.run(work)))
        try:
            return await future
        except asyncio.CancelledError:
            self._threads -= 1  # the thread is lost to the body that it is in
            raise
        finally:
            self._busy -= 1

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._beating = self._busy > 0
        if self._beating:
            loop.call_later(BEAT, self._beat, loop)

    def close(self) -> None:
        """Let the threads end that wait."""
        if self._threads:
            self._work.put(None)


class no_copy:
    """Around code of the user's that may fork: a copy of this process that leaves it ends there. Otherwise it would go
    on with the run too, in the same journal."""

    def __enter__(self) -> None:
        self._process = os.getpid()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if os.getpid() == self._process:
            return
        code = 0 if error is None else 1
        if isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            traceback.print_exception(error)
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def ends(error: BaseException) -> bool:
    """Whether what came out of code of the user's ends the process, or the task or coroutine that asks. Anything else
    that it raises is a failure of it, also where it is no Exception, as what a library in another language raises for
    a defect of its own."""
    if isinstance(error, asyncio.CancelledError):
        return being_cancelled()
    return isinstance(error, KeyboardInterrupt) or (isinstance(error, GeneratorExit) and _closed())


def _closed() -> bool:
    """Whether the coroutine that asks is being closed, which no loop does to one that it runs."""
    try:
        return asyncio.current_task() is None
    except RuntimeError:
        return True


def being_cancelled() -> bool:
    """Whether the task that asks is to end. If not, a CancelledError is of something that the task waited for, and is a
    failure like any other."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def in_thread(work: Callable[[], T], name: str = "body") -> T:
    """The result of `work`, done in a thread of its own."""
    threads = Threads(name)
    try:
        found: T = await threads.run(work)
        return found
    finally:
        threads.close()


def _serve(waiting: "queue.SimpleQueue[Work | None]") -> None:
    while (asked := waiting.get()) is not None:
        loop, future, body = asked
        result: Any = None
        failed: BaseException | None = None
        try:
            result = body()
        except StopIteration as error:  # no future takes one
            failed = RuntimeError(f"StopIteration: {error}")
        except BaseException as error:
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, future, result, failed)
        if future.cancelled():
            return
    waiting.put(None)


def _tell(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
