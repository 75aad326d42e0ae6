"""Ten thousand runs in one store: what is asked of it does not grow with them."""

from pathlib import Path

import pytest

from inspector.formats import open_path
from inspector.store import Filter, open_store
from inspector.store.sqlite import SQLite
from tests.benchmarks.durable import fill

RUNS = 10_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "runs.db"
    store = open_store(path)
    fill(store, RUNS)
    store.close()
    return path


def test_all_are_listed_and_any_is_opened(path: Path) -> None:
    runs = open_path(str(path))
    rows = runs.rows()
    assert len(rows) == RUNS
    assert (rows[0].id, rows[-1].id) == ("run-00000", "run-09999")
    source = runs.open("run-05000")
    for _ in source.index():
        pass
    assert (len(source), source.run().id) == (4, "run-05000")
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
