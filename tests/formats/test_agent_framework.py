"""Checkpoints of agent-framework: chains, queues, questions, agents, and pickles that name code."""

import base64
import gc
import json
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import InspectorError
from inspector.formats import open_path
from inspector.formats.readers.agent_framework.chains import chains
from inspector.formats.readers.agent_framework.checkpoint import Checkpoint, Header
from inspector.model.source import RunSet
from inspector.report.view import View, view
from tests.formats import traces
from tests.fuzz import fuzz


@dataclass
class Doc:
    """A value that the workflow's own code sends."""

    text: str


@dataclass
class Sent:
    """The fields of a message between executors."""

    data: Any
    source_id: str
    target_id: str | None = None
    original_request_info_event: Any = None


@dataclass
class Asked:
    """The fields of a question."""

    data: Any
    _request_id: str
    _source_executor_id: str


@dataclass
class Content:
    """The fields of a content that are looked at."""

    type: str
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    id: str | None = None
    function_call: Any = None
    text: str | None = None


class Evil:
    def __reduce__(self) -> Any:
        return (os.system, ("touch evil",))


def pickled(value: Any) -> dict[str, str]:
    return {"__pickled__": base64.b64encode(pickle.dumps(value)).decode(), "__type__": "x:Y"}


def checkpoint(number: int, previous: int | None, **fields: Any) -> dict[str, Any]:
    """Checkpoint `cp<number>`, saved in the minute of its number."""
    return {
        "workflow_name": "docs",
        "graph_signature_hash": "d1" * 32,
        "checkpoint_id": f"cp{number}",
        "previous_checkpoint_id": None if previous is None else f"cp{previous}",
        "timestamp": f"2026-01-01T00:{number:02d}:00+00:00",
        "messages": {},
        "state": {"_executor_state": {}},
        "pending_request_info_events": {},
        "iteration_count": 0,
        "metadata": {},
        "version": "1.0",
    } | fields


def folder(path: Path, *checkpoints: dict[str, Any]) -> Path:
    for value in checkpoints:
        # Names say nothing of the order.
        number = int(value["checkpoint_id"].removeprefix("cp"))
        (path / f"{number * 37 % 100:02d}-{value['checkpoint_id']}.json").write_text(json.dumps(value))
    return path


def shown(runs: RunSet, run_id: str | None = None, step: int | None = None) -> View:
    source = runs.open(run_id)
    for _ in source.index():
        pass
    last = len(source)
    return view(source, last if step is None else step, 1, last + 1)


def messages(*sent: Sent) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in sent:
        found.setdefault(one.source_id, []).append(pickled(one))
    return found


def state(executors: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"_workflow_run_kwargs": {}, "_executor_state": executors, **values}


def flow(path: Path) -> Path:
    """Four checkpoints: the input, a split, two workers of which one waits at an edge that joins, a question."""
    edge = 'FanInEdgeGroup:[["lower","join"],["upper","join"]]'
    buffer = {edge: {"buffer": {"lower": [pickled(Sent(Doc("LEFT"), "lower"))], "upper": []}}}
    asks = pickled(Asked({"question": "publish?"}, "q1", "gate"))
    return folder(
        path,
        checkpoint(
            0, None, messages=messages(Sent(2, "internal:split", "split")), state=state({"split": {}, "gate": {}})
        ),
        checkpoint(
            1,
            0,
            messages=messages(Sent(Doc("a"), "split"), Sent(Doc("b"), "split")),
            state=state({"split": {}, "gate": {}}, total=2),
        ),
        checkpoint(
            2,
            1,
            messages=messages(Sent(Doc("A"), "upper"), Sent(Doc("B"), "lower", "join")),
            state=state({"split": {}, "gate": {}}, total=2),
        ),
        checkpoint(
            3,
            2,
            state=state({"split": {}, "gate": {"asked": 1}}, total=2, _edge_state=buffer),
            pending_request_info_events={"q1": asks},
        ),
    )


