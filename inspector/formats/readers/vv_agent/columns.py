"""One row of a store, cell by cell.

A cell is read and decoded when it is asked for, so that what is damaged, missing or of another kind in one
column leaves the others as they are. Every problem names its column.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.sqlitefile import Database, quoted
from inspector.model.lazy import Lazy
from inspector.model.run import Problem, Severity
from inspector.model.text import clean, shorten
from inspector.model.values import Value

NAMED = 500
"""Problems of a run that are named; what is wrong more often is wrong everywhere."""
WHOLE_LIMIT = 4 << 20
"""Bytes up to which a list is decoded at once; of a longer one, each element when it is looked at."""

Shape = TypeVar("Shape", list[Any], dict[str, Any])


class Row:
    """Row `rowid` of `table`, called `name` in problems. `damaged` holds the columns that could not be
    read as what they should be."""

    def __init__(self, database: Database, table: str, rowid: int, name: str) -> None:
        self.problems: list[Problem] = []
        self._known: set[Problem] = set()
        self.damaged: set[str] = set()
        self.name = shorten(name, 120)
        self.place = f"{database.label}: {table}[{self.name}]"
        self._database, self._table, self._rowid = database, table, rowid
        self._columns = set(database.tables.get(table, ()))

    def where(self, column: str) -> str:
        """The place of a column, for problems."""
        return f"{self.place}.{column}"

    def note(self, where: str, message: str, severity: Severity = "warning") -> None:
        """Adds a problem, once."""
        self.take([Problem(severity=severity, where=where, message=message)])

    def take(self, problems: Iterable[Problem]) -> None:
        """Adds problems, each once, as long as there are few."""
        for problem in problems:
            if problem in self._known or len(self.problems) > NAMED:
                continue
            self._known.add(problem)
            if len(self.problems) == NAMED:
                problem = Problem(severity="warning", where=self.place, message="more problems are not listed")
            self.problems.append(problem)

    def expect(self, columns: Iterable[str]) -> None:
        """A problem for each of these columns that the table does not have; what it would say is not known."""
        for column in columns:
            if column not in self._columns:
                self._spoilt(column, "the table has no such column: what it would say is not known")

    def cell(self, column: str) -> Any:
        """What stands in a column; None where the table has no such column, or the cell is not readable."""
        return self._read(column, quoted(column))

    def text(self, column: str) -> str | None:
        """The text of a column, clean."""
        found = self.cell(column)
        return clean(found) if isinstance(found, str) else None

    def whole(self, column: str) -> int | None:
        """The integer of a column; anything else but NULL is a problem."""
        found = self.cell(column)
        if found is not None and not isinstance(found, int):
            self._spoilt(column, "is no integer")
            return None
        return found

    def raw(self, column: str) -> bytes | None:
        """The text of a column as it stands in the database; None for NULL and for a number."""
        encoding = next(iter(self._database.rows("PRAGMA encoding")), ("",))[0]
        if encoding == "UTF-8":
            found = self._read(column, f"CASE typeof({quoted(column)}) WHEN 'text' THEN CAST({quoted(column)} AS BLOB) "
                               f"ELSE {quoted(column)} END")  # fmt: skip
        else:
            found = self.cell(column)
        if isinstance(found, str):
            return found.encode()
        if found is not None and not isinstance(found, bytes):
            self._spoilt(column, "is no JSON text")
            return None
        return found

    def value(self, column: str, kind: type[Shape]) -> Shape | None:
        """The JSON value of a column, as far as it is sound; None where there is none, or one that is no
        `kind`."""
        text = self.raw(column)
        return None if text is None else self._parsed(column, text, kind)

    def items(self, column: str) -> Sequence[Value] | None:
        """The elements of a JSON list, those of a long one decoded when they are looked at."""
        text = self.raw(column)
        if text is None:
            return None
        if len(text) > WHOLE_LIMIT:
            try:
                return Elements(self, column, msgspec.json.decode(text, type=list[msgspec.Raw]))
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                pass  # damaged, or no list: the careful way says where
        return self._parsed(column, text, list)

    def parse(self, text: bytes, where: str) -> Value:
        """The value of a text that stands at `where`. Raises Damaged."""
        found: list[Problem] = []
        try:
            return parse(text, Place(where), found)
        finally:
            self.take(found)

    def _read(self, column: str, expression: str) -> Any:
        if column not in self._columns:
            return None
        query = f"SELECT {expression} FROM {quoted(self._table)} WHERE rowid = ?"
        return next(iter(self._database.rows(query, (self._rowid,))), (None,))[0]

    def _parsed(self, column: str, text: bytes, kind: type[Shape]) -> Shape | None:
        where = self.where(column)
        try:
            value = self.parse(text, where)
        except Damaged as damage:
            value = damage.value
            kept = "; what is before it is shown" if isinstance(value, kind) and value else ""
            self.damaged.add(column)
            self.note(Place(where).at(text, damage.offset), f"{damage.reason}{kept}", "error")
            return value if isinstance(value, kind) else None
        if isinstance(value, kind):
            return value
        if value is not None:
            self._spoilt(column, "is no JSON list" if kind is list else "is no JSON object")
        return None

    def _spoilt(self, column: str, message: str) -> None:
        self.damaged.add(column)
        self.note(self.where(column), message, "error")


class Elements(Lazy[Value]):
    """The elements of a long JSON list, decoded one by one."""

    def __init__(self, row: Row, column: str, parts: list[msgspec.Raw]) -> None:
        self._row, self._where, self._parts = row, row.where(column), parts

    def __len__(self) -> int:
        return len(self._parts)

    def item(self, at: int) -> Value:
        try:
            return self._row.parse(bytes(self._parts[at]), f"{self._where}[{at}]")
        except Damaged as damage:  # what the quick splitter lets pass and the careful reading does not
            return damage.value
