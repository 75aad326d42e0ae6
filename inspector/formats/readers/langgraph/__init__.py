"""LangGraph: SQLite stores of checkpoints, of every version since 0.2."""

from inspector.formats.reader import Probe, Reader
from inspector.model.source import RunSet

FORMAT = "langgraph"
CHECKPOINTS = {"thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata"}


def _claims(probe: Probe) -> bool:
    return probe.tables.get("checkpoints", set()) >= CHECKPOINTS


def _open(probe: Probe) -> RunSet:
    from inspector.formats.readers.langgraph.threads import Threads

    return Threads(probe.path, probe.database)


READER = Reader(
    name=FORMAT,
    what="checkpoint stores of LangGraph (SQLite), 0.2 and newer",
    drivers=(FORMAT,),
    claims=_claims,
    open=_open,
)
