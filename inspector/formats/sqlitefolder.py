"""Private folders for copies, gone when their owner is; what a kill left of one goes with the next that is made."""

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable

PREFIX = "runinspect-"
YOUNG_SECONDS = 60.0
"""A folder that is younger may be one that nobody had the time to lock."""

try:
    import fcntl
except ImportError:  # not on Windows, where a kill may leave a copy behind
    fcntl = None  # type: ignore[assignment]


def private_folder(owner: object) -> tuple[str, Callable[[], object]]:
    """A folder, and what removes it, at the latest when `owner` is no more. Raises OSError."""
    _sweep()
    folder = tempfile.mkdtemp(prefix=PREFIX)
    lock = _locked(folder)

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)

    return folder, weakref.finalize(owner, remove)


def _locked(folder: str) -> int | None:
    """The folder, locked as long as this process lives; None when somebody else has it, or it cannot be locked."""
    if fcntl is None:
        return None
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def _sweep() -> None:
    """Removes folders of this user that nobody has locked, as those of a killed process are."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as found:
        for entry in found:
            if not entry.name.startswith(PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            seen = entry.stat(follow_symlinks=False)
            if seen.st_uid != os.getuid() or time.time() - seen.st_mtime < YOUNG_SECONDS:
                continue
            if set(os.listdir(entry.path)) <= FILES and (lock := _locked(entry.path)) is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(lock)


FILES = {*(f"{name}{suffix}" for name in ("copy.db", "next.db") for suffix in ("", "-wal", "-shm", "-journal"))}
"""What is in such a folder: one with anything else is somebody else's."""
