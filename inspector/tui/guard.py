"""What puts the terminal back when code of the user ends the whole process: a small process that outlives it.

It is begun before such code is imported here, waits for this process to end, and is told when all is well. It
runs as a file by itself, with nothing but the standard library.
"""

import contextlib
import os
import select
import subprocess
import sys
import termios
import threading
from ast import literal_eval
from collections.abc import Iterator

LOOK = 0.5
"""Seconds between two looks for a parent that is gone while a copy of it keeps the pipe open."""
BACK = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    b"\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
)
"""Undoes what Textual asks of a terminal."""


class _Guard:
    lock = threading.Lock()
    terminal: tuple[int, list[object]] | None = None
    """(what the screen is painted through, the modes of the terminal before); None without a terminal."""
    process: subprocess.Popen[bytes] | None = None
    text = ""
    away = False
    """Whether somebody else has the terminal now: the shell behind Ctrl-Z, an editor."""


@contextlib.contextmanager
def guarding() -> Iterator[None]:
    """Meanwhile the terminal that keys are read and the screen is painted through (`sys.__stdin__`, `sys.__stderr__`)
    can be guarded. It is in order at the beginning and at the end."""
    assert sys.__stdin__ is not None
    assert sys.__stderr__ is not None
    _Guard.terminal = os.dup(sys.__stderr__.fileno()), termios.tcgetattr(sys.__stdin__)
    try:
        yield
    finally:
        with _Guard.lock:
            process, _Guard.process = _Guard.process, None
            os.close(_Guard.terminal[0])
            _Guard.terminal, _Guard.text, _Guard.away = None, "", False
        if process is not None:
            process.kill()  # a copy of this process may keep its pipe open
            process.communicate()


def guard(text: str) -> None:
    """From now on, have the terminal put back if this process ends without a word, and `text` printed then, one
    line. Does nothing where there is no terminal."""
    with _Guard.lock:
        _Guard.text = text
        _arm()


def away(on: bool) -> None:
    """Leave the terminal alone meanwhile, whatever happens: it is in order, and somebody else has it."""
    with _Guard.lock:
        _Guard.away = on
        _arm()


def _arm() -> None:
    text = "" if _Guard.away else _Guard.text
    if _Guard.terminal is not None:
        if _Guard.process is None and text:
            screen, modes = _Guard.terminal
            command = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(screen), repr(modes)]
            with contextlib.suppress(OSError):
                _Guard.process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(screen,),
                    start_new_session=True,
                )
        if _Guard.process is not None:
            _tell(_Guard.process, text)


def _tell(process: "subprocess.Popen[bytes]", text: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(text.encode("utf-8", "backslashreplace") + b"\n")
        process.stdin.flush()


def main(parent: int, screen: int, modes: list[object]) -> None:
    """The process: lines in, of which the last is printed when the parent has ended; an empty one: all is well."""
    said = b""
    while True:
        gone = os.getppid() != parent  # also before this one had begun
        if select.select([0], [], [], 0 if gone else LOOK)[0]:
            data = os.read(0, 1 << 16)
            said += data
            if not data:
                break
        elif gone:
            break
    *_, text, _ = (b"\n" + said).split(b"\n")
    if text:
        os.write(screen, BACK)
        termios.tcsetattr(screen, termios.TCSANOW, modes)  # type: ignore[arg-type]
        os.write(screen, b"\r\n" + text + b"\r\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), literal_eval(sys.argv[3]))
