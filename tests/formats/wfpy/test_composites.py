"""Nested workflows, ifs and loops: what moves without a line of its own."""

from pathlib import Path

import pytest

from tests.formats.wfpy.folders import (
    Writer,
    checkpoint,
    contents,
    folder,
    header,
    opened,
    record,
    sizes,
    state_at,
    told,
    trace,
)

INTO, INSIDE, OUT, BEYOND = "a.Out-->box.In", "WF.In-->b.In", "b.Out-->WF.Out", "box.Out-->c.In"


def nested(done: int) -> Writer:
    """`a` puts three tokens for `box`, in which `b` takes one a firing; `c` takes what comes out."""
    writer = Writer(header())
    for number in (1, 2, 3):
        writer.fire("a", put={INTO: [number]})
    for number in range(1, done + 1):
        writer.fire("box/b", {INSIDE: [number]}, {OUT: [-number]})
    return writer


def test_a_nested_firing_takes_a_token_in_and_out(tmp_path: Path) -> None:
    writer = nested(2).fire("c", {BEYOND: [-1]})
    run = opened(folder(tmp_path / "run", writer))
    assert contents(run, 3) == {INTO: [1, 2, 3], BEYOND: [], f"box/{INSIDE}": [], f"box/{OUT}": []}
    assert contents(run, 4) == {INTO: [2, 3], BEYOND: [-1], f"box/{INSIDE}": [], f"box/{OUT}": []}
    assert contents(run, 6) == {INTO: [3], BEYOND: [-2], f"box/{INSIDE}": [], f"box/{OUT}": []}
    assert told(run) == []


