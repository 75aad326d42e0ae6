"""Files that this process has open as a database, and descriptors of them that others here are done with.

POSIX drops all locks that a process has on a file as soon as it closes any descriptor of that file. A reader that
closed one of a store that is written to in the same process would take the locks from under the writer: another
process could then remove its log, and what it wrote afterwards would be lost. So such a descriptor is kept, and used
again, until the database is closed.
"""

import os
import threading
from collections import Counter

Inode = tuple[int, int]

_lock = threading.RLock()  # a file that is collected as garbage may be closed inside of any of these
_open: Counter[Inode] = Counter()
_spare: dict[Inode, list[int]] = {}


def hold(path: str) -> Inode:
    """From now on a descriptor of the file is not closed, until `let_go`. Raises OSError."""
    with _lock:
        inode = _inode(os.stat(path))
        _open[inode] += 1
        return inode


def let_go(inode: Inode) -> None:
    """The database was closed."""
    with _lock:
        _open[inode] -= 1
        if _open[inode] <= 0:
            del _open[inode]
            for fd in _spare.pop(inode, ()):
                os.close(fd)


def reopened(path: str) -> int | None:
    """A descriptor of the file at `path` that was kept; None when there is none. Raises OSError and ValueError."""
    with _lock:
        spare = _spare.get(_inode(os.stat(path))) if _spare else None
        return spare.pop() if spare else None


def close(fd: int) -> None:
    """Closes a descriptor, or keeps it as long as its file is open as a database. Raises OSError."""
    with _lock:
        inode = _inode(os.fstat(fd)) if _open else None
        if inode is not None and inode in _open:
            _spare.setdefault(inode, []).append(fd)
        else:
            os.close(fd)


def _inode(found: os.stat_result) -> Inode:
    return found.st_dev, found.st_ino
