"""This process, and whether another one of this host is still there."""

import getpass
import os
import socket

from inspector import __version__
from inspector.model.records import Program


def program() -> Program:
    """This process, for whoever wonders who holds a run."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = None
    return Program(version=__version__, host=socket.gethostname(), pid=os.getpid(), user=user)


def born(pid: int) -> str:
    """What tells a process from a later one of the same number: the boot, the namespace of the numbers, and
    when it began in the system's own ticks. "" where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = file.read().rpartition(b")")[2].split()[19].decode()
        return f"{_world()}:{ticks}"
    except (OSError, IndexError):
        return ""


def gone(holder: Program, since: str) -> bool:
    """Whether a process that said of itself `born() == since` is known to be gone. False when in doubt: another
    host, a container with numbers of its own, a system that does not tell."""
    if not since or holder.pid is None or holder.host != socket.gethostname():
        return False
    try:
        if since.rpartition(":")[0] != _world():
            # After a reboot nothing of before is there; of another container nothing is known.
            return since.split(":")[0] != _world().split(":")[0]
    except OSError:
        return False
    return born(holder.pid) != since


def _world() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}:{os.readlink('/proc/self/ns/pid')}"


def operator() -> str:
    """Whoever does something here: user@host."""
    here = program()
    return f"{here.user or '?'}@{here.host}"
