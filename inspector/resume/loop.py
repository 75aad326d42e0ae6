"""Driving a run from a program without an event loop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from inspector.model.text import one_line
from inspector.runner import signals
from inspector.runner.drive import Control
from inspector.streams import complain

T = TypeVar("T")


def in_loop(going: Coroutine[Any, Any, T], control: Control) -> T:
    """Run in a loop of its own. In the main thread the first signal stops at the next boundary, and the second gives up
    what is under way. What goes wrong where nobody waits for it, as in a task that code of the run has begun and left,
    is a line on stderr."""
    return signals.run(_heard(going), control)


async def _heard(going: Coroutine[Any, Any, T]) -> T:
    asyncio.get_running_loop().set_exception_handler(_stray)
    return await going


def _stray(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    what = "" if error is None else f": {type(error).__name__}: {error}"
    complain(one_line(str(context["message"]) + what))
