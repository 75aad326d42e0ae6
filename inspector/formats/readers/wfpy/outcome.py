"""How a run ended, and whether it can go on: from which files are there and what they say.

The record is written at the end, well or not; the checkpoint only after a failure; a killed run leaves its
journal alone. wfpy keeps the text of an error and not its type.
"""

import os
import time
from typing import Any

from inspector.formats.readers.wfpy.artifacts import Artifacts, whole
from inspector.formats.readers.wfpy.checkpoint import Checkpoint
from inspector.formats.readers.wfpy.names import JOURNAL
from inspector.formats.readers.wfpy.rebuild import Rebuilt, begins_somewhere
from inspector.model.run import Record, Resume, RunError, RunLink, RunStatus
from inspector.model.values import Value

FRESH = 120.0
"""Seconds within which the files of a run that says it is running changed last."""
LISTED = 10_000
"""Steps up to which those that a resume can start from are listed."""


class Outcome(Record, frozen=True, kw_only=True):
    """How a run ended, as far as its files say."""

    status: RunStatus
    started: str | None = None
    ended: str | None = None
    error: RunError | None = None
    resumed_from: RunLink | None = None


def outcome(artifacts: Artifacts, checkpoint: Checkpoint | None, rebuilt: Rebuilt | None, steps: int) -> Outcome:
    """The outcome of a run with `steps` steps. `checkpoint` is None where there is none of this run."""
    record = None if rebuilt is not None and rebuilt.outlived else artifacts.record
    viewer = None if rebuilt is not None and rebuilt.outlived else artifacts.viewer
    link = _link(artifacts, rebuilt)
    ended = None
    for source in sorted(filter(None, (record, viewer)), key=lambda source: source.torn):
        if source.text("finishedAt") or "error" in source:
            failed = source.failure()
            if failed is None or (source.torn and checkpoint is not None):
                ended = ended or source.text("finishedAt")
                continue
            return Outcome(
                status=_status(failed),
                started=source.text("startedAt"),
                ended=source.text("finishedAt"),
                error=_error(failed),
                resumed_from=link,
            )
    started = next((found.text("startedAt") for found in (record, viewer, artifacts.live) if found is not None), None)
    if checkpoint is not None:
        failed = checkpoint.field("failed")
        failed = failed if isinstance(failed, dict) and failed else {"message": None}
        return Outcome(status=_status(failed), started=started, ended=ended, error=_error(failed), resumed_from=link)
    if ended is not None or rebuilt is None or not (rebuilt.header or steps):
        return Outcome(status="unknown", started=started, ended=ended, resumed_from=link)
    return Outcome(status="running" if _lives(artifacts) else "interrupted", started=started, resumed_from=link)


def _status(failed: dict[str, Value]) -> RunStatus:
    if not failed:
        return "completed"
    stopped = failed.get("message") == "KeyboardInterrupt" and "entityInstancePath" not in failed
    return "cancelled" if stopped else "failed"


def _error(failed: dict[str, Value]) -> RunError | None:
    if not failed:
        return None
    message, path, name = (failed.get(key) for key in ("message", "entityInstancePath", "entityInstanceName"))
    where = [part for part in path if isinstance(part, str)] if isinstance(path, list) else []
    if not where and isinstance(name, str):
        where = [name]
    return RunError(message=message if isinstance(message, str) else None, where=tuple(where) or None)


def _link(artifacts: Artifacts, rebuilt: Rebuilt | None) -> RunLink | None:
    """The run that this one continues; `step` is wfpy's own number of it."""
    if rebuilt is not None and isinstance(rebuilt.header.get("resumedFrom"), str):
        return RunLink(run=rebuilt.header["resumedFrom"])
    record = artifacts.record
    run = record.text("resumedFrom") if record is not None else None
    return None if run is None or record is None else RunLink(run=run, step=record.number("resumedAtStep"))


def _lives(artifacts: Artifacts) -> bool:
    """Whether a live overlay says that the run is running, and files still change. After a kill it says so
    for ever."""
    live = artifacts.live
    if live is None or live.value("running") is not True:
        return False
    newest = 0.0
    for path in (artifacts.live_path, artifacts.paths.get(JOURNAL)):
        try:
            newest = max(newest, os.stat(path).st_mtime) if path else newest
        except OSError:
            continue
    return 0 <= time.time() - newest < FRESH


def resume(outcome: Outcome, checkpoint: Checkpoint | None, rebuilt: Rebuilt | None, steps: int) -> Resume:
    """Whether the run can go on from its last step: from its checkpoint, else by replaying its journal."""
    limit, reason = _replayable(rebuilt, steps)
    listed = tuple(range(limit + 1)) if limit <= LISTED else None
    reasons: list[str] = []
    possible = False
    if outcome.status == "completed":
        reasons = ["terminal"]
    elif outcome.status == "running":
        reasons = ["owned"]
    elif checkpoint is not None and checkpoint.version != 1:
        reasons = ["version_unsupported"]
    elif checkpoint is not None and not checkpoint.resumable:
        reasons = ["not_resumable"]
    elif checkpoint is not None and checkpoint.torn and not (limit == steps and reason is None):
        reasons = ["value_unreadable"]
    elif checkpoint is not None or (limit == steps and reason is None):
        possible = True
    else:
        reasons = [reason or "step_not_resumable"]
    return Resume(possible=possible, driver="wfpy", from_=listed, reasons=tuple(reasons))


def _replayable(rebuilt: Rebuilt | None, steps: int) -> tuple[int, str | None]:
    """The last step up to which the journal can be replayed, -1 and why where it cannot at all."""
    if rebuilt is None or not rebuilt.header:
        return -1, "not_resumable"
    if rebuilt.header.get("version") != 1:
        return -1, "version_unsupported"
    if not begins_somewhere(rebuilt.header, rebuilt.artifacts.folder):
        return -1, "inputs_missing"
    stopped, lost = rebuilt.replay.stopped_at, rebuilt.replay.lost_at
    return min(steps, steps if stopped is None else stopped - 1, steps if lost is None else lost), None


def run_id(artifacts: Artifacts, checkpoint: Checkpoint | None) -> str | None:
    """The run's id: as a file says, else the folder's name, which is how wfpy names a run."""
    for source in (artifacts.record, checkpoint, artifacts.viewer):
        found = source.text("runId") if source is not None else None
        if found:
            return found
    return artifacts.folder_name


def run_name(artifacts: Artifacts, checkpoint: Checkpoint | None, rebuilt: Rebuilt | None) -> str | None:
    """The workflow's name."""
    name: Any = rebuilt.header.get("workflowName") if rebuilt is not None else None
    for source in (artifacts.record, checkpoint, artifacts.viewer):
        name = name or (source.text("workflowName") if source is not None else None)
    name = name or (artifacts.trace.name if artifacts.trace is not None else None)
    return name if isinstance(name, str) else None


def active(artifacts: Artifacts) -> list[str]:
    """The paths of actors that the live overlay shows as firing."""
    found = []
    for entry in artifacts.live.objects("active") if artifacts.live is not None else ():
        path = entry.get("entityInstancePath")
        if isinstance(path, list) and path and all(isinstance(part, str) for part in path):
            found.append("/".join(path))
    return found


__all__ = ["Outcome", "active", "outcome", "resume", "run_id", "run_name", "whole"]
