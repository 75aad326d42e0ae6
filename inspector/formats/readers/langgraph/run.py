"""A thread of a LangGraph store as a run."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from inspector.formats.problems import Problems, zoneless
from inspector.formats.readers.langgraph import FORMAT, messages
from inspector.formats.readers.langgraph.graph import graph
from inspector.formats.readers.langgraph.history import History
from inspector.formats.readers.langgraph.pending import Work, requests
from inspector.formats.readers.langgraph.state import Seen, look
from inspector.formats.readers.langgraph.steps import step as step_of
from inspector.formats.readers.langgraph.store import Store, Thread
from inspector.formats.readers.langgraph.tasks import UNKNOWN
from inspector.formats.search import needles
from inspector.model.run import (
    Definition,
    Problem,
    RawRecord,
    Resume,
    Run,
    RunError,
    RunLink,
    RunRow,
    RunStatus,
    SourceInfo,
    State,
    Step,
    Tool,
)
from inspector.model.values import preview, to_json

STATES = 8
BATCH = 64


class ThreadRun:
    """A RunSource over the checkpoints of a thread in one namespace."""

    def __init__(self, store: Store, thread: Thread, run_id: str, path: str, outer: RunLink | None = None) -> None:
        self._store, self._thread, self._id, self._path, self._outer = store, thread, run_id, path, outer
        self._database = store.database
        self._begin()

    def _begin(self) -> None:
        self._generation = self._database.generation
        self._problems = Problems()
        self._history = History(self._store, self._thread, self._problems)
        self._last = len(self._history)
        self._look = lru_cache(STATES)(self._seen)
        last = self._history.frame(self._last)
        version = None if last is None or last.version is None else preview(last.version, 20)
        self.source = SourceInfo(path=self._path, format=FORMAT, version=version)

    def __len__(self) -> int:
        return self._last

    def index(self) -> Iterator[tuple[int, int]]:
        yield from ()

    def refresh(self) -> bool:
        self._database.refresh()
        if self._generation == self._database.generation:
            return False
        known = next((one for one in self._store.threads() if one.id == self._thread.id), None)
        if known is not None:
            self._thread = known
            self._begin()
        return known is not None

    def run(self) -> Run:
        last = self._history.row(self._last)
        status, reason = self.standing()
        return Run(
            id=self._id,
            name=self._name(),
            kind="workflow",
            status=status,
            reason=reason,
            steps=self._last,
            started=self._history.row(1).time,
            ended=last.time if status == "completed" else None,
            parent=self._parent(),
            error=self._error() if status == "failed" else None,
            usage=messages.usage(self._look(self._last).stored),
        )

    def _name(self) -> str | None:
        """The node whose own graph this is; None for the thread itself."""
        return self._thread.namespace.rpartition("|")[2].partition(":")[0] or None

    def _parent(self) -> RunLink | None:
        """The run of which this one is a part, with the checkpoint that its node was run behind."""
        told = self._history.row(1).metadata.get("parents")
        outer = self._thread.namespace.rpartition("|")[0]
        checkpoint_id = told.get(outer) if isinstance(told, dict) else None
        if self._outer is None or not isinstance(checkpoint_id, str):
            return self._outer
        return RunLink(run=self._outer.run, step=self._store.position(self._thread, outer, checkpoint_id))

    def row(self) -> RunRow:
        """The thread as a line of a list; builds no state."""
        status, reason = self.standing()
        return RunRow(
            id=self._id,
            name=self._name(),
            kind="workflow",
            status=status,
            reason=reason,
            steps=self._last,
            started=self._history.row(1).time,
            updated=self._history.row(self._last).time,
            parent=self._outer,
        )

    def standing(self) -> tuple[RunStatus, str | None]:
        """How the thread stands after its last checkpoint, and why."""
        work = Work(self._history, self._last)
        left = work.unfinished
        if any(task.failed for task in left):
            return "failed", None
        questions = [question for task in left for question in work.questions(task) if not question.answered]
        if questions:
            approval = any(requests(question.value) for question in questions)
            return "suspended", "approval" if approval else "input"
        if work.found.tasks:
            return "interrupted", None
        if work.found.behind or self._history.frame(self._last) is None:
            return "unknown", None
        return "completed", None

    def definition(self) -> Definition:
        seen = self._look(self._last)
        names = dict.fromkeys(call.name for one in seen.state.messages or () for call in one.calls or ())
        return Definition(
            tools=tuple(Tool(name=name) for name in names) or None,
            tools_known="called" if names else "none",
            graph=graph(self._history.frame(self._last), [task.node for task in self._history.tasks(self._last).tasks]),
            model=messages.model(seen.stored),
        )

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        return [step_of(self._history, seq) for seq in range(max(start, 1), min(stop, self._last + 1))]

    def raw(self, step: int) -> RawRecord | None:
        if not 1 <= step <= self._last:
            return None
        row = self._history.row(step)
        record = {
            "thread_id": self._thread.thread,
            "checkpoint_ns": self._thread.namespace,
            "checkpoint_id": row.id,
            "parent_checkpoint_id": row.parent_id,
            "type": row.kind,
            "metadata": row.metadata,
            "checkpoint": self._history.checkpoint(step),
            "writes": [
                {
                    "task_id": write.task,
                    "task_path": write.path or None,
                    "idx": write.position,
                    "channel": write.channel,
                    "value": self._history.value(step, write),
                }
                for write in self._history.writes(step)
            ],
        }
        return RawRecord(where=self._store.place(row.id), text=to_json(record))

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        order = range(min(start, self._last), 0, -1) if backward else range(max(start, 1), self._last + 1)
        sought = needles(text)
        for count, seq in enumerate(order, 1):
            step = step_of(self._history, seq)
            if text in step.name or text in (step.summary or "") or self._history.holds(seq, sought):
                yield seq
            if count % BATCH == 0:
                yield count, len(order)

    def resume(self) -> Resume:
        status, _ = self.standing()
        steps = tuple(range(1, self._last))
        if self._thread.namespace:
            return Resume(driver=None, reasons=("not_resumable",))
        if status in ("completed", "unknown"):
            readable = self._history.frame(self._last) is not None
            reason = "terminal" if status == "completed" else "definition_unknown" if readable else "value_unreadable"
            return Resume(driver=FORMAT, from_=steps if readable else None, reasons=(reason,))
        if self._history.frame(self._last) is None:
            return Resume(driver=FORMAT, reasons=("value_unreadable",))
        return Resume(possible=True, driver=FORMAT, from_=(*steps, self._last))

    def problems(self) -> Sequence[Problem]:
        times = (self._history.row(seq).time for seq in {1, self._last} if self._last)
        return [*self._database.problems, *self._problems, *zoneless(self._id, times)]

    def close(self) -> None:
        """The database belongs to the set of runs."""

    def state(self, step: int) -> State | None:
        if step == 0:
            return State(step=0)
        return self._look(step).state if 1 <= step <= self._last else None

    def _seen(self, seq: int) -> Seen:
        place = self._store.place(self._history.row(seq).id)

        def note(message: str) -> None:
            self._problems.append(Problem(severity="warning", where=place, message=message))

        return look(self._history, seq, note)

    def _error(self) -> RunError | None:
        work = Work(self._history, self._last)
        found = [(task, error) for task in work.unfinished if (error := work.error(task))]
        found.sort(key=lambda pair: pair[1].type == "CancelledError")
        for task, error in found:
            where = None if task.node == UNKNOWN else (task.node,)
            return RunError(type=error.type, message=error.message, step=self._last, where=where)
        return RunError(step=self._last)
