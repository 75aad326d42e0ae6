"""Documents split but not decoded: small ones, large ones, torn and hostile ones."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats import document as module
from inspector.formats import spans as spans_module
from inspector.formats.document import Document
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.spans import Spans

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
tries = settings(max_examples=40 * TIMES, deadline=None, database=None)

texts = st.text(st.characters(codec="utf-8"), max_size=8)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | texts
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Reads every document as a small, then as a large one."""
    if request.param == "large":
        monkeypatch.setattr(module, "WHOLE_LIMIT", 0)
    return str(request.param)


def opened(folder: Path, text: bytes) -> Document:
    path = folder / "d.json"
    path.write_bytes(text)
    return Document(File(str(path)))


def value_of(text: bytes) -> Any:
    return parse(text, Place("d.json"), [])


@tries
@given(values, st.sampled_from([None, 1]))
def test_spans_are_the_parts(value: Any, indent: int | None) -> None:
    text = json.dumps({"a": value, "b": [value, 1, "x"]}, indent=indent, ensure_ascii=False).encode()
    spans = Spans(text)
    fields = list(spans.fields(spans.start()))
    assert [key for key, *_ in fields] == [b'"a"', b'"b"']
    assert value_of(text[fields[0][2] : fields[0][3]]) == value_of(json.dumps(value).encode())
    parts = [value_of(text[begin:end]) for begin, end in spans.elements(fields[1][2])]
    assert parts == [value_of(json.dumps(value).encode()), 1, "x"]


@tries
@given(
    st.lists(st.tuples(values, st.sampled_from(["", " ", "\n\t"])), max_size=30), st.sampled_from([40, 200, 1 << 16])
)
def test_elements_that_begin_alike_are_found_together(items: list[tuple[Any, str]], window: int) -> None:
    """Also where some of what they hold begins so too."""
    pieces = [space + json.dumps({"the name": value, "n": [{"the name": 1}]}) + space for value, space in items]
    text = ("[" + ",".join(pieces) + "]").encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans_module, "WINDOW", window)
        found = [text[begin:end].decode() for begin, end in Spans(text).elements(0)]
    assert found == [piece.strip() for piece in pieces]


@tries
@given(st.binary(max_size=40) | st.text('{}[]:,"\\ \n1e.-nul', max_size=40).map(str.encode))
def test_spans_fail_only_by_damaged(text: bytes) -> None:
    spans = Spans(text)
    for walk in (spans.elements, spans.fields):
        for begin in range(len(text) + 1):
            try:
                ends = [span[-1] for span in walk(begin)]
            except Damaged as damage:
                ends = [damage.offset]
            assert all(0 <= end <= len(text) for end in ends)


def test_fields_and_elements(tmp_path: Path, size: str) -> None:
    text = b'\xef\xbb\xbf{"a": {"b": [1, {"c": 2.50}, "x"]},\n "m": [] , "t": "1", "d": 1, "n": null}'
    document = opened(tmp_path, text)
    assert document.names == ["a", "m", "t", "d", "n"]
    assert "a" in document
    assert "z" not in document
    assert document.get("t") == "1"
    assert document.get("z", 7) == 7
    assert list(document.items("m")) == list(document.items("t")) == list(document.items("z")) == []
    inner = document.inside("a")
    assert inner is not None
    assert [type(item).__name__ for item in inner.items("b")] == ["int", "dict", "str"]
    assert inner.items("b")[1:] == [value_of(b'{"c": 2.50}'), "x"]
    assert inner.items("b")[-1] == "x"
    elements = inner.elements("b")
    assert elements is not None
    assert len(elements) == 0
    assert list(elements.scan()) == []
    assert [elements.raw(at) for at in range(3)] == [b"1", b'{"c": 2.50}', b'"x"']
    second, third = text.index(b"[] "), text.index(b'"x"')
    assert document.where("m") == f"d.json:2 byte {second}"
    assert elements.where(2) == f"d.json:1 byte {third}"
    assert document.inside("t") is None
    assert document.raw("d") == b"1"
    assert document.size("d") == 1
    assert document.raw("z") == b""
    assert not document.torn
    assert document.problems == []
    document.close()


def test_damage_in_a_large_list_is_told_once_with_its_place(tmp_path: Path, size: str) -> None:
    text = b'{"m": [{"a": 1},\n {"a": 1, "a": 2},\n {"a": "\xff"}]}'
    document = opened(tmp_path, text)
    items = document.items("m")
    for _ in range(3):
        assert list(items) == [{"a": 1}, {"a": 2}, {"a": "\\xff"}]
    wheres = sorted(problem.where for problem in document.problems)
    double, odd = text.index(b'"a": 2'), text.index(b'"\xff') + 1
    assert wheres == [f"d.json:2 byte {double}", f"d.json:3 byte {odd}"]


