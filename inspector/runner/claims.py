"""Claims: the right of one process of this host to drive a run, by the run's id.

A file can be copied, so the file is no lock. A claim is a small file in the platform's state folder, taken
under a lock that lasts an instant, given back when the run ends, and recognized as stale when the process
that it names is gone. Beside the claims stands what was resumed as what, so that doing it again can be
warned of, and where each run of a trace or store was begun, so that its id, and the idempotency keys that are made of
it, are not used for another: a symbolic link for each run, which can be deleted when the run is.
"""

import contextlib
import fcntl
import hashlib
import os
import socket
from collections.abc import Container, Iterator
from urllib.parse import quote, unquote

import msgspec
import platformdirs

from inspector.errors import UsageError
from inspector.process import born
from inspector.runner.errors import ResumeRefused
from inspector.runner.messages import sound
from inspector.runner.recorder import now


class Holder(msgspec.Struct, frozen=True):
    """Who holds a run: `born` tells the process from a later one of the same number."""

    run: str
    host: str
    pid: int
    born: str
    since: str
    number: int = 0


class Successor(msgspec.Struct, frozen=True):
    """A run that another one was resumed as."""

    run: str
    trace: str | None
    at: str


NAMED = 3
"""Successors that are named; of more, only how many there are."""
UNREADABLE = Successor("a run that cannot be told", None, "a time that cannot be told: what was written is damaged")


class Owned(ResumeRefused):
    """Another owner, who is alive, drives the run."""

    exit_code = 5

    def __init__(self, holder: Holder) -> None:
        super().__init__(holder.run, "owned", driven(holder))


def driven(holder: Holder) -> str:
    """Who drives a run, in words."""
    return f"is driven by process {holder.pid} on {holder.host} since {holder.since}"


class Claims:
    """The claims of a host. `folder` None: the platform's own."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = os.path.join(folder or platformdirs.user_state_dir("runinspect"), "claims")
        self._taken = 0

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        fd = os.open(os.path.join(self.folder, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _path(self, run: str, kind: str) -> str:
        name = hashlib.sha256(f"{socket.gethostname()}\0{run}".encode()).hexdigest()[:40]
        return os.path.join(self.folder, f"{name}.{kind}")

    def take(self, run: str, *, over: Holder | None = None) -> Holder:
        """Claim a run; `over` is whose claim is taken over, alive or not. Raises Owned when anybody else who is
        alive holds it, this process too."""
        with self._locked():
            held = self._read(run)
            if held is not None and held != over and _alive(held):
                raise Owned(held)
            self._taken += 1
            pid = os.getpid()
            mine = Holder(run, socket.gethostname(), pid, born(pid), now(), self._taken)
            _replace(self._path(run, "claim"), msgspec.json.encode(mine))
            return mine

    def release(self, mine: Holder) -> None:
        """Give a claim back; one that somebody else has by now stays."""
        with self._locked():
            if self._read(mine.run) == mine:
                os.unlink(self._path(mine.run, "claim"))

    def holds(self, mine: Holder) -> bool:
        """Whether nobody took the claim over."""
        return self._read(mine.run) == mine

    def holder(self, run: str) -> Holder | None:
        """Who drives a run now; None when nobody alive does."""
        held = self._read(run)
        return held if held is not None and _alive(held) else None

    def _read(self, run: str) -> Holder | None:
        try:
            with open(self._path(run, "claim"), "rb") as file:
                return msgspec.json.decode(file.read(), type=Holder)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def begin(self, run: str, place: str, key: str | None = None) -> None:
        """Write down where a new run is begun: its trace, or its `key` in the store that is the file `place`; nothing
        is there yet. Raises UsageError for an id that was used, as long as the file of that run is where it was."""
        place = os.path.abspath(place)
        where = place if key is None else os.path.join(place, quote(key, safe=""))
        path = self._path(run, "begun")
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(where, path)
            return
        with self._locked():
            first = os.readlink(path)
            if first != where and (os.path.lexists(first) or os.path.isfile(os.path.dirname(first))):
                raise UsageError(run, f"is the id of a run that was begun before, in {first}: a new run needs another")
            os.symlink(where, f"{path}.new")
            os.replace(f"{path}.new", path)

    def begun(self, run: str) -> tuple[str, str | None] | None:
        """Where a run was begun: (its trace, None), or (the store that it is in, its key); None where that is not
        known."""
        try:
            where = os.readlink(self._path(run, "begun"))
        except OSError:
            return None
        store, key = os.path.split(where)
        return (store, unquote(key)) if os.path.isfile(store) else (where, None)

    def succeeded(self, run: str, successor: str, trace: str | None) -> None:
        """Write down that a run was resumed as another one."""
        with self._locked():
            known = [*self.successors(run), Successor(successor, None if trace is None else sound(trace), now())]
            _replace(self._path(run, "resumed"), msgspec.json.encode(known), durable=True)

    def successors(self, run: str) -> list[Successor]:
        """What a run was resumed as, oldest first."""
        try:
            with open(self._path(run, "resumed"), "rb") as file:
                return msgspec.json.decode(file.read(), type=list[Successor])
        except FileNotFoundError:
            return []
        except msgspec.DecodeError:
            return [UNREADABLE]  # the run was resumed, or there were no file

    def resumed(self, run: str) -> str | None:
        """That a run was resumed before, and as which runs, in words; None when it was not."""
        known = [f"{successor.run} at {successor.at}" for successor in self.successors(run)]
        more = f"{len(known) - NAMED} before, then " if len(known) > NAMED else ""
        return f"was resumed before, as {more}{', '.join(known[-NAMED:])}" if known else None

    def refuse_resumed(self, run: str, accepted: Container[str]) -> None:
        """Raises ResumeRefused for a run that was resumed before, unless `already_resumed` is accepted."""
        if "already_resumed" not in accepted and (resumed := self.resumed(run)) is not None:
            raise ResumeRefused(run, "already_resumed", resumed)


def _replace(path: str, data: bytes, *, durable: bool = False) -> None:
    with open(f"{path}.new", "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def _alive(holder: Holder) -> bool:
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return holder.born == born(holder.pid)
