import time
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.tui.panes import flow
from inspector.tui.panes.flow import LONG, Flow
from tests.tui.panes.snapshots import few

words = st.text(st.sampled_from("ab \n受é́\t"), max_size=200)


@few
@given(words, st.integers(2, 30), st.booleans())
def test_rows_hold_all_of_a_text_and_no_row_is_too_wide(text: str, width: int, wrap: bool) -> None:
    rows = Flow(text, width, wrap=wrap)
    shown = rows.text
    spans = [rows.span(row) for row in range(len(rows))]
    assert shown == text.replace("\t", "    ")
    if wrap:
        assert all(cell_len(row) <= width for row in rows)
    ends = [0, *(stop for _, stop in spans)]
    assert all(0 <= start <= stop <= len(shown) for start, stop in spans)
    assert all(shown[end:start] in ("", " ", "\n") for (start, _), end in zip(spans, ends, strict=False))
    assert ends[-1] == len(shown)


@few
@given(words, st.integers(2, 30), st.booleans())
def test_a_row_is_found_by_any_of_its_places(text: str, width: int, wrap: bool) -> None:
    rows = Flow(text, width, wrap=wrap)
    for row in range(len(rows)):
        start, stop = rows.span(row)
        assert all(rows.row_of(at) == row for at in range(start, stop))


@few
@given(words, st.integers(2, 30))
def test_a_long_text_is_broken_by_arithmetic_into_rows_as_narrow(text: str, width: int) -> None:
    short = flow.LONG
    flow.LONG = -1
    try:
        rows = Flow(text, width)
        assert all(cell_len(row) <= width for row in rows)
        assert "".join(rows) == rows.text.replace("\n", "")
        for row in range(len(rows)):
            start, stop = rows.span(row)
            assert all(rows.row_of(at) == row for at in range(start, stop))
    finally:
        flow.LONG = short


def test_rows_break_between_words() -> None:
    assert list(Flow("one two three", 8)) == ["one two", "three"]
    assert list(Flow("abcdefghij", 4)) == ["abcd", "efgh", "ij"]
    assert list(Flow("", 8)) == [""]
    assert list(Flow("a\n\nb", 8)) == ["a", "", "b"]


def test_ascii_makes_escapes_before_it_counts() -> None:
    assert list(Flow("é受", 80, ascii=True)) == ["\\xe9\\u53d7"]
    assert all(len(row) <= 8 for row in Flow("受" * 20, 8, ascii=True))


def test_many_characters_without_a_width_do_not_make_an_endless_row() -> None:
    assert all(len(row) <= 16 for row in Flow("a" + "\u0301" * 500, 8))


def test_long_texts_are_not_measured() -> None:
    text = "受取 " * 4_000_000
    begin = time.process_time()
    rows = Flow(text, 80)
    assert len(text) > LONG
    assert rows[len(rows) // 2]
    assert time.process_time() - begin < 1


def test_many_lines_take_little_more_than_their_text() -> None:
    text = "\n".join(f"line {number} of it" for number in range(100_000))
    tracemalloc.start()
    try:
        rows = Flow(text, 80)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(rows), rows[99_999]) == (100_000, "line 99999 of it")
    assert kept < 3 * len(text)
