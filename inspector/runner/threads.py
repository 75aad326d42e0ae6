"""Threads for work that blocks. They are daemons: work that never ends does not keep its process from ending."""

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

Work = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """As many threads as work is under way at once; those that are done wait for more."""

    def __init__(self, name: str = "body") -> None:
        self._name = name
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads = self._busy = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, done in a thread; what it raises is raised. Cancelled, the thread goes on alone."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        context = contextvars.copy_context()
        self._busy += 1
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

    def close(self) -> None:
        """Let the threads end that wait."""
        if self._threads:
            self._work.put(None)


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
