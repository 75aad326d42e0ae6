"""Values as a file holds them: JSON, plus numbers that no float keeps and tags for the rest.

A value is `None`, `bool`, `int`, `float`, `str`, `list`, `dict` with text keys, or a `Number`.
What JSON lacks is a *tagged* dict, `{"$type": "tuple", ...}` (see `tag`); an object that only its
own code could rebuild is `{"$type": "object", "class": "module:Name", "state": {...}}` and stays
data. Nesting is bounded by `MAX_DEPTH`, and nothing here recurses.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from inspector.model.text import clean, shorten, told_apart

Value = Any
"""None, bool, int, float, str, Number, list[Value] or dict[str, Value]."""

MAX_DEPTH = 950
"""Deeper parts are replaced by `{"$type": "cut", ...}` where a file is read."""


class Number:
    """A number as written in the file, where a Python number would rewrite it: `310.50`, `1E+2`,
    `-0`, `1e999`, `NaN`, an integer of thousands of digits."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Number({self.text!r})"

    @property
    def finite(self) -> bool:
        """Whether it may stand in JSON as it is: an integer of any length, or what a double holds."""
        if self.text.lstrip("-").isdigit():
            return True
        number = float(self.text)
        return number - number == 0


def integer(text: str) -> Value:
    """The integer written as `text`, or a Number where Python would rewrite or refuse it."""
    if len(text) > 4000:
        return Number(text)
    number = int(text)
    return number if str(number) == text else Number(text)


def decimal(text: str) -> Value:
    """The float written as `text`, or a Number where Python would rewrite it."""
    number = float(text)
    return number if repr(number) == text and number - number == 0 else Number(text)


def tag(kind: str, **fields: Value) -> dict[str, Value]:
    """A tagged value: `tag("bytes", base64="aGk=")`."""
    return {"$type": kind, **fields}


def foreign(found: dict[str, Value]) -> dict[str, Value]:
    """A dict of somebody else's: one with a key `$type` of its own is written as its pairs, so that it does not
    pass for a tagged value."""
    return tag("dict", items=[[name, item] for name, item in found.items()]) if "$type" in found else found


def untag(value: Value) -> Value:
    """`value`, changed in place, with the numbers that `to_json` had to tag as Numbers again."""
    root = [value]
    stack: list[Any] = [root]
    while stack:
        holder = stack.pop()
        for place, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if not isinstance(item, list | dict):
                continue
            if isinstance(item, dict) and item.keys() == {"$type", "text"} and item["$type"] == "number":
                if isinstance(item["text"], str) and re.fullmatch(_NUMBER, item["text"]):
                    holder[place] = Number(item["text"])
            else:
                stack.append(item)
    return root[0]


_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|NaN|-?Infinity"


def transform(value: Value, leaf: Callable[[Value], Value], key: Callable[[str], str] | None = None) -> Value:
    """A copy of `value` with `leaf` applied to everything that is no list or dict, and `key` to every
    key, without recursion. Costs one pass."""
    if not isinstance(value, list | dict):
        return leaf(value)
    root: list[Value] = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, place = stack.pop()
        old = holder[place]
        if isinstance(old, list):
            new: Any = list(old)
            holder[place] = new
            for index, item in enumerate(new):
                if isinstance(item, list | dict):
                    stack.append((new, index))
                else:
                    new[index] = leaf(item)
        else:
            new = _renamed(old, key) if key else dict(old)
            holder[place] = new
            for name, item in new.items():
                if isinstance(item, list | dict):
                    stack.append((new, name))
                else:
                    new[name] = leaf(item)
    return root[0]


def _renamed(old: dict[str, Value], key: Callable[[str], str]) -> dict[str, Value]:
    new = {key(name): item for name, item in old.items()}
    if len(new) == len(old):
        return new
    # Two keys become one: what one of them holds must not vanish.
    return dict(zip(told_apart(map(key, old)), old.values(), strict=True))