def test_a_flow_that_asks(tmp_path: Path) -> None:
    runs = open_path(str(flow(tmp_path)))
    found = shown(runs)
    assert (found.source.format, found.source.version) == ("agent-framework", "1.0")
    run = found.run
    assert (run.id, run.name, run.kind, run.status, run.reason) == ("cp0", "docs", "workflow", "suspended", "input")
    assert [step.name for step in found.steps] == ["start", "split", "upper, lower", "join, gate"]
    assert [step.kind for step in found.steps] == ["input", "node", "node", "node"]
    assert found.steps[0].ended == "2026-01-01T00:00:00+00:00"
    assert found.state is not None
    (asked,) = found.state.pending or ()
    assert (asked.kind, asked.name, asked.call_id, asked.status) == ("input", "gate", "q1", "waiting")
    assert asked.arguments == {"question": "publish?"}
    (queue,) = found.state.queues or ()
    assert (queue.from_, queue.to, queue.size, queue.contents) == ("lower", "join", 1, "complete")
    assert queue.tokens is not None
    assert queue.tokens[0]["state"] == {"text": "LEFT"}
    assert found.state.values == {"total": 2}
    assert [(actor.id, actor.state) for actor in found.state.actors or ()] == [("split", {}), ("gate", {"asked": 1})]
    graph = found.definition.graph
    assert graph is not None
    assert (graph.digest, graph.complete) == ("d1" * 32, False)
    assert [(edge.from_, edge.to) for edge in graph.edges or ()] == [("lower", "join"), ("upper", "join")]
    assert found.definition.hooks is None
    assert (found.resume.possible, found.resume.from_) == (True, (1, 2, 3, 4))
    assert found.problems == []
    middle = shown(runs, step=3).state
    assert middle is not None
    rows = [(queue.id, queue.from_, queue.to, queue.size) for queue in middle.queues or ()]
    assert rows == [("upper->?", "upper", None, 1), ("lower->join", "lower", "join", 1)]
    assert middle.pending == ()
    assert shown(runs, step=0).state is None


def test_a_step_that_left_nothing_names_nobody(tmp_path: Path) -> None:
    """An executor that only gave its output out stands nowhere: that is no answer from outside."""
    first = checkpoint(0, None, messages=messages(Sent("x", "internal:split", "split")))
    sent = checkpoint(1, 0, messages=messages(Sent("x", "split")))
    found = shown(open_path(str(folder(tmp_path, first, sent, checkpoint(2, 1)))))
    assert [(step.kind, step.name) for step in found.steps] == [("input", "start"), ("node", "split"), ("node", "?")]


def test_statuses(tmp_path: Path) -> None:
    sent = messages(Sent(1, "a", "b"))
    for number, (fields, status) in enumerate([({}, "completed"), ({"messages": sent}, "interrupted")]):
        path = tmp_path / str(number)
        path.mkdir()
        found = shown(open_path(str(folder(path, checkpoint(0, None), checkpoint(1, 0, **fields)))))
        assert found.run.status == status
        assert found.resume.reasons == (("terminal",) if status == "completed" else ())
        assert (found.run.ended is None) == (status != "completed")


def agent_state() -> dict[str, Any]:
    """An agent that read a file, and now wants to delete one and read another."""

    def call(call_id: str, name: str) -> dict[str, Any]:
        return {
            "type": "function_call",
            "call_id": call_id,
            "name": name,
            "arguments": '{"path": "/x"}',
            "id": f"af-{call_id}",
        }

    told = [
        {"role": "user", "contents": [{"type": "text", "text": "clean up"}]},
        {"role": "assistant", "contents": [call("c1", "read_file")]},
        {"role": "tool", "contents": [{"type": "function_result", "call_id": "c1", "result": "x = 1"}]},
        {
            "role": "assistant",
            "contents": [call("c2", "delete_file"), call("c3", "read_file"), call("c4", "list"), {"type": "uri"}],
        },
    ]
    approved = [
        {"approval_requests": [{"type": "function_approval_request", "function_call": call("c3", "read_file")}]}
    ]
    session = {"in_memory": {"messages": told}, "tool_approval": {"already_approved_approval_request_groups": approved}}
    return {"agent_session": {"session_id": "s", "state": session}}


