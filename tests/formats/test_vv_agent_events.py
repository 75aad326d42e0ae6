"""The event log of vv-agent."""

import json
from pathlib import Path
from typing import Any

from inspector.formats import open_path
from inspector.model.run import Pending
from inspector.model.source import RunSource
from tests.formats.vv_agent_stores import NOW

WEIGH = {"id": "c1", "name": "weigh", "arguments": {"crate": "A"}}
SHIP = {"id": "c2", "name": "ship", "arguments": {"crate": "A"}}


class Events:
    """Lines of an event log."""

    def __init__(self, run_id: str = "run-1") -> None:
        self.run_id, self.lines = run_id, list[str]()

    def add(self, kind: str, **fields: Any) -> "Events":
        number = len(self.lines) + 1
        common = {"run_id": self.run_id, "trace_id": "t", "created_at": NOW + number, "version": "v2"}
        told = {"type": kind, "event_id": f"{self.run_id}/{number}", "agent_name": "packer", **common}
        self.lines.append(json.dumps({**told, **fields}))
        return self

    def begin(self) -> "Events":
        return self.add("run_started", input="Pack crate A.")

    def model(self, cycle: int, words: str, *calls: dict[str, Any], logged: bool = True) -> "Events":
        call = {"call_id": f"m{cycle}", "operation": "agent_cycle", "cycle_index": cycle}
        self.add("cycle_started", cycle_index=cycle).add("model_call_started", **call)
        self.add("model_call_completed", **call, usage={"input_tokens": 10, "output_tokens": 3})
        details = {"assistant_message": words, "tool_calls": list(calls)}
        return self.add("diagnostic", code="cycle_llm_response", details=details) if logged else self

    def tool(self, call: dict[str, Any], result: str | None = "40 kg") -> "Events":
        name = {"tool_call_id": call["id"], "tool_name": call["name"], "tool_metadata": {"idempotency": "supported"}}
        self.add("tool_call_planned", **name, arguments=call["arguments"]).add("tool_call_started", **name)
        if result is None:
            return self
        self.add("tool_call_completed", **name, metadata={"content": result})
        told = {"tool_call_id": call["id"], "tool_name": call["name"], "content": result}
        return self.add("diagnostic", code="tool_result", details=told)

    def done(self, **fields: Any) -> "Events":
        return self.add("run_completed", status="completed", final_output="Done.", **fields)

    def write(self, path: Path, end: str = "\n") -> Path:
        path.write_text("\n".join(self.lines) + end)
        return path


def whole() -> Events:
    return Events().begin().model(1, "Weighing.", WEIGH).tool(WEIGH).model(2, "Done.").done()


def opened(path: Path, run_id: str | None = None) -> RunSource:
    runs = open_path(str(path))
    assert runs.source.format == "vv-agent"
    return runs.open(run_id)


def kinds(run: RunSource) -> list[tuple[str, str]]:
    return [(step.kind, step.status) for step in run.steps(1, len(run) + 1)]


def pending(run: RunSource) -> list[Pending]:
    state = run.state(len(run))
    assert state is not None
    return list(state.pending or ())


def texts(run: RunSource, step: int) -> list[str | None]:
    state = run.state(step)
    assert state is not None
    return [message.text for message in state.messages or ()]


def test_a_completed_run(tmp_path: Path) -> None:
    run = opened(whole().write(tmp_path / "events.jsonl"))
    found = run.run()
    assert (found.id, found.name, found.status, found.steps) == ("run-1", "packer", "completed", 3)
    assert found.usage is not None
    assert found.usage.input_tokens == 20
    assert kinds(run) == [("model", "done"), ("tools", "done"), ("model", "done")]
    assert texts(run, 3) == ["Pack crate A.", "Weighing.", "40 kg", "Done."]
    assert texts(run, 0) == ["Pack crate A."]
    state = run.state(1)
    assert state is not None
    assert [(one.call_id, one.arguments) for one in state.pending or ()] == [("c1", {"crate": "A"})]
    definition = run.definition()
    assert [(tool.name, tool.idempotency) for tool in definition.tools or ()] == [("weigh", "supported")]
    assert definition.tools_known == "called"
    assert list(run.problems()) == []
    assert run.steps(1, 2)[0].started == "2027-01-15T08:00:03.000Z"
    raw = run.raw(1)
    assert raw is not None
    assert raw.where.startswith("events.jsonl:5 byte ")


