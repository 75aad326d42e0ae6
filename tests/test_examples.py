"""The examples are what the programs beside them make, and they open."""

import importlib.util
from pathlib import Path
from types import ModuleType

from inspector.formats import open_path

FOLDER = Path(__file__).parent.parent / "examples"


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_trace_is_what_its_program_makes() -> None:
    made = program("make_trace")
    assert (FOLDER / "trace.json").read_text() == made.written(made.refunds())


def test_the_trace_has_something_to_step_through() -> None:
    run = open_path(str(FOLDER / "trace.json")).open()
    list(run.index())
    state = run.state(len(run))
    assert state is not None
    assert state.pending is not None
    assert (len(run), run.run().status, run.run().reason) == (15, "suspended", "approval")
    assert [row.status for row in state.pending] == ["answered", "waiting", "waiting", "ready"]
    assert [step.seq for step in run.steps(1, 16) if step.status == "failed"] == [4]
    assert run.problems() == []


def test_the_network_has_queues_to_look_at() -> None:
    run = open_path(str(FOLDER / "dataflow-trace.jsonl")).open()
    list(run.index())
    states = [run.state(seq) for seq in range(len(run) + 1)]
    assert (run.run().kind, run.run().status, len(run) > 20) == ("dataflow", "failed", True)
    assert all(state is not None and state.queues and state.actors for state in states)
    last = states[-1]
    assert last is not None
    assert sum(bool(queue.size) for queue in last.queues or ()) >= 3
    assert run.problems() == []


def test_the_clerk_in_the_network_waits_for_an_approval() -> None:
    run = open_path(str(FOLDER / "claims-waiting.jsonl")).open()
    list(run.index())
    state = run.state(len(run))
    assert state is not None
    assert (run.run().kind, run.run().status, run.run().reason) == ("dataflow", "suspended", "approval")
    assert [(item.name, item.status) for item in state.pending or ()] == [("pay", "waiting")]
    assert run.problems() == []


def test_the_rig_run_waits_for_its_tools() -> None:
    assert (FOLDER / "rig-pending.json").read_text(encoding="utf-8") == program("make_rig").written()
    run = open_path(str(FOLDER / "rig-pending.json")).open()
    state = run.state(len(run))
    assert state is not None
    assert (len(run), run.run().status, run.run().reason) == (4, "suspended", "tools")
    assert [row.status for row in state.pending or ()] == ["ready", "ready", "answered"]
    assert run.resume().possible
    assert run.problems() == []


def test_the_store_holds_a_run_of_each_kind(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes((FOLDER / "runs.db").read_bytes())
    runs = open_path(str(path))
    stand = {row.id: (row.status, row.reason) for row in runs.rows()}
    assert stand == {
        "order-A-17": ("completed", None),
        "order-A-17-late": ("suspended", "approval"),
        "order-A-17-again": ("interrupted", "lease_expired"),
    }
    run = runs.open("order-A-17-again")
    list(run.index())
    state = run.state(len(run))
    assert state is not None
    assert [item.name for item in state.pending or () if item.status == "ambiguous"] == ["refund"]
    assert [*runs.problems(), *run.problems()] == []
    runs.close()
