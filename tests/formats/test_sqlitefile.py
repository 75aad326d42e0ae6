"""Databases are looked at without touching them, whatever their state and whoever writes to them."""

import errno
import hashlib
import itertools
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from inspector.errors import UnreadableError
from inspector.formats import open_path, sqlitecopy, sqlitefile, sqlitefolder
from inspector.formats.files import File
from inspector.formats.sqlitefile import Database, quoted
from inspector.formats.sqlitekeys import FEW

REPO = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary copies go; nothing may be left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert os.listdir(folder) == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the database that is looked at."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def make(path: Path, rows: int = 3, journal: str = "delete") -> Path:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"value {n} " + "x" * 200) for n in range(1, rows + 1)])
    connection.commit()
    connection.close()
    return path


def circles(path: Path, keys: str = "k INTEGER PRIMARY KEY, v TEXT", size: int = 512) -> Path:
    """A table whose inner pages lead to one page alone each, many times, six levels deep: more rows than
    anybody could read."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute(f"CREATE TABLE t ({keys})")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 60) for n in range(200)])
    connection.commit()
    connection.close()
    data = path.read_bytes()
    pages = [bytearray(data[begin : begin + size]) for begin in range(0, len(data), size)]
    root = pages[1]
    inner = bytes(root)
    leaf = struct.unpack_from(">I", inner, 8)[0]
    for level in range(6):
        page = root if level == 0 else bytearray(inner)
        to = leaf if level == 5 else len(pages) + (1 if level == 0 else 2)
        for place in [8, *struct.unpack_from(f">{struct.unpack_from('>H', inner, 3)[0]}H", inner, 12)]:
            struct.pack_into(">I", page, place, to)
        if level:
            pages.append(page)
    struct.pack_into(">I", pages[0], 28, len(pages))
    path.write_bytes(b"".join(pages))
    return path


def prints(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Everything in a folder: content, time and mode."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in folder.iterdir()
        if path.is_file()
    }


def keys(database: Database) -> list[object]:
    return [row[0] for row in database.rows("SELECT k FROM t ORDER BY k")]


def killed(source: Path, target: Path) -> Path:
    """The files as they stand, as a kill would leave them, under another name."""
    for suffix in ("", "-wal", "-journal"):
        if Path(f"{source}{suffix}").exists():
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
    return target


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_clean_file_is_read_and_left_alone(home: Path, journal: str) -> None:
    path = make(home / "a.db", journal=journal)
    before = prints(home)
    database = Database(str(path))
    assert database.tables == {"t": ["k", "v"]}
    assert keys(database) == [1, 2, 3]
    assert not database.problems
    assert not database.changed()
    database.close()
    database.close()
    assert prints(home) == before


def test_log_without_shm_holds_everything(home: Path, tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("CREATE TABLE t (k, v)")
    writer.execute("INSERT INTO t VALUES (7, 'in the log')")
    path = killed(tmp_path / "w.db", home / "a.db")
    writer.close()
    assert path.stat().st_size == 4096
    before = prints(home)
    assert "a.db-wal" in before
    database = Database(str(path))
    assert list(database.rows("SELECT * FROM t")) == [(7, "in the log")]
    database.close()
    assert prints(home) == before


def crashed(home: Path, tmp_path: Path) -> Path:
    """A database in the middle of a rolled-back transaction: changed pages in the main file, their old
    content in the journal."""
    source = make(tmp_path / "w.db", rows=200)
    writer = sqlite3.connect(source, isolation_level=None)
    writer.execute("PRAGMA cache_size = 2")
    writer.execute("BEGIN")
    writer.execute("UPDATE t SET v = 'torn'")
    writer.execute("DELETE FROM t WHERE k > 100")
    path = killed(source, home / "a.db")
    writer.execute("ROLLBACK")
    writer.close()
    assert Path(f"{path}-journal").stat().st_size > 0
    assert b"torn" in path.read_bytes()
    return path


def test_hot_journal_is_rolled_back_in_the_copy_only(home: Path, tmp_path: Path) -> None:
    path = crashed(home, tmp_path)
    before = prints(home)
    database = Database(str(path))
    assert keys(database) == list(range(1, 201))
    assert not list(database.rows("SELECT 1 FROM t WHERE v = 'torn'"))
    assert not database.problems
    database.close()
    assert prints(home) == before


def test_journal_that_names_another_file_cannot_have_it_deleted(home: Path, tmp_path: Path) -> None:
    victim = tmp_path / "precious.txt"
    victim.write_text("keep me")
    path = crashed(home, tmp_path)
    name = str(victim).encode()
    tail = struct.pack(">I", 1) + name + struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF)
    with Path(f"{path}-journal").open("ab") as journal:
        journal.write(tail + sqlitecopy.JOURNAL_MAGIC)
    # That this would have been deleted is what makes the test worth having.
    naive = killed(path, tmp_path / "naive.db")
    lost = shutil.copyfile(victim, tmp_path / "saved.txt")
    with closing(sqlite3.connect(naive)) as connection, connection:
        connection.execute("SELECT COUNT(*) FROM t").fetchone()
    connection.close()
    assert not victim.exists()
    shutil.move(lost, victim)
    before = prints(home)
    database = Database(str(path))
    assert keys(database) == list(range(1, 201))
    assert "several databases" in database.problems[0].message
    assert victim.read_text() == "keep me"
    assert prints(home) == before
    database.close()
    victim.unlink()
    database = Database(str(path))
    assert list(database.rows("SELECT 1 FROM t WHERE v = 'torn'")), "the journal of a committed transaction counts not"
    database.close()


WRITER = """
    import sqlite3, sys, time
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("PRAGMA journal_mode = " + sys.argv[2])
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA wal_autocheckpoint = 500")
    connection.execute("CREATE TABLE IF NOT EXISTS t (k, v)")
    print("ready", flush=True)
    number = 0
    while True:
        number += 1
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (?, ?)", (number, "x" * 3000))
        connection.execute("INSERT INTO t VALUES (?, ?)", (-number, "y" * 3000))
        connection.execute("DELETE FROM t WHERE ABS(k) < ?", (number - 100,))
        connection.execute("COMMIT")
        time.sleep(0.001)
