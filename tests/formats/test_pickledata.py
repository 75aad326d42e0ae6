"""Pickles as data: honest ones say what they hold, hostile ones are only shown."""

import base64
import collections
import datetime
import decimal
import enum
import fractions
import os
import pathlib
import pickle
import pickletools
import random
import struct
import subprocess
import time
import uuid
import zoneinfo
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats import pickledata
from inspector.formats.pickledata import Pickled, read_base64, read_pickle
from inspector.model.text import HIDDEN, clean
from inspector.model.values import MAX_DEPTH, Number, depth, to_json

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
PROTOCOLS = range(6)
HERE = __name__


@dataclass
class Doc:
    id: int
    text: str
    parts: list[Any] = field(default_factory=list)

    @classmethod
    def load(cls, text: str) -> "Doc":
        return cls(0, text)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a, self.b = 1, [2]


class Colour(enum.Enum):
    RED = "red"


class Named(dict[str, Any]):
    pass


class Fault(Exception):
    pass


class Calls:
    """Pickles as a call of whatever it is given."""

    def __init__(self, *how: Any) -> None:
        self.how = how

    def __reduce__(self) -> Any:
        return self.how


def read(value: Any, protocol: int = 4) -> Any:
    found = read_pickle(pickle.dumps(value, protocol))
    assert found.fault is None
    assert found.code == ()
    return found.value


plain = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None), max_size=10)
values = st.recursive(
    plain | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    return {clean(key): cleaned(item) for key, item in value.items()} if isinstance(value, dict) else value


@settings(max_examples=40 * TIMES, deadline=None, database=None)
@given(values, st.sampled_from(PROTOCOLS))
def test_plain_values(value: Any, protocol: int) -> None:
    assert to_json(read(value, protocol)) == to_json(cleaned(value))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_value_types(protocol: int) -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    zone = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678)
    identity = uuid.UUID("12345678-1234-5678-1234-567812345678")
    told = [
        ((1, "a", (2,)), {"$type": "tuple", "items": [1, "a", {"$type": "tuple", "items": [2]}]}),
        ({1: "a", (2, 3): None}, {"$type": "dict", "items": [[1, "a"], [{"$type": "tuple", "items": [2, 3]}, None]]}),
        ({7}, {"$type": "set", "items": [7]}),
        (frozenset({7}), {"$type": "frozenset", "items": [7]}),
        (b"\x00hi", {"$type": "bytes", "base64": base64.b64encode(b"\x00hi").decode()}),
        (b"", {"$type": "bytes", "base64": ""}),
        (bytearray(b"hi"), {"$type": "bytes", "base64": "aGk="}),
        (moment, {"$type": "datetime", "iso": "2026-01-02T03:04:05.000678"}),
        (moment.replace(tzinfo=datetime.UTC), {"$type": "datetime", "iso": "2026-01-02T03:04:05.000678+00:00"}),
        (moment.replace(tzinfo=zone), {"$type": "datetime", "iso": "2026-01-02T03:04:05.000678-05:30"}),
        (moment.replace(tzinfo=berlin), {"$type": "datetime", "iso": "2026-01-02T03:04:05.000678[Europe/Berlin]"}),
        (datetime.date(2026, 1, 2), {"$type": "date", "iso": "2026-01-02"}),
        (datetime.time(1, 2, 3), {"$type": "time", "iso": "01:02:03"}),
        (datetime.timedelta(1, 2, 3), {"$type": "timedelta", "days": 1, "seconds": 2, "microseconds": 3}),
        (decimal.Decimal("1.50"), {"$type": "decimal", "text": "1.50"}),
        (fractions.Fraction(1, 3), None),
        (identity, {"$type": "uuid", "text": str(identity)}),
        (pathlib.PurePosixPath("/a/b"), {"$type": "path", "path": "/a/b"}),
        (1 + 2j, {"$type": "complex", "real": 1.0, "imaginary": 2.0}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.defaultdict(list, {"a": [1]}), {"a": [1]}),
        (collections.deque([1, 2]), {"$type": "deque", "items": [1, 2]}),
        (collections.Counter("aa"), {"a": 2}),
        (float("nan"), Number("NaN")),
        (float("-inf"), Number("-Infinity")),
        (2**100, 2**100),
        (-(10**3000), -(10**3000)),
        (Doc, {"$type": "class", "class": f"{HERE}:Doc"}),
    ]
    for value, shown in told:
        found = read(value, protocol)
        assert shown is None or found == shown, value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_objects_keep_their_class_and_state(protocol: int) -> None:
    doc = read(Doc(1, "one", [Doc(2, "two")]), protocol)
    inner = {"$type": "object", "class": f"{HERE}:Doc", "state": {"id": 2, "text": "two", "parts": []}}
    assert doc == {"$type": "object", "class": f"{HERE}:Doc", "state": {"id": 1, "text": "one", "parts": [inner]}}
    assert read(Colour.RED, protocol) == {"$type": "object", "class": f"{HERE}:Colour", "state": ["red"]}
    named = read(Named(a=1), protocol)
    assert named["class"] == f"{HERE}:Named"
    assert "1" in to_json(named)
    fault = Fault("no", 2)
    fault.code = 7  # type: ignore[attr-defined]
    assert read(fault, protocol)["state"] == {"args": ["no", 2], "code": 7}
    assert read(ValueError("no"), protocol) == {"$type": "object", "class": "builtins:ValueError", "state": ["no"]}
    if protocol >= 2:
        assert read(Slotted(), protocol)["state"] == {"a": 1, "b": [2]}


