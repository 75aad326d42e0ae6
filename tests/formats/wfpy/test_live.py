"""Workflows run by wfpy itself: what is rebuilt from what it leaves against what its queues held after each firing."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inspector.formats import open_path
from inspector.formats.readers.wfpy.run import WfpyRun
from tests.formats.wfpy.folders import told

runner = pytest.importorskip("wfpy.runner")
journal = pytest.importorskip("wfpy._journal_runtime")

PARTS = """
from wfpy import Port, action, connect, guard, if_, loop, task, workflow

@task
class Source:
    many: int
    n: int = 0
    class Ports:
        Out = Port[object](direction="out")
    @action(consumes={}, produces={"Out": 1})
    @guard(lambda self: self.n < self.many)
    def make(self):
        self.n += 1
        return {"Out": f"s{self.n}"}

@task
class Map:
    make: object
    n: int = 0
    class Ports:
        In = Port[object](direction="in")
        Out = Port[object](direction="out")
    @action(consumes={"In": 1}, produces={"Out": 1})
    def go(self, x):
        self.n += 1
        return {"Out": self.make(self.n, x)}

def plain(n, x): return f"{x}.{n}"
def even(n, x): return n % 2 == 0
def some(n, x): return [f"{x}:{i}" for i in range(n % 3)]
def fails(n, x):
    if n == 2: raise RuntimeError("no")
    return f"{x}!"

def at_once(n, x):
    raise RuntimeError("no")
"""

IF_BEHIND_IF = """
@workflow(outputs={"Out": object}, max_workers=1)
def main():
    first, second = Source(many=3), Source(many=4)
    ask = Map(make=even)
    connect(first.Out, ask.In)
    gate = if_(None)
    connect(ask.Out, gate.cond)
    with gate.then:
        one = Map(make=plain)
        connect(second.Out, one.In)
    again = Map(make=even)
    connect(gate.out, again.In)
    other = if_(None)
    connect(again.Out, other.cond)
    with other.then:
        two = Map(make=plain)
        connect(one.Out, two.In)
    with other.else_:
        three = Map(make=LAST)
        connect(two.Out, three.In)
    connect(three.Out, "Out")
    connect(other.out, "Out")
"""
LOOP_IN_LOOP = """
@workflow(outputs={"Out": object}, max_workers=1)
def main():
    source, lists = Source(many=4), Map(make=some)
    connect(source.Out, lists.In)
    outer = loop(None)
    connect(lists.Out, outer.iter)
    with outer:
        inner_lists = Map(make=some)
        connect(outer.item, inner_lists.In)
        inner = loop(None)
        connect(inner_lists.Out, inner.iter)
        with inner:
            part = Map(make=LAST)
            connect(inner.item, part.In)
    connect(part.Out, "Out")
    connect(outer.out, "Out")
"""
NESTED = """
@workflow(inputs={"In": object}, outputs={"Out": object})
def inside():
    ask = Map(make=even)
    connect("In", ask.In)
    gate = if_(None)
    connect(ask.Out, gate.cond)
    connect(gate.out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    source = Source(many=4)
    box = inside()
    connect(source.Out, box.In)
    last = Map(make=LAST)
    connect(box.Out, last.In)
    connect(last.Out, "Out")
"""
Sizes = dict[tuple[tuple[str, ...], str], int]


def held(plan: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[tuple[str, ...], str], int]]:
    """How many tokens each queue holds, and how often each actor has fired."""
    for queue in plan.all_queues:
        yield (path, queue.id), len(queue.items)
    for actor in plan.actors:
        yield (path, actor.name), actor.fire_count
        if actor.sub_plan is not None:
            yield from held(actor.sub_plan, (*path, actor.name))


class Watched:
    """wfpy, with a look at all queues behind each line of the journal, and before the firing of the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: dict[int, list[Sizes]] = {}
        self._root: Any = None
        fingerprint, record, atomic = journal_part("graph_fingerprint"), journal.Journal.record, runner._atomic_firing
        before: Sizes = {}

        def known(plan: Any) -> Any:
            self._root = self._root or plan
            return fingerprint(plan)

        @contextmanager
        def firing() -> Iterator[Any]:
            before.update(held(self._root))
            with atomic() as one:
                yield one

        def recorded(log: Any, plan: Any, *rest: Any, **more: Any) -> int:
            seq: int = record(log, plan, *rest, **more)
            self.sizes.setdefault(seq - 1, []).append(dict(before))
            self.sizes.setdefault(seq, []).append(dict(held(self._root)))
            return seq

        monkeypatch.setattr("wfpy._checkpoint_runtime.graph_fingerprint", known)
        monkeypatch.setattr(runner, "_atomic_firing", firing)
        monkeypatch.setattr(journal.Journal, "record", recorded)


def journal_part(name: str) -> Any:
    return getattr(importlib.import_module("wfpy._checkpoint_runtime"), name)


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("live_flow", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["live_flow"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("last", ["plain", "fails", "at_once"])
@pytest.mark.parametrize("flow", [IF_BEHIND_IF, LOOP_IN_LOOP, NESTED], ids=["if behind if", "loop in loop", "nested"])
@pytest.mark.parametrize("artifacts", ["all", "journal"])
def test_every_claim_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flow: str, last: str, artifacts: str
) -> None:
    (tmp_path / "flow.py").write_text(PARTS + flow.replace("LAST", last))
    watched = Watched(monkeypatch)
    monkeypatch.delenv("WF_RUN_OUT_DIR", raising=False)
    with suppress(RuntimeError):
        runner.run(imported(tmp_path / "flow.py").main, out_dir=tmp_path, run_id="live")
    for path in (tmp_path / "live").iterdir():
        if path.is_file() and artifacts == "journal" and "journal" not in path.name:
            path.unlink()
    run = open_path(str(tmp_path / "live")).open()
    assert isinstance(run, WfpyRun)
    list(run.index())
    assert told(run) == []
    known = 0
    for step in range(1, len(run)):
        state = run.state(step)
        assert state is not None
        for queue in state.queues or ():
            if queue.size is not None and not (queue.scope and queue.to == "WF"):
                found = [sizes[tuple(queue.scope or ()), queue.id] for sizes in watched.sizes[step]]
                # Between two lines an if or loop can take one, and another.
                assert min(found) <= queue.size <= max(found), (step, queue.id)
                known += 1
        for actor in state.actors or ():
            if actor.fire_count is not None:
                found = [sizes[tuple(actor.scope or ()), actor.id] for sizes in watched.sizes[step]]
                assert min(found) <= actor.fire_count <= max(found), (step, actor.id)
    assert known > len(run)
