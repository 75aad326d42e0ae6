"""The process that puts a terminal back: what it writes, when it does not, and that it goes."""

import os
import pty
import subprocess
import sys
import termios

import pytest

from inspector.tui import guard
from tests.tui import fakes
from tests.tui.screens import shown
from tests.tui.terminal import Terminal

PROGRAM = """
import os, signal, sys, time
from inspector.tui.guard import _Guard, away, guard, guarding

with guarding():
    guard("the last words")
    process = _Guard.process
    {}
"""


def test_a_process_that_was_gone_before_it_began_is_spoken_for() -> None:
    main, side = pty.openpty()
    try:
        command = [sys.executable, guard.__file__, "1", str(side), repr(termios.tcgetattr(side))]
        assert os.getpid() != 1
        subprocess.run(command, input=b"first\nlast words\n", pass_fds=(side,), timeout=60, check=True)
        assert os.read(main, 1000) == guard.BACK + b"\r\r\nlast words\r\r\n"
    finally:
        os.close(main)
        os.close(side)


@pytest.mark.parametrize(
    ("does", "code", "said"),
    [
        ("os._exit(9)", 9, True),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, True),
        ("away(True); os._exit(9)", 9, False),
        ("away(True); away(False); os._exit(9)", 9, True),
        ("copy = os.fork()\n    if not copy: time.sleep(600)", 0, False),
    ],
)
def test_what_is_said_when_a_process_ends(does: str, code: int, said: bool) -> None:
    program = PROGRAM.format(does) + "assert process.returncode is not None\nos.kill(copy, signal.SIGKILL)\n"
    with Terminal(program=program) as terminal:
        assert terminal.process.wait(60) == code
        if said:
            terminal.until("the last words")
        else:
            terminal.quiet()
            assert terminal.seen == b""


async def test_it_is_away_while_somebody_else_has_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, _, _):
        app.app_suspend_signal.publish(app)
        assert guard._Guard.away
        app.app_resume_signal.publish(app)
        assert not guard._Guard.away