"""


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_while_somebody_writes(home: Path, journal: str) -> None:
    path = home / "a.db"
    code = textwrap.dedent(WRITER)
    with subprocess.Popen([sys.executable, "-c", code, str(path), journal], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        try:
            writer.stdout.readline()
            seen = []
            for _ in range(4):
                database = Database(str(path))
                rows = list(database.rows("SELECT MAX(k), SUM(k) FROM t"))
                if not database.problems:
                    assert rows[0][1] in (0, None), "half of a transaction is seen"
                    seen.append(rows[0][0] or 0)
                else:
                    assert all(problem.message for problem in database.problems)
                database.close()
                time.sleep(0.02)
            assert seen == sorted(seen)
            if journal == "wal":
                assert len(seen) >= 2, "a log that is appended to is no reason for doubt"
        finally:
            writer.kill()
    assert {name.removeprefix("a.db") for name in os.listdir(home)} <= {"", "-wal", "-shm", "-journal"}


def test_refresh_takes_in_what_was_written_since(home: Path) -> None:
    path = make(home / "a.db", rows=1, journal="wal")
    database = Database(str(path))
    assert not database.refresh()
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("INSERT INTO t VALUES (9, 'new')")
    assert database.changed()
    assert database.refresh()
    assert keys(database) == [1, 9]
    writer.close()
    path.write_bytes(b"no database at all")
    assert not database.refresh(), "what was read before stays"
    assert keys(database) == [1, 9]
    path.unlink()
    assert not database.refresh()
    assert keys(database) == [1, 9]
    assert not database.problems
    database.close()


@pytest.mark.parametrize("keep", [0, 1 << 30])
def test_refresh_of_a_live_file(home: Path, private: Path, monkeypatch: pytest.MonkeyPatch, keep: int) -> None:
    monkeypatch.setattr(sqlitefile, "KEEP_SIZE", keep)
    monkeypatch.setattr(sqlitecopy, "TICK_NS", 0)
    wholes, real = [], sqlitefile.copy

    def spy(*given: object) -> sqlitecopy.Copied:
        wholes.append(given)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlitefile, "copy", spy)
    path = make(home / "a.db", rows=1, journal="wal")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("INSERT INTO t VALUES (100, 'x')")
    database = Database(str(path))
    for number in range(2, 40):
        # A long text, so that pages move; a row that goes; a checkpoint now and then, after which the log begins anew.
        writer.execute("INSERT INTO t VALUES (?, ?)", (number, "long " * 3000))
        writer.execute("DELETE FROM t WHERE k = ?", (number - 1,))
        if number % 10 == 0:
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)" if number == 20 else "PRAGMA wal_checkpoint")
        before = prints(home)
        assert database.refresh()
        assert prints(home) == before
        assert keys(database) == [number, 100]
        assert list(database.rows("PRAGMA integrity_check")) == [("ok",)]
    assert not database.refresh()
    assert not database.problems
    assert len(wholes) < 12 if keep == 0 else len(wholes) >= 38
    writer.execute("CREATE TABLE other (k)")
    assert database.refresh()
    assert "other" in database.tables
    writer.close()
    assert database.refresh()
    assert keys(database) == [39, 100]
    assert os.listdir(home) == ["a.db"]
    database.close()


def test_rows_are_found_where_nothing_new_can_be_read(
    home: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlitefile, "KEEP_SIZE", 0)
    monkeypatch.setattr(sqlitecopy, "TICK_NS", 0)
    path = make(home / "a.db", rows=1, journal="wal")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("INSERT INTO t VALUES (100, 'x')")
    database = Database(str(path))
    assert {database.keyed("t", "v") for _ in range(FEW + 2)} == {'"t"', "temp.keys1"}
    writer.execute("INSERT INTO t VALUES (101, 'x')")

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full)
        patch.setattr(sqlitefile, "copy", full)
        assert not database.refresh()
    assert list(database.rows(f"SELECT count(*) FROM {database.keyed('t', 'v')}")) == [(2,)]
    assert not database.problems
    writer.close()
    database.close()


def test_what_a_kill_left_goes_with_the_next_copy(home: Path, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(home / "a.db", journal="wal")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("INSERT INTO t VALUES (100, 'x')")
    code = """
        import os, signal, sys
        from inspector.formats import sqlitefile
        sqlitefile.KEEP_SIZE = 0
        database = sqlitefile.Database(sys.argv[1])
        os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "TMPDIR": str(private)}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(path)], cwd=REPO, env=environment)
    (left,) = os.listdir(private)
    monkeypatch.setattr(sqlitefolder, "YOUNG_SECONDS", -1.0)
    monkeypatch.setattr(sqlitefile, "KEEP_SIZE", 0)
    one = Database(str(path))
    (mine,) = os.listdir(private)
    assert mine != left
    two = Database(str(path))
    assert mine in os.listdir(private), "a copy in use is nobody's to remove"
    for database in (one, two):
        assert keys(database) == [1, 2, 3, 100]
        database.close()
    writer.close()


