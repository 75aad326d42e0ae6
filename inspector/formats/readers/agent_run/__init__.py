"""A saved agent run of our own (JSON): what `AgentRun.to_json` makes of a run, to be kept by the user's program."""

from inspector.formats.files import HEAD
from inspector.formats.reader import Probe, Reader
from inspector.model.source import RunSet

OWN = {"max_invalid_retries", "phase"}
"""Keys that nobody else writes side by side."""
KEYS = OWN | {
    *("format", "id", "agent", "max_turns", "token_budget", "tool_choice", "output", "history", "messages", "turn"),
    *("usage", "calls", "tries", "invalid_retries", "advertised", "previous_model", "conversation", "announced"),
    *("remembered", "scratch", "telemetry", "queued", "definition", "foreign"),
}


def _claims(probe: Probe) -> bool:
    keys = set(probe.keys)
    if keys >= OWN:
        return True
    # A value may fill the head, and databases sort the keys: then all of them are looked at.
    if not keys or not keys <= KEYS or len(probe.head) < HEAD:
        return False
    from inspector.formats.document import Document
    from inspector.formats.jsontext import Damaged

    try:
        document = Document(probe.file)
    except Damaged:
        return False
    return set(document.names) >= OWN


def _open(probe: Probe) -> RunSet:
    from inspector.formats.document import document_of
    from inspector.formats.memory import OneRun
    from inspector.formats.readers.agent_run.run import opened

    return OneRun(opened(document_of(probe)), probe.file.label)


READER = Reader(
    name="agent-run",
    what="a saved agent run of this runner, as `AgentRun.to_json` writes it (JSON)",
    drivers=("agent",),
    claims=_claims,
    open=_open,
)
