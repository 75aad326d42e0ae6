"""JSON text → values: agrees with the standard parser on sound text, and never fails but by Damaged."""

import json
import os
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats.jsonreading import top_keys
from inspector.formats.jsontext import NOTES, Damaged, Place, parse
from inspector.model.run import Problem
from inspector.model.text import HIDDEN, clean
from inspector.model.values import MAX_DEPTH, Number, Value, clean_value, depth, to_json

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
tries = settings(max_examples=40 * TIMES, deadline=None, database=None)

texts = st.text(st.characters(codec=None), max_size=12)
"""Any characters at all, halves of surrogate pairs too."""
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))


def read(text: bytes | str) -> tuple[Value, list[Problem]]:
    problems: list[Problem] = []
    raw = text.encode() if isinstance(text, str) else text
    return parse(raw, Place("f.json", 3, 100), problems), problems


def broken(text: bytes | str) -> Damaged:
    with pytest.raises(Damaged) as caught:
        read(text)
    return caught.value


def written(value: Any, **how: Any) -> bytes:
    return json.dumps(value, **how).encode("utf-8", "surrogatepass")


@tries
@given(values, st.sampled_from([None, 1]), st.booleans())
def test_agrees_with_the_standard_parser(value: Any, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    if not ascii and any(0xD800 <= ord(char) < 0xE000 for char in text):
        return
    found, problems = read(text)
    assert problems == []
    assert json.loads(to_json(found)) == clean_value(json.loads(text))
    assert not HIDDEN.search(to_json(found))


@tries
@given(st.binary(max_size=60) | st.text('{}[]:,"\\ \nau01e.-', max_size=60).map(str.encode))
def test_never_fails_but_by_damaged(text: bytes) -> None:
    problems: list[Problem] = []
    offset = 0
    try:
        value = parse(text, Place("f.json"), problems)
    except Damaged as damage:
        value, offset = damage.value, damage.offset
    assert 0 <= offset <= len(text)
    assert not HIDDEN.search(to_json(value))
    top_keys(text)


@tries
@given(st.dictionaries(texts, values, min_size=1, max_size=4), st.data())
def test_a_torn_text_is_read_as_far_as_it_goes(value: Any, data: Any) -> None:
    whole = written(value, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(1, len(whole) - 1))
    damage = broken(whole[:cut])
    assert damage.torn, damage.reason
    found, problems = damage.value, []
    assert isinstance(found, dict)
    assert problems == []
    full = read(whole)[0] if b"\xed" not in whole else found
    # All but the last key found are whole, and the keys come in their order.
    assert list(found) == list(full)[: len(found)]
    for key in list(found)[:-1]:
        assert found[key] == full[key]


@tries
@given(st.dictionaries(st.text(st.characters(codec="ascii", min_codepoint=97, max_codepoint=122)), values, max_size=5))
def test_top_keys(value: dict[str, Any]) -> None:
    text = written(value, ensure_ascii=False)
    assert top_keys(text) == {
        key: written(item, ensure_ascii=False).decode(errors="replace")[0] for key, item in value.items()
    }
    for cut in range(0, len(text), 7):
        keys = list(top_keys(text[:cut]))
        assert keys == list(value)[: len(keys)]


def test_top_keys_of_a_text_cut_inside_a_string() -> None:
    assert top_keys(b'{"a": 1, "text": "long, {\\"evil\\": 1, x') == {"a": "1", "text": '"'}
    assert top_keys(b'{"a":') == {"a": ""}
    assert top_keys(b'[{"a": 1}]') == {}
    assert top_keys(b'"a" {"b": 1}') == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12345678901234567890", 12345678901234567890),
        ("1e999", Number("1e999")),
        ("-1e999", Number("-1e999")),
        ("310.50", Number("310.50")),
        ("1E+2", Number("1E+2")),
        ("-0", Number("-0")),
        ("-0.0", -0.0),
        ("NaN", Number("NaN")),
        ("-Infinity", Number("-Infinity")),
        ("0.1000000000000000055511151231257827", Number("0.1000000000000000055511151231257827")),
        ("9" * 5000, Number("9" * 5000)),
    ],
)
def test_numbers_stay_as_written(text: str, value: Value) -> None:
    careful = '{"a": 1, "a": ' + text + "}"
    for found in (read(text)[0], read(careful)[0]["a"]):
        assert found == value
        assert type(found) is type(value)
        if isinstance(value, Number) and value.finite:
            assert to_json(found) == text