def read_as_nobody(path: Path) -> str:
    """What somebody without rights sees of a database: rows and problems."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            tempfile.tempdir = "/tmp"
            database = Database(str(path))
            said = f"{keys(database)} {[problem.message for problem in database.problems]}"
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_read_only_file_in_a_read_only_folder(journal: str, tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        source = make(tmp_path / "w.db", journal=journal)
        writer = sqlite3.connect(source, isolation_level=None)
        writer.execute("INSERT INTO t VALUES (4, 'last')")
        path = killed(source, folder / "a.db")
        writer.close()
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        before = prints(folder)
        assert read_as_nobody(path) == "[1, 2, 3, 4] []"
        assert prints(folder) == before
    finally:
        shutil.rmtree(folder)


def test_log_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        path = make(folder / "a.db")
        folder.chmod(0o755)
        Path(f"{path}-wal").write_bytes(b"x" * 100)
        Path(f"{path}-wal").chmod(0)
        assert "the newest changes may be missing" in read_as_nobody(path)
    finally:
        shutil.rmtree(folder)


def test_nowhere_to_copy_to(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(home / "a.db", journal="wal")
    before = prints(home)

    def refuse(prefix: str) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(sqlitefolder.tempfile, "mkdtemp", refuse)
    database = Database(str(path))
    assert keys(database) == [1, 2, 3], "without a log the file itself says everything"
    database.close()
    assert prints(home) == before
    Path(f"{path}-wal").write_bytes(b"x" * 100)
    with pytest.raises(UnreadableError, match="No usable temporary"):
        Database(str(path))


def test_large_file_without_a_log_is_read_in_place(home: Path, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(home / "a.db", journal="wal")
    before = prints(home)
    monkeypatch.setattr(sqlitefile, "COPY_LIMIT", 100)
    database = Database(str(path))
    assert os.listdir(private) == []
    assert keys(database) == [1, 2, 3]
    database.close()
    assert prints(home) == before


def test_copies_are_private_and_gone_even_after_a_kill(home: Path, private: Path) -> None:
    path = make(home / "a.db")
    modes: list[tuple[int, int]] = []
    real = sqlitefile.copy

    def spy(base: str, folder: str, *rest: object) -> sqlitecopy.Copied:
        copied = real(base, folder, *rest)  # type: ignore[arg-type]
        modes.append((stat.S_IMODE(os.stat(folder).st_mode), stat.S_IMODE(os.stat(copied.path).st_mode)))
        return copied

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlitefile, "copy", spy)
        database = Database(str(path))
    assert modes == [(0o700, 0o600)]
    if sys.platform == "linux":
        assert os.listdir(private) == [], "an open copy has no name any more"
    assert keys(database) == [1, 2, 3]
    del database
    assert os.listdir(private) == []


@pytest.mark.parametrize("ending", ["raise SystemExit(3)", "1 / 0", "pass"])
def test_copies_are_gone_at_exit(home: Path, private: Path, ending: str) -> None:
    path = make(home / "a.db")
    code = f"""
        import sys, tempfile
        sys.platform = "elsewhere"
        from inspector.formats.sqlitefile import Database