def test_torn_lines_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    events = whole()
    for number in range(1, len(events.lines) - 1):
        torn = Events()
        torn.lines = [line[:40] if at == number else line for at, line in enumerate(events.lines)]
        run = opened(torn.write(tmp_path / f"{number}.jsonl"))
        assert [problem.where.split(" ")[0] for problem in run.problems()] == [f"{number}.jsonl:{number + 1}"]
        assert run.run().status == "completed"
        assert [kind for kind, _ in kinds(run)] == ["model", "tools", "model"]


def test_a_run_whose_last_event_is_torn_is_not_completed(tmp_path: Path) -> None:
    events = whole()
    events.lines[-1] = events.lines[-1][:60]
    for end in ("", "\n"):
        run = opened(events.write(tmp_path / "events.jsonl", end))
        assert run.run().status == "interrupted"
        place = f"events.jsonl:{len(events.lines)} byte "
        assert any(problem.where.startswith(place) for problem in run.problems())


def test_a_call_without_a_result(tmp_path: Path) -> None:
    events = Events().begin().model(1, "Both.", WEIGH, SHIP).tool(WEIGH, None)
    run = opened(events.write(tmp_path / "events.jsonl"))
    assert run.run().status == "interrupted"
    assert [(one.call_id, one.status) for one in pending(run)] == [("c1", "ambiguous"), ("c2", "ready")]
    assert kinds(run) == [("model", "done"), ("tools", "pending")]


def test_where_lines_are_torn_no_call_is_ready(tmp_path: Path) -> None:
    events = Events().begin().model(1, "Both.", WEIGH, SHIP).add("tool_call_started", tool_call_id="c1")
    events.lines[-1] = events.lines[-1][:30]
    run = opened(events.write(tmp_path / "events.jsonl", ""))
    assert [(one.call_id, one.status) for one in pending(run)] == [("c1", "ambiguous"), ("c2", "ambiguous")]


def test_a_model_request_without_an_answer(tmp_path: Path) -> None:
    events = Events().begin().add("model_call_started", call_id="m1", operation="agent_cycle")
    assert [(one.kind, one.status) for one in pending(opened(events.write(tmp_path / "e.jsonl")))] == [
        ("model", "ambiguous")
    ]


SECOND = {"call_id": "m2", "operation_id": "op2", "operation": "agent_cycle", "model": "m-1"}


def test_a_model_call_that_a_run_failed_at_is_a_step(tmp_path: Path) -> None:
    events = Events().begin().model(1, "Weighing.", WEIGH).tool(WEIGH).add("model_call_started", **SECOND)
    spent = {"input_tokens": 7, "output_tokens": 0}
    events.add("model_call_failed", **SECOND, error_code="rejected", outcome="definitive", usage=spent)
    run = opened(events.add("run_failed", error="the quota is used up").write(tmp_path / "e.jsonl"))
    assert kinds(run) == [("model", "done"), ("tools", "done"), ("model", "failed")]
    (step,) = run.steps(3, 4)
    assert (step.error, step.started, step.ended) == (
        "rejected",
        "2027-01-15T08:00:10.000Z",
        "2027-01-15T08:00:11.000Z",
    )
    found = run.run()
    assert found.usage is not None
    assert (found.steps, found.usage.input_tokens, found.error and found.error.step) == (3, 17, 3)
    assert texts(run, 3) == texts(run, 2)
    raw = run.raw(3)
    assert raw is not None
    assert "model_call_failed" in raw.text
    assert run.definition().model == "m-1"


def test_a_model_call_that_was_made_again_is_no_step(tmp_path: Path) -> None:
    events = Events().begin().add("model_call_started", **SECOND)
    events.add("model_call_failed", **SECOND, error_code="rejected", outcome="definitive")
    run = opened(events.model(2, "Done.").add("run_failed", error="no").write(tmp_path / "e.jsonl"))
    assert kinds(run) == [("model", "done")]


def test_a_model_call_whose_end_nobody_saw_waits_for_a_decision(tmp_path: Path) -> None:
    events = Events().begin().add("model_call_started", **SECOND)
    events.add("model_call_failed", **SECOND, error_code="model_outcome_ambiguous", outcome="ambiguous")
    events.add("reconciliation_required", operation_id="op2", operation_kind="model")
    (found,) = pending(opened(events.write(tmp_path / "e.jsonl")))
    assert (found.kind, found.name, found.status) == ("model", "m-1", "ambiguous")
    assert (found.call_id, found.internal_call_id) == ("m2", "op2")
    events.add("model_call_started", **{**SECOND, "call_id": "m2-again"})
    (found,) = pending(opened(events.write(tmp_path / "e.jsonl")))
    assert found.call_id == "m2-again"


