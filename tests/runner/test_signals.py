"""Real signals at real processes: the first stops at a boundary, the second gives up, also what blocks the loop."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, ModelError, Retries, ScriptedModel
from inspector.formats import open_path
from inspector.runner.drive import Control
from inspector.runner.signals import run

PROGRAM = """
import sys, time
from inspector import Agent, Call, ModelError, Network, Retries, ScriptedModel, actor, tool

def stand():
    print("standing", flush=True)
    time.sleep(600)

@actor
def stuck(number: int) -> int:
    stand()

@actor
async def stuck_async(number: int) -> int:
    stand()

@actor
def quick(number: int) -> int:
    if number == 3:
        print("standing", flush=True)
        sys.stdin.readline()
    return number

@tool
def stuck_tool(number: int) -> str:
    stand()

def busy(messages):
    print("standing", flush=True)
    raise ModelError("busy", "rate_limited", "later", retry=True)

clerk = Agent("clerk", ScriptedModel(busy), retries=Retries(first=3600, cap=3600))

def line(body):
    net = Network("line")
    node = net.add(body)
    net.connect(net.input("x"), node[next(iter(node._inputs))])
    net.connect(node[next(iter(node._outputs))], net.output("y"))
    return net

nets = {
    "inline": line(stuck), "thread": line(stuck), "async": line(stuck_async), "quick": line(quick), "busy": line(clerk),
    "agent": line(Agent("clerk", ScriptedModel([Call("stuck_tool", {"number": 1})], "done"), tools=[stuck_tool])),
}
for name, net in nets.items():
    globals()[name] = net
if __name__ == "__main__":
    which, trace = sys.argv[1:]
    result = nets[which].run_sync({"x": [1, 2, 3, 4]}, trace=trace, workers=2 if which == "thread" else 1)
    print(result.status)
