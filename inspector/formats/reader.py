"""What a reader is, and the table of them.

A reader is one module (or package) in `readers` with one entry, `READER`. Dropping the module in
makes it known: nothing else names it. It is asked `claims` with a Probe of the path, answers from
what the content is and never from the name, and `open` makes the RunSet.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

import msgspec

from inspector.formats.files import HEAD, SQLITE, File
from inspector.model.source import RunSet

if TYPE_CHECKING:
    from inspector.formats.sqlitefile import Database


class Probe:
    """A path before anybody knows what it is. Everything is fetched when asked for and kept. `told`: whoever opens it
    knows what it is."""

    def __init__(self, path: str, *, told: bool = False) -> None:
        self.path, self._told = path, told
        self.is_folder = path != "-" and os.path.isdir(path)

    @cached_property
    def file(self) -> File:
        """The open file. Raises UnreadableError."""
        return File(self.path, whole=self._told)

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, without a byte order mark; b"" for a folder."""
        return b"" if self.is_folder else self.file.read(self.file.start, HEAD)

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines of the head that are not blank, at most 20; the last may be cut short."""
        return [line for line in self.head.split(b"\n", 40) if line.strip()][:20]

    @cached_property
    def keys(self) -> dict[str, str]:
        """Keys of the JSON object that the file begins with, as far as the head goes, each with the
        first character of its value; {} when it begins otherwise."""
        from inspector.formats.jsonreading import top_keys

        return top_keys(self.head)

    @cached_property
    def line_keys(self) -> list[dict[str, str]]:
        """The same for each of `lines`."""
        from inspector.formats.jsonreading import top_keys

        return [top_keys(line) for line in self.lines]

    @cached_property
    def item_keys(self) -> dict[str, str]:
        """The same for the first object of the list that the file begins with."""
        from inspector.formats.jsonreading import top_keys

        head = self.head.lstrip()
        return top_keys(head[1:].lstrip()) if head[:1] == b"[" else {}

    @property
    def is_database(self) -> bool:
        return self.head.startswith(SQLITE)

    @cached_property
    def database(self) -> "Database":
        """The SQLite file, from a private copy. Raises UnreadableError."""
        from inspector.formats.sqlitefile import Database

        return Database(self.path, self.file)

    @cached_property
    def tables(self) -> dict[str, set[str]]:
        """Columns by table; {} when it is no database. A table with a column `rowid` of its own is none that a
        reader, which finds rows again by their ids, may take for its own."""
        if not self.is_database:
            return {}
        tables = {name: set(columns) for name, columns in self.database.tables.items()}
        return {name: columns for name, columns in tables.items() if "rowid" not in map(str.lower, columns)}

    @cached_property
    def names(self) -> list[str]:
        """What stands in the folder, sorted; [] for a file."""
        return sorted(os.listdir(self.path)) if self.is_folder else []

    def close(self) -> None:
        for part in ("file", "database"):
            if part in self.__dict__:
                self.__dict__.pop(part).close()


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """A format: its `name` (as in `source.format`), a line that says `what` it is, the `drivers` that can
    resume its runs, where they are there, how to tell it and how to open it. A higher `rank` is asked first:
    raise it only to go before a reader whose claim is wider. `together` opens those files of a folder that are its own,
    where several files make a run."""

    name: str
    what: str
    drivers: tuple[str, ...] = ()
    claims: Callable[[Probe], bool]
    open: Callable[[Probe], RunSet]
    together: Callable[[Probe, Sequence[str]], RunSet] | None = None
    rank: int = 0


@cache
def readers() -> Sequence[Reader]:
    """All readers, in the order in which they are asked."""
    import importlib
    import pkgutil

    package = importlib.import_module("inspector.formats.readers")
    found = [
        importlib.import_module(f"{package.__name__}.{module.name}").READER
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    ]
    return sorted(found, key=lambda reader: (-reader.rank, reader.name))
