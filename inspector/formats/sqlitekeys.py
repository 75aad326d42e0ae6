"""Rows found fast by columns for which their table has no index: tables that were exported have none of theirs.

What is looked at is not written to. The columns and the row ids are copied to the connection's own temporary
database instead, once for each table, and sorted there: n log n, where a look-up that reads the whole table for
each row costs n². Where rows are to come in the order of their ids, "rowid" is the last of the columns.
"""

import contextlib
import sqlite3

from inspector.formats.sqlitesalvage import quoted

FEW = 4
"""So many look-ups read the table. The copy costs about as much as three of them."""


class Keys:
    """The tables of one connection by the columns that rows are found by."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, tuple[str, ...]], tuple[int, str]] = {}
        self._copies = 0

    def table(self, connection: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> str:
        """What to name in a query to find rows of `table` by these columns: itself, or a copy of the columns
        that has the same row ids."""
        asked, name = self._found.get((table, columns), (0, quoted(table)))
        if asked == FEW:
            self._copies += 1
            name = _copied(connection, table, columns, f"keys{self._copies}") or name
        if asked <= FEW:
            self._found[table, columns] = asked + 1, name
        return name


def _copied(connection: sqlite3.Connection, table: str, columns: tuple[str, ...], name: str) -> str | None:
    """The copy; None where the table has such an index, or cannot be copied."""
    listed = ", ".join(quoted(column) for column in columns if column != "rowid")
    try:
        if _indexed(connection, table, columns):
            return None
        connection.execute(f"CREATE TABLE temp.{name} AS SELECT rowid AS rowid, {listed} FROM {quoted(table)}")
        connection.execute(f"CREATE INDEX temp.{name}_by ON {name} ({listed}, rowid)")
    except (sqlite3.Error, MemoryError):
        with contextlib.suppress(sqlite3.Error):
            connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
        return None
    return f"temp.{name}"


def _indexed(connection: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> bool:
    """Whether one of the table's own indexes begins with the columns."""
    keys = connection.execute("SELECT name, type FROM pragma_table_info(?) WHERE pk > 0", (table,)).fetchall()
    own = keys[0][0] if len(keys) == 1 and keys[0][1].upper() == "INTEGER" else "rowid"
    wanted = {own if column == "rowid" else column for column in columns}
    for (index,) in connection.execute("SELECT name FROM pragma_index_list(?) WHERE partial = 0", (table,)).fetchall():
        parts = connection.execute("SELECT name FROM pragma_index_info(?) ORDER BY seqno", (index,)).fetchall()
        if {part for (part,) in [*parts, (own,)][: len(columns)]} == wanted:
            return True
    return False
