"""The runs of a store: one per thread, and one per nested namespace of it."""

from collections.abc import Sequence

from inspector.errors import UsageError
from inspector.formats.readers.langgraph import FORMAT
from inspector.formats.readers.langgraph.run import ThreadRun
from inspector.formats.readers.langgraph.store import Store, run_ids
from inspector.formats.sqlitefile import Database
from inspector.model.run import Problem, RunLink, RunRow, SourceInfo
from inspector.model.source import RunSource
from inspector.model.text import one_line


class Threads:
    """The RunSet of a store: a run per thread, and one per nested namespace of it."""

    def __init__(self, path: str, database: Database) -> None:
        self._path, self._database = one_line(path), database
        self._store = Store(database)
        self.source = SourceInfo(path=self._path, format=FORMAT)
        self._list()

    def _list(self) -> None:
        self._generation = self._database.generation
        self._threads = run_ids(self._store.threads())
        self._places = {(one.thread, one.namespace): run_id for run_id, one in self._threads.items()}
        self._rows: list[RunRow] | None = None

    def rows(self) -> Sequence[RunRow]:
        if self._rows is None:
            self._rows = [self._run(run_id).row() for run_id in self._threads]
        return self._rows

    def open(self, run_id: str | None = None) -> RunSource:
        if run_id is None and len(self._threads) == 1:
            run_id = next(iter(self._threads))
        if run_id is None:
            raise UsageError(self._path, f"holds {len(self._threads)} runs: choose one with --run")
        if run_id not in self._threads:
            shown = ", ".join(list(self._threads)[-10:])
            raise UsageError(self._path, f"holds no run {run_id!r}; it holds {shown or 'none'}")
        return self._run(run_id)

    def _run(self, run_id: str) -> ThreadRun:
        thread = self._threads[run_id]
        outer = thread.namespace.rpartition("|")[0]
        known = self._places.get((thread.thread, outer)) if thread.namespace else None
        return ThreadRun(self._store, thread, run_id, self._path, RunLink(run=known) if known else None)

    def problems(self) -> Sequence[Problem]:
        return self._database.problems

    def refresh(self) -> bool:
        self._database.refresh()
        if self._generation == self._database.generation:
            return False
        self._list()
        return True

    def close(self) -> None:
        self._database.close()
