"""Driving a run from a program without an event loop, and stopping it from outside."""

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import TypeVar

from inspector.runner.drive import Control

T = TypeVar("T")


class Stopping(Control):
    """Stops when an event of another thread is set."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event
        super().__init__()

    @property
    def stopping(self) -> bool:
        return self._event.is_set()

    @stopping.setter
    def stopping(self, value: bool) -> None:
        if value:
            self._event.set()


def in_loop(going: Coroutine[object, object, T], stop: threading.Event) -> T:
    """Run in a loop of its own. In the main thread the first interrupt stops at the next boundary, and the
    second gives up what is under way."""

    async def main() -> T:
        task = asyncio.ensure_future(going)

        def interrupted() -> None:
            if stop.is_set():
                task.cancel()
            stop.set()

        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, interrupted)
        return await task

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
