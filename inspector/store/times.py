"""The clock of claims."""

import time


class Clock:
    """Milliseconds since 1970. A process goes by the time that it began with and by its own steady clock from
    there on, so that a clock that is set while it runs neither ends its lease nor keeps it."""

    def __init__(self) -> None:
        self._began, self._steady = time.time(), time.monotonic()

    def __call__(self) -> int:
        return int((self._began + time.monotonic() - self._steady) * 1000)