def test_an_agent_that_asks_for_an_approval(tmp_path: Path) -> None:
    call = Content("function_call", "c2", "delete_file", '{"path": "/x"}', "af-c2")
    asks = pickled(Asked(Content("function_approval_request", id="af-c2", function_call=call), "af-c2", "ops"))
    folder(
        tmp_path,
        checkpoint(0, None),
        checkpoint(1, 0, state=state({"ops": agent_state()}), pending_request_info_events={"af-c2": asks}),
    )
    found = shown(open_path(str(tmp_path)))
    assert (found.run.status, found.run.reason) == ("suspended", "approval")
    assert found.state is not None
    rows = [(one.kind, one.name, one.call_id, one.internal_call_id, one.status) for one in found.state.pending or ()]
    assert rows == [
        ("tool", "delete_file", "c2", "af-c2", "waiting"),
        ("tool", "read_file", "c3", "af-c3", "approved"),
        ("tool", "list", "c4", "af-c4", "ready"),
    ]
    assert (found.state.pending or ())[0].arguments == {"path": "/x"}
    told = [(message.role, message.text, message.call_id) for message in found.state.messages or ()]
    assert told[2] == ("tool", "x = 1", "c1")
    assert told[3] == ("assistant", "[uri]", None)
    assert found.definition.tools_known == "called"
    assert [tool.name for tool in found.definition.tools or ()] == ["read_file", "delete_file", "list"]
    assert found.steps[1].name == "ops"


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [("{path: /x", "{path: /x", "no JSON"), ('{"path": "/x", "path": "/y"}', {"path": "/y"}, "'path'")],
)
def test_odd_arguments_of_a_call_are_told_once(tmp_path: Path, text: str, arguments: Any, told: str) -> None:
    call = Content("function_call", "c2", "delete_file", text, "af-c2")
    asks = pickled(Asked(Content("function_approval_request", id="af-c2", function_call=call), "af-c2", "ops"))
    pending: dict[str, Any] = {"pending_request_info_events": {"af-c2": asks}}
    folder(tmp_path, checkpoint(0, None), checkpoint(1, 0, **pending), checkpoint(2, 1, **pending))
    found = shown(open_path(str(tmp_path)))
    assert found.state is not None
    assert [one.arguments for one in found.state.pending or ()] == [arguments]
    (problem,) = found.problems
    assert problem.where.endswith("cp1.json")
    assert problem.message.startswith("call c2: arguments")
    assert told in problem.message


def test_one_file_alone(tmp_path: Path) -> None:
    flow(tmp_path)
    (path,) = tmp_path.glob("*-cp3.json")
    found = shown(open_path(str(path)))
    assert found.run.steps == 1
    assert found.run.id == "cp3"
    assert found.run.status == "suspended"


def test_branches_and_other_runs_are_runs_of_their_own(tmp_path: Path) -> None:
    folder(
        tmp_path,
        *(checkpoint(0, None), checkpoint(1, 0), checkpoint(2, 1)),
        *(checkpoint(5, 1), checkpoint(6, 5)),
        checkpoint(7, None, workflow_name="other"),
        checkpoint(8, 99),
    )
    runs = open_path(str(tmp_path))
    rows = [
        (row.id, row.steps, row.resumed_from and (row.resumed_from.run, row.resumed_from.step)) for row in runs.rows()
    ]
    assert rows == [("cp0", 3, None), ("cp5", 2, ("cp0", 2)), ("cp7", 1, None), ("cp8", 1, None)]
    assert shown(runs, "cp7").run.name == "other"
    assert [problem.message for problem in runs.problems()] == ["its predecessor cp99 is not here"]
    with pytest.raises(InspectorError, match="4 runs"):
        runs.open()


