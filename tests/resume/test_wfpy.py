"""Runs of wfpy, made here with wfpy and resumed through it: from checkpoints, at firings, killed, torn, in chains."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector.errors import UsageError
from inspector.resume.apps import load
from inspector.resume.drivers.wfpy.running import DECISIONS
from inspector.resume.jobs import Ended, Job, Plan, Refused, check, open_job, resume
from inspector.resume.plan import Decisions

FLOW = """
import os
from pathlib import Path
from wfpy import Port, action, connect, guard, if_, loop, task, workflow

HERE = Path(__file__).resolve().parent


class Load:
    def __init__(self, name, tags):
        self.name, self.tags = name, tags


@task
class Pier:
    _n: int = 0
    class Ports:
        Car = Port[object](direction="out")
    @action(consumes={}, produces={"Car": 1})
    @guard(lambda self: self._n < 3)
    def board(self):
        print("noise on stdout")
        self._n += 1
        return Load(f"car{self._n}", {"red", "blue", "green", "tall"})


@task
class Boat:
    class Ports:
        Car = Port[object](direction="in")
        Out = Port[str](direction="out")
    @action(consumes={"Car": 1}, produces={"Out": 1})
    def cross(self, car):
        if (HERE / f"STOP-{car.name}").exists():
            raise RuntimeError(f"no way for {car.name}")
        return car.name + (HERE / "SALT").read_text().strip()


@task
class Join:
    class Ports:
        One = Port[str](direction="in")
        Out = Port[str](direction="out")
    @action(consumes={"One": 1}, produces={"Out": 1})
    def pair(self, one):
        return one.upper()


@workflow(inputs={"Car": object}, outputs={"Out": str})
def inner():
    boat = Boat()
    connect("Car", boat.Car)
    connect(boat.Out, "Out")


@workflow(outputs={"Out": str}, max_workers=1)
def ferry():
    pier = Pier()
    lane = inner()
    join = Join()
    connect(pier.Car, lane.Car)
    connect(lane.Out, join.One)
    connect(join.Out, "Out")


@task
class Walk:
    class Ports:
        N = Port[int](direction="in")
        Out = Port[str](direction="out")
    @action(consumes={"N": 1}, produces={"Out": 1})
    def walk(self, n):
        if (HERE / f"STOP-{n}").exists():
            raise RuntimeError(f"no way for {n}")
        return f"{n}" + (HERE / "SALT").read_text().strip()


@task
class Tally:
    class Ports:
        N = Port[int](direction="in")
        Out = Port[str](direction="out")
    @action(consumes={"N": 1}, produces={"Out": 1})
    def add(self, n, ctx):
        if (HERE / f"STOP-{n}").exists():
            raise RuntimeError(f"no way for {n}")
        ctx.set("agent.tally.sum", ctx.get("agent.tally.sum", 0) + n)
        return str(ctx.get("agent.tally.sum", 0))


@workflow(outputs={"Out": str}, max_workers=1)
def sums():
    each = loop([1, 2, 3])
    with each:
        tally = Tally()
        connect(each.item, tally.N)
        connect(tally.Out, "Out")


@workflow(outputs={"Out": str}, max_workers=1)
def rounds():
    each = loop([1, 2, 3])
    join = Join()
    with each:
        walk = Walk()
        connect(each.item, walk.N)
        connect(walk.Out, join.One)
    connect(join.Out, "Out")


@task
class Pair:
    class Ports:
        Left = Port[str](direction="in")
        Right = Port[str](direction="in")
        Out = Port[str](direction="out")
    @action(consumes={"Left": 1, "Right": 1}, produces={"Out": 1})
    def pair(self, left, right):
        return left + right


@workflow(outputs={"Out": str}, max_workers=4)
def wide():
    pier = Pier()
    left = Boat()
    right = inner()
    pair = Pair()
    connect(pier.Car, left.Car)
    connect(pier.Car, right.Car)
    connect(left.Out, pair.Left)
    connect(right.Out, pair.Right)
    connect(pair.Out, "Out")


