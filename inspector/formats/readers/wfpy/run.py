"""A run of wfpy as a RunSource: its steps are the journal's firings, or the trace's where no journal is."""

import os
from collections.abc import Iterator, Sequence

import msgspec

from inspector.formats.jsonlines import visible
from inspector.formats.problems import Problems, zoneless
from inspector.formats.readers.wfpy import layout, search, steps
from inspector.formats.readers.wfpy.artifacts import Artifacts
from inspector.formats.readers.wfpy.checkpoint import Checkpoint
from inspector.formats.readers.wfpy.checks import Comparison
from inspector.formats.readers.wfpy.definition import definition
from inspector.formats.readers.wfpy.journal import Journal
from inspector.formats.readers.wfpy.names import JOURNAL
from inspector.formats.readers.wfpy.network import Network, TooLarge
from inspector.formats.readers.wfpy.outcome import Outcome, active, outcome, resume, run_id, run_name
from inspector.formats.readers.wfpy.pending import at_end
from inspector.formats.readers.wfpy.queues import Queue
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.formats.readers.wfpy.states import (
    RebuiltStates,
    recorded_state,
    saved_state,
    store_of,
    traced_state,
)
from inspector.formats.readers.wfpy.telling import Telling
from inspector.formats.readers.wfpy.verify import TraceCheck, fingerprint
from inspector.model.run import Definition, Problem, RawRecord, Resume, Run, SourceInfo, State, Step
from inspector.model.text import clean, one_line
from inspector.model.values import Value

TAKEN_IN = 64
"""Batches of a grown journal that one `refresh` takes in; `index` takes in the rest."""


