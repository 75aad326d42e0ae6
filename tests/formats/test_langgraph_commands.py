"""What a command leaves beside a checkpoint of LangGraph, and what durability `exit` leaves out."""

from pathlib import Path
from uuid import UUID, uuid5

import pytest

from inspector.formats import open_path, xxh3
from inspector.formats.readers.langgraph.frames import Frame, Send
from inspector.formats.readers.langgraph.taskids import identifier
from inspector.model.run import Pending
from inspector.model.source import RunSource
from tests.formats.langgraph_stores import NULL, Base, Thread, ext, interrupt, send

PUSHED = "~__pregel_push, 0000000000, 0000000000"


def pushed(thread: Thread, node: str, index: int = 0) -> str:
    """The id of the task of one of a thread's tokens."""
    frame = Frame(4, {}, {}, {}, (Send(node, None),))
    return next(iter(identifier(str(thread.id), "", thread.step)(node, index, frame, ())))


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "store.bin")


def opened(base: Base) -> RunSource:
    base.close()
    return open_path(str(base.path)).open()


def left(run: RunSource, step: int | None = None) -> tuple[Pending, ...]:
    state = run.state(len(run) if step is None else step)
    assert state is not None
    return state.pending or ()


def test_a_command_orders_nodes_and_tokens_and_sets_values(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"n": 1}, then=["a"])
    ordered = {"n": 5, "branch:to:b": "__start__", "__pregel_tasks": [send("c", {"doc": 1})]}
    thread.wrote("x", ordered, path="", task=NULL)
    thread.wrote("c", {"__interrupt__": [interrupt("sure?")]}, path=PUSHED, task=pushed(thread, "c"))
    run = opened(base)
    assert [(one.kind, one.name, one.status) for one in left(run)] == [
        ("input", "c", "waiting"),
        ("node", "a", "ambiguous"),
        ("node", "b", "ambiguous"),
        ("input", "update", "answered"),
    ]
    assert left(run)[-1].result == {"n": 5}
    state = run.state(2)
    assert state is not None
    assert [(queue.to, queue.tokens) for queue in state.queues or ()] == [("c", [{"doc": 1}])]
    assert state.values == {"n": 1}, "how it is taken in is known to the graph alone"


def test_a_step_behind_a_command_is_named_by_its_tokens(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.wrote("x", {"__pregel_tasks": [send("c", 1)]}, path="", task=NULL)
    thread.ran({"a": {"n": 1}, "c": {"n": 2}})
    run = opened(base)
    assert run.steps(3, 4)[0].name == "a, c"
    assert [one.name for one in left(run, 2)] == ["c", "a"]


def test_tokens_of_a_command_take_the_place_of_those_that_waited(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["split"])
    thread.ran({"split": {}}, sends=[send("old", 1), send("old", 2)])
    thread.wrote("x", {"__pregel_tasks": [send("new", 3)]}, path="", task=NULL)
    thread.wrote("old", {"out": 1}, path=PUSHED, task=pushed(thread, "old"))
    thread.wrote("old", {"out": 2}, path="~__pregel_push, 0000000001, 0000000000", task=pushed(thread, "old", 1))
    thread.wrote("new", {"out": 3}, path=PUSHED, task=pushed(thread, "new"))
    assert [(one.name, one.status, one.arguments, one.result) for one in left(opened(base))] == [
        ("new", "answered", 3, {"out": 3})
    ]


def test_a_question_asked_behind_the_answer_to_all_waits(base: Base) -> None:
    """A node with a graph of its own keeps no answers: the question that it asks next is stored after the answer."""
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.wrote("a", {"__interrupt__": [interrupt("first?")]})
    thread.resumed("yes")
    thread.wrote("a", {"__interrupt__": [interrupt("second?", "int-2")]})
    run = opened(base)
    (one,) = left(run)
    assert (one.status, one.call_id, one.result) == ("waiting", "int-2", None)
    assert run.run().status == "suspended"


def test_what_an_input_dropped_has_not_run(base: Base) -> None:
    """With durability `exit` only the end is stored: what waited before the input counts as seen there too."""
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a", "b"])
    thread.ran({"a": {}}, sends=[send("c", 1)], then=["b"])
    thread.wrote("b", {"__error__": "E()"})
    at, step = thread.id, thread.step
    thread.values.pop("__pregel_tasks")
    thread.seen["b"] = {"branch:to:b": thread.versions["branch:to:b"]}
    del thread.values["branch:to:b"]
    thread.input({})
    thread.back(at, thread.values, step)
    thread.ran({"__start__": {"n": 1}}, then=["d"], stored=False)
    thread.ran({"d": {"n": 2}}, stored=False)
    thread.base.connection.execute(
        "DELETE FROM checkpoints WHERE checkpoint_id > ? AND checkpoint_id < ?", (at, thread.id)
    )
    thread.base.connection.execute("UPDATE checkpoints SET parent_checkpoint_id = ? WHERE rowid = 5", (at,))
    run = opened(base)
    assert len(run) == 4
    assert run.steps(4, 5)[0].name == "__start__, d"


def test_a_task_that_left_only_its_question_may_have_run(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a", "b"])
    thread.wrote("a", {"__interrupt__": [interrupt("sure?")]})
    thread.wrote("b", {"n": 1})
    thread.ran({"a": {"n": 2}, "b": {"n": 1}}, stored=False)
    assert opened(base).steps(3, 4)[0].name == "a, b"


def test_values_set_by_hand_under_the_id_of_a_task(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a", "b"])
    thread.wrote("a", {"n": 5}, path="~__interrupt__, 0000000000", task="task of a")
    thread.made("update", {"n": 5})
    run = opened(base)
    assert [one.name for one in left(run, 2)] == ["a", "b"]


def test_a_question_of_old_versions_has_an_id_of_its_place(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["c"])
    place = ["c:65087645-b87d-bbf7-eca1-8a207250bd7f", "xa:41e31d70-c264-497e-3596-6c0e3f0e0a11"]
    fields = {"value": "sure?", "resumable": True, "ns": place, "when": "during"}
    thread.wrote("c", {"__interrupt__": [ext(2, "langgraph.types", "Interrupt", fields)]})
    assert [one.call_id for one in left(opened(base))] == [xxh3.digest("|".join(place).encode())]


def test_an_id_that_begins_with_digits_is_that_of_a_task(base: Base) -> None:
    """As one of four thousand does."""
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.wrote("a", {"__interrupt__": [interrupt("go on?")]}, task="00270801-66b1-d90e-9ed4-06b8b8be7a55")
    assert [(one.name, one.status) for one in left(opened(base))] == [("a", "waiting")]


def test_changes_of_steps_that_were_not_stored_are_no_tasks(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.wrote("a", {"log": ["one"]}, task="00000001-2222-4333-8444-555555555555")
    thread.wrote("z", {"log": ["two"]}, task="ffffffff-0000-0002-8444-555555555555")
    thread.wrote("in", {"log": ["given"]}, path="", task=str(uuid5(UUID(str(thread.id)), "__input__")))
    run = opened(base)
    assert [(one.name, one.status) for one in left(run)] == [("a", "ambiguous")]


def test_what_a_failure_behind_a_step_stored_of_that_step_is_no_work(base: Base) -> None:
    """With durability `exit` the writes of the step that was just taken in are stored once more behind it."""
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a", "c"])
    thread.ran({"a": {"n": 1}, "c": {"m": 1}}, stored=False)
    thread.wrote("a", {"n": 1})
    thread.wrote("c", {"m": 1})
    run = opened(base)
    assert left(run) == ()
