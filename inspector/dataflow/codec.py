"""Python values ⇄ tagged JSON, so that a token outlives its process. No pickle, nothing is imported.

Plain JSON stands as it is; what JSON lacks is tagged (`model.values`): tuple, set and frozenset (in an order
of their own, so that equal sets are equal text), bytes, dict with other keys than text, Counter, OrderedDict,
defaultdict, datetime, date, time, timedelta, decimal, fraction, uuid, complex, range, deque, path, enum, and objects
(dataclasses, msgspec Structs, named tuples, plain classes) by class name and attributes. Everything else is refused
with the place and the reason; a codec can be registered for it (`Codec`).

Decoding finds classes by name among modules that are already loaded, and rebuilds an object from its attributes
without running its `__init__` (Structs and named tuples have no other way to be made). What cannot be found is
refused, never guessed.
"""

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import sys
import uuid
import zoneinfo
from collections.abc import Callable, Container, Mapping
from typing import Any, Protocol

import msgspec

from inspector.dataflow.names import find, qualified
from inspector.model.values import Number, Value, tag, to_json

HEAP_TYPE = 1 << 9
"""The flag of classes that were made by a `class` statement."""
PLAIN_BASES = frozenset(("abc", "collections", "collections.abc", "typing"))
"""Modules of the standard library whose classes in Python are no more than their attributes."""
DEPTH = 200
"""Levels of nesting that a token may have."""


DIGITS = 4000
"""Digits that an integer may have: Python writes and reads few more."""
BITS = int(DIGITS * 3.32)
WORD = 1 << 63


class Unsavable(TypeError):
    """A value that cannot be saved: `place` inside it and `reason`."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place, self.reason = place, reason


class Unreadable(ValueError):
    """A saved value that today's code cannot read back."""


class Codec(msgspec.Struct, frozen=True):
    """How a class of the user's is saved: `save` makes a value of what `encode` knows, `load` the object again.
    `name` stands in the file, and must stay the same."""

    name: str
    type: type
    save: Callable[[Any], Any]
    load: Callable[[Any], Any]


class Large(Protocol):
    """Where large values are kept apart."""

    def keep(self, value: Value) -> Value:
        """What is to stand for a saved value: itself, or a reference."""

    def whole(self, value: Value) -> Value:
        """The saved value that a reference stands for; any other is itself. Raises Unreadable."""


