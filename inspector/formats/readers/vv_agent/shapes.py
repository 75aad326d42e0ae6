"""Values of a file taken for what they should be: a stranger's row can hold anything anywhere."""

from datetime import UTC, datetime
from typing import Any

from inspector.model.values import Number, Value


def mapping(value: Value) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Value) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Value) -> str | None:
    """The value if it is text that says something."""
    return value if isinstance(value, str) and value else None


def whole(value: Value) -> int | None:
    """The value if it is an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def moment(seconds: Value) -> str | None:
    """Seconds since 1970 as an RFC 3339 time in UTC, to the millisecond; None for what is no time."""
    if isinstance(seconds, Number):  # a float that Python would write in another way
        try:
            seconds = float(seconds.text)
        except ValueError:
            return None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    try:
        found = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milli_moment(milliseconds: Value) -> str | None:
    """The same for milliseconds since 1970."""
    number = whole(milliseconds)
    return None if number is None or abs(number) > 10**17 else moment(number / 1000)
