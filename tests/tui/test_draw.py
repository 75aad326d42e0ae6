"""What leaves for the terminal: width, cuts, and nothing that acts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from inspector.model.text import HIDDEN
from inspector.tui.draw import printable, strip
from inspector.tui.line import ASCII_SIGNS, COLOURS, PENDING_SIGNS, RUN_STYLES, STEP_SIGNS, Line, Span, joined
from inspector.tui.panes.cells import fit
from tests.tui.examples import examples

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@given(st.lists(ANY_TEXT, max_size=4), st.integers(1, 40), st.integers(0, 50), st.booleans())
@examples(60)
def test_a_line_is_as_wide_as_asked_and_cannot_act(texts: list[str], width: int, shift: int, ascii: bool) -> None:
    drawn = strip(Line(tuple(Span(text) for text in texts)), width, shift=shift, ascii=ascii)
    assert drawn.cell_length == cell_len(drawn.text) == width
    assert not HIDDEN.search(drawn.text)
    assert "\n" not in drawn.text
    assert "\t" not in drawn.text
    assert drawn.text.isascii() or not ascii


@pytest.mark.parametrize(
    ("text", "width", "shift", "shown"),
    [
        ("abc", 5, 0, "abc  "),
        ("abcdef", 5, 0, "abcd…"),
        ("abcdef", 6, 0, "abcdef"),
        ("abcdefghij", 5, 3, "<efg…"),
        ("abcdefghij", 5, 6, "<hij "),
        ("漢字漢字", 5, 0, "漢字…"),
        ("漢字漢字", 4, 0, "漢 …"),
        ("a\nb\tc", 8, 0, "a\\nb\\tc "),
        ("\x1b[2J", 10, 0, "\\u001b[2J "),
        ("[/red]", 6, 0, "[/red]"),
    ],
)
def test_cuts_are_marked(text: str, width: int, shift: int, shown: str) -> None:
    assert strip(Line((Span(text),)), width, shift=shift).text == shown


def test_a_line_of_twelve_megabytes_costs_what_a_short_one_does() -> None:
    for text in ("x" * 12_000_000, "漢" * 4_000_000, "\u0301" * 4_000_000, "\x1b" * 4_000_000):
        begun = time.process_time()
        assert strip(Line((Span(text),)), 200, shift=200).cell_length == 200
        assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    "text",
    ["e" + "\u0301" * 1000, "\u0301" * 1000 + "e" * 50, "a\u200b" * 500],
    ids=["on a letter", "alone", "between letters"],
)
def test_marks_without_number_leave_the_columns_where_they_are(text: str) -> None:
    line = Line((Span(fit(text, 20)), Span(fit(text, 10)), Span("here")))
    drawn = strip(line, 40).text
    assert cell_len(drawn[: drawn.index("here")]) == 30


def test_ascii_signs_keep_their_width_and_the_rest_is_escaped() -> None:
    assert all(cell_len(sign) == len(stands) == 1 and stands.isascii() for sign, stands in ASCII_SIGNS.items())
    assert printable("→ é 漢", ascii=True) == "> \\xe9 \\u6f22"
    assert printable("→ é 漢", ascii=False) == "→ é 漢"


def test_every_meaning_has_a_look_and_every_status_a_sign() -> None:
    used = {sign.style for sign in (*STEP_SIGNS.values(), *PENDING_SIGNS.values())} | set(RUN_STYLES.values())
    assert used <= set(COLOURS)
    for table in (STEP_SIGNS, PENDING_SIGNS):
        words = [sign.text for sign in table.values()]
        assert len(set(words)) == len(words), "two statuses are told apart by colour alone"


def test_joined_leaves_out_what_is_empty() -> None:
    assert joined([Span(""), Span("a"), Span(""), Span("b")]).spans == (Span("a"), Span("  "), Span("b"))
