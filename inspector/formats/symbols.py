"""Objects that a file names by module and class, as data.

Frameworks write `module.name` with arguments into a file and call it when they load the file. Here
nothing is imported or called: well-known value types become tagged values, everything else
`{"$type": "object", "class": "module:Name", "state": ...}`. What names code rather than a class of values
is told apart by `names_code`, so that a reader can warn of it.
"""

import contextlib
import pathlib
import re
import uuid
from collections.abc import Callable
from typing import Any

from inspector.model.values import Value, tag

CODE_MODULES = frozenset(
    (
        *("_ctypes", "_io", "_pickle", "_posixsubprocess", "antigravity", "asyncio", "atexit", "bdb", "builtins"),
        *("cProfile", "code", "codeop", "compileall", "concurrent", "ctypes", "distutils", "doctest", "ensurepip"),
        *("fcntl", "ftplib", "functools", "gc", "glob", "http", "idlelib", "imp", "importlib", "inspect", "io"),
        *("linecache", "logging", "marshal", "mmap", "multiprocessing", "nt", "ntpath", "operator", "os", "pdb"),
        *("pickle", "pip", "pkgutil", "posix", "posixpath", "profile", "pty", "py_compile", "pydoc", "resource"),
        *("runpy", "setuptools", "shutil", "signal", "site", "smtplib", "socket", "socketserver", "sqlite3"),
        *("subprocess", "sys", "telnetlib", "tempfile", "this", "threading", "timeit", "trace", "turtle", "types"),
        *("unittest", "urllib", "venv", "webbrowser", "xmlrpc", "zipimport"),
    )
)
"""Top modules of which a name in a file is never an honest value."""
_VALUE_TYPES = frozenset(
    (
        *(("builtins", "set"), ("builtins", "frozenset"), ("re", "compile"), ("collections", "deque")),
        *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
    )
)


def names_code(module: str, name: str) -> bool:
    """Whether `module.name` looks like something that acts when called: a function, or anything from a
    module that acts on the system. A class of values has a capital letter and a module of its own."""
    if (module, name) in _VALUE_TYPES:
        return False
    last = name.rpartition(".")[2].lstrip("_")
    return module.partition(".")[0] in CODE_MODULES or not last[:1].isupper()


def called(module: str, name: str, argument: Value) -> Value:
    """What `module.name(argument)` stands for."""
    make = _ONE.get((module, name))
    return _made(make, argument) or thing(module, name, argument)


def called_with(module: str, name: str, arguments: Value) -> Value:
    """What `module.name(*arguments)` stands for, or with a dict `module.name(**arguments)`."""
    if module.partition(".")[0] == "pathlib":
        return _made(_path(name), arguments) or thing(module, name, arguments)
    if isinstance(arguments, list) and len(arguments) == 1 and (module, name) in _ONE:
        return called(module, name, arguments[0])
    make = _MANY.get((module, name))
    return _made(make, arguments) or thing(module, name, arguments)


def thing(module: str, name: str, state: Value) -> dict[str, Value]:
    """An object that only its own code could rebuild."""
    return tag("object", **{"class": f"{module}:{name}"}, state=state)


def class_of(value: Value) -> str:
    """The class of a `thing`, `module:Name`; "" for anything else."""
    found = value.get("class") if isinstance(value, dict) and value.get("$type") == "object" else None
    return found if isinstance(found, str) else ""


def _made(make: Callable[[Any], Value] | None, content: Value) -> Value:
    """The tagged value, or None where the content is not what it should be."""
    if make is not None:
        with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
            return make(content)
    return None


def _items(kind: str) -> Callable[[Any], Value]:
    return lambda content: tag(kind, items=content) if isinstance(content, list) else None


def _text(kind: str, field: str = "text") -> Callable[[Any], Value]:
    return lambda content: tag(kind, **{field: content}) if isinstance(content, str) else None


def _uuid(content: Any) -> Value:
    return tag("uuid", text=str(uuid.UUID(content)))


def _path(name: str) -> Callable[[Any], Value]:
    kind = pathlib.PureWindowsPath if "Windows" in name else pathlib.PurePosixPath
    return lambda parts: tag("path", path=str(kind(*parts))) if all(isinstance(part, str) for part in parts) else None


def _date(parts: Any) -> Value:
    year, month, day = parts
    return tag("date", iso=f"{year:04d}-{month:02d}-{day:02d}")


def _time(parts: Any) -> Value:
    clock = f"{parts['hour']:02d}:{parts['minute']:02d}:{parts['second']:02d}"
    fraction = f".{parts['microsecond']:06d}" if parts["microsecond"] else ""
    zone = {"zone": parts["tzinfo"]} if parts.get("tzinfo") is not None else {}
    return tag("time", iso=clock + fraction, **zone)


def _timedelta(parts: Any) -> Value:
    days, seconds, microseconds = parts
    return tag("timedelta", days=days, seconds=seconds, microseconds=microseconds)


def _pattern(parts: Any) -> Value:
    pattern, flags = parts
    return tag("pattern", text=pattern, flags=flags)


_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d.*", re.DOTALL)
_ONE: dict[tuple[str, str], Callable[[Any], Value]] = {
    ("builtins", "set"): _items("set"),
    ("builtins", "frozenset"): _items("frozenset"),
    ("collections", "deque"): _items("deque"),
    ("decimal", "Decimal"): _text("decimal"),
    ("fractions", "Fraction"): _text("fraction"),
    ("uuid", "UUID"): _uuid,
    ("zoneinfo", "ZoneInfo"): _text("zone"),
    **{
        ("ipaddress", f"IPv{version}{kind}"): _text("ip")
        for version in (4, 6)
        for kind in ("Address", "Interface", "Network")
    },
    ("datetime", "datetime"): lambda content: tag("datetime", iso=content) if _ISO.fullmatch(content) else None,
}
_MANY: dict[tuple[str, str], Callable[[Any], Value]] = {
    ("datetime", "date"): _date,
    ("datetime", "time"): _time,
    ("datetime", "timedelta"): _timedelta,
    ("re", "compile"): _pattern,
}
