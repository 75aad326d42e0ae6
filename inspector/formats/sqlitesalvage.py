"""What can still be read of a damaged SQLite database, as a sound one in memory."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

PROBES = 400
"""Reads of a table that may fail before the rest of it is given up."""
REACH = 1 << 20
"""How far behind the last readable row id another one is looked for, where the table's end cannot be read."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
FAULTS = (sqlite3.Error, OverflowError, MemoryError)


def salvage(
    source: sqlite3.Connection, tables: Mapping[str, Sequence[str]], note: Callable[[str], None]
) -> sqlite3.Connection:
    """A database in memory with the rows of `tables` (columns by table) that can be read, under their old
    row ids. `note` is told of each table that lost some."""
    target = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    for number, (table, columns) in enumerate(tables.items()):
        if not columns:
            continue
        target.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, columns))})")
        reading = _Reading(source, target, table, columns)
        reading.run()
        if reading.lost:
            note(f"table {table}: {reading.kept} rows can be read, {reading.lost}")
        with suppress(*FAULTS):
            keys = source.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (table,)).fetchall()
            if keys:
                names = ", ".join(quoted(str(name)) for (name,) in keys)
                target.execute(f"CREATE INDEX {quoted(f'salvaged{number}')} ON {quoted(table)} ({names})")
    return target


class _Reading:
    """Reads a table from both ends of each stretch of row ids; where neither end can be read, from its
    middle."""

    def __init__(
        self, source: sqlite3.Connection, target: sqlite3.Connection, table: str, columns: Sequence[str]
    ) -> None:
        self._source, self._target = source, target
        self._rowid = _rowid(source, table, columns)
        names = [*([self._rowid] if self._rowid else []), *map(quoted, columns)]
        self._select = f"SELECT {', '.join(names)} FROM {quoted(table)} NOT INDEXED"
        places = ", ".join("?" * len(names))
        self._insert = f"INSERT OR IGNORE INTO {quoted(table)} ({', '.join(names)}) VALUES ({places})"
        self.kept = 0
        self.lost: str | None = None
        self._probes = PROBES

    def run(self) -> None:
        if self._rowid is None:
            if not self._take(self._select, ())[1]:
                self.lost = "others cannot"
            return
        gaps = [(LOWEST, HIGHEST)]
        while gaps and self._probes > 0:
            low, high = gaps.pop()
            low, whole = self._between(low, high, "ASC")
            if whole:
                continue
            high, _ = self._between(low, high, "DESC")
            if self.lost is None:
                self.lost = _where(low, high)
            low, high = max(low, -1), min(high, max(low, 0) + REACH)
            middle = (low + high) // 2
            if low + 1 < high:
                gaps += [(middle - 1, high), (low, middle)]

    def _between(self, low: int, high: int, order: str) -> tuple[int, bool]:
        """Takes in the rows strictly between two ids; returns the last id read and whether that was all."""
        query = f"{self._select} WHERE {self._rowid} > ? AND {self._rowid} < ? ORDER BY {self._rowid} {order}"
        last, whole = self._take(query, (low, high))
        return (low if order == "ASC" else high) if last is None else last, whole

    def _take(self, query: str, parameters: Sequence[int]) -> tuple[Any, bool]:
        first, last = (1 if self._rowid else 0), None
        try:
            for row in self._source.execute(query, parameters):
                last = row[0]
                # A page of zeros reads as rows that hold nothing.
                if any(cell is not None for cell in row[first:]):
                    self.kept += self._target.execute(self._insert, row).rowcount
        except FAULTS:
            self._probes -= 1
            return last, False
        return last, True


def _rowid(source: sqlite3.Connection, table: str, columns: Sequence[str]) -> str | None:
    """The name under which the table's row id can be asked for; None where it has none."""
    taken = {column.lower() for column in columns}
    for name in ("rowid", "_rowid_", "oid"):
        if name not in taken:
            try:
                source.execute(f"SELECT {name} FROM {quoted(table)} LIMIT 0")
            except sqlite3.Error:
                return None
            return name
    return None


def _where(low: int, high: int) -> str:
    if low == LOWEST:
        return "others cannot"
    return f"others behind row {low}" + (f" and before row {high}" if high < HIGHEST else "") + " cannot"


def quoted(name: str) -> str:
    """A table or column name for use in a query."""
    return '"' + name.replace('"', '""') + '"'
