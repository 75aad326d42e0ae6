"""The reader of stores of durable runs: what it shows of claims, damage and hostile rows, and what it leaves alone."""

import hashlib
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, ScriptedModel, tool
from inspector.errors import InspectorError, UnreadableError, UsageError
from inspector.formats import open_path
from inspector.formats.sqlitefile import Database
from inspector.formats.storedruns import Runs
from inspector.model.source import Journaled, RunSource
from inspector.model.stored import VERSION, Stored
from inspector.process import born, program
from inspector.report.export import lines
from inspector.store import open_store
from inspector.store.schema import SCRIPTS
from inspector.store.sqlite import SQLite
from tests.store.backends import THERE, created, operation, step, wanted, written


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    return f"paid {amount}"


def agent() -> Agent:
    return Agent("till", ScriptedModel([Call("pay", {"amount": 5})], "done"), tools=[pay])


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store with a run that waits, one that is done, and one that failed to be anything."""
    store = open_store(tmp_path / "runs.db")
    agent().prompt("go").durable(store, key="waits").run_sync()
    agent().prompt("go").durable(store, key="done").run_sync()
    agent().resume(store, "done").approve("c1").run_sync()
    store.close()
    return os.fspath(tmp_path / "runs.db")


def opened(path: str, run: str | None = None, now: int | None = None) -> RunSource:
    database = Database(path)
    source = Runs(path, database, (lambda: now) if now is not None else lambda: int(time.time() * 1000)).open(run)
    for _ in source.index():
        pass
    return source


def test_runs_are_listed_by_their_keys(path: str) -> None:
    rows = open_path(path).rows()
    assert [(row.id, row.name, row.kind, row.status, row.reason, row.steps, row.holder) for row in rows] == [
        ("waits", "till", "agent", "suspended", "approval", 2, None),
        ("done", "till", "agent", "completed", None, 4, None),
    ]
    assert all(row.started and row.updated and row.updated >= row.started for row in rows)


def test_a_run_is_shown_as_its_trace_would_be(path: str, tmp_path: Path) -> None:
    source = opened(path, "done")
    trace = tmp_path / "done.jsonl"
    trace.write_bytes(b"".join(lines(source, 1, len(source) + 1, raw=True)))
    other = open_path(str(trace)).open()
    for _ in other.index():
        pass
    assert isinstance(source, Stored)
    assert isinstance(source, Journaled)
    assert source.journal() == trace.read_bytes()
    assert list(source.steps(1, 9)) == list(other.steps(1, 9))
    assert [source.state(step) for step in range(5)] == [other.state(step) for step in range(5)]
    assert source.definition() == other.definition()
    assert (source.run().id, source.run().status, source.run().started) == ("done", "completed", other.run().started)
    assert (other.run().status, other.run().id) == ("completed", source.stored.id)
    assert [hit for hit in source.find("paid 5", 1) if isinstance(hit, int)] == [3]
    assert source.problems() == []
    assert [message.text for message in source.state(4).messages or ()][-1] == "done"  # type: ignore[union-attr]
    raw = source.raw(3)
    assert raw is not None
    assert '"record":"attempt"' in raw.text
    assert raw.where.startswith("runs.db: done:")


def test_a_store_of_a_later_version_is_named_and_refused(path: str) -> None:
    assert len(SCRIPTS) == VERSION
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(UnreadableError, match=f"version {VERSION + 1}; this program knows {VERSION}: a newer one"):
        open_path(path)


def test_a_run_is_opened_by_its_id_too(path: str) -> None:
    runs = open_path(path)
    source = runs.open("waits")
    assert isinstance(source, Stored)
    assert runs.open(source.stored.id).run().id == "waits"
    with pytest.raises(UsageError, match="holds 2 runs"):
        runs.open()
    with pytest.raises(UsageError, match="holds no run 'x'; it holds waits, done"):
        runs.open("x")


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        ("UPDATE records SET line = CAST(replace(line, '\"machine\":', '\"xachine\":') AS BLOB)", "not_resumable"),
        ("UPDATE records SET line = CAST(replace(line, '\"machine\":{', '\"machine\":!') AS BLOB)", "not_resumable"),
        ("DELETE FROM records WHERE kind = 'checkpoint'", "not_resumable"),
        ("DELETE FROM records WHERE kind = 'operation'", "value_unreadable"),
        ("DELETE FROM records WHERE begin = (SELECT max(begin) FROM records WHERE run = 1)", "value_unreadable"),
    ],
)
def test_a_run_is_resumable_only_when_what_it_needs_is_there(path: str, harm: str, reason: str) -> None:
    assert opened(path, "waits").resume().possible
    on = sqlite3.connect(path)
    on.execute(harm)
    on.commit()
    on.close()
    found = opened(path, "waits").resume()
    assert (found.possible, found.driver, found.reasons) == (False, "agent", (reason,))
    store = open_store(path)
    before = store.read("waits")
    with pytest.raises(InspectorError):
        agent().resume(store, "waits").approve("c1").run_sync()
    assert store.read("waits") == before
    store.close()


def test_looking_changes_nothing_and_locks_nothing(path: str) -> None:
    folder = os.path.dirname(path)

    def files() -> dict[str, str]:
        return {
            name: hashlib.sha256((Path(folder) / name).read_bytes()).hexdigest()
            for name in sorted(os.listdir(folder))
            if name.startswith("runs.db")
        }

    store = open_store(path)
    with store.backend._on.transaction() as on:  # type: ignore[attr-defined]
        on.execute("UPDATE runs SET reason = 'x'")
        before = files()
        source = opened(path, "waits")
        assert source.state(2) is not None
        assert (source.run().reason, files()) == ("approval", before)
    store.close()


def test_a_claim_says_whether_a_run_is_driven(tmp_path: Path) -> None:
    path = os.fspath(tmp_path / "runs.db")
    backend = SQLite(path)
    for key in ("live", "expired", "gone", "new"):
        created(backend, key)
    backend.claim("live", wanted(expires=5000, program=program(), born=born(os.getpid())))
    backend.claim("expired", wanted(expires=200, program=THERE))
    backend.claim("gone", wanted(expires=5000, program=program(), born=born(os.getpid()) + "1"))
    begun = (operation("planned"), operation("started"))
    for key in ("live", "expired"):
        backend.progress(written(1, *begun, key=key))
    backend.close()
    database = Database(path)
    runs = Runs(path, database, lambda: 1000)
    told = {row.id: (row.status, row.reason, row.holder) for row in runs.rows()}
    assert told["gone"] == ("interrupted", "owner_gone", f"{program().host}:{os.getpid()} silent for 0 s")
    assert [row.id for row in runs.some("interrupted", None)] == ["expired", "gone", "new"]
    assert [row.id for row in runs.some("interrupted", None, 2)] == ["gone", "new"]
    assert [row.id for row in runs.some("running", None, 1)] == ["live"]
    assert told["live"] == ("running", None, f"{program().host}:{os.getpid()}")
    assert told["expired"] == ("interrupted", "lease_expired", "there:5 silent for 0 s")
    assert told["new"] == ("interrupted", "not_started", None)
    pending = {}
    for key in ("live", "expired"):
        source = runs.open(key)
        for _ in source.index():
            pass
        state = source.state(0)
        assert state is not None
        pending[key] = [item.status for item in state.pending or ()]
        assert source.resume().reasons == {"live": ("owned",), "expired": ()}[key]
    assert pending == {"live": ["in_flight"], "expired": ["ambiguous"]}
    assert runs.open("gone").resume().possible


def test_a_store_that_grows_is_followed(tmp_path: Path) -> None:
    path = os.fspath(tmp_path / "runs.db")
    backend = SQLite(path)
    created(backend)
    backend.claim("k", wanted(expires=5000))
    runs = Runs(path, Database(path), lambda: 1000)
    source = runs.open("k")
    list(source.index())
    assert len(source) == 0
    assert not source.refresh()
    backend.progress(written(1, step(1)))
    created(backend, "other")
    assert source.refresh()
    list(source.index())
    assert len(source) == 1
    assert [row.id for row in runs.rows()] == ["k", "other"]
    backend.progress(written(2, step(2)))
    assert runs.refresh()
    assert runs.rows()[0].steps == 2
    backend.close()


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE runs SET program = '{', token = 't', expires = 5 WHERE key = 'waits'",
        "UPDATE runs SET born = 5, renewed = 'then', program = '{}', token = 't', expires = 5 WHERE key = 'waits'",
        "UPDATE runs SET status = 'nonsense' WHERE key = 'waits'",
        "UPDATE runs SET steps = 'many' WHERE key = 'waits'",
        "UPDATE runs SET key = x'00ff' WHERE key = 'waits'",
    ],
)
def test_a_damaged_row_is_a_problem_and_the_others_are_listed(path: str, harm: str) -> None:
    on = sqlite3.connect(path)
    on.execute("PRAGMA ignore_check_constraints = ON")
    on.execute(harm)
    on.commit()
    on.close()
    runs = open_path(path)
    assert [row.id for row in runs.rows()] == ["done"]
    (problem,) = runs.problems()
    assert problem.where == "runs.db: runs 1"
    assert "a damaged row" in problem.message


def test_a_run_that_may_be_lost_is_not_said_to_be_none(path: str) -> None:
    on = sqlite3.connect(path)
    on.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    root, size = (
        on.execute(query).fetchone()[0] for query in ("SELECT rootpage FROM sqlite_master", "PRAGMA page_size")
    )
    on.close()
    sound = Path(path).read_bytes()
    Path(path).write_bytes(sound[: (root - 1) * size] + b"\xff" * size + sound[root * size :])
    with pytest.raises(UsageError, match="it is damaged, and others may be lost"):
        open_path(path).open("k")


@pytest.mark.parametrize("number", [None, "x", b"", 1.5, float("inf")])
def test_a_run_whose_number_is_none_is_refused(path: str, number: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        columns = [row[1] for row in database.execute("SELECT * FROM pragma_table_info('runs')")]
        database.execute(f"CREATE TABLE loose ({', '.join(columns)})")
        database.execute("INSERT INTO loose SELECT * FROM runs")
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("DROP TABLE runs")
        database.execute("ALTER TABLE loose RENAME TO runs")
        database.execute("UPDATE runs SET no = ?", (number,))
    database.close()
    runs = open_path(path)
    for row in runs.rows():
        with pytest.raises(UsageError, match=r"its number is none|holds no run"):
            runs.open(row.id)


def test_a_run_whose_row_is_damaged_where_the_list_does_not_look_is_not_opened(path: str) -> None:
    on = sqlite3.connect(path)
    on.execute("UPDATE runs SET metadata = x'ff' WHERE key = 'waits'")
    on.commit()
    on.close()
    runs = open_path(path)
    assert [row.id for row in runs.rows()] == ["waits", "done"]
    with pytest.raises(UsageError, match="a damaged row: "):
        runs.open("waits")
    assert runs.open("done").run().id == "done"


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM records WHERE kind = 'step'",
        "UPDATE records SET line = 'no record' || char(10) WHERE kind = 'step'",
        "UPDATE records SET line = NULL WHERE 0",
        "UPDATE records SET begin = begin * 1000003",
        "UPDATE records SET begin = -begin",
        'UPDATE records SET line = CAST(\'{"record":"step"\' AS BLOB)',
        "UPDATE records SET line = zeroblob(100000) WHERE kind = 'checkpoint'",
        "UPDATE runs SET size = 9223372036854775807, created = 9223372036854775807",
        "DELETE FROM records",
    ],
)
def test_a_damaged_journal_opens_as_far_as_it_goes(path: str, harm: str) -> None:
    on = sqlite3.connect(path)
    on.execute(harm)
    on.commit()
    on.close()
    source = opened(path, "done")
    told = source.run()
    assert (told.id, told.name, told.kind, told.status) == ("done", "till", "agent", "completed")
    assert told.started is not None
    shown: list[Any] = [source.run(), source.steps(1, 99), source.problems(), source.resume(), source.definition()]
    shown += [source.state(step) for step in range(len(source) + 1)]
    assert all(1 <= hit <= len(source) for hit in source.find("paid", 1) if isinstance(hit, int))
    if "records" in harm and "WHERE 0" not in harm:
        assert source.problems()


def test_text_of_a_store_cannot_act(tmp_path: Path) -> None:
    path = os.fspath(tmp_path / "runs.db")
    backend = SQLite(path)
    created(backend, "k\x1b]0;x\x07\u202e", name="n\x1b[2J", thread="t\x9b")
    backend.close()
    runs = open_path(path)
    (row,) = runs.rows()
    assert (row.id, row.name) == ("k\\u001b]0;x\\u0007\\u202e", "n\\u001b[2J")
    assert runs.open("k\x1b]0;x\x07\u202e").run().id == row.id
    assert runs.open(row.id).run().id == row.id


def test_of_a_run_that_grows_only_new_lines_are_looked_at(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        (number, size) = connection.execute("SELECT no, size FROM runs WHERE key = 'done'").fetchone()
        for at in range(500):
            connection.execute("INSERT INTO records VALUES (?, ?, 'x', ?)", (number, size + at * 3, b"{}\n"))
    connection.close()
    source = opened(path, "done")
    look, looked = Database.rows, list[object]()

    def counted(database: Database, query: str, *given: Any) -> Any:
        for row in look(database, query, *given):
            if query.startswith("SELECT begin"):
                looked.append(row)
            yield row

    monkeypatch.setattr(Database, "rows", counted)
    for more in range(2):
        del looked[:]
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO records VALUES (?, ?, 'x', ?)", (number, size + (500 + more) * 3, b"{}\n"))
        connection.close()
        assert source.refresh()
        assert len(looked) == 3
    assert isinstance(source, Stored)
    assert len(source.journal()) == size + 502 * 3
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE records SET line = ? WHERE run = ? AND begin = ?", (b"[]\n\n", number, size + 501 * 3)
        )
    connection.close()
    assert source.refresh()
    assert source.journal().endswith(b"{}\n[]\n\n")
