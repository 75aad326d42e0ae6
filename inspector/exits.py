"""How the command ends: every way becomes an exit code and lines on stderr, never a traceback."""

import os
import sys
from collections.abc import Callable

from inspector.errors import InspectorError, before
from inspector.model.text import one_line
from inspector.streams import complain, unheard


def guarded(command: Callable[[], int]) -> int:
    """Runs the command; every way to end becomes an exit code and lines on stderr, never a traceback."""
    _stand_in()
    sys.unraisablehook = _ignored
    # Whatever the locale says, text leaves as UTF-8, and what is no text leaves visibly.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = command()
        sys.stdout.flush()
        return code
    except InspectorError as error:
        complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        return _unread()
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        complain("out of memory: the file is too large for what was asked")
        return 2
    except OSError as error:
        if (earlier := before(error)) is not None:  # what had gone wrong could not be told on stdout
            _hush()
            complain(str(earlier))
            return earlier.exit_code
        if error.filename is None:
            unheard(sys.stdout)
            _hush()
        complain(f"{one_line(str(error.filename or 'output'))}: {error.strerror}")
        return 2
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # the command line's library makes it an exit with code 1
            return _unread()
        raise
    except BaseException as error:  # the last net: a user sees one line
        format_message = getattr(error, "format_message", None)
        if format_message is not None:  # the command line was not understood
            path: str = getattr(getattr(error, "ctx", None), "command_path", None) or "runinspect"
            # To open a path is a command that nobody has to name.
            complain(one_line(f"{format_message()} (see {path.removesuffix(' open')} --help)"))
            return 2
        complain(one_line(f"internal error: {type(error).__name__}: {error} ({_origin(error)}); please report it"))
        return 2


def _unread() -> int:
    """The reader went away (`| head`) from a command that always ends so."""
    unheard(sys.stdout)
    return 0


def _stand_in() -> None:
    """Gives a stream that was closed before the start (`>&-`) something to fail on: else a file that is opened
    later gets its number, and what is printed would go there."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR if name == "stderr" else os.O_RDONLY)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115


def _ignored(raised: "sys.UnraisableHookArgs") -> None:
    """What is raised where nobody can catch it, as when code of a run has closed what the program had open."""
    kind, what = raised.exc_type.__name__, f": {raised.exc_value}" if raised.exc_value is not None else ""
    complain(one_line(f"ignored, as the process ends or cleans up: {kind}{what}"))


def _hush() -> None:
    """Have asyncio say nothing of tasks that the error has cut short."""
    if "logging" in sys.modules:
        import logging

        logging.getLogger("asyncio").disabled = True


def _origin(error: BaseException) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1:]
    return f"{os.path.basename(last[0].filename)}:{last[0].lineno}" if last else "?"
