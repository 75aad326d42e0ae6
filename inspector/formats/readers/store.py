"""Stores of durable runs (SQLite): each run a trace whose lines are rows."""

from inspector.formats.reader import Probe, Reader
from inspector.model.source import RunSet


def _claims(probe: Probe) -> bool:
    if not probe.is_database:
        return False
    from inspector.model.stored import COLUMNS

    tables = probe.tables
    return tables.get("runs", set()) >= set(COLUMNS) and tables.get("records", set()) >= {"run", "begin", "line"}


def _open(probe: Probe) -> RunSet:
    from inspector.errors import UnreadableError
    from inspector.formats.storedruns import Runs
    from inspector.model.stored import VERSION

    for (version,) in probe.database.rows("PRAGMA user_version"):
        if isinstance(version, int) and version > VERSION:
            reason = f"is a store of version {version}; this program knows {VERSION}: a newer one is needed"
            raise UnreadableError(probe.path, reason)
    return Runs(probe.path, probe.database)


READER = Reader(
    name="store",
    what="stores of durable runs that this runner writes (SQLite)",
    drivers=("agent", "dataflow"),
    claims=_claims,
    open=_open,
)