@task
class Two:
    class Ports:
        Car = Port[object](direction="in")
        Out = Port[str](direction="out")
    @action(consumes={"Car": 2}, produces={"Out": 1})
    def both(self, one, other):
        return one.name + other.name


@workflow(outputs={"Out": str}, max_workers=1)
def twos():
    pier = Pier()
    two = Two()
    connect(pier.Car, two.Car)
    connect(two.Out, "Out")


@workflow(outputs={"Out": str}, max_workers=1)
def nested():
    each = loop([1, 2])
    join = Join()
    with each:
        choice = if_(True)
        with choice.then:
            walk = Walk()
            connect(each.item, walk.N)
            connect(walk.Out, join.One)
    connect(join.Out, "Out")


@workflow(outputs={"Out": str}, max_workers=1)
def other():
    pier = Pier()
    boat = Boat()
    connect(pier.Car, boat.Car)
    connect(boat.Out, "Out")
"""

ACCEPT = frozenset({"runs_again", "side_effects", "already_resumed"})


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the workflow; cars stop where there is a file STOP-<car>."""
    for name in ("DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    folder = tmp_path / "flow"
    folder.mkdir()
    (folder / "ferry_flow.py").write_text(FLOW)
    (folder / "SALT").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path])
    return folder


def made(flow: Path, name: str, **options: Any) -> Path:
    """A run that wfpy made by itself."""
    from wfpy import run

    app = load(f"{flow}/ferry_flow.py:{options.pop('workflow', 'ferry')}")
    try:
        run(app.value, out_dir=str(flow / "out"), run_id=name, **options)
    except Exception:
        assert (flow / "out" / name / "run.wf-checkpoint.json").exists()
    return flow / "out" / name


def stopped(flow: Path, name: str = "first") -> Path:
    """A run that failed in the nested workflow at the second car."""
    (flow / "STOP-car2").touch()
    found = made(flow, name)
    (flow / "STOP-car2").unlink()
    return found


def job(flow: Path, path: Path, step: int | None = None, *, app: str = "ferry", trace: Path | None = None) -> Job:
    found = open_job(
        str(path), load(f"{flow}/ferry_flow.py:{app}"), step=step, trace=str(trace) if trace is not None else None
    )
    return msgspec.structs.replace(found, decisions=Decisions(accept=ACCEPT))


def resumed(given: Job) -> tuple[Ended, list[dict[str, Any]]]:
    events: list[dict[str, Any]] = []
    ended = resume(given, events.append)
    assert events[0] == {"event": "run", "run": ended.run, "trace": ended.trace}
    return ended, events[1:]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def codes(plan: Plan) -> list[str]:
    return [refusal.code for refusal in plan.refusals]


def edit(flow: Path, old: str, new: str) -> None:
    path = flow / "ferry_flow.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_wfpy_is_imported_only_for_a_resume() -> None:
    code = "import sys; from inspector.resume.jobs import all_drivers; all_drivers(); print('wfpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_from_the_checkpoint_nothing_completed_runs_again(flow: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = stopped(flow)
    (flow / "SALT").write_text("!")
    before = files(flow / "out")
    plan = check(job(flow, path))
    assert plan.resumable
    assert plan.step == 4  # three boarded, one crossed
    assert plan.diff.same
    assert plan.runs[0].name == "lane/boat"
    capfd.readouterr()
    ended, events = resumed(job(flow, path))
    assert capfd.readouterr().out == ""
    assert ended.status == "completed"
    assert ended.output == {"Out": ["CAR1", "CAR2!", "CAR3!"]}
    assert sorted(event["name"] for event in events) == ["join", "join", "join", "lane/boat", "lane/boat"]
    assert (ended.replayed, ended.ran) == (4, 5)
    assert files(flow / "out") == before
    assert ended.resumed_from == "first"


@pytest.mark.parametrize("step", range(5))
def test_at_each_firing_what_was_before_is_replayed(flow: Path, step: int) -> None:
    path = stopped(flow)
    (flow / "SALT").write_text("!")
    ended, events = resumed(job(flow, path, step))
    assert ended.status == "completed"
    first = "CAR1" if step == 4 else "CAR1!"
    assert ended.output == {"Out": [first, "CAR2!", "CAR3!"]}
    if step < 4:
        assert [event["status"] for event in events].count("replayed") == step == ended.replayed
        assert ended.ran == 9 - step


