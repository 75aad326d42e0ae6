"""Stop-watches and scales."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PYTHON = sys.executable
COMMAND = str(Path(PYTHON).with_name("runinspect"))


def best(work: Callable[[], object], times: int = 5) -> float:
    """The shortest of several runs, in seconds."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def command(*arguments: str) -> None:
    """Runs a command to its end; its output is thrown away, through a pipe, since grep looks for less when
    nobody listens."""
    subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, cwd=ROOT)


def anonymous(pid: int | None = None) -> int:
    """The anonymous memory of a process, in bytes."""
    with open(f"/proc/{pid or 'self'}/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Anonymous:"))


def in_a_process(program: str, *arguments: str) -> str:
    """What a Python program prints, run on its own so that nothing was imported or allocated before."""
    done = subprocess.run(
        [PYTHON, "-c", program, *arguments], capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ
    )
    return done.stdout.strip()


def row(name: str, value: str, goal: str = "", met: bool | None = None) -> None:
    """Prints one measurement."""
    mark = "" if met is None else "  ok" if met else "  MISSED"
    print(f"  {name:<44} {value:<28} {goal}{mark}", flush=True)


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.1f} ms"


def mib(size: float) -> str:
    return f"{size / (1 << 20):.1f} MiB"


def has(program: str) -> bool:
    return shutil.which(program) is not None