from inspector.formats.sqlitekeys import FEW
        database = Database(sys.argv[1])
        import os
        assert os.listdir(tempfile.gettempdir())
        {ending}
    """
    environment = {**os.environ, "TMPDIR": str(private)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], cwd=REPO, env=environment, capture_output=True
    )
    assert b"AssertionError" not in done.stderr
    assert os.listdir(private) == []


def test_damage_by_place(home: Path) -> None:
    path = make(home / "a.db", rows=300)
    sound = path.read_bytes()
    assert len(sound) > 10 * 4096
    for page in (3, 5, 9):
        damaged = bytearray(sound)
        damaged[page * 4096 : (page + 1) * 4096] = bytes(range(256)) * 16
        path.write_bytes(damaged)
        database = Database(str(path))
        found = keys(database)
        assert 250 < len(found) < 300, f"page {page}"
        assert found == sorted(set(found))
        assert "damaged" in database.problems[0].message
        assert f"{len(found)} rows can be read" in database.problems[1].message
        database.close()
        assert path.read_bytes() == bytes(damaged)


def test_two_bad_pages_leave_what_is_between_them(home: Path) -> None:
    path = make(home / "a.db", rows=300)
    damaged = bytearray(path.read_bytes())
    for page in (4, 8):
        damaged[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(damaged)
    database = Database(str(path))
    found = keys(database)
    assert found[0] == 1
    assert found[-1] == 300
    gaps = [(low, high) for low, high in itertools.pairwise(found) if high != low + 1]  # type: ignore[operator]
    assert len(gaps) == 2
    database.close()


def test_cut_short(home: Path) -> None:
    path = make(home / "a.db", rows=300)
    size = path.stat().st_size
    counts = []
    for part in (0.9, 0.5, 0.2):
        os.truncate(path, int(size * part))
        database = Database(str(path))
        counts.append(len(keys(database)))
        assert f"cut short: {int(size * part)} of {size} bytes" in database.problems[0].message
        database.close()
    assert 300 > counts[0] > counts[1] > counts[2] > 0


@pytest.mark.parametrize("length", [16, 100, 1000])
def test_header_only_is_refused_with_path_and_reason(home: Path, length: int) -> None:
    path = make(home / "a.db")
    os.truncate(path, length)
    with pytest.raises(UnreadableError) as caught:
        Database(str(path))
    assert str(path) in str(caught.value)
    assert "cannot be read" in caught.value.reason


def test_what_is_wrong_with_a_database_of_no_known_kind_is_said(home: Path) -> None:
    path = home / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 900,)] * 50)
    connection.close()
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(UnreadableError, match=r"of no known kind \(tables: t; cut short: 9000 of \d+ bytes are there"):
        open_path(str(path))


def test_no_tables(home: Path) -> None:
    path = home / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE VIEW v AS SELECT 1")
    connection.close()
    database = Database(str(path))
    assert database.tables == {}
    database.close()


def test_what_runs_code_is_no_table(home: Path) -> None:
    path = home / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE real (a, b TEXT DEFAULT (hex(randomblob(4))), c AS (zeroblob(1000000000)) VIRTUAL,
                               CHECK (a IS NOT 3));
            CREATE VIEW checkpoints AS SELECT load_extension('/tmp/evil') AS thread_id;
            CREATE VIRTUAL TABLE words USING fts5(word);
            INSERT INTO real (a) VALUES (1);
            CREATE TRIGGER onwrite AFTER INSERT ON real BEGIN SELECT load_extension('/tmp/evil'); END;
            """
        )
    connection.close()
    database = Database(str(path))
    assert {"checkpoints", "words"}.isdisjoint(database.tables)
    assert database.tables["real"] == ["a", "b"]
    assert not database.problems
    assert list(database.rows("SELECT a FROM real")) == [(1,)]
    assert list(database.rows("SELECT c FROM real")) == []
    assert "rows cannot be read" in database.problems[-1].message
    database.close()


