"""Where a value stands in a state, as text: how differences name what differs, and edits what they change.

queues.SCOPE/ID[0]            a token of a queue, from its head on
actors.SCOPE/ID.state.FIELD   a field of an actor's state
values.NAME                   a value of the context, or of an agent's scratchpad
messages[3].text              a message of the conversation, or a tool's result
messages[3].calls[0].arguments
pending.CALL.arguments        of the open batch, as is pending.CALL.result
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

from inspector.model.run import Actor, Pending, Queue, State
from inspector.model.text import told_apart
from inspector.model.values import Value

Part = Literal["queues", "actors", "values", "messages", "pending"]
Named = TypeVar("Named")

FORMS = (
    "queues.QUEUE[N], actors.ACTOR.state.FIELD, values.NAME, messages[N].text, messages[N].calls[N].arguments, "
    "pending.CALL.arguments, pending.CALL.result (N from 0)"
)
"""What names a place, for whoever named none."""

_PLACES: dict[Part, re.Pattern[str]] = {
    "queues": re.compile(r"queues\.(?P<name>.+)\[(?P<index>\d{1,9})\]", re.DOTALL),
    "actors": re.compile(r"actors\.(?P<name>.+)\.state\.(?P<field>[^.]+)", re.DOTALL),
    "values": re.compile(r"values\.(?P<name>.+)", re.DOTALL),
    "messages": re.compile(
        r"messages\[(?P<index>\d{1,9})\]\.(?P<field>text|calls\[(?P<call>\d{1,9})\]\.arguments)", re.DOTALL
    ),
    "pending": re.compile(r"pending\.(?P<name>.+)\.(?P<field>arguments|result)", re.DOTALL),
}


class Place(NamedTuple):
    """A place that can be edited: `part` of the state, and in it by `name`, `at` (from 0) and `field`; `call` is the
    number of a call in its message. What a part does not have is None."""

    part: Part
    name: str | None = None
    at: int | None = None
    field: str | None = None
    call: int | None = None


def read_place(text: str) -> Place | None:
    """The place that is named; None for a text that names none which can be edited."""
    for part, pattern in _PLACES.items():
        found = pattern.fullmatch(text)
        if found is not None:
            parts = found.groupdict()
            index, call = parts.get("index"), parts.get("call")
            return Place(
                part,
                parts.get("name"),
                None if index is None else int(index),
                parts.get("field"),
                None if call is None else int(call),
            )
    return None


def value_at(state: State, path: str) -> Value:
    """The value in a place of a state. Raises LookupError where there is none."""
    place = read_place(path)
    if place is None:
        raise LookupError(path)
    at, name = place.at or 0, place.name or ""
    match place.part:
        case "queues":
            return (named(state.queues or (), queue_name)[name].tokens or ())[at]
        case "actors":
            return (named(state.actors or (), actor_name)[name].state or {})[place.field]
        case "values":
            return (state.values or {})[name]
        case "pending":
            return getattr(_call(state.pending or (), name), place.field or "")
        case _:
            message = (state.messages or ())[at]
            return message.text if place.call is None else (message.calls or ())[place.call].arguments


def _call(pending: Sequence[Pending], name: str) -> Pending:
    for call in pending:
        if name in (call.internal_call_id, call.call_id):
            return call
    raise LookupError(name)


def queue_name(queue: Queue) -> str:
    """A queue's path."""
    return "/".join((*queue.scope, queue.id))


def actor_name(actor: Actor) -> str:
    """An actor's path."""
    return "/".join((*actor.scope, actor.id))


def named(items: Sequence[Named], name: Callable[[Named], str]) -> dict[str, Named]:
    """Items by name; a name that stands more than once is numbered."""
    return dict(zip(told_apart(map(name, items), " #{}".format), items, strict=True))