def test_doubled_keys_are_never_silent(tmp_path: Path, size: str) -> None:
    document = opened(tmp_path, b'{"turn": 1, "x": {"y": 1, "y": 2}, "turn": 2}')
    assert document.get("turn") == 2
    inner = document.inside("x")
    assert inner is not None
    assert inner.get("y") == 2
    told = [problem.message for problem in document.problems]
    assert len(told) == 2
    assert {"turn", "y"} == {message.split("'")[1] for message in told}


@pytest.mark.parametrize("cut", range(2, 60))
def test_a_torn_document_is_read_as_far_as_it_goes(cut: int, tmp_path: Path, size: str) -> None:
    whole = b'{"a": 1, "m": [{"x": "one"}, {"x": "two"}], "s": {"t": 1}}'
    assert len(whole) == 58
    document = opened(tmp_path, whole[:cut])
    items = list(document.items("m"))
    assert items == [{"x": "one"}, {"x": "two"}][: len(items)] or cut < 43
    assert len(items) >= (cut > 28) + (cut > 43)
    assert document.get("a") in (1, None)
    document.get("s")
    assert document.torn == (cut < 58)
    assert len(document.problems) == (cut < 58)
    for problem in document.problems:
        assert problem.severity == "error"
        assert "breaks off" in problem.message


def test_behind_damage_nothing_is_believed(tmp_path: Path) -> None:
    document = opened(tmp_path, b'{"a": 1, "m": [1, oops, 2], "s": "x"}')
    assert document.names == ["a", "m"]
    assert list(document.items("m")) == [1]
    assert [problem.where for problem in document.problems] == ["d.json:1 byte 18"]


def test_text_behind_the_document_is_told(tmp_path: Path) -> None:
    document = opened(tmp_path, b'{"a": 1} {"b": 2}')
    assert document.get("a") == 1
    assert "more text" in document.problems[0].message


@pytest.mark.parametrize("text", [b"[1]", b'"x"', b"", b"  ", b"1", b"nul"])
def test_what_is_no_object_is_refused(text: bytes, tmp_path: Path, size: str) -> None:
    with pytest.raises(Damaged):
        opened(tmp_path, text)


def test_depth_and_odd_values_in_a_large_document(tmp_path: Path, size: str) -> None:
    deep = b"[" * 50_000 + b"]" * 50_000
    document = opened(tmp_path, b'{"d": ' + deep + b', "n": [NaN, 1e999, "\\ud800"], "s": 1}')
    assert document.get("s") == 1
    assert document.items("n")[2] == "\\ud800"
    assert document.get("d") is not None
    assert any("deeper" in problem.message for problem in document.problems)


def test_many_fields_and_many_elements_are_bounded(tmp_path: Path, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIELDS", 10)
    monkeypatch.setattr(module, "SHORT", 10)
    pairs = ", ".join(f'"k{number}": {number}' for number in range(50))
    document = opened(tmp_path, f'{{"many": [{"1,1," * 100}1], {pairs}}}'.encode())
    assert len(document.names) == 10
    assert len(document.items("many")) == 10 + 401 // 80
    assert sum("not looked at" in problem.message for problem in document.problems) == 2


def test_a_scan_can_be_left_and_taken_up(tmp_path: Path, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 20)
    document = opened(tmp_path, json.dumps({"m": list(range(1000))}).encode())
    elements = document.elements("m")
    assert elements is not None
    for scanned, whole in elements.scan():
        assert 0 < scanned < whole
        break
    assert 0 < len(elements) < 20
    for _ in elements.scan():
        pass
    assert list(elements) == list(range(1000))
    assert list(elements.scan()) == []


def test_a_large_document_is_split_quickly(tmp_path: Path) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "x" * 100}]}
    text = b'{"m": [' + b", ".join([json.dumps(message).encode()] * 40_000) + b'], "s": {"t": [1]}}'
    assert len(text) > module.WHOLE_LIMIT
    begin = time.process_time()
    document = opened(tmp_path, text)
    assert len(document.items("m")) == 40_000
    assert document.items("m")[39_999] == message
    inner = document.inside("s")
    assert inner is not None
    assert inner.get("t") == [1]
    assert time.process_time() - begin < 10
    document.close()


def test_a_string_that_breaks_off_holds_no_brackets_and_takes_no_time() -> None:
    for text in (b'{"a": [1, "x } ] y', b'{"a": "' + b"x" * 1_000_000, b'[{"a": "' + b"} " * 500_000):
        begun = time.process_time()
        assert Spans(text).skip(0) == (len(text), False)
        assert time.process_time() - begun < 2