@pytest.mark.parametrize("tail", ["", '{"actor": "pier", "fireCo'])
def test_a_killed_run_goes_on_behind_its_last_whole_line(flow: Path, tail: str) -> None:
    journal = (stopped(flow) / "run.wf-journal.jsonl").read_text()
    killed = flow / "out" / "killed"
    killed.mkdir()
    (killed / "run.wf-journal.jsonl").write_text(journal + tail)
    (flow / "SALT").write_text("!")
    plan = check(job(flow, killed))
    assert [warning.subject for warning in plan.warnings if warning.code == "side_effects" and warning.accept]
    ended, _ = resumed(job(flow, killed))
    assert ended.output == {"Out": ["CAR1", "CAR2!", "CAR3!"]}
    assert ended.replayed == 4


def test_a_run_whose_files_still_change_is_owned_until_somebody_says_why_it_is_not(flow: Path) -> None:
    journal = (stopped(flow) / "run.wf-journal.jsonl").read_text()
    killed = flow / "out" / "killed"
    killed.mkdir()
    (killed / "run.wf-journal.jsonl").write_text(journal)
    live = {"runId": "killed", "workflowName": "ferry", "running": True}
    (flow / "out" / "run.wf-viewer.live.json").write_text(json.dumps(live))
    given = job(flow, killed)
    assert given.source.run().status == "running"
    assert codes(check(given)) == ["owned"]
    assert check(given).refusals[0].remedy == "take_over"
    given = msgspec.structs.replace(given, decisions=Decisions(accept=ACCEPT, take_over="its host went down"))
    assert not codes(check(given))
    ended, _ = resumed(given)
    assert ended.status == "completed"
    assert ended.trace is not None
    decisions = [json.loads(line) for line in Path(ended.trace + DECISIONS).read_text().splitlines()]
    assert "its host went down" in str(decisions[0])


