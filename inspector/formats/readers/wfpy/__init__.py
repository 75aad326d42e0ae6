"""Runs of wfpy: run folders, folders of runs, and their files one by one. Nothing of wfpy is needed."""

import os

from inspector.formats.reader import Probe, Reader
from inspector.formats.readers.wfpy.names import CONTEXTS, JOURNAL, LOG, is_base, is_run_folder, kind_of
from inspector.model.source import RunSet


def _claims(probe: Probe) -> bool:
    if probe.is_folder:
        return is_run_folder(probe.path) or is_base(probe)
    return kind_of(probe) is not None


def _open(probe: Probe) -> RunSet:
    from inspector.formats.readers.wfpy.artifacts import Artifacts, in_folder
    from inspector.formats.readers.wfpy.run import WfpyRun
    from inspector.formats.readers.wfpy.runs import Base, Log, OneRun

    if probe.is_folder:
        if is_run_folder(probe.path):
            return OneRun(WfpyRun(probe.path, in_folder(probe.path)), _label(probe.path))
        return Base(probe.path)
    kind = kind_of(probe) or JOURNAL
    if kind == LOG:
        return Log(probe.path)
    folder = os.path.dirname(probe.path) or os.curdir
    own = os.path.basename(probe.path) in (kind, *CONTEXTS) and os.path.isfile(probe.path)
    if own and is_run_folder(folder):
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
