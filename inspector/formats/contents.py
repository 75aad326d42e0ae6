"""Contents of messages and calls, whatever form a framework keeps them in."""

from collections.abc import Callable

from inspector.formats.jsontext import Damaged, Place, parse
from inspector.model.run import Problem, Usage
from inspector.model.text import clean
from inspector.model.values import Value, to_json


def text_of(value: Value) -> str:
    """Text as it stands, anything else as JSON; "" for null."""
    return value if isinstance(value, str) else "" if value is None else to_json(value)


def name_of(value: Value) -> str | None:
    """A name or an id; None where there is none."""
    return None if value is None or value == "" else text_of(value)


def arguments_of(value: Value, tell: Callable[[str], None] = lambda message: None) -> Value:
    """A call's arguments, parsed where they are JSON kept as text. Text that is no JSON stays as it is, and is
    told, as is a key that is given twice."""
    if not isinstance(value, str):
        return value
    problems: list[Problem] = []
    try:
        found = parse(value.encode("utf-8", "backslashreplace"), Place("arguments"), problems)
    except Damaged as damage:
        tell(f"arguments that are no JSON ({damage.reason} at byte {damage.offset}): shown as they stand")
        return value
    for problem in problems:
        tell(f"arguments: {problem.message}")
    return found


def usage_of(value: Value) -> Usage | None:
    """Tokens, where they are kept as `input_tokens` and `output_tokens`; what is no number is not known."""
    if not isinstance(value, dict):
        return None
    tokens = [value.get(key) for key in ("input_tokens", "output_tokens")]
    counted = [number if isinstance(number, int) and not isinstance(number, bool) else None for number in tokens]
    return Usage(input_tokens=counted[0], output_tokens=counted[1])


def as_shown(text: bytes) -> str:
    """A piece of a file, to be looked at."""
    return clean(text.decode(errors="backslashreplace"))
