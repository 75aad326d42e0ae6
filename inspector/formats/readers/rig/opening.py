"""Opening a saved run of rig, once it is known to be one."""

from collections.abc import Sequence

import msgspec

from inspector.errors import UnreadableError
from inspector.formats.document import Document, document_of
from inspector.formats.memory import OneRun
from inspector.formats.reader import Probe
from inspector.formats.readers.rig.run import RigRun
from inspector.model.run import RunRow
from inspector.model.source import RunSet
from inspector.model.values import preview

FORMATS = (1, 2, 4)
PROPOSED = "1.0"
"""The `$schemaVersion` of a proposal that no release took up: 0.42 with more about each turn."""


def open_run(probe: Probe) -> RunSet:
    """The run of a file. Raises UnreadableError."""
    document = document_of(probe)
    version = _version(document, probe.path)
    if not any(key in document for key in ("new_messages", "chat_history", "state")):
        told = document.problems[0] if document.problems else None
        reason = f"{told.where}: {told.message}" if told else "holds neither messages nor a state"
        raise UnreadableError(probe.path, f"a rig run without messages: {reason}")
    return _RigSet(RigRun(document, version), probe.file.label)


def _version(document: Document, path: str) -> str | None:
    """The number of the format, None where there is none. Raises UnreadableError for one that is not known:
    what its fields mean would be a guess."""
    for key in ("format", "$schemaVersion"):
        found = document.get(key)
        if found is None:
            continue
        if key == "format" and type(found) is int and found in FORMATS:
            return str(found)
        if key == "$schemaVersion" and found == PROPOSED:
            return PROPOSED
        known = ", ".join(map(str, FORMATS))
        shown = f'"{preview(found, 60)}"' if isinstance(found, str) else preview(found, 60)
        raise UnreadableError(path, f"a rig run of {key} {shown}, which is not known here: known are none, {known}")
    return None


class _RigSet(OneRun):
    """The one run of a file; of a large one the steps are counted later."""

    def __init__(self, run: RigRun, run_id: str) -> None:
        super().__init__(run, run_id)
        self._rig = run

    def rows(self) -> Sequence[RunRow]:
        rows = super().rows()
        return rows if self._rig.indexed else [msgspec.structs.replace(row, steps=None) for row in rows]
