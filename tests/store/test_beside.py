"""A store that is written to and looked at in one process, while others come and go."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from inspector import held
from inspector.formats import open_path
from inspector.formats.sqlitefile import Database
from inspector.store import open_store

VISIT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM runs").fetchall()
connection.close()
"""


def descriptors(path: Path) -> int:
    """How many of this process are of the file."""
    told = path.stat()
    count = 0
    for fd in range(512):
        try:
            found = os.fstat(fd)
        except OSError:
            continue
        count += (found.st_dev, found.st_ino) == (told.st_dev, told.st_ino)
    return count


def test_looking_leaves_the_locks_of_whoever_writes(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = open_store(path)
    assert store.new_thread("before")
    shown = open_path(str(path))
    for number in range(20):
        store.new_thread(f"thread {number}")
        open_path(str(path)).close()
        Database(str(path)).close()
        shown.refresh()
    assert descriptors(path) < 8, "what is kept is used again"
    subprocess.run([sys.executable, "-c", VISIT, str(path)], check=True)
    assert Path(f"{path}-wal").exists(), "the visitor must see that somebody has it open"
    store.new_thread("after")
    with closing(sqlite3.connect(path)) as other, other:
        assert ("after",) in other.execute("SELECT id FROM threads").fetchall()
    shown.close()
    store.close()
    assert descriptors(path) == 0
    assert os.listdir(tmp_path) == ["runs.db"]


def test_a_file_that_is_no_open_database_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    first, second = open_store(path), open_store(path)
    open_path(str(path)).close()
    kept = descriptors(path)
    first.close()
    assert descriptors(path) > 0
    second.close()
    second.close()
    assert (descriptors(path), kept > 2) == (0, True)
    fd = os.open(path, os.O_RDONLY)
    held.close(fd)
    assert descriptors(path) == 0
