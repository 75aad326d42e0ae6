"""Large values of a trace: each in a file of its own beside it, named by the SHA-256 of what is in it.

In the trace stands a reference, `{"$type": "large", "sha256": ..., "size": <bytes>, "preview": ...}`, so a token that
passes through many queues is written once.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from inspector.model.run import State
from inspector.model.values import Value, preview, tag

LIMIT = 64 << 10
"""Bytes of JSON from which on a value goes to a file."""
PREVIEW = 80

NAMED = re.compile(r"([0-9a-f]{64})\.json")
"""How the file of a value is named."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def folder(trace: str) -> str:
    """Where the large values of a trace are."""
    return f"{trace}.values"


def named(digest: str) -> str:
    """The name of the file of a value."""
    return f"{digest}.json"


def reference(value: Value, data: bytes) -> Value:
    """What stands for a value whose JSON is `data`."""
    return tag("large", sha256=_digest(data), size=len(data), preview=preview(value, PREVIEW))


def referred(value: Value) -> str | None:
    """The digest that a value is a reference to; None for any other value."""
    if not isinstance(value, dict) or value.get("$type") != "large":
        return None
    digest = value.get("sha256")
    return digest if isinstance(digest, str) and _DIGEST.fullmatch(digest) else None


def whole(data: bytes, digest: str) -> bool:
    """Whether a file holds what its name says."""
    return _digest(data) == digest


def _digest(data: bytes) -> str:
    # A megabyte of OpenSSL, for what few traces have.
    from hashlib import sha256

    return sha256(data).hexdigest()


def references(value: Value) -> set[str]:
    """The digests of all references in a value."""
    found = set[str]()
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            if (digest := referred(item)) is not None:
                found.add(digest)
            elif isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list | tuple):
                below += item
        level = [item for item in below if isinstance(item, dict | list | tuple)]
    return found


def replaced(state: State, load: Callable[[Value], Value]) -> State:
    """A state with what `load` makes of each token in a queue and each field of an actor that is a reference."""

    def one(value: Value) -> Value:
        return load(value) if referred(value) is not None else value

    queues = state.queues
    if queues is not None and any(referred(token) for queue in queues for token in queue.tokens or ()):
        queues = tuple(
            queue
            if queue.tokens is None
            else msgspec.structs.replace(queue, tokens=tuple(one(token) for token in queue.tokens))
            for queue in queues
        )
    actors = state.actors
    if actors is not None and any(_fields(actor.state) for actor in actors):
        actors = tuple(
            msgspec.structs.replace(actor, state={name: one(value) for name, value in actor.state.items()})
            if _fields(actor.state)
            else actor
            for actor in actors
        )
    return msgspec.structs.replace(state, queues=queues, actors=actors)


def _fields(state: Value) -> bool:
    return isinstance(state, dict) and any(referred(value) for value in state.values())
