"""A saved run of rig (JSON): 0.39 to 0.42, the later formats 1 and 2, and of format 4 what is known of it."""

from collections.abc import Sequence

import msgspec

from inspector.errors import UnreadableError
from inspector.formats.document import Document
from inspector.formats.jsontext import Damaged, Place
from inspector.formats.memory import OneRun
from inspector.formats.reader import HEAD, Probe, Reader
from inspector.formats.readers.rig.run import RigRun
from inspector.model.run import RunRow
from inspector.model.source import RunSet
from inspector.model.values import preview

OWN = {"max_invalid_tool_call_retries", "invalid_tool_call_retries", "completion_call_index", "rollback_pending"}
"""Keys that nobody else writes."""
SHARED = {"max_turns", "tool_choice", "chat_history", "new_messages", "current_turn", "completion_calls", "state"}
LISTS = {"chat_history", "new_messages", "completion_calls"}
FORMATS = (1, 2, 4)


def _claims(probe: Probe) -> bool:
    keys = set(probe.keys)
    if _known(keys):
        return True
    # One of its lists may fill the head: then all the keys are looked at.
    if not keys & LISTS or not keys <= OWN | SHARED or len(probe.head) < HEAD:
        return False
    try:
        document = Document(probe.file)
    except Damaged:
        return False
    return _known(set(document.names))


def _known(keys: set[str]) -> bool:
    own = len(keys & OWN)
    return own >= 2 or (bool(own or "new_messages" in keys) and own + len(keys & SHARED) >= 3)


def _open(probe: Probe) -> RunSet:
    try:
        document = Document(probe.file)
    except Damaged as damage:
        place = Place(probe.file.label, 1, probe.file.start).at(probe.head, damage.offset)
        raise UnreadableError(probe.path, f"{place}: {damage.reason}") from damage
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
        known = ", ".join(map(str, FORMATS))
        raise UnreadableError(
            path, f"a rig run of {key} {preview(found, 60)}, which is not known here: known are none, {known}"
        )
    return None


class _RigSet(OneRun):
    """The one run of a file; of a large one the steps are counted later."""

    def __init__(self, run: RigRun, run_id: str) -> None:
        super().__init__(run, run_id)
        self._rig = run

    def rows(self) -> Sequence[RunRow]:
        rows = super().rows()
        return rows if self._rig.indexed else [msgspec.structs.replace(row, steps=None) for row in rows]


READER = Reader(
    name="rig",
    what="a saved agent run of rig, 0.39 to 0.42 and formats 1, 2 and 4 (JSON)",
    drivers=("agent",),
    claims=_claims,
    open=_open,
)
