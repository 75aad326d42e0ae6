from hypothesis import given
from hypothesis import strategies as st

from inspector.diff.values import LIMIT, differences
from inspector.model.values import equal

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_a_value_does_not_differ_from_itself(value: object) -> None:
    assert list(differences(value, value)) == []
    assert equal(value, value)


@given(values, values)
def test_no_difference_means_equal(left: object, right: object) -> None:
    found = list(differences({"v": left}, {"v": right}))
    if equal(left, right):
        assert found == []
    if not found:
        # A key whose value is null and a key that is not there show alike: both as null.
        assert _without_nulls(left) == _without_nulls(right)


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def test_paths_name_the_place() -> None:
    left = {"a": {"b": [1, {"c": "x"}]}, "gone": 1}
    right = {"a": {"b": [1, {"c": "y"}]}, "new": 2}
    found = [(change.path, change.left, change.right) for change in differences(left, right, "root")]
    assert found == [("root.a.b[1].c", "x", "y"), ("root.gone", 1, None), ("root.new", None, 2)]


def test_types_are_part_of_a_value() -> None:
    assert not equal(1, 1.0)
    assert not equal(1, True)
    assert not equal([0], [False])


def test_deep_values_need_no_recursion() -> None:
    left: object = 1
    right: object = 2
    for _ in range(5000):
        left, right = [left], [right]
    assert len(list(differences(left, right))) == 1
    assert not equal(left, right)


def test_the_number_of_differences_is_bounded() -> None:
    assert len(list(differences(list(range(5000)), [-1] * 5000))) == LIMIT + 1
