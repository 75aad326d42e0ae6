"""A durable run as a store keeps it: a row beside its journal. What a store writes and a reader shows.

Times are whole milliseconds since 1970, as claims are compared by them.
"""

import functools
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from inspector.model.records import Operation, Program
from inspector.model.run import Record, RunKind, RunLink, RunRow, RunStatus
from inspector.model.source import Large
from inspector.model.text import one_line

Mode = Literal["continue", "recovery"]

APPLICATION = 0x72756E69
"""What tells a SQLite file that is a store of ours: its `application_id` ("runi")."""


class Claim(Record, frozen=True, kw_only=True):
    """The right of one process to drive a run, until `expires` unless it is renewed. `born` tells the process
    from a later one of the same number; `step` is the step that it drives first."""

    token: str
    step: int
    taken: int
    renewed: int
    expires: int
    program: Program
    born: str = ""

    def live(self, now: int) -> bool:
        """Whether it still holds: at its last millisecond it does not."""
        return self.expires > now

    def who(self) -> str:
        """Who holds it, and since when."""
        holder = self.program
        return one_line(f"process {holder.pid} on {holder.host} since {moment(self.taken)}")


class StoredRun(Record, frozen=True, kw_only=True):
    """A run's row. `size` is the length of its journal in bytes; `revision` counts the changes; `attempt` the
    claims that recovered it, the first process being the first; `final`: it can never go on; `sink`: its
    events are to be delivered."""

    key: str
    id: str
    kind: RunKind
    name: str | None = None
    thread: str | None = None
    turn: str | None = None
    digest: str | None = None
    status: RunStatus
    reason: str | None = None
    revision: int = 0
    attempt: int = 1
    parent: RunLink | None = None
    created: int
    updated: int
    ended: int | None = None
    steps: int = 0
    size: int = 0
    final: bool = False
    acknowledged: bool = False
    handed: bool = True
    """Given back behind a whole step by a process that stopped, or never claimed: nothing is to be recovered."""
    sink: bool = False
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    claim: Claim | None = None

    def owner(self, now: int) -> Claim | None:
        """Who drives it now."""
        return self.claim if self.claim is not None and self.claim.live(now) else None

    def standing(self, now: int, *, gone: bool = False) -> tuple[RunStatus, str | None]:
        """Its status and reason as of now; `gone`: the process that holds it is known to be no more."""
        expires = None if self.claim is None else self.claim.expires
        return standing(self.status, self.reason, self.final, expires, now, gone=gone)


def standing(
    status: RunStatus, reason: str | None, final: bool, expires: int | None, now: int, *, gone: bool
) -> tuple[RunStatus, str | None]:
    """How a run stands as of now whose claim, if there is one, holds until `expires`: one whose holder is gone, or
    let the lease pass, was interrupted."""
    if final:
        return status, reason
    if expires is not None:
        if expires <= now:
            return "interrupted", "lease_expired"
        return ("interrupted", "owner_gone") if gone else ("running", None)
    return ("interrupted", "not_started") if status == "running" else (status, reason)


class Event(Record, frozen=True, kw_only=True):
    """An event of the outbox. `id` is the same whenever it is delivered; `digest` SHA-256 of the payload."""

    id: str
    number: int
    kind: str
    payload: str
    digest: str
    delivered: int | None = None


class OperationRow(Record, frozen=True, kw_only=True):
    """Where an operation stands: its last record, and whether somebody `resolved` what may have happened."""

    operation: Operation
    started: int | None = None
    updated: int


class StoredThread(Record, frozen=True, kw_only=True):
    """A conversation that has turns. Whether it is being worked on is what the runs of its turns say."""

    id: str
    archived: bool = False
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    created: int
    updated: int


class StoredTurn(Record, frozen=True, kw_only=True):
    """A turn of a thread: the run, by its key, that is it. How it stands is what the run says, so the two never
    disagree."""

    thread: str
    id: str
    key: str
    created: int