def test_who_fires_next_is_ready_before_its_workflow_took_the_token_in(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", nested(2)))
    names = [[one.name for one in state_at(run, step).pending or ()] for step in range(6)]
    assert names == [["a"], ["a"], ["a"], ["box/b"], ["box/b"], ["box"]]
    assert [one.status for one in state_at(run, 5).pending or ()] == ["ambiguous"]


def test_a_workflow_around_what_may_fire_is_not_told_too(tmp_path: Path) -> None:
    writer = nested(1).fire("box/d", put={"d.Out-->b.More": [1]})
    writer.fire("box/b", {INSIDE: [2], "d.Out-->b.More": [1]}, {OUT: [-2]}).fire("box/d", put={"d.Out-->b.More": [1]})
    writer.fire("box/e", put={"e.Out-->f.In": [1]}).fire("box/f", {"e.Out-->f.In": [1]})
    run = opened(folder(tmp_path / "run", writer.fire("box/e", put={"e.Out-->f.In": [1]})))
    assert [one.name for one in state_at(run, len(run)).pending or ()] == ["box/f"]


def test_composites_count_their_firings(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", nested(3), run=record([("box", "Proxy", "workflow", 3)])))
    counts = [next(actor for actor in state_at(run, step).actors or () if actor.id == "box") for step in range(7)]
    assert [box.fire_count for box in counts] == [0, 0, 0, 0, 1, 2, 3]
    assert not any(box.unfinished for box in counts)


def test_a_firing_cut_short_is_unfinished(tmp_path: Path) -> None:
    inner = {"queues": [{"id": INSIDE, "tokens": [2]}, {"id": OUT, "tokens": []}], "actors": {"b": {"fireCount": 1}}}
    box = {"fireCount": 1, "pending": {"subPlan": True}, "state": {}, "subPlan": inner}
    actors = {"a": {"fireCount": 3, "state": {}}, "box": box}
    saved = checkpoint({INTO: [3], BEYOND: [-1]}, actors, failed={"message": "x", "entityInstancePath": ["box", "b"]})
    run = opened(folder(tmp_path / "run", nested(1), checkpoint=saved))
    assert told(run) == []
    found = next(actor for actor in state_at(run, 4).actors or () if actor.id == "box")
    assert (found.fire_count, found.unfinished, found.state) == (1, {"subPlan": True}, None)
    assert [one.name for one in state_at(run, 4).pending or ()] == ["box/b"]
    before = next(actor for actor in state_at(run, 3).actors or () if actor.id == "box")
    assert (before.fire_count, before.unfinished) == (0, None)


@pytest.mark.parametrize(("done", "failed"), [(0, "b"), (2, "b"), (2, "other"), (2, "d")])
def test_what_a_failure_inside_took_is_unknown_without_a_checkpoint(tmp_path: Path, done: int, failed: str) -> None:
    """Of `d` it is known that it failed on what `b` had put: nothing else had moved."""
    writer = nested(done)
    writer = writer.fire("box/b", {INSIDE: [3]}, {"b.Out-->d.In": [-3]}) if failed == "d" else writer
    error = {"message": "x", "entityInstancePath": ["box", failed]}
    run = opened(folder(tmp_path / "run", writer, run=record([("box", "Proxy", "workflow", 3)], error=error)))
    last = run.state(len(run))
    assert last is not None
    queues = {queue.id: queue for queue in last.queues or ()}
    box = next(actor for actor in last.actors or () if actor.id == "box")
    assert box.unfinished == {"subPlan": True}
    if failed == "d":
        assert (queues[INTO].size, queues[INSIDE].size, box.fire_count) == (0, 0, 2)
    else:
        assert (queues[INTO].contents, queues[INTO].size, box.fire_count) == ("unknown", None, None)
        assert sizes(run, len(run) - 1)[INTO] == (3 if done < 2 else 2) - (done == 0)
    assert told(run) == []


def test_what_a_loop_inside_kept_back_when_it_failed_is_unknown_without_a_checkpoint(tmp_path: Path) -> None:
    """What is on an output of a nested workflow is handed on when the loop that it came from is done."""
    writer = Writer(header())
    for item in ("x", "y"):
        writer.fire("a", put={INTO: [[item]]}).fire("box/b", {INSIDE: [[item]]}, {ITER: [[item]]})
        writer.fire("box/van", {ITEM: [item]}, {DONE: [item]})
        if item == "x":
            writer.fire("c", {BEYOND: [item]})
    error = {"message": "x", "entityInstancePath": ["box", "van"]}
    run = opened(folder(tmp_path / "run", writer, run=record([("box", "Proxy", "workflow", 2)], error=error)))
    assert [sizes(run, step)[f"box/{DONE}"] for step in (2, 4, 6, 7)] == [0, 0, 0, None]


def test_a_firing_in_which_nobody_inside_fired_may_be_over_since_its_token_was_there(tmp_path: Path) -> None:
    """`b` takes two tokens a firing: the first firing of `box` only brings one in, and no line says when."""
    writer = Writer(header())
    for number in (1, 2, 3, 4):
        writer.fire("a", put={INTO: [number]})
    for number in (1, 3):
        writer.fire("box/b", {INSIDE: [number, number + 1]}, {OUT: [-number]})
    run = opened(folder(tmp_path / "run", writer))
    boxes = [next(actor for actor in state_at(run, step).actors or () if actor.id == "box") for step in range(5)]
    assert [box.fire_count for box in boxes] == [0, None, None, None, None]
    assert [sizes(run, step)[INTO] for step in range(5)] == [0, None, None, None, None]


def test_a_workflow_that_hands_its_input_to_another_is_not_counted(tmp_path: Path) -> None:
    inner = "WF.In-->b.In"
    writer = Writer(header()).fire("a", put={INTO: [1]}).fire("a", put={INTO: [2]})
    for number in (1, 2):
        writer.fire("box/deep/b", {inner: [number]}, {"b.Out-->WF.Out": [-number]})
    run = opened(folder(tmp_path / "run", writer))
    assert [sizes(run, step)[INTO] for step in range(5)] == [0, 1, 2, None, None]
    assert told(run) == []


def test_what_a_failure_kept_inside_is_no_disagreement(tmp_path: Path) -> None:
    inner = {"queues": [{"id": INSIDE, "tokens": []}, {"id": OUT, "tokens": [-2]}], "actors": {"b": {"fireCount": 2}}}
    box = {"fireCount": 1, "pending": {"subPlan": True}, "state": {}, "subPlan": inner}
    saved = checkpoint({INTO: [3], BEYOND: [-1]}, {"a": {"fireCount": 3}, "box": box})
    assert told(opened(folder(tmp_path / "run", nested(2), checkpoint=saved))) == []


def test_a_file_that_leaves_a_nested_workflow_is_known_by_its_copy(tmp_path: Path) -> None:
    file, copy = "/w/box__wf/b__Out__0.txt", "/w/box__Out__0.txt"
    writer = Writer(header()).fire("a", put={INTO: [1]}).fire("box/b", {INSIDE: [1]}, {OUT: [file]})
    writer.fire("c", {BEYOND: [copy]})
    run = opened(folder(tmp_path / "run", writer))
    assert told(run) == []
    assert contents(run, 2)[BEYOND] == [copy]
    elsewhere = Writer(header()).fire("a", put={INTO: [1]}).fire("box/b", {INSIDE: [1]}, {OUT: ["/x/y.txt"]})
    elsewhere.fire("c", {BEYOND: ["/w/renamed"]})
    run = opened(folder(tmp_path / "other", elsewhere))
    assert told(run) == []
    assert contents(run, 2)[BEYOND] is None


def test_tokens_that_left_for_a_queue_nobody_names_are_not_claimed(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", nested(2)))
    assert sizes(run, 5) == {INTO: 1, f"box/{INSIDE}": 0, f"box/{OUT}": None}


def test_an_input_handed_straight_on_has_no_line(tmp_path: Path) -> None:
    writer = Writer(header()).fire("a", put={INTO: [1]}).fire("box/b", {INSIDE: [1]})
    writer.fire("c", {"box.Same-->c.In": [1]})
    run = opened(folder(tmp_path / "run", writer))
    assert told(run) == []
    assert [group.tokens for group in run.steps(3, 4)[0].consumed or ()] == [None]


ITEM, ITER, DONE, LEFT = "loop.item-->van.In", "plan.Out-->loop.iter", "van.Out-->WF.Out", "loop.out-->WF.End"
CONTROL = [
    ("plan", "Plan", "internal", 1),
    ("loop", "ControlNodeRecord", "control-loop", 3),
    ("van", "Van", "internal", 2),
]


def looped() -> Writer:
    writer = Writer(header()).fire("plan", put={ITER: [["x", "y"]]})
    for item in ("x", "y"):
        writer.fire("van", {ITEM: [item]}, {DONE: [item]})
    return writer


def loop_trace() -> object:
    def at(iter_: int, done: int, left: int) -> dict[str, int]:
        return {ITER: iter_, ITEM: 0, DONE: done, LEFT: left}

    return trace(
        ("plan", "internal", 1, 1, at(1, 0, 0)),
        ("loop", "control-loop", 1, 2, at(0, 1, 0)),
        ("loop", "control-loop", 2, 3, at(0, 2, 0)),
        ("loop", "control-loop", 3, 3, at(0, 2, 1)),
    )


def test_a_loop_takes_its_list_and_puts_the_items(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", looped(), queues=loop_trace(), run=record(CONTROL)))
    assert told(run)[1:] == []  # the first is about the made-up digest of the graph
    assert contents(run, 1) == {ITER: [["x", "y"]], ITEM: [], DONE: [], LEFT: []}
    assert contents(run, 2) == {ITER: [], ITEM: [], DONE: ["x"], LEFT: []}
    assert contents(run, 3) == {ITER: [], ITEM: [], DONE: ["x", "y"], LEFT: [None]}
    assert [group.tokens for step in run.steps(2, 4) for group in step.consumed or ()] == [("x",), ("y",)]
    counts = [next(actor.fire_count for actor in state_at(run, n).actors or () if actor.id == "loop") for n in range(4)]
    assert counts == [0, 0, 1, 3]


def test_a_loop_whose_end_stands_behind_the_journals_is_known_to_run(tmp_path: Path) -> None:
    def at(iter_: int, done: int) -> dict[str, int]:
        return {ITER: iter_, ITEM: 0, DONE: done, LEFT: 0}

    steps = trace(("plan", "internal", 1, 1, at(1, 0)), ("loop", "control-loop", 1, 9, at(0, 8)))
    run = opened(folder(tmp_path / "run", looped(), queues=steps))
    assert [contents(run, step)[ITER] for step in range(1, 4)] == [[["x", "y"]], [], []]
    assert [contents(run, step)[LEFT] for step in range(1, 4)] == [[], [], []], "put when the loop ends"


def test_a_killed_loop_never_goes_below_zero(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", looped()))
    assert told(run) == []
    assert sizes(run, 3) == {ITER: 0, ITEM: 0, DONE: 2}
    assert [group.tokens for step in run.steps(2, 4) for group in step.consumed or ()] == [("x",), ("y",)]
    assert [actor.fire_count for actor in state_at(run, 3).actors or () if actor.id == "loop"] == [None]


def test_items_of_an_unknown_list_are_unknown(tmp_path: Path) -> None:
    writer = Writer(header()).fire("van", {ITEM: ["x"]}, {DONE: ["x"]})
    run = opened(folder(tmp_path / "run", writer))
    assert told(run) == []
    assert [group.tokens for group in run.steps(1, 2)[0].consumed or ()] == [None]


COND, THEN, PASSED = "ask.Out-->if.cond", "ask.Val-->van.In", "if.out-->WF.Cond"


def test_an_if_takes_its_condition_and_passes_it_on(tmp_path: Path) -> None:
    writer = Writer(header()).fire("ask", put={COND: ["go"], THEN: [1]}).fire("van", {THEN: [1]}, {DONE: [1]})

    def at(cond: int, then: int, done: int, passed: int) -> dict[str, int]:
        return {COND: cond, THEN: then, DONE: done, PASSED: passed}

    steps = trace(("ask", "internal", 1, 1, at(1, 1, 0, 0)), ("if", "control-if", 1, 2, at(0, 0, 1, 1)))
    run = opened(folder(tmp_path / "run", writer, queues=steps))
    assert told(run) == []
    assert contents(run, 1)[COND] == ["go"]
    assert contents(run, 2) == {COND: [], THEN: [], DONE: [1], PASSED: ["go"]}


def test_an_if_cut_short_has_taken_its_condition(tmp_path: Path) -> None:
    writer = Writer(header()).fire("ask", put={COND: ["go"], THEN: [1]}).fire("van", {THEN: [1]}, {DONE: [1]})
    steps = trace(("ask", "internal", 1, 1, {COND: 1, THEN: 1, DONE: 0, PASSED: 0}))
    gate = {"fireCount": 0, "pending": {"scopes": ["scope:2"], "emit": "go"}, "control": {"initialized": True}}
    actors = {"ask": {"fireCount": 1, "state": {}}, "if": gate, "van": {"fireCount": 1, "state": {}}}
    saved = checkpoint({COND: [], THEN: [], DONE: [1], PASSED: []}, actors, failed={"message": "x"})
    run = opened(folder(tmp_path / "run", writer, queues=steps, checkpoint=saved))
    assert told(run) == []
    found = next(actor for actor in state_at(run, 2).actors or () if actor.id == "if")
    assert (found.fire_count, found.unfinished) == (0, {"scopes": ["scope:2"], "emit": "go"})


@pytest.mark.parametrize(("recorded", "kind"), [(True, "control-if"), (False, None)])
def test_what_kind_of_control_it_is_the_record_tells_and_no_checkpoint(
    tmp_path: Path, recorded: bool, kind: str | None
) -> None:
    actors = {"if": {"fireCount": 0, "control": {"initialized": True}}}
    saved = checkpoint({COND: ["go"]}, actors, failed={"message": "x"})
    files = {"run": record([("if", "ControlNodeRecord", "control-if", 0)])} if recorded else {}
    found = opened(folder(tmp_path / "run", Writer(header()), checkpoint=saved, **files)).definition().graph
    assert found is not None
    assert [node.kind for node in found.nodes or () if node.id == "if"] == [kind]


def test_a_killed_if_may_have_taken_its_condition(tmp_path: Path) -> None:
    writer = Writer(header()).fire("ask", put={COND: ["go"], THEN: [1]}).fire("van", {THEN: [1]}, {DONE: [1]})
    run = opened(folder(tmp_path / "run", writer))
    assert sizes(run, 2) == {COND: None, THEN: 0, DONE: 1}


def test_a_resumed_run_finishes_the_loop_of_the_other(tmp_path: Path) -> None:
    loop = {"fireCount": 1, "pending": {"scopes": ["scope:2"]}}
    loop["control"] = {"initialized": True, "loopSource": ["x", "y"], "loopIndex": 2, "iterUsed": False}
    actors = {"plan": {"fireCount": 1}, "loop": loop, "van": {"fireCount": 1}}
    saved = checkpoint({ITER: [], ITEM: ["y"], DONE: ["x"], LEFT: []}, actors, runId="first")
    folder(tmp_path / "first", looped(), checkpoint=saved)
    writer = Writer({"header": {"version": 1, "workflowName": "shop", "graph": header()["header"]["graph"]}})
    writer.lines[0]["header"]["resumedFrom"] = "first"
    writer.counts["van"] = 1
    writer.fire("van", {ITEM: ["y"]}, {DONE: ["y"]})

    def at(left: int) -> dict[str, int]:
        return {ITER: 0, ITEM: 0, DONE: 2, LEFT: left}

    steps = trace(("loop", "control-loop", 2, 1, at(0)), ("loop", "control-loop", 3, 1, at(1)))
    run = opened(folder(tmp_path / "second", writer, queues=steps))
    assert told(run) == []
    assert contents(run, 0) == {ITER: [], ITEM: ["y"], DONE: ["x"], LEFT: []}
    assert contents(run, 1) == {ITER: [], ITEM: [], DONE: ["x", "y"], LEFT: [None]}


def if_in_a_loop() -> Writer:
    """A loop whose body asks and drives, with an if around the driving: the if's firings are no steps of the
    trace."""
    writer = looped_list()
    for item in ("x", "y"):
        writer.fire("ask", {ITEM_OF_ASK: [item]}, {COND: [item == "x"], THEN: [item]})
        writer.fire("van", {THEN: [item]}, {DONE: [item]})
    return writer


ITEM_OF_ASK = "loop.item-->ask.Item"
NESTED = [*CONTROL, ("ask", "Ask", "internal", 2), ("if", "ControlNodeRecord", "control-if", 2)]


def looped_list() -> Writer:
    return Writer(header()).fire("plan", put={ITER: [["x", "y"]]})


def nested_trace() -> object:
    def at(iter_: int, done: int) -> dict[str, int]:
        return {ITER: iter_, ITEM_OF_ASK: 0, COND: 0, THEN: 0, DONE: done}

    return trace(
        ("plan", "internal", 1, 1, at(1, 0)),
        ("loop", "control-loop", 1, 3, at(0, 1)),
        ("loop", "control-loop", 2, 5, at(0, 2)),
    )


def test_an_if_in_a_loop_has_no_steps_of_its_own(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", if_in_a_loop(), queues=nested_trace(), run=record(NESTED)))
    assert told(run)[1:] == []  # the first is about the made-up digest of the graph
    assert [contents(run, step)[COND] for step in range(6)] == [[], [], None, [], None, []]
    assert contents(run, 5) == {ITER: [], ITEM_OF_ASK: [], COND: [], THEN: [], DONE: ["x", "y"]}


def test_behind_the_last_step_of_the_trace_an_if_may_have_taken_its_condition(tmp_path: Path) -> None:
    writer = Writer(header()).fire("ask", put={COND: ["go"], THEN: [1]}).fire("van", {THEN: [1]}, {DONE: [1]})
    steps = trace(("ask", "internal", 1, 1, {COND: 1, THEN: 1, DONE: 0}))
    failed = record(NESTED, error={"message": "x", "entityInstanceName": "van"})
    run = opened(folder(tmp_path / "run", writer, queues=steps, run=failed))
    assert sizes(run, 2) == {COND: None, THEN: 0, DONE: 1}
