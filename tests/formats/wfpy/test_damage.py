"""Damaged run folders open as far as they go, and opening them stays inert."""

import json
from pathlib import Path

from tests.formats.wfpy.folders import Writer, checkpoint, folder, header, pipe, record, trace
from tests.formats.wfpy.test_composites import loop_trace, looped, nested
from tests.fuzz import check, fuzz

EXAMPLE = Path(__file__).parents[3] / "examples" / "wfpy-failed"
INTO, INSIDE, OUT, BEYOND = "a.Out-->box.In", "WF.In-->b.In", "b.Out-->WF.Out", "box.Out-->c.In"


def sample(place: Path) -> Path:
    """A run folder with everything in it: a nested workflow, tags, a trace, a record, a checkpoint."""
    inner = {"queues": [{"id": INSIDE, "tokens": [2]}, {"id": OUT, "tokens": []}], "actors": {"b": {"fireCount": 1}}}
    box = {"fireCount": 1, "pending": {"subPlan": True}, "state": {}, "subPlan": inner}
    actors = {"a": {"fireCount": 3, "state": {}, "chatHistory": [{"role": "user", "content": "hi"}]}, "box": box}
    error = {"message": "x", "entityInstanceName": "b", "entityInstancePath": ["box", "b"]}
    steps = [("a", "internal", n, n, {INTO: n, BEYOND: 0}) for n in (1, 2, 3)]
    rows = [("a", "A", "internal", 3), ("box", "Proxy", "workflow", 1)]
    saved = checkpoint({INTO: [3], BEYOND: [-1]}, actors, failed=error)
    viewer = {"version": 1, "runId": "run", "workflowName": "shop", "running": False, "error": error, "edges": {}}
    return folder(place, nested(1), checkpoint=saved, queues=trace(*steps), run=record(rows, error), viewer=viewer)


def test_a_damaged_folder(tmp_path: Path) -> None:
    assert sum(fuzz(sample(tmp_path / "run"), tmp_path, count=60)) >= 60


def test_the_example_damaged(tmp_path: Path) -> None:
    opened, refused = fuzz(EXAMPLE, tmp_path, count=25, seed=1)
    assert opened > refused


def test_a_damaged_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(looped().text() + pipe(4, 3).text())
    opened, _ = fuzz(path, tmp_path, count=60, seed=2)
    assert opened > 30


def test_a_damaged_loop(tmp_path: Path) -> None:
    opened, refused = fuzz(folder(tmp_path / "run", looped(), queues=loop_trace()), tmp_path, count=30, seed=3)
    assert opened > refused


def test_a_damaged_base_folder(tmp_path: Path) -> None:
    base = tmp_path / "wf-out"
    sample(base / "one")
    folder(base / "two", pipe(2, 1))
    row = {"runId": "gone", "workflowName": "shop", "outDir": "/x", "startedAt": "2026-11-28T00:00:00+00:00"}
    (base / "run-log.jsonl").write_text(json.dumps(row) + "\n")
    live = {"version": 1, "runId": "two", "workflowName": "shop", "running": True, "edges": {}}
    (base / "run.wf-viewer.live.json").write_text(json.dumps(live))
    assert check(base)
    opened, refused = fuzz(base, tmp_path, count=30, seed=4)
    assert opened > refused


def test_counts_and_sizes_that_are_lies(tmp_path: Path) -> None:
    writer = Writer(header()).fire("a", put={INTO: [1]})
    writer.fire("box/b", consumed=[[INSIDE, 10**18, "x"]])
    writer.fire("box/b", consumed=[[INSIDE, 99_000, "x"]], fireCount=10**30, seq=10**30)
    writer.fire("c", consumed=[["loop.item-->c.In", 90_000, "x"]])
    huge = {"fireCount": 10**18, "pending": {"subPlan": True}, "subPlan": {"queues": [], "actors": {}}}
    saved = checkpoint({INTO: [], "box.Out-->box.In": []}, {"box": huge})
    steps = trace(("loop", "control-loop", 10**18, 2, {"loop.item-->c.In": 10**15}), ("box", "workflow", 10**18, 3, {}))
    assert check(folder(tmp_path / "run", writer, checkpoint=saved, queues=steps), seconds=20)


def test_a_workflow_that_feeds_itself(tmp_path: Path) -> None:
    inner = {"queues": [{"id": "WF.In-->WF.Out", "tokens": []}], "actors": {}}
    box = {"fireCount": 10**9, "state": {}, "subPlan": inner}
    saved = checkpoint({"box.Out-->box.In": [], "a.Out-->box.In": []}, {"a": {"fireCount": 1}, "box": box})
    writer = Writer(header()).fire("a", put={"box.Out-->box.In": [1]})
    assert check(folder(tmp_path / "run", writer, checkpoint=saved), seconds=20)
