"""A firing before and after it, as data."""

from collections.abc import Mapping

import msgspec

from inspector.dataflow.actors import Action
from inspector.dataflow.codec import Values
from inspector.dataflow.plan import Node
from inspector.model.changes import Change
from inspector.model.run import Step
from inspector.model.values import Value, preview


class Firing(msgspec.Struct, frozen=True, eq=False):
    """A firing that may begin: node `number` of the plan, its `action` (None for a control node), the queue that
    each input port reads from, the saved `tokens` by port and the saved `state`, and its `count` at this node,
    from 1. `id` is its own within its run, the same when it is tried again."""

    id: str
    number: int
    node: Node
    action: Action | None
    queues: tuple[int, ...]
    tokens: Mapping[str, Value]
    state: Mapping[str, Value]
    count: int
    broken: BaseException | None = None
    """What its guard raised: it fails with that."""


class Committed(msgspec.Struct, frozen=True, eq=False):
    """What a commit did: the step, and its change of the state."""

    step: Step
    change: Change


def guarded(firing: Firing, values: Values) -> Firing | None:
    """The firing, when the guard of its action accepts its tokens, or is broken; None when it does not."""
    action, actor = firing.action, firing.node.actor
    if action is None or action.guard is None or actor is None:
        return firing
    try:
        _, instance = actor.bind(action, {name: values.decode(value) for name, value in firing.state.items()})
        tokens = [values.decode(token) for token in firing.tokens.values()]
        accepts = action.guard(*([] if instance is None else [instance]), *tokens)
        return firing if accepts else None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return msgspec.structs.replace(firing, broken=error)


def items_of(token: Value) -> list[Value]:
    """The items of a loop's token: of a list, tuple, set or deque; of a dict its keys; of
    a text its letters; of a range its numbers. Raises TypeError."""
    if isinstance(token, list):
        return token
    if isinstance(token, dict) and "items" in token and "$type" in token:
        return [pair[0] for pair in token["items"]] if token["$type"] == "dict" else list(token["items"])
    if isinstance(token, dict) and token.get("$type") == "range":
        return list(range(token["start"], token["stop"], token["step"]))
    if isinstance(token, dict) and "$type" not in token:
        return list(token)
    if isinstance(token, str):
        return list(token)
    raise TypeError(f"a loop cannot go over {preview(token, 60)}")