def test_without_diagnostics_the_calls_are_known(tmp_path: Path) -> None:
    events = Events().begin().model(1, "", logged=False).tool(WEIGH).done()
    run = opened(events.write(tmp_path / "e.jsonl"))
    assert kinds(run) == [("model", "done"), ("tools", "done")]
    assert texts(run, 2) == ["Pack crate A.", None, "40 kg"]


def test_an_event_that_stands_twice_counts_once(tmp_path: Path) -> None:
    events = whole()
    events.lines = [line for line in events.lines for _ in range(2)]
    run = opened(events.write(tmp_path / "e.jsonl"))
    assert kinds(run) == [("model", "done"), ("tools", "done"), ("model", "done")]
    assert run.run().usage is not None
    assert texts(run, 3) == ["Pack crate A.", "Weighing.", "40 kg", "Done."]


def test_how_runs_end(tmp_path: Path) -> None:
    ends: list[tuple[str, dict[str, Any], tuple[str, str | None]]] = [
        ("run_completed", {"status": "wait_user", "final_output": "Which bay?"}, ("suspended", "input")),
        ("run_failed", {"completion_reason": "max_cycles", "error": "max_cycles"}, ("failed", "max_cycles")),
        ("run_failed", {"completion_reason": "budget_exhausted"}, ("failed", "budget")),
        ("run_failed", {"error": {"code": "x", "message": "no"}}, ("failed", None)),
        ("run_failed", {"completion_reason": "cancelled"}, ("cancelled", None)),
        ("reconciliation_required", {}, ("suspended", "reconciliation")),
        ("run_failed", {"completion_reason": ["odd"], "status": {}, "error": 7, "created_at": "x"}, ("failed", None)),
    ]
    for number, (kind, fields, expected) in enumerate(ends):
        path = Events().begin().model(1, "Hm.").add(kind, **fields).write(tmp_path / f"{number}.jsonl")
        run = opened(path)
        assert (run.run().status, run.run().reason) == expected
    asked = pending(opened(tmp_path / "0.jsonl"))
    assert [(one.kind, one.status, one.arguments) for one in asked] == [
        ("input", "waiting", {"question": "Which bay?"})
    ]


def test_runs_of_one_log_are_told_apart(tmp_path: Path) -> None:
    first, second = whole(), Events("run-2").begin().model(1, "Hm.")
    second.lines = [*first.lines, *second.lines]
    path = second.write(tmp_path / "events.jsonl")
    runs = open_path(str(path))
    assert [(row.id, row.status) for row in runs.rows()] == [("run-1", "completed"), ("run-2", "interrupted")]
    assert texts(runs.open("run-2"), 1) == ["Pack crate A.", "Hm."]


def test_a_log_that_grows_is_followed(tmp_path: Path) -> None:
    events = whole()
    lines, path = events.lines, tmp_path / "events.jsonl"
    cut = len(lines) - 4
    path.write_text("\n".join(lines[:cut]) + "\n" + lines[cut][:20])
    run = opened(path)
    assert kinds(run) == [("model", "done"), ("tools", "done")]
    assert len(run.problems()) == 1
    with path.open("a") as file:
        file.write(lines[cut][20:] + "\n" + "\n".join(lines[cut + 1 :]))
    assert run.refresh()
    assert (run.run().status, list(run.problems())) == ("completed", [])
    assert kinds(run)[-1] == ("model", "done")
    assert not run.refresh()
    path.write_text("\n".join(lines[:3]) + "\n")
    assert run.refresh()
    assert run.run().status == "interrupted"


def test_hostile_lines(tmp_path: Path) -> None:
    events = whole()
    odd = [
        "[" * 3000,
        "7",
        '"x"',
        "{}",
        '{"type": 7}',
        '{"type": "tool_call_started", "tool_call_id": []}',
        "\x00",
        "{" * 9,
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join([events.lines[0], *odd, *events.lines[1:]]) + "\n")
    runs = open_path(str(path))
    assert [row.id for row in runs.rows()] == ["run-1", "unknown"]
    run = runs.open("run-1")
    assert run.run().status == "completed"
    assert len(run.problems()) == len(odd) - 1
