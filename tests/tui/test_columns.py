"""The whole run in two bytes a step, against the steps themselves."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inspector.tui.columns import (
    BLOCK,
    KINDS,
    MARKS,
    ODD,
    SECONDS,
    STATUSES,
    Chunk,
    Columns,
    Filter,
    level,
)
from tests.tui.examples import examples

STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(STATUSES)), max_size=60)
FILTERS = st.builds(
    lambda kinds, statuses: Filter(kinds=tuple(kinds), statuses=tuple(statuses)),
    st.sets(st.sampled_from(KINDS)),
    st.sets(st.sampled_from(STATUSES)),
)


def columns_of(steps, cuts=()) -> Columns:  # type: ignore[no-untyped-def]
    found = Columns()
    edges = [0, *sorted(cuts), len(steps)]
    for begin, end in pairwise(edges):
        marks = bytes(MARKS[step] for step in steps[begin:end])
        found.put(Chunk(begin + 1, marks, bytes(len(marks))))
    return found


@given(STEPS, FILTERS, st.integers(0, 60), st.data())
@examples(60)
def test_they_answer_what_the_steps_answer(steps, filter: Filter, seq: int, data) -> None:  # type: ignore[no-untyped-def]
    cuts = data.draw(st.lists(st.integers(0, len(steps)), max_size=3))
    columns = columns_of(steps, cuts)
    seq = min(seq, len(steps))
    odd = [at for at, (_, status) in enumerate(steps, 1) if status in ODD]
    assert columns.odd(seq, 1) == next((at for at in odd if at > seq), None)
    assert columns.odd(seq, -1) == next((at for at in reversed(odd) if at < seq), None)
    shown = [at for at, step in enumerate(steps, 1) if filter.accepts(*step)]
    assert list(columns.matching(filter)) == shown
    assert columns.counts() == Counter(steps)


@given(st.floats(2e-6, 3000))
@examples(60)
def test_a_time_is_kept_within_a_tenth(seconds: float) -> None:
    assert abs(SECONDS[level(seconds)] / seconds - 1) < 0.1


def test_no_time_is_no_time() -> None:
    assert level(None) == level(0) == level(-3) == 0
    assert level(1e30) == 255


def test_an_overview_adds_up_whatever_its_width() -> None:
    length = 5 * BLOCK + 77
    columns = Columns()
    for start in range(1, length + 1, 100):
        size = min(100, length + 1 - start)
        marks = bytes(
            MARKS["model", "failed" if seq % 10 == 0 else "running" if seq % 7 == 0 else "done"]
            for seq in range(start, start + size)
        )
        columns.put(Chunk(start, marks, bytes([level(1.0)]) * size))
    for width in (1, 2, 5, 80, length, length * 2):
        buckets = columns.overview(width, length)
        assert len(buckets) == min(width, length)
        assert sum(bucket.steps for bucket in buckets) == length
        assert sum(bucket.failed for bucket in buckets) == length // 10
        assert abs(sum(bucket.seconds for bucket in buckets) / length - 1) < 0.1
    assert columns.overview(80, 0) == []
    assert sum(bucket.steps for bucket in columns.overview(10, 3 * length)) == length


def test_a_chunk_that_starts_earlier_takes_the_place_of_what_was_there() -> None:
    columns = columns_of([("model", "failed")] * (BLOCK + 10))
    columns.put(Chunk(BLOCK - 5, bytes([MARKS["tools", "done"]]) * 3, bytes(3)))
    assert len(columns) == BLOCK - 3
    assert columns.counts() == {("model", "failed"): BLOCK - 6, ("tools", "done"): 3}
    columns.cut(2)
    assert len(columns) == 2
    assert columns.overview(2, 2)[1].failed == 1
