import time
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from inspector.model.text import HIDDEN, LONG, clean, one_line, shorten, told_apart


@given(st.text(st.characters(codec=None)))
def test_clean_text_holds_nothing_that_acts(text: str) -> None:
    for character in clean(text):
        category = unicodedata.category(character)
        assert character in "\n\t" or category not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    clean(text).encode()


def test_what_is_quick_to_tell_is_told_right() -> None:
    for code in range(0x110000):
        hidden = bool(HIDDEN.match(chr(code)))
        assert not (hidden and chr(code).isprintable())
        if code < 0x800 or hidden:
            text = "a\n" * LONG + chr(code)
            assert (clean(text) == text) is not hidden


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_escapes_are_those_of_json() -> None:
    assert clean("a\x1b]0;x\x07\x9b\u202e\ud83dz\ufeff") == r"a\u001b]0;x\u0007\u009b\u202e\ud83dz\ufeff"


def test_every_script_stays_as_it_is() -> None:
    for text in ("送金_שלח العنوان ชื่อ नाम 👨‍👩‍👧‍👦👍🏽", "café", "cafe\u0301", "ＡＢＣ", "🇨🇭⚠️"):
        assert clean(text) == text


@given(st.text(), st.integers(1, 40))
def test_short_text_is_short(text: str, width: int) -> None:
    assert len(shorten(text, width)) <= width


def test_names_are_told_apart() -> None:
    assert told_apart("aba") == ["a", "b", "a (again)"]
    assert told_apart(["a", "a", "a (again)", "a"]) == ["a", "a (again 3)", "a (again)", "a (again 4)"]
    assert told_apart("xxx", " #{}".format) == ["x", "x #2", "x #3"]


def test_many_of_one_name_are_told_apart_at_once() -> None:
    begun = time.process_time()
    found = told_apart(["same"] * 50_000)
    assert len(set(found)) == 50_000
    assert len(found[-1]) < 20
    assert time.process_time() - begun < 2
