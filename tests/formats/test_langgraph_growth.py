"""What grows with a store of LangGraph, and how much is looked at for it."""

from array import array
from pathlib import Path
from typing import Any

import pytest

from inspector.formats import open_path
from inspector.formats.readers.langgraph import history
from inspector.formats.readers.langgraph.run import ThreadRun
from inspector.formats.readers.langgraph.store import Nested, Store
from inspector.formats.readers.langgraph.tasks import Task
from inspector.formats.sqlitefile import Database
from inspector.formats.sqlitekeys import FEW
from tests.formats.langgraph_stores import Base, Thread, send

MANY = 300


def quick(folder: Path) -> Base:
    """A store that waits for no disk."""
    base = Base(folder / "store.db")
    base.connection.execute("PRAGMA synchronous = OFF")
    base.connection.execute("PRAGMA journal_mode = MEMORY")
    return base


class Watched(array):  # type: ignore[type-arg]
    """Counts how many of its items are looked at."""

    looked = 0

    def __getitem__(self, key: Any) -> Any:
        Watched.looked += 1
        return super().__getitem__(key)

    def index(self, *given: Any) -> int:
        Watched.looked += len(self)
        return super().index(*given)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_parent_far_away_is_not_walked_to(tmp_path: Path, shuffled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    base = quick(tmp_path)
    thread = Thread(base)
    thread.input({})
    first = thread.start({"n": 0}, then=["a"])
    for number in range(MANY):
        thread.back(first, {"n": number}, 0)
        thread.ran({"a": {"n": number}})
    if shuffled:
        base.connection.execute("UPDATE checkpoints SET rowid = 10000 + rowid * 7919 % 1009")
    look = Store.rows_of
    monkeypatch.setattr(Store, "rows_of", lambda *given: Watched("q", look(*given)))
    run = open_path(str(base.close())).open()
    list(run.steps(1, 3))
    Watched.looked = 0
    found = run.steps(MANY // 2, MANY + 3)
    assert {(step.summary or "").partition(":")[0] for step in found} == {"branches off step 2"}
    assert Watched.looked < 40 * len(found)


def test_threads_of_a_table_without_an_index_are_not_looked_for_in_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = quick(tmp_path)
    for number in range(3 * FEW):
        Thread(base, f"t{number}").input({})
    for table in ("checkpoints", "writes"):
        base.connection.execute(f"CREATE TABLE exported AS SELECT * FROM {table}")
        base.connection.execute(f"DROP TABLE {table}")
        base.connection.execute(f"ALTER TABLE exported RENAME TO {table}")
    look, asked = Database.rows, list[str]()
    monkeypatch.setattr(
        Database, "rows", lambda store, query, *given: asked.append(query) or look(store, query, *given)
    )
    assert len(open_path(str(base.close())).rows()) == 3 * FEW
    walks = [query for query in asked if "ORDER BY c.checkpoint_id" in query and "temp." not in query]
    assert len(walks) <= FEW


def test_what_continues_a_leaf_is_looked_for_in_the_whole_table_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = quick(tmp_path)
    thread = Thread(base)
    thread.input({})
    first = thread.start({"n": 0}, then=["a"])
    for number in range(30):
        thread.back(first, {"n": number}, 0)
        thread.ran({"a": {"n": number}})
    look, asked = Database.rows, list[str]()
    monkeypatch.setattr(
        Database, "rows", lambda store, query, *given: asked.append(query) or look(store, query, *given)
    )
    run = open_path(str(base.close())).open()
    assert all(run.state(step) for step in range(3, 33))
    walks = [query for query in asked if "c.parent_checkpoint_id IS p." in query]
    assert len(walks) >= 30
    assert sum("temp." not in query for query in walks) <= 4


def test_namespaces_are_told_apart_once_for_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = quick(tmp_path)
    outer = Thread(base)
    outer.input({})
    outer.start({"n": 0}, then=["a"])
    for number in range(MANY):
        inner = Thread(base, namespace=f"a:task-{number}" + f"|b:part-{number}" * (number % 2))
        inner.input({})
    add, added = Nested.add, list[None]()
    monkeypatch.setattr(Nested, "add", lambda *given: added.append(None) or add(*given))
    runs = open_path(str(base.close()))
    assert len(runs.rows()) == MANY + 1
    assert len(added) == MANY * 3 // 2


def test_a_task_is_found_by_its_number_or_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = quick(tmp_path)
    thread = Thread(base)
    thread.input({})
    thread.start({"n": 0})
    thread.ran({"a": {"n": 1}}, sends=[send("b", number) for number in range(MANY)])
    for number in range(MANY):
        path = f"~__pregel_push, {number:010}, 0000000000"
        thread.wrote("b", {"n": number}, path=path, task=f"push-{number}")
        thread.wrote(f"c{number}", {"n": number}, task=f"pull-{number}")
    run = open_path(str(base.close())).open()
    looked = list[None]()
    index = property(lambda task: looked.append(None) or task.__dict__["index"], _set)
    monkeypatch.setattr(Task, "index", index, raising=False)
    state = run.state(len(run))
    assert state is not None
    assert [one.arguments for one in state.pending or () if one.name == "b"] == list(range(MANY))
    assert len(looked) < 20 * MANY


def test_what_is_kept_is_bounded_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = quick(tmp_path)
    thread = Thread(base)
    thread.input({})
    thread.start({"n": 0}, then=["a"])
    for number in range(60):
        thread.ran({"a": {"n": number, "text": "x" * 50_000}}, then=["a"])
    monkeypatch.setattr(history, "KEPT", 500_000)
    look, looked = Store.writes, list[int]()
    monkeypatch.setattr(Store, "writes", lambda store, row: looked.append(row) or look(store, row))
    made, kept = history.weight, list[object]()
    monkeypatch.setattr(history, "weight", lambda part: kept.append(part) or made(part))
    run = open_path(str(base.close())).open()
    del looked[:], kept[:]
    assert len(run.steps(1, 63)) == 62
    assert len(looked) <= 2 * 62
    assert sum(map(made, kept)) > 1_000_000
    assert isinstance(run, ThreadRun)
    lists = [part for (what, _), (part, _) in run._history._kept.items() if what == "writes"]
    assert 0 < sum(map(made, lists)) <= 500_000


def _set(task: Task, index: int | None) -> None:
    task.__dict__["index"] = index
