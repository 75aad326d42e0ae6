"""The runs of a store: checkpoint rows, and sessions of the append-only log that came after them."""

import time
from collections.abc import Callable, Iterator, Sequence

from inspector.errors import UsageError
from inspector.formats.readers.vv_agent import checkpoint, session
from inspector.formats.readers.vv_agent.claim import Claim
from inspector.formats.readers.vv_agent.follow import Followed
from inspector.formats.readers.vv_agent.listed import Listed
from inspector.formats.readers.vv_agent.listing import listing
from inspector.formats.readers.vv_agent.verdict import is_known, unknown_words, version
from inspector.formats.sqlitefile import Database
from inspector.model.run import Problem, RunRow, SourceInfo
from inspector.model.source import RunSource
from inspector.model.text import one_line

Clock = Callable[[], float]


class Store:
    """A RunSet. `now` tells the time, in seconds since 1970, by which leases are judged."""

    def __init__(self, path: str, database: Database, now: Clock = time.time) -> None:
        self._path, self._database, self._now = one_line(path), database, now
        self.generation = 0
        """How often the database has been read anew."""
        self._listed: list[Listed] | None = None
        versions = self._versions()
        only = versions[0] if len(versions) == 1 else None
        if session.TABLE in database.tables and only is None:
            only = session.generation(database)
        self.source = SourceInfo(path=self._path, format="vv-agent", version=only)

    def rows(self) -> Sequence[RunRow]:
        return [listed.row for listed in self._rows()]

    def open(self, run_id: str | None = None) -> RunSource:
        rows = self._rows()
        if run_id is None and len(rows) == 1:
            run_id = rows[0].row.id
        if run_id is None:
            raise UsageError(self._path, f"holds {len(rows)} runs: choose one with --run")
        if self._find(run_id) is None:
            shown = ", ".join(listed.row.id for listed in rows[-10:])
            raise UsageError(self._path, f"holds no run {run_id!r}; it holds {shown or 'none'}")
        return Followed(self, run_id)

    def problems(self) -> Sequence[Problem]:
        unknown = [found for found in self._versions() if not is_known(found)] if len(self._rows()) > 1 else []
        where = f"{self._database.label}: {checkpoint.TABLE}"
        return [
            *self._database.problems,
            *(Problem(severity="warning", where=where, message=unknown_words(found)) for found in unknown),
        ]

    def refresh(self) -> bool:
        now = self._now()
        ended = any(listed.expires is not None and listed.expires <= now for listed in self._rows())
        if not self.look() and not ended:
            return False
        self._listed = None
        return True

    def close(self) -> None:
        self._database.close()

    def look(self) -> bool:
        """Reads the database anew if it has changed; True when it had."""
        if not self._database.refresh():
            return False
        self.generation += 1
        self._listed = None
        return True

    def load(self, run_id: str) -> tuple[RunSource, Claim] | None:
        """The run as it is now; None when it is gone."""
        listed = self._find(run_id)
        if listed is None:
            return None
        if listed.schema is None and session.TABLE in self._database.tables:
            return session.load(self._database, listed.rowid, run_id, self._path, self._now())
        return checkpoint.load(self._database, listed.rowid, run_id, self._path, self._now())

    def now(self) -> float:
        """The time by which leases are judged."""
        return self._now()

    def _versions(self) -> list[str | None]:
        """The generations of the checkpoint rows, each once."""
        return list(dict.fromkeys(version(listed.schema) for listed in self._rows() if listed.schema))

    def _find(self, run_id: str) -> Listed | None:
        return next((listed for listed in self._rows() if listed.row.id == run_id), None)

    def _rows(self) -> list[Listed]:
        if self._listed is None:
            self._listed = list(self._all())
        return self._listed

    def _all(self) -> Iterator[Listed]:
        if checkpoint.TABLE in self._database.tables:
            yield from listing(self._database, self._now())
        if session.TABLE in self._database.tables:
            yield from session.listing(self._database, self._now())
