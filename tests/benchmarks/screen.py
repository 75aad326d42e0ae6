"""What the screen costs, in a real pseudo-terminal, beside a Textual app that shows one word, and one that has nothing
but a list of a million lines with a cursor: what a key costs at the least with Textual on this machine."""

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
from collections.abc import Iterator, Sequence
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
LIST = """
from textual.app import App
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from rich.segment import Segment
from rich.style import Style
PLAIN, CHOSEN = Style(), Style(reverse=True)
class Lines(ScrollView, can_focus=True):
    BINDINGS = [("up", "by(-1)"), ("pageup", "by(-38)"), ("home", "by(-1000000)"), ("end", "by(1000000)")]
    cursor = 999_999
    def on_mount(self):
        self.virtual_size = Size(110, 1_000_000)
        self.action_by(0)
    def action_by(self, lines):
        old, self.cursor = self.cursor, min(max(self.cursor + lines, 0), 999_999)
        for line in {old, self.cursor}:
            self.refresh(Region(0, line - self.scroll_offset.y, self.size.width, 1))
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True, immediate=True)
    def render_line(self, y):
        line = y + self.scroll_offset.y
        text = f"{line:>8} model  answer number {line}, which says something".ljust(self.size.width)
        return Strip([Segment(text, CHOSEN if line == self.cursor else PLAIN)])
class Listed(App):
    CSS = "Lines { height: 1fr; scrollbar-size: 1 1; }"
    def compose(self):
        yield Lines()
Listed().run()
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
    with terminal(PYTHON, "-c", LIST) as shown:
        shown.wait(b"answer number 999999")
        shown.settle()
        least = {name: pressed(shown, name) for name in KEYS}
    with terminal(COMMAND, str(path)) as shown:
        shown.wait(ROWS)
        while_indexing = [shown.press(b"\x1b[A") for _ in range(8)]
        shown.settle()
        taken = anonymous(shown.pid)
        limit = floor + 8 * steps + (6 << 20)
        row("memory", f"{mib(taken)}; bare {mib(floor)}", f"goal {mib(limit)}", taken <= limit)
        # Its progress is painted all the while, so that there is no last byte.
        keys("a key while it indexes", while_indexing, None, 0.016, numbers=("first byte",))
        for name, (_, _, median, high) in KEYS.items():
            keys(name, pressed(shown, name), median, high, least[name])


KEYS = {
    "cursor": ((b"\x1b[A",), 60, 0.004, 0.010),
    "page": ((b"\x1b[5~",), 40, 0.010, 0.014),
    "to the first and the last step": ((b"\x1b[H", b"\x1b[F"), 10, 0.010, 0.014),
}
"""By what is done: the keys, how often, and the goals for the median and the 95th percentile, in seconds."""


def pressed(shown: Terminal, name: str) -> list[tuple[float, float]]:
    """What each press of some keys took."""
    them, times, _, _ = KEYS[name]
    return [shown.press(key) for _ in range(times) for key in them]


def keys(
    name: str,
    found: list[tuple[float, float]],
    median: float | None,
    high: float,
    least: list[tuple[float, float]] | None = None,
    numbers: Sequence[str] = ("first byte", "last byte"),
) -> None:
    """The median and the 95th percentile of what a key took: until something moved, and until all did; `least` is what
    it took in the list."""
    for number, what in enumerate(numbers):
        middle, top = spread([times[number] for times in found])
        beside = ""
        if least is not None:
            low, far = spread([times[number] for times in least])
            beside = f" = {middle / low:.1f} x, {top / far:.1f} x a list"
        goal = f"goal {ms(median) if median else '-'}, {ms(high)}"
        met = top <= high and (median is None or middle <= median)
        row(f"{name}, {what}", f"{ms(middle)} median, {ms(top)} p95{beside}", goal, met)


def spread(times: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    return statistics.median(times), sorted(times)[int(len(times) * 0.95)]
