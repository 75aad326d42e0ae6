"""The door of `runinspect`: a path alone goes straight to the screen, everything else to its command."""

import os
import sys
from typing import NoReturn

from inspector.exits import guarded


def main() -> NoReturn:
    """The console script: runs the command and exits with its code."""
    sys.exit(guarded(lambda: run(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """Run a command; its exit code. Raises what the command raises."""
    if len(arguments) == 1 and not arguments[0].startswith("--") and {".", "/", os.sep} & set(arguments[0]):
        # A path alone, for no command has such a name: the screen need not wait for a parser of options.
        from inspector.tui.start import run_app

        return run_app(arguments[0])
    from inspector.commands import invoke

    return invoke(arguments)
