"""A list or dict beside what stood there before: its children by number, and those that are gone."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Name = str | int
Path = tuple[Name, ...]


class Missing:
    """The value of what is not there."""


MISSING = Missing()


class Child(NamedTuple):
    """A row's content. `before` is what stood there before the step, MISSING where nothing did; `value` is
    MISSING for what the step removed."""

    name: Name
    value: Any
    before: Any


class Branch:
    """An open container: its children by number, those that the step removed behind the others."""

    def __init__(self, parent: "Branch | None", at: int, name: Name, value: Any, before: Any, depth: int) -> None:
        self.parent, self.at, self.name, self.depth = parent, at, name, depth
        self._value, self._before = value, before
        self._names: list[str] | None = list(value) if isinstance(value, dict) else None
        self._gone = self._removed()

    def _removed(self) -> Sequence[Name]:
        value, before = self._value, self._before
        if before is value:
            return ()
        if isinstance(value, dict) and isinstance(before, dict):
            return [name for name in before if name not in value]
        if isinstance(value, list | tuple) and isinstance(before, list | tuple):
            return range(len(value), len(before))
        return ()

    def __len__(self) -> int:
        return len(self._value) + len(self._gone)

    def child(self, at: int) -> Child:
        """Child number `at`."""
        here = len(self._value)
        if at >= here:
            name = self._gone[at - here]
            return Child(name, MISSING, self._before[name])
        name = at if self._names is None else self._names[at]
        return Child(name, self._value[name], self._before_of(name))

    def _before_of(self, name: Name) -> Any:
        before = self._before
        if self._value is before:
            return self._value[name]
        if isinstance(before, dict) and isinstance(self._value, dict):
            return before.get(name, MISSING)
        if isinstance(before, list | tuple) and isinstance(self._value, list | tuple) and isinstance(name, int):
            return before[name] if name < len(before) else MISSING
        return MISSING

    def number(self, name: Name) -> int | None:
        """The number of the child of that name, None where there is none."""
        if self._names is None:
            return name if isinstance(name, int) and 0 <= name < len(self._value) else None
        return self._names.index(name) if name in self._value and isinstance(name, str) else None

    def path(self) -> Path:
        """The names from the root to this container; () for the root."""
        return self._up(lambda branch: branch.name)

    def order(self) -> tuple[int, ...]:
        """The same by the children's numbers: compares in the order of the rows."""
        return self._up(lambda branch: branch.at)

    def _up(self, of: Callable[["Branch"], Any]) -> tuple[Any, ...]:
        found, branch = [], self
        while branch.parent is not None:
            found.append(of(branch))
            branch = branch.parent
        return tuple(reversed(found))
