"""Driving a run from a program without an event loop."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from inspector.runner import signals
from inspector.runner.drive import Control

T = TypeVar("T")


def in_loop(going: Coroutine[Any, Any, T], control: Control) -> T:
    """Run in a loop of its own. In the main thread the first signal stops at the next boundary, and the second gives up
    what is under way."""
    return signals.run(going, control)
