"""What may be done in this process: everything, or with `--read-only` and RUNINSPECT_READ_ONLY only looking."""

import os

from inspector.errors import RefusedError

VARIABLE = "RUNINSPECT_READ_ONLY"


def read_only() -> bool:
    """Whether nothing may be resumed, imported, or exported with its credentials."""
    return os.environ.get(VARIABLE, "").lower() not in ("", "0", "no", "false")


def set_read_only() -> None:
    """Only look from here on; processes that are started from here, too."""
    os.environ[VARIABLE] = "1"


def allow(place: str, deed: str) -> None:
    """Raises RefusedError when only looking is allowed. `deed` is what would be done: "nothing is `deed`"."""
    if read_only():
        raise RefusedError(place, "read_only", f"this is read-only ({VARIABLE} or --read-only): nothing is {deed}")
