"""What a pickle builds, first as the graph that it is (shared parts, rings), then as a value."""

import base64
import struct
from typing import Any

from inspector.formats.symbols import called_with, thing
from inspector.model.text import clean, told_apart
from inspector.model.values import MAX_DEPTH, Value, decimal, tag

DIGIT_BITS = 13_000
"""Bits of an integer up to which its digits are written."""


class Global:
    """A name that the pickle would import."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Items:
    """A list, tuple, set or frozenset, as `kind` says."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: list[Any]) -> None:
        self.kind, self.items = kind, items


class Dict:
    """A dict, its pairs in the order in which they were set."""

    __slots__ = ("pairs",)

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []


class Opaque:
    """What stands outside of the pickle: a persistent id, an extension code, a buffer."""

    __slots__ = ("content", "kind")

    def __init__(self, kind: str, content: Any) -> None:
        self.kind, self.content = kind, content


class Thing:
    """What a call would return: the arguments, and what is set on it afterwards."""

    __slots__ = ("arguments", "built", "function", "items", "keywords", "pairs", "state")

    def __init__(self, function: Any, arguments: Any, keywords: Any = None) -> None:
        self.function, self.arguments, self.keywords = function, arguments, keywords
        self.state: Any = None
        self.built = False
        self.items: list[Any] = []
        self.pairs: list[tuple[Any, Any]] = []


NODES = (Items, Dict, Thing, Global, Opaque)


class _Leave:
    """A part is done with: it is no longer around what follows."""

    def __init__(self, node: object) -> None:
        self.node = node


def value_of(root: Any, parts: int) -> tuple[Value, int]:
    """The value that a graph stands for, of at most about `parts` parts, and how many it took. What is inside
    of itself, too deep or too much is cut, visibly."""
    builder = _Builder(parts)
    return builder.build(root), parts - builder.parts


