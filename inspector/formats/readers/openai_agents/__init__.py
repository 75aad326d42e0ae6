"""The OpenAI Agents SDK: RunState documents (JSON) and session databases (SQLite)."""

from inspector.formats.reader import Probe, Reader
from inspector.model.source import RunSet

FORMAT = "openai-agents"
MESSAGES = {"session_id", "message_data"}


def _claims(probe: Probe) -> bool:
    if probe.is_database:
        return any(columns >= MESSAGES for columns in probe.tables.values())
    return {"$schemaVersion", "current_agent"} <= probe.keys.keys()


def _open(probe: Probe) -> RunSet:
    if probe.is_database:
        from inspector.formats.readers.openai_agents.sessions import Sessions

        return Sessions(probe.path, probe.database)
    from inspector.formats.document import document_of
    from inspector.formats.memory import OneRun
    from inspector.formats.readers.openai_agents.runstate import opened

    return OneRun(opened(document_of(probe)), probe.file.label)


READER = Reader(
    name=FORMAT,
    what="runs of the OpenAI Agents SDK: RunState documents (JSON) and session databases (SQLite)",
    drivers=(FORMAT,),
    claims=_claims,
    open=_open,
)