def clean_value(value: Value) -> Value:
    """`value` with every text in it, keys too, made visible (see `text.clean`)."""
    return transform(value, lambda item: clean(item) if isinstance(item, str) else item, clean)


def depth(value: Value) -> int:
    """How many levels of lists and dicts `value` has; 0 for a plain value."""
    level, deepest = [value], 0
    while level := [item for item in level if isinstance(item, list | dict)]:
        deepest += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return deepest


def equal(left: Value, right: Value) -> bool:
    """Whether two values are the same, types included, at any depth."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if one is other:
            continue
        if type(one) is not type(other):
            return False
        if isinstance(one, dict):
            if one.keys() != other.keys():
                return False
            stack += [(value, other[name]) for name, value in one.items()]
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            stack += zip(one, other, strict=True)
        elif one != other:
            return False
    return True


def _written(value: object) -> object:
    if isinstance(value, Number):
        return msgspec.Raw(value.text.encode()) if value.finite else tag("number", text=value.text)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no value")


_encoder = msgspec.json.Encoder(enc_hook=_written)
_encode = _encoder.encode


def to_json(value: object) -> str:
    """JSON text of a value or Struct: numbers as written, those that no double holds as
    `{"$type": "number", "text": ...}`. Works at any depth."""
    try:
        return _encode(value).decode()
    except RecursionError:
        return "".join(_pieces(value))


def json_lines(values: Sequence[object]) -> bytes:
    """The same of several values, a line each."""
    try:
        return _encoder.encode_lines(values)
    except RecursionError:
        return "".join(f"{to_json(value)}\n" for value in values).encode()


def _pieces(value: object, comma: str = ",", colon: str = ":", longest: int | None = None) -> Iterator[str]:
    """The JSON of `value` piece by piece, without recursion: for what is too deep for the encoder. Texts are
    cut behind `longest` characters."""
    stack: list[Iterator[tuple[str, object]] | str] = [iter([("", value)])]
    while stack:
        top = stack[-1]
        if isinstance(top, str):
            yield top
            stack.pop()
            continue
        entry = next(top, None)
        if entry is None:
            stack.pop()
            continue
        lead, item = entry
        yield lead
        if isinstance(item, msgspec.Struct):
            item = _fields(item)
        if isinstance(item, dict):
            stack += ["}", _entries(comma, ((f"{_encode(str(name)).decode()}{colon}", v) for name, v in item.items()))]
            yield "{"
        elif isinstance(item, Sequence) and not isinstance(item, str | bytes):
            stack += ["]", _entries(comma, (("", v) for v in item))]
            yield "["
        else:
            yield _encode(item[:longest] if isinstance(item, str) else item).decode()


def _fields(struct: msgspec.Struct) -> dict[str, object]:
    config = struct.__struct_config__
    found: dict[str, object] = {config.tag_field: config.tag} if config.tag_field else {}
    for name, field in zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True):
        value = getattr(struct, field)
        if value is not msgspec.UNSET:
            found[name] = value
    return found


def _entries(comma: str, items: Iterable[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    for index, (lead, item) in enumerate(items):
        yield (comma if index else "") + lead, item


FEW = 4
"""Items up to which a list of scalars is short enough to be written at once."""
_SCALARS = frozenset((type(None), bool, int, float, str))


def preview(value: Value, width: int) -> str:
    """One line of at most `width` characters that shows what `value` is. Looks only at as much of
    the value as the line can show."""
    if isinstance(value, str):
        return shorten(value, width)
    if type(value) is list and len(value) <= FEW and _SCALARS.issuperset(map(type, value)):
        texts = [_encode(item[: width + 1] if type(item) is str else item).decode() for item in value]
        return shorten(f"[{', '.join(texts)}]", width)
    pieces, length = [], 0
    for piece in _pieces(value, ", ", ": ", width + 1):
        pieces.append(piece)
        length += len(piece)
        if length > width:
            break
    return shorten("".join(pieces), width)
