"""What is to run after a checkpoint, and how far it got: computed from the file, without the graph.

A node comes next when a channel that triggers it holds something it has not seen, or when a `Send` waits
for it. What each of these tasks has written since stands in the `writes` of the checkpoint. There a task
is named by its path; old versions left that out, so there its id is computed and compared.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from inspector.formats.readers.langgraph.frames import (
    INPUT,
    INTERRUPT,
    START,
    Frame,
    fired,
    internal,
    listed,
    newer,
    target,
)
from inspector.formats.readers.langgraph.store import Nested, Write
from inspector.formats.readers.langgraph.taskids import PULL, PUSH, Identify
from inspector.formats.symbols import class_of
from inspector.model.values import Value

ERROR, RESUME, SOURCE = "__error__", "__resume__", "__error_source_node__"
RETURN, NOTHING = "__return__", "__no_writes__"
CONTROL = {ERROR, SOURCE, INTERRUPT, RESUME}
NULL_TASK = "00000000-0000-0000-0000-000000000000"
UNKNOWN = "?"
"""The name of a node that the file does not tell."""
_PATH_PULL = re.compile(rf"~{PULL}, (.*?)(?:, node_error_handler, \d{{10}})?", re.DOTALL)
_PATH_PUSH = re.compile(rf"~{PUSH}, (\d{{10}})(?:, .*)?", re.DOTALL)
_PATH_CALL = re.compile(rf"~{PUSH}, ~{PULL}, (.*), \d{{10}}, \d{{10}}", re.DOTALL)


class Task:
    """A node that is to run, or one token for it. `index` is the place of its `Send`, None where channels
    trigger it; `calls` are the ids of the functions that it called as tasks of their own. A `deduced` task is
    known only by what it wrote."""

    def __init__(self, node: str, index: int | None = None, argument: Value = None) -> None:
        self.node, self.index, self.argument = node, index, argument
        self.id: str | None = None
        self.writes: list[Write] = []
        self.deduced = False
        self.calls: dict[str, list[Write]] = {}

    @property
    def finished(self) -> bool:
        """Whether it ran to its end: it has written something besides errors and questions."""
        return any(write.channel not in CONTROL for write in self.writes)

    @property
    def failed(self) -> bool:
        """Whether it failed when it ran last: a question that was answered, and asked no more, stays stored."""
        error, asked = self.written(ERROR), self.written(INTERRUPT)
        return error is not None and (asked is None or error.row > asked.row)

    def written(self, channel: str) -> Write | None:
        """Its last write to a channel of the framework's own: a node and what handles its errors can both have one."""
        found = (write for write in self.writes if write.channel == channel)
        return max(found, key=lambda write: write.row, default=None)


class Known(NamedTuple):
    """What is known of a thread beside one checkpoint: which nodes each channel triggers, as far as they have
    run; names of nodes; the nodes of tasks that have a namespace of their own; how task ids are
    made; and how a write is read."""

    learnt: Mapping[str, Iterable[str]]
    names: Callable[[], Sequence[str]]
    nested: Nested
    identify: Identify
    load: Callable[[Write], Value]


class Tasks:
    """The tasks behind a checkpoint. `behind` are nodes whose successors only the graph knows; `resumed` is
    what was given to resume all of it, `given` are the values that a command has set and no step has taken in."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.behind: list[str] = []
        self.resumed: Write | None = None
        self.given: list[Write] = []
        self._found: dict[str | int, Task] = {}
        self._looked = 0

    def task(self, key: str | int) -> Task | None:
        """The task for a token, by its number; or the first of a node that channels trigger, by its name."""
        for task in self.tasks[self._looked :]:
            self._found.setdefault(task.node if task.index is None else task.index, task)
        self._looked = len(self.tasks)
        return self._found.get(key)

    def deduce(self, node: str) -> Task:
        """A new task that is known only by what it wrote."""
        task = Task(node)
        task.deduced = True
        self.tasks.append(task)
        return task

    def keep(self, wanted: Callable[[Task], bool]) -> None:
        """Leaves out all other tasks."""
        self.tasks = [task for task in self.tasks if wanted(task)]
        self._found, self._looked = {}, 0

    def rename(self, place: int, node: str) -> None:
        """Gives a task the name of its node."""
        self.tasks[place].node = node
        self._found, self._looked = {}, 0

    def add(self, nodes: Iterable[str]) -> None:
        """Nodes that are known to have run, where they are not there yet."""
        known = {task.node for task in self.tasks}
        self.tasks += [Task(node) for node in nodes if node not in known]


def path_node(path: str) -> str | int | None:
    """The node that a task's path names, or the number of its `Send`; None for anything else."""
    if (pull := _PATH_PULL.fullmatch(path)) is not None:
        return pull[1]
    push = _PATH_PUSH.fullmatch(path)
    return None if push is None else int(push[1])