def test_of_runs_that_are_only_listed_no_contents_stay(tmp_path: Path) -> None:
    folder(tmp_path, *(checkpoint(number, None) for number in range(50)))
    before = alive(Checkpoint)
    runs = open_path(str(tmp_path))
    assert len(runs.rows()) == 50
    assert alive(Checkpoint) == before
    assert len(runs.open("cp7")) == 1


def alive(kind: type) -> int:
    """How many objects of a kind there are."""
    gc.collect()
    return sum(isinstance(one, kind) for one in gc.get_objects())


def test_an_answer_that_names_no_predecessor_goes_behind_its_question(tmp_path: Path) -> None:
    question = Asked("ok?", "q1", "gate")
    asks = {"q1": pickled(question)}
    answer = messages(Sent(True, "internal:gate", "gate", question))
    folder(
        tmp_path,
        checkpoint(0, None, messages=messages(Sent(Doc("a"), "split"))),
        checkpoint(1, 0, pending_request_info_events=asks),
        checkpoint(2, None, messages=answer),
        checkpoint(3, 2),
    )
    runs = open_path(str(tmp_path))
    found = shown(runs)
    assert [step.name for step in found.steps] == ["split", "gate", "answer", "gate"]
    assert found.run.status == "completed"
    assert any("names no predecessor" in problem.message for problem in found.problems)


def header(name: str, previous: str | None, minute: int) -> Header:
    return Header("", f"{name}.json", name, previous, "w", None, f"2026-01-01T00:{minute:02d}:00Z", "1.0")


def test_chains_of_any_shape_hold_each_checkpoint_once() -> None:
    ring = [header("a", "c", 1), header("b", "a", 2), header("c", "b", 3), header("d", "d", 4)]
    problems: list[Any] = []
    found = chains(ring, problems)
    assert [[one.id for one in chain.headers] for chain in found] == [["a", "b", "c"], ["d"]]
    assert any("ring" in problem.message for problem in problems)
    line = [header(str(number), str(number - 1) if number else None, 0) for number in range(5000)]
    (chain,) = chains(line[::-1], [])
    assert [one.id for one in chain.headers] == [str(number) for number in range(5000)]


def test_damaged_files_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    flow(tmp_path)
    (tmp_path / "torn.json").write_text(json.dumps(checkpoint(4, 3))[:260])
    (tmp_path / "same.json").write_text(json.dumps(checkpoint(2, 1)))
    (tmp_path / "empty.json").write_text("")
    (tmp_path / ".maf-ckpt-1.tmp").write_text("{")
    (tmp_path / "notes.txt").write_text("not one")
    runs = open_path(str(tmp_path))
    found = shown(runs)
    assert found.run.steps == 5
    assert found.run.status == "unknown"
    told = {problem.where.split(":")[0]: problem.message for problem in [*runs.problems(), *found.problems]}
    assert set(told) == {"torn.json", "same.json", "empty.json"}
    assert "breaks off" in told["torn.json"]
    assert "another file" in told["same.json"]


def test_checkpoints_among_other_files_are_one_run_still(tmp_path: Path) -> None:
    """Beside files that are no run, and beside runs of others."""
    flow(tmp_path)
    (tmp_path / "settings.json").write_text('{"a": 1}')
    runs = open_path(str(tmp_path))
    assert [(row.id, row.steps) for row in runs.rows()] == [("cp0", 4)]
    assert [step.name for step in shown(runs).steps] == ["start", "split", "upper, lower", "join, gate"]
    (tmp_path / "trace.jsonl").write_bytes(traces.text(traces.records(2)))
    assert {row.id: row.steps for row in open_path(str(tmp_path)).rows()} == {"cp0": 4, "run-1": 2}


