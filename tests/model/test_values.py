import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.model.records import Decision
from inspector.model.run import Pending, Queue
from inspector.model.values import (
    Number,
    clean_value,
    decimal,
    depth,
    integer,
    json_lines,
    preview,
    tag,
    to_json,
    transform,
)

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_json_of_a_value_is_the_value(value: object) -> None:
    assert json.loads(to_json(value)) == value


@pytest.mark.parametrize("text", ["310.50", "1E+2", "-0", "-0.0", "0.1000000000000000055511151231257827", "1e-400"])
def test_numbers_are_written_as_they_were_read(text: str) -> None:
    number = integer(text) if text.lstrip("-").isdigit() else decimal(text)
    assert to_json([number]) == f"[{text}]"


def test_an_integer_of_any_length() -> None:
    assert to_json(integer("5" * 5000)) == "5" * 5000


@pytest.mark.parametrize("text", ["1e999", "NaN", "-Infinity"])
def test_numbers_that_no_double_holds_are_tagged(text: str) -> None:
    assert json.loads(to_json({"n": Number(text)})) == {"n": {"$type": "number", "text": text}}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_that_python_writes_stays_a_float(number: float) -> None:
    assert decimal(repr(number)) == number
    assert math.copysign(1, decimal(repr(number))) == math.copysign(1, number)


def nested(levels: int) -> object:
    value: object = "x\x1b"
    for level in range(levels):
        value = [value] if level % 2 else {"k\x1b": value}
    return value


def test_any_depth_is_cleaned_and_written() -> None:
    value = clean_value(nested(20_000))
    assert depth(value) == 20_000
    text = to_json(value)
    assert "\x1b" not in text
    assert text.count("[") == text.count("]") == 10_000


@given(st.lists(plain, max_size=4))
def test_lines_are_the_json_of_each_value(values: list[object]) -> None:
    assert json_lines(values) == "".join(f"{to_json(value)}\n" for value in values).encode()


def test_lines_of_any_depth() -> None:
    values = [nested(20_000), Decision(what="edit", value=integer("5" * 5000)), 1]
    assert json_lines(values).decode().split("\n") == [*map(to_json, values), ""]


def test_structs_at_any_depth_are_written_alike() -> None:
    pending = Pending(kind="tool", name="t", status="ready", arguments=nested(3))
    queue = Queue(id="q", contents="complete", size=1, tokens=(nested(1),), from_="a")
    deep = Pending(kind="tool", name="t", status="ready", arguments=nested(5000))
    assert json.loads(to_json([pending, queue])) == json.loads(msgspec.json.encode([pending, queue]))
    written = to_json([deep, queue])
    assert '"from":"a"' in written
    assert written.startswith('[{"kind":"tool","name":"t","status":"ready"')


@given(plain)
def test_transform_copies_and_leaves_the_value_alone(value: object) -> None:
    before = json.dumps(value)
    assert transform(value, lambda item: item) == value
    transform(value, lambda item: None)
    assert json.dumps(value) == before


@given(plain, st.integers(2, 60))
def test_a_preview_is_one_short_line(value: object, width: int) -> None:
    shown = preview(value, width)
    assert len(shown) <= width
    assert "\n" not in shown


def test_the_tag_of_a_record_survives_any_depth() -> None:
    written = to_json(Decision(what="edit", value=nested(5000)))
    assert written.startswith('{"record":"decision","what":"edit"')


def test_a_preview_does_not_walk_the_whole_value() -> None:
    endless = [tag("x", number=index) for index in range(100_000)]
    assert preview(endless, 40) == '[{"$type": "x", "number": 0}, {"$type":…'
    assert preview(["x" * 50_000_000], 10) == '["xxxxxxx…'