def next_tasks(frame: Frame | None, writes: Sequence[Write], known: Known, before: Sequence[Write] = ()) -> Tasks:
    """The tasks behind a checkpoint with these `writes`; `before` are the writes of its parent, which stand
    in for a checkpoint that cannot be read (`frame` None)."""
    found = Tasks()
    if frame is not None:
        _from_frame(frame, known.learnt, found)
    else:
        # Whether a join is complete cannot be told from here.
        nodes = {target(write.channel) for write in before if not write.channel.startswith("join:")}
        found.tasks += [Task(node) for node in sorted(node for node in nodes if node)]
    orphans: dict[str, list[Write]] = {}
    for write in writes:
        orphans.setdefault(write.task, []).append(write)
    null = orphans.pop(NULL_TASK, [])
    found.resumed = next((write for write in null if write.channel == RESUME), None)
    found.given = [write for write in null if write.channel not in CONTROL and not internal(write.channel)]
    if frame is not None and frame.replaced:
        _drop_replaced(orphans, frame, known)
    for task_id, written in list(orphans.items()):
        if _by_path(found, task_id, written):
            del orphans[task_id]
    if frame is not None:
        _by_id(found, orphans, frame, known)
        if isinstance(frame.version, int) and frame.version >= 4:
            # Here a channel names the node that it triggers, or is known to. What a node that is not triggered left
            # is of a step that is over, as a failure right behind it stores it.
            found.keep(lambda task: not (task.deduced and task.finished and task.node in frame.seen))
    if orphans and frame is not None and len(found.tasks) == 1:
        _called(found.tasks[0], orphans, frame)
    if orphans:
        _without_path(found, orphans, frame, known)
    # As LangGraph lists them: tokens in their order, then nodes by name.
    found.tasks.sort(key=lambda task: (task.index is None, task.index or 0, task.node == UNKNOWN, task.node))
    return found


def _drop_replaced(orphans: dict[str, list[Write]], frame: Frame, known: Known) -> None:
    """Takes out the writes of tokens whose place those of a command have taken: nobody will take them in."""
    own, stale = (
        {name for index, send in enumerate(sends) for name in known.identify(send.node, index, frame, ())}
        for sends in (frame.sends, frame.replaced)
    )
    for task_id in stale - own:
        orphans.pop(task_id, None)


def _by_id(found: Tasks, orphans: dict[str, list[Write]], frame: Frame, known: Known) -> None:
    """Gives writes to the tasks that can have their ids. A task that has written nothing may have begun: then
    its own namespace bears its id."""
    for task in found.tasks:
        own: Collection[str] = known.nested.tasks.get(task.node, ()) if task.id is None else ()
        if orphans or own:
            possible = list(known.identify(task.node, task.index, frame, ()))
            if not _take(task, orphans, possible):
                task.id = next((task_id for task_id in possible if task_id in own), task.id)


def _called(task: Task, orphans: dict[str, list[Write]], frame: Frame) -> None:
    """Gives the only task what the functions that it called have left, where no path says so: results; and if it is
    that of a function itself, which is alone in what the input triggers, all but what it left itself. What it asks or
    why it failed is what one that it called did, said once more."""
    own = {task_id for task_id, written in orphans.items() if all(write.channel != RETURN for write in written)}
    if START in frame.channels and (task.writes or len(own) > 1):
        told = Counter(orphans[task_id][-1].data for task_id in own)
        latest = max(own, key=lambda one: (told[orphans[one][-1].data], orphans[one][-1].row), default="")
        own = set() if task.writes else {latest}
    for task_id in orphans.keys() - own:
        task.calls[task_id] = orphans.pop(task_id)


