import asyncio
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import pathlib
import re
import threading
import uuid
import zoneinfo
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.dataflow.codec import DEPTH, Codec, Unreadable, Unsavable, Values
from inspector.model.values import to_json


class Colour(enum.Enum):
    RED = 1


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Parcel:
    sender: str
    weight: decimal.Decimal
    tags: frozenset[str] = frozenset()


class Note(msgspec.Struct, frozen=True):
    text: str
    parts: tuple[int, ...] = ()


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Slim:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slim) and self.x == other.x

    __hash__ = None  # type: ignore[assignment]


ZURICH = zoneinfo.ZoneInfo("Europe/Zurich")
SAMPLES = [
    None,
    True,
    10**40,
    -0.0,
    0.1,
    float("inf"),
    "žluťoučký – 日本語 – 😀",
    "half \ud83d",
    [1, [2, [3]], None],
    {"a": 1},
    {"$type": "tuple"},
    {1: "a", (2, 3): None},
    (1, ("x",)),
    {1, "a", (2,)},
    frozenset({"x"}),
    b"\x00\xff",
    bytearray(b"x"),
    collections.deque([1, 2], 5),
    datetime.datetime(2026, 11, 29, 12, 0, 0, 5),
    datetime.datetime(2026, 10, 25, 2, 30, tzinfo=ZURICH, fold=1),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=-3))),
    datetime.date(2026, 2, 28),
    datetime.time(1, 2, 3),
    datetime.timedelta(days=-1, microseconds=7),
    decimal.Decimal("310.50"),
    fractions.Fraction(1, 3),
    uuid.UUID(int=7),
    complex(-0.0, 2),
    range(1, 9, 2),
    pathlib.PosixPath("/etc/hostname"),
    pathlib.PurePosixPath("a/b"),
    pathlib.PureWindowsPath("C:/a/b"),
    Colour.RED,
    Rights.READ | Rights.WRITE,
    Point(1, 2),
    Parcel("Ana", decimal.Decimal("2.5"), frozenset({"a", "b"})),
    Note("x", (1, 2)),
    Plain("p"),
    Slim(Plain("q")),
    collections.Counter("abac"),
    collections.OrderedDict(b=1, a=(2,)),
    collections.defaultdict(list, {(1, 2): [3]}),
]


@pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    saved = json.loads(to_json(Values().encode([value])))
    (back,) = Values().decode(saved)
    assert back == value
    assert type(back) is type(value)


def test_a_dict_of_the_standard_library_does_what_it_did() -> None:
    saved = json.loads(to_json(Values().encode([collections.defaultdict(list), collections.OrderedDict(b=1, a=2)])))
    default, ordered = Values().decode(saved)
    assert default["new"] == []
    ordered.move_to_end("b")
    assert list(ordered) == ["a", "b"]


def test_the_longest_integers_come_back() -> None:
    for value in (10**3990, -(2**63), 2**64):
        assert Values().decode(json.loads(to_json(Values().keep(value)))) == value


def test_not_a_number_comes_back() -> None:
    back = Values().decode(json.loads(to_json(Values().encode(float("nan")))))
    assert back != back


def test_the_fold_of_a_time_comes_back() -> None:
    value = datetime.datetime(2026, 10, 25, 2, 30, tzinfo=ZURICH, fold=1)
    back = Values().decode(Values().encode(value))
    assert (back.fold, back.tzinfo, back.utcoffset()) == (1, ZURICH, value.utcoffset())


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6) | st.binary(max_size=4)
)
hashable = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
anything = st.recursive(
    hashable | st.sets(hashable, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hashable, inner, max_size=3),
    max_leaves=10,
)


@given(anything)
def test_any_value_comes_back(value: object) -> None:
    assert Values().decode(json.loads(to_json(Values().encode(value)))) == value


@given(st.lists(st.text(max_size=3), max_size=6), st.randoms())
def test_equal_sets_are_equal_text(items: list[str], rng: Any) -> None:
    shuffled = rng.sample(items, len(items))
    assert to_json(Values().encode(set(items))) == to_json(Values().encode(set(shuffled)))


class Guarded(asyncio.Lock):
    pass


def ring() -> list[object]:
    value: list[object] = []
    value.append({"again": value})
    return value


