"""What a run folder, a single file and a base folder say of how runs ended, and what can be resumed."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from inspector.errors import InspectorError
from inspector.formats import open_path
from inspector.formats.files import File
from inspector.formats.readers.wfpy.states import traced_state
from inspector.formats.readers.wfpy.trace import Trace
from inspector.formats.readers.wfpy.tracesteps import TraceSteps
from tests.formats.wfpy.folders import (
    GRAPH,
    REPORT,
    ROUND,
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

ACTORS = [("bell", "Bell", "internal", 3), ("guard", "Guard", "internal", 1)]
ERROR = {"message": "the dog bit", "entityInstanceName": "guard", "entityInstancePath": ["guard"]}
QUEUES = {ROUND: [2, 3], REPORT: ["round 1 quiet"]}
STATES = {"bell": {"fireCount": 3, "state": {"_n": 3}}, "guard": {"fireCount": 1, "state": {"walked": 2}}}


def failed(place: Path, **fields: object) -> Path:
    saved = checkpoint(QUEUES, STATES, failed=ERROR, runId=place.name, **fields)
    return folder(place, pipe(3, 1), checkpoint=saved, run=record(ACTORS, ERROR, runId=place.name))


def test_a_finished_run(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", pipe(3, 3), run=record(ACTORS)))
    found = run.run()
    assert (found.status, found.started, found.ended) == (
        "completed",
        "2026-11-29T12:00:00+00:00",
        "2026-11-29T12:00:01+00:00",
    )
    assert state_at(run, 6).pending == ()
    resume = run.resume()
    assert (resume.possible, resume.driver, resume.reasons) == (False, "wfpy", ("terminal",))
    assert resume.from_ == tuple(range(7))


def test_a_failed_run_has_its_firing_ready_again(tmp_path: Path) -> None:
    run = opened(failed(tmp_path / "run"))
    found = run.run()
    assert found.status == "failed"
    assert found.error is not None
    assert (found.error.message, found.error.where, found.error.type) == ("the dog bit", ("guard",), None)
    pending = state_at(run, 4).pending or ()
    assert [(one.kind, one.name, one.status) for one in pending] == [("firing", "guard", "ready")]
    assert pending[0].note == "the dog bit; it had changed walked from 1 to 2"
    assert told(run) == []
    assert run.resume().possible


def test_the_last_state_is_the_checkpoints(tmp_path: Path) -> None:
    run = opened(failed(tmp_path / "run"))
    assert contents(run, 4) == {ROUND: [2, 3], REPORT: ["round 1 quiet"]}
    assert [actor.state for actor in state_at(run, 4).actors or ()] == [{"_n": 3}, {"walked": 2}]


def test_ctrl_c_is_no_failure_of_an_actor(tmp_path: Path) -> None:
    stopped = {"message": "KeyboardInterrupt"}
    saved = checkpoint(QUEUES, STATES, failed=stopped)
    run = opened(folder(tmp_path / "run", pipe(3, 1), checkpoint=saved, run=record(ACTORS, stopped)))
    assert run.run().status == "cancelled"
    assert [one.status for one in state_at(run, 4).pending or ()] == ["ready"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 9}, "version_unsupported"),
        ({"resumable": False, "notResumable": ["guard.x: a lock cannot be saved"]}, "not_resumable"),
    ],
)
def test_checkpoints_that_cannot_be_resumed(tmp_path: Path, fields: dict[str, object], reason: str) -> None:
    resume = opened(failed(tmp_path / "run", **fields)).resume()
    assert (resume.possible, resume.reasons) == (False, (reason,))


def test_a_token_that_could_not_be_saved_says_why(tmp_path: Path) -> None:
    why = f"{ROUND}[1]: a lock cannot be saved"
    saved = checkpoint({ROUND: [2, None], REPORT: [None]}, STATES, resumable=False, notResumable=[why])
    run = opened(folder(tmp_path / "run", checkpoint=saved))
    queues = {queue.id: queue for queue in state_at(run, 0).queues or ()}
    assert list(queues[ROUND].tokens or ()) == [2, {"$type": "unknown", "reason": why}]
    assert (queues[ROUND].contents, queues[ROUND].size) == ("size", 2)
    assert list(queues[REPORT].tokens or ()) == [None]


def test_one_file_of_a_folder_opens_its_run(tmp_path: Path) -> None:
    place = failed(tmp_path / "run")
    for name in ("run.wf-journal.jsonl", "run.wf-checkpoint.json", "run.wf-run.json"):
        run = opened(place / name)
        assert (len(run), run.run().status) == (4, "failed")


@pytest.mark.parametrize("name", ["checkpoint", "run", "queues", "viewer"])
def test_a_file_under_another_name_is_opened_alone(tmp_path: Path, name: str) -> None:
    steps = trace(("bell", "internal", 1, 1, {ROUND: 1, REPORT: 0}), ("bell", "internal", 2, 2, {ROUND: 2, REPORT: 0}))
    viewer = {"version": 1, "runId": "run", "workflowName": "shop", "running": False, "error": ERROR, "edges": {}}
    folder(
        tmp_path / "run",
        checkpoint=checkpoint(QUEUES, STATES, failed=ERROR),
        run=record(ACTORS, ERROR),
        queues=steps,
        viewer=viewer,
    )
    alone = tmp_path / "alone.json"
    shutil.copy(tmp_path / "run" / f"run.wf-{name}.json", alone)
    run = opened(alone)
    assert run.run().name == "shop"
    assert run.run().status == ("unknown" if name == "queues" else "failed")
    assert len(run) == (2 if name == "queues" else 0)
    assert run.state(0) is not None


def test_a_trace_alone_knows_sizes_and_last_tokens(tmp_path: Path) -> None:
    steps = trace(("bell", "internal", 1, 1, {ROUND: 1, REPORT: 0}), ("bell", "internal", 2, 2, {ROUND: 2, REPORT: 0}))
    steps["steps"][1]["queueSizes"][0]["lastToken"] = "two"
    run = opened(folder(tmp_path / "run", queues=steps))
    assert [(step.name, step.trace_step, step.consumed) for step in run.steps(1, 3)] == [
        ("bell", 1, None),
        ("bell", 2, None),
    ]
    queue = (state_at(run, 2).queues or ())[0]
    assert (queue.size, queue.contents, list(queue.tokens or ())) == (2, "last", ["two"])
    assert sizes(run, 0) == {ROUND: None, REPORT: None}
    assert [hit for hit in run.find("two", 1) if isinstance(hit, int)] == [2]


def test_how_often_actors_fired_is_told_without_a_walk_over_the_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    firings = [(f"a{n % 3}", "internal", n // 3 + 1, n, {ROUND: 1}) for n in range(600)]
    place = folder(tmp_path / "run", queues=trace(*firings))
    known = Trace(File(str(place / "run.wf-queues.json")))
    list(known.load())
    look, looked = TraceSteps.__getitem__, list[object]()
    monkeypatch.setattr(TraceSteps, "__getitem__", lambda steps, at: looked.append(at) or look(steps, at))
    state = traced_state(known, [], None, 500)
    assert [(one.id, one.fire_count) for one in state.actors or ()] == [("a0", 167), ("a1", 167), ("a2", 166)]
    first = traced_state(known, [], None, 1).actors or ()
    assert [(one.id, one.fire_count) for one in first] == [("a0", 1)]
    assert len(looked) <= 6
    assert not any(isinstance(at, slice) for at in looked)


def test_steps_of_a_trace_are_not_kept_as_objects(tmp_path: Path) -> None:
    firings = [("bell", "internal", n, n, {ROUND: 1}) for n in range(600)]
    steps = trace(*firings)
    del steps["steps"][7]["journalSeq"]
    steps["steps"][8]["actorFireCount"] = 1 << 63
    known = Trace(File(str(folder(tmp_path / "run", queues=steps) / "run.wf-queues.json")))
    list(known.load())
    assert known.steps[5] is not known.steps[5]
    assert [(step.step, step.journal_seq, step.place) for step in known.steps[5:9]] == [
        (6, 5, 5),
        (7, 6, 6),
        (8, None, 7),
        (10, 9, 9),
    ]
    assert len(known.problems) == 1


def test_a_last_token_is_read_from_the_work_folder(tmp_path: Path) -> None:
    steps = trace(("bell", "internal", 1, 1, {ROUND: 1}))
    steps["steps"][0]["queueSizes"][0]["lastToken"] = "/old/place/run/work/edge-tokens/q__0.json"
    place = folder(tmp_path / "run", queues=steps)
    before = opened(place)
    assert list((state_at(before, 1).queues or ())[0].tokens or ()) == ["/old/place/run/work/edge-tokens/q__0.json"]
    (place / "work" / "edge-tokens").mkdir(parents=True)
    (place / "work" / "edge-tokens" / "q__0.json").write_text('{"$wfType": "set", "values": [1]}')
    tokens = (state_at(opened(place), 1).queues or ())[0].tokens
    assert list(tokens or ()) == [{"$type": "set", "items": [1]}]


def test_a_last_token_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('"secret"')
    steps = trace(("bell", "internal", 1, 1, {ROUND: 1}))
    steps["steps"][0]["queueSizes"][0]["lastToken"] = "/x/work/edge-tokens/../../../secret.json"
    tokens = (state_at(opened(folder(tmp_path / "run", queues=steps)), 1).queues or ())[0].tokens
    assert list(tokens or ()) == ["/x/work/edge-tokens/../../../secret.json"]


def test_a_record_alone_shows_counts_and_outputs(tmp_path: Path) -> None:
    viewer = {"version": 1, "runId": "run", "workflowName": "shop", "running": False}
    viewer["edges"] = {f"queue:{REPORT}": {"queueId": REPORT}, f"queue:{ROUND}": {"queueId": ROUND}}
    run = opened(folder(tmp_path / "run", run=record(ACTORS, outputs={"Report": ["a", "b"]}), viewer=viewer))
    assert {actor.id: actor.fire_count for actor in state_at(run, 0).actors or ()} == {"bell": 3, "guard": 1}
    assert contents(run, 0) == {REPORT: ["a", "b"], ROUND: None}
    graph = run.definition().graph
    assert graph is not None
    assert ("bell", "internal", "Bell") in [(node.id, node.kind, node.class_) for node in graph.nodes or ()]


def test_a_resumed_run_begins_where_the_other_stopped(tmp_path: Path) -> None:
    failed(tmp_path / "first")
    second = pipe(0, 0, resumedFrom="first")
    del second.lines[0]["header"]["inputs"]
    second.counts["guard"] = 1
    second.fire("guard", {ROUND: [2]}, {REPORT: ["round 2 quiet"]})
    run = opened(folder(tmp_path / "second", second))
    assert run.run().resumed_from is not None
    assert run.run().resumed_from.run == "first"  # type: ignore[union-attr]
    assert contents(run, 0) == {ROUND: [2, 3], REPORT: ["round 1 quiet"]}
    assert contents(run, 1) == {ROUND: [3], REPORT: ["round 1 quiet", "round 2 quiet"]}
    assert [actor.fire_count for actor in state_at(run, 0).actors or ()] == [3, 1]
    resume = run.resume()
    assert (resume.possible, resume.from_) == (True, (0, 1))


def test_a_resumed_run_without_the_other_claims_no_contents(tmp_path: Path) -> None:
    second = pipe(0, 0, resumedFrom="first")
    del second.lines[0]["header"]["inputs"]
    second.counts["guard"] = 1
    second.fire("guard", {ROUND: [2]}, {REPORT: ["round 2 quiet"]})
    run = opened(folder(tmp_path / "second", second))
    assert sizes(run, 1) == {ROUND: None, REPORT: None}
    assert {actor.id: actor.fire_count for actor in state_at(run, 1).actors or ()} == {"guard": 2, "bell": None}
    assert run.resume().reasons == ("inputs_missing",)
    assert told(run) == []


@pytest.mark.parametrize("name", ["../first", "..", ".", "/etc", ""])
def test_the_other_run_is_looked_for_beside_alone(tmp_path: Path, name: str) -> None:
    failed(tmp_path / "first")
    (tmp_path / "inner").mkdir()
    run = opened(folder(tmp_path / "inner" / "second", pipe(1, 0, resumedFrom=name)))
    assert run.rebuilt is not None
    assert run.rebuilt.origin is None


def test_a_run_resumed_at_a_step(tmp_path: Path) -> None:
    writer = pipe(2, 1)
    writer.lines[1] |= {"replayed": True}
    again = record(ACTORS, resumedFrom="first", resumedAtStep=1)
    run = opened(folder(tmp_path / "run", writer, run=again))
    assert [step.status for step in run.steps(1, 4)] == ["replayed", "done", "done"]
    link = run.run().resumed_from
    assert link is not None
    assert (link.run, link.step) == ("first", 1)


def test_a_checkpoint_of_an_earlier_run_is_left_out(tmp_path: Path) -> None:
    saved = checkpoint({ROUND: ["old"], REPORT: []}, STATES)
    run = opened(folder(tmp_path / "run", pipe(3, 3), checkpoint=saved, run=record(ACTORS)))
    assert run.run().status == "completed"
    assert contents(run, 6)[ROUND] == []
    assert "run.wf-checkpoint.json: is not of this run" in told(run)[0]


def test_a_killed_run_of_an_id_used_twice_is_not_the_first_one(tmp_path: Path) -> None:
    steps = trace(*((("bell", "internal", n, n, {ROUND: n, REPORT: 0})) for n in range(1, 4)))
    text = pipe(3, 0).text() + pipe(1, 0).text()
    run = opened(folder(tmp_path / "run", text, queues=steps, run=record(ACTORS)))
    assert (len(run), run.run().status) == (1, "interrupted")


def base_of(tmp_path: Path) -> Path:
    place = tmp_path / "wf-out"
    failed(place / "2026-11-29T10-00-00-000Z_aaaaaaaa")
    folder(place / "later", pipe(3, 2), run=record(ACTORS, runId="later", startedAt="2026-11-30T00:00:00+00:00"))
    lines = [{"runId": name, "workflowName": "shop", "outDir": "/x", "startedAt": when} for name, when in LOGGED]
    (place / "run-log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    return place


LOGGED = [("gone", "2026-11-28T00:00:00+00:00"), ("later", "2026-11-30T00:00:00+00:00")]


def test_a_base_folder_lists_its_runs_newest_last(tmp_path: Path) -> None:
    runs = open_path(str(base_of(tmp_path)))
    assert runs.source.format == "wfpy"
    rows = [(row.id, row.status, row.steps) for row in runs.rows()]
    assert rows == [
        ("gone", "unknown", None),
        ("2026-11-29T10-00-00-000Z_aaaaaaaa", "failed", 4),
        ("later", "completed", 5),
    ]
    assert ["run-log.jsonl:3" in problem.where for problem in runs.problems()] == [True]
    run = runs.open("later")
    list(run.index())
    assert len(run) == 5
    assert runs.open("gone").run().id == "gone"
    with pytest.raises(InspectorError, match="holds no run"):
        runs.open("nobody")
    with pytest.raises(InspectorError, match="choose one"):
        runs.open()


def test_a_base_folder_sees_new_runs(tmp_path: Path) -> None:
    place = base_of(tmp_path)
    runs = open_path(str(place))
    assert not runs.refresh()
    os.utime(folder(place / "newest", pipe(1, 0)), (2e9, 2e9))
    assert runs.refresh()
    assert runs.rows()[-1].id == "newest"


def test_a_log_alone_lists_runs(tmp_path: Path) -> None:
    place = base_of(tmp_path)
    alone = tmp_path / "log.jsonl"
    shutil.copy(place / "run-log.jsonl", alone)
    assert [row.id for row in open_path(str(alone)).rows()] == ["gone", "later"]


def live(place: Path, run_id: str) -> Path:
    overlay = {"version": 1, "runId": run_id, "workflowName": "shop", "startedAt": "2026-11-29T12:00:00+00:00"}
    overlay |= {"running": True, "active": [{"entityInstancePath": ["guard"]}]}
    overlay["edges"] = {f"queue:{REPORT}": {"queueId": REPORT}}
    path = place / "run.wf-viewer.live.json"
    path.write_text(json.dumps(overlay))
    return path


def test_a_run_that_runs_is_told_from_one_that_was_killed(tmp_path: Path) -> None:
    place = folder(tmp_path / "wf-out" / "night", pipe(2, 0))
    path = live(tmp_path / "wf-out", "night")
    run = opened(place)
    assert (run.run().status, run.run().started) == ("running", "2026-11-29T12:00:00+00:00")
    assert [(one.name, one.status) for one in state_at(run, 2).pending or ()] == [("guard", "in_flight")]
    assert sizes(run, 2) == {ROUND: 2, REPORT: 0} or REPORT in sizes(run, 2)
    long_ago = time.time() - 3600
    for old in (path, place / "run.wf-journal.jsonl"):
        os.utime(old, (long_ago, long_ago))
    run = opened(place)
    assert run.run().status == "interrupted"
    assert [(one.name, one.status) for one in state_at(run, 2).pending or ()] == [("guard", "ambiguous")]


def test_the_live_overlay_of_another_run_says_nothing(tmp_path: Path) -> None:
    place = folder(tmp_path / "wf-out" / "night", pipe(2, 0))
    live(tmp_path / "wf-out", "day")
    assert opened(place).run().status == "interrupted"


def test_damaged_files_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    place = failed(tmp_path / "run")
    (place / "run.wf-run.json").write_text("[]")
    (place / "run.wf-checkpoint.json").write_text('{"version": 1, "runId": "run", "workflowName": "shop", "graph": ')
    run = opened(place)
    assert len(run) == 4
    assert {line.split(":")[0] for line in told(run)} == {"run.wf-run.json", "run.wf-checkpoint.json"}


def test_a_damaged_step_of_a_trace_is_left_out(tmp_path: Path) -> None:
    steps = trace(*(("bell", "internal", n, n, {ROUND: n}) for n in (1, 2, 3)))
    steps["steps"][1] = ["no", "step"]
    run = opened(folder(tmp_path / "run", queues=steps))
    assert [step.trace_step for step in run.steps(1, 9)] == [1, 3]
    assert sizes(run, 2) == {ROUND: 3}
    assert len(told(run)) == 1
    assert told(run)[0].startswith("run.wf-queues.json:")
    assert "is no step of a queue trace" in told(run)[0]


def test_sizes_beside_a_token_that_is_no_json(tmp_path: Path) -> None:
    steps = trace(("bell", "internal", 1, 1, {ROUND: 1, REPORT: 2}))
    steps["steps"][0]["queueSizes"][0]["lastToken"] = float("nan")
    run = opened(folder(tmp_path / "run", queues=steps))
    assert sizes(run, 1) == {ROUND: 1, REPORT: 2}


def test_the_graph_is_that_of_the_journal_and_its_neighbours(tmp_path: Path) -> None:
    steps = trace(("bell", "internal", 1, 1, {ROUND: 1, REPORT: 0}))
    run = opened(folder(tmp_path / "run", pipe(1, 0), queues=steps, run=record(ACTORS)))
    found = run.definition().graph
    assert found is not None
    assert (found.digest, found.complete) == (GRAPH, True)
    assert [(edge.id, edge.from_, edge.to) for edge in found.edges or ()] == [
        (ROUND, "bell", "guard"),
        (REPORT, "guard", None),
    ]
    assert told(run) == []
    other = opened(folder(tmp_path / "other", pipe(1, 0, graph="sha256:0"), queues=steps, run=record(ACTORS)))
    assert "the graph's digest is not that of the actors and queues" in told(other)[0]


def test_a_header_of_another_version(tmp_path: Path) -> None:
    writer = pipe(2, 1)
    writer.lines[0] = header(version=7)
    run = opened(folder(tmp_path / "run", writer))
    assert len(run) == 3
    assert "another version" in told(run)[0]
    assert run.source.version == "7"
    assert run.resume().reasons == ("version_unsupported",)
