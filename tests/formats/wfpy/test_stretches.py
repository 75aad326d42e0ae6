"""Firings without lines of their own, by the steps they lasted."""

from array import array
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.formats.readers.wfpy.stretches import Stretches


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12), st.integers(-1, 60))
def test_the_stretch_of_a_step(lengths: list[tuple[int, int]], step: int) -> None:
    every, at = list[tuple[int, int]](), 0
    found = Stretches()
    for pause, length in lengths:
        every.append((at + pause, at + pause + length))
        at += pause + length
        found.add(*every[-1], len(every))
    assert found.over(step) == sum(end <= step for _, end in every)
    assert found.holding(step) == next((at for at, (begin, end) in enumerate(every) if begin <= step < end), None)


class Watched(array):  # type: ignore[type-arg]
    """Counts how many of its items are looked at."""

    looked = 0

    def __getitem__(self, key: Any) -> Any:
        Watched.looked += 1
        return super().__getitem__(key)


def test_of_many_stretches_few_are_looked_at() -> None:
    found = Stretches()
    for number in range(10_000):
        found.add(2 * number, 2 * number + 1, number)
    found.begins, found.ends = Watched("q", found.begins), Watched("q", found.ends)
    assert [found.holding(step) for step in (0, 1, 10_000, 30_000)] == [0, None, 5000, None]
    assert Watched.looked < 100
