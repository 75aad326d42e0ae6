"""Runs that are held, stepped, stopped and taken over from outside, at their boundaries."""

import queue
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector.errors import UsageError
from inspector.formats import open_path
from inspector.model.run import Step
from inspector.resume.apps import load
from inspector.resume.jobs import Job, check, open_job, resume
from inspector.resume.plan import Decisions, Ended
from inspector.resume.steering import Break, Steering, read_break
from inspector.runner.claims import Claims
from inspector.runner.drive import FENCE
from tests.resume.test_wfpy import flow as flow
from tests.resume.test_wfpy import job as wfpy_job
from tests.resume.test_wfpy import stopped

APPROVED = Decisions(approve=("c3",))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def agent_job(tmp_path: Path, **fields: Any) -> Job:
    path = shutil.copy("examples/refund-suspended.jsonl", tmp_path)
    job = open_job(str(path), load("examples/refund_agent.py:agent"), trace=str(tmp_path / "new.jsonl"))
    return msgspec.structs.replace(job, decisions=APPROVED, **fields)


def network_job(tmp_path: Path, **fields: Any) -> Job:
    path = shutil.copy("examples/review-failed.jsonl", tmp_path)
    job = open_job(str(path), load("examples/review_pipeline.py:net"), trace=str(tmp_path / "new.jsonl"))
    return msgspec.structs.replace(job, decisions=Decisions(accept=frozenset({"already_resumed"})), **fields)


class Held:
    """A run in its own thread; `next` waits until it is held or has ended."""

    def __init__(self, job: Job) -> None:
        self.told: queue.Queue[dict[str, Any]] = queue.Queue()
        self.events: list[dict[str, Any]] = []
        self.ended: Ended | BaseException | None = None
        self._job = job
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        control = self._job.control
        assert isinstance(control, Steering)
        try:
            self.ended = resume(self._job, control.heard(self.events.append))
        except BaseException as error:
            self.ended = error
        self.told.put({"event": "ended"})

    def next(self) -> dict[str, Any]:
        while (event := self.told.get(timeout=30))["event"] == "going":
            pass
        return event

    def result(self) -> Ended:
        assert self.next() == {"event": "ended"}
        assert isinstance(self.ended, Ended)
        return self.ended


@contextmanager
def held(make: Any, tmp_path: Path, *breaks: str, paused: bool = False) -> Iterator[tuple[Held, Steering]]:
    told: list[Held] = []
    steering = Steering(lambda event: told[0].told.put(event), [read_break(text) for text in breaks])
    if paused:
        steering.pause()
    told.append(Held(make(tmp_path, control=steering)))
    told[0].thread.start()
    yield told[0], steering
    told[0].thread.join(30)


def steps(path: Path) -> list[Step]:
    source = open_path(str(path)).open(None)
    for _ in source.index():
        pass
    return list(source.steps(1, len(source) + 1))


def test_step_by_step_and_on(tmp_path: Path) -> None:
    with held(agent_job, tmp_path, paused=True) as (run, steering):
        assert run.next() == {"event": "held", "before": "tool refund", "why": "paused"}
        assert steps(tmp_path / "new.jsonl") == [], "nothing has begun"
        steering.step()
        assert run.next()["before"].startswith("model")
        assert [step.name for step in steps(tmp_path / "new.jsonl")] == ["check_policy, refund"]
        steering.go()
        assert run.result().status == "completed"


def test_a_breakpoint_before_a_tool(tmp_path: Path) -> None:
    with held(agent_job, tmp_path, "tool:send_*") as (run, steering):
        assert run.next() == {"event": "held", "before": "tool send_email", "why": "breakpoint tool:send_*"}
        steering.go()
        assert run.result().output == "42.00 EUR are on their way."


def test_a_breakpoint_on_a_step_holds_before_what_follows(tmp_path: Path) -> None:
    with held(agent_job, tmp_path, "step:kind=model") as (run, steering):
        assert run.next()["before"] == "tool send_email"
        steering.go()
        assert run.result().status == "completed", "nothing follows the last one"


def test_a_run_that_is_stopped_while_it_is_held_goes_on_later_as_if_nothing_was(tmp_path: Path) -> None:
    with held(agent_job, tmp_path, "tool:send_email") as (run, steering):
        run.next()
        steering.stop()
        ended = run.result()
    assert ended.status in ("interrupted", "suspended")
    job = open_job(str(ended.trace), load("examples/refund_agent.py:agent"), trace=str(tmp_path / "third.jsonl"))
    assert check(job).needs == ()
    assert [work.name for work in check(job).runs] == ["send_email"]
    assert resume(job, lambda event: None).output == "42.00 EUR are on their way."


