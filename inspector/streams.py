"""What the commands say, on streams that may have nobody at their other end."""

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import IO

from inspector.policy import read_only


def say(lines: Iterable[str], out: IO[str] | None = None) -> None:
    """Lines on stdout, or on `out`. Where the reader has gone away (`| head`) nothing more is said there, and what
    the command comes to is the same."""
    out = out or sys.stdout
    try:
        out.writelines(line + "\n" for line in lines)
        out.flush()
    except BrokenPipeError:
        unheard(out)


def complain(message: str) -> None:
    """A line on stderr, if it can be heard there; without credentials where only looking is allowed."""
    if read_only():
        from inspector.model.redact import redacted_text

        message = redacted_text(message)
    try:
        sys.stderr.write(f"runinspect: {message}\n")
        sys.stderr.flush()
    except OSError:
        unheard(sys.stderr)


def unheard(stream: IO[str]) -> None:
    """Nothing more is said there, and there is nothing to flush at exit."""
    with contextlib.suppress(OSError):  # it is no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