VERSION = 3
"""The `user_version` of a store of today: how many scripts made it."""
COLUMNS = (
    *("key", "id", "kind", "name", "thread", "turn", "digest", "status", "reason", "revision", "attempt"),
    *("parent_run", "parent_step", "created", "updated", "ended", "steps", "size", "final", "acknowledged"),
    *("handed", "sink", "metadata", "token", "step", "taken", "renewed", "expires", "program", "born"),
)
"""What a table of runs holds of a StoredRun: the fields of its claim and of its parent beside its own."""
_CLAIM = ("token", "step", "taken", "renewed", "expires", "program", "born")


def from_columns(values: Sequence[Any]) -> StoredRun:
    """The row that the values of COLUMNS are. Raises ValueError (also as msgspec's ValidationError)."""
    told = dict(zip(COLUMNS, values, strict=True))
    told["claim"] = None
    if told["token"] is not None:
        told["claim"] = {name: told[name] for name in _CLAIM} | {"program": msgspec.json.decode(told["program"])}
    if told["parent_run"] is not None:
        told["parent"] = {"run": told["parent_run"], "step": told["parent_step"]}
    for name in ("final", "acknowledged", "handed", "sink"):
        told[name] = told[name] == 1
    told["metadata"] = {} if told["metadata"] == "{}" else msgspec.json.decode(told["metadata"])
    return msgspec.convert(told, StoredRun)


LISTED = (
    *("key", "name", "kind", "status", "reason", "steps", "created", "updated", "parent_run", "parent_step", "final"),
    *("thread", "turn", "token", "renewed", "expires", "program", "born"),
)
"""Those of COLUMNS that a line of a list needs."""


def listed(values: Sequence[Any], now: int, gone: Callable[[Program, str], bool]) -> RunRow:
    """The line of a list of runs that the values of LISTED are; `gone` tells whether a process is known to be no more.
    Raises ValueError and TypeError."""
    key, name, kind, status, reason, steps, created, updated, parent, behind, final, *rest = values
    thread, turn, token, renewed, expires, *who = rest
    holder, left = None, False
    if token is not None:
        program = msgspec.json.decode(who[0], type=Program)
        left = final != 1 and gone(program, str(who[1] or ""))
        holder = f"{program.host}:{program.pid}"
        if left or expires <= now:
            holder += f" silent for {(now - renewed) // 1000} s"
    status, reason = standing(status, reason, final == 1, None if token is None else expires, now, gone=left)
    told = {
        "id": key,
        "name": name,
        "kind": kind,
        "status": status,
        "reason": reason,
        "steps": steps,
        "started": moment(created),
        "updated": moment(updated),
        "holder": None if holder is None else one_line(holder),
        "parent": None if parent is None else {"run": parent, "step": behind},
        "thread": thread,
        "turn": turn,
    }
    return msgspec.convert(told, RunRow)


def store_path(place: str) -> str:
    """The file that a place is: a path, or a URL like `sqlite:///runs.db`. Raises ValueError for another URL."""
    scheme, sign, rest = place.partition("://")
    if not sign or os.path.lexists(place):
        return place
    if scheme != "sqlite":
        raise ValueError(f"no store is known by {scheme}://; there is sqlite:///FILE, or just the file's path")
    path = rest.removeprefix("/")
    if not path:
        raise ValueError("names no file: a store is sqlite:///FILE, or just the file's path")
    return path


def moment(ms: int) -> str:
    """A time as RFC 3339."""
    second, rest = divmod(ms, 1000)
    try:
        return f"{_second(second)}.{rest:03}Z"
    except (OverflowError, OSError, ValueError):
        return str(ms)


@functools.lru_cache(maxsize=4096)
def _second(number: int) -> str:
    return datetime.fromtimestamp(number, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@runtime_checkable
class Stored(Protocol):
    """What the source of a run in a store offers besides: its row as it was read, and its journal."""

    stored: StoredRun

    def lives(self) -> bool:
        """Whether somebody drives it, as far as is known."""

    def journal(self) -> bytes:
        """All its lines."""

    def large(self) -> Large:
        """The values that stand apart from its records."""
