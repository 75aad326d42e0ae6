"""A value opened full-screen as a tree: its rows, and the places where a searched text stands in it."""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from inspector.model.lazy import Lazy
from inspector.model.values import Number, Value
from inspector.tui.line import Line, Span
from inspector.tui.panes.branch import Path
from inspector.tui.panes.cells import counted
from inspector.tui.panes.tree import Fold, Tree, open_at_first

MOST_HITS = 10_000
BATCH = 2_000
"""Parts of a value that are looked at in one go: a millisecond."""
MOST_ROWS = 100_000
"""Rows that unfolding everything may make."""

Order = tuple[int, ...]
"""A part of a value, by the numbers of children from the root."""


class TreeView(Lazy[Line]):
    """The lines of a list or dict. `hits` are the places where `found` stands, in their order."""

    def __init__(self, value: Value, title: str) -> None:
        self.value, self._title = value, title
        self.found = ""
        self.hits: list[Order] = []
        self._toggled: set[Hashable] = set()
        self._width = 80
        self.lay(80)

    def lay(self, width: int) -> None:
        """Lay the tree out for a width."""
        self._width = width
        self._tree = Tree("value", self.value, self._toggled, width=width, title=self._title)

    def about(self) -> str:
        """What is shown, in words."""
        kind = "object" if isinstance(self.value, dict) else "list"
        return f"{kind} of {counted(len(self.value), 'entry', 'entries')}"

    def __len__(self) -> int:
        return max(len(self._tree), 1)

    def item(self, at: int) -> Line:
        if not len(self._tree):
            return Line((Span("(empty)", "dim"),))
        line = self._tree.row(at).line
        return line if not self.found else Line(tuple(self._marked(line.spans)), line.opens)

    def _marked(self, spans: Sequence[Span]) -> Iterator[Span]:
        """Spans with `found` marked where it is to be seen as it stands."""
        for span in spans:
            parts = span.text.split(self.found)
            for number, part in enumerate(parts):
                if number:
                    yield Span(self.found, "match")
                if part:
                    yield Span(part, span.style)

    def fold(self, row: int, opened: bool | None = None) -> bool:
        """Fold or unfold the container at a row; False where none is, or it is already as asked."""
        if not len(self._tree):
            return False
        fold = self._tree.row(row).fold
        is_open = self._tree.place(row)[2]
        if fold is None or opened is is_open:
            return False
        self._toggled ^= {fold}
        self.lay(self._width)
        return True

    def above(self, row: int) -> int:
        """The row of the container that a row is in."""
        if not len(self._tree):
            return 0
        order = self._tree.place(row)[0].order()
        return self._tree.index_of(order) if order else row

    def unfold_all(self) -> bool:
        """Unfold every container, as long as there are not too many rows; False where there were."""
        folds = closed_at_first(self.value, MOST_ROWS)
        if folds is None:
            return False
        self._toggled = set(folds)
        self.lay(self._width)
        return True

    def search(self, text: str) -> Iterator[int]:
        """Look for a text in names and plain values; yields how many places are known, in between."""
        self.found, self.hits = text, []
        for number, (order, there) in enumerate(occurrences(self.value, text), 1):
            if there:
                self.hits.append(order)
            if len(self.hits) >= MOST_HITS:
                break
            if number % BATCH == 0:
                yield len(self.hits)
        yield len(self.hits)

    def find(self, row: int, direction: int) -> int | None:
        """The row of the next place behind (or before) that of a row, unfolded; None where there is none."""
        if not self.hits or not len(self._tree):
            return None
        branch, number, _ = self._tree.place(row)
        here = (*branch.order(), number)
        at = bisect_right(self.hits, here) if direction > 0 else bisect_left(self.hits, here) - 1
        return self.reveal(self.hits[at % len(self.hits)])

    def reveal(self, order: Order) -> int:
        """Unfold what a place is in; its row."""
        holder: Any = self.value
        path: Path = ()
        for number in order[:-1]:
            name = list(holder)[number] if isinstance(holder, dict) else number
            inner, depth, siblings = holder[name], len(path), len(holder)
            path = (*path, name)
            fold = Fold("value", path)
            if open_at_first(depth, siblings, len(inner)) == (fold in self._toggled):
                self._toggled ^= {fold}
            holder = inner
        self.lay(self._width)
        return self._tree.index_of(order)

    def place(self, row: int) -> str:
        """Which of the places a row is."""
        if not self.hits or not len(self._tree):
            return ""
        branch, number, _ = self._tree.place(row)
        at = bisect_right(self.hits, (*branch.order(), number))
        return f"{at:,} of {len(self.hits):,}{'+' if len(self.hits) >= MOST_HITS else ''}"


def occurrences(value: Value, text: str) -> Iterator[tuple[Order, bool]]:
    """Every part of a value, in the order of its rows, and whether its name or its plain value holds a text."""
    stack: list[tuple[Order, Iterator[tuple[int, object, Value]]]] = [((), _children(value))]
    while stack:
        order, rest = stack[-1]
        entry = next(rest, None)
        if entry is None:
            stack.pop()
            continue
        number, name, part = entry
        there = isinstance(name, str) and text in name
        if isinstance(part, dict | list | tuple):
            stack.append(((*order, number), _children(part)))
        else:
            there = there or text in plain_text(part)
        yield (*order, number), there


def _children(value: Value) -> Iterator[tuple[int, object, Value]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return ((number, name, part) for number, (name, part) in enumerate(pairs))


def plain_text(value: Value) -> str:
    """A plain value as it is searched for."""
    if isinstance(value, str):
        return value
    if isinstance(value, Number):
        return value.text
    return _WORDS[value] if value is None or isinstance(value, bool) else str(value)


_WORDS = {None: "null", True: "true", False: "false"}


def closed_at_first(value: Value, most: int) -> list[Fold] | None:
    """The folds of all containers that are closed at first; None where the value has more than `most` parts."""
    found: list[Fold] = []
    stack: list[tuple[Path, Value]] = [((), value)]
    count = 0
    while stack:
        path, holder = stack.pop()
        count += len(holder)
        if count > most:
            return None
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for name, part in pairs:
            if isinstance(part, dict | list | tuple) and part:
                inner = (*path, name)
                stack.append((inner, part))
                if not open_at_first(len(path), len(holder), len(part)):
                    found.append(Fold("value", inner))
    return found
