"""Every error that reaches a user.

    InspectorError
    ├── UnreadableError      a path, file or run that cannot be opened at all (exit 2)
    ├── UsageError           a request that makes no sense here: no such step, no such run (exit 2)
    ├── RefusedError         a resume that is refused, with its code (exit 3)
    └── JournalError         a journal that cannot be written: the run stopped where its journal ends (exit 2; 1 once
        │                    the run had begun)
        └── StoreError       what a store of durable runs did not do, with its code (the same; 5 where somebody else
                             drives the run)

A message says what, where and what to do; `str(error)` is `PLACE: REASON` in one line, and
nothing in it can act on a terminal.
"""

from inspector.model.text import one_line


class InspectorError(Exception):
    """The base: `place` (a path, a step, an option) and `reason`, both shown to the user."""

    exit_code = 2

    def __init__(self, place: str, reason: str) -> None:
        self.place = one_line(place)
        self.reason = one_line(reason)
        super().__init__(f"{self.place}: {self.reason}")


def before(error: BaseException) -> InspectorError | None:
    """The error of ours during the handling of which another one came up; None where there is none."""
    earlier = error.__context__
    while earlier is not None and not isinstance(earlier, InspectorError):
        earlier = earlier.__context__
    return earlier


class UnreadableError(InspectorError):
    """The input cannot be read at all."""


class UsageError(InspectorError):
    """The request does not fit the run: an unknown run, a step outside of it."""


class RefusedError(InspectorError):
    """A resume that is not going to happen; `code` is one of the stable words of `check`,
    `detail` the reason in words."""

    exit_code = 3

    def __init__(self, place: str, code: str, reason: str) -> None:
        self.code, self.detail = code, one_line(reason)
        super().__init__(place, f"{code}: {reason}")


class JournalError(InspectorError):
    """A record that could not be written. Nothing happens behind it: what is in the journal is the run."""

    code = "journal"

    def cut_short(self) -> None:
        """It came to a run that had begun, and may have done something: that has failed, with another exit code than a
        run that could not begin."""
        if self.exit_code == InspectorError.exit_code:
            self.exit_code = 1


class StoreError(JournalError):
    """What a store of durable runs did not do. Nothing has changed there. `code` is a stable word:

    asking      key_invalid run_absent run_exists run_final not_final
    claims      claim_active claim_mode_invalid claim_lost revision_conflict step_conflict status_invalid
    journal     operation_invalid record_invalid
    events      event_absent event_conflict events_pending acknowledged
    sessions    session_conflict
    threads     thread_absent thread_archived turn_exists
    the store   version_unsupported disk_full read_only locked damaged unavailable
    """

    def __init__(self, place: str, code: str, reason: str) -> None:
        self.code, self.detail = code, one_line(reason)
        self.exit_code = 5 if code in ("claim_active", "claim_lost") else 2
        super().__init__(place, f"{code}: {reason}")
