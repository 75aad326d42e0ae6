"""The classes that saved values name: whether the code has them, told without making a single value; and the code
under the module's name that they were saved with.

wfpy saves an object by its class's name, and loads a file under a name of its own: the class `Leaf` of `flow.py` is
`__wfpy_user_module__:Leaf` where wfpy's command ran it, `__main__:Leaf` where it ran itself, `flow:Leaf` where it
was imported.
"""

import contextlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from inspector.model.run import Record

TAG = "$wfType"
OWN = ("__wfpy_user_module__", "__main__")
PLAIN = frozenset(
    {
        "file",
        "resource",
        "path",
        "tuple",
        "set",
        "frozenset",
        "bytes",
        "dict",
        "datetime",
        "date",
        "time",
        "timedelta",
        "decimal",
        "uuid",
        "complex",
    }
)


class Named(Record, frozen=True, kw_only=True):
    """A class or the like that a saved value names, and where such a value first stands. `tag` says how it is saved,
    `member` which member of an enum it is."""

    tag: str
    module: str
    name: str
    where: str
    member: str | None = None


def named(where: str, value: Any, found: dict[tuple[str, str, str | None], Named]) -> None:
    """Add what a value names to `found`. Does not recurse."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            tag, kind = item.get(TAG), item.get("type")
            if isinstance(tag, str) and tag not in PLAIN:
                module, _, name = str(kind or "").partition(":")
                member = str(item.get("name")) if tag == "enum" else None
                key = (tag, str(kind), member)
                found.setdefault(key, Named(tag=tag, module=module, name=name, where=where, member=member))
            stack += item.values()


def module_of(workflow: Any) -> ModuleType:
    """The module that a workflow stands in."""
    made = workflow.builder_fn or workflow.cls
    return sys.modules[made.__module__]


def own_names(module: ModuleType, source: str | None, found: Iterable[Named]) -> list[str]:
    """Names that the workflow's module had when values were saved, and has not now. `source` is the file that it
    was then, as far as known."""
    stem = source.replace("\\", "/").removesuffix(".py") if source else ""
    names = []
    for name in dict.fromkeys(item.module for item in found):
        if name == module.__name__ or not name:
            continue
        if name in OWN or stem.endswith("/" + name.replace(".", "/")) or not _exists(name):
            names.append(name)
    return names


def _exists(module: str) -> bool:
    """Whether there is such a module; only top-level ones are looked for, which imports nothing."""
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def unreadable(item: Named, aliases: Iterable[str], module: ModuleType) -> str | None:
    """Why a value of what is named could not be read back; None where nothing speaks against it."""
    kind = f"{item.module}:{item.name}"
    if item.tag not in ("object", "enum", "pickle", "dataclass"):
        return f"wfpy knows no values of the kind {item.tag!r}"
    if item.tag == "pickle" and item.module == "builtins":
        return None
    owner: Any = module if item.module in aliases else sys.modules.get(item.module)
    if owner is None:
        return None if _exists(item.module) else f"{kind}: there is no module {item.module!r}"
    for part in item.name.split("."):
        try:
            owner = vars(owner)[part] if isinstance(owner, type) else getattr(owner, part)
        except (AttributeError, KeyError):
            return f"{kind}: {owner.__name__} has no {part!r} now"
    if item.member is not None and item.member not in getattr(owner, "__members__", {}):
        return f"{kind} has no member {item.member!r}"
    return None


@contextlib.contextmanager
def under_names(module: ModuleType, names: Iterable[str]) -> Iterator[None]:
    """Meanwhile the module goes by the names too, and what it defines says that it is of the last of them: so values
    are read back, and saved again with the digests that the journal has."""
    names = list(names)
    kept = {name: sys.modules.get(name) for name in names}
    renamed = list(_defined(module)) if names else []
    own = module.__name__
    try:
        for name in names:
            sys.modules[name] = module
        for thing in renamed:
            thing.__module__ = names[-1]
        yield
    finally:
        for thing in renamed:
            thing.__module__ = own
        for name, before in kept.items():
            if before is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = before


def _defined(module: ModuleType) -> Iterator[Any]:
    """The classes and functions that a module defines, and the classes in those classes."""
    stack: list[Any] = [module]
    seen: set[int] = set()
    while stack:
        for thing in list(vars(stack.pop()).values()):
            if not isinstance(thing, type | FunctionType) or thing.__module__ != module.__name__ or id(thing) in seen:
                continue
            seen.add(id(thing))
            yield thing
            if isinstance(thing, type):
                stack.append(thing)