"""


class Running:
    """The program, as far as it has come to where it stands."""

    def __init__(self, folder: Path, which: str, grace: str) -> None:
        (folder / "program.py").write_text(PROGRAM)
        self.trace = str(folder / "t.jsonl")
        environment = {**os.environ, "RUNINSPECT_GRACE": grace, "XDG_STATE_HOME": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, str(folder / "program.py"), which, self.trace],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "standing\n"

    def ended(self, enter: str = "") -> int:
        self.process.communicate(enter, timeout=60)
        return self.process.returncode

    def records(self, kind: str) -> list[dict[str, Any]]:
        with open(self.trace) as file:
            return [value for line in file if (value := json.loads(line))["record"] == kind]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    made: list[Running] = []

    def begin(which: str, grace: str = "600") -> Running:
        made.append(Running(tmp_path, which, grace))
        return made[-1]

    yield begin
    for running in made:
        running.process.kill()
        running.process.communicate()


def statuses(running: Running) -> list[str]:
    run = open_path(running.trace).open()
    list(run.index())
    state = run.state(len(run))
    assert state is not None
    return [item.status for item in state.pending or ()]


def test_a_signal_wakes_the_loop_whenever_it_comes() -> None:
    async def going() -> bool:
        fd = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(fd)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.sleep(0)
        return fd >= 0

    before = signal.set_wakeup_fd(-1)
    assert run(going(), Control())
    assert signal.set_wakeup_fd(before) == -1


@pytest.mark.parametrize("which", ["inline", "thread", "agent"])
def test_a_second_interrupt_gives_up_what_blocks(which: str, start: Any) -> None:
    running = start(which)
    running.process.send_signal(signal.SIGINT)
    running.process.send_signal(signal.SIGTERM)
    assert running.ended() == 143
    assert running.records("end")[-1]["status"] == "interrupted"
    assert "ambiguous" in statuses(running)


@pytest.mark.parametrize("which", ["inline", "thread"])
def test_behind_a_sigterm_it_is_given_up_when_the_grace_is_over(which: str, start: Any) -> None:
    running = start(which, grace="0.2")
    running.process.send_signal(signal.SIGTERM)
    assert running.ended() == 143
    assert running.records("end")[-1]["status"] == "interrupted"
    assert "ambiguous" in statuses(running)


def test_what_blocks_the_loop_in_an_async_body_ends_too(start: Any) -> None:
    running = start("async", grace="0.2")
    running.process.send_signal(signal.SIGTERM)
    assert running.ended() != 0
    assert "ambiguous" in statuses(running)


def test_a_checkpoint_is_written_on_request(start: Any) -> None:
    running = start("quick")
    running.process.send_signal(signal.SIGUSR1)
    assert running.ended("\n") == 0
    assert [(line["seq"], line["reason"]) for line in running.records("checkpoint")] == [
        (0, "start"),
        (3, "request"),
        (4, "completed"),
    ]


def ended_between_two_tries(trace: str) -> bool:
    run = open_path(trace).open()
    list(run.index())
    found = run.run()
    pending = getattr(run.state(len(run)), "pending", None) or ()
    return (found.status, found.reason) == ("interrupted", "stopped") and all(
        item.status not in ("in_flight", "ambiguous") for item in pending
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_between_two_tries_of_a_model_a_signal_is_heard_at_once(number: signal.Signals, start: Any) -> None:
    running = start("busy")
    running.process.send_signal(number)
    assert running.ended() == (143 if number == signal.SIGTERM else -signal.SIGINT)
    assert ended_between_two_tries(running.trace)


@pytest.mark.parametrize("how", ["stop", "take over"])
async def test_between_two_tries_a_stop_from_anywhere_is_heard_at_once(how: str, tmp_path: Path) -> None:
    control, mine = Control(), [True]
    control.fence(lambda: mine[0])

    def stop() -> None:
        control.stop() if how == "stop" else mine.clear() or mine.append(False)

    def busy(messages: Any) -> Any:
        threading.Timer(0.01, stop).start()
        raise ModelError("busy", "rate_limited", "later", retry=True)

    trace = str(tmp_path / "t.jsonl")
    agent = Agent("clerk", ScriptedModel(busy), retries=Retries(first=3600, cap=3600))
    result = await agent.prompt("go").control(control).run(trace=trace)
    assert (result.status, result.reason, result.run.data.turn) == ("interrupted", "stopped", 0)
    assert ended_between_two_tries(trace)
    done = await Agent("clerk", ScriptedModel("done")).resume(trace).run()
    assert (done.status, done.output) == ("completed", "done")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_waits_for_a_boundary(number: signal.Signals, start: Any, tmp_path: Path) -> None:
    running = start("quick")
    running.process.send_signal(number)
    assert running.ended("\n") == (143 if number == signal.SIGTERM else -signal.SIGINT)
    assert [step["step"]["seq"] for step in running.records("step")] == [1, 2, 3]
    assert running.records("checkpoint")[-1]["seq"] == 3
    assert running.records("end")[-1]["status"] == "interrupted"
    done = subprocess.run(
        [sys.executable, "-m", "inspector", "resume", running.trace, "--app", f"{tmp_path}/program.py:quick", "--json"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["status"], last["output"], last["ran"]) == ("completed", {"y": [1, 2, 3, 4]}, 1)


@pytest.mark.parametrize("which", ["inline", "thread", "agent"])
def test_the_command_ends_with_a_result_when_the_run_is_given_up(which: str, tmp_path: Path) -> None:
    """A script reads the last line, however the run ended; and what it names can be resumed."""
    program, trace = tmp_path / "program.py", str(tmp_path / "t.jsonl")
    program.write_text(PROGRAM)
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    options = ["--input", '{"x": [1, 2]}', "--trace", trace, "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "inspector", "run", f"{program}:{which}", *options],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.readline() == "standing\n"
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    events = [json.loads(line) for line in out.splitlines()]
    run = next(event["run"] for event in events if event["event"] == "run")
    result = {key: events[-1][key] for key in ("event", "run", "status", "reason", "output", "trace", "ran")}
    assert process.returncode == 130
    assert result == {
        "event": "result", "run": run, "status": "interrupted", "reason": "cancelled",
        "output": None, "trace": trace, "ran": 0,
    }  # fmt: skip
    end = open_path(trace).open().run()
    assert (end.id, end.status, end.reason) == (run, "interrupted", "cancelled")
