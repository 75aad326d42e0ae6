"""A checkpoint's bookkeeping: which channels hold something, in which version, and who has seen it.

That says what comes next, without the graph. It is read without building the values, which are most of a
checkpoint.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from inspector.formats.symbols import class_of
from inspector.model.text import clean
from inspector.model.values import Value

START, TASKS, INPUT, INTERRUPT = "__start__", "__pregel_tasks", "__input__", "__interrupt__"
SHORT = 2048
"""Bytes of a trigger's value that are looked at for the bookkeeping."""
_SPLIT: dict[str, Callable[[bytes | memoryview], dict[str, msgspec.Raw]]] = {
    "msgpack": msgspec.msgpack.Decoder(dict[str, msgspec.Raw]).decode,
    "json": msgspec.json.Decoder(dict[str, msgspec.Raw]).decode,
}
_WANTED = {"v", "channel_versions", "versions_seen", "pending_sends"}
_NOTHING = (b"\xc0", b"null")

Versions = Mapping[str, Value]


class Send(NamedTuple):
    """A token for one node: `Send(node, argument)`."""

    node: str
    argument: Value


class Frame(NamedTuple):
    """The bookkeeping of a checkpoint. `channels` are those that hold something; the value is there where
    it is the framework's own (triggers, sends), else None. `ordered` are nodes that a command names (`goto`),
    `replaced` tokens whose place those of a command have taken."""

    version: Value
    channels: Mapping[str, Value]
    versions: Versions
    seen: Mapping[str, Versions]
    sends: tuple[Send, ...]
    ordered: tuple[str, ...] = ()
    replaced: tuple[Send, ...] = ()


def frame(checkpoint: Value) -> Frame | None:
    """The bookkeeping of a checkpoint that was read; None where it is none."""
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("channel_values"), dict):
        return None
    channels = checkpoint["channel_values"]
    versions = checkpoint.get("channel_versions")
    seen = checkpoint.get("versions_seen")
    tokens = channels.get(TASKS) or checkpoint.get("pending_sends")
    return Frame(
        version=checkpoint.get("v"),
        channels=channels,
        versions=_marks(versions) or {},
        seen={
            node: marks
            for node, told in (seen if isinstance(seen, dict) else {}).items()
            if (marks := _marks(told)) is not None
        },
        sends=tuple(filter(None, map(send, listed(tokens) or ()))),
    )


def commanded(made: Frame, given: Iterable[tuple[str, Value]]) -> Frame:
    """The bookkeeping with what a command (`goto`) has left beside the checkpoint, by channel. Its tokens take
    the place of those that wait: that is what LangGraph makes of them."""
    orders = list(given)
    tokens = tuple(filter(None, (send(value) for name, value in orders if name == TASKS)))
    nodes = dict.fromkeys(node for name, _ in orders if name.startswith("branch:") and (node := target(name)))
    replaced = made.sends if tokens else ()
    return made._replace(sends=tokens or made.sends, ordered=tuple(nodes), replaced=replaced)


def _marks(versions: Value) -> dict[str, Value] | None:
    """Versions by channel. A version is a number or a text that begins with one; anything else is none."""
    if not isinstance(versions, dict):
        return None
    return {name: version for name, version in versions.items() if isinstance(version, str | int | float)}


def listed(value: Value) -> list[Value] | None:
    """The items of a list, also where it is stored as a tuple or set; None for anything else."""
    if isinstance(value, dict) and value.get("$type") in ("tuple", "set", "frozenset", "deque"):
        value = value.get("items")
    return value if isinstance(value, list) else None


def outline(kind: Value, data: object, load: Callable[[Value, object], Value]) -> Value:
    """A checkpoint of which only the bookkeeping is read, where its form allows that; else as a whole.
    `load` makes a value of a type and bytes."""
    split = _SPLIT.get(kind) if isinstance(kind, str) else None
    content = data.encode() if isinstance(data, str) else data
    if split is None or not isinstance(content, bytes):
        return load(kind, data)
    try:
        parts = split(content)
        values = split(memoryview(parts["channel_values"]))
    except (msgspec.DecodeError, ValueError, KeyError, RecursionError, MemoryError):
        return load(kind, data)

    def made(part: msgspec.Raw) -> Value:
        piece = bytes(memoryview(part))
        return None if piece in _NOTHING else load(kind, piece)

    found = {key: made(part) for key, part in parts.items() if key in _WANTED}
    found["channel_values"] = {
        clean(name): made(part) if _wanted(name, part) else None for name, part in values.items()
    }
    return found


def channel(kind: Value, data: object, name: str, load: Callable[[Value, object], Value]) -> Value:
    """What one channel of a checkpoint holds; None where it holds nothing."""
    split = _SPLIT.get(kind) if isinstance(kind, str) else None
    content = data.encode() if isinstance(data, str) else data
    if split is not None and isinstance(content, bytes):
        try:
            values = {clean(key): part for key, part in split(memoryview(split(content)["channel_values"])).items()}
            return load(kind, bytes(memoryview(values[name])))
        except (msgspec.DecodeError, ValueError, KeyError, RecursionError, MemoryError):
            pass
    whole = frame(load(kind, data))
    return whole.channels.get(name) if whole else None


def send(value: Value) -> Send | None:
    """The token that a stored object stands for; None for anything else."""
    if not class_of(value).endswith(":Send"):
        return None
    state = value.get("state")
    parts = listed(state)
    if parts is not None and len(parts) >= 2:
        node, argument = parts[0], parts[1]
    elif isinstance(state, dict):
        node, argument = state.get("node"), state.get("arg")
    else:
        return None
    return Send(node, argument) if isinstance(node, str) else None


def target(channel: str) -> str | None:
    """The node that a channel triggers by its name; None where its name does not say."""
    if channel == START:
        return START
    kind, _, rest = channel.partition(":")
    if kind == "start" and rest:
        return rest
    if kind == "branch" and rest.startswith("to:"):
        return rest[3:] or None
    if kind == "branch" and rest.count(":") >= 2:
        # branch:SOURCE:CONDITION:NODE of old versions; what follows a condition is named by the graph alone.
        return rest.split(":", 2)[2].removeprefix(":") or None
    if kind == "join":
        return rest.rpartition(":")[2] or None
    return None


def internal(channel: str) -> bool:
    """Whether a channel is the framework's own and holds no state of the graph."""
    return target(channel) is not None or channel == TASKS or channel.startswith("branch:")


def fired(channel: str, value: Value) -> bool:
    """Whether a trigger that holds something is set off: a join only when all have arrived, a deferred node
    only when all else is done."""
    parts = listed(value)
    if parts is not None and len(parts) == 2 and isinstance(parts[1], bool):
        if not parts[1]:
            return False
        value = parts[0]
    if not channel.startswith("join:"):
        return True
    arrived = listed(value)
    awaited = channel.split(":", 1)[1].rpartition(":")[0]
    return arrived is not None and len(arrived) == awaited.count("+") + 1


def newer(version: Value, seen: Value) -> bool:
    """Whether a channel's version is one that has not been seen; None stands for none."""
    if version is None or seen is None:
        return seen is None
    if isinstance(version, str) or isinstance(seen, str):
        return str(version) > str(seen)
    return bool(version > seen)


def _wanted(name: str, part: msgspec.Raw) -> bool:
    # Old versions have a channel per node, which holds the node's own name.
    size = len(memoryview(part))
    return name == TASKS or (size <= SHORT and target(name) is not None) or size <= len(name.encode()) + 5
