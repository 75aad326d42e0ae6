"""Parameters that a body could change in place, which would be lost: they are no state."""

import collections
import copy
from collections.abc import Mapping
from typing import Any

_ITEMS = (list, tuple, set, frozenset, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
_ATOMS = (type(None), bool, int, float, complex, str, bytes)
AT_FIRST = 3
"""Firings after each of which all parameters are looked at, whatever their size."""
VALUES = 200
"""Values looked at per firing afterwards, on average: what is larger is looked at less often."""


class Lent:
    """The parameters of a node that are collections of plain data, as its bodies get them: copies, which are looked
    at after firings, and made anew after one that failed. Objects of other classes stand for something outside
    (a client, a model), and are handed on as they are: what a body does to one is not undone.

    They are looked at after each firing where they are small, so that the firing which changed one is the one that
    fails. Those of more than VALUES values are looked at after the first firings, then once in so many that a firing
    costs no more, and once more when the run has come to rest. A change that is undone before a look, or comes before
    another failure of the node or a kill, is not noticed."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._given = {name: copy.deepcopy(value) for name, value in parameters.items() if _collection(value)}
        self._every = -(-sum(map(_size, self._given.values())) // VALUES)
        self._firings = 0
        self.unseen = 0
        """How many firings have ended since they were looked at, without the last one."""
        self.values: dict[str, Any] = {}
        self.renew()

    def renew(self) -> None:
        """Have them as they were given."""
        self.values = copy.deepcopy(self._given)

    def changed(self) -> list[str]:
        """Behind a firing: the names of those that are found to be not as they were given, by the last firing or by one
        of the `unseen` before it."""
        self._firings += 1
        if self._firings > AT_FIRST and self.unseen + 1 < self._every:
            self.unseen += 1
            return []
        found = self.differing()
        if not found:
            self.unseen = 0
        return found

    def differing(self) -> list[str]:
        """The names of those that are not as they were given."""
        return [name for name, value in self.values.items() if not _alike(value, self._given[name])]


def _collection(value: Any) -> bool:
    """Whether a value is a collection with plain data in it only."""
    try:
        return type(value) not in _ATOMS and _plain(value)
    except RecursionError:
        return False


def _plain(value: Any) -> bool:
    kind = type(value)
    if kind in _ITEMS:
        return all(map(_plain, value))
    if kind in _DICTS:
        return all(map(_plain, value)) and all(map(_plain, value.values()))
    return kind in _ATOMS or kind is bytearray


def _size(value: Any) -> int:
    """About how many values there are to look at."""
    kind = type(value)
    if kind in _ITEMS:
        return 1 + sum(map(_size, value))
    if kind in _DICTS:
        return 1 + 2 * len(value) + sum(map(_size, value.values()))
    return 1 + len(value) // 256 if kind is bytearray else 1


def _alike(one: Any, other: Any) -> bool:
    """Whether two values of plain data are the same to any code, as True and 1 are not."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in _DICTS:
        return _alike([*one], [*other]) and _alike([*one.values()], [*other.values()])
    if kind is set or kind is frozenset:
        return {(type(item), item) for item in one} == {(type(item), item) for item in other}
    if kind in _ITEMS:
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)