def _without_path(found: Tasks, orphans: dict[str, list[Write]], frame: Frame | None, known: Known) -> None:
    """Gives the writes of tasks that no path and no id names to tasks, by what they say, by elimination."""
    for task_id, written in list(orphans.items()):
        node = known.nested.nodes.get(task_id) or _said_by(written, frame, known)
        if node is not None:
            task = _node(found, node)
            if task.writes and frame is not None and node in frame.ordered:
                # A command that names a node that waits makes the same task under another id.
                latest = max(task.writes, written, key=lambda writes: writes[0].row)
                task.id, task.writes = latest[0].task, latest
                del orphans[task_id]
            else:
                _take(found.deduce(node) if task.writes else task, orphans, (task_id,))
    if frame is not None:
        present = {task.node for task in found.tasks}
        for name in known.names():
            task = Task(name)
            if name not in present and _take(task, orphans, known.identify(name, None, frame, found.behind)):
                found.tasks.append(task)
    idle = [task for task in found.tasks if not task.writes]
    if len(idle) == 1 and len(orphans) == 1 and not found.behind:
        _take(idle[0], orphans, list(orphans))
    for task_id in list(orphans):
        _take(found.deduce(UNKNOWN), orphans, (task_id,))


def _take(task: Task, orphans: dict[str, list[Write]], possible: Iterable[str]) -> bool:
    """Gives a task the writes of the first of its possible ids that has some."""
    for task_id in possible:
        if task_id in orphans:
            task.id, task.writes = task_id, orphans.pop(task_id)
            return True
    return False


def _said_by(written: Sequence[Write], frame: Frame | None, known: Known) -> str | None:
    """The node that a task's writes name: old versions wrote a node's name to a channel of that name, and
    where a question was asked."""
    old = frame is not None and isinstance(frame.version, int) and frame.version < 3
    for write in written:
        if old and write.channel not in CONTROL and target(write.channel) is None:
            if known.load(write) == write.channel:
                return write.channel
        elif write.channel == INTERRUPT:
            value = known.load(write)
            for item in listed(value) or [value]:
                state = item.get("state") if class_of(item) else None
                places = state.get("ns") if isinstance(state, dict) else None
                for place in listed(places) or ():
                    if isinstance(place, str) and place.endswith(f":{write.task}"):
                        return place.rpartition(":")[0]
    return None


def _from_frame(frame: Frame, learnt: Mapping[str, Iterable[str]], found: Tasks) -> None:
    found.tasks += [Task(send.node, index, send.argument) for index, send in enumerate(frame.sends)]
    nodes = {*frame.ordered}
    for channel, value in frame.channels.items():
        named = target(channel)
        known = set(learnt.get(channel, ()))
        if named is not None and not (named == START and known):
            known.add(named)
        if not known and value == channel:
            # A channel of its own name is how old versions say that a node has run.
            found.behind += [channel]
        version = frame.versions.get(channel)
        for node in known:
            seen = frame.seen.get(node)
            if fired(channel, value) and (seen is None or newer(version, seen.get(channel))):
                nodes.add(node)
    found.tasks += [Task(node) for node in sorted(nodes)]


def _by_path(found: Tasks, task_id: str, written: list[Write]) -> bool:
    path = written[0].path
    if (call := _PATH_CALL.fullmatch(path)) is not None:
        _node(found, call[1]).calls[task_id] = written
        return True
    if (pull := _PATH_PULL.fullmatch(path)) is not None:
        task = _node(found, pull[1])
    elif (push := _PATH_PUSH.fullmatch(path)) is not None:
        index = int(push[1])
        known = found.task(index)
        task = known or Task("?", index)
        if known is None:
            found.tasks.append(task)
    else:
        return False
    task.id = task_id
    task.writes += written
    return True


def _node(found: Tasks, node: str) -> Task:
    task = found.task(node)
    if task is not None:
        return task
    if len(found.tasks) == 1 and found.tasks[0].node == START:
        # The entry point of a function is triggered by the input too, and has a name of its own.
        found.rename(0, node)
        return found.tasks[0]
    return found.deduce(node)


def triggers(seen: Mapping[str, Mapping[str, Value]]) -> dict[str, set[str]]:
    """Which nodes each channel triggers, as far as they have run."""
    found: dict[str, set[str]] = {}
    for node, marks in seen.items():
        if node not in (INPUT, INTERRUPT):
            for channel in marks:
                found.setdefault(channel, set()).add(node)
    return found
