import json
from collections.abc import Hashable, Set
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.model.values import equal
from inspector.tui.line import text_of
from inspector.tui.panes.parts import Stack
from inspector.tui.panes.tree import OPEN_SIZE, Fold, Tree, same
from tests.tui.panes.snapshots import few, shown

plain = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)
lists = st.lists(values, max_size=4)
dicts = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


def rows(value: Any, toggled: Set[Hashable] = frozenset(), **options: Any) -> list[str]:
    return shown(Stack([Tree("t", value, toggled, **options)]))


@few
@given(lists | dicts)
def test_unfolding_everything_shows_every_part_once(value: Any) -> None:
    toggled: set[Hashable] = set()
    while True:
        tree = Tree("t", value, toggled)
        closed = [tree.row(row).fold for row in range(len(tree)) if tree.row(row).fold and not tree.place(row)[2]]
        if not closed:
            break
        toggled ^= set(closed)

    def parts(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return sum(1 + parts(part) for part in inner)

    assert len(tree) == parts(value)
    orders = [(*branch.order(), number) for branch, number, _ in map(tree.place, range(len(tree)))]
    assert orders == sorted(orders)
    assert [tree.index_of(order) for order in orders] == list(range(len(tree)))


@few
@given(st.tuples(lists, lists) | st.tuples(dicts, dicts))
def test_marks_are_quiet_exactly_where_nothing_changed(sides: tuple[Any, Any]) -> None:
    before, after = sides
    marks = {line[:1] for line in rows(after, before=before)}
    assert bool(marks & {"~", "+", "-"}) == (not equal(before, after))


@few
@given(values, values)
def test_same_is_equal(one: Any, other: Any) -> None:
    assert same(one, other) == equal(one, other)
    copied = json.loads(json.dumps(one))
    assert same(one, copied)
    if isinstance(one, dict):
        assert same(one, dict(reversed(one.items())))


def test_one_and_true_are_not_the_same_however_deep() -> None:
    assert not same({"a": [1]}, {"a": [True]})
    assert not same([1.0], [1])


def test_what_folds_is_open_when_small() -> None:
    value = {"small": {"a": 1}, "large": list(range(OPEN_SIZE + 1)), "deep": {"x": {"y": {"z": 1}}}}
    assert rows(value) == [
        "▾ small: {1}",
        "    a: 1",
        "▸ large: [51] " + str(list(range(OPEN_SIZE + 1))),
        "▾ deep: {1}",
        "  ▾ x: {1}",
        '    ▸ y: {1} {"z": 1}',
    ]


def test_a_million_numbers_are_one_stretch() -> None:
    tree = Tree("t", {"n": list(range(1_000_000))}, {Fold("t", ("n",))})
    assert len(tree) == 1_000_001
    assert text_of(tree.row(777_778).line).strip() == "777777: 777777"
    inner = Tree(
        "t", {"n": [*range(500_000), {"a": 1}, *range(500_000)]}, {Fold("t", ("n",)), Fold("t", ("n", 500_000))}
    )
    assert len(inner) == 1_000_003
    assert text_of(inner.row(500_002).line).strip() == "a: 1"


def test_depth_does_not_recurse_and_stays_in_sight() -> None:
    value: Any = "bottom"
    for _ in range(950):
        value = {"in": value}
    toggled = {Fold("t", ("in",) * depth) for depth in range(3, 951)}
    lines = rows(value, toggled, before=value)
    assert len(lines) == 950
    assert lines[-1].endswith('in: "bottom"')
    assert len(lines[-1]) < 80


def test_another_trees_folds_are_not_its_own() -> None:
    assert len(rows({"a": {"b": 1}}, {Fold("other", ("a",))})) == 2
    assert len(rows({"a": {"b": 1}}, {Fold("t", ("a",)), Fold("t", ("no", "such")), "else"})) == 1


def test_tuples_are_lists_here() -> None:
    assert rows({"tokens": (1, {"a": 2})}, before={"tokens": (1,)}) == [
        "~ ▾ tokens: [2]",
        "      0: 1",
        "+   ▾ 1: {1}",
        "+       a: 2",
    ]


def test_names_cannot_break_a_row() -> None:
    assert rows({"a\nb": 1, "": 2}) == ["  a\\nb: 1", '  "": 2']
