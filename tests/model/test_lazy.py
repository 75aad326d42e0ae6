from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.model.lazy import Lazy


class Squares(Lazy[int]):
    def __init__(self, length: int) -> None:
        self.length = length
        self.made: list[int] = []

    def __len__(self) -> int:
        return self.length

    def item(self, at: int) -> int:
        self.made.append(at)
        return at * at


PLACES = st.one_of(st.none(), st.integers(-9, 9))


@given(st.integers(0, 7), PLACES, PLACES, st.sampled_from([None, 1, 2, -1, -3]))
def test_it_is_cut_as_a_list_is(length: int, start: int | None, stop: int | None, stride: int | None) -> None:
    squares, like = Squares(length), [at * at for at in range(length)]
    assert squares[start:stop:stride] == like[start:stop:stride]
    assert list(squares) == like
    for at in range(-length, length):
        assert squares[at] == like[at]


def test_only_what_is_looked_at_is_made() -> None:
    squares: Squares = Squares(5)
    assert isinstance(squares, Sequence)
    assert squares[-1] == 16
    assert squares[1:3] == [1, 4]
    with pytest.raises(IndexError):
        squares[5]
    assert squares.made == [4, 1, 2]
