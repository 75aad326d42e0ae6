"""Checkpoints of Microsoft's agent-framework: a folder of JSON files, one per checkpoint, or one such file."""

import os
from collections.abc import Sequence

from inspector.errors import InspectorError
from inspector.formats.reader import Probe, Reader
from inspector.model.source import RunSet

FORMAT = "agent-framework"
LOOKED_AT = 50
"""Files of a folder by which it is told."""


def _claims(probe: Probe) -> bool:
    if not probe.is_folder:
        return _is_checkpoint(probe)
    told = [_claims_file(probe.path, name) for name in _files(probe)[:LOOKED_AT]]
    return True in told and False not in told


def _is_checkpoint(probe: Probe) -> bool:
    return {"workflow_name", "graph_signature_hash"} <= probe.keys.keys() and len(probe.keys) > 2


def _claims_file(folder: str, name: str) -> bool | None:
    """Whether a file of a folder is a checkpoint; None where it cannot be told, since it is damaged."""
    probe = Probe(os.path.join(folder, name))
    try:
        return _is_checkpoint(probe) or (None if not probe.keys else False)
    except InspectorError:
        return None
    finally:
        probe.close()


def _files(probe: Probe) -> list[str]:
    return [name for name in probe.names if name.endswith(".json") and not name.startswith(".")]


def _open(probe: Probe) -> RunSet:
    return _together(probe, _files(probe))


def _together(probe: Probe, names: Sequence[str]) -> RunSet:
    from inspector.formats.readers.agent_framework.opening import open_runs

    return open_runs(probe, names)


READER = Reader(
    name=FORMAT,
    what="workflow checkpoints of Microsoft's agent-framework (JSON files, alone or in a folder)",
    drivers=(FORMAT,),
    claims=_claims,
    open=_open,
    together=_together,
)