def test_an_executor_whose_workflow_only_was_saved_anew_has_not_run(tmp_path: Path) -> None:
    def nested(number: int, asks: list[str]) -> dict[str, Any]:
        inner = {"checkpoint_id": f"i{number}", "previous_checkpoint_id": None, "timestamp": f"t{number}", "asks": asks}
        return state({"start": {}, "sub": {"sub_workflow_checkpoint": inner}})

    sent = messages(Sent("x!", "start"))
    folder(
        tmp_path,
        checkpoint(0, None, messages=messages(Sent("x", "internal:start", "start")), state=nested(0, [])),
        checkpoint(1, 0, messages=sent, state=nested(1, [])),
        checkpoint(2, 1, state=nested(2, ["q"])),
        checkpoint(3, 2, messages=messages(Sent("yes", "internal:sub", "sub")), state=nested(3, ["q"])),
    )
    steps = shown(open_path(str(tmp_path))).steps
    assert [(step.name, step.kind) for step in steps] == [
        ("start", "input"),
        ("start", "node"),
        ("sub", "node"),
        ("answer", "input"),
    ]


def test_behind_a_checkpoint_that_breaks_off_nobody_is_taken_to_have_run(tmp_path: Path) -> None:
    (path,) = flow(tmp_path).glob("*-cp2.json")
    text = path.read_text()
    path.write_text(text[: text.index('"_executor_state"')])
    assert [step.name for step in shown(open_path(str(tmp_path))).steps][3:] == ["join, gate"]


def test_pickles_that_name_code_are_shown_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ckpt"
    path.mkdir()
    folder(path, checkpoint(0, None), checkpoint(1, 0, messages={"split": [pickled(Evil()), {"__pickled__": "!"}, 7]}))
    found = shown(open_path("ckpt"))
    assert found.run.steps == 2
    told = " ".join(problem.message for problem in found.problems)
    assert "posix.system" in told
    assert "not base64" in told
    assert any("messages split 0" in problem.where for problem in found.problems)
    assert found.resume.reasons == ("value_unreadable",)
    assert os.listdir(tmp_path) == ["ckpt"]


def test_any_damage(tmp_path: Path) -> None:
    source = tmp_path / "ckpt"
    source.mkdir()
    flow(source)
    folder(source, checkpoint(4, 3, state=state({"ops": agent_state()})))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    opened, _ = fuzz(source, scratch, count=15, seconds=20)
    assert opened
    alone = json.dumps(checkpoint(4, 3, state=state({"ops": agent_state()}), messages=messages(Sent(Doc("x"), "a"))))
    fuzz(alone.encode(), scratch, count=12, seed=1, seconds=20)


def test_another_version_and_times_without_a_zone_are_told(tmp_path: Path) -> None:
    folder(tmp_path, checkpoint(0, None), checkpoint(1, 0, version="2.0", timestamp="2026-01-01T00:01:00"))
    found = shown(open_path(str(tmp_path)))
    assert found.source.version == "2.0"
    assert [problem.message for problem in found.problems] == [
        "the times have no zone, as in 2026-01-01T00:01:00",
        "a checkpoint of version 2.0, where 1.0 is known: read as well as can be",
    ]


@pytest.mark.parametrize(("field", "queue"), [("messages", "split->upper"), ("state", "lower->join (joining)")])
def test_of_a_queue_in_which_a_file_breaks_off_nothing_is_said(tmp_path: Path, field: str, queue: str) -> None:
    edge = 'FanInEdgeGroup:[["lower","join"],["upper","join"]]'
    buffer = {edge: {"buffer": {"lower": [pickled(Sent(Doc("LEFT"), "lower")), "torn here"]}}}
    sent = messages(Sent(Doc("x"), "split", "upper")) | {
        "lower": [pickled(Sent(Doc("y"), "lower", "join")), "torn here"]
    }
    value = checkpoint(0, None, messages=sent, state={"_edge_state": buffer, "_executor_state": {}})
    text = json.dumps(value)
    (tmp_path / "cp.json").write_text(text[: text.index("torn here", text.index(f'"{field}"'))])
    state = shown(open_path(str(tmp_path / "cp.json"))).state
    assert state is not None
    found = {one.id: (one.contents, one.size, one.tokens) for one in state.queues or ()}
    assert found[queue] == ("unknown", None, None)
    assert field == "messages" or found["split->upper"][:2] == ("complete", 1)
