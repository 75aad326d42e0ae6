"""Every error that reaches a user.

    InspectorError
    ├── UnreadableError      a path, file or run that cannot be opened at all (exit 2)
    ├── UsageError           a request that makes no sense here: no such step, no such run (exit 2)
    └── RefusedError         a resume that is refused, with its code (exit 3)

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
