"""What goes wrong with a store: a clear error, the last durable state intact, and the run goes on afterwards."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inspector import Agent, Call, ExistingOwner, ScriptedModel, Started, Store, StoreError, open_store, tool
from inspector.errors import UsageError
from inspector.model.stored import APPLICATION
from inspector.store import connection, schema
from inspector.store.sqlite import SQLite
from inspector.store.times import Clock
from tests.store.backends import THERE, checkpoint, created, header, new, step, wanted, written


def agent(paid: list[int], **options: Any) -> Agent:
    @tool
    async def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    return Agent("till", ScriptedModel([Call("pay", {"amount": 5})], "done"), tools=[pay], **options)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return os.fspath(tmp_path / "runs.db")


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    opened = open_store(path)
    yield opened
    opened.close()


def code_of(act: Any) -> str:
    with pytest.raises(StoreError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("room", range(0, 40, 3))
async def test_a_full_disk_stops_a_run_where_its_journal_ends(store: Store, path: str, room: int) -> None:
    """The file may not grow beyond its size: what SQLite says then is what it says of a full disk."""
    paid: list[int] = []
    await agent(paid).prompt("x").durable(store, key="other").run()
    on = store.backend._on._connection  # type: ignore[attr-defined]
    on.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = on.execute("PRAGMA page_count").fetchone()[0]
    on.execute(f"PRAGMA max_page_count = {pages + room}")
    paid.clear()
    text = "x" * 9000  # so that a record needs pages of its own
    code, status = None, None
    try:
        status = (await agent(paid).prompt(text).durable(store, key="k").run()).status
    except StoreError as error:
        code = error.code
    assert (code, status) in (("disk_full", None), (None, "completed"))
    assert room or code == "disk_full"
    if status is not None:
        return
    on.execute("PRAGMA max_page_count = 1073741823")
    row = store.backend.read("k")
    if row is None:
        assert paid == []
        return
    journal = store.journal("k")
    assert (row.size, row.final) == (sum(map(len, journal)), False)
    begun = [found.operation.name for found in store.operations("k") if found.operation.status in ("started",)]
    asked = agent(paid).resume(store, "k").accept("model_in_flight")
    if begun == ["pay"]:
        asked.reconcile("c1", *(("result", "paid 5") if paid else ("retry",)))
    outcome = await asked.run()
    assert isinstance(outcome, Started)
    assert (outcome.status, paid) == ("completed", [5])


def test_a_store_that_may_not_be_written_says_so(path: str, tmp_path: Path) -> None:
    SQLite(path).close()
    program = (
        "import sys\nfrom inspector import StoreError, open_store\n"
        "try:\n    open_store(sys.argv[1]).new_thread('t')\n"
        "except StoreError as error:\n    print(error.code)\n"
    )
    os.chmod(tmp_path, 0o555)
    os.chmod(path, 0o444)
    try:
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        if user and shutil.which("setpriv") is None:
            pytest.skip("root may write anything here")
        for folder in Path(path).parents:
            if folder != tmp_path and os.stat(folder).st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
                os.chmod(folder, os.stat(folder).st_mode | 0o055)
        done = subprocess.run(
            [*user, sys.executable, "-c", program, path],
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parent.parent.parent), "HOME": "/"},
            capture_output=True,
            text=True,
            check=False,
        )
        if any(word in done.stderr for word in ("Permission denied", "ModuleNotFound", "shared libraries")):
            pytest.skip("another user cannot reach the interpreter here")
        assert (done.stdout.strip(), done.stderr) == ("read_only", "")
    finally:
        os.chmod(tmp_path, 0o755)
        os.chmod(path, 0o644)
    reopened = SQLite(path)
    created(reopened)
    reopened.close()


async def test_a_locked_store_is_waited_for_and_then_said_to_be(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid: list[int] = []
    store.backend._on._connection.execute("PRAGMA busy_timeout = 20")  # type: ignore[attr-defined]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"locked: another process kept the store locked"):
        await agent(paid).prompt("go").durable(store, key="k").run()
    assert (paid, store.backend.read("k")) == ([], None)  # reading goes on meanwhile
    other.execute("ROLLBACK")
    assert (await agent(paid).prompt("go").durable(store, key="k").run()).status == "completed"
    other.close()


def test_a_lock_that_is_given_up_in_time_is_waited_for(store: Store, path: str) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    held = threading.Event()

    def release() -> None:
        held.wait()
        other.execute("ROLLBACK")

    thread = threading.Thread(target=release)
    thread.start()
    held.set()
    created(store.backend)
    thread.join()
    other.close()
    assert store.read("k").revision == 0


async def test_a_damaged_page_is_said_to_be_and_what_is_sound_goes_on(path: str) -> None:
    paid: list[int] = []
    store = open_store(path)
    for key in ("a", "b"):
        await agent(paid).prompt("x" * 5000).durable(store, key=key).run()
    page, root = (
        store.backend._on.rows(query)[0][0]  # type: ignore[attr-defined]
        for query in ("PRAGMA page_size", "SELECT rootpage FROM sqlite_master WHERE name = 'records'")
    )
    store.close()
    sound = Path(path).read_bytes()
    Path(path).write_bytes(sound[: (root - 1) * page] + b"\xff" * page + sound[root * page :])
    store = open_store(path)
    assert [row.key for row in store.runs()] == ["a", "b"]
    assert code_of(lambda: store.journal("a")) == "damaged"
    with pytest.raises(StoreError, match="damaged: the store is damaged"):
        await agent(paid).prompt("go").durable(store, key="c").run()
    assert store.backend.read("c") is None
    store.close()
    Path(path).write_bytes(sound)
    store = open_store(path)
    assert (await agent(paid).prompt("go").durable(store, key="c").run()).status == "completed"
    store.close()


@pytest.mark.parametrize("text", [b"no database at all, only some text that is long enough for a header" * 9, b""])
def test_what_is_no_store_is_left_alone(path: str, text: bytes) -> None:
    Path(path).write_bytes(text)
    if text:
        assert code_of(lambda: open_store(path)) == "damaged"
        assert Path(path).read_bytes() == text
    else:
        open_store(path).close()  # an empty file is an empty database


def test_another_program_s_database_is_left_alone(path: str) -> None:
    on = sqlite3.connect(path)
    on.execute("CREATE TABLE theirs (x)")
    on.commit()
    on.close()
    before = Path(path).read_bytes()
    assert code_of(lambda: open_store(path)) == "version_unsupported"
    assert Path(path).read_bytes() == before


def test_a_store_of_a_later_version_is_left_alone(path: str) -> None:
    SQLite(path).close()
    on = sqlite3.connect(path)
    on.execute("PRAGMA user_version = 99")
    on.close()
    assert code_of(lambda: open_store(path)) == "version_unsupported"


def test_an_older_store_becomes_one_of_today_with_all_that_is_in_it(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(connection, "SCRIPTS", schema.SCRIPTS[:1])
        older.setattr(connection, "VERSION", 1)
        on = connection.Connection(path)
        assert on.rows("PRAGMA user_version") == [(1,)]
        on.rows(
            "INSERT INTO runs (key, id, kind, status, revision, attempt, created, updated, steps, size, final, "
            "acknowledged, handed, sink, metadata, claims) "
            "VALUES ('k', 'id', 'agent', 'running', 0, 1, 5, 5, 0, 0, 0, 0, 1, 0, '{}', 0)"
        )
        on.close()
    backend = SQLite(path)
    row = backend.read("k")
    assert row is not None
    assert (row.id, row.created) == ("id", 5)
    assert backend._on.rows("PRAGMA user_version") == [(len(schema.SCRIPTS),)]
    assert backend._on.rows("PRAGMA application_id") == [(APPLICATION,)]
    assert backend.put_thread("th", {}, 1)
    backend.claim("k", wanted())
    assert backend.progress(written(1, step(1))) == 2
    backend.close()


@pytest.mark.parametrize(
    ("flag", "available", "code"),
    [(0, 0, "disk_full"), (os.ST_RDONLY, 9, "read_only"), (0, 9, "unavailable")],
)
@pytest.mark.parametrize("said", [sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN])
def test_what_keeps_a_log_from_being_made_is_looked_up(
    store: Store, monkeypatch: pytest.MonkeyPatch, flag: int, available: int, code: str, said: int
) -> None:
    """SQLite says no more than that it cannot open or write."""
    monkeypatch.setattr("os.statvfs", lambda path: SimpleNamespace(f_flag=flag, f_bavail=available))
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = said

    def act() -> None:
        with store.backend._on.told():  # type: ignore[attr-defined]
            raise error

    assert code_of(act) == code


@pytest.mark.parametrize(("number", "code"), [(errno.EROFS, "read_only"), (errno.ENOSPC, "disk_full")])
def test_a_store_that_cannot_be_made_says_why(
    path: str, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def refuse(*given: Any, **options: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.open", refuse)
    assert code_of(lambda: open_store(path)) == code


def test_a_store_is_always_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (":memory:", "sqlite:///:memory:"):
        with closing(open_store(place)) as store:
            store.new_thread("th")
        with closing(open_store(tmp_path / ":memory:")) as again:
            assert again.thread("th") is not None
    for place in ("sqlite://", "sqlite:///"):
        with pytest.raises(UsageError, match="names no file"):
            open_store(place)


def test_many_who_open_new_stores_at_once_make_each_once(path: str) -> None:
    ready, failed = threading.Barrier(8), list[Exception]()

    def open_() -> None:
        for number in range(12):
            ready.wait()
            try:
                SQLite(f"{path}{number}").close()
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=open_) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_the_files_are_the_user_s_own(path: str) -> None:
    before = os.umask(0)
    try:
        backend = SQLite(path)
        created(backend)
        files = [Path(path + end) for end in ("", "-wal", "-shm")]
        assert [file.stat().st_mode & 0o777 for file in files] == [0o600] * 3
        backend.close()
    finally:
        os.umask(before)


async def test_a_clock_that_was_set_back_is_said_and_the_run_can_be_taken_over(store: Store) -> None:
    paid: list[int] = []
    created(store.backend, "k", now=store.clock())
    store.backend.delete("k")
    store.backend.create(new(name="till"), (header(), checkpoint()), store.clock())
    ahead = store.clock() + 86_400_000
    store.backend.claim("k", wanted(now=ahead, expires=ahead + 300_000, program=THERE))
    outcome = await agent(paid).resume(store, "k").run()
    assert isinstance(outcome, ExistingOwner)
    assert "a clock was set back" in str(outcome)
    assert store.read("k").revision == 1


def test_a_process_goes_by_its_own_clock_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    began = clock()
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert 0 <= clock() - began < 60_000


async def test_a_run_whose_process_holds_it_no_more_goes_on_at_once(store: Store, path: str) -> None:
    """Killed, its lease still holds, and its process is known to be gone."""
    program = (
        "import os, signal, sys\nfrom inspector import Agent, Call, ScriptedModel, open_store, tool\n"
        "@tool(idempotency='supported')\nasync def pay(amount: int) -> str:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "agent = Agent('till', ScriptedModel([Call('pay', {'amount': 5})], 'done'), tools=[pay])\n"
        "agent.prompt('go').durable(open_store(sys.argv[1]), key='k').run_sync()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], check=False)
    assert done.returncode == -9
    row = store.read("k")
    assert row.claim is not None
    assert row.claim.live(store.clock())
    assert store.owner(row) is None
    paid: list[int] = []

    @tool(idempotency="supported")
    async def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    again = Agent("till", ScriptedModel([Call("pay", {"amount": 5})], "done"), tools=[pay])
    outcome = await again.resume(store, "k").run()
    assert isinstance(outcome, Started)
    assert (outcome.status, outcome.attempt, paid) == ("completed", 2, [5])


def test_a_lease_is_kept_while_a_run_is_driven(path: str) -> None:
    store = open_store(path, lease=0.3)
    renewed: list[int] = []
    entered = threading.Event()
    renew = store.backend.renew

    def noted(*given: Any) -> None:
        renew(*given)
        renewed.append(given[2])
        if len(renewed) >= 4:
            entered.set()

    store.backend.renew = noted  # type: ignore[method-assign]

    @tool
    async def wait() -> str:
        assert entered.wait(60)
        return "waited"

    slow = Agent("till", ScriptedModel([Call("wait", {})], "done"), tools=[wait])
    assert slow.prompt("go").durable(store, key="k").run_sync().status == "completed"
    assert len(renewed) >= 4
    store.close()


def test_a_store_that_others_make_just_now_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade, busy = connection.Connection._upgrade, sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    refused: list[object] = []

    def often(self: connection.Connection) -> None:
        if len(refused) < 3:
            refused.append(self)
            raise busy
        upgrade(self)

    monkeypatch.setattr(connection.Connection, "_upgrade", often)
    connection.Connection(str(tmp_path / "a.db")).close()
    assert len(refused) == 3
    refused.clear()
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.0)
    with pytest.raises(StoreError) as caught:
        connection.Connection(str(tmp_path / "b.db"))
    assert caught.value.code == "locked"
