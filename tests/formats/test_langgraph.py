"""LangGraph stores: threads as runs, and what is to run next without the graph."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import UnreadableError, UsageError
from inspector.formats import open_path, sqlitefile
from inspector.formats.readers.langgraph.frames import Frame
from inspector.formats.readers.langgraph.history import History
from inspector.formats.readers.langgraph.taskids import identifier
from inspector.formats.sqlitefile import Database
from inspector.model.run import Pending, RunLink, State
from inspector.model.source import RunSource
from tests.formats.langgraph_stores import Base, Thread, ai, human, interrupt, result, send
from tests.fuzz import check


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "store.bin")


def opened(base: Base, run_id: str | None = None) -> RunSource:
    base.close()
    assert check(base.path)
    runs = open_path(str(base.path))
    assert runs.source.format == "langgraph"
    return runs.open(run_id)


def state(run: RunSource, step: int | None = None) -> State:
    found = run.state(len(run) if step is None else step)
    assert found is not None
    return found


def pending(run: RunSource, step: int | None = None) -> list[tuple[str, str, str]]:
    """Kind, name or call id, and status of what is pending."""
    return [(one.kind, one.call_id if one.kind == "tool" else one.name, one.status) for one in left(run, step)]  # type: ignore[misc]


def left(run: RunSource, step: int | None = None) -> tuple[Pending, ...]:
    return state(run, step).pending or ()


def tool_loop(base: Base, **more: Any) -> Thread:
    """An agent that has asked for two calls and was stopped before its node `tools`."""
    thread = Thread(base, **more)
    thread.input({"messages": [["user", "clean up"]]})
    thread.start({"messages": [human("clean up")]}, then=["agent"])
    asked = ai("two calls", ("c1", "delete", {"path": "/a"}), ("c2", "read", {"path": "/b"}))
    thread.ran({"agent": {"messages": [human("clean up"), asked]}}, then=["tools"])
    return thread


def test_told_by_columns_not_by_names(tmp_path: Path) -> None:
    path = tmp_path / "langgraph-checkpoints.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE checkpoints (id, created_at, parent_id, branch, data)")
    connection.close()
    with pytest.raises(UnreadableError, match="SQLite database of no known kind"):
        open_path(str(path))


def test_finished_thread(base: Base) -> None:
    thread = tool_loop(base)
    known = [human("clean up"), ai("two calls", ("c1", "delete", {"path": "/a"}), ("c2", "read", {"path": "/b"}))]
    known += [result("c1", "gone"), result("c2", "text")]
    thread.ran({"tools": {"messages": known}}, then=["agent"])
    spent = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    last = ai("done", usage_metadata=spent, response_metadata={"model_name": "m-1"})
    thread.ran({"agent": {"messages": [*known, last], "note": "end"}})
    run = opened(base)
    assert [(step.kind, step.name, step.status) for step in run.steps(1, 99)] == [
        ("input", "input", "done"),
        ("node", "__start__", "done"),
        ("node", "agent", "done"),
        ("node", "tools", "done"),
        ("node", "agent", "done"),
    ]
    about = run.run()
    assert (about.id, about.status, about.reason, about.error) == ("t", "completed", None, None)
    assert (about.started, about.ended) == ("2026-11-29T13:08:02.000000+00:00", "2026-11-29T13:08:06.000000+00:00")
    assert about.usage is not None
    assert (about.usage.input_tokens, about.usage.output_tokens) == (7, 2)
    assert [step.trace_step for step in run.steps(1, 99)] == [-1, 0, 1, 2, 3]
    assert [(one.role, one.text, one.call_id) for one in state(run).messages or ()] == [
        ("user", "clean up", None),
        ("assistant", "two calls", None),
        ("tool", "gone", "c1"),
        ("tool", "text", "c2"),
        ("assistant", "done", None),
    ]
    assert pending(run) == []
    assert state(run).values == {"note": "end"}
    definition = run.definition()
    assert (definition.tools_known, definition.hooks, definition.model) == ("called", None, "m-1")
    assert [tool.name for tool in definition.tools or ()] == ["delete", "read"]
    assert definition.graph is not None
    assert [node.id for node in definition.graph.nodes or ()] == ["__start__", "agent", "tools"]
    assert not definition.graph.complete
    assert run.resume().reasons == ("terminal",)
    assert list(run.problems()) == []


def test_stopped_before_a_node_or_killed_in_it(base: Base) -> None:
    tool_loop(base)
    run = opened(base)
    assert (run.run().status, run.run().reason) == ("interrupted", None)
    assert pending(run) == [("node", "tools", "ambiguous"), ("tool", "c1", "ambiguous"), ("tool", "c2", "ambiguous")]
    assert "look alike" in (left(run)[0].note or "")
    assert left(run)[1].arguments == {"path": "/a"}
    assert pending(run, 2) == [("node", "agent", "ready")]
    assert pending(run, 1) == [("node", "__start__", "ready")]
    queue = (state(run, 1).queues or ())[0]
    assert (queue.to, queue.size, queue.tokens) == ("__start__", 1, [{"messages": [["user", "clean up"]]}])
    assert state(run, 1).messages is None
    assert run.steps(1, 2)[0].summary == "user: clean up"
    assert 'delete({"path": "/a"})' in (run.steps(3, 4)[0].summary or "")
    assert run.resume().possible
    assert run.resume().from_ == (1, 2, 3)
    assert run.state(0) == State(step=0)
    assert run.state(4) is None


def asking(base: Base, question: Any, **more: Any) -> Thread:
    thread = Thread(base)
    thread.input({})
    thread.start({"log": []}, then=["ask"])
    thread.wrote("ask", {"__interrupt__": [interrupt(question, **more)]})
    return thread


def test_question_waits(base: Base) -> None:
    asking(base, {"q": "sure?"})
    run = opened(base)
    assert (run.run().status, run.run().reason) == ("suspended", "input")
    (one,) = left(run)
    assert (one.kind, one.name, one.status, one.call_id) == ("input", "ask", "waiting", "int-1")
    assert (one.arguments, one.result) == ({"q": "sure?"}, None)


def test_question_was_answered_and_the_process_killed(base: Base) -> None:
    asking(base, "sure?").resumed("yes")
    run = opened(base)
    (one,) = left(run)
    assert (one.status, one.result) == ("answered", "yes")
    assert run.run().status == "interrupted"


def test_second_question_waits_though_the_first_was_answered(base: Base) -> None:
    thread = asking(base, "first?")
    thread.resumed("yes")
    thread.wrote("ask", {"__interrupt__": [interrupt("second?", "int-2")], "__resume__": ["yes"]})
    run = opened(base)
    (one,) = left(run)
    assert (one.status, one.call_id, one.arguments) == ("waiting", "int-2", "second?")
    assert run.run().status == "suspended"


def test_failed_behind_its_question(base: Base) -> None:
    thread = asking(base, "sure?")
    thread.resumed("yes")
    thread.wrote("ask", {"__resume__": ["yes"]})
    thread.wrote("ask", {"__error__": "ValueError('no')"})
    run = opened(base)
    question, node = left(run)
    assert (question.kind, question.status, question.result) == ("input", "answered", "yes")
    assert (node.kind, node.name, node.status) == ("node", "ask", "ready")
    assert node.note is not None
    assert "ValueError: no" in node.note
    assert run.run().status == "failed"


def test_question_behind_a_failure(base: Base) -> None:
    """What failed was tried again, and asks now."""
    thread = asking(base, "sure?")
    thread.wrote("ask", {"__error__": "ValueError('no')"})
    thread.wrote("ask", {"__interrupt__": [interrupt("really?", "int-2")]})
    run = opened(base)
    (one,) = left(run)
    assert (one.kind, one.status, one.call_id) == ("input", "waiting", "int-2")
    assert (run.run().status, run.run().reason) == ("suspended", "input")


def test_question_of_a_step_that_went_on(base: Base) -> None:
    thread = asking(base, "sure?")
    thread.resumed(True)
    thread.ran({"ask": {"log": ["went on"]}})
    run = opened(base)
    assert run.run().status == "completed"
    question, node = left(run, 2)
    assert (question.status, question.result) == ("answered", True)
    assert (node.kind, node.status) == ("node", "ready")


def test_approval_names_the_calls_it_is_about(base: Base) -> None:
    thread = tool_loop(base)
    calls = (("c1", "delete", {"path": "/a"}), ("c2", "read", {}), ("c3", "delete", {"path": "/c"}))
    thread.ran({"tools": {"messages": [human("x"), ai("", *calls)]}}, then=["Gate.after_model"])
    requests = [{"name": "delete", "args": {"path": path}, "description": "?"} for path in ("/c",)]
    allowed = [{"action_name": "delete", "allowed_decisions": ["approve", "reject"]}]
    asked = {"action_requests": requests, "review_configs": allowed}
    thread.wrote("Gate.after_model", {"__interrupt__": [interrupt(asked)]})
    run = opened(base)
    assert (run.run().status, run.run().reason) == ("suspended", "approval")
    assert pending(run) == [
        ("input", "Gate.after_model", "waiting"),
        ("tool", "c1", "ready"),
        ("tool", "c2", "ready"),
        ("tool", "c3", "waiting"),
    ]
    graph = run.definition().graph
    assert graph is not None
    assert {node.id: node.kind for node in graph.nodes or ()}["Gate.after_model"] == "middleware"


def test_one_failed_of_two_in_parallel(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"items": ["start"]}, then=["bad", "ok"])
    thread.wrote("ok", {"items": ["ok-branch"], "branch:to:end": None})
    thread.wrote("bad", {"__error__": "ValueError('upstream said \"503\"')"})
    run = opened(base)
    error = run.run().error
    assert error is not None
    assert (error.type, error.message, error.where, error.step) == ("ValueError", 'upstream said "503"', ("bad",), 2)
    assert run.run().status == "failed"
    bad, ok = left(run)
    assert (bad.name, bad.status) == ("bad", "ready")
    assert "upstream said" in (bad.note or "")
    assert (ok.name, ok.status, ok.result) == ("ok", "answered", {"items": ["ok-branch"]})
    assert state(run).values == {"items": ["start"]}


def test_the_last_failure_of_a_node_is_that_of_what_handles_its_errors(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    handler = "~__pregel_pull, a, node_error_handler, 0000000000"
    thread.wrote("a", {"__error__": "ValueError('first')", "__error_source_node__": "a"}, task="1")
    thread.wrote("a", {"__error__": "KeyError('then')"}, path=handler, task="2")
    run = opened(base)
    error = run.run().error
    assert error is not None
    assert (error.type, error.message, error.where) == ("KeyError", "then", ("a",))
    assert [one.note for one in left(run)] == ["failed: KeyError: then"]


def test_the_cause_is_named_not_what_was_cancelled_for_it(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a", "b"])
    thread.wrote("a", {"__error__": "CancelledError()"})
    thread.wrote("b", {"__error__": "RuntimeError('boom')"})
    error = opened(base).run().error
    assert error is not None
    assert (error.type, error.where) == ("RuntimeError", ("b",))
    assert [one.note for one in left(opened(base))] == ["failed: CancelledError", "failed: RuntimeError: boom"]


def test_a_failed_task_that_was_run_again_has_not_failed(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a", "b"])
    thread.wrote("a", {"__error__": "RuntimeError('first time')"})
    thread.wrote("a", {"log": "second time"})
    run = opened(base)
    assert run.run().status == "interrupted"
    assert pending(run) == [("node", "a", "answered"), ("node", "b", "ambiguous")]


def test_tokens_are_one_queue_and_one_entry_each(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"docs": 3}, then=["split"])
    tokens = [send("worker", {"doc": doc}) for doc in "abc"]
    thread.ran({"split": {}}, sends=[*tokens, send("other", 1)])
    thread.wrote("worker", {"out": "sum(a)"}, path="~__pregel_push, 0000000000, 0000000000", task="w0")
    thread.wrote("worker", {"__error__": "E()"}, path="~__pregel_push, 0000000001, 0000000000", task="w1")
    run = opened(base)
    queues = {queue.to: queue for queue in state(run).queues or ()}
    assert set(queues) == {"worker", "other"}
    assert (queues["worker"].size, queues["worker"].contents) == (3, "complete")
    assert list(queues["worker"].tokens or ()) == [{"doc": "a"}, {"doc": "b"}, {"doc": "c"}]
    assert [(one.name, one.status, one.arguments, one.result) for one in left(run)] == [
        ("worker", "answered", {"doc": "a"}, {"out": "sum(a)"}),
        ("worker", "ready", {"doc": "b"}, None),
        ("worker", "ambiguous", {"doc": "c"}, None),
        ("other", "ambiguous", 1, None),
    ]
    assert state(run, 2).queues == ()
    produced = run.steps(3, 4)[0].produced
    assert produced is not None
    assert [(one.queue, len(one.tokens or ())) for one in produced] == [("worker", 3), ("other", 1)]


def test_a_step_of_tokens(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["split"])
    thread.ran({"split": {}}, sends=[send("worker", 1), send("worker", 2)], then=["side"])
    thread.ran({"worker": {"out": 1}, "side": {"x": 1}}, then=["end"])
    run = opened(base)
    last = run.steps(4, 5)[0]
    assert last.name == "side, worker"
    assert last.consumed is not None
    assert [(one.queue, one.count, one.tokens) for one in last.consumed] == [("worker", 2, (1, 2))]
    assert [one.name for one in left(run, 3)] == ["worker", "worker", "side"]


def test_tokens_that_carry_calls_say_how_far_each_call_got(base: Base) -> None:
    thread = tool_loop(base)
    calls = [{"name": name, "args": {}, "id": call_id} for call_id, name in (("c7", "a"), ("c8", "b"), ("c9", "c"))]
    said = ai("", *((call["id"], call["name"], {}) for call in calls))
    tokens = [send("tools", {"__type": "tool_call_with_context", "tool_call": call, "state": {}}) for call in calls]
    thread.ran({"tools": {"messages": [human("x"), said]}}, sends=tokens)
    where = "~__pregel_push, 000000000{}, 0000000000"
    thread.wrote("tools", {"messages": [result("c7", "fine")]}, path=where.format(0), task="w0")
    thread.wrote("tools", {"__error__": "E('no')"}, path=where.format(1), task="w1")
    run = opened(base)
    tools = {one.call_id: one for one in left(run) if one.kind == "tool"}
    assert {call_id: one.status for call_id, one in tools.items()} == {
        "c7": "answered",
        "c8": "ready",
        "c9": "ambiguous",
    }
    assert tools["c7"].result == "fine"


def test_calls_that_nothing_will_run_are_still_shown(base: Base) -> None:
    thread = tool_loop(base)
    thread.ran({"tools": {"messages": [human("x"), ai("", ("c1", "delete", {}))]}})
    run = opened(base)
    assert run.run().status == "completed"
    (one,) = left(run)
    assert (one.call_id, one.status, one.note) == ("c1", "ready", "no node is left that would run it")


def test_nested_namespaces_are_runs_of_their_own(base: Base) -> None:
    thread = Thread(base, "order/7")
    thread.input({})
    thread.start({}, then=["child"])
    nested = Thread(base, "order/7", "child:11111111-2222-3333-4444-555555555555", begin=20)
    nested.metadata = {"parents": {"": thread.id}}
    nested.input({})
    nested.start({"x": 1}, then=["inner"])
    nested.wrote("inner", {"__interrupt__": [interrupt("inside?")]})
    task = nested.namespace.removeprefix("child:")
    thread.wrote("child", {"__interrupt__": [interrupt("inside?")]}, task=task)
    deeper = Thread(base, "order/7", f"{nested.namespace}|deep:6", begin=40)
    deeper.input({})
    base.close()
    runs = open_path(str(base.path))
    assert [(row.id, row.name, row.status, row.steps) for row in runs.rows()] == [
        ("order/7", None, "suspended", 2),
        (f"order/7/{nested.namespace}", "child", "suspended", 2),
        (f"order/7/{deeper.namespace}", "deep", "interrupted", 1),
    ]
    inner = runs.open(f"order/7/{nested.namespace}")
    assert pending(inner) == [("input", "inner", "waiting")]
    assert inner.resume().reasons == ("not_resumable",)
    assert inner.run().parent == RunLink(run="order/7", step=2)
    assert runs.open(f"order/7/{deeper.namespace}").run().parent == RunLink(run=f"order/7/{nested.namespace}")
    assert f"its own run: order/7/{nested.namespace}" in (left(runs.open("order/7"))[0].note or "")
    with pytest.raises(UsageError, match="holds 3 runs"):
        runs.open()
    with pytest.raises(UsageError, match="holds no run 'nobody'"):
        runs.open("nobody")
    assert check(base.path)


def test_a_nested_run_that_was_cut_short_is_named(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["child"])
    known = Frame(4, {}, {"branch:to:child": "2"}, {}, ())
    assert thread.id is not None
    task = next(iter(identifier(thread.id, "", thread.step)("child", None, known, [])))
    Thread(base, "t", f"child:{task}", begin=30).input({})
    base.close()
    run = open_path(str(base.path)).open("t")
    assert pending(run) == [("node", "child", "ambiguous")]
    assert f"t/child:{task}" in (left(run)[0].note or "")


def test_runs_that_would_share_an_id_are_told_apart(base: Base) -> None:
    for name, namespace in (("a/b", ""), ("a", "b"), ("a/b (2)", "")):
        Thread(base, name, namespace).input({})
    base.close()
    runs = open_path(str(base.path))
    assert sorted(row.id for row in runs.rows()) == ["a/b", "a/b (2)", "a/b (3)"]
    assert all(len(runs.open(row.id)) == 1 for row in runs.rows())


def test_branches_say_where_they_come_from(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"n": 0}, then=["inc"])
    fork = thread.ran({"inc": {"n": 1}}, then=["inc"])
    at, step = dict(thread.values), thread.step
    thread.ran({"inc": {"n": 2}})
    thread.wrote("inc", {"__error__": "E('of the branch that was left')"})
    thread.back(fork, at, step)
    thread.made("update", {"n": 9, "who": "me"}, then=["inc"])
    thread.ran({"inc": {"n": 10}}, then=["inc"])
    thread.back(fork, at, step)
    thread.made("fork", {})
    run = opened(base)
    assert [(step.kind, step.name, step.summary) for step in run.steps(4, 99)] == [
        ("node", "inc", "n: 2"),
        ("input", "update", "branches off step 3: n, who"),
        ("node", "inc", "n: 10"),
        ("event", "fork", "branches off step 3: "),
    ]
    assert pending(run, 4) == [("node", "inc", "ready")], "the end of the branch that was left"
    assert "of the branch" in (left(run, 4)[0].note or "")
    assert pending(run, 3) == [("node", "inc", "ready")]
    assert run.run().status == "interrupted"


def test_a_parent_that_is_not_there_is_said(base: Base) -> None:
    thread = Thread(base)
    thread.id = "1f1ec0b0-0000-6000-8000-000000000000"
    thread.input({})
    thread.id = None
    thread.ran({"__start__": {}}, then=["a"], stored=False)
    run = opened(base)
    assert [step.summary for step in run.steps(1, 9)] == [
        "the checkpoint before it is not in this file: {}",
        "without a checkpoint before it: ",
    ]


def test_only_the_end_was_stored(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.ran({"a": {"x": 1}}, then=["b", "c"], stored=False)
    thread.ran({"c": {"x": 2}, "b": {"y": 2}}, stored=False)
    thread.base.connection.execute("DELETE FROM checkpoints WHERE checkpoint_id != ?", (thread.id,))
    thread.base.connection.execute("DELETE FROM writes")
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["__start__, a, b, c"]
    assert run.run().status == "completed"


def test_joins_and_deferred_nodes(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({}, then=["a"])
    thread.values |= {"join:left+right:both": ["left"], "branch:to:late": [None, False]}
    thread.versions |= {"join:left+right:both": "9", "branch:to:late": "9"}
    thread.ran({"a": {"x": 1}}, then=["right"])
    thread.values |= {"join:left+right:both": ["left", "right"], "branch:to:late": [None, True]}
    thread.ran({"right": {"x": 2}})
    run = opened(base)
    assert [one.name for one in left(run, 3)] == ["right"]
    assert [one.name for one in left(run)] == ["both", "late"]
    graph = run.definition().graph
    assert graph is not None
    assert [(edge.from_, edge.to) for edge in graph.edges or ()] == [("left", "both"), ("right", "both")]


def test_functions_and_their_tasks(base: Base) -> None:
    thread = Thread(base)
    thread.input(1)
    call = "~__pregel_push, ~__pregel_pull, flow, 000000000{}, 0000000001"
    thread.wrote("add", {"__return__": 2}, path=call.format(0), task="a")
    thread.wrote("bad", {"__error__": "ValueError('bad task')"}, path=call.format(1), task="b")
    thread.wrote("flow", {"__error__": "ValueError('bad task')"})
    run = opened(base)
    (one,) = left(run)
    assert (one.name, one.status) == ("flow", "ready")
    assert "2 functions that it called have left something, 1 of them a result" in (one.note or "")
    assert run.run().status == "failed"


def test_found_by_what_it_says_both_ways(base: Base) -> None:
    tool_loop(base)
    run = opened(base)

    def hits(text: str, start: int, backward: bool = False) -> list[int]:
        return [hit for hit in run.find(text, start, backward=backward) if isinstance(hit, int)]

    assert hits("two calls", 1) == [2, 3], "in what was written behind step 2, and in step 3"
    assert hits("two calls", 3, backward=True) == [3, 2]
    assert hits("__start__", 2) == [2, 3]
    assert hits("nowhere", 1) == []
    raw = run.raw(3)
    assert raw is not None
    assert raw.where == "store.bin checkpoint 1f1ec0b0-0004-6004-8000-000000000074"
    assert '"source":"loop"' in raw.text
    assert '"class":"langchain_core.messages.ai:AIMessage"' in raw.text
    assert run.raw(0) is None


def test_followed_while_it_grows(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    runs = open_path(str(base.path))
    run = runs.open()
    assert (len(run), run.refresh()) == (1, False)
    time.sleep(0.03)
    thread.start({"x": 1}, then=["a"])
    Thread(base, "second").input({})
    assert run.refresh()
    assert len(run) == 2
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__"]
    assert runs.refresh()
    assert [row.id for row in runs.rows()] == ["t", "second"]
    assert not runs.refresh()
    base.close()
    runs.close()


def test_the_timeline_builds_no_state(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        tool_loop(base, name=name)
    base.close()

    def refuse(self: History, seq: int) -> None:
        raise AssertionError("a state is built")

    monkeypatch.setattr(History, "checkpoint", refuse)
    runs = open_path(str(base.path))
    assert [(row.id, row.status, row.steps) for row in runs.rows()] == [
        ("one", "interrupted", 3),
        ("two", "interrupted", 3),
    ]
    run = runs.open("one")
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__", "agent"]


def test_a_list_asks_little_of_each_thread(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    base.connection.execute("BEGIN")
    for number in range(60):
        tool_loop(base, name=f"thread-{number}")
    base.connection.execute("COMMIT")
    base.close()
    asked: list[str] = []
    rows = Database.rows

    def counted(self: Database, query: str, *rest: Any) -> Any:
        asked.append(query)
        return rows(self, query, *rest)

    monkeypatch.setattr(Database, "rows", counted)
    assert len(open_path(str(base.path)).rows()) == 60
    assert len(asked) <= 60 * 10
    assert sum("GROUP BY" in query for query in asked) == 1


def test_long_thread_opens_fast(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"log": []}, then=["step"])
    text = "x" * 200
    base.connection.execute("BEGIN")
    for number in range(400):
        thread.ran({"step": {"log": [text] * number, "n": number}}, then=["step"])
    base.connection.execute("COMMIT")
    base.close()
    begin = time.monotonic()
    run = open_path(str(base.path)).open()
    assert len(run) == 402
    assert len(run.steps(380, 403)) == 23
    assert state(run, 200).values == {"log": [text] * 197, "n": 197}
    assert time.monotonic() - begin < 5


def test_tables_without_their_keys_are_not_read_whole_for_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work: list[None] = []
    monkeypatch.setattr(
        sqlitefile, "_limit", lambda sqlite, _: sqlite.set_progress_handler(lambda: work.append(None), 100)
    )

    def steps(number: int, exported: bool) -> list[Any]:
        base = Base(tmp_path / f"{len(list(tmp_path.iterdir()))}.db")
        thread = Thread(base)
        thread.input({})
        thread.start({"n": 0}, then=["step"])
        base.connection.execute("BEGIN")
        for count in range(number):
            thread.ran({"step": {"n": count}}, then=["step"])
        base.connection.execute("COMMIT")
        if exported:
            for table in ("checkpoints", "writes"):
                base.connection.execute(f"ALTER TABLE {table} RENAME TO kept")
                base.connection.execute(f"CREATE TABLE {table} AS SELECT * FROM kept")
                base.connection.execute("DROP TABLE kept")
        before = base.close().read_bytes()
        run = open_path(str(base.path)).open()
        work.clear()
        found = [*run.steps(1, len(run) + 1), *(run.state(seq) for seq in range(1, len(run) + 1, 7))]
        assert base.path.read_bytes() == before
        return found

    assert steps(150, exported=True) == steps(150, exported=False)
    steps(150, exported=True)
    once = len(work)
    steps(600, exported=True)
    assert len(work) < once * 6