class _Builder:
    """Makes values of nodes from the top down, without recursion: `stack` holds the nodes that wait, each
    with the place that it goes to."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.stack: list[Any] = []

    def build(self, root: Any) -> Value:
        made: list[Value] = [None]
        around: set[int] = set()
        self.stack.append((root, made, 0, 0))
        while self.stack:
            task = self.stack.pop()
            if isinstance(task, _Leave):
                around.discard(id(task.node))
                continue
            node, holder, key, level = task
            if id(node) in around:
                holder[key] = tag("ring")
                continue
            if isinstance(node, Items | Dict | Thing):
                if self.parts < 0 or level > MAX_DEPTH - 8:
                    holder[key] = tag("cut", depth=level)
                    continue
                around.add(id(node))
                self.stack.append(_Leave(node))
            holder[key] = self.open(node, level)
        return made[0]

    def open(self, node: Any, level: int) -> Value:
        """The value of a node; what it holds waits to be filled in."""
        if isinstance(node, Items):
            found = self.fill(node.items, level + 2)
            return found if node.kind == "list" else tag(node.kind, items=found)
        if isinstance(node, Dict):
            return self.pairs(node.pairs, level)
        if isinstance(node, Thing):
            return self.thing(node, level)
        if isinstance(node, Global):
            return tag("class", **{"class": clean(f"{node.module}:{node.name}")})
        if isinstance(node, Opaque):
            return tag(node.kind, content=None if isinstance(node.content, NODES) else self.plain(node.content))
        return self.plain(node)

    def put(self, holder: Any, key: Any, item: Any, level: int) -> None:
        """A plain item goes to its place at once, any other waits."""
        if isinstance(item, NODES):
            self.parts -= 1
            self.stack.append((item, holder, key, level))
        else:
            holder[key] = self.plain(item)

    def plain(self, item: Any) -> Value:
        self.parts -= 1 + (len(item) >> 5 if isinstance(item, str | bytes) else 0)
        return _plain(item) if self.parts >= 0 else tag("cut")

    def fill(self, items: list[Any], level: int) -> list[Value]:
        if len(items) > self.parts:
            items = items[: max(self.parts, 0)]
        found: list[Value] = [None] * len(items)
        for index, item in enumerate(items):
            self.put(found, index, item, level)
        return found

    def pairs(self, pairs: list[tuple[Any, Any]], level: int) -> Value:
        if any(not isinstance(key, str) or key == "$type" for key, _ in pairs):
            rows = [Items("list", list(pair)) for pair in pairs[: max(self.parts, 0)]]
            return tag("dict", items=self.fill(rows, level + 2))
        found: dict[str, Value] = {}
        known = dict(pairs[: max(self.parts, 0)])
        for key, item in zip(told_apart(map(clean, known)), known.values(), strict=True):
            self.put(found, key, item, level + 1)
            found.setdefault(key)
        return found

    def thing(self, node: Thing, level: int) -> Value:
        function, arguments = _origin(node)
        if not isinstance(function, Global):
            return tag("object", **{"class": "?"}, state=None)
        known = _known(function, arguments, node)
        if known is not None:
            return known
        if (function.module, function.name) in _CONTAINERS:
            return self.container(function, arguments, node, level)
        extra = {"args": arguments, "kwargs": node.keywords, "items": node.items, "pairs": node.pairs}
        found = Dict()
        found.pairs = [(name, _as_node(item)) for name, item in extra.items() if not _empty(item)]
        if not node.built and [name for name, _ in found.pairs] == ["args"]:
            return self.called(function, arguments, level)
        state = _state(node.state)
        if isinstance(state, Dict):
            found.pairs += state.pairs
        elif node.built:
            found.pairs.append(("state", state))
        made = thing(clean(function.module), clean(function.name), None)
        self.put(made, "state", found, level + 1)
        return made

    def called(self, function: Global, arguments: Any, level: int) -> Value:
        """A call with arguments alone: of a value type, a value."""
        items = arguments.items if isinstance(arguments, Items) else [arguments]
        module, name = clean(function.module), clean(function.name)
        if not any(isinstance(item, NODES) for item in items):
            return called_with(module, name, [self.plain(item) for item in items])
        made = thing(module, name, None)
        self.put(made, "state", Items("list", items), level + 1)
        return made

    def container(self, function: Global, arguments: Any, node: Thing, level: int) -> Value:
        kind = _CONTAINERS[(function.module, function.name)]
        first = arguments.items[0] if isinstance(arguments, Items) and arguments.items else None
        if kind == "dict":
            before = first.pairs if isinstance(first, Dict) else []
            if isinstance(first, Items):
                rows = [row.items for row in first.items if isinstance(row, Items)]
                before = [(row[0], row[1]) for row in rows if len(row) == 2]
            return self.pairs(before + node.pairs, level)
        found = self.fill([*(first.items if isinstance(first, Items) else []), *node.items], level + 2)
        return found if kind == "list" else tag(kind, items=found)


def _origin(node: Thing) -> tuple[Any, Any]:
    """The class and arguments behind the helpers that make an object of a class."""
    function, arguments = node.function, node.arguments
    if isinstance(function, Global) and function.module == "copyreg" and isinstance(arguments, Items):
        cls, *rest = arguments.items or [None]
        if function.name == "_reconstructor":
            return cls, Items("tuple", rest[1:] if rest[1:] != [None] else [])
        if function.name in ("__newobj__", "__newobj_ex__"):
            return cls, Items("tuple", rest)
    return function, arguments


def _state(state: Any) -> Any:
    """The attributes in a state: of slots too, and behind what pydantic wraps them in."""
    if isinstance(state, Items) and state.kind == "tuple" and len(state.items) == 2:
        both = [part for part in state.items if isinstance(part, Dict)]
        if both and all(isinstance(part, Dict) or part is None for part in state.items):
            found = Dict()
            found.pairs = [pair for part in both for pair in part.pairs]
            return found
    if isinstance(state, Dict):
        fields = dict(pair for pair in state.pairs if isinstance(pair[0], str))
        inner = fields.get("__dict__")
        if isinstance(inner, Dict) and any(name.startswith("__pydantic") for name in fields):
            return inner
    return state


def _as_node(item: Any) -> Any:
    if isinstance(item, list):
        if item and isinstance(item[0], tuple):
            found = Dict()
            found.pairs = item
            return found
        return Items("list", item)
    return Items("list", item.items) if isinstance(item, Items) and item.kind == "tuple" else item


def _empty(item: Any) -> bool:
    return item is None or item == [] or (isinstance(item, Items) and not item.items) or _is_empty_dict(item)


def _is_empty_dict(item: Any) -> bool:
    return isinstance(item, Dict) and not item.pairs


_CONTAINERS = {
    ("collections", "OrderedDict"): "dict",
    ("collections", "defaultdict"): "dict",
    ("collections", "Counter"): "dict",
    ("collections", "deque"): "deque",
    **{("builtins", kind): kind for kind in ("list", "tuple", "set", "frozenset", "dict")},
}


def _known(function: Global, arguments: Any, node: Thing) -> Value:
    """The value of a call whose arguments are packed in a way of its own; None where it is none of these."""
    items = arguments.items if isinstance(arguments, Items) else []
    place = (function.module, function.name)
    try:
        if place[0] == "datetime":
            return _time(place[1], items)
        if place == ("_codecs", "encode"):
            return _plain(_bytes(Thing(function, arguments)))
        if place in (("builtins", "bytes"), ("builtins", "bytearray")):
            return _plain(_bytes(items[0])) if items else _plain(b"")
        if place == ("builtins", "complex"):
            return tag("complex", real=_plain(items[0]), imaginary=_plain(items[1]))
        if place == ("uuid", "UUID") and isinstance(node.state, Dict):
            text = f"{dict(node.state.pairs)['int']:032x}"
            return tag("uuid", text="-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:])))
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, UnicodeError, struct.error, OverflowError):
        return None
    return None


def _time(name: str, items: list[Any]) -> Value:
    if name == "timedelta":
        days, seconds, microseconds = (*items, 0, 0, 0)[:3]
        return tag("timedelta", days=_number(days), seconds=_number(seconds), microseconds=_number(microseconds))
    if name == "timezone":
        return tag("zone", text=_zone(Thing(Global("datetime", "timezone"), Items("tuple", items))))
    packed = _bytes(items[0])
    zone = _zone(items[1]) if len(items) > 1 else ""
    if name == "date" and len(packed) == 4:
        year, month, day = struct.unpack(">HBB", packed)
        return tag("date", iso=f"{year:04}-{month:02}-{day:02}")
    if name == "time" and len(packed) == 6:
        return tag("time", iso=_clock(packed) + zone)
    if name == "datetime" and len(packed) == 10:
        year, month, day = struct.unpack(">HBB", packed[:4])
        return tag("datetime", iso=f"{year:04}-{month & 127:02}-{day:02}T{_clock(packed[4:])}{zone}")
    return None


def _bytes(item: Any) -> bytes:
    """Bytes, also as the old protocols write them: as text and a call. Raises TypeError."""
    if isinstance(item, Thing) and isinstance(item.arguments, Items) and item.arguments.items:
        item = item.arguments.items[0]
    if isinstance(item, str):
        return item.encode("latin-1")
    if not isinstance(item, bytes | bytearray):
        raise TypeError("no bytes")
    return bytes(item)


def _clock(packed: bytes) -> str:
    hour, minute, second, *parts = packed
    micro = int.from_bytes(bytes(parts))
    return f"{hour & 127:02}:{minute:02}:{second:02}" + (f".{micro:06}" if micro else "")


def _zone(node: Any) -> str:
    """The offset of a zone as in RFC 3339, `[name]` of a named one."""
    if not isinstance(node, Thing) or not isinstance(node.function, Global) or not isinstance(node.arguments, Items):
        return ""
    first = node.arguments.items[0] if node.arguments.items else None
    if isinstance(first, str):
        return f"[{clean(first)}]"
    if isinstance(first, Thing) and isinstance(first.arguments, Items):
        days, seconds = (*first.arguments.items, 0, 0)[:2]
        minutes = (_number(days) * 86400 + _number(seconds)) // 60
        return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    return "+00:00"


def _number(value: Any) -> int:
    if type(value) is not int or abs(value) > 10**12:
        raise ValueError("not a count")
    return value


def _plain(value: Any) -> Value:
    """A value that holds no other."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value if value.bit_length() <= DIGIT_BITS else tag("integer", hex=hex(value))
    if isinstance(value, float):
        return decimal({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), repr(value)))
    if isinstance(value, bytes | bytearray):
        return tag("bytes", base64=base64.b64encode(value).decode())
    return tag("object", **{"class": "?"}, state=None)
