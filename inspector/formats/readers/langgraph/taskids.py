"""The ids of LangGraph's tasks: hashes of where a task stands and of what triggered it, in three ways that
followed each other. Old stores name a task by nothing else.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import UUID, uuid5

from inspector.formats import xxh3
from inspector.formats.readers.langgraph.frames import INPUT, INTERRUPT, TASKS, Frame, newer, target
from inspector.model.values import Value

PULL, PUSH = "__pregel_pull", "__pregel_push"
POSITIONS = 50
"""Places in a step that the oldest way of hashing is tried with."""

_NUMBERED, _LATE = re.compile(r"(\d{8})-"), "ffffffff-"
FAR = 10_000
"""Steps that a run makes at most of which only the last was stored."""
Identify = Callable[[str, int | None, Frame, Sequence[str]], Iterable[str]]
"""The ids that a node's task may have: node, number of its `Send` (None: channels trigger it), bookkeeping,
and channels that may trigger it though their names do not say so."""


def identifier(checkpoint_id: str, namespace: str, step: Value) -> Identify:
    """Gives the ids of tasks behind a checkpoint."""
    try:
        origin = UUID(checkpoint_id)
    except ValueError:
        return lambda node, index, frame, more: ()
    following = step + 1 if isinstance(step, int) else 0

    def identify(node: str, index: int | None, frame: Frame, more: Sequence[str]) -> Iterator[str]:
        place = f"{namespace}|{node}" if namespace else node
        triggered = [[PUSH]] if index is not None else list(_triggered(node, frame, more))
        for names in triggered:
            path = [PUSH, str(index)] if index is not None else [PULL, *names]
            text = origin.bytes + "".join([place, str(following), node, *path]).encode()
            yield _dashed(xxh3.digest(text))
            yield _dashed(hashlib.sha1(text, usedforsecurity=False).hexdigest())
        for names in triggered if index is None else [[TASKS]]:
            about = {"langgraph_step": following, "langgraph_node": node, "langgraph_triggers": names}
            end = min(len(frame.versions) + len(frame.sends), POSITIONS)
            for position in range(end) if index is None else (index,):
                yield str(uuid5(origin, json.dumps((place, {**about, "langgraph_task_idx": position}))))

    return identify


def of_no_task(checkpoint_id: str, count: int) -> set[str]:
    """The ids under which LangGraph keeps beside a checkpoint what no task behind it wrote: what `update_state` sets
    (there are at most `count`), and an input, for channels of which only changes are stored."""
    try:
        origin = UUID(checkpoint_id)
    except ValueError:
        return set()
    names = (f"{INTERRUPT}:{number}" if number else INTERRUPT for number in range(count))
    return {str(uuid5(origin, name)) for name in (INPUT, *names)}


def is_collapsed(task_id: str, path: str, step: Value) -> bool:
    """Whether an id is made of the number of a step: so LangGraph keeps changes of all the steps of which only the
    last was stored (durability `exit`) beside the checkpoint before them, which is `step`. Ids that are hashes can
    begin with eight digits too; one with a task's own path is of the first step, behind an input or not."""
    match = _NUMBERED.match(task_id)
    if match is None:
        return task_id.startswith(_LATE)
    ahead = int(match[1]) - (step if isinstance(step, int) else 0)
    return 0 < ahead <= (2 if path.startswith("~__") else FAR)


def _triggered(node: str, frame: Frame, more: Sequence[str]) -> Iterator[list[str]]:
    """What may have triggered a node: all the channels that can, those that just did, or another one."""
    seen = frame.seen.get(node, {})
    possible = {*seen, *(channel for channel in (*frame.versions, *frame.channels) if target(channel) == node)}
    recent = {name for name in possible if name in frame.channels and newer(frame.versions.get(name), seen.get(name))}
    own = {channel for channel in possible if channel.startswith(("branch:to:", "join:"))}
    yield from (sorted(names) for names in (possible, recent, own) if names)
    yield from ([name] for name in more)
    if len(more) > 1:
        yield sorted(more)


def _dashed(digest: str) -> str:
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))
