"""Parameters that a body could change in place, which would be lost: they are no state."""

import collections
import copy
from collections.abc import Mapping
from typing import Any

_ITEMS = (list, tuple, set, frozenset, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
_ATOMS = (type(None), bool, int, float, complex, str, bytes)


class Lent:
    """The parameters of a node that are collections of plain data, as its bodies get them: copies, which are looked
    at after each firing, and made anew after one that failed. Objects of other classes stand for something outside
    (a client, a model), and are handed on as they are: what a body does to one is not undone."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._given = {name: copy.deepcopy(value) for name, value in parameters.items() if _changeable(value)}
        self.values: dict[str, Any] = {}
        self.renew()

    def renew(self) -> None:
        """Have them as they were given."""
        self.values = copy.deepcopy(self._given)

    def changed(self) -> list[str]:
        """The names of those that are not as they were given."""
        return [name for name, value in self.values.items() if value != self._given[name]]


def _changeable(value: Any) -> bool:
    """Whether a value is a collection that can be changed, or holds one, and there is plain data in it only."""
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