def test_virtual_table_in_disguise(home: Path) -> None:
    path = home / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE fake (y)")
        connection.execute("PRAGMA writable_schema = ON")
        fake = "create /* TABLE */ virtual TABLE fake USING fts5(y)"
        connection.execute("UPDATE sqlite_master SET sql = ?", (fake,))
    connection.close()
    try:
        database = Database(str(path))
    except UnreadableError:
        return
    assert database.tables == {}
    database.close()


def test_values_of_any_type(home: Path) -> None:
    path = home / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (k, v)")
        values = [None, 1, -(2**63), 1.5, float("inf"), "text", b"\x00\xff", ""]
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(values)))
        connection.execute("INSERT INTO t VALUES (8, CAST(x'61ff62' AS TEXT))")
        connection.execute("INSERT INTO t VALUES (9, CAST(x'eda080' AS TEXT))")
        connection.execute("INSERT INTO t VALUES (10, 'nul' || char(0) || 'inside')")
    connection.close()
    database = Database(str(path))
    read = [row[0] for row in database.rows("SELECT v FROM t ORDER BY k")]
    assert read == [*values, "a\\xffb", "\\xed\\xa0\\x80", "nul\x00inside"]
    database.close()


@pytest.mark.parametrize("name", ['we"ird', "semi;colon --", "tab\tle", "Ünï", "a]b", "'"])
def test_names_with_quotes(home: Path, name: str) -> None:
    path = home / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {quoted(name)} ({quoted(name)}, rowid)")
        connection.execute(f"INSERT INTO {quoted(name)} VALUES (1, 'mine')")
    connection.close()
    database = Database(str(path))
    assert database.tables == {name: [name, "rowid"]}
    assert list(database.rows(f"SELECT {quoted(name)} FROM {quoted(name)}")) == [(1,)]
    database.close()


