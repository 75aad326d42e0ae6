"""Work that takes long, beside the screen: keys are answered meanwhile."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T], *, kept: bool = False) -> T:
    """What `work` returns or raises. It is done in a thread of its own, which the end of the app does not wait for,
    unless what it does is `kept`, as in a file."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(answer: Callable[[Any], None], what: Any) -> None:
        if not future.done():
            answer(what)

    def run() -> None:
        told: tuple[Callable[[Any], None], Any]
        try:
            told = future.set_result, work()
        except Exception as error:
            told = future.set_exception, error
        with contextlib.suppress(RuntimeError):  # the app has ended
            loop.call_soon_threadsafe(tell, *told)

    threading.Thread(target=run, name="aside", daemon=not kept).start()
    return await future
