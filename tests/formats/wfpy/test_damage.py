"""Damaged run folders open as far as they go, and opening them stays inert."""

import json
from pathlib import Path

import pytest

from tests.formats.wfpy.folders import (
    REPORT,
    ROUND,
    Writer,
    checkpoint,
    contents,
    folder,
    header,
    opened,
    pipe,
    record,
    sizes,
    state_at,
    told,
    trace,
)
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


FAILED = {"message": "it broke", "entityInstanceName": "guard", "entityInstancePath": ["guard"]}


@pytest.mark.parametrize("beside", ["checkpoint", "viewer", ""])
@pytest.mark.parametrize(
    "cut", ['"finishedAt"', '"outputs"', '"actors"', '"error"', '"message"', '"it br', '"entityInstancePath"']
)
def test_a_record_that_breaks_off_does_not_say_that_its_run_ended_well(tmp_path: Path, cut: str, beside: str) -> None:
    """Its error stands at its end. What stands beside it tells how the run ended, else nothing does."""
    viewer = {
        "version": 1,
        "runId": "run",
        "running": False,
        "finishedAt": "2026-11-29T12:00:01+00:00",
        "error": FAILED,
    }
    others = {"checkpoint": checkpoint({ROUND: [2]}, {"bell": {"fireCount": 2}}, failed=FAILED), "viewer": viewer}
    saved = {name: value for name, value in others.items() if name == beside}
    path = folder(tmp_path / "run", pipe(2, 1), **saved, run=record([("bell", "Bell", "internal", 2)], FAILED))
    text = (path / "run.wf-run.json").read_text()
    (path / "run.wf-run.json").write_text(text[: text.index(cut) + len(cut)])
    run = opened(path)
    found = run.run()
    assert found.status in (("failed",) if beside else ("failed", "unknown", "interrupted"))
    assert not beside or (found.error and found.error.message) == "it broke"
    assert "the text breaks off; what is before it is shown" in [problem.message for problem in run.problems()]


def test_a_run_whose_record_breaks_off_ended_in_no_known_way(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", pipe(2, 1), run=record([("bell", "Bell", "internal", 2)]))
    text = (path / "run.wf-run.json").read_text()
    (path / "run.wf-run.json").write_text(text[: text.index('"actors"')])
    found = opened(path).run()
    assert (found.status, found.ended) == ("unknown", "2026-11-29T12:00:01+00:00")


def test_a_journal_without_its_first_line(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", "".join(pipe(2, 1).text().splitlines(keepends=True)[1:]))
    run = opened(path)
    assert (len(run), run.resume().possible) == (3, False)
    assert told(run) == [
        "run.wf-journal.jsonl:1 byte 0: holds no header: the workflow, its graph and its inputs are not known"
    ]


def test_a_checkpoint_and_a_trace_of_another_version(tmp_path: Path) -> None:
    saved = checkpoint({ROUND: []}, {"bell": {"fireCount": 0}}, version=2)
    path = folder(tmp_path / "run", checkpoint=saved, queues=trace() | {"version": 3})
    assert {line.split(": ", 1)[1] for line in told(opened(path))} == {
        "a checkpoint of another version than 1: read as well as can be",
        "a queue trace of another version than 1: read as well as can be",
    }


def test_a_checkpoint_that_breaks_off_alone(tmp_path: Path) -> None:
    """The queue in which it does is not known, and nothing goes on from it."""
    path = folder(tmp_path / "run", checkpoint=checkpoint({ROUND: [1, 2], REPORT: ["round 1"]}, {}))
    text = (path / "run.wf-checkpoint.json").read_text()
    (path / "run.wf-checkpoint.json").write_text(text[: text.index('"round 1"') + 4])
    run = opened(path)
    assert sizes(run, 0) == {ROUND: 2, REPORT: None}
    assert contents(run, 0) == {ROUND: [1, 2], REPORT: None}
    assert (run.resume().possible, run.resume().reasons) == (False, ("value_unreadable",))


def test_a_checkpoint_that_breaks_off_beside_a_journal(tmp_path: Path) -> None:
    """The journal has the queues that the checkpoint lacks."""
    saved = checkpoint(
        {ROUND: [2, 3], REPORT: ["round 1 quiet"]}, {"bell": {"fireCount": 3}, "guard": {"fireCount": 1}}
    )
    path = folder(tmp_path / "run", pipe(3, 1), checkpoint=saved)
    text = (path / "run.wf-checkpoint.json").read_text()
    (path / "run.wf-checkpoint.json").write_text(text[: text.index(REPORT) + 3])
    run = opened(path)
    assert contents(run, 4) == {ROUND: [2, 3], REPORT: ["round 1 quiet"]}
    assert (run.run().status, run.resume().possible) == ("failed", True)


def test_times_without_a_zone(tmp_path: Path) -> None:
    naive = {"startedAt": "2026-11-29T12:00:00", "finishedAt": "2026-11-29T12:00:01"}
    run = opened(folder(tmp_path / "run", pipe(1, 1), run=record([("bell", "Bell", "internal", 1)]) | naive))
    assert run.run().started == "2026-11-29T12:00:00"
    assert told(run)[-1] == f"{tmp_path / 'run'}: the times have no zone, as in 2026-11-29T12:00:00"


@pytest.mark.parametrize("how", ["gone", "garbled"])
def test_behind_a_lost_line_counts_are_known_when_the_next_firing_follows(how: str, tmp_path: Path) -> None:
    writer = pipe(2, 1)
    for number in (3, 4):
        writer.fire("bell", put={ROUND: [number]}, state={"_n": number})
    lines = writer.text().splitlines(keepends=True)

    def known(lost: int) -> list[tuple[object, object]]:
        text = [*lines[:lost], *([lines[lost][:40] + "\n"] if how == "garbled" else []), *lines[lost + 1 :]]
        run = opened(folder(tmp_path / f"{how}{lost}", "".join(text)))
        found = [next(one for one in state_at(run, step).actors or () if one.id == "bell") for step in range(5)]
        return [(one.fire_count, one.state) for one in found]

    def at(count: int) -> tuple[object, object]:
        return count, {"_n": count} if count else None

    # The firings are bell, bell, guard, bell, bell.
    assert known(1) == [at(0), at(2), at(2), at(3), at(4)]
    assert known(2) == [at(0), at(1), (None, None), at(3), at(4)]
    assert known(3) == [at(0), at(1), at(2), at(3), at(4)]


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
