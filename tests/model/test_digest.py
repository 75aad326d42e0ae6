"""Digests over canonical JSON."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.model.digest import digest, text_digest
from inspector.model.values import Number

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_spelling_is_that_of_the_standard() -> None:
    value = {"b": [1.0, 1e21, 0.000001, 1e-7, -0.0], "a": "\u20ac\x0f\n", "\u20ac": True, "\U0001f600": None}
    # Keys stand in the order of their UTF-16 units, in which an emoji comes before nothing but private use.
    assert digest(value) == sha('{"a":"€\\u000f\\n","b":[1,1e+21,0.000001,1e-7,0],"€":true,"😀":null}')


def test_a_long_integer_is_the_double_that_it_spells() -> None:
    assert digest({"limit": 10**20}) == digest({"limit": 1e20}) == text_digest(b'{"limit": 100000000000000000000}')
    assert digest(Number("1E+2")) == digest(100) == sha("100")
    assert digest(2**53 - 1) == sha("9007199254740991")


@pytest.mark.parametrize("value", [Number("1e999"), Number("NaN"), "\ud800", 10**400])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        digest(value)


@pytest.mark.parametrize("text", [b"", b"{", b"nul", b"[" * 100_000, b'"\\ud800"', b"1e999", b"\xff", b"9" * 5000])
def test_texts_without_one_are_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        text_digest(text)


@given(VALUES)
def test_a_value_and_its_text_have_one_digest(value: object) -> None:
    assert digest(value) == text_digest(json.dumps(value).encode())
