"""The checkpoints of a thread: which nodes ran to make each, and what is to run behind it.

All of it comes from ids, metadata, writes and the bookkeeping; the values of a state are not built here.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from inspector.formats.problems import Problems
from inspector.formats.readers.langgraph.frames import (
    INPUT,
    INTERRUPT,
    START,
    TASKS,
    Frame,
    channel,
    commanded,
    frame,
    internal,
    outline,
    target,
)
from inspector.formats.readers.langgraph.frames import send as send_of
from inspector.formats.readers.langgraph.graph import sources
from inspector.formats.readers.langgraph.serde import Reading
from inspector.formats.readers.langgraph.store import Nested, Row, Store, Thread, Write
from inspector.formats.readers.langgraph.taskids import identifier, is_collapsed, of_no_task
from inspector.formats.readers.langgraph.tasks import (
    CONTROL,
    NULL_TASK,
    Known,
    Tasks,
    next_tasks,
    path_node,
    triggers,
)
from inspector.model.values import Value

BY_HAND = f"~{INTERRUPT}, "
"""How the path of a task begins under which values set by hand are kept, where they take the id of one to come."""
KEPT = 16 << 20
"""Bytes of rows, frames, lists of writes and so on that are kept, about."""
EACH = 512
"""What of them takes how much, where nothing is told of its size."""
Part = TypeVar("Part")


class History:
    """A thread's checkpoints, numbered from 1. What is wrong with what is read is added to `problems`."""

    def __init__(self, store: Store, thread: Thread, problems: Problems) -> None:
        self.store, self.thread, self.problems = store, thread, problems
        self._rows = store.rows_of(thread) or array("q", [thread.row])
        self._kept: dict[tuple[str, int], tuple[Any, int]] = {}
        self._weight = 0

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, seq: int) -> Row:
        """A checkpoint's row."""
        return self._keep("row", seq, self._row)

    def frame(self, seq: int) -> Frame | None:
        """A checkpoint's bookkeeping; None where it cannot be read."""
        return self._keep("frame", seq, self._frame)

    def writes(self, seq: int) -> list[Write]:
        """What was written behind a checkpoint."""
        return self._keep("writes", seq, self._writes)

    def done(self, seq: int) -> list[Write]:
        """What the tasks behind a checkpoint wrote, without what stands there too: what somebody set by hand, which is
        another step's, maybe of another branch, and changes of steps that were not stored."""
        return self._keep("done", seq, self._done)

    def child(self, seq: int) -> int | None:
        """A step that continues a step; None where none does."""
        return self._keep("child", seq, self._child)

    def tasks(self, seq: int) -> Tasks:
        """What is to run behind a step, and how far it got."""
        return self._keep("tasks", seq, self._tasks)

    def reading(self, seq: int) -> Reading:
        """Reads the values of a checkpoint."""
        return Reading(self.store.place(self.row(seq).id), self.problems)

    def checkpoint(self, seq: int) -> Value:
        """A checkpoint with all its values."""
        return self.reading(seq).load(*self.store.checkpoint(self._rows[seq - 1]))

    def channel(self, seq: int, name: str) -> Value:
        """What one channel of a checkpoint holds."""
        return channel(*self.store.checkpoint(self._rows[seq - 1]), name, self.reading(seq).load)

    def value(self, seq: int, write: Write) -> Value:
        """What a write behind a checkpoint holds."""
        return self.reading(seq).load(write.kind, self.store.value(write))

    def parent(self, seq: int) -> int | None:
        """The step that a step continues; None where the file does not have it."""
        return self._seq(self.row(seq).parent, seq - 1)

    def nodes(self, seq: int) -> list[str]:
        """The nodes that ran to make a step; [] where none did or the file does not tell."""
        if self.row(seq).metadata.get("source") in ("input", "fork", "update"):
            return []
        parent = self.parent(seq)
        written = [write for write in self.done(parent) if write.task != NULL_TASK] if parent else []
        ended = {write.task for write in written if write.channel not in CONTROL}
        # Where only the end of a run was stored (durability `exit`), a task may be there with nothing but the
        # question or the error of a run before it.
        if written and all(write.path and write.task in ended for write in written):
            return self._by_path(parent or 0, written)
        return self._by_bookkeeping(parent, seq)

    def holds(self, seq: int, sought: Sequence[bytes]) -> bool:
        """Whether one of these byte strings stands in a checkpoint or in what was written behind it."""
        return self.store.holding(self._rows[seq - 1], sought)

    def _keep(self, what: str, seq: int, make: Callable[[int], Part]) -> Part:
        key = (what, seq)
        if key not in self._kept:
            made = make(seq)
            self._kept[key] = made, EACH if what == "done" else weight(made)  # `writes` has the same
            self._weight += self._kept[key][1]
            while self._weight > KEPT and len(self._kept) > 1:
                self._weight -= self._kept.pop(next(iter(self._kept)))[1]
        found: Part = self._kept[key][0]
        return found

    def _row(self, seq: int) -> Row:
        found = self.store.row(self._rows[seq - 1], self.problems)
        return found or Row(self._rows[seq - 1], "?", None, None, {}, None, None, 0)

    def _frame(self, seq: int) -> Frame | None:
        # What is wrong with a checkpoint is said when its state is looked at.
        reading = Reading(self.row(seq).id, Problems())
        found = outline(*self.store.checkpoint(self._rows[seq - 1]), reading.load)
        made = frame(found)
        orders = [write for write in self.writes(seq) if write.task == NULL_TASK and internal(write.channel)]
        if made is not None and orders:
            made = commanded(made, ((write.channel, self.value(seq, write)) for write in orders))
        parent = self.parent(seq)
        if made is None or made.sends or parent is None or not isinstance(made.version, int) or made.version >= 4:
            return made
        if isinstance(found, dict) and "pending_sends" in found:
            return made
        # Between versions 1 and 4 the tokens stood only among the writes of the checkpoint before.
        written = [self.value(parent, write) for write in self.writes(parent) if write.channel == TASKS]
        return made._replace(sends=tuple(filter(None, map(send_of, written))))

    def _writes(self, seq: int) -> list[Write]:
        return self.store.writes(self._rows[seq - 1])

    def _done(self, seq: int) -> list[Write]:
        writes = self.writes(seq)
        known = of_no_task(self.row(seq).id, len({write.task for write in writes}))
        step = self.row(seq).metadata.get("step")
        known |= {one.task for one in writes if one.task != NULL_TASK and is_collapsed(one.task, one.path, step)}
        return [write for write in writes if write.task not in known and not write.path.startswith(BY_HAND)]

    def _child(self, seq: int) -> int | None:
        if seq < len(self) and self.row(seq + 1).parent == self._rows[seq - 1]:
            return seq + 1
        return self._seq(self.store.child(self._rows[seq - 1]), seq + 1)

    def _seq(self, rowid: int | None, likely: int) -> int | None:
        if rowid is None:
            return None
        if 0 < likely <= len(self) and self._rows[likely - 1] == rowid:
            return likely
        place = bisect_left(self._by_row, rowid, key=self._rows.__getitem__)
        at = self._by_row[place] if place < len(self) else -1
        return at + 1 if at >= 0 and self._rows[at] == rowid else None

    @cached_property
    def _by_row(self) -> Sequence[int]:
        """The places of the checkpoints in the order of their row ids, which nearly always is their own."""
        places = range(len(self))
        if all(one < other for one, other in pairwise(self._rows)):
            return places
        return array("I", sorted(places, key=self._rows.__getitem__))

    def _tasks(self, seq: int) -> Tasks:
        row, parent, child = self.row(seq), self.parent(seq), self.child(seq)
        now = self.frame(seq)
        known = Known(
            learnt=self._learnt_beside(parent, seq),
            names=lambda: self._names,
            nested=self._nested,
            identify=identifier(row.id, self.thread.namespace, row.metadata.get("step")),
            load=lambda write: self.value(seq, write),
        )
        found = next_tasks(now, self.done(seq), known, self.writes(parent) if parent and now is None else ())
        # A node that had run before the last step, and whose end nobody took in that step, has no successors.
        # Values set by hand are no step: nobody had the chance.
        stepped = found.behind and row.metadata.get("source") == "loop"
        before = self.frame(parent) if parent and stepped else None
        found.behind = [name for name in found.behind if before is None or name not in before.versions]
        if child is not None and self.row(child).metadata.get("source") == "loop":
            # What ran is known from what it made; other writes are those of another branch.
            ran = self.nodes(child) if found.behind or any(task.deduced for task in found.tasks) else []
            certain = {task.node for task in found.tasks if not task.deduced}
            found.tasks = [task for task in found.tasks if not task.deduced or task.node in {*ran} - certain]
            found.add(ran if found.behind else ())
            found.behind = []
        return found

    def nested_run(self, task_id: str | None) -> str | None:
        """The id of the run that is a task's own; None where it has none."""
        node = self._nested.nodes.get(task_id or "")
        lead = f"{self.thread.namespace}|" if self.thread.namespace else ""
        return None if node is None else f"{self.thread.thread}/{lead}{node}:{task_id}"

    @cached_property
    def _learnt(self) -> Mapping[str, set[str]]:
        last = self.frame(len(self))
        return triggers(last.seen) if last else {}

    def _learnt_beside(self, parent: int | None, seq: int) -> Mapping[str, set[str]]:
        """Which nodes each channel triggers, as the last checkpoint and another branch from a step's parent tell."""
        other = self.child(parent) if parent else None
        beside = self.frame(other) if other and other != seq else None
        if beside is None:
            return self._learnt
        told = triggers(beside.seen)
        return {name: self._learnt.get(name, set()) | told.get(name, set()) for name in {*self._learnt, *told}}

    @cached_property
    def _names(self) -> list[str]:
        """Names of nodes that the last checkpoint and what was written behind it mention."""
        last = self.frame(len(self))
        names = set(last.seen) if last else set()
        told = {*(last.versions if last else ()), *(write.channel for write in self.writes(len(self)))}
        for name in told:
            if name.startswith("join:"):
                names.update(sources(name))
            names.add(target(name) or "")
        return sorted(names - {"", START, INPUT, INTERRUPT})

    @property
    def _nested(self) -> Nested:
        """Nodes with a namespace of their own in this one."""
        return self.store.nested(self.thread)

    def _by_path(self, parent: int, written: Sequence[Write]) -> list[str]:
        pulled, pushed = set(), []
        for write in written:
            node = path_node(write.path)
            if isinstance(node, str):
                pulled.add(node)
            elif node is not None:
                pushed.append(node)
        found = sorted(pulled)
        before = self.frame(parent) if pushed else None
        sends = before.sends if before else ()
        for index in sorted(set(pushed)):
            node = sends[index].node if index < len(sends) else "?"
            if node not in found:
                found.append(node)
        return found

    def _by_bookkeeping(self, parent: int | None, seq: int) -> list[str]:
        now, before = self.frame(seq), self.frame(parent) if parent else None
        if now is None:
            told = self.row(seq).metadata.get("writes")
            return sorted(told) if isinstance(told, dict) else []
        ran: dict[str, str] = {}
        for node, marks in now.seen.items():
            known: Mapping[str, Value] = before.seen.get(node, {}) if before else {}
            fresh = [str(version) for channel, version in marks.items() if known.get(channel) != version]
            if fresh and node not in (INPUT, INTERRUPT):
                ran[node] = max(version.partition(".")[0].zfill(40) for version in fresh)
        found = sorted(ran, key=lambda node: (ran[node], node))
        if START in found:
            # What was to run when the input came was dropped for it: that it was seen does not mean that it ran.
            return [node for node in found if ran[node] >= ran[START]]
        if before:
            found += [node for node in dict.fromkeys(send.node for send in before.sends) if node not in ran]
        return found


def weight(part: object) -> int:
    """What something that is kept takes, about: a list of writes by what they hold."""
    if isinstance(part, list):
        return EACH + sum(EACH + (len(write.data) if isinstance(write.data, bytes | str) else 0) for write in part)
    if isinstance(part, Frame):
        return EACH * (1 + len(part.channels) + len(part.versions) + len(part.seen) + len(part.sends))
    return EACH