def test_hidden_characters_become_escapes() -> None:
    for code in (0, 8, 13, 27, 0x7F, 0x9B, 0x61C, 0x200E, 0x202E, 0x2066, 0xFEFF, 0xFFF9, 0xD83D, 0xE0001):
        char = chr(code)
        escaped = json.dumps({f"k{char}": char})
        shown = {f"k{clean(char)}": clean(char)}
        assert read(escaped)[0] == shown, hex(code)
        assert read(escaped.replace("\\u", "\\\\u"))[0] is not None
        if not 0xD800 <= code < 0xE000:
            assert read(json.dumps({f"k{char}": char}, ensure_ascii=False))[0] == shown, hex(code)
    assert read(r'["\uD83D\uDE00", "\ud83d", "\b"]')[0] == ["\U0001f600", "\\ud83d", "\\u0008"]
    assert read('["a\x1b[2J\nb\tc"]')[0] == ["a\\u001b[2J\nb\tc"]


def test_keys_that_look_the_same_stay_two() -> None:
    assert read(r'{"a\u001b": 1, "a\\u001b": 2}')[0] == {"a\\u001b": 1, "a\\u001b (again)": 2}


def test_bytes_that_are_no_utf8_are_shown_with_their_place() -> None:
    value, problems = read(b'{"a":\n "x\xed\xa0\x80z"}')
    assert value == {"a": "x\\xed\\xa0\\x80z"}
    assert [problem.where for problem in problems] == ["f.json:4 byte 109"]


def test_doubled_keys_are_told_with_both_values_and_their_place() -> None:
    value, problems = read('{"to": "ACME",\n "pay": {"amount": 10, "amount": 10000}}')
    assert value == {"to": "ACME", "pay": {"amount": 10000}}
    (problem,) = problems
    assert problem.where == "f.json:4 byte 138"
    assert "amount" in problem.message
    assert "10, then 10000" in problem.message
    _, many = read("{" + ",".join(['"a": 1'] * 5000) + "}")
    assert len(many) == NOTES


def test_depth_is_cut_and_told() -> None:
    for levels in (MAX_DEPTH, MAX_DEPTH + 1, 100_000):
        value, problems = read("[" * levels + "]" * levels)
        assert depth(value) <= MAX_DEPTH + 1
        assert bool(problems) == (levels > MAX_DEPTH)
    assert broken("[" * 100_000).torn
    value, problems = read('{"a":' * 2000 + "1" + "}" * 2000)
    assert "deeper than" in problems[0].message


@pytest.mark.parametrize(
    ("text", "offset", "torn"),
    [
        ("", 0, True),
        ('{"a": 1', 7, True),
        ('{"a": tru', 6, True),
        ('{"a": 1.', 6, True),
        ('{"a": 1e', 6, True),
        ('{"a": "x\\', 6, True),
        ('{"a": 1}}', 8, False),
        ('{"a": 1,}', 8, False),
        ("[1,]", 3, False),
        ("[1 2]", 3, False),
        ('{"a" 1}', 5, False),
        ("{1: 2}", 1, False),
        ("01", 0, False),
        ("1.5.2", 0, False),
        ("True", 0, False),
        ('["\\x"]', 1, False),
        ("{'a': 1}", 1, False),
        ("[1}", 2, False),
        ("\ufeff1", 0, False),
    ],
)
def test_damage_has_its_place(text: str, offset: int, torn: bool) -> None:
    damage = broken(text)
    assert (damage.offset, damage.torn) == (offset, torn)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"call": {"name": "pay", "arguments": {', {"call": {"name": "pay"}}),
        ('{"call": {"name": "pay", "arguments": {}', {"call": {"name": "pay", "arguments": {}}}),
        ('{"call": {"name": "pay", "arguments": {"to": 1', {"call": {"name": "pay", "arguments": {"to": 1}}}),
        ('{"tokens": [1, [{"a": [', {"tokens": [1]}),
        ('{"tokens": [[], {', {"tokens": [[]]}),
        ("[[", []),
        ('{"a":', {}),
    ],
)
def test_what_breaks_off_before_its_first_part_is_left_out(text: str, value: Any) -> None:
    """An object or a list without parts would say that there are none."""
    assert broken(text).value == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}\r{"a": 2}\r', "carriage return"),
        ('\ufeff{"a": 1}', "byte order mark"),
        ("\0\0", "zero bytes"),
        ('{"a": 1} 2', "more text"),
    ],
)
def test_damage_that_an_editor_does_is_named(text: str, said: str) -> None:
    assert said in broken(text).reason


def test_large_strings_and_texts_take_linear_time() -> None:
    begin = time.process_time()
    big = json.dumps({"a": 'x\\"' * 400_000, "b": [1] * 50_000}).encode()
    assert len(read(big)[0]["b"]) == 50_000
    assert broken(big[:-1]).torn
    assert broken(b'"' + b"\\" * 500_001).torn
    assert time.process_time() - begin < 20
