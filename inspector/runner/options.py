"""What is given to agents, tools, networks and runs, looked at where it is given: what is wrong is told by its name in
the line that gives it, and not by a run that fails later."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar, get_args

import msgspec
from msgspec import Meta

from inspector.errors import UsageError
from inspector.runner.data import ToolChoice
from inspector.runner.messages import Message

T = TypeVar("T")
Count = Annotated[int, Meta(ge=0)]
Number = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]
CHOICES = ("auto", "none", "required")


def option(name: str, value: T, kind: Any) -> T:
    """The value of an option as it stands, when it is of its `kind`: a type as msgspec takes it. Raises UsageError."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _wrong(name, value, str(error)) from None
    return value


def instance(name: str, value: T, *kinds: type) -> T:
    """The value of an option, when it is an object of one of these classes. Raises UsageError."""
    if not isinstance(value, kinds):
        raise _wrong(name, value, f"Expected an object of the class {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def items(name: str, value: Iterable[T]) -> list[T]:
    """The items of an option that takes several. Raises UsageError."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise _wrong(name, value, "Expected a list")
    return list(value)


def function(name: str, value: T) -> T:
    """The value of an option that is called. Raises UsageError."""
    if not callable(value):
        raise _wrong(name, value, "Expected a function")
    return value


def one_of(name: str, value: T, words: Any) -> T:
    """The value of an option, when it is one of the words of a Literal. Raises UsageError."""
    known = get_args(words)
    if value not in known:
        raise _wrong(name, value, f"Expected one of {', '.join(known)}")
    return value


def tool_choice(value: Any) -> ToolChoice:
    """Which tools must be called: a word, or names. Raises UsageError."""
    if value is None or (isinstance(value, str) and value in CHOICES):
        return value
    names = () if isinstance(value, str | Mapping) or not isinstance(value, Iterable) else tuple(value)
    if not names or not all(isinstance(name, str) for name in names):
        raise _wrong("tool_choice", value, f"Expected {', '.join(CHOICES)}, or a list of names of tools")
    return names


def messages(name: str, value: Iterable[Message]) -> tuple[Message, ...]:
    """Messages. Raises UsageError."""
    found = tuple(items(name, value))
    if wrong := [item for item in found if not isinstance(item, Message)]:
        raise _wrong(name, wrong[0], "Expected Messages")
    return found


def _wrong(name: str, value: object, why: str) -> UsageError:
    why = why.replace("`", "").replace("null", "None")
    return UsageError(name, f"cannot be {value!r:.80}: {why[:1].lower()}{why[1:]}")
