"""A saved run of rig (JSON): 0.39 to 0.42, the later formats 1 and 2, and of format 4 what is known of it."""

from inspector.formats.files import HEAD
from inspector.formats.reader import Probe, Reader
from inspector.model.source import RunSet

OWN = {"max_invalid_tool_call_retries", "invalid_tool_call_retries", "completion_call_index", "rollback_pending"}
"""Keys that nobody else writes."""
SHARED = {"max_turns", "tool_choice", "chat_history", "new_messages", "current_turn", "completion_calls", "state"}
LISTS = {"chat_history", "new_messages", "completion_calls"}


def _claims(probe: Probe) -> bool:
    keys = set(probe.keys)
    if _known(keys):
        return True
    # One of its lists may fill the head: then all the keys are looked at.
    if not keys & LISTS or not keys <= OWN | SHARED or len(probe.head) < HEAD:
        return False
    from inspector.formats.document import Document
    from inspector.formats.jsontext import Damaged

    try:
        document = Document(probe.file)
    except Damaged:
        return False
    return _known(set(document.names))


def _known(keys: set[str]) -> bool:
    own = len(keys & OWN)
    return own >= 2 or (bool(own or "new_messages" in keys) and own + len(keys & SHARED) >= 3)


def _open(probe: Probe) -> RunSet:
    # Imported here, as in every reader: asking whether a file is of its format costs next to nothing.
    from inspector.formats.readers.rig.opening import open_run

    return open_run(probe)


READER = Reader(
    name="rig",
    what="a saved agent run of rig, 0.39 to 0.42 and formats 1, 2 and 4 (JSON)",
    drivers=("agent",),
    claims=_claims,
    open=_open,
)