class WfpyRun:
    """One run folder, or one file of it."""

    def __init__(self, path: str, artifacts: Artifacts) -> None:
        self._path = path
        self._begin(artifacts)

    def _begin(self, artifacts: Artifacts) -> None:
        self.artifacts = artifacts
        self._gone: Problem | None = None
        self.rebuilt = Rebuilt(artifacts, Journal(artifacts.journal)) if artifacts.journal is not None else None
        self._inode = _inode(artifacts)
        self._found: list[Problem] = Problems()
        self._checked: object = None
        self._drawn: tuple[Network, list[Queue | None]] | None = None
        self.source = SourceInfo(path=one_line(self._path), format="wfpy", version=self._version())

    @property
    def claim(self) -> str:
        """What the run is claimed by: ids of wfpy are often given by hand, and many runs have one."""
        return "wfpy:" + os.path.realpath(self.artifacts.folder or next(iter(self.artifacts.paths.values())))

    def _version(self) -> str | None:
        """The number of the format; wfpy writes its own version nowhere."""
        if self.rebuilt is not None and self.rebuilt.header:
            version = self.rebuilt.header.get("version")
        elif self.artifacts.checkpoint is not None:
            version = self.artifacts.checkpoint.version
        else:
            version = self.artifacts.trace.version if self.artifacts.trace is not None else None
        return clean(str(version)) if isinstance(version, int | str) else None

    @property
    def _traced(self) -> bool:
        """Whether steps are the trace's: there is no journal with a firing in it."""
        return self.artifacts.trace is not None and (self.rebuilt is None or not self.rebuilt.replay.step)

    def __len__(self) -> int:
        if self.rebuilt is not None and (self.rebuilt.replay.step or not self._indexed):
            return self.rebuilt.replay.step
        return len(self.artifacts.trace) if self.artifacts.trace is not None else 0

    @property
    def counted(self) -> bool:
        """Whether a file tells the firings: without a journal or trace nobody knows how many there were."""
        return self.rebuilt is not None or self.artifacts.trace is not None

    @property
    def _indexed(self) -> bool:
        return self._checked == self._mark

    @property
    def _mark(self) -> object:
        rebuilt = self.rebuilt
        return () if rebuilt is None else (rebuilt.began, rebuilt.replay.read, rebuilt.journal.file.size)

    def index(self) -> Iterator[tuple[int, int]]:
        if self._indexed:
            return
        if self.rebuilt is not None:
            yield from self.rebuilt.index()
            yield from self._check(self.rebuilt)
        else:
            trace = self.artifacts.trace
            for _ in trace.load() if trace is not None else ():
                yield len(self), len(self) + 1
        self._drawn, self._checked = None, self._mark

    def _check(self, rebuilt: Rebuilt) -> Iterator[tuple[int, int]]:
        """Hold what was rebuilt against what else is there."""
        self._found = Problems()
        size = rebuilt.journal.file.size
        well = self._outcome().status == "completed"
        unsure = Telling(rebuilt, ended_well=well).unsure
        if rebuilt.checkpoint is not None:
            for problem in Comparison(rebuilt.checkpoint, rebuilt.replay, unsure).run():
                self._found.append(problem)
        if rebuilt.trace is not None and rebuilt.seq == rebuilt.replay.read:
            check = TraceCheck(rebuilt.trace, rebuilt.replay, rebuilt.places, unsure, ended_well=well)
            for _ in check.run():
                yield size, size
            for problem in check.problems:
                self._found.append(problem)
        self._check_graph(rebuilt)
        if not rebuilt.header and not rebuilt.replay.step:
            message = "holds no firing: a resume that was refused leaves such a file, or a run killed at once"
            self._found.append(Problem(severity="warning", where=rebuilt.journal.file.label, message=message))

    def _check_graph(self, rebuilt: Rebuilt) -> None:
        known = rebuilt.checkpoint is not None or rebuilt.trace is not None
        found = fingerprint(rebuilt.network, self.artifacts.record) if known and not rebuilt.outlived else None
        if found is not None and isinstance(rebuilt.header.get("graph"), str) and found != rebuilt.header["graph"]:
            message = "the graph's digest is not that of the actors and queues that the other files have"
            self._found.append(Problem(severity="warning", where=rebuilt.journal.file.label, message=message))

    def refresh(self) -> bool:
        if self.artifacts.changed() or _inode(self.artifacts) != self._inode:
            if gone := self.artifacts.gone():
                self._inode = _inode(self.artifacts)
                return self._keep(gone)
            self.artifacts.close()
            self._begin(self.artifacts.again())
        elif self.rebuilt is None:
            return False
        else:
            before = self.rebuilt.journal.file.size
            if not self.rebuilt.journal.file.refresh():
                return False
            if self.rebuilt.journal.file.size < before:
                self.artifacts.close()
                self._begin(self.artifacts.again())
        for count, _ in enumerate(self.index()):
            if count > TAKEN_IN:
                break
        return True

    def _keep(self, gone: str) -> bool:
        """A file is gone, and what was known of the run stays. Whether that is new."""
        before = self._gone
        message = "is gone since it was opened: what was known of the run then is shown"
        self._gone = Problem(severity="warning", where=gone, message=message)
        return self._gone != before

    def _outcome(self) -> Outcome:
        return outcome(self.artifacts, self._checkpoint, self.rebuilt, len(self))

    @property
    def _checkpoint(self) -> Checkpoint | None:
        return self.artifacts.checkpoint if self.rebuilt is None else self.rebuilt.checkpoint

    def run(self) -> Run:
        found = self._outcome()
        return Run(
            id=run_id(self.artifacts, self._checkpoint),
            name=run_name(self.artifacts, self._checkpoint, self.rebuilt),
            kind="dataflow",
            status=found.status,
            steps=len(self) if self.counted else None,
            started=found.started,
            ended=found.ended,
            resumed_from=found.resumed_from,
            error=found.error,
        )

    def _network(self) -> tuple[Network, list[Queue | None]]:
        """The network, and which queue stands at each place of the trace."""
        rebuilt = self.rebuilt
        if rebuilt is not None and rebuilt.began and not self._traced:
            return rebuilt.network, rebuilt.places
        if self._drawn is None:
            artifacts, network = self.artifacts, Network()
            places: list[Queue | None] = []
            try:
                network = layout.build(artifacts.record, artifacts.checkpoint, artifacts.trace, network)
                places = layout.places(network, artifacts.trace) if artifacts.trace is not None else []
                overlay = artifacts.viewer or artifacts.live
                if overlay is not None and artifacts.checkpoint is None and not places:
                    layout.overlay(network, overlay)
            except TooLarge as error:
                self._found.append(Problem(severity="error", where=self.source.path, message=str(error)))
            self._drawn = network, places
        return self._drawn

    def definition(self) -> Definition:
        network, places = self._network()
        digest = self.rebuilt.header.get("graph") if self.rebuilt is not None else None
        if digest is None and self._checkpoint is not None:
            digest = self._checkpoint.text("graph")
        known = self._checkpoint is not None or bool(places)
        return definition(network, digest if isinstance(digest, str) else None, complete=known)

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        seqs = range(max(start, 1), min(stop, len(self) + 1))
        if self._traced and self.artifacts.trace is not None:
            return [steps.traced(self.artifacts.trace, seq) for seq in seqs]
        assert self.rebuilt is not None or not seqs
        return [steps.firing(self.rebuilt, seq) for seq in seqs] if self.rebuilt is not None else []

    def state(self, step: int) -> State | None:
        if not 0 <= step <= len(self):
            return None
        last = step == len(self) and self._indexed
        # A checkpoint that breaks off lacks queues which the journal has.
        saved = self._checkpoint is not None and not (self._checkpoint.torn and self.rebuilt is not None)
        state = self._saved(step) if last and saved else self._rebuilt_state(step)
        if last:
            pending = at_end(self._outcome(), self._checkpoint, self.rebuilt, active(self.artifacts))
            state = msgspec.structs.replace(state, pending=pending)
        if state.values is None:
            state = msgspec.structs.replace(state, values=self._context())
        return state

    def _saved(self, step: int) -> State:
        assert self._checkpoint is not None
        return saved_state(self._checkpoint, self._network()[0], step)

    def _rebuilt_state(self, step: int) -> State:
        network, places = self._network()
        if self._traced and self.artifacts.trace is not None:
            return traced_state(self.artifacts.trace, places, self.artifacts.folder, step)
        if self.rebuilt is None or not (self.rebuilt.header or self.rebuilt.replay.step):
            return recorded_state(self.artifacts.record, network, step)
        found = self._outcome()
        well, where = found.status == "completed", found.error.where if found.error is not None else None
        states = RebuiltStates(self.rebuilt, self.artifacts.folder, ended_well=well, failed=where)
        return states.at(step)

    def _context(self) -> dict[str, Value] | None:
        """The shared context of a run in which no firing changed it."""
        if self.rebuilt is None or self.rebuilt.replay.contexts:
            return None
        context = self._checkpoint.field("context") if self._checkpoint is not None else None
        if isinstance(context, dict):
            return store_of(context.get("store"))
        record = self.artifacts.record if not self.rebuilt.outlived else None
        return store_of(record.object("context").get("contextStore")) if record is not None else None

    def raw(self, step: int) -> RawRecord | None:
        if not 0 <= step <= len(self):
            return None
        if self._traced and self.artifacts.trace is not None:
            trace = self.artifacts.trace
            return RawRecord(where=trace.where(step - 1), text=visible(trace.raw(step - 1))) if step else None
        if self.rebuilt is None:
            return None
        number = self.rebuilt.replay.lines[step - 1] if step else self.rebuilt.header_line
        if number is None:
            return None
        journal = self.rebuilt.journal
        return RawRecord(where=str(journal.place(number)), text=visible(journal.text(number)))

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        yield from self.index()
        if self._traced and self.artifacts.trace is not None:
            yield from search.in_trace(self.artifacts.trace, text, start, backward)
        elif self.rebuilt is not None:
            yield from search.in_journal(self.rebuilt, text, start, backward)

    def resume(self) -> Resume:
        return resume(self._outcome(), self._checkpoint, self.rebuilt, len(self))

    def problems(self) -> Sequence[Problem]:
        found: list[Problem] = Problems()
        found.extend([self._gone] if self._gone is not None else [])
        if self.rebuilt is not None:
            tail = self.rebuilt.journal.tail
            found.extend(self.rebuilt.problems)
            found.extend(self.rebuilt.replay.problems)
            found.extend([tail] if tail is not None else [])
        found.extend(self.artifacts.problems)
        if self.artifacts.trace is not None:
            found.extend(self.artifacts.trace.problems)
        found.extend(self._found)
        told = self._outcome()
        found.extend(zoneless(self.source.path, [told.started, told.ended]))
        return found

    def close(self) -> None:
        self.artifacts.close()


def _inode(artifacts: Artifacts) -> object:
    """Changes when the journal is another file than before."""
    try:
        status = os.stat(artifacts.paths[JOURNAL])
        return status.st_dev, status.st_ino
    except (KeyError, OSError, ValueError):
        return None
