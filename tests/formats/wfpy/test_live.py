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
BRANCH_LEFT_OVER = """
@workflow(inputs={"In": object}, outputs={"Out": object})
def inside():
    ask = Map(make=even)
    connect("In", ask.In)
    gate = if_(None)
    connect(ask.Out, gate.cond)
    with gate.then:
        one = Map(make=plain)
        connect(ask.Out, one.In)
    connect(gate.out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    source = Source(many=5)
    box = inside()
    connect(source.Out, box.In)
    last = Map(make=LAST)
    connect(box.Out, last.In)
    connect(last.Out, "Out")
"""
LOOP_INSIDE = """
@workflow(inputs={"In": object}, outputs={"Out": object})
def inside():
    lists = Map(make=some)
    connect("In", lists.In)
    turn = loop(None)
    connect(lists.Out, turn.iter)
    with turn:
        part = Map(make=LAST)
        connect(turn.item, part.In)
    connect(part.Out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    source = Source(many=4)
    box, other = inside(), inside()
    connect(source.Out, box.In)
    connect(box.Out, other.In)
    connect(other.Out, "Out")
"""
TWO_PORTS = """
@workflow(inputs={"A": object, "B": object}, outputs={"Out": object})
def inside():
    one, two = Map(make=plain), Map(make=plain)
    connect("A", one.In)
    connect("B", two.In)
    connect(one.Out, "Out")
    connect(two.Out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    first, second = Source(many=3), Source(many=4)
    ask = Map(make=even)
    connect(first.Out, ask.In)
    gate = if_(None)
    connect(ask.Out, gate.cond)
    with gate.then:
        three = Map(make=plain)
        connect(ask.Out, three.In)
    box = inside()
    connect(gate.out, box.A)
    connect(second.Out, box.B)
    last = Map(make=LAST)
    connect(box.Out, last.In)
    connect(last.Out, "Out")
"""
PORTS_ONE_BY_ONE = """
@workflow(inputs={"A": object, "B": object}, outputs={"Out": object})
def inside():
    one, two, three = Map(make=plain), Map(make=plain), Map(make=LAST)
    connect("A", one.In)
    connect("B", two.In)
    connect(two.Out, three.In)
    connect(one.Out, "Out")
    connect(three.Out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    first, second = Source(many=2), Source(many=3)
    box = inside()
    connect(first.Out, box.A)
    connect(second.Out, box.B)
    connect(box.Out, "Out")
"""
LOOP_HANDS_ON = """
@workflow(inputs={"In": object}, outputs={"Out": object})
def inside():
    lists = Map(make=some)
    connect("In", lists.In)
    turn = loop(None)
    connect(lists.Out, turn.iter)
    with turn:
        part = Map(make=plain)
        connect(turn.item, part.In)
    connect(part.Out, "Out")
    connect(turn.out, "Out")

@workflow(inputs={"In": object}, outputs={"Out": object})
def behind():
    one = Map(make=LAST)
    connect("In", one.In)
    connect(one.Out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    source = Source(many=5)
    box, other = inside(), behind()
    connect(source.Out, box.In)
    connect(box.Out, other.In)
    connect(other.Out, "Out")
"""
OUT_BY_SEVERAL = """
@workflow(inputs={"In": object}, outputs={"Out": object})
def inner():
    one = Map(make=plain)
    connect("In", one.In)
    connect(one.Out, "Out")

@workflow(inputs={"In": object}, outputs={"Out": object})
def inside():
    ask = Map(make=even)
    connect("In", ask.In)
    gate = if_(None)
    connect(ask.Out, gate.cond)
    with gate.then:
        one, two, three = Map(make=plain), Map(make=plain), Map(make=LAST)
        connect(ask.Out, one.In)
        connect(ask.Out, two.In)
        connect(one.Out, three.In)
    box = inner()
    connect(gate.out, box.In)
    connect(two.Out, "Out")
    connect(three.Out, "Out")
    connect(gate.out, "Out")
    connect(box.Out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    source = Source(many=5)
    box = inside()
    connect(source.Out, box.In)
    last = Map(make=plain)
    connect(box.Out, last.In)
    connect(box.Out, "Out")
"""
BOX_BESIDE = """
@workflow(inputs={"In": object}, outputs={"Out": object})
def inner():
    one = Map(make=plain)
    connect("In", one.In)
    connect(one.Out, "Out")

@workflow(inputs={"In": object}, outputs={"Out": object})
def inside():
    one = Map(make=plain)
    connect("In", one.In)
    box = inner()
    connect(one.Out, box.In)
    connect(one.Out, "Out")
    connect(box.Out, "Out")

@workflow(outputs={"Out": object}, max_workers=1)
def main():
    source = Source(many=3)
    box = inside()
    connect(source.Out, box.In)
    last = Map(make=LAST)
    connect(box.Out, last.In)
    connect(last.Out, "Out")
"""
FLOWS = {
    "if behind if": IF_BEHIND_IF,
    "loop in loop": LOOP_IN_LOOP,
    "nested": NESTED,
    "branch left over": BRANCH_LEFT_OVER,
    "loop inside": LOOP_INSIDE,
    "two ports": TWO_PORTS,
    "ports one by one": PORTS_ONE_BY_ONE,
    "loop hands on": LOOP_HANDS_ON,
    "out by several": OUT_BY_SEVERAL,
    "box beside": BOX_BESIDE,
}
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
    """wfpy, with a look at all queues behind each line of the journal, before the firing of the next one, and at each
    queue that a nested workflow, an if or a loop moves a token of between the two."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: dict[int, list[Sizes]] = {}
        self._monkeypatch = monkeypatch
        self._root: Any = None
        self._seq = self._firing = 0
        fingerprint, record, atomic = journal_part("graph_fingerprint"), journal.Journal.record, runner._atomic_firing
        before: Sizes = {}

        def known(plan: Any) -> Any:
            self._root = self._root or plan
            return fingerprint(plan)

        @contextmanager
        def firing() -> Iterator[Any]:
            before.update(held(self._root))
            self._firing += 1
            try:
                with atomic() as one:
                    yield one
            finally:
                self._firing -= 1

        def recorded(log: Any, plan: Any, *rest: Any, **more: Any) -> int:
            seq: int = record(log, plan, *rest, **more)
            self._seq = seq
            self.sizes.setdefault(seq - 1, []).append(dict(before))
            self.sizes.setdefault(seq, []).append(dict(held(self._root)))
            return seq

        monkeypatch.setattr("wfpy._checkpoint_runtime.graph_fingerprint", known)
        monkeypatch.setattr(runner, "_atomic_firing", firing)
        monkeypatch.setattr(journal.Journal, "record", recorded)
        for name in ("enqueue", "dequeue", "try_dequeue"):
            self._look_behind(name)

    def _look_behind(self, name: str) -> None:
        moves = getattr(runner.Queue, name)

        def moved(queue: Any, *rest: Any) -> Any:
            found = moves(queue, *rest)
            if self._root is not None and not self._firing:
                self.sizes.setdefault(self._seq, []).append(dict(held(self._root)))
            return found

        self._monkeypatch.setattr(runner.Queue, name, moved)


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
@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
@pytest.mark.parametrize("artifacts", ["all", "journal", "no trace"])
def test_every_claim_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flow: str, last: str, artifacts: str
) -> None:
    (tmp_path / "flow.py").write_text(PARTS + flow.replace("LAST", last))
    watched = Watched(monkeypatch)
    monkeypatch.delenv("WF_RUN_OUT_DIR", raising=False)
    with suppress(RuntimeError):
        runner.run(imported(tmp_path / "flow.py").main, out_dir=tmp_path, run_id="live")
    for path in (tmp_path / "live").iterdir():
        alone = artifacts == "journal" and "journal" not in path.name
        if path.is_file() and (alone or (artifacts == "no trace" and "queues" in path.name)):
            path.unlink()
    run = opened(tmp_path / "live")
    assert told(run) == []
    known = sum(hold(run, step, watched.sizes[step]) for step in range(1, len(run)))
    assert known > len(run)


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_every_claim_is_true_of_a_run_killed_after_any_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flow: str
) -> None:
    (tmp_path / "flow.py").write_text(PARTS + flow.replace("LAST", "plain"))
    watched = Watched(monkeypatch)
    monkeypatch.delenv("WF_RUN_OUT_DIR", raising=False)
    runner.run(imported(tmp_path / "flow.py").main, out_dir=tmp_path, run_id="live")
    lines = (tmp_path / "live" / "run.wf-journal.jsonl").read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines) - 1):
        killed = tmp_path / f"killed{count}"
        killed.mkdir()
        (killed / "run.wf-journal.jsonl").write_bytes(b"".join(lines[: count + 1]))
        run = opened(killed)
        assert (len(run), run.run().status, told(run)) == (count, "interrupted", [])
        for step in {count, (count + 1) // 2}:
            hold(run, step, watched.sizes[step])


def opened(path: Path) -> WfpyRun:
    run = open_path(str(path)).open()
    assert isinstance(run, WfpyRun)
    list(run.index())
    return run


def hold(run: WfpyRun, step: int, moments: list[Sizes]) -> int:
    """What is said of the state after a step, held against what was at the moments between its line and the next; how
    many sizes were said."""
    known, state = 0, run.state(step)
    assert state is not None
    for queue in state.queues or ():
        if queue.size is not None and not (queue.scope and queue.to == "WF"):
            found = [sizes[tuple(queue.scope or ()), queue.id] for sizes in moments]
            assert min(found) <= queue.size <= max(found), (step, queue.id)
            known += 1
    for actor in state.actors or ():
        if actor.fire_count is not None:
            found = [sizes[tuple(actor.scope or ()), actor.id] for sizes in moments]
            assert min(found) <= actor.fire_count <= max(found), (step, actor.id)
    return known
