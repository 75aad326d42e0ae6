"""The problems of a run of a store."""

from collections.abc import Sequence
from typing import overload

from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.sqlitefile import Database
from inspector.model.run import Problem


class Problems(Sequence[Problem]):
    """Those of the database and of one of its rows, as they are known when they are looked at: what is decoded
    late is found to be damaged late."""

    def __init__(self, database: Database, row: Row) -> None:
        self._database, self._row = database, row

    def __len__(self) -> int:
        return len(self._database.problems) + len(self._row.problems)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | Sequence[Problem]:
        return [*self._database.problems, *self._row.problems][index]
