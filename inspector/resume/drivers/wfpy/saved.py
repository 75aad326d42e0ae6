"""What a run folder holds for a resume: its checkpoint as wfpy wrote it, and the firings of its journal, with those
of the runs that it continues."""

import json
import os
from collections.abc import Iterator
from typing import Any

from inspector.errors import RefusedError, UnreadableError
from inspector.formats.readers.wfpy.artifacts import in_folder
from inspector.formats.readers.wfpy.checkpoint import Checkpoint
from inspector.formats.readers.wfpy.names import CHECKPOINT, JOURNAL, TRACE
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.formats.readers.wfpy.run import WfpyRun
from inspector.model.text import clean
from inspector.model.values import Value

LONGEST = 1000
"""Runs of one chain of resumes."""


def checkpoint_of(run: WfpyRun) -> Checkpoint | None:
    """The run's own checkpoint, None where it left none."""
    return run.artifacts.checkpoint if run.rebuilt is None else run.rebuilt.checkpoint


def checkpoint_path(run: WfpyRun) -> str:
    """Where the checkpoint's file is."""
    return os.path.abspath(run.artifacts.paths[CHECKPOINT])


def read_checkpoint(run: WfpyRun) -> dict[str, Any]:
    """The checkpoint's file, with texts as they stand. Raises RefusedError."""
    path = checkpoint_path(run)
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise RefusedError(path, "value_unreadable", f"cannot be read: {error}") from error
    return value if isinstance(value, dict) else {}


def header_of(run: WfpyRun) -> dict[str, Value]:
    """The journal's header, {} where there is none."""
    return run.rebuilt.header if run.rebuilt is not None else {}


class Firings:
    """The firings of a run up to a step, with the inputs that they began with: those of the run's own journal, or,
    where it went on from a checkpoint, those of all runs before it and then its own. Raises RefusedError where
    they cannot be had."""

    def __init__(self, run: WfpyRun, step: int) -> None:
        self.step = step
        self.parts = [(_replayable(run, step), step)]
        while "inputs" not in header_of(run):
            run = _before(run, len(self.parts))
            self.parts.insert(0, (_replayable(run, len(run)), len(run)))
        first = self.parts[0][0]
        line = json.loads(first.journal.text(first.header_line or 0))
        self.header: dict[str, Any] = line["header"]

    def __len__(self) -> int:
        return sum(count for _, count in self.parts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The firings in causal order, as wfpy wrote them, numbered anew."""
        seq = 0
        for rebuilt, count in self.parts:
            for step in range(1, count + 1):
                seq += 1
                yield {**json.loads(rebuilt.text(step)), "seq": seq}

    def write(self, folder: str, firings: Iterator[dict[str, Any]]) -> None:
        """Make a run folder that wfpy resumes at any of our steps: the journal, and a queue trace with one step for
        each of its firings."""
        steps = []
        with open(os.path.join(folder, JOURNAL), "x", encoding="utf-8") as file:
            file.write(json.dumps({"header": self.header}) + "\n")
            for firing in firings:
                file.write(json.dumps(firing) + "\n")
                name, seq = firing["actor"].split("/", 1)[0], firing["seq"]
                steps.append({"step": seq, "actorInstanceName": name, "journalSeq": seq})
        with open(os.path.join(folder, TRACE), "x", encoding="utf-8") as file:
            name = self.header.get("workflowName")
            json.dump({"version": 1, "workflowName": name, "stepCount": len(steps), "steps": steps}, file)


def _replayable(run: WfpyRun, step: int) -> Rebuilt:
    """The run's journal, if it is enough up to a step."""
    rebuilt = run.rebuilt
    if rebuilt is None or not rebuilt.header:
        what = "there is no journal" if rebuilt is None else "the journal has no header"
        raise RefusedError(f"step {step}", "step_not_resumable", f"{what}, so nothing can be replayed")
    if rebuilt.header.get("version") != 1:
        detail = f"the journal has version {rebuilt.header.get('version')!r}, and 1 can be replayed"
        raise RefusedError(rebuilt.journal.file.label, "version_unsupported", detail)
    replay = rebuilt.replay
    if replay.stopped_at is not None and step >= replay.stopped_at:
        reason = rebuilt.entry(replay.stopped_at).get("notReplayable")
        detail = f"the firing of step {replay.stopped_at} cannot be replayed: {reason}"
        raise RefusedError(f"step {step}", "step_not_resumable", detail)
    if replay.lost_at is not None and step > replay.lost_at:
        detail = f"lines of the journal are lost or damaged behind step {replay.lost_at}; up to there it can be resumed"
        raise RefusedError(f"step {step}", "step_not_resumable", detail)
    return rebuilt


def _before(run: WfpyRun, depth: int) -> WfpyRun:
    """The run that one went on from, whose folder must stand beside its own."""
    header, folder = header_of(run), run.artifacts.folder
    origin = header.get("resumedFrom")
    if not isinstance(origin, str):
        reason = header.get("inputsNotSaved") or "the journal does not have them"
        raise RefusedError("inputs", "inputs_missing", f"the run cannot begin again: {reason}")
    plain = folder is not None and origin not in ("", ".", "..") and os.path.basename(origin) == origin
    beside = os.path.join(folder or "", os.pardir, origin)
    if not plain or not os.path.isdir(beside) or depth > LONGEST:
        detail = f"the run went on from {clean(origin)!r}, whose folder is not beside it, and has no inputs of its own"
        raise RefusedError("inputs", "inputs_missing", detail)
    try:
        found = WfpyRun(beside, in_folder(beside))
        for _ in found.index():
            pass
    except UnreadableError as error:
        raise RefusedError("inputs", "inputs_missing", f"the run that it went on from: {error}") from error
    if header_of(found).get("graph") != header.get("graph"):
        raise RefusedError("inputs", "inputs_missing", f"{clean(origin)!r} is of another graph")
    return found
