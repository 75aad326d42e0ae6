"""A value as a tree of rows that fold, built when looked at and never by recursion.

The rows of a tree are kept as stretches: a stretch is a run of children of one open container, none of
which but the last is open itself. So a list of a million numbers is one stretch, and folding costs what
is open, not what is there.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence, Set
from itertools import accumulate
from typing import Any, NamedTuple

from inspector.model.values import Value, equal, preview, to_json
from inspector.tui.line import Line, Opens, Span
from inspector.tui.panes.branch import MISSING, Branch, Child, Missing, Name, Path
from inspector.tui.panes.cells import brief
from inspector.tui.panes.parts import Row

OPEN_DEPTH = 2
"""Containers above this depth are open at first."""
OPEN_SIZE = 50
"""Larger containers, and what is in them, are closed at first."""
INDENT = 2


class Stretch(NamedTuple):
    """Children `start` to `stop` - 1 of a container; `opened` says that the last of them is open."""

    branch: Branch
    start: int
    stop: int
    opened: bool


class Fold(NamedTuple):
    """What folds at a row of the tree called `tree`: the names from its root."""

    tree: str
    path: Path


class _Toggled:
    """The folds below a container, by name: whether the child of that name is toggled, and those below it."""

    def __init__(self) -> None:
        self.here = False
        self.below: dict[Name, _Toggled] = {}

    @classmethod
    def of(cls, tree: str, folds: Set[Hashable]) -> "_Toggled":
        """Those of one tree."""
        root = cls()
        for fold in folds:
            if isinstance(fold, Fold) and fold.tree == tree:
                at = root
                for name in fold.path:
                    at = at.below.setdefault(name, cls())
                at.here = True
        return root


_NONE = _Toggled()


class Tree:
    """The rows of a value that is a list, tuple or dict, without a row for itself.

    `toggled` holds the `Fold`s that are not as they are at first. `before` is the value before the step,
    MISSING where changes are not to be marked. `place` says where what stands at a path can be edited.
    """

    def __init__(
        self,
        name: str,
        value: Value,
        toggled: Set[Hashable] = frozenset(),
        *,
        before: Any = MISSING,
        width: int = 80,
        title: str = "",
        place: Callable[[Path], str | None] = lambda path: None,
    ) -> None:
        self.name, self._width, self._title, self._place = name, width, title, place
        self._marks = before is not MISSING
        self._stretches = self._flatten(Branch(None, 0, "", value, before, 0), _Toggled.of(name, toggled))
        self._ends = list(accumulate(stretch.stop - stretch.start for stretch in self._stretches))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _flatten(self, root: Branch, toggled: _Toggled) -> list[Stretch]:
        found: list[Stretch] = []
        stack = [(root, 0, _opened(root, toggled), toggled)]
        while stack:
            branch, start, opened, toggled = stack.pop()
            if not opened:
                if start < len(branch):
                    found.append(Stretch(branch, start, len(branch), False))
                continue
            at = opened.pop()
            found.append(Stretch(branch, start, at + 1, True))
            stack.append((branch, at + 1, opened, toggled))
            child = branch.child(at)
            before = child.before if self._marks else MISSING
            inner = Branch(branch, at, child.name, child.value, before, branch.depth + 1)
            below = toggled.below.get(child.name, _NONE)
            stack.append((inner, 0, _opened(inner, below), below))
        return found

    def place(self, index: int) -> tuple[Branch, int, bool]:
        """The container, the child's number and whether it is open, of row `index`."""
        at = bisect_right(self._ends, index)
        stretch = self._stretches[at]
        number = stretch.start + index - (self._ends[at - 1] if at else 0)
        return stretch.branch, number, stretch.opened and number == stretch.stop - 1

    def index_of(self, order: tuple[int, ...]) -> int:
        """The row of the child with these numbers from the root, or of the closed container it is in."""
        best = 0
        for at, stretch in enumerate(self._stretches):
            above = stretch.branch.order()
            if above != order[: len(above)] or len(above) >= len(order):
                continue
            number = order[len(above)]
            if stretch.start <= number < stretch.stop:
                best = (self._ends[at - 1] if at else 0) + number - stretch.start
        return best

    def row(self, index: int) -> Row:
        branch, number, opened = self.place(index)
        child = branch.child(number)
        path = (*branch.path(), child.name)
        shown = child.before if isinstance(child.value, Missing) else child.value
        folds = isinstance(child.value, dict | list | tuple) and bool(child.value)
        spans = [
            Span(self._indent(branch.depth), "dim"),
            Span(fold_sign(folds, opened), "dim"),
            Span(label(child.name), "accent"),
        ]
        mark = self._mark(child) if self._marks else ""
        if self._marks:
            spans.insert(0, Span(f"{mark or ' '} ", _STYLES[mark]))
        spans.append(Span(": ", "dim"))
        spans += _content(shown, opened, _STYLES[mark], child.name)
        place = None if isinstance(child.value, Missing) else self._place(path)
        line = Line(tuple(spans), Opens(self._titled(path), shown, place))
        return Row(line, Fold(self.name, path) if folds else None)

    def _titled(self, path: Path) -> str:
        spelled = spell(path)
        return self._title + (" " if self._title and spelled[:1] not in ("", "[") else "") + spelled

    def _indent(self, depth: int) -> str:
        room = max(self._width // 3, 8) // INDENT
        return " " * (INDENT * depth) if depth <= room else f"{depth:>{INDENT * room - 1}} "

    def _mark(self, child: Child) -> str:
        if isinstance(child.value, Missing):
            return "-"
        if isinstance(child.before, Missing):
            return "+"
        return "" if same(child.value, child.before) else "~"


_STYLES = {"": "", "-": "removed", "+": "added", "~": "changed"}


def same(value: Value, before: Value) -> bool:
    """What `equal` says, at the speed of C for large values."""
    if value is before or not isinstance(value, dict | list | tuple):
        return equal(value, before)
    try:
        if value != before:
            return False
    except RecursionError:
        return equal(value, before)
    # Equal for Python are also 1 and true; one text means that the values are the same.
    return to_json(value) == to_json(before) or equal(value, before)


def _opened(branch: Branch, toggled: _Toggled) -> list[int]:
    """The numbers of a container's children that are open, last first."""
    if branch.depth < OPEN_DEPTH and len(branch) <= OPEN_SIZE:
        numbers: Sequence[int] = range(len(branch))
    else:
        there = [branch.number(name) for name, below in toggled.below.items() if below.here]
        numbers = sorted(number for number in there if number is not None)
    found = [at for at in numbers if _is_open(branch, branch.child(at), toggled)]
    return found[::-1]


def _is_open(branch: Branch, child: Child, toggled: _Toggled) -> bool:
    if not (isinstance(child.value, dict | list | tuple) and child.value):
        return False
    swapped = toggled.below.get(child.name, _NONE).here
    return open_at_first(branch.depth, len(branch), len(child.value)) != swapped


def open_at_first(depth: int, siblings: int, size: int) -> bool:
    """Whether a container of `size` is open before anybody folds it: `depth` is that of the one it is in,
    which holds `siblings`."""
    return depth < OPEN_DEPTH and siblings <= OPEN_SIZE and size <= OPEN_SIZE


def fold_sign(folds: bool, opened: bool) -> str:
    """What stands before a row that folds, and before one that does not."""
    return ("▾ " if opened else "▸ ") if folds else "  "


def _content(value: Value, opened: bool, style: str, name: Name) -> list[Span]:
    if isinstance(value, dict | list | tuple):
        size = f"{{{len(value)}}}" if isinstance(value, dict) else f"[{len(value)}]"
        if opened or not value:
            return [Span(size, "dim")]
        return [Span(f"{size} ", "dim"), Span(brief(value), style)]
    return [Span(brief(value, name), style)]


def label(name: Name) -> str:
    """A child's name on one line."""
    return str(name) if isinstance(name, int) else preview(name, 60) or '""'


def spell(path: Path) -> str:
    """A path as people write it: `orders[3].id`."""
    return "".join(f"[{name}]" if isinstance(name, int) else f".{label(name)}" for name in path[-20:]).lstrip(".")
