"""LangGraph stores of before checkpoint-sqlite 3: writes name no task, old checkpoints no successors.

The ids in `OF_LANGGRAPH` are those that LangGraph 0.6.7, 0.2.60 and 0.2.4 gave to tasks.
"""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest

from inspector.formats import open_path
from inspector.formats.readers.langgraph.frames import Frame, Send, fired, newer, target
from inspector.formats.readers.langgraph.taskids import identifier
from inspector.model.source import RunSource
from tests.formats.langgraph_stores import NULL, Base, Thread, interrupt, packed, send
from tests.fuzz import check


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "store.db", paths=False)


def opened(base: Base) -> RunSource:
    base.close()
    assert check(base.path)
    return open_path(str(base.path)).open()


def pending(run: RunSource, step: int | None = None) -> list[tuple[str, str]]:
    state = run.state(len(run) if step is None else step)
    assert state is not None
    return [(one.name, one.status) for one in state.pending or ()]


def frame(*channels: str, version: int = 4, sends: int = 0) -> Frame:
    marks = dict.fromkeys(channels, "2")
    return Frame(version, dict.fromkeys(channels), marks, {}, tuple(Send("worker", index) for index in range(sends)))


OF_LANGGRAPH = [
    (
        "1f1ebf63-d7aa-686e-8001-d6c300d1d64d",
        1,
        "bad",
        None,
        frame("branch:to:bad"),
        "e03c3617-aafc-875c-16a6-97d2209666bb",
    ),
    (
        "1f1ebf63-d7aa-686e-8001-d6c300d1d64d",
        1,
        "ok",
        None,
        frame("branch:to:ok"),
        "93c44bb0-c7d8-a02a-8639-df6f9ec58137",
    ),
    ("1f1ebf5e-da22-6f70-8001-5ebf470ab07b", 1, "worker", 2, frame(sends=3), "0f1646f3-b359-c98f-694f-7928fd762b42"),
    (
        "1f1ec0b1-8d1a-6d6f-8001-cb2efc71500f",
        1,
        "right",
        None,
        frame("start", version=2),
        "edee6eb1-ca86-22bf-9c34-371be8112035",
    ),
    (
        "1f1ec0b1-8f55-6667-8001-8636156f807b",
        1,
        "worker",
        0,
        frame(version=2, sends=3),
        "20cccf90-8f11-b5af-1fc9-4600038ac4cc",
    ),
    (
        "1f1ec0b2-5561-60c0-8001-23ccddab6b68",
        1,
        "worker",
        0,
        frame(version=1, sends=3),
        "bd781468-c5a0-5d31-bf77-f60630960754",
    ),
    (
        "1f1ec0b2-4d45-6153-8001-397c41949396",
        1,
        "tools",
        None,
        frame("branch:agent:route:tools", version=1),
        "aaa277d4-fd6a-528e-9390-c1be69e5a48a",
    ),
]


@pytest.mark.parametrize(("checkpoint", "step", "node", "index", "known", "task"), OF_LANGGRAPH)
def test_ids_of_tasks(checkpoint: str, step: int, node: str, index: int | None, known: Frame, task: str) -> None:
    possible = list(identifier(checkpoint, "", step)(node, index, known, ["start"]))
    assert task in possible
    assert task not in identifier(checkpoint, "", step + 1)(node, index, known, ["start"])
    assert task not in identifier(checkpoint, "outer:1", step)(node, index, known, ["start"])


def test_an_id_that_is_none_gives_none() -> None:
    assert list(identifier("no uuid", "", 1)("a", None, frame("branch:to:a"), [])) == []
    assert list(identifier("1f1ebf63-d7aa-686e-8001-d6c300d1d64d", "", None)("a", None, frame("branch:to:a"), []))


def task_id(thread: Thread, node: str, index: int | None = None, **more: Any) -> str:
    """An id of a task behind a thread's last checkpoint."""
    known = frame(f"branch:to:{node}", sends=3)
    assert thread.id is not None
    return next(iter(identifier(thread.id, thread.namespace, thread.step)(node, index, known, [])))