def deep() -> list[object]:
    value: list[object] = []
    for _ in range(DEPTH + 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"job": [threading.Lock()]}, r"\.job\[0\]: .*lock"),
        ([lambda: 1], r"\[0\]: "),
        ({"gate": asyncio.Lock()}, r"\.gate: is a asyncio.locks.Lock, which"),
        ([re.compile("a")], r"\[0\]: is a re.Pattern"),
        (threading.local(), "local"),
        (Guarded(), r"is a .*Guarded, which"),
        ((item for item in ()), "generator"),
        (ring(), "contains itself"),
        (deep(), "nested deeper"),
        (ValueError("x"), "holds more than attributes"),
        (type("Local", (), {})(), "cannot be found again"),
        (collections.defaultdict(lambda: 0), "defaultdict whose factory is no class"),
        ([10**5000], r"\[0\]: is an integer of more than 4000 digits"),
    ],
    ids=[
        "lock",
        "lambda",
        "asyncio lock",
        "pattern",
        "thread local",
        "subclass",
        "generator",
        "ring",
        "deep",
        "exception",
        "local",
        "factory",
        "long",
    ],
)
def test_what_cannot_be_saved_is_refused_with_its_place(value: object, reason: str) -> None:
    with pytest.raises(Unsavable, match=reason):
        Values().encode(value)


PARCEL = {"sender": "Ada", "weight": 1, "marks": None}


@pytest.mark.parametrize(
    "saved",
    [
        {"$type": "mystery"},
        {"$type": "object", "class": "gone.module:Thing", "state": {}},
        {"$type": "object", "class": "tests.dataflow.test_codec:Gone", "state": {}},
        {"$type": "object", "class": "os:system", "state": {}},
        {"$type": "enum", "class": "tests.dataflow.test_codec:Colour", "name": "BLUE"},
        {"$type": "object", "class": "tests.dataflow.test_codec:Note", "state": {"title": 1}},
        {"$type": "object", "class": "tests.dataflow.test_codec:Parcel", "state": {"sender": "Ada"}},
        {"$type": "object", "class": "tests.dataflow.test_codec:Parcel", "state": PARCEL | {"colour": "red"}},
        {"$type": "decimal", "text": "many"},
        {"$type": "codec", "name": "gone", "value": 1},
        {"$type": "tuple"},
        {"$type": "dict", "class": "Gone", "items": []},
    ],
    ids=lambda saved: str(saved.get("class") or saved["$type"]),
)
def test_what_cannot_be_read_back_is_refused(saved: object) -> None:
    with pytest.raises(Unreadable):
        Values().decode(saved)


@pytest.mark.parametrize(
    ("saved", "told"),
    [
        ({"$type": "enum", "class": "Colour", "name": "BLUE"}, "has no member 'BLUE' any more"),
        ({"$type": "object", "class": "Note", "state": {"title": 1}}, "has other fields than the saved one: "),
        ({"$type": "object", "class": "Point", "state": {"z": 1}}, "has other fields than the saved one: "),
    ],
)
def test_a_class_that_is_not_as_it_was_is_named(saved: dict[str, object], told: str) -> None:
    name = f"tests.dataflow.test_codec:{saved['class']}"
    with pytest.raises(Unreadable, match=f"^the class {name} {told}"):
        Values().decode(saved | {"class": name})  # type: ignore[arg-type]


def test_a_field_that_is_new_in_a_class_has_its_default() -> None:
    saved = {"$type": "object", "class": "tests.dataflow.test_codec:Parcel", "state": {"sender": "Ada", "weight": 1}}
    assert Values().decode(saved) == Parcel("Ada", 1, frozenset())  # type: ignore[arg-type]


@dataclasses.dataclass
class Box:
    side: int

    def __post_init__(self) -> None:
        self.volume = self.side**3


def test_what_a_dataclass_has_beside_its_fields_comes_back() -> None:
    saved = json.loads(to_json(Values().encode(Box(2))))
    assert vars(Values().decode(saved)) == {"side": 2, "volume": 8}
    del saved["more"]
    with pytest.raises(Unreadable, match="has no field 'volume' any more"):
        Values().decode(saved)


def test_a_codec_can_be_registered() -> None:
    values = Values((Codec("lock", type(threading.Lock()), lambda lock: lock.locked(), lambda _: threading.Lock()),))
    saved = values.encode([threading.Lock()])
    assert saved == [{"$type": "codec", "name": "lock", "value": False}]
    assert not values.decode(saved)[0].locked()


def test_nothing_is_shared_with_what_was_saved() -> None:
    inner = [1]
    saved = Values().encode({"a": inner})
    inner.append(2)
    assert saved == {"a": [1]}