@pytest.mark.parametrize("name", ["a?mode=rw&x.db", "a#b.db", "100%41.db", "sp ace.db", "new\nline.db", "\x1b[2J.db"])
def test_paths_of_any_name(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make(home / name)
    for limit in (sqlitefile.COPY_LIMIT, 0):
        monkeypatch.setattr(sqlitefile, "COPY_LIMIT", limit)
        database = Database(str(home / name))
        assert keys(database) == [1, 2, 3]
        assert "\n" not in database.label
        assert "\x1b" not in database.label
        database.close()
    assert os.listdir(home) == [name]


def test_path_that_is_no_text(home: Path) -> None:
    path = os.fsencode(home) + b"/a\xff.db"
    shutil.copyfile(make(home / "b.db"), path)
    database = Database(os.fsdecode(path))
    assert keys(database) == [1, 2, 3]
    database.close()


@pytest.fixture
def left(home: Path, tmp_path: Path) -> Path:
    """A store of three commits behind its main file, as a killed writer leaves it."""
    path = tmp_path / "writing.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    for number in (1, 2):
        writer.execute("INSERT INTO t VALUES (?)", (number,))
    found = killed(path, home / "a.db")
    writer.close()
    return found


@pytest.mark.parametrize(
    ("change", "rows", "told"),
    [
        (lambda log: log, 2, None),
        (lambda log: log[:-4120], 1, None),  # as if the last commit had never begun
        (lambda log: log[:-1], 1, "breaks off behind byte"),
        (lambda log: log[:-8200] + b"!" + log[-8199:], 0, "2 commits there are not shown"),
        (lambda log: log[:-4100] + b"!" + log[-4099:], 1, "1 commits there are not shown"),
    ],
)
def test_what_a_damaged_log_held_is_told(
    left: Path, change: Callable[[bytes], bytes], rows: int, told: str | None
) -> None:
    log = Path(f"{left}-wal")
    log.write_bytes(change(log.read_bytes()))
    os.utime(log, (1, 1))
    database = Database(str(left))
    assert len(list(database.rows("SELECT * FROM t"))) == rows
    assert [told in problem.message for problem in database.problems if told] == ([True] if told else [])
    assert told or not database.problems
    database.close()


@pytest.mark.parametrize(
    "change", [lambda log: log[:31], lambda log: b"!" + log[1:], lambda log: log[:20] + b"!" + log[21:]]
)
def test_a_log_without_a_header_is_told(left: Path, change: Callable[[bytes], bytes]) -> None:
    log = Path(f"{left}-wal")
    log.write_bytes(change(log.read_bytes()))
    database = Database(str(left))
    assert ["no valid header" in problem.message for problem in database.problems] == [True]
    database.close()


def test_a_log_that_is_being_written_breaks_off_without_a_word(left: Path) -> None:
    log = Path(f"{left}-wal")
    log.write_bytes(log.read_bytes()[:-1])
    database = Database(str(left))
    assert not database.problems
    database.close()


def test_a_log_that_was_left_behind_is_missed(left: Path) -> None:
    Path(f"{left}-wal").unlink()
    with pytest.raises(UnreadableError, match="ends in -wal"):
        open_path(str(left))


def test_link_has_the_log_of_its_target(home: Path, tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("CREATE TABLE t (k, v)")
    writer.execute("INSERT INTO t VALUES (1, 'x')")
    killed(tmp_path / "w.db", home / "real.db")
    writer.close()
    link = tmp_path / "link.db"
    link.symlink_to(home / "real.db")
    (tmp_path / "link.db-wal").write_bytes(b"somebody else's")
    database = Database(str(link))
    assert keys(database) == [1]
    database.close()


def test_log_that_is_no_file(home: Path) -> None:
    path = make(home / "a.db")
    os.mkfifo(f"{path}-wal")
    Path(f"{path}-journal").mkdir()
    database = Database(str(path))
    assert keys(database) == [1, 2, 3]
    database.close()


def test_pipe_is_read_once(home: Path) -> None:
    path = make(home / "a.db")
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:
        pipe.write(path.read_bytes())
    name = f"/dev/fd/{reading}"
    database = Database(name, File(name))
    os.close(reading)
    assert keys(database) == [1, 2, 3]
    assert not database.changed()
    database.close()


def test_endless_query_is_ended(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlitefile, "QUERY_SECONDS", 0.05)
    database = Database(str(make(home / "a.db")))
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT MAX(x) FROM n"
    assert list(database.rows(endless)) == []
    assert "interrupted" in database.problems[-1].message
    late = 0.0
    monkeypatch.setattr(sqlitefile, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + late))
    monkeypatch.setattr(sqlitefile, "QUERY_SECONDS", 60.0)
    few = database.rows("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n LIMIT 90000")
    assert next(few) == (1,)
    late = 100.0
    assert len(list(few)) == 89999, "time that the caller takes does not count"
    database.close()


def test_pages_in_circles_end(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come fast, each batch in no time, and without end."""
    monkeypatch.setattr(sqlitefile, "CHECK_LIMIT", 0)
    monkeypatch.setattr(sqlitefile, "QUERY_SECONDS", 0.05)
    database = Database(str(circles(home / "a.db")))
    rows = sum(1 for _ in itertools.islice(database.rows("SELECT k FROM t"), 3_000_000))
    assert 100 < rows < 3_000_000
    assert "there is no end of them" in str(database.problems) or "interrupted" in str(database.problems)
    database.close()


def test_salvage_without_row_ids(home: Path) -> None:
    path = home / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v) WITHOUT ROWID")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(f"{n:04}", "x" * 300) for n in range(200)])
    connection.close()
    damaged = bytearray(path.read_bytes())
    damaged[8 * 4096 : 9 * 4096] = b"\xff" * 4096
    path.write_bytes(damaged)
    database = Database(str(path))
    assert len(keys(database)) > 10
    assert "others cannot" in database.problems[-1].message
    database.close()
