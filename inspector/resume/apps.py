"""Today's code: from `module:attribute` or `path/to/file.py:attribute` to the object it names.

Only what the user named is imported, and always afresh: modules beside it that an earlier load brought in
are dropped first, so that a screen that stays open sees the file as it is now.
"""

import hashlib
import importlib
import os
import sys
import traceback
from types import ModuleType
from typing import Any

from inspector.errors import UsageError
from inspector.model.run import Record
from inspector.model.text import one_line
from inspector.policy import allow
from inspector.resume.fatal import exits_raise, last_words


class App(Record, frozen=True, kw_only=True):
    """A loaded object; `digest` is SHA-256 over `files`, the source files that came with it."""

    target: str
    value: Any
    digest: str
    files: tuple[str, ...] = ()


def load(target: str) -> App:
    """Import what `target` names. Raises UsageError when it cannot be: the file, module or attribute
    is missing, or importing it failed, which it names by file and line."""
    allow(target, "imported")
    place, colon, attribute = target.rpartition(":")
    if not (colon and place and attribute):
        raise UsageError(target, "is no TARGET: write module:attribute or path/to/file.py:attribute")
    folder, module = _located(target, place)
    _forget(folder)
    known = set(sys.modules)
    value = _attribute(target, _import(target, folder, module), attribute)
    sources = _sources(folder, set(sys.modules) - known | {module})
    return App(target=target, value=value, digest=_digest(sources), files=tuple(sources.values()))


def load_alone(target: str) -> App:
    """The same in a process that has no other threads; where the import ends that, by a signal, a line on stderr
    says so."""
    with last_words(f"runinspect: {one_line(target)}: importing it ended the process without a word"):
        return load(target)


def _located(target: str, place: str) -> tuple[str, str]:
    """(the folder that must be on the path, the module's name)."""
    if not place.endswith(".py"):
        return os.getcwd(), place
    path = os.path.abspath(place)
    if not os.path.isfile(path):
        raise UsageError(target, "there is no such file")
    name = os.path.basename(path)[:-3]
    if not name.isidentifier():
        raise UsageError(target, f"{name!r} cannot be a module's name: rename the file, or use module:attribute")
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if name in sys.stdlib_module_names or (loaded and _installed(loaded)):
        raise UsageError(target, f"{name!r} is the name of an installed module too: rename the file")
    if name != "__main__":
        sys.modules.pop(name, None)
    return os.path.dirname(path), name


def _import(target: str, folder: str, name: str) -> Any:
    importlib.invalidate_caches()
    # First wins: a file of the same name elsewhere must not be taken for the one that was named.
    sys.path[:] = [folder, *(entry for entry in sys.path if entry != folder)]
    # Bytecode is told from its source by size and second: too coarse for a file that is being mended.
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with exits_raise():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(target, f"cannot be imported: there is no module {error.name!r}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a program may also call sys.exit or os._exit at import
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if frame.filename.startswith(folder)] or frames
        where = f"{os.path.basename(inside[-1].filename)}:{inside[-1].lineno}"
        said = str(error)
        if isinstance(error, SyntaxError) and error.filename:
            where, said = f"{os.path.basename(error.filename)}:{error.lineno}", error.msg
        raise UsageError(target, f"cannot be imported: {type(error).__name__}: {said} ({where})") from error
    finally:
        sys.dont_write_bytecode = kept


def _attribute(target: str, module: Any, attribute: str) -> Any:
    value = module
    for name in attribute.split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            names = ", ".join(_named(module)[:12])
            raise UsageError(target, f"has no attribute {name!r}; there are {one_line(names)}") from None
    return value


def _named(module: Any) -> list[str]:
    """The names in a module: first of what could be meant, and then of functions, classes and plain values."""
    plain = (str, int, float, list, dict, tuple, set, ModuleType, type(None))
    names = sorted(name for name in vars(module) if not name.startswith("_"))
    return sorted(names, key=lambda name: isinstance(value := vars(module)[name], plain) or callable(value))


def _inside(folder: str, module: object) -> str | None:
    """The module's source file when it lies in the folder, is no installed package and not ours."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.startswith(folder.rstrip(os.sep) + os.sep):
        return None
    return None if _installed(file) else file


_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _installed(file: str) -> bool:
    """Whether a module is no code of the user: an installed package, or ours."""
    return "site-packages" in file or "dist-packages" in file or file.startswith(_OURS)


def _forget(folder: str) -> None:
    for name, module in list(sys.modules.items()):
        if name != "__main__" and _inside(folder, module):
            del sys.modules[name]


def _sources(folder: str, names: set[str]) -> dict[str, str]:
    """The source files of these modules that lie in the folder, by module."""
    found = {name: _inside(folder, sys.modules.get(name)) for name in sorted(names)}
    return {name: file for name, file in found.items() if file is not None}


def _digest(sources: dict[str, str]) -> str:
    found = hashlib.sha256()
    for name, file in sources.items():
        found.update(name.encode() + b"\0")
        try:
            with open(file, "rb") as stream:
                found.update(hashlib.file_digest(stream, "sha256").digest())
        except OSError:
            found.update(b"?")
    return found.hexdigest()
