"""Code that ends the whole process as it is imported: what makes that an error, or at least a line on stderr."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import NoReturn


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
def last_words(text: str) -> Iterator[None]:
    """Print a line on stderr if this process ends meanwhile without being able to say anything, as by a signal. A
    copy of the process waits for that, so there must be no other threads."""
    waiting, alive = os.pipe()
    copy = os.fork()
    if copy == 0:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.close(alive)
            if not os.read(waiting, 1):
                os.write(2, text.encode("utf-8", "backslashreplace") + b"\n")
        finally:
            os._exit(0)
    os.close(waiting)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.write(alive, b".")
        os.close(alive)
        os.waitpid(copy, 0)
