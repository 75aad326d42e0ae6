"""What wfpy calls its files, and which of them a file is by its content: all that detection needs."""

import os

from inspector.formats.reader import Probe

JOURNAL = "run.wf-journal.jsonl"
CHECKPOINT = "run.wf-checkpoint.json"
TRACE = "run.wf-queues.json"
RECORD = "run.wf-run.json"
VIEWER = "run.wf-viewer.json"
LIVE = "run.wf-viewer.live.json"
LOG = "run-log.jsonl"
CONTEXTS = {"run.wf-context.json": "contextVersion", "run.wf-agent-context.json": "agents"}
"""Files that repeat a part of the record, and a key that tells them."""
NAMES = (JOURNAL, CHECKPOINT, TRACE, RECORD, VIEWER)

_LIVE = ("run.wf-viewer.live.json", "run.wf-context.live.json", "run.wf-agent-context.live.json")
_KEYS = {
    CHECKPOINT: {"runId", "workflowName", "graph"},
    TRACE: {"workflowName", "stepCount"},
    VIEWER: {"runId", "workflowName", "running"},
    RECORD: {"runId", "workflowName", "outDir"},
}
"""Keys near the beginning of each file that is one object. The overlay is told before the record: both name
the run's folder."""


def kind_of(probe: Probe) -> str | None:
    """Which of wfpy's files a file is, by its content; None for any other."""
    if any({"actor", "fireCount"} <= keys.keys() for keys in probe.line_keys):
        return JOURNAL
    if probe.keys.get("header") == "{" and b'"workflowName"' in probe.lines[0]:
        return JOURNAL
    for name, keys in _KEYS.items():
        if keys <= probe.keys.keys():
            logged = name == RECORD and not {"actors", "workDir"} & probe.keys.keys()
            return LOG if logged else name
    if {"runId", "workflowName"} <= probe.keys.keys() and probe.keys.keys() & CONTEXTS.values():
        return RECORD
    return None


def is_base(probe: Probe) -> bool:
    """Whether wfpy keeps runs in a folder: it leaves a log of them there, and live files while one runs."""
    if any(name in probe.names for name in _LIVE):
        return any(is_run_folder(os.path.join(probe.path, name)) for name in probe.names)
    if LOG not in probe.names:
        return False
    log = Probe(os.path.join(probe.path, LOG))
    try:
        return not log.is_folder and kind_of(log) == LOG
    finally:
        log.close()


def is_run_folder(path: str) -> bool:
    """Whether a folder holds an artifact of a run."""
    return any(os.path.isfile(os.path.join(path, name)) for name in NAMES)
