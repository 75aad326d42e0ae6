"""Where two values differ, path by path, without recursion."""

from collections.abc import Iterator

from inspector.model.run import Record
from inspector.model.values import Value, equal

LIMIT = 1000
"""Differences of one pair of values that are told apart; behind them the rest is one difference."""


class Difference(Record, frozen=True, kw_only=True):
    """One place where two sides differ; a side that has nothing there is None, as is null."""

    path: str
    left: Value = None
    right: Value = None


def differences(left: Value, right: Value, path: str = "") -> Iterator[Difference]:
    """The places where `left` and `right` differ, in the order of the left side. Dicts differ by key, lists
    of one length by index, anything else as a whole; `1`, `1.0` and `true` are three values."""
    stack: list[tuple[str, Value, Value]] = [(path, left, right)]
    found = 0
    while stack:
        at, one, other = stack.pop()
        if one is other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            names = [*one, *(name for name in other if name not in one)]
            stack += [(_join(at, name), one.get(name), other.get(name)) for name in reversed(names)]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            pairs = zip(range(len(one)), one, other, strict=True)
            stack += [(f"{at}[{index}]", mine, yours) for index, mine, yours in reversed([*pairs])]
        elif not equal(one, other):
            yield Difference(path=at, left=one, right=other)
            found += 1
            if found == LIMIT and stack:
                yield Difference(path=path, left="more differences than are told apart", right=None)
                return


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
