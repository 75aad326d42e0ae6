"""Driving a run from a program without an event loop, and stopping it from outside."""

import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from inspector.runner import signals
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


def in_loop(going: Coroutine[Any, Any, T], control: Control) -> T:
    """Run in a loop of its own. In the main thread the first signal stops at the next boundary, and the second gives up
    what is under way."""
    return signals.run(going, control)
