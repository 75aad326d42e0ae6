"""Lines that are built when somebody looks at them, put together from parts.

A pane is a `Stack`: parts one below the other, each a number of rows known in advance and a function
that builds one of them. Nothing is built for a row that is not on the screen, so a queue of a hundred
thousand tokens costs what its visible rows cost.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

from msgspec import UNSET, Struct

from inspector.model.lazy import Lazy
from inspector.model.run import Record
from inspector.model.values import Value
from inspector.tui.line import Line, plain

Item = TypeVar("Item")


class Row(Struct, frozen=True):
    """A line, and what folds and unfolds at it: None where nothing does."""

    line: Line
    fold: Hashable | None = None


class Part(Protocol):
    """A number of rows, each built when asked for."""

    def __len__(self) -> int: ...

    def row(self, index: int) -> Row:
        """Row number `index`, from 0."""


class Fixed:
    """Rows that are already there: for the few that every pane has."""

    def __init__(self, rows: Iterable[Row | Line]) -> None:
        self._rows = [row if isinstance(row, Row) else Row(row) for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Row:
        return self._rows[index]


class Each(Generic[Item]):
    """One row for each of `items`, from `start` on: `build` gets the item's index and the item."""

    def __init__(
        self, items: Sequence[Item], build: Callable[[int, Item], Row | Line], start: int = 0, stop: int | None = None
    ) -> None:
        self._items, self._build, self._start = items, build, start
        self._stop = len(items) if stop is None else stop

    def __len__(self) -> int:
        return max(self._stop - self._start, 0)

    def row(self, index: int) -> Row:
        at = self._start + index
        made = self._build(at, self._items[at])
        return made if isinstance(made, Row) else Row(made)


class Blocks(Generic[Item]):
    """Some rows for each of `items`: `height` says how many, without building them; `build` gets the item's
    index and the item and makes them all."""

    def __init__(
        self,
        items: Sequence[Item],
        height: Callable[[Item], int],
        build: Callable[[int, Item], Sequence[Row | Line]],
        start: int = 0,
    ) -> None:
        self._items, self._build, self._start = items, build, start
        self._ends = list(accumulate(height(items[at]) for at in range(start, len(items))))
        self._built: tuple[int, Sequence[Row | Line]] = (-1, ())

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def row(self, index: int) -> Row:
        at = bisect_right(self._ends, index)
        if self._built[0] != at:
            self._built = (at, self._build(self._start + at, self._items[self._start + at]))
        made = self._built[1][index - (self._ends[at - 1] if at else 0)]
        return made if isinstance(made, Row) else Row(made)


class Stack(Lazy[Line]):
    """Parts one below the other, as the lines that `Rows` shows."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = [part for part in parts if len(part)]
        self._ends = list(accumulate(map(len, self._parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def item(self, at: int) -> Line:
        return self.row(at).line

    def row(self, index: int) -> Row:
        """Row number `index`. Raises IndexError."""
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        at = bisect_right(self._ends, index)
        return self._parts[at].row(index - (self._ends[at - 1] if at else 0))

    def fold(self, index: int) -> Hashable | None:
        """What folds and unfolds at that row, to be kept in the set of toggled folds."""
        return self.row(index).fold if 0 <= index < len(self) else None


def note(text: str) -> Stack:
    """A pane that only says something: why there is nothing to show."""
    return Stack([Fixed([plain(text, "dim")])])


def shallow(record: Record, *, always: Sequence[str] = ()) -> dict[str, Value]:
    """A record's fields by their names in JSON, to be opened as a value; those that the file does not hold are
    left out, but for `always`."""
    names = zip(record.__struct_encode_fields__, record.__struct_fields__, strict=True)
    found = {name: getattr(record, field) for name, field in names}
    return {name: value for name, value in found.items() if name in always or not (value is None or value is UNSET)}
