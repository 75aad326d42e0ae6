"""Digests that hold in this process.

wfpy checks what a replayed firing takes by a digest, and that of a set depends on the order it has in memory, which
differs from process to process. So where sets passed, digests are computed again, from the tokens that the journal
has put there, made by the same code in the same order as the replay will make them.
"""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from inspector.resume.drivers.wfpy.values import TAG


def renewed(firings: Iterable[dict[str, Any]], inputs: Any, library: Any) -> Iterator[dict[str, Any]]:
    """The firings, with digests of sets as they come out here. Every value is read back for that. Raises whatever
    the code of the values raises."""
    known: dict[str, str] = {}
    queues: dict[tuple[str, str], deque[tuple[Any, Any]]] = {}
    for token in inputs.values() if isinstance(inputs, dict) else ():
        _learn(known, [(token, library.encode(library.decode(token)))])
    for entry in firings:
        scope = entry["actor"].rpartition("/")[0]
        consumed = []
        for queue, count, digest in entry.get("consumed") or ():
            waiting = queues.get((scope, queue), deque())
            taken = [waiting.popleft() for _ in range(min(count, len(waiting)))]
            _learn(known, taken)
            consumed.append([queue, count, known.get(digest, digest)])
        for name in ("state", "chatHistory", "context"):
            library.decode(entry.get(name))
        for queue, tokens in entry.get("produced") or ():
            pairs = [(token, library.encode(library.decode(token))) for token in tokens]
            for pair in pairs:
                _learn(known, [pair])
            queues.setdefault((scope, queue), deque()).extend(pairs)
        yield {**entry, "consumed": consumed} if "consumed" in entry else entry


def _learn(known: dict[str, str], pairs: list[tuple[Any, Any]]) -> None:
    """What the digest of these tokens, taken together, was and is."""
    if has_set([old for old, _ in pairs]):
        known[_digest([old for old, _ in pairs])] = _digest([new for _, new in pairs])


def _digest(tokens: list[Any]) -> str:
    return hashlib.sha256(json.dumps(tokens, sort_keys=True).encode()).hexdigest()


def has_set(value: Any) -> bool:
    """Whether there is a set in a value as wfpy saved it. Does not recurse."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            if item.get(TAG) in ("set", "frozenset"):
                return True
            stack += item.values()
    return False
