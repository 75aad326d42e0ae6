"""Code that ends the whole process as it is imported or runs: what makes that an error, or at least a line on
stderr."""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

LOOK = 0.5
"""Seconds between two looks for a parent that is gone while a copy of it keeps the pipe open."""
PATIENCE = 1.0
"""Seconds that a process takes at most to end when its files are closed."""
KEPT = 1 << 16
"""Bytes of what was said that are kept."""


class Exited(BaseException):
    """Code called `os._exit`."""


@contextlib.contextmanager
def exits_raise() -> Iterator[None]:
    """Meanwhile `os._exit` raises Exited where this thread of this process calls it."""
    real, here = os._exit, (os.getpid(), threading.get_ident())
    done = False

    def leave(status: int) -> NoReturn:
        if done or (os.getpid(), threading.get_ident()) != here:
            real(status)
        raise Exited(f"it calls os._exit({status})")

    os._exit = leave
    try:
        yield
    finally:
        done = True
        if os._exit is leave:
            os._exit = real


@contextlib.contextmanager
def exits_fail() -> Iterator[None]:
    """Meanwhile `os._exit` in this process never leaves as if all were well: 0 is what a run that is done returns."""
    real, here = os._exit, os.getpid()

    def leave(status: int) -> NoReturn:
        real(status or 1 if os.getpid() == here else status)

    os._exit = leave
    try:
        yield
    finally:
        os._exit = real


@contextlib.contextmanager
def last_words(text: str = "") -> Iterator[Callable[[str], None]]:
    """Print a line on stderr if this process ends meanwhile without being able to say anything, as by a signal. What
    is yielded takes another text; an empty one: nothing is said. A copy of the process waits for that, so there must
    be no other threads at the beginning."""
    waiting, alive = os.pipe()
    here = os.getpid()
    copy = os.fork()
    if copy == 0:
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.dup2(waiting, 0)
            os.dup2(2, 1)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            told = _last_line(here)
            if told:
                os.write(2, told + b"\n")
        finally:
            os._exit(0)
    os.close(waiting)

    def say(text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(alive, text.encode("utf-8", "backslashreplace") + b"\n")

    try:
        say(text)
        yield say
    finally:
        say("")
        # What was imported may have closed the files of this process, or have its children end unheard.
        with contextlib.suppress(OSError):
            os.close(alive)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(copy, 0)


def _last_line(parent: int) -> bytes:
    """The last line that comes in before the parent has ended, of which other copies may keep the pipe open; nothing
    where the parent closes the pipe, and goes on."""
    said = b"\n"
    while True:
        gone = os.getppid() != parent
        if select.select([0], [], [], 0 if gone else LOOK)[0]:
            data = os.read(0, 1 << 16)
            said = (said + data)[-KEPT:]
            if not data:
                break
        elif gone:
            break
    *_, told, _ = (b"\n" + said).split(b"\n")
    until = time.monotonic() + PATIENCE
    while told and os.getppid() == parent:
        if time.monotonic() > until:
            return b""
        time.sleep(0.01)
    return told
