"""What the type hints of ports tell: whether a token of one hint can be one of another, and whether a value is one.

Only what is certain counts as a misfit. What cannot be told (Any, a type variable, a name that is not there, a
protocol) fits everything.
"""

import collections.abc
import inspect
import types
import typing
from typing import Any

_WIDER: dict[type, tuple[type, ...]] = {float: (int,), complex: (int, float)}
"""What counts as a number of a wider kind, as type checkers have it."""
_ITEMS = (list, set, frozenset, collections.deque)


def possible(given: Any, wanted: Any) -> bool:
    """Whether a value of the hint `given` may be one of the hint `wanted`."""
    some, others = _classes(given), _classes(wanted)
    return some is None or others is None or any(_related(one, other) for one in some for other in others)


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value is one of the hint. Costs a look at each item of built-in collections whose hint names one."""
    if wanted is Any:
        return True
    wanted = _bare(wanted)
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is typing.Union or origin is types.UnionType:
        return any(fits(value, each) for each in arguments)
    if origin is typing.Literal:
        return any(value == each and type(value) is type(each) for each in arguments)
    found = _class(wanted)
    if found is None:
        return True
    if not isinstance(value, (found, *_WIDER.get(found, ()))):
        return False
    if not arguments:
        return True
    if isinstance(value, _ITEMS) and len(arguments) == 1:
        return all(fits(item, arguments[0]) for item in value)
    if isinstance(value, tuple) and origin is tuple:
        if arguments[-1] is Ellipsis:
            return all(fits(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if isinstance(value, dict) and len(arguments) == 2:
        return all(fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items())
    return True


def name(hint: Any) -> str:
    """A hint in words."""
    return hint.__qualname__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def result_of(body: Any) -> Any:
    """The hint of the tokens that a body returns on its only output; Any for a generator and where there is none."""
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        return Any
    try:
        return typing.get_type_hints(body).get("return", Any)
    except (NameError, TypeError):
        return Any


def hint_of(kind: type | None, field: str) -> Any:
    """The hint of a field of a class; Any where there is none."""
    try:
        return typing.get_type_hints(kind).get(field, Any) if kind is not None else Any
    except (NameError, TypeError):
        return Any


def _bare(hint: Any) -> Any:
    while True:
        if typing.get_origin(hint) is typing.Annotated:
            hint = typing.get_args(hint)[0]
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        else:
            return hint


def _class(hint: Any) -> type | None:
    """The class that every value of a hint is of; None where there is no telling."""
    hint = _bare(hint)
    if hint is None:
        return type(None)
    if typing.is_typeddict(hint):
        return dict
    found = typing.get_origin(hint) or hint
    if not isinstance(found, type) or found in (Any, object) or getattr(found, "_is_protocol", False):
        return None
    return found


def _classes(hint: Any) -> list[type] | None:
    hint = _bare(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return [type(each) for each in arguments]
    if origin is not typing.Union and origin is not types.UnionType:
        found = _class(hint)
        return None if found is None else [found]
    parts = [_classes(each) for each in arguments]
    return None if None in parts else [each for part in parts for each in part or ()]


def _related(given: type, wanted: type) -> bool:
    if issubclass(given, (wanted, *_WIDER.get(wanted, ()))) or issubclass(wanted, given):
        return True
    # A class of both can exist, where one of them is made for being mixed in.
    return inspect.isabstract(given) or inspect.isabstract(wanted)
