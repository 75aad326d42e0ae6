"""Names of classes and functions that stay the same between the processes of a run.

A file that is run as a script is the module `__main__`; the same file given to `runinspect` is imported under its
own name. Both are called by the file's own name here, so that a run of the one can be continued by the other.
"""

import sys
from pathlib import PurePath
from typing import Any


def qualified(thing: Any) -> str:
    """`module:Qualname` of a class or function."""
    module = thing.__module__
    return f"{_own_name() if module == '__main__' else module}:{thing.__qualname__}"


def find(name: str) -> Any:
    """What `qualified` named, among the modules that are loaded; None when it is not there. Imports nothing."""
    module_name, _, path = name.partition(":")
    found: Any = sys.modules.get(module_name)
    if found is None and module_name == _own_name():
        found = sys.modules.get("__main__")
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _own_name() -> str:
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name).removesuffix(".__main__")
    path = getattr(main, "__file__", None)
    return PurePath(path).stem if path else "__main__"
