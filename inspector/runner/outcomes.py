"""What asking for a durable run to go on came to."""

from typing import Any, Generic, TypeVar

import msgspec

Ran = TypeVar("Ran")


class Started(msgspec.Struct, Generic[Ran], frozen=True, kw_only=True):
    """This process drove the run: `result` is how it ended, or that it is suspended again. `attempt` counts the
    processes that recovered it, the first being its own first one."""

    key: str
    attempt: int
    result: Ran

    @property
    def status(self) -> str:
        """The status of the result."""
        return str(self.result.status)  # type: ignore[attr-defined]

    @property
    def output(self) -> Any:
        """The output of the result."""
        return self.result.output  # type: ignore[attr-defined]


class ExistingOwner(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody else drives it: which process of which host, since when, and until when unless the claim is renewed
    (RFC 3339). `note` says what is odd about it."""

    key: str
    host: str | None
    pid: int | None
    since: str
    expires: str
    renewed: str
    attempt: int
    user: str | None = None
    note: str | None = None

    status = "running"

    def __str__(self) -> str:
        words = f"is driven by process {self.pid} on {self.host} since {self.since}, last heard of at {self.renewed}"
        return words + (f"; {self.note}" if self.note else "")


class TerminalReplay(msgspec.Struct, Generic[Ran], frozen=True, kw_only=True):
    """The run is over: `result` is what it came to, as it is stored. Nothing ran."""

    key: str
    result: Ran

    @property
    def status(self) -> str:
        """The status of the result."""
        return str(self.result.status)  # type: ignore[attr-defined]

    @property
    def output(self) -> Any:
        """The output of the result."""
        return self.result.output  # type: ignore[attr-defined]


Outcome = Started[Ran] | ExistingOwner | TerminalReplay[Ran]
