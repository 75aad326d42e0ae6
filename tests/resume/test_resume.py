"""What is the same for every driver: no driver, refusals, warnings, needs, the token, loading code."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector.errors import UsageError
from inspector.formats.memory import MemoryRun
from inspector.model.run import Definition, Resume, Run, SourceInfo, State
from inspector.resume import jobs as resuming
from inspector.resume.apps import App, load
from inspector.resume.jobs import Driver, Ended, Job, Need, Plan, Refusal, Refused, check, resume, warn
from inspector.resume.plan import Decisions, Reconciliation, read_decisions, split


def job(path: str = "run.json", **decisions: Any) -> Job:
    source = MemoryRun(
        source=SourceInfo(path=path, format="strange"),
        run=Run(id="r", kind="trace", status="completed", steps=0),
        definition=Definition(),
        steps=(),
        state=lambda step: State(step=step),
        resume=Resume(),
    )
    return Job(
        path=path,
        source=source,
        step=0,
        app=App(target="app:agent", value=object(), digest="d"),
        decisions=Decisions(**decisions),
    )


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A driver whose plan is what the test puts into the dict; it counts its resumes."""
    given: dict[str, Any] = {"plan": Plan(resumable=True, driver="fake", step=0), "resumed": 0}

    def run(job: Job, plan: Plan, emit: object) -> Ended:
        given["resumed"] += 1
        return Ended(run="r2", status="completed")

    fake = Driver(name="fake", drives=lambda source, run: True, plan=lambda job: given["plan"], resume=run)
    monkeypatch.setattr(resuming, "all_drivers", lambda: [fake])
    return given


def test_a_format_without_driver_is_refused_by_name() -> None:
    plan = check(job())
    assert not plan.resumable
    assert [refusal.code for refusal in plan.refusals] == ["not_resumable"]
    with pytest.raises(Refused) as caught:
        resume(job(), print)
    assert caught.value.exit_code == 3
    assert "not_resumable" in str(caught.value)


def test_a_refused_plan_runs_nothing(driver: dict[str, Any]) -> None:
    refusal = Refusal(code="tool_missing", subject="refund", detail="is gone")
    driver["plan"] = Plan(resumable=True, driver="fake", step=0, refusals=(refusal,))
    assert not check(job()).resumable
    with pytest.raises(Refused, match="refund: tool_missing: is gone"):
        resume(job(), print)
    assert driver["resumed"] == 0


def test_a_warning_must_be_accepted_by_its_code(driver: dict[str, Any]) -> None:
    driver["plan"] = Plan(
        resumable=True,
        driver="fake",
        step=0,
        warnings=(warn("runs_again", "c1", "may have happened"), warn("extra_tools", "x", "is new")),
    )
    with pytest.raises(Refused, match="runs_again"):
        resume(job(), print)
    assert resume(job(accept=frozenset({"runs_again", "side_effects"})), print).status == "completed"


def test_nothing_runs_while_a_need_is_open(driver: dict[str, Any]) -> None:
    need = Need(call_id="c1", name="refund", question="approve")
    driver["plan"] = Plan(resumable=True, driver="fake", step=0, needs=(need,))
    events: list[dict[str, Any]] = []
    ended = resume(job(), events.append)
    assert (ended.status, ended.reason, driver["resumed"]) == ("suspended", "approval", 0)
    assert [event["call_id"] for event in events] == ["c1"]
    assert resume(job(deny={"c1": None}), print).status == "completed"


def test_a_plan_is_bound_to_the_file(driver: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("1")
    agreed = check(job(str(path))).plan
    assert agreed == check(job(str(path))).plan
    path.write_text("12")
    with pytest.raises(Refused, match="plan_changed"):
        resume(job(str(path)), print, expected=agreed)
    changed = msgspec.structs.replace(job(str(path)), app=App(target="app:agent", value=1, digest="e"))
    assert check(changed).plan != check(job(str(path))).plan


@pytest.mark.parametrize(
    ("text", "found"),
    [("c1", ("c1", None)), ("c1=no, thanks", ("c1", "no, thanks")), ("a=b=c", ("a=b", "c")), ("x=1", ("x", "1"))],
)
def test_call_ids_may_hold_an_equals_sign(text: str, found: tuple[str, str | None]) -> None:
    assert split("--deny", text, ["c1", "a=b"]) == found


def test_decisions_of_the_command_line() -> None:
    options = {
        "approve": ["c1"],
        "deny": ["c2=too much"],
        "answer": ['q={"ok": true}'],
        "reconcile": ["c3=result:42", "c4=failure:gone", "c5=retry"],
        "accept": ["runs_again"],
    }
    found = read_decisions(options, ["c1", "c2"])
    assert found.approve == ("c1",)
    assert found.deny == {"c2": "too much"}
    assert found.answer == {"q": {"ok": True}}
    assert found.reconcile["c3"] == Reconciliation(how="result", value=42)
    assert found.reconcile["c4"] == Reconciliation(how="failure", value="gone")
    assert found.calls() == {"c1", "c2", "c3", "c4", "c5", "q"}


@pytest.mark.parametrize(
    "options",
    [
        {"answer": ["q=yes"]},
        {"answer": ["q"]},
        {"reconcile": ["c=perhaps"]},
        {"approve": ["c1"], "deny": ["c1=no"]},
        {"approve": ["=x"]},
    ],
)
def test_senseless_decisions_are_usage_errors(options: dict[str, list[str]]) -> None:
    with pytest.raises(UsageError):
        read_decisions(options, ["c1"])


def test_code_is_loaded_afresh_with_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "fresh_helper.py").write_text("word = 'one'\n")
    app = tmp_path / "fresh_app.py"
    app.write_text("import fresh_helper\nclass Holder:\n    word = fresh_helper.word\n")
    first = load(f"{app}:Holder.word")
    (tmp_path / "fresh_helper.py").write_text("word = 'another'\n")
    second = load(f"{app}:Holder.word")
    assert (first.value, second.value) == ("one", "another")
    assert first.digest != second.digest
    assert sys.modules["fresh_app"].__name__ == "fresh_app"


@pytest.mark.parametrize(
    ("code", "attribute", "said"),
    [
        ("x = 1\n", "y", "no attribute 'y'; there are x"),
        ("\nraise RuntimeError('boom')\n", "x", r"RuntimeError: boom \(broken_app.py:2\)"),
        ("def f(:\n", "f", r"SyntaxError: [a-z' ]+ \(broken_app.py:1\)$"),
        ("import no_such_module_here\n", "x", "there is no module 'no_such_module_here'"),
        ("import sys; sys.exit(0)\n", "x", "SystemExit"),
    ],
)
def test_code_that_cannot_be_loaded_is_named(tmp_path: Path, code: str, attribute: str, said: str) -> None:
    app = tmp_path / "broken_app.py"
    app.write_text(code)
    with pytest.raises(UsageError, match=said):
        load(f"{app}:{attribute}")


@pytest.mark.parametrize("target", ["agent", "app.py", ":x", "gone.py:agent", "no-name.py:agent"])
def test_senseless_targets(target: str) -> None:
    with pytest.raises(UsageError):
        load(target)
