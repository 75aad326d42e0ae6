"""Who did what with runs: resumed, decided, took over, exported, revealed. One JSON line each, only ever appended,
in the platform's state folder, for its owner alone.

A deed that cannot be written down is not done.
"""

import os
from datetime import UTC, datetime
from typing import Any

import msgspec

from inspector.errors import UsageError
from inspector.model.values import clean_value, to_json
from inspector.process import operator


def path() -> str:
    """Where the log is; RUNINSPECT_AUDIT names another file."""
    named = os.environ.get("RUNINSPECT_AUDIT")
    if named:
        return named
    import platformdirs

    return os.path.join(platformdirs.user_state_dir("runinspect"), "audit.jsonl")


def record(what: str, subject: str | None = None, **about: Any) -> None:
    """Write down a deed: `what` was done to `subject`; fields that are None are left out. Raises UsageError when
    it cannot be written."""
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "who": operator(),
        "pid": os.getpid(),
        "what": what,
        "subject": subject,
        **{name: msgspec.to_builtins(value) for name, value in about.items()},
    }
    known = {name: value for name, value in entry.items() if value is not None}
    try:
        line = to_json(known) + "\n"
    except UnicodeEncodeError:  # a name or word that is no UTF-8
        line = to_json(clean_value(known)) + "\n"
    place = path()
    try:
        os.makedirs(os.path.dirname(os.path.abspath(place)), mode=0o700, exist_ok=True)
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(fd, line.encode())  # one write: lines of several processes do not mix
        finally:
            os.close(fd)
    except OSError as error:
        raise UsageError(place, f"the audit log cannot be written, so nothing is done: {error.strerror}") from error
