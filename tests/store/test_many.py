"""Ten thousand runs in one store: what is asked of it does not grow with them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.formats import open_path, storedruns
from inspector.formats.storedruns import Runs, milliseconds
from inspector.listing import STATUSES
from inspector.model.run import RunRow
from inspector.store import Filter, open_store
from inspector.store.sqlite import SQLite
from tests.benchmarks.durable import fill
from tests.store.backends import created, wanted

RUNS = 10_000
CLAIMED = 3


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "runs.db"
    store = open_store(path)
    fill(store, RUNS)
    for number, lease in enumerate((1, 10**12, 10**12)):
        # Of these, what is in the row is not how they stand: it depends on the time.
        key, now = f"claimed-{number}", store.clock()
        created(store.backend, key, now)
        store.backend.claim(key, wanted(step=1, revision=0, mode="continue", now=now, expires=now + lease))
    store.close()
    return path


def test_all_are_listed_and_any_is_opened(path: Path) -> None:
    runs = open_path(str(path))
    rows = runs.rows()
    assert len(rows) == RUNS + CLAIMED
    assert (rows[0].id, rows[-1].id) == ("run-00000", f"claimed-{CLAIMED - 1}")
    source = runs.open("run-05000")
    for _ in source.index():
        pass
    assert (len(source), source.run().id) == (4, "run-05000")
    runs.close()


def test_a_list_of_some_reads_only_their_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = open_path(str(path))
    assert isinstance(runs, Runs)
    now = milliseconds()
    monkeypatch.setattr(runs, "_now", lambda: now)
    rows, read, real = runs.rows(), [0], storedruns.listed

    def counted(values: Sequence[Any], *given: Any) -> RunRow:
        read[0] += 1
        return real(values, *given)

    monkeypatch.setattr(storedruns, "listed", counted)
    for status in (None, *STATUSES):
        for name in (None, "agent-3"):
            for limit in (None, 1, 50):
                read[0] = 0
                found = runs.some(status, name, limit)
                alike = [row for row in rows if status in (None, row.status) and name in (None, row.name)]
                assert list(found) == (alike if limit is None else alike[-limit:])
                # One that is claimed may be driven, or its process be gone: its line has to be made to know.
                assert read[0] <= len(found) + (CLAIMED if status in ("running", "interrupted") else 1)
    runs.close()


def test_one_is_opened_without_reading_the_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = open_path(str(path))
    assert isinstance(runs, Runs)
    asked, real = list[Any](), runs._database.rows

    def noted(query: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        for row in real(query, parameters):
            asked.append(query)
            yield row

    monkeypatch.setattr(runs._database, "rows", noted)
    assert runs.open("run-07777").run().id == "run-07777"
    assert runs.open("id-run-07777").run().id == "run-07777"
    assert len(asked) < 100
    runs.close()


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT * FROM runs WHERE 1 AND status = 'completed' ORDER BY no DESC LIMIT 50", "runs_by_status"),
        ("SELECT * FROM runs WHERE 1 AND name = 'agent-3' ORDER BY no DESC LIMIT 50", "runs_by_name"),
        ("SELECT * FROM runs WHERE 1 AND thread = 'th' ORDER BY no DESC LIMIT 50", "runs_by_thread"),
        ("SELECT * FROM runs WHERE key = 'run-05000'", "sqlite_autoindex_runs_1"),
        ("SELECT begin, line FROM records WHERE run = 7 AND begin >= 3 ORDER BY begin LIMIT 256", "sqlite_autoindex"),
        ("SELECT * FROM events WHERE run = 7 AND id = 'x' AND delivered IS NULL", "sqlite_autoindex_events"),
    ],
)
def test_what_is_asked_for_is_found_by_an_index(path: Path, query: str, index: str) -> None:
    backend = SQLite(str(path))
    told = " ".join(str(row[3]) for row in backend._on.rows(f"EXPLAIN QUERY PLAN {query}"))
    backend.close()
    assert index in told
    assert "SCAN" not in told
    assert "TEMP B-TREE" not in told


def test_a_filter_reads_only_what_it_shows(path: Path) -> None:
    store = open_store(path)
    on = store.backend._on._connection  # type: ignore[attr-defined]
    steps = [0]

    def counted() -> None:
        steps[0] += 1

    on.set_progress_handler(counted, 100)
    found = store.runs(Filter(status="completed", limit=50))
    assert [found[0].key, found[-1].key, len(found)] == ["run-09901", "run-09999", 50]
    assert steps[0] < 100  # ten thousand steps of the database's machine at most: not one for each run and column
    store.close()
