"""Runs of wfpy: run folders, folders of runs, and their files one by one. Nothing of wfpy is needed."""

import os

from inspector.formats.reader import Probe, Reader
from inspector.formats.readers.wfpy.artifacts import (
    CHECKPOINT,
    JOURNAL,
    LOG,
    RECORD,
    TRACE,
    VIEWER,
    Artifacts,
    in_folder,
)
from inspector.formats.readers.wfpy.run import WfpyRun
from inspector.formats.readers.wfpy.runs import Base, Log, OneRun, is_run_folder
from inspector.model.source import RunSet

_LIVE = ("run.wf-viewer.live.json", "run.wf-context.live.json", "run.wf-agent-context.live.json")
_KEYS = {
    CHECKPOINT: {"runId", "workflowName", "graph"},
    TRACE: {"workflowName", "stepCount"},
    VIEWER: {"runId", "workflowName", "running"},
    RECORD: {"runId", "workflowName", "outDir"},
}
"""Keys near the beginning of each file that is one object. The overlay is told before the record: both name
the run's folder."""


def _kind(probe: Probe) -> str | None:
    """Which of wfpy's files a file is, by its content; None for any other."""
    if any({"actor", "fireCount"} <= keys.keys() for keys in probe.line_keys):
        return JOURNAL
    if probe.keys.get("header") == "{" and b'"workflowName"' in probe.lines[0]:
        return JOURNAL
    for name, keys in _KEYS.items():
        if keys <= probe.keys.keys():
            logged = name == RECORD and not {"actors", "workDir"} & probe.keys.keys()
            return LOG if logged else name
    return None


def _is_base(probe: Probe) -> bool:
    """Whether wfpy keeps runs in a folder: it leaves a log of them there, and live files while one runs."""
    if any(name in probe.names for name in _LIVE):
        return any(is_run_folder(os.path.join(probe.path, name)) for name in probe.names)
    if LOG not in probe.names:
        return False
    log = Probe(os.path.join(probe.path, LOG))
    try:
        return not log.is_folder and _kind(log) == LOG
    finally:
        log.close()


def _claims(probe: Probe) -> bool:
    if probe.is_folder:
        return is_run_folder(probe.path) or _is_base(probe)
    return _kind(probe) is not None


def _open(probe: Probe) -> RunSet:
    if probe.is_folder:
        if is_run_folder(probe.path):
            return OneRun(WfpyRun(probe.path, in_folder(probe.path)), _label(probe.path))
        return Base(probe.path)
    kind = _kind(probe) or JOURNAL
    if kind == LOG:
        return Log(probe.path)
    folder = os.path.dirname(probe.path) or os.curdir
    if os.path.basename(probe.path) == kind and os.path.isfile(probe.path):
        return OneRun(WfpyRun(probe.path, in_folder(folder)), _label(folder))
    return OneRun(WfpyRun(probe.path, Artifacts({kind: probe.path}, None, {kind: probe.file})), probe.file.label)


def _label(folder: str) -> str:
    return os.path.basename(os.path.abspath(folder)) or folder


READER = Reader(
    name="wfpy",
    what="run folders of wfpy (journal, checkpoint, queue trace, record), one by one or many in a folder",
    drivers=("wfpy",),
    claims=_claims,
    open=_open,
)