def test_sets_of_another_process_do_not_stop_the_replay(flow: Path) -> None:
    import hashlib

    path = made(flow, "whole") / "run.wf-journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    digests: dict[str, str] = {}

    def digest(token: Any) -> str:
        return hashlib.sha256(json.dumps([token], sort_keys=True).encode()).hexdigest()

    for line in lines[1:]:
        for _, tokens in line["produced"]:
            for token in tokens:
                if isinstance(token, dict):
                    old = digest(token)
                    token["state"]["tags"]["items"].sort(reverse=True)
                    digests[old] = digest(token)
        line["consumed"] = [[queue, count, digests.get(found, found)] for queue, count, found in line["consumed"]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (flow / "SALT").write_text("!")
    given = job(flow, path.parent, 5)
    assert "replay_may_stop" in [warning.code for warning in check(given).warnings]
    ended, events = resumed(given)
    assert ended.replayed == 5
    assert not [event for event in events if event["event"] == "replay_stopped"]
    assert ended.output == {"Out": ["CAR1", "CAR2", "CAR3!"]}


def test_a_chain_of_resumes_is_one_run(flow: Path) -> None:
    first = stopped(flow, "c1")
    (flow / "STOP-car3").touch()
    made(flow, "c2", resume_from=str(first))
    (flow / "STOP-car3").unlink()
    (flow / "SALT").write_text("!")
    for file in (flow / "out" / "c2").glob("run.wf-*.json"):
        file.unlink()  # as if it had been killed
    ended, _ = resumed(job(flow, flow / "out" / "c2"))
    assert ended.status == "completed"
    assert ended.replayed == 5
    assert ended.output == {"Out": ["CAR1", "CAR2", "CAR3!"]}
    (flow / "out" / "c1").rename(flow / "elsewhere")
    assert codes(check(job(flow, flow / "out" / "c2"))) == ["inputs_missing"]


def test_a_stop_leaves_a_checkpoint_to_go_on_from(flow: Path) -> None:
    path = stopped(flow)
    given = job(flow, path, trace=flow / "out" / "mine")

    def emit(event: dict[str, Any]) -> None:
        given.control.stop()

    ended = resume(given, emit)
    assert ended.status == "cancelled"
    assert ended.trace == str(flow / "out" / "mine")
    notes = [item.note for item in check(job(flow, flow / "out" / "mine")).runs]
    assert notes
    assert not [note for note in notes if note and "failed" in note], "wfpy names an actor, and none failed"
    again, _ = resumed(job(flow, flow / "out" / "mine"))
    assert again.status == "completed"
    assert again.output == {"Out": ["CAR1", "CAR2", "CAR3"]}
    with pytest.raises(UsageError, match="exists already"):
        resumed(job(flow, path, trace=flow / "out" / "mine"))


def test_a_changed_graph_is_refused_by_name(flow: Path) -> None:
    path = stopped(flow)
    edit(flow, "    join = Join()", "    join = Join()\n    extra = Join()\n    connect(lane.Out, extra.One)")
    plan = check(job(flow, path))
    assert codes(plan)[0] == "graph_changed"
    assert plan.refusals[0].subject == "extra"
    assert not plan.diff.same
    with pytest.raises(Refused):
        resumed(job(flow, path))


def test_a_nested_class_that_was_renamed_changes_the_graph(flow: Path) -> None:
    path = stopped(flow)
    edit(flow, "class Boat", "class Ship")
    edit(flow, "Boat()", "Ship()")
    assert set(codes(check(job(flow, path)))) == {"graph_changed"}


def test_a_token_class_that_is_gone_is_refused_before_anything_runs(flow: Path) -> None:
    path = stopped(flow)
    edit(flow, "Load", "Freight")
    for step in (None, 2):
        plan = check(job(flow, path, step))
        assert set(codes(plan)) == {"value_unreadable"}
        assert "Load" in plan.refusals[0].detail


@pytest.mark.parametrize("name", ["__wfpy_user_module__", "__main__"])
def test_values_saved_under_another_name_of_the_module(flow: Path, name: str) -> None:
    path = stopped(flow)
    for file in path.glob("run.wf-*.json*"):
        file.write_text(file.read_text().replace('"ferry_flow:Load"', f'"{name}:Load"'))
    main = sys.modules["__main__"]
    ended, _ = resumed(job(flow, path))
    assert ended.output == {"Out": ["CAR1", "CAR2", "CAR3"]}
    assert sys.modules["__main__"] is main
    assert sys.modules["ferry_flow"].Load.__module__ == "ferry_flow"


def test_what_cannot_be_resumed_says_why(flow: Path) -> None:
    path = stopped(flow)
    assert codes(check(job(flow, path, app="other"))) == ["other_run"]
    saved = path / "run.wf-checkpoint.json"
    text = saved.read_text()
    saved.write_text(text.replace('"resumable": true', '"resumable": false, "notResumable": ["x: a lock"]'))
    plan = check(job(flow, path))
    assert codes(plan) == ["not_resumable"]
    assert "a lock" in plan.refusals[0].detail
    saved.write_text(text.replace('"version": 1', '"version": 9', 1))
    assert codes(check(job(flow, path))) == ["version_unsupported"]
    assert codes(check(job(flow, made(flow, "whole")))) == ["terminal"]


def test_a_lost_line_bounds_the_steps(flow: Path) -> None:
    path = made(flow, "whole") / "run.wf-journal.jsonl"
    lines = path.read_text().splitlines()
    lines[4] = lines[4][:20]
    path.write_text("\n".join(lines) + "\n")
    assert codes(check(job(flow, path.parent, 5))) == ["step_not_resumable"]
    assert check(job(flow, path.parent, 2)).resumable


def test_what_happened_behind_the_step_must_be_accepted(flow: Path) -> None:
    path = made(flow, "whole")
    given = msgspec.structs.replace(job(flow, path, 3), decisions=Decisions())
    plan = check(given)
    assert {"runs_again", "side_effects"} <= {warning.code for warning in plan.warnings if warning.accept}
    assert {item.name for item in plan.runs_again} == {"lane/boat", "join"}
    with pytest.raises(Refused):
        resumed(given)


def test_two_connections_of_one_id_are_not_replayed(flow: Path) -> None:
    edit(
        flow, "    connect(pier.Car, boat.Car)\n", "    connect(pier.Car, boat.Car)\n    connect(pier.Car, boat.Car)\n"
    )
    path = made(flow, "twice", workflow="other")
    assert codes(check(job(flow, path, 2, app="other"))) == ["step_not_resumable"]


@pytest.mark.parametrize("step", [None, 1, 4])
def test_at_each_firing_of_a_loop(flow: Path, step: int | None) -> None:
    (flow / "STOP-3").touch()
    path = made(flow, "first", workflow="rounds")
    (flow / "STOP-3").unlink()
    (flow / "SALT").write_text("!")
    given = job(flow, path, step, app="rounds")
    names = [item.name for item in given.source.steps(1, 9)]
    ended, _ = resumed(given)
    walked = names[: given.step].count("walk")
    assert ended.output == {"Out": [str(n) if n <= walked else f"{n}!" for n in (1, 2, 3)]}
    assert ended.replayed == given.step


@pytest.mark.parametrize("step", [None, 1])
def test_the_shared_context_goes_on_as_it_was(flow: Path, step: int | None) -> None:
    (flow / "STOP-3").touch()
    path = made(flow, "first", workflow="sums")
    (flow / "STOP-3").unlink()
    given = job(flow, path, step, app="sums")
    told = [warning.code for warning in check(given).warnings]
    assert ("context_journal" in told) == (step is not None)
    assert resumed(given)[0].output == {"Out": ["0", "1", "3"]}


def test_a_checkpoint_with_more_than_the_journal_is_warned_of(flow: Path) -> None:
    """As after a firing that failed when half of its outputs were put."""
    path = stopped(flow)
    saved = path / "run.wf-checkpoint.json"
    document = json.loads(saved.read_text())
    document["plan"]["queues"][1]["tokens"].append("orphan")
    saved.write_text(json.dumps(document))
    plan = check(job(flow, path))
    assert plan.resumable
    assert "checkpoint_differs" in [warning.code for warning in plan.warnings]


def test_nothing_goes_into_the_runs_own_folder(flow: Path) -> None:
    path = stopped(flow)
    before = files(flow / "out")
    for name in ("new", "a.b"):
        with pytest.raises(UsageError):
            resumed(job(flow, path, trace=path / name))
    assert files(flow / "out") == before


@pytest.mark.parametrize("step", [4, 10])
def test_parallel_workers_replay_what_was_before_the_step(flow: Path, step: int) -> None:
    path = made(flow, "whole", workflow="wide")
    assert check(job(flow, path, step, app="wide")).resumable
    ended, events = resumed(job(flow, path, step, app="wide"))
    assert ended.replayed == step
    assert not [event for event in events if event["event"] == "replay_stopped"]
    # With several workers wfpy may come to rest while an actor could still fire; that is told.
    if not [event for event in events if event["event"] == "leftover"]:
        assert ended.ran == 12 - step
        assert ended.output == {"Out": ["car1car1", "car2car2", "car3car3"]}


def test_tokens_that_nobody_took_are_told(flow: Path) -> None:
    path = made(flow, "whole", workflow="twos")
    ended, events = resumed(job(flow, path, 2, app="twos"))
    assert (ended.status, ended.output) == ("completed", {"Out": ["car1car2"]}), events
    (left,) = [event for event in events if event["event"] == "leftover"]
    assert (left["queue"].endswith("two.Car"), left["count"], left["kind"]) == (True, 1, "unknown"), left


def test_an_if_in_a_loop_is_warned_of(flow: Path) -> None:
    path = made(flow, "first", workflow="nested")
    plan = check(job(flow, path, 1, app="nested"))
    assert "both_branches" in [warning.code for warning in plan.warnings]


def test_an_object_that_is_no_workflow_is_a_usage_error(flow: Path) -> None:
    path = stopped(flow)
    with pytest.raises(UsageError, match="workflow of wfpy"):
        check(job(flow, path, app="HERE"))
