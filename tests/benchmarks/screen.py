"""What the screen costs, in a real pseudo-terminal, beside a Textual app that shows one word."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import COMMAND, PYTHON, ROOT, anonymous, best, command, mib, ms, row

BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("bare app is here")
Bare().run()
"""
SIZE = (40, 120)
ROWS = b"answer num"
"""What the first rows show."""
QUIET = 0.12
"""Seconds without output after which a screen counts as painted."""


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, *command: str) -> None:
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.seen = b""

    def read(self, seconds: float) -> bytes:
        """What comes out within some seconds, at the first sign of anything."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return b""
        try:
            piece = os.read(self.fd, 1 << 16)
        except OSError:
            return b""
        self.seen += piece
        return piece

    def wait(self, text: bytes, seconds: float = 60.0) -> float:
        """Seconds from the start until a text was written."""
        end = time.perf_counter() + seconds
        while text not in self.seen:
            if time.perf_counter() > end:
                raise TimeoutError(f"{text!r} was not shown in {seconds} s; shown: {self.seen[-300:]!r}")
            self.read(0.5)
        return time.perf_counter() - self.began

    def settle(self, quiet: float = 0.6) -> None:
        """Wait until nothing is written and the processor is not used any more."""
        used = -1
        while self.read(quiet) or used != self.used():
            used = self.used()

    def used(self) -> int:
        """Ticks of processor time so far."""
        with open(f"/proc/{self.pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12])

    def press(self, keys: bytes, seconds: float = 10.0) -> tuple[float, float]:
        """Seconds from a key to the first and to the last byte that it made the program write."""
        begin = last = time.perf_counter()
        first = None
        os.write(self.fd, keys)
        while time.perf_counter() - begin < seconds:
            if not self.read(QUIET if first else 1.0):
                break
            last = time.perf_counter()
            first = first or last
        return (first or last) - begin, last - begin

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@contextlib.contextmanager
def terminal(*command: str) -> Iterator[Terminal]:
    found = Terminal(*command)
    try:
        yield found
    finally:
        found.close()


def first_paint(text: bytes, *command: str, times: int = 5) -> float:
    found = []
    for _ in range(times):
        with terminal(*command) as shown:
            found.append(shown.wait(text))
    return min(found)


def screen(path: Path) -> None:
    """First paint, memory, and how long keys take."""
    bare = first_paint(b"bare app is here", PYTHON, "-c", BARE)
    ours = first_paint(ROWS, COMMAND, str(path))
    row("bare app, first paint", ms(bare))
    row("first rows", f"{ms(ours)} = {ours / bare:.2f} x bare", "goal 1.25 x", ours <= 1.25 * bare)
    with terminal(PYTHON, "-c", BARE) as shown:
        shown.wait(b"bare app is here")
        shown.settle()
        floor = anonymous(shown.pid)
    steps = sum(line.startswith(b'{"record":"step"') for line in path.open("rb"))
    count = best(lambda: command("wc", "-l", str(path)))
    with terminal(COMMAND, str(path)) as shown:
        whole = shown.wait(b"/%d" % steps)
    row("every step known", f"{ms(whole)} = {whole / count:.1f} x wc -l", "goal 8 x", whole <= 8 * count)
    with terminal(COMMAND, str(path)) as shown:
        shown.wait(ROWS)
        while_indexing = [shown.press(b"\x1b[A") for _ in range(8)]
        shown.settle()
        taken = anonymous(shown.pid)
        limit = floor + 8 * steps + (6 << 20)
        row("memory", f"{mib(taken)}; bare {mib(floor)}", f"goal {mib(limit)}", taken <= limit)
        keys("a key while it indexes", while_indexing, None, 0.016)
        keys("cursor", [shown.press(b"\x1b[A") for _ in range(60)], 0.004, 0.010)
        keys("page", [shown.press(b"\x1b[5~") for _ in range(40)], 0.010, 0.014)
        ends = [shown.press(key) for _ in range(10) for key in (b"\x1b[H", b"\x1b[F")]
        keys("to the first and the last step", ends, 0.010, 0.014)


def keys(name: str, found: list[tuple[float, float]], median: float | None, high: float) -> None:
    """The median and the 95th percentile of what a key took: until something moved, and until all did."""
    for what, times in zip(("first byte", "last byte"), zip(*found, strict=True), strict=True):
        middle, top = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
        goal = f"goal {ms(median) if median else '-'}, {ms(high)}"
        met = top <= high and (median is None or middle <= median)
        row(f"{name}, {what}", f"{ms(middle)} median, {ms(top)} p95", goal, met)