class Values:
    """The values that can be saved: the built-in ones and the registered codecs; large ones in `large` (None: nothing
    is kept apart)."""

    def __init__(self, codecs: tuple[Codec, ...] = (), large: Large | None = None) -> None:
        self._codecs, self._large = codecs, large
        self._by_type = {codec.type: codec for codec in codecs}
        self._by_name = {codec.name: codec for codec in codecs}

    def encode(self, value: Any, place: str = "") -> Value:
        """The tagged JSON of a value. Raises Unsavable."""
        return self._encode(value, place, ())

    def beside(self, large: Large) -> "Values":
        """The same, with large values kept apart."""
        return Values(self._codecs, large)

    def keep(self, value: Any, place: str = "") -> Value:
        """What stands for a value in a queue: its tagged JSON, or a reference to that. Raises Unsavable."""
        kind = type(value)
        if value is None or kind is bool or (kind is int and -WORD < value < WORD):
            return value
        return self.apart(self.encode(value, place))

    def apart(self, saved: Value) -> Value:
        """What stands for a saved value in a queue: itself, or a reference where it is large."""
        return saved if self._large is None else self._large.keep(saved)

    def whole(self, value: Value) -> Value:
        """The tagged JSON that a kept value stands for. Raises Unreadable."""
        return value if self._large is None else self._large.whole(value)

    def decode(self, value: Value) -> Any:
        """The value again. Raises Unreadable."""
        if type(value) in _THEMSELVES:
            return value
        try:
            return self._decode(self.whole(value))
        except Unreadable:
            raise
        except Exception as error:  # whatever a constructor says about a value that was tampered with
            raise Unreadable(f"{type(error).__name__}: {error}") from error

    def _encode(self, value: Any, place: str, above: tuple[int, ...]) -> Value:
        kind = type(value)
        if kind is int:
            if -WORD < value < WORD or value.bit_length() <= BITS:
                return value
            raise Unsavable(place, f"is an integer of more than {DIGITS} digits")
        if value is None or kind in (bool, str):
            return _text(value) if kind is str else value
        if kind is float:
            return value if math.isfinite(value) else tag("number", text=_FLOATS[repr(value)])
        if id(value) in above:
            raise Unsavable(place, "contains itself")
        if len(above) >= DEPTH:
            raise Unsavable(place, f"is nested deeper than {DEPTH} levels")
        inside = (*above, id(value))

        def each(items: Any) -> list[Value]:
            return [self._encode(item, f"{place}[{index}]", inside) for index, item in enumerate(items)]

        if codec := self._by_type.get(kind):
            return tag("codec", name=codec.name, value=self._encode(codec.save(value), place, inside))
        if kind is list:
            return each(value)
        if kind is dict:
            if all(type(key) is str and key != "$type" and _plain(key) for key in value):
                return {key: self._encode(item, _join(place, key), inside) for key, item in value.items()}
            return tag("dict", items=[each(pair) for pair in value.items()])
        if kind in _DICTS.values():
            return self._dict(value, place, [each(pair) for pair in value.items()])
        if kind is tuple:
            return tag("tuple", items=each(value))
        if kind in (set, frozenset):
            return tag(kind.__name__, items=sorted(each(value), key=to_json))
        if kind is collections.deque:
            return tag("deque", items=each(value), **({} if value.maxlen is None else {"maxlen": value.maxlen}))
        if plain := _PLAIN.get(kind):
            return plain(value)
        if isinstance(value, enum.Enum):
            return self._enum(value, place)
        if kind in _PATHS.values():
            return tag("path", path=str(value), **({} if isinstance(value, pathlib.Path) else {"class": kind.__name__}))
        return self._object(value, place, inside)

    def _dict(self, value: Any, place: str, items: list[Value]) -> Value:
        named = {"class": type(value).__name__}
        if isinstance(value, collections.defaultdict) and value.default_factory is not None:
            factory: Any = value.default_factory
            named["factory"] = qualified(factory) if isinstance(factory, type) else ""
            if find(named["factory"]) is not factory:
                raise Unsavable(place, "is a defaultdict whose factory is no class that can be found again")
        return tag("dict", items=items, **named)

    def _enum(self, value: enum.Enum, place: str) -> Value:
        if value.name is None or "|" in value.name:
            return tag("flag", **{"class": _class(type(value), place)}, value=value.value)
        return tag("enum", **{"class": _class(type(value), place)}, name=value.name)

    def _object(self, value: Any, place: str, inside: tuple[int, ...]) -> Value:
        kind = type(value)
        state = _attributes(value, place)
        saved = {name: self._encode(item, _join(place, name), inside) for name, item in state.items()}
        more = [name for name in saved if name not in _field_names(kind)] if dataclasses.is_dataclass(kind) else []
        return tag("object", **{"class": _class(kind, place)}, state=saved, **({"more": more} if more else {}))

    def _decode(self, value: Value) -> Any:
        if isinstance(value, Number):
            return float(value.text) if not value.text.lstrip("-").isdigit() else int(value.text)
        if isinstance(value, list):
            return [self._decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value.get("$type")
        if kind is None:
            return {name: self._decode(item) for name, item in value.items()}
        if kind == "dict":
            found = {self._decode(key): self._decode(item) for key, item in value["items"]}
            return _dict_of(value, found) if "class" in value else found
        if kind in _COLLECTIONS:
            items = [self._decode(item) for item in value["items"]]
            return collections.deque(items, value.get("maxlen")) if kind == "deque" else _COLLECTIONS[kind](items)
        if kind == "codec":
            codec = self._by_name.get(value["name"])
            if codec is None:
                raise Unreadable(f"no codec {value['name']!r} is registered")
            return codec.load(self._decode(value["value"]))
        if kind in ("enum", "flag"):
            found = find_class(value["class"])
            return _member(found, value["name"]) if kind == "enum" else found(value["value"])
        if kind == "object":
            state = {name: self._decode(item) for name, item in value["state"].items()}
            return _rebuilt(find_class(value["class"]), state, value.get("more", ()))
        if kind in _LOAD:
            return _LOAD[kind](value)
        raise Unreadable(f"an unknown tag {kind!r}")


def _dict_of(value: Value, items: dict[Any, Any]) -> dict[Any, Any]:
    kind = _DICTS[value["class"]]
    if kind is collections.defaultdict:
        factory = value.get("factory")
        return collections.defaultdict(None if factory is None else find_class(factory), items)
    found: dict[Any, Any] = kind(items)
    return found


def find_class(name: str) -> Any:
    """The class `module:Qualname` among the modules that are loaded. Raises Unreadable."""
    found = find(name)
    if not isinstance(found, type):
        raise Unreadable(f"the class {name} is not there any more, or its module is not loaded")
    return found


def _class(kind: type, place: str) -> str:
    name = qualified(kind)
    if find(name) is not kind:
        raise Unsavable(place, f"is a {kind.__qualname__}, a class that cannot be found again as {name}")
    return name


def _attributes(value: Any, place: str) -> dict[str, Any]:
    """The attributes that make up an object. Raises Unsavable for an object that is more than them."""
    kind = type(value)
    if isinstance(value, msgspec.Struct):
        return {name: getattr(value, name) for name in kind.__struct_fields__}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return dict(zip(kind._fields, value, strict=True))
    if dataclasses.is_dataclass(value):
        own = {
            field.name: getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)
        }
        return own | getattr(value, "__dict__", {})
    hooks = ("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
    own_way = [name for name in hooks if getattr(kind, name, None) is not getattr(object, name, None)]
    # Attributes of the standard library's classes stand for what is outside of them: locks, files, waiting tasks.
    built_in = [base for base in kind.__mro__[:-1] if _built_in(base)]
    if own_way or built_in or callable(value):
        raise Unsavable(place, f"is a {kind.__module__}.{kind.__qualname__}, which holds more than attributes")
    slots = [name for base in kind.__mro__ for name in _slots(base) if name not in ("__dict__", "__weakref__")]
    return {name: getattr(value, name) for name in slots if hasattr(value, name)} | getattr(value, "__dict__", {})


def _built_in(kind: type) -> bool:
    if not kind.__flags__ & HEAP_TYPE:
        return True
    return kind.__module__ not in PLAIN_BASES and kind.__module__.partition(".")[0] in sys.stdlib_module_names


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _member(kind: Any, name: str) -> Any:
    try:
        return kind[name]
    except KeyError:
        raise Unreadable(f"the class {qualified(kind)} has no member {name!r} any more") from None


def _field_names(kind: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def _rebuilt(kind: Any, state: Mapping[str, Any], more: Container[str]) -> Any:
    """`more`: the attributes that a dataclass had beside its fields."""
    if issubclass(kind, tuple | msgspec.Struct):
        try:
            return kind(**state)
        except TypeError as error:
            raise Unreadable(f"the class {qualified(kind)} has other fields than the saved one: {error}") from error
    made = kind.__new__(kind)
    if dataclasses.is_dataclass(kind):
        if gone := [name for name in state if name not in more and name not in _field_names(kind)]:
            raise Unreadable(f"the class {qualified(kind)} has no field {gone[0]!r} any more, which the saved one has")
        state = {**_defaults(kind, state), **state}
    for name, item in state.items():
        object.__setattr__(made, name, item)
    return made


def _defaults(kind: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """The values of fields that the class did not have when the object was saved. Raises Unreadable for a field without
    a default: the object would fail in the middle of a run."""
    found = {}
    for field in dataclasses.fields(kind):
        if field.name in state or not field.init:
            continue
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        else:
            raise Unreadable(f"the class {qualified(kind)} has a field {field.name!r} now, which the saved one lacks")
    return found


def _join(place: str, name: object) -> str:
    return f"{place}.{name}"


def _plain(text: str) -> bool:
    return text.isascii() or not any(0xD800 <= ord(character) < 0xE000 for character in text)


def _text(text: str) -> Value:
    return text if _plain(text) else tag("text", escaped=text.encode("unicode_escape").decode())


def _datetime(value: datetime.datetime | datetime.time) -> Value:
    zone = value.tzinfo
    if zone is not None and not isinstance(zone, datetime.timezone | zoneinfo.ZoneInfo):
        raise Unsavable("", f"has a time zone of the class {type(zone).__qualname__}")
    extra: dict[str, Value] = {"zone": zone.key} if isinstance(zone, zoneinfo.ZoneInfo) else {}
    if value.fold:
        extra["fold"] = 1
    naive = value.replace(tzinfo=None) if extra.get("zone") else value
    return tag("datetime" if isinstance(value, datetime.datetime) else "time", iso=naive.isoformat(), **extra)


def _load_datetime(value: Value) -> Any:
    kind = datetime.datetime if value["$type"] == "datetime" else datetime.time
    found = kind.fromisoformat(value["iso"])
    if value.get("zone"):
        found = found.replace(tzinfo=zoneinfo.ZoneInfo(value["zone"]))
    return found.replace(fold=value.get("fold", 0))


_PATHS: dict[str, type[pathlib.PurePath]] = {
    "Path": type(pathlib.Path()),
    "PurePosixPath": pathlib.PurePosixPath,
    "PureWindowsPath": pathlib.PureWindowsPath,
}
_DICTS: dict[str, Any] = {
    kind.__name__: kind for kind in (collections.Counter, collections.OrderedDict, collections.defaultdict)
}
_SMALL = frozenset((type(None), bool, int))
_THEMSELVES = _SMALL | {float, str}
"""Classes of saved values that stand for themselves."""
_FLOATS = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
_COLLECTIONS: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": collections.deque}
_PLAIN: dict[type, Callable[[Any], Value]] = {
    bytes: lambda value: tag("bytes", base64=base64.b64encode(value).decode()),
    bytearray: lambda value: tag("bytearray", base64=base64.b64encode(value).decode()),
    datetime.datetime: _datetime,
    datetime.time: _datetime,
    datetime.date: lambda value: tag("date", iso=value.isoformat()),
    datetime.timedelta: lambda value: tag(
        "timedelta", days=value.days, seconds=value.seconds, microseconds=value.microseconds
    ),
    decimal.Decimal: lambda value: tag("decimal", text=str(value)),
    fractions.Fraction: lambda value: tag("fraction", text=str(value)),
    uuid.UUID: lambda value: tag("uuid", text=str(value)),
    complex: lambda value: tag("complex", real=repr(value.real), imag=repr(value.imag)),
    range: lambda value: tag("range", start=value.start, stop=value.stop, step=value.step),
    Number: lambda value: value,
}
_LOAD: dict[str, Callable[[Value], Any]] = {
    "number": lambda value: float(value["text"]),
    "text": lambda value: value["escaped"].encode().decode("unicode_escape"),
    "bytes": lambda value: base64.b64decode(value["base64"], validate=True),
    "bytearray": lambda value: bytearray(base64.b64decode(value["base64"], validate=True)),
    "datetime": _load_datetime,
    "time": _load_datetime,
    "date": lambda value: datetime.date.fromisoformat(value["iso"]),
    "timedelta": lambda value: datetime.timedelta(value["days"], value["seconds"], value["microseconds"]),
    "decimal": lambda value: decimal.Decimal(value["text"]),
    "fraction": lambda value: fractions.Fraction(value["text"]),
    "uuid": lambda value: uuid.UUID(value["text"]),
    "complex": lambda value: complex(float(value["real"]), float(value["imag"])),
    "range": lambda value: range(value["start"], value["stop"], value["step"]),
    "path": lambda value: _PATHS[value.get("class", "Path")](value["path"]),
}