def test_shared_parts_and_rings() -> None:
    part = ["x"]
    assert read([part, part]) == [["x"], ["x"]]
    ring: list[Any] = [1]
    ring.append(ring)
    assert read(ring) == [1, {"$type": "ring"}]
    loop: dict[str, Any] = {}
    loop["self"] = {"again": loop}
    assert read(loop) == {"self": {"again": {"$type": "ring"}}}
    doc = Doc(1, "x")
    doc.parts.append(doc)
    assert read(doc)["state"]["parts"] == [{"$type": "ring"}]


def test_the_same_part_again_and_again_is_bounded() -> None:
    value: Any = ["laugh"]
    for _ in range(60):
        value = [value, value]
    begin = time.process_time()
    found = read_pickle(pickle.dumps(value))
    assert len(to_json(found.value)) < 100_000
    wide = [["w" * 1000] * 1000] * 1000
    assert len(to_json(read_pickle(pickle.dumps(wide)).value)) < 2_000_000
    assert read_pickle(pickle.dumps(wide), most=100).parts < 200
    deep: Any = 1
    for _ in range(200):
        deep = (deep,)
    assert depth(read(deep)) > 200
    nested = b"\x80\x04" + b"](" * 20_000 + b"e" * 20_000 + b"."
    assert depth(read_pickle(nested).value) <= MAX_DEPTH
    assert time.process_time() - begin < 30


def test_pickles_of_many_instructions_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_pickle(b"\x80\x04" + b"](" * 3000 + b"e" * 3000 + b".").fault is None
    monkeypatch.setattr(pickledata, "OPCODES", 5000)
    assert read_pickle(b"\x80\x04" + b"](" * 3000 + b"e" * 3000 + b".").fault == "it is too large to be followed"
    monkeypatch.setattr(pickledata, "BYTES", 10)
    assert "bytes" in str(read_pickle(b"\x80\x04" + b"N0" * 10 + b"N.").fault)


class Evil:
    """Writes a file when it is loaded."""

    def __reduce__(self) -> Any:
        return (os.system, ("touch evil",))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Calls(os.system, ("touch evil",)), "posix.system"),
        (Calls(eval, ("1",)), "builtins.eval"),
        (Calls(getattr, (Doc(1, "x"), "x")), "builtins.getattr"),
        (Calls(Doc.load, ("x",)), f"{HERE}.Doc.load"),
        (Calls(subprocess.Popen, (["touch", "evil"],)), "subprocess.Popen"),
        (Calls(os.path.join, ("a",)), "posixpath.join"),
        (Calls(read_pickle, (b"",)), "inspector.formats.pickledata.read_pickle"),
        ([{"deep": (1, Calls(os.system, ("touch evil",)))}], "posix.system"),
        (os.system, "posix.system"),
    ],
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_names_of_code_are_told_and_not_called(
    value: Any, name: str, protocol: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = read_pickle(pickle.dumps(value, protocol))
    assert name in found.code
    assert name.rpartition(".")[2] in to_json(found.value)
    (problem, *_) = found.problems("here")
    assert name in problem.message
    assert problem.where == "here"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'touch evil'\ntR.",
        b"(S'touch evil'\nios\nsystem\n.",
        b"(cos\nsystem\nS'touch evil'\no.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04evil\x85R.",
        b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00evil\x85\x81.",
        b"c__builtin__\neval\n(S'1'\ntR.",
        b"\x80\x02ccopy_reg\n__newobj__\ncos\nsystem\n\x85R.",
    ],
)
def test_every_way_to_call(data: bytes) -> None:
    found = read_pickle(data)
    assert found.fault is None
    assert any(name in ("os.system", "builtins.eval") for name in found.code), found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"\x80\x04",
        b"0.",
        b"(.",
        b"e.",
        b"1.",
        b"\x80\x04]e.",
        b"h\x05.",
        b"\x80\x04K\x01K\x02s.",
        b"\x80\x04K\x01K\x02a.",
        b"\x80\x04}(K\x01u.",
        b"\x80\x04\x8c\x01aK\x01\x93.",
        b"I" + b"9" * 5000 + b"\n.",
        b"\x8b\xff\xff\xff\x7f" + b"1" * 20 + b".",
        b"X\xff\xff\xff\x7fabc.",
        b"\xff\xff\xff",
        b"text that is no pickle",
    ],
)
def test_unsound_pickles_keep_their_bytes(data: bytes) -> None:
    found = read_pickle(data)
    assert found.fault
    assert found.value == {"$type": "bytes", "base64": base64.b64encode(data).decode()}
    assert found.problems("p")[-1].severity == "error"


