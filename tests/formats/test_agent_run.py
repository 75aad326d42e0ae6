"""Saved agent runs of our own: every phase as the runner itself shows it, and what is wrong with a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from inspector import Agent, AgentRun, Call, Control, Hook, ModelTurn, ScriptedModel, tool
from inspector.errors import UnreadableError
from inspector.formats import document, open_path
from inspector.formats.readers.agent_run import KEYS
from inspector.formats.readers.agent_run.phase import messages_of
from inspector.model.run import Pending
from inspector.report.view import View, view
from inspector.runner.claims import Claims
from inspector.runner.data import RunData
from inspector.runner.effects import Announce, Begin, Heard, Hold, Resolve, Turn
from inspector.runner.errors import ProtocolViolation, RequestError, ResumeRefused, RunClosed, RunFailed
from inspector.runner.restore import load
from inspector.runner.view import View as Shown
from inspector.runner.view import settled
from tests.fuzz import check, fuzz
from tests.runner.test_machine import EVENTS, TOOLS


@tool(needs_approval=True)
def refund(order: str, amount: int) -> str:
    """Pay back."""
    return f"refunded {amount} for {order}"


@tool
def look(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order}


ASKS = [Call("look", {"order": "A-17"}), Call("refund", {"order": "A-17", "amount": 4200})]


def agent(*script: Any) -> Agent:
    return Agent("refunds", model=ScriptedModel(*script or (ASKS, "On its way.")), tools=[refund, look])


def suspended() -> AgentRun:
    return agent().prompt("Refund A-17").run_sync().run


ASKED = ModelTurn(calls=(Call("add", {"n": 1}, "c1"), Call("sub", {"n": 2}, "c1")))
STRANGE = ModelTurn(calls=(Call("nope", {}, "c1"), Call("add", {"n": 1}, "c2"), Call("nope", {}, "c3")))
BEGINNINGS: dict[str, list[Any]] = {
    "new": [],
    "asked": [Announce(), Begin(TOOLS)],
    "held": [Announce(), Begin(TOOLS), Turn(ASKED)],
    "skipped": [Announce(), Begin(TOOLS), Turn(STRANGE), Resolve("skip", "no")],
    "batch": [Announce(), Begin(TOOLS), Turn(ASKED), Heard(), None],
    "waiting": [Announce(), Begin(TOOLS), Turn(ASKED), Heard(), None, Hold("1.1"), Hold("1.2")],
}


def shown(folder: Path, text: str, step: int | None = None) -> View:
    path = folder / "run.json"
    path.write_text(text)
    source = open_path(str(path)).open()
    last = len(source)
    return view(source, last if step is None else step, 1, last + 1)


def test_a_run_that_waits(tmp_path: Path) -> None:
    found = shown(tmp_path, suspended().to_json())
    assert (found.source.format, found.source.version) == ("runinspect", "run 1")
    assert (found.run.kind, found.run.name, found.run.status, found.run.reason) == (
        *("agent", "refunds"),
        *("suspended", "approval"),
    )
    assert [(step.kind, step.status) for step in found.steps] == [("model", "done"), ("tools", "pending")]
    assert found.state is not None
    assert [(one.name, one.call_id, one.status, one.result) for one in found.state.pending or ()] == [
        ("look", "c1", "answered", {"order": "A-17"}),
        ("refund", "c2", "waiting", None),
    ]
    assert found.definition.tools_known == "registry"
    assert [(one.name, one.needs_approval) for one in found.definition.tools or ()] == [
        ("refund", True),
        ("look", False),
    ]
    assert found.steps[0].usage is not None
    assert found.run.usage == found.steps[0].usage
    assert (found.resume.possible, found.resume.driver, found.problems) == (True, "agent", [])
    before = shown(tmp_path, suspended().to_json(), 1).state
    assert before is not None
    assert [one.status for one in before.pending or ()] == ["ready", "ready"]


def test_it_goes_on_from_its_file_once(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(suspended().to_json())
    claims = Claims(str(tmp_path))
    found = agent().resume(str(path)).claims(claims).approve("c2").run_sync(trace=str(tmp_path / "on.jsonl"))
    assert (found.status, found.output) == ("completed", "On its way.")
    copy = tmp_path / "copy.json"
    copy.write_text(json.dumps(json.loads(path.read_text()), indent=1, sort_keys=True))
    with pytest.raises(ResumeRefused, match="already_resumed"):
        agent().resume(str(copy)).claims(claims).approve("c2").run_sync()
    over = shown(tmp_path, found.run.to_json())
    assert (over.run.status, over.resume.reasons) == ("completed", ("terminal",))
    assert [(step.kind, step.status) for step in over.steps] == [
        *(("model", "done"), ("tools", "done")),
        ("model", "done"),
    ]


def test_what_the_user_said_meanwhile_is_a_step_for_a_resume_too(tmp_path: Path) -> None:
    control = Control()

    class Says(Hook):
        def on_tool_result(self, event: Any) -> None:
            control.steer("be brief")

    asks = Agent("refunds", ScriptedModel(ASKS[:1], ASKS[1:], "end"), tools=[look, refund], hooks=[Says()])
    run = asks.prompt("go").control(control).run_sync().run
    found = shown(tmp_path, run.to_json())
    assert [step.kind for step in found.steps] == ["model", "tools", "input", "model", "tools"]
    assert load(str(tmp_path / "run.json"), 5).link.step == 5


def test_a_call_that_was_skipped_has_its_answer_before_the_turn_is_taken_over(tmp_path: Path) -> None:
    run = AgentRun.start("go", id="r1")
    for event in BEGINNINGS["skipped"]:
        run.send(event)
    found = shown(tmp_path, run.to_json())
    assert found.state is not None
    assert [(one.name, one.status, one.result) for one in found.state.pending or ()] == [
        *(("nope", "answered", "no"), ("add", "ready", None)),
        ("nope", "waiting", None),
    ]


def the_same(pending: Pending) -> Pending:
    """What is under way in a process is something that may have happened in a file."""
    doubtful = pending.status in ("in_flight", "ambiguous")
    return replace(pending, status="ambiguous" if doubtful else pending.status, note=None)


@pytest.mark.parametrize("beginning", BEGINNINGS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(st.one_of(st.none(), EVENTS), max_size=12))
def test_every_state_is_what_the_runner_shows(beginning: str, tmp_path: Path, events: list[Any]) -> None:
    run = AgentRun.start("go", max_turns=3, id="r1")
    for event in (*BEGINNINGS[beginning], *events):
        try:
            if event is None:
                run.next()
            else:
                run.send(event)
        except (ProtocolViolation, RequestError, RunClosed, RunFailed):
            continue
    found, told = shown(tmp_path, run.to_json()), Shown(run.data, ()).state(0)
    assert found.state is not None
    assert list(found.state.messages or ()) == list(told.messages or ())
    assert list(map(the_same, found.state.pending or ())) == list(map(the_same, told.pending or ()))
    assert found.state.values == told.values
    assert found.run.status != "unknown"
    assert found.run.steps == load(str(tmp_path / "run.json")).step
    assert (found.run.status == "completed") == (run.data.phase.__struct_config__.tag == "finished")
    assert (found.run.status == "suspended") <= (not settled(run.slots) or bool(told.pending))
    assert not [problem for problem in found.problems if problem.severity == "error"]
    assert bool(found.resume.reasons) != found.resume.possible


@pytest.mark.parametrize("kind", ["max_turns", "model", "cancelled"])
def test_a_failed_run_says_why_and_goes_on_only_where_a_limit_can_be_raised(kind: str, tmp_path: Path) -> None:
    run = json.loads(suspended().to_json())
    run["phase"] = {"phase": "failed", "kind": kind, "message": "because\u001b[2J", "slots": run["phase"]["slots"]}
    found = shown(tmp_path, json.dumps(run))
    assert found.run.error is not None
    status = "cancelled" if kind == "cancelled" else "failed"
    assert (found.run.status, found.run.reason, found.run.error.message) == (status, kind, "because\\u001b[2J")
    assert found.resume.possible == (kind == "max_turns")
    assert found.state is not None
    assert len(found.state.pending or ()) == 2


def test_a_run_that_a_database_sorted_is_known_whatever_fills_its_head(tmp_path: Path) -> None:
    run = agent(*[[Call("look", {"order": str(at)})] for at in range(9)], "x" * 200_000).prompt("go").run_sync().run
    text = json.dumps(json.loads(run.to_json()), sort_keys=True, indent=1)
    reordered = json.dumps({"messages": run.to_json() and json.loads(run.to_json())["messages"]})[:-1]
    behind = {key: value for key, value in json.loads(run.to_json()).items() if key != "messages"}
    for one in (text, f"{reordered}, {json.dumps(behind)[1:]}"):
        assert len(shown(tmp_path, one).steps) == 19


def test_the_keys_are_those_of_a_run() -> None:
    assert set(RunData.__struct_fields__) == KEYS


@pytest.mark.parametrize("number", [2, "1", True, None])
def test_another_form_is_refused_by_its_number(number: Any, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"run\.json:1 byte \d+: an agent run of format"):
        shown(tmp_path, json.dumps(json.loads(suspended().to_json()) | {"format": number}))


def test_what_is_odd_is_told_with_its_place(tmp_path: Path) -> None:
    run = json.loads(suspended().to_json())
    run["messages"].append(17)
    found = shown(tmp_path, json.dumps(run | {"definition": {"tools": 3}, "phase": {"phase": "dancing"}}))
    told = "\n".join(f"{problem.where}: {problem.message}" for problem in found.problems)
    assert "is no message" in told
    assert "the unknown phase" in told
    assert "is damaged: Expected `array | null`, got `int` - at `$.tools`" in told
    assert (found.run.status, found.resume.possible) == ("unknown", False)
    assert found.definition.tools_known == "advertised"


def test_a_call_that_was_denied_says_why(tmp_path: Path) -> None:
    run = json.loads(suspended().to_json())
    first, _ = run["phase"]["slots"]
    first |= {"status": "denied", "question": "not that one", "result": None}
    found = shown(tmp_path, json.dumps(run))
    assert found.state is not None
    assert [(one.status, one.note) for one in found.state.pending or ()][:1] == [("denied", "not that one")]


def test_words_beside_results_are_a_message_of_their_own() -> None:
    parts = [{"type": "result", "call_id": "c1", "content": [{"type": "text", "text": "5"}]}]
    said = messages_of({"role": "user", "content": [*parts, {"type": "text", "text": "be brief"}]})
    assert [(message.role, message.text) for message in said] == [("tool", "5"), ("user", "be brief")]


def test_what_breaks_off_cannot_go_on(tmp_path: Path) -> None:
    found = shown(tmp_path, suspended().to_json()[:-1])
    assert found.run.status == "suspended"
    assert found.resume.reasons == ("value_unreadable",)


@pytest.mark.parametrize("whole", [True, False])
def test_any_damage(whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "WHOLE_LIMIT", document.WHOLE_LIMIT if whole else 0)
    text = suspended().to_json().encode()
    assert check(text, folder=tmp_path)
    opened, _ = fuzz(text, tmp_path, count=25, seconds=20)
    assert opened > 2
