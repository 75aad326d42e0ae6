"""Whether the process that writes a journal is still there."""

import os
import socket
from datetime import datetime

from inspector.model.records import Program

SLACK = 5.0
"""Seconds that clocks may differ by."""


def lives(program: Program | None, since: str | None) -> bool:
    """Whether the process that a journal of this host names is alive, and not a later one that was given
    the same number: it must not be younger than the journal, begun at `since`."""
    if program is None or program.pid is None or program.pid <= 0 or program.host != socket.gethostname():
        return False
    try:
        os.kill(program.pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    born, begun = _born(program.pid), _seconds(since)
    return born is None or begun is None or born <= begun + SLACK


def _born(pid: int) -> float | None:
    """When the process began, in seconds since 1970; None where the system does not tell it in /proc."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            boot = next(int(line.split()[1]) for line in file if line.startswith(b"btime"))
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _seconds(time: str | None) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp() if time else None
    except (ValueError, OverflowError, OSError):
        return None
