"""How two states differ, by path: queues by id, pending work by call, messages by number, actors and
values by name."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from inspector.diff.values import Difference, differences
from inspector.model.places import actor_name, named, queue_name
from inspector.model.run import Actor, Message, Pending, Queue, State
from inspector.model.values import Value, equal

PARTS = ("queues", "pending", "actors", "messages", "values")
Part = TypeVar("Part")


def state(left: State, right: State) -> tuple[list[Difference], list[str]]:
    """The differences of two states, and the parts that one of them alone tells and so cannot be compared."""
    found: list[Difference] = []
    unknown = []
    for part in PARTS:
        one, other = getattr(left, part), getattr(right, part)
        if one is None or other is None:
            if one is not other:
                unknown.append(part)
            continue
        found += _COMPARE[part](one, other)
    return found, unknown


def _queues(left: Sequence[Queue], right: Sequence[Queue]) -> Iterator[Difference]:
    for name, one, other in _aligned(named(left, queue_name), named(right, queue_name)):
        if one is None or other is None:
            yield Difference(path=f"queues.{name}", left=_contents(one), right=_contents(other))
        elif one.tokens is not None and other.tokens is not None and one.contents == other.contents == "complete":
            if not equal(list(one.tokens), list(other.tokens)):
                yield Difference(path=f"queues.{name}", left=list(one.tokens), right=list(other.tokens))
        elif one.size is not None and other.size is not None and one.size != other.size:
            yield Difference(path=f"queues.{name}.size", left=one.size, right=other.size)


def _contents(queue: Queue | None) -> Value:
    if queue is None:
        return None
    return list(queue.tokens) if queue.tokens is not None else {"size": queue.size}


def _pending(left: Sequence[Pending], right: Sequence[Pending]) -> Iterator[Difference]:
    yield from _records("pending", named(left, _pending_name), named(right, _pending_name))


def _pending_name(pending: Pending) -> str:
    return pending.internal_call_id or pending.call_id or f"{pending.kind} {pending.name}"


def _actors(left: Sequence[Actor], right: Sequence[Actor]) -> Iterator[Difference]:
    yield from _records("actors", named(left, actor_name), named(right, actor_name))


def _records(part: str, left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    for name, one, other in _aligned(left, right):
        yield from differences(_plain(one), _plain(other), f"{part}.{name}")


def _plain(record: msgspec.Struct | None) -> Value:
    if record is None:
        return None
    return {name: getattr(record, name) for name in record.__struct_fields__ if getattr(record, name) is not None}


def _messages(left: Sequence[Message], right: Sequence[Message]) -> Iterator[Difference]:
    for index in range(max(len(left), len(right))):
        one = _message(left[index]) if index < len(left) else None
        other = _message(right[index]) if index < len(right) else None
        yield from differences(one, other, f"messages[{index}]")


def _message(message: Message) -> Value:
    plain: dict[str, Value] = _plain(message)
    return plain | {"calls": [_plain(call) for call in message.calls]} if message.calls else plain


def _values(left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    yield from differences(left, right, "values")


def _aligned(left: dict[str, Part], right: dict[str, Part]) -> Iterator[tuple[str, Part | None, Part | None]]:
    for name, one in left.items():
        yield name, one, right.get(name)
    for name, other in right.items():
        if name not in left:
            yield name, None, other


_COMPARE: dict[str, Any] = {
    "queues": _queues,
    "pending": _pending,
    "actors": _actors,
    "messages": _messages,
    "values": _values,
}