def test_huge_integers_and_odd_parts() -> None:
    assert read(1 << 100_000)["$type"] == "integer"
    assert read_pickle(b"Pname\n.").value == {"$type": "persistent", "content": "name"}
    assert read_pickle(b"\x82\x07.").value == {"$type": "extension", "content": 7}
    odd = read_pickle(b"\x80\x02cdatetime\ndatetime\nX\x01\x00\x00\x00x\x85R.")
    assert odd.fault is None
    assert "datetime" in to_json(odd.value)
    assert read_pickle(pickle.dumps("a\x1b[2J\ud800")).value == "a\\u001b[2J\\ud800"
    assert read_pickle(pickle.dumps({"a\x1b": 1, "a\\u001b": 2})).value == {"a\\u001b": 1, "a\\u001b (again)": 2}


def test_base64() -> None:
    assert read_base64(base64.b64encode(pickle.dumps([1])).decode()) == Pickled([1], parts=1)
    assert read_base64("no base64!").fault == "not base64"


SEEDS = [
    pickle.dumps([Doc(1, "x"), {"a": (1, 2.5, None)}, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)], protocol)
    for protocol in PROTOCOLS
] + [pickle.dumps(Evil(), protocol) for protocol in PROTOCOLS]


@pytest.mark.parametrize("text", [rb"'a\ b'", rb'"a\ b"'])
def test_an_escape_that_is_none_is_not_warned_of(text: bytes) -> None:
    assert read_pickle(b"S" + text + b"\n.").value == "a\\ b"
    assert read_pickle(rb"ca\ b" + b"\nc\n.").fault is None


@pytest.mark.parametrize("seed", range(40))
def test_any_damage(seed: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    codes = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]
    for number in range(50 * TIMES):
        rng = random.Random(seed * 100_000 + number)
        data = bytearray(rng.choice(SEEDS))
        for _ in range(rng.choice((1, 2, 5))):
            at = rng.randrange(len(data) + 1)
            way = rng.randrange(4)
            if way == 0:
                data[at:at] = rng.choice(codes)
            elif way == 1 and at < len(data):
                data[at] = rng.randrange(256)
            elif way == 2:
                del data[at : at + rng.randrange(8)]
            else:
                data[at:at] = struct.pack("<I", rng.choice((0, 1, 255, 2**31 - 1, 2**32 - 1)))
        found = read_pickle(bytes(data))
        text = to_json(found.value)
        assert not HIDDEN.search(text)
        assert all(not HIDDEN.search(name) for name in (*found.code, found.fault or ""))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("seed", range(10))
def test_any_instructions(seed: int) -> None:
    """Instructions in any order, mostly sound ones, so that the machine goes far."""
    pieces = [b"(", b"]", b"}", b")", b"e", b"a", b"s", b"u", b"t", b"0", b"2", b"1", b"b", b"R", b"o", b"N", b"\x88"]
    pieces += [b"\x81", b"\x92", b"\x8f", b"\x90", b"\x91", b"\x93", b"\x94", b"h\x00", b"K\x07", b"\x8c\x02os"]
    pieces += [b"\x8c\x06system", b"cmod\nName\n", b"q\x00", b"l", b"d", b"\x85", b"\x86", b"\x87", b"Q", b"\x97"]
    for number in range(300 * TIMES):
        rng = random.Random(seed * 100_000 + number)
        data = b"".join(rng.choices(pieces, k=rng.randrange(2, 30)))
        found = read_pickle(b"(NNNNNN]}" + data + b".")
        to_json(found.value)
