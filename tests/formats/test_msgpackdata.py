"""MessagePack as values: both ways of reading agree, any bytes are survived, nothing is called."""

import base64
import math
import os
import random
import struct
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats import msgpackdata, msgpackfast
from inspector.formats.jsontext import Damaged
from inspector.formats.msgpackdata import careful, unpack
from inspector.model.text import HIDDEN, clean
from inspector.model.values import MAX_DEPTH, Number, Value, depth, tag, to_json

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=8)
)
KEYS = st.text(max_size=6) | st.integers(-200, 2**40) | st.none() | st.floats(allow_nan=False, allow_infinity=False)
TREES = st.recursive(PLAIN, lambda part: st.lists(part, max_size=5) | st.dictionaries(KEYS, part, max_size=5))


def none(code: int) -> None:
    return None


def wrap(code: int) -> Any:
    """An extension of each code but 99 holds MessagePack."""
    return None if code == 99 else lambda value: tag("seen", code=code, value=value)


def expected(value: Any) -> Value:
    """What a Python value is as a value of ours, written as simply as can be."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bytes):
        return tag("bytes", base64=base64.b64encode(value).decode())
    if isinstance(value, float) and not math.isfinite(value):
        return Number("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")
    if isinstance(value, list):
        return [expected(item) for item in value]
    if isinstance(value, dict):
        names = {clean(key) for key in value if isinstance(key, str)}
        found: dict[str, Value] = {}
        for key, item in value.items():
            text = clean(key) if isinstance(key, str) else to_json(key)
            taken = not isinstance(key, str) and text in names
            found[f"{text} ({type(key).__name__})" if taken else text] = expected(item)
        return found
    return value


def test_maps_as_keys_of_maps_stay_small() -> None:
    value = unpack(b"\x81" * 18 + b"\x01" * 19)
    assert len(to_json(value)) < 10_000


def test_keys_that_look_the_same_stay_apart() -> None:
    assert list(unpack(b"\x83\x90\x01\x90\x02\xa2[]\x03")) == ["[] (list 2)", "[] (list 3)", "[]"]
    long = b"\xdc\x03\xe8" + b"\x01" * 999
    assert len(unpack(b"\x82" + long + b"\x01\x01" + long + b"\x02\x02")) == 2


@settings(max_examples=60 * TIMES, deadline=None)
@given(TREES)
def test_what_was_packed_comes_out(tree: Any) -> None:
    data = msgspec.msgpack.encode(tree)
    assert to_json(careful(data, none)) == to_json(expected(tree))
    assert to_json(unpack(data)) == to_json(expected(tree))


@settings(max_examples=40 * TIMES, deadline=None)
@given(TREES, st.integers(0, 98))
def test_both_ways_agree_on_extensions(tree: Any, code: int) -> None:
    inner = msgspec.msgpack.Ext(code, msgspec.msgpack.encode([tree, msgspec.msgpack.Ext(99, b"\xc1raw")]))
    data = msgspec.msgpack.encode({"deep": [inner, {"key": inner}], "flat": msgspec.msgpack.Ext(99, b"")})
    slow, quick = careful(data, wrap), msgpackfast.unpack(data, wrap)
    assert to_json(slow) == to_json(quick)
    raw = base64.b64encode(b"\xc1raw").decode()
    assert slow["deep"][0] == tag("seen", code=code, value=[expected(tree), tag("ext", code=99, base64=raw)])


@settings(max_examples=150 * TIMES, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_survived(data: bytes) -> None:
    try:
        value = unpack(data, wrap)
    except Damaged as damage:
        value = damage.value if 0 <= damage.offset <= len(data) else "\x00"
    assert not HIDDEN.search(to_json(value))


@settings(max_examples=40 * TIMES, deadline=None)
@given(TREES, st.integers(0, 2**32))
def test_any_damage_is_survived(tree: Any, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(msgspec.msgpack.encode([tree, msgspec.msgpack.Ext(5, msgspec.msgpack.encode(tree))]))
    for _ in range(3):
        data[rng.randrange(len(data))] = rng.randrange(256)
    del data[rng.randrange(len(data)) + 1 :]
    try:
        to_json(unpack(bytes(data), wrap))
    except Damaged as damage:
        to_json(damage.value)


def test_cut_short_keeps_what_is_before() -> None:
    data = msgspec.msgpack.encode({"a": [1, 2, {"b": "text"}], "c": "lost"})
    with pytest.raises(Damaged) as caught:
        unpack(data[:-3])
    assert caught.value.value == {"a": [1, 2, {"b": "text"}]}
    assert "breaks off" in caught.value.reason
    with pytest.raises(Damaged) as caught:
        unpack(b"\x93\x01\xc1")
    assert (caught.value.offset, caught.value.value) == (2, [1])
    with pytest.raises(Damaged, match="more data behind") as caught:
        unpack(b"\x01\x02")
    assert caught.value.value == 1
    with pytest.raises(Damaged):
        unpack(b"")


def test_depth_is_cut_not_fatal() -> None:
    for opening, closing in ((b"\x91", b"\x07"), (b"\x81\xa1k", b"\x07")):
        data = b"\x92" + opening * 100_000 + closing + b"\x08"
        value = unpack(data)
        assert value[1] == 8
        assert depth(value) <= MAX_DEPTH + 2
        assert '"$type":"cut"' in to_json(value)
    nested = b"\x07"
    for _ in range(3000):
        nested = b"\xc9" + struct.pack(">I", len(nested)) + b"\x05" + nested
    assert '"$type":"cut"' in to_json(unpack(nested, wrap))


def test_great_counts_cost_nothing() -> None:
    for head in (
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x05",
    ):
        with pytest.raises(Damaged):
            unpack(head + b"\x01\x01\x01", wrap)


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msgpackfast, "SMALL", 0)
    monkeypatch.setattr(msgpackfast, "CONTAINERS", 100)
    monkeypatch.setattr(msgpackdata, "ITEM_LIMIT", 1000)
    with pytest.raises(Damaged, match="more than 1000 values"):
        unpack(b"\xdc\x20\x00" + b"\x90" * 8192)
    # Inside of what is too deep too.
    with pytest.raises(Damaged, match="more than 1000 values"):
        unpack(b"\x91" * 980 + b"\xdc\x20\x00" + b"\x90" * 8192)


def test_an_extension_of_the_wrong_length() -> None:
    with pytest.raises(Damaged, match="length does not fit"):
        unpack(b"\xc7\x03\x05\x01\x02\x03", wrap)


def test_numbers_and_times() -> None:
    assert unpack(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff") == 2**64 - 1
    assert unpack(b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00") == -(2**63)
    assert unpack(b"\xca\x3f\x80\x00\x00") == 1.0
    assert unpack(b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00") == Number("NaN")
    when = datetime(2026, 11, 29, 13, 8, 11, 147168, tzinfo=UTC)
    for data in (msgspec.msgpack.encode(when), msgspec.msgpack.encode(datetime(1969, 1, 1, tzinfo=UTC))):
        assert careful(data, none) == unpack(data)
    assert unpack(msgspec.msgpack.encode(when)) == tag("datetime", iso="2026-11-29T13:08:11.147168+00:00")
    far = b"\xc7\x0c\xff" + struct.pack(">Iq", 0, 2**62)
    assert unpack(far)["$type"] == "ext"


def test_keys_become_text() -> None:
    assert unpack(msgspec.msgpack.encode({5: "int", "5": "text", None: 1, True: 2})) == {
        "5 (int)": "int",
        "5": "text",
        "null": 1,
        "true": 2,
    }
    odd = b"\x82\x91\x01\xa1a\xc4\x01k\xa1b"  # a list and bytes as keys
    assert unpack(odd) == {"[1]": "a", '{"$type":"bytes","base64":"aw=="}': "b"}


def test_text_that_is_none() -> None:
    assert unpack(b"\xa3a\xffb") == "a\\xffb"
    assert unpack(b"\xa5\x1b[2Jx") == "\\u001b[2Jx"
    assert unpack(b"\xa3\xed\xa0\x80") == "\\xed\\xa0\\x80"


def test_every_hidden_character_is_not_printable() -> None:
    """The quick way looks only at texts that are not printable."""
    hidden = [chr(code) for code in range(0x110000) if HIDDEN.match(chr(code))]
    assert len(hidden) > 2000
    assert not any(character.isprintable() for character in hidden)
