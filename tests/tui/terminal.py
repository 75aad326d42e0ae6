"""The command in a real terminal: bytes in, bytes out."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MOVES = re.compile(r"\x1b\[[0-9;?<>=$]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>]")


class Terminal:
    """`runinspect` with these arguments, or a `program` in its place, in a pseudo-terminal. `seen` is all that
    came out. `latency` is how long keys and what is painted are under way, in seconds."""

    def __init__(
        self,
        *arguments: str,
        size: tuple[int, int] = (80, 24),
        program: str | None = None,
        latency: float = 0.0,
        **environment: str,
    ) -> None:
        self._latency = latency
        self._main, self._side = pty.openpty()
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.modes = termios.tcgetattr(self._side)
        self.seen = b""
        command = ["-c", program] if program else ["-m", "inspector"]
        self.process = subprocess.Popen(
            [sys.executable, *command, *arguments],
            stdin=self._side,
            stdout=self._side,
            stderr=self._side,
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._main >= 0:
            self.hang_up()

    def type(self, keys: str) -> None:
        time.sleep(self._latency)
        os.write(self._main, keys.encode())

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds: float) -> bool:
        """Take in what has come; False when nothing did in that time."""
        if not select.select([self._main], [], [], seconds)[0]:
            return False
        time.sleep(self._latency)
        self.seen += os.read(self._main, 1 << 16)
        return True

    def until(self, so: Callable[[], bool] | str, seconds: float = 60.0) -> None:
        """Wait for a text on the screen, or for anything."""
        wanted = so if callable(so) else lambda: so in self.text
        end = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < end, f"waited in vain for {so!r}; there is: {self.text[-2000:]}"
            self.read(0.05)

    def quiet(self, seconds: float = 0.3) -> None:
        """Wait until nothing more comes."""
        while self.read(seconds):
            pass

    def clear(self) -> None:
        self.seen = b""

    @property
    def text(self) -> str:
        """What came out without the sequences that move the cursor and set colours."""
        return MOVES.sub("", self.seen.decode("utf-8", "replace"))

    def leave(self, keys: str = "", signal_number: int | None = None) -> int:
        """Type these keys or send this signal, and wait for the end; the exit code."""
        if keys:
            self.type(keys)
        if signal_number is not None:
            self.process.send_signal(signal_number)
        self.until(lambda: self.process.poll() is not None)
        self.quiet(0.05)
        assert self.process.returncode is not None
        return self.process.returncode

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self._main)
        os.close(self._side)
        self._main = self._side = -1

    def is_stopped(self) -> bool:
        """Whether the process sleeps in the shell's background."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def restored(self) -> bool:
        """Whether the terminal is as it was: main screen, cursor shown, lines edited, no mouse, no paste marks."""
        last = {
            mode: max(self.seen.rfind(f"\x1b[?{mode}h".encode()), -1)
            - max(self.seen.rfind(f"\x1b[?{mode}l".encode()), -1)
            for mode in (1049, 1000, 1003, 1006, 2004, 1004)
        }
        cursor = self.seen.rfind(b"\x1b[?25h") > self.seen.rfind(b"\x1b[?25l")
        return cursor and all(order <= 0 for order in last.values()) and termios.tcgetattr(self._side) == self.modes
