"""vv-agent: checkpoint stores of 0.8 to 0.21 (v3 to v12), the session log that replaced them in 0.22, and the
event log beside both."""

from inspector.formats.reader import Probe, Reader
from inspector.model.source import RunSet

_CHECKPOINT = {"checkpoint_key", "schema_version"}
_EVENT = {"event_id", "run_id", "trace_id", "created_at", "type", "version"}


def _claims(probe: Probe) -> bool:
    if probe.is_database:
        return probe.tables.get("checkpoints", set()) >= _CHECKPOINT or {"sk_session", "sk_record"} <= set(probe.tables)
    return any(set(keys) >= _EVENT for keys in probe.line_keys)


def _open(probe: Probe) -> RunSet:
    # Imported here, so that asking whether a file is of this format costs nothing.
    if probe.is_database:
        from inspector.formats.readers.vv_agent.store import Store

        return Store(probe.path, probe.database)
    from inspector.formats.readers.vv_agent.events import EventLog

    return EventLog(probe.path, probe.file)


READER = Reader(
    name="vv-agent",
    what="checkpoint stores, session logs and event logs of vv-agent",
    claims=_claims,
    open=_open,
)
