"""A text in the user's own editor."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from typing import Any

from textual.app import App, SuspendNotSupported


def command() -> list[str]:
    """The editor's command: VISUAL, else EDITOR, else vi."""
    return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")


def edited(app: App[Any], text: str, suffix: str = ".json") -> tuple[str | None, str | None]:
    """(the text as it is after the editor, None); or (None, why not). The file is private, and removed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"edit{suffix}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            with app.suspend():
                trouble = _run(path)
        except SuspendNotSupported:
            return None, "this terminal cannot be left for an editor"
        if trouble is not None:
            return None, trouble
        with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as file:
            return file.read(), None
    return None, "the edited file cannot be read"


def _run(path: str) -> str | None:
    """Why the editor took nothing, in words. It raises nothing: Textual would not come back to the screen."""
    try:
        # The screen's own descriptors: 0 to 2 may lead elsewhere while code runs.
        done = subprocess.run(
            [*command(), path], stdin=sys.__stdin__, stdout=sys.__stderr__, stderr=sys.__stderr__, check=False
        )
    except OSError as error:
        return f"the editor did not start: {error.filename or command()[0]}: {error.strerror}"
    except (ValueError, IndexError) as error:
        return f"the editor did not start: {error}"
    return f"the editor ended with {done.returncode}: nothing is taken from it" if done.returncode else None