def test_a_network_is_held_before_a_node_and_loses_nothing_when_it_is_stopped_there(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    expected = resume(network_job(plain), lambda event: None)
    assert expected.status == "completed"
    with held(network_job, tmp_path, "node:gather") as (run, steering):
        assert run.next()["before"] == "node gather"
        steering.step()
        run.next()
        steering.stop()
        ended = run.result()
    assert ended.status in ("interrupted", "suspended")
    again = open_job(str(ended.trace), load("examples/review_pipeline.py:net"), trace=str(tmp_path / "third.jsonl"))
    done = resume(again, lambda event: None)
    assert done.output == expected.output
    assert ended.ran + done.ran == expected.ran


def test_a_run_of_wfpy_is_held_before_an_actor(flow: Path) -> None:
    path = stopped(flow)

    def make(_: Path, control: Steering) -> Job:
        return msgspec.structs.replace(wfpy_job(flow, path), control=control)

    with held(make, flow, "node:join") as (run, steering):
        assert run.next()["before"] == "node join"
        steering.go()
        while (event := run.next())["event"] == "held":
            assert event["before"] == "node join"
            steering.go()
        assert isinstance(run.ended, Ended)
        assert run.ended.status == "completed"


@pytest.mark.parametrize("make", [agent_job, network_job])
def test_a_run_that_is_taken_over_stops_at_its_next_boundary(make: Any, tmp_path: Path) -> None:
    with held(make, tmp_path, paused=True) as (run, steering):
        run.next()
        job = make(tmp_path / ".." / tmp_path.name)
        job = msgspec.structs.replace(job, trace=str(tmp_path / "taken.jsonl"))
        refused = check(job)
        assert [refusal.code for refusal in refused.refusals] == ["owned"]
        accept = frozenset({"already_resumed"})
        decided = msgspec.structs.replace(job.decisions, take_over="the host is going down", accept=accept)
        taken = msgspec.structs.replace(job, decisions=decided)
        assert check(taken).refusals == ()
        assert resume(taken, lambda event: None).status == "completed"
        steering.go()
        assert run.result().status in ("interrupted", "suspended")
        assert steering.taken_over
    written = (tmp_path / "taken.jsonl").read_text()
    assert '"what":"take over"' in written
    assert "the host is going down" in written
    assert Claims().holder(job.source.run().id or "") is None


SLOW = """
from inspector import Network, actor

@actor
def slow(n: int) -> int:
    return n

net = Network("slow")
node = net.add(slow)
net.connect(net.input("n"), node.n)
net.connect(node.out, net.output("o"))
"""


def killed_network(tmp_path: Path) -> Job:
    """A run of a network whose process ended in the middle of its second firing."""
    (tmp_path / "slow_app.py").write_text(SLOW)
    app = load(f"{tmp_path}/slow_app.py:net")
    path = tmp_path / "whole.jsonl"
    app.value.run_sync({"n": [1, 2, 3]}, trace=str(path))
    lines = path.read_text().splitlines(keepends=True)
    begun = [at for at, line in enumerate(lines) if '"id":"slow#2"' in line and '"status":"started"' in line]
    (tmp_path / "cut.jsonl").write_text("".join(lines[: begun[0] + 1]))
    return open_job(str(tmp_path / "cut.jsonl"), app, trace=str(tmp_path / "new.jsonl"))


def killed_agent(tmp_path: Path) -> Job:
    path = shutil.copy("examples/refund-killed.jsonl", tmp_path)
    return open_job(str(path), load("examples/refund_agent.py:agent"), trace=str(tmp_path / "new.jsonl"))


@pytest.mark.parametrize("make", [killed_agent, killed_network])
def test_what_is_under_way_where_a_run_is_taken_from_waits_for_a_word(make: Any, tmp_path: Path) -> None:
    job = make(tmp_path)
    assert resume(job, lambda event: None).trace == job.path, "nobody drives it, and nothing was decided"
    claims = Claims()
    held = claims.take(job.source.run().id)
    assert [refusal.code for refusal in check(job).refusals] == ["owned"]
    job = msgspec.structs.replace(job, decisions=Decisions(take_over="the host is going down"))
    ended = resume(job, lambda event: None)
    assert (ended.status, ended.reason) == ("suspended", "reconciliation")
    assert ended.trace == str(tmp_path / "new.jsonl")
    assert not claims.holds(held)


def test_a_run_of_wfpy_is_taken_over_and_says_so_beside_the_new_run(flow: Path) -> None:
    path = stopped(flow)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    claims, claimed = Claims(), f"wfpy:{path.resolve()}"
    claims.take(claimed)
    (flow / "taken").mkdir()
    again = wfpy_job(flow, path, trace=flow / "taken" / "second")
    assert [refusal.code for refusal in check(again).refusals] == ["owned"]
    accept = frozenset({*again.decisions.accept, "already_resumed"})
    decided = Decisions(accept=accept, take_over="the host goes down", why={"already_resumed": "it hangs"})
    taken = msgspec.structs.replace(again, decisions=decided)
    assert check(taken).refusals == ()
    assert resume(taken, lambda event: None).status == "completed"
    notes = [msgspec.json.decode(line) for line in (flow / "taken/second.decisions.jsonl").read_text().splitlines()]
    made = {(note["what"], note.get("subject")): note for note in notes}
    assert all("@" in note["who"] and note["at"] for note in notes)
    (over,) = [note for note in notes if note["what"] == "take over"]
    assert over["reason"] == "the host goes down"
    assert "process" in over["subject"]
    assert made["accept", "already_resumed"]["reason"] == "it hangs"
    assert made["resume", "first"]["value"]["step"] == 4
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
    assert len(open_path(str(flow / "taken")).rows()) == 1, "a folder of runs is one, whatever stands beside them"


def test_a_run_of_wfpy_that_is_taken_over_stops_before_its_next_actor(flow: Path) -> None:
    path = stopped(flow)
    claims, claimed = Claims(), f"wfpy:{path.resolve()}"
    events: list[dict[str, Any]] = []

    def hear(event: dict[str, Any]) -> None:
        events.append(event)
        holder = claims.holder(claimed)
        if event["event"] == "step" and holder is not None:
            claims.take(claimed, over=holder)
            time.sleep(FENCE * 1.5)  # looked up a few times a second at most

    ended = resume(wfpy_job(flow, path), hear)
    assert ended.status == "cancelled"
    assert [event["event"] for event in events].count("step") == 1


def test_what_was_accepted_is_written_down_with_who_and_why(tmp_path: Path) -> None:
    job = network_job(tmp_path)
    decided = msgspec.structs.replace(job.decisions, why={"already_resumed": "that one hangs"})
    assert resume(msgspec.structs.replace(job, decisions=decided), lambda event: None).status == "completed"
    written = [msgspec.json.decode(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    (decision,) = [record for record in written if record["record"] == "decision"]
    assert (decision["what"], decision["subject"]) == ("accept", "already_resumed")
    assert decision["reason"] == "that one hangs"
    assert "@" in decision["who"]


def test_decisions_are_written_down_with_who_and_why(tmp_path: Path) -> None:
    job = agent_job(tmp_path)
    decided = msgspec.structs.replace(job.decisions, why={"c3": "the customer called"})
    assert resume(msgspec.structs.replace(job, decisions=decided), lambda event: None).status == "completed"
    written = [msgspec.json.decode(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    (decision,) = [record for record in written if record["record"] == "decision"]
    assert decision["what"] == "approve"
    assert decision["reason"] == "the customer called"
    assert "@" in decision["who"]
    assert decision["at"]


@pytest.mark.parametrize(
    "text", ["tool:refund", "node:a/b*", "model:*", "step:status=failed", "step:seq>=40", "step:name!=x"]
)
def test_breakpoints_are_read_as_they_are_written(text: str) -> None:
    assert str(read_break(text)) == text


@pytest.mark.parametrize("text", ["", "refund", "tool:", "step:", "step:seq>=x", "step:mood=bad", "step:name>3"])
def test_what_is_no_breakpoint(text: str) -> None:
    with pytest.raises(UsageError, match="is no breakpoint"):
        read_break(text)


def test_conditions() -> None:
    step = {"event": "step", "seq": 40, "kind": "tools", "name": "refund", "status": "failed"}
    holding = ("step:seq>=40", "step:seq<=40", "step:seq>39", "step:seq<41", "step:name=ref*", "step:status!=done")
    assert all(read_break(text).after(step) for text in holding)
    assert not any(read_break(text).after(step) for text in ("step:seq>40", "step:kind=model", "tool:refund"))
    assert isinstance(read_break("tool:x"), Break)


@pytest.mark.parametrize(("begins", "within", "held"), [(0, {}, False), (3, {}, True), (3, {"within": "f1"}, False)])
def test_the_number_of_a_step_is_that_of_the_run_that_is_watched(begins: int, within: Any, held: bool) -> None:
    steering = Steering(lambda event: None, [read_break("step:seq>=5")])
    steering.begins = begins
    steering.heard(lambda event: None)({"event": "step", "seq": 2, "name": "refund", "status": "done", **within})
    assert steering.holds_before("tool", ["refund"]) == held