def test_nodes_are_told_by_bookkeeping_and_tasks_by_their_ids(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["split"])
    thread.ran({"split": {"x": 1}}, then=["bad", "ok"])
    thread.wrote("ok", {"x": 2}, task=task_id(thread, "ok"))
    thread.wrote("bad", {"__error__": "ValueError('old boom')"}, task=task_id(thread, "bad"))
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__", "split"]
    assert pending(run) == [("bad", "ready"), ("ok", "answered")]
    error = run.run().error
    assert error is not None
    assert (error.where, error.message) == (("bad",), "old boom")


def test_tokens_are_told_by_their_ids(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["split"])
    thread.ran({"split": {}}, sends=[send("worker", doc) for doc in "abc"])
    thread.wrote("worker", {"out": 1}, task=task_id(thread, "worker", 1))
    run = opened(base)
    assert pending(run) == [("worker", "ambiguous"), ("worker", "answered"), ("worker", "ambiguous")]


def test_the_only_one_it_can_be(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.wrote("a", {"__error__": "E()"}, task="some id")
    run = opened(base)
    assert pending(run) == [("a", "ready")]
    assert run.run().status == "failed"


def test_what_cannot_be_told_is_not_guessed(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a", "b"])
    thread.wrote("?", {"__error__": "E('whose?')"}, task="some id")
    run = opened(base)
    assert pending(run) == [("a", "ambiguous"), ("b", "ambiguous"), ("?", "ready")]
    error = run.run().error
    assert error is not None
    assert (error.where, error.message) == (None, "whose?")


def test_a_task_with_a_namespace_of_its_own(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["other", "child"])
    Thread(base, "t", "child:0-0-1", begin=30).input({})
    thread.wrote("child", {"__error__": "E()"}, task="0-0-1")
    base.close()
    run = open_path(str(base.path)).open("t")
    assert pending(run) == [("child", "ready"), ("other", "ambiguous")]


def first_version(base: Base) -> Thread:
    """A checkpoint of before 0.3: a node says that it has run by a channel of its own name."""
    thread = Thread(base, version=1)
    thread.input({"log": []})
    thread.values = {"start:plan": "__start__", "log": []}
    thread.versions |= {"start:plan": "3", "log": "3"}
    thread.seen["__start__"] = {"__start__": "1"}
    thread.made("loop", {})
    return thread


def plan_ran(thread: Thread, **channels: Any) -> None:
    thread.seen["plan"] = {"start:plan": thread.versions["start:plan"]}
    del thread.values["start:plan"]
    thread.made("loop", {"plan": "plan", **channels})


def test_successors_that_only_the_graph_knows(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__", "plan"]
    assert pending(run, 2) == [("plan", "ready")]
    assert pending(run) == [("?", "ambiguous")]
    assert (run.run().status, run.resume().reasons) == ("unknown", ("definition_unknown",))
    state = run.state(3)
    assert state is not None
    assert state.values == {"log": []}, "a channel of a node's own name is no value"
    assert "what follows plan is known only to the graph" in ((state.pending or ())[0].note or "")


def test_successors_that_ran_are_learnt(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    thread.seen["act"] = {"plan": thread.versions["plan"]}
    del thread.values["plan"]
    thread.made("loop", {"act": "act"})
    thread.seen["plan"]["act"] = thread.versions["act"]
    del thread.values["act"]
    thread.made("loop", {"plan": "plan"})
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__", "plan", "act", "plan"]
    assert [pending(run, step) for step in (3, 4)] == [[("act", "ready")], [("plan", "ready")]]
    assert pending(run) == [("act", "ambiguous")]


def test_a_node_that_ran_before_has_shown_its_successors(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    thread.values["branch:plan:again:plan"] = "plan"
    thread.versions["branch:plan:again:plan"] = "9"
    thread.made("update", {})
    thread.seen["plan"]["branch:plan:again:plan"] = "9"
    del thread.values["branch:plan:again:plan"]
    thread.made("loop", {"plan": "plan"})
    run = opened(base)
    assert pending(run) == []
    assert run.run().status == "completed"


def test_a_value_set_by_hand_gave_nobody_the_chance_to_follow(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    thread.made("update", {"plan": "plan", "log": ["patched"]})
    run = opened(base)
    assert pending(run) == [("?", "ambiguous")]
    assert run.run().status == "unknown"


def test_successors_that_ran_in_another_branch_are_learnt(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    planned, values, versions = thread.id, dict(thread.values), dict(thread.versions)
    seen = {node: dict(marks) for node, marks in thread.seen.items()}
    thread.seen["act"] = {"plan": thread.versions["plan"]}
    del thread.values["plan"]
    thread.made("loop", {"act": "act"})
    thread.back(planned, values, 1)
    thread.versions, thread.seen = versions, seen
    thread.made("update", {"plan": "plan", "log": ["patched"]})
    run = opened(base)
    assert len(run) == 5
    assert pending(run) == [("act", "ambiguous")]
    assert run.run().status == "interrupted"


def test_tasks_of_unknown_successors_say_who_they_are(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    thread.wrote("left", {"left": "left", "join:left+right:end": "left", "log": ["l"]}, task="id of left")
    where = {"resumable": True, "ns": ["ask:id of ask"]}
    thread.base.write(("t", "", thread.id), "id of ask", "", -3, "__interrupt__", *packed(interrupt("?", **where)))
    run = opened(base)
    assert pending(run) == [("ask", "waiting"), ("left", "answered"), ("?", "ambiguous")]
    assert run.run().status == "suspended"


def test_a_node_that_waits_and_that_a_command_names_is_one_task(base: Base) -> None:
    thread = first_version(base)
    thread.wrote("plan", {"plan": "plan", "n": 1}, path="", task="id of plan")
    thread.wrote("x", {"branch:__start__:__self__:plan": "__start__"}, path="", task=NULL)
    thread.wrote("plan", {"plan": "plan", "n": 2}, path="", task="id of plan by the command")
    run = opened(base)
    assert pending(run) == [("plan", "answered")]
    state = run.state(len(run))
    assert state is not None
    assert [one.result for one in state.pending or ()] == [{"plan": "plan", "n": 2}]


def test_tokens_among_the_writes_of_the_checkpoint_before(base: Base) -> None:
    thread = Thread(base, version=3)
    thread.input({})
    thread.start({}, then=["split"])
    thread.ran({"split": {}}, sends=[send("worker", 1), send("worker", 2)])
    thread.values.pop("__pregel_tasks")
    base.connection.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (thread.id,))
    thread.id = base.connection.execute("SELECT MAX(checkpoint_id) FROM checkpoints").fetchone()[0]
    thread.made("loop", {})
    run = opened(base)
    assert pending(run) == [("worker", "ambiguous")] * 2
    state = run.state(len(run))
    assert state is not None
    assert [(queue.to, list(queue.tokens or ())) for queue in state.queues or ()] == [("worker", [1, 2])]


def test_tokens_in_the_checkpoint_itself(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    kind, data = packed(
        {
            "v": 2,
            "channel_values": {"plan": "plan"},
            "channel_versions": {"plan": "9"},
            "versions_seen": {"plan": {}},
            "pending_sends": [send("worker", 1, "langgraph.constants")],
        }
    )
    base.checkpoint(("t", "", "1f1ec0b0-ffff-6000-8000-000000000000", thread.id), kind, data, b"{}")
    assert pending(opened(base))[0] == ("worker", "ambiguous")


def test_updates_of_old_versions_say_as_whom(base: Base) -> None:
    thread = Thread(base, version=2)
    thread.input({})
    thread.metadata = {"writes": {"plan": {"log": ["by hand"]}}}
    thread.made("update", {"log": ["by hand"]})
    assert opened(base).steps(2, 3)[0].summary == 'as plan: {"log": ["by hand"]}'


def test_trigger_names() -> None:
    assert {name: target(name) for name in ("branch:to:a:b", "start:a", "branch:a:c:b", "join:a+b:c", "__start__")} == {
        "branch:to:a:b": "a:b",
        "start:a": "a",
        "branch:a:c:b": "b",
        "join:a+b:c": "c",
        "__start__": "__start__",
    }
    for name in ("messages", "branch:", "branch:to:", "start:", "branch:a", "", ":", "branch:a:b::then"):
        assert target(name) in (None, "then")


def test_triggers_that_are_set_off() -> None:
    assert fired("branch:to:a", None)
    assert not fired("branch:to:a", [None, False])
    assert fired("join:a+b:c", {"$type": "set", "items": ["a", "b"]})
    assert not fired("join:a+b:c", {"$type": "set", "items": ["a"]})
    assert not fired("join:a+b:c", [["a", "b"], False])
    assert fired("join:a+b:c", [["a", "b"], True])


def test_versions() -> None:
    assert newer("00000002.0.9", "00000001.1.0")
    assert not newer("00000002.0.9", "00000002.0.9")
    assert newer(3, 2)
    assert not newer(2, 2.5)
    assert newer(None, None)
    assert newer("1", None)
    assert not newer(None, "1")
    assert newer("9", 1)


def test_what_was_set_by_hand_is_no_work_of_the_step_before_it(base: Base) -> None:
    thread = first_version(base)
    at, values, step = thread.id, dict(thread.values), thread.step
    plan_ran(thread)
    thread.back(at, values, step)
    task = str(uuid5(UUID(str(at)), "__interrupt__"))
    thread.wrote("act", {"log": ["patched"], "act": "act"}, path="", task=task)
    thread.made("update", {"act": "act", "log": ["patched"]})
    run = opened(base)
    assert [(step.name, "patched" in (step.summary or "")) for step in run.steps(3, 9)] == [
        ("plan", False),
        ("update", False),
    ]
    assert pending(run, 2) == [("plan", "ready")]


def test_successors_that_a_value_set_by_hand_cut_off_stay_unknown(base: Base) -> None:
    thread = first_version(base)
    plan_ran(thread)
    thread.made("update", {"log": ["patched"]})
    assert pending(opened(base), 3) == [("?", "ready")]


def test_functions_and_their_tasks_without_paths(base: Base) -> None:
    """Ids as of the functional API, made of the names of functions, which nothing tells. What one asked stands there
    as asked by the function that called it too; another one that it called asked last."""
    thread = Thread(base)
    thread.input(1)
    thread.wrote("add", {"__return__": 2}, task="a")
    thread.wrote("ask", {"__interrupt__": [interrupt("first?", "int-1")]}, task="b")
    thread.wrote("flow", {"__interrupt__": [interrupt("first?", "int-1")]}, task="c")
    thread.wrote("ask", {"__interrupt__": [interrupt("second?", "int-2")]}, task="d")
    run = opened(base)
    state = run.state(1)
    assert state is not None
    assert [(one.name, one.status, one.arguments) for one in state.pending or ()] == [
        ("__start__", "waiting", "first?")
    ]
    assert (run.run().status, run.run().reason) == ("suspended", "input")


def test_a_failure_of_a_function_without_paths(base: Base) -> None:
    thread = Thread(base)
    thread.input(1)
    thread.wrote("add", {"__return__": 2}, task="a")
    thread.wrote("bad", {"__error__": "ValueError('bad task')"}, task="b")
    thread.wrote("flow", {"__error__": "ValueError('bad task')"}, task="c")
    run = opened(base)
    state = run.state(1)
    assert state is not None
    (one,) = state.pending or ()
    assert (one.name, one.status) == ("__start__", "ready")
    assert "2 functions that it called have left something, 1 of them a result" in (one.note or "")
    assert run.run().status == "failed"


def test_results_of_functions_that_a_node_called_without_paths(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.wrote("add", {"__return__": 2}, task="x")
    thread.wrote("add", {"__return__": 3}, task="y")
    run = opened(base)
    assert pending(run) == [("a", "ambiguous")]
