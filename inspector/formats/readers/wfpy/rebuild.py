"""From a journal to what is known of a run.

What is new is read twice: for the names in it, since a nested workflow must be known whole before tokens move
through it, and for the replay.
"""

import json
import os
from collections.abc import Iterator

import msgspec

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.readers.wfpy import layout
from inspector.formats.readers.wfpy.artifacts import Artifacts, beside, origin_of, whole
from inspector.formats.readers.wfpy.checkpoint import Checkpoint
from inspector.formats.readers.wfpy.journal import PIECES, Entry, Journal
from inspector.formats.readers.wfpy.names import JOURNAL
from inspector.formats.readers.wfpy.network import Network, TooLarge
from inspector.formats.readers.wfpy.queues import Queue
from inspector.formats.readers.wfpy.replay import Replay
from inspector.formats.readers.wfpy.schedule import Schedule
from inspector.formats.readers.wfpy.tokens import Store
from inspector.formats.readers.wfpy.trace import Trace
from inspector.formats.readers.wfpy.typed import PICKLE, typed
from inspector.model.run import Problem, Severity
from inspector.model.values import Value

CHAIN = 100
"""Runs that one is followed back through."""


class Rebuilt:
    """The last run in a journal: `network` with all that passed through it, `replay` with the order of its
    steps. Both are new after each time `began` counts up. `checkpoint` and `trace` are those of the artifacts
    if they are of this run, `origin` the checkpoint that it continues."""

    def __init__(self, artifacts: Artifacts, journal: Journal) -> None:
        self.artifacts, self.journal, self.problems = artifacts, journal, journal.problems
        self.header = _first_header(journal)
        self.headers = self.began = 0
        self.outlived = False
        """Whether the other artifacts are of an earlier run of this id."""
        self._checkpoint: Checkpoint | None = None
        self.trace: Trace | None = None
        self.origin: Checkpoint | None = None
        self.schedule: Schedule | None = None
        self.places: list[Queue | None] = []
        self.store, self.network = Store(journal), Network()
        self.replay = Replay(self.network, self.store, journal)
        self._names = Network()
        self._first = self._line = self._entries = self.seq = 0
        self._again = True
        self._damaged = False

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The run's checkpoint, if it left one."""
        return self._checkpoint if self.began else self._plausible()

    def _plausible(self) -> Checkpoint | None:
        record = self.artifacts.record
        return None if record is not None and record.failure() == {} else self.artifacts.checkpoint

    @property
    def header_line(self) -> int | None:
        """The line of the header, None where there is none."""
        return self._first if self.headers else None

    def index(self) -> Iterator[tuple[int, int]]:
        """Read on to the end of the journal; see `RunSource.index`."""
        journal = self.journal
        size = journal.file.size
        for _ in self.artifacts.trace.load() if self.artifacts.trace is not None else ():
            yield 0, size
        for batch in journal.read():
            for number, line in batch:
                for at, entry in journal.entries(number, line):
                    self._learn(at, entry)
            yield journal.lines.scanned // 2, size
        if self._again or self._names.late:
            self._begin()
        for batch in journal.again(self._line):
            for number, line in batch:
                self._line = number + 1
                self._take_in(number, line)
            yield (size + journal.lines.starts[self._line - 1]) // 2, size
        if self.replay.flush():
            # They were done without their tokens. If more is appended, these may come after all.
            self._again = True

    def _learn(self, number: int, entry: Entry) -> None:
        if entry.header is not msgspec.UNSET:
            self._head(number)
            return
        self._entries += 1
        try:
            self._names.note(entry)
        except TooLarge as error:
            self._note("error", number, f"{error}: left out")

    def _head(self, number: int) -> None:
        """A header: the run begins here, and whatever stood above was another's."""
        self.headers += 1
        value = self.journal.value(number).get("header")
        self.header = value if isinstance(value, dict) else {}
        self._first, self._names, self._entries, self._again = number, Network(), 0, True
        if self.headers > 1:
            self._note("warning", number, "a second run begins here: its id was used twice; the first is left out")
        if self.header.get("version") != 1:
            self._note("warning", number, "a journal of another version than 1: read as well as can be")

    def _begin(self) -> None:
        """Everything is set for the first entry: the network, what it began with, the trace's firings."""
        self.began += 1
        if self._entries and not self.headers and self.began == 1:
            self._note("warning", 0, "holds no header: the workflow, its graph and its inputs are not known")
        self.origin = self._origin()
        self._choose()
        try:
            record = None if self.outlived else self.artifacts.record
            network = layout.build(record, self.checkpoint or self.origin, self.trace, self._names)
            self.places = layout.places(network, self.trace) if self.trace is not None else []
            network.complete = (self.checkpoint or self.origin) is not None or None not in (self.places or [None])
            viewer = self.artifacts.viewer or self.artifacts.live
            if viewer is not None and self.checkpoint is None and self.trace is None:
                layout.overlay(network, viewer)
        except TooLarge as error:
            self.problems.append(Problem(severity="error", where=self.journal.file.label, message=str(error)))
            network = self._names
        self.network, self._names, self.store = network, network, Store(self.journal)
        self._again = network.late = False
        self.replay = Replay(network, self.store, self.journal, unknown_inputs="inputs" not in self.header)
        self._line, self.seq = self.journal.line_of(self._first), 0
        self._seed()
        self.schedule = Schedule(self.trace, self.replay, self.places, self._unfinished(), self._final())
        self.schedule.begin()

    def _choose(self) -> None:
        """Which of the artifacts are of this run: those that an earlier run of the same id left are not."""
        trace, checkpoint = self.artifacts.trace, self._plausible()
        if checkpoint is None and self.artifacts.checkpoint is not None:
            self._stale(self.artifacts.checkpoint.label, "the run ended well")
        elif checkpoint is not None and self.header and checkpoint.text("graph") != self.header.get("graph"):
            self._stale(checkpoint.label, "its graph is not the journal's")
            checkpoint = None
        furthest = max((step.journal_seq or 0 for step in trace.steps), default=0) if trace is not None else 0
        self.outlived = trace is not None and self.headers > 1 and furthest > self._entries
        if trace is not None and self.outlived:
            self._stale(trace.label, "it has more firings than the journal's last run")
            trace = checkpoint = None
        self.trace, self._checkpoint = trace, checkpoint

    def _stale(self, label: str, reason: str) -> None:
        message = f"is not of this run ({reason}); left out"
        self.problems.append(Problem(severity="warning", where=label, message=message))

    def _origin(self) -> Checkpoint | None:
        found = origin_of(self.artifacts.folder, self.header.get("resumedFrom"))
        return found if found is not None and found.text("graph") == self.header.get("graph") else None

    @property
    def _middle(self) -> bool:
        """Whether the run began in the middle of another one, of which nothing is known."""
        return self.origin is None and (not self.header or "resumedFrom" in self.header)

    def _seed(self) -> None:
        """What queues and actors began with: the run's inputs, or the checkpoint it continues."""
        if self.origin is not None:
            self._restore(self.origin)
        elif self._middle:
            self.network.begin_unknown()
        for port, text in self._inputs().items():
            for queue in self.network.root.entries.get(port, ()):
                self.replay.seed(queue, self.store.of_text(text))

    def _inputs(self) -> dict[str, bytes]:
        """The run's inputs as wfpy wrote them, by port."""
        try:
            inputs = json.loads(self.journal.text(self._first))["header"]["inputs"]
            return {port: json.dumps(value).encode() for port, value in inputs.items()}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {}

    def _restore(self, origin: Checkpoint) -> None:
        for saved in origin.queues:
            for queue in self.network.plan(saved.scope).queues_of(saved.id, saved.ordinal + 1)[-1:]:
                for index in range(len(saved.tokens)):
                    self.replay.seed(queue, origin.token(self.store, saved, index))
        for queue in self.network.queues():
            self.replay.hand_on(queue)
        for entry in origin.actors:
            actor = self.network.find((*entry.scope, entry.name))
            if actor is None:
                continue
            actor.base = entry.fire_count
            if entry.control is not None:
                self.replay.controls.restore(actor, origin, entry)
            elif entry.pending is not None:
                actor.starts.append(0)
                actor.ends.append(0)

    def _unfinished(self) -> list[str]:
        """Ifs and loops of the top plan that the checkpoint has cut short; and what loops iterate."""
        found = []
        for saved in self.checkpoint.actors if self.checkpoint is not None else ():
            actor = self.network.find((*saved.scope, saved.name))
            if self.checkpoint is None or saved.control is None or actor is None:
                continue
            if self.origin is None and "iter" not in actor.ins:
                self.replay.controls.state(actor).items = self.checkpoint.items(self.store, saved.control)
            if not saved.scope and saved.pending is not None:
                found.append(saved.name)
        return found

    def _final(self) -> dict[str, int | None]:
        """How often each actor of the top plan had fired in the end, as the record or the checkpoint has it."""
        found: dict[str, int | None] = {}
        record = None if self.outlived else self.artifacts.record
        for entry in record.objects("actors") if record is not None else ():
            found[str(entry.get("instanceName"))] = whole(entry.get("fireCount"))
        for saved in self.checkpoint.actors if self.checkpoint is not None else ():
            if not saved.scope:
                found[saved.name] = saved.fire_count
        return found

    def text(self, step: int) -> bytes:
        """The line of a step as it stands."""
        return self.journal.text(self.replay.lines[step - 1])

    def entry(self, step: int) -> dict[str, Value]:
        """The line of a step in full, clean, with wfpy's tags."""
        return self.journal.value(self.replay.lines[step - 1])

    def seq_of(self, step: int) -> int:
        """The number that wfpy gave a step."""
        entry = self.journal.entry(self.replay.lines[step - 1]) if step else None
        return entry.seq if entry is not None and entry.seq is not None else step

    def _take_in(self, number: int, line: bytes) -> None:
        if PICKLE in line:
            typed(self.journal.value(number), self.problems, str(self.journal.place(number)))
        if number in self.journal.broken:
            self._damaged = True
            self.replay.lost()
        for at, entry in self.journal.entries(number, line):
            if entry.header is not msgspec.UNSET or (at >= PIECES and at < self._first):
                continue
            if entry.seq == self.seq + 1:
                self.seq += 1
            else:
                self._number(at, entry)
            self._damaged = False
            try:
                self.replay.take_in(at, entry)
            except TooLarge as error:
                self._note("error", at, f"{error}: left out")
            if self.schedule is not None and self.seq >= self.schedule.due and not self.replay.waiting:
                self.schedule.reached(self.seq)

    def _number(self, number: int, entry: Entry) -> None:
        """Entries are numbered one by one: a gap is a lost line."""
        seq = entry.seq if entry.seq is not None else self.seq + 1
        if seq > self.seq + 1:
            if not self._damaged:
                self._note("warning", number, f"its number is {seq} behind {self.seq}: lines are missing here")
            self.replay.lost()
        elif seq <= self.seq:
            self._note("warning", number, f"its number is {seq}, which is not behind {self.seq}")
        self.seq = max(seq, self.seq)

    def _note(self, severity: Severity, number: int, message: str) -> None:
        self.problems.append(Problem(severity=severity, where=str(self.journal.place(number)), message=message))


def begins_somewhere(header: dict[str, Value], folder: str | None) -> bool:
    """Whether a run's inputs are known: its own, or those of the run that it goes back to by way of others,
    whose folders stand beside its own."""
    graph = header.get("graph")
    for _ in range(CHAIN):
        if "inputs" in header:
            return True
        folder = beside(folder, header.get("resumedFrom"))
        if folder is None:
            return False
        try:
            file = File(os.path.join(folder, JOURNAL))
        except UnreadableError:
            return False
        header = _first_header(Journal(file))
        file.close()
        if header.get("graph") != graph:
            return False
    return False


def _first_header(journal: Journal) -> dict[str, Value]:
    """The header that a journal begins with: the run's own unless its id was used twice."""
    head = journal.file.read(journal.file.start, 1 << 16).split(b"\n", 1)[0]
    try:
        value = parse(head, Place(journal.file.label), [])
    except Damaged:
        return {}
    header = value.get("header") if isinstance(value, dict) else None
    return header if isinstance(header, dict) else {}
