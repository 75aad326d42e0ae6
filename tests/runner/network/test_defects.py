"""Defects that runners of dataflow networks have been found to have: each tried here by a network of its own."""

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, Network, ScriptedModel, actor, tool
from inspector.dataflow.codec import Codec
from inspector.resume.apps import load
from inspector.resume.jobs import open_job, resume
from inspector.runner import threads
from inspector.runner.errors import ResumeRefused

RAN: Counter[Any] = Counter()
FAILS: set[Any] = set()


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RAN.clear()
    FAILS.clear()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@actor
def counted(number: int) -> int:
    RAN[number] += 1
    if number in FAILS:
        raise ValueError(f"cracked at {number}")
    return number


@actor
def several(number: int) -> list[int]:
    return [number * 10 + 1, number * 10 + 2]


def twofold() -> Network:
    """The same actor at the top and inside of a loop, with tokens that tell the firings apart."""
    net = Network("twofold")
    first, items = net.add(counted), net.add(several)
    loop = net.loop(counted, name="each")
    net.connect(net.input("x"), first.number)
    net.connect(first.out, items.number)
    net.connect(items.out, loop["items"])
    net.connect(loop.out, net.output("y"))
    return net


@pytest.mark.parametrize("workers", [1, 3])
async def test_an_actor_at_the_top_and_in_a_loop_fires_no_more_than_once(tmp_path: Path, workers: int) -> None:
    path = str(tmp_path / "t")
    clean = await twofold().run({"x": [1, 2]}, trace=path, workers=workers)
    assert set(RAN.values()) == {1}
    assert len(RAN) == 6
    for step in range(clean.steps + 1):
        before = {
            consumed.tokens[0]
            for record in _steps(path)[:step]
            for consumed in record.consumed or ()
            if record.name in ("counted", "each/counted")
        }
        RAN.clear()
        again = await twofold().resume(path, step=step).accept("already_resumed").workers(workers).run()
        assert sorted(again.outputs["y"]) == sorted(clean.outputs["y"])
        assert set(RAN) == {1, 2, 11, 12, 21, 22} - before
        assert set(RAN.values()) <= {1}


def _steps(path: str) -> list[Any]:
    from inspector.formats import open_path

    run = open_path(path).open()
    list(run.index())
    return list(run.steps(1, len(run) + 1))


class Crate:
    def __init__(self, size: int) -> None:
        self.size = size


async def test_a_resume_that_cannot_read_a_token_has_not_taken_it(tmp_path: Path) -> None:
    readable = True

    def loaded(size: int) -> Crate:
        if not readable:
            raise ValueError("unknown crate")
        return Crate(size)

    @actor
    def pack(number: int) -> Crate:
        return Crate(number)

    @actor
    def unpack(crate: Crate) -> int:
        if crate.size in FAILS:
            raise ValueError("too heavy")
        return crate.size

    net = Network("crates", codecs=[Codec("crate", Crate, lambda crate: crate.size, loaded)])
    first, second = net.add(pack), net.add(unpack)
    net.connect(net.input("x"), first.number)
    net.connect(first.out, second.crate)
    net.connect(second.out, net.output("y"))
    FAILS.add(1)
    trace, other = str(tmp_path / "t"), tmp_path / "u"
    assert (await net.run({"x": [1, 2]}, trace=trace)).status == "failed"
    written, readable = Path(trace).read_bytes(), False
    with pytest.raises(ResumeRefused, match="value_unreadable"):
        await net.resume(trace).run(trace=str(other))
    assert (Path(trace).read_bytes(), other.exists()) == (written, False)
    FAILS.clear()
    readable = True
    assert (await net.resume(trace).run()).outputs == {"y": [1, 2]}


async def test_the_tools_of_an_agent_whose_firing_fails_do_not_run_again(tmp_path: Path) -> None:
    @tool
    def pay(amount: int) -> str:
        RAN["pay", amount] += 1
        return "paid"

    def said(messages: Any) -> Any:
        if len(messages) < 3:
            return [Call("pay", {"amount": 1}), Call("pay", {"amount": 2})]
        if "model" in FAILS:
            raise ValueError("no answer")
        return "done"

    net = Network("office")
    node = net.add(Agent("clerk", ScriptedModel(said), tools=[pay]))
    net.connect(net.input("x"), node.prompt)
    net.connect(node.answer, net.output("y"))
    FAILS.add("model")
    trace = str(tmp_path / "t")
    assert (await net.run({"x": ["pay"]}, trace=trace)).status == "failed"
    assert RAN == {("pay", 1): 1, ("pay", 2): 1}
    FAILS.clear()
    again = await net.resume(trace).accept("model_in_flight").run()
    assert (again.outputs, RAN) == ({"y": ["done"]}, {("pay", 1): 1, ("pay", 2): 1})


@pytest.mark.parametrize("workers", [1, 2])
async def test_no_firing_waits_for_a_clock(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    asleep, loop = asyncio.sleep, asyncio.get_running_loop()
    later = loop.call_at

    def call_at(when: float, *rest: Any, **options: Any) -> Any:
        waits.append(when - loop.time())
        return later(when, *rest, **options)

    async def sleep(delay: float, *rest: Any) -> Any:
        waits.extend([delay] if delay else [])
        return await asleep(delay, *rest)

    monkeypatch.setattr(loop, "call_at", call_at)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "sleep", waits.append)
    # Where the loop looks about by itself is a timer too; who waited for that would wait for longer than any test.
    monkeypatch.setattr(threads, "BEAT", 3600.0)
    result = await twofold().run({"x": list(range(20))}, workers=workers)
    assert (result.status, [wait for wait in waits if wait < 3000]) == ("completed", [])


def test_a_run_in_a_thread_of_a_program_leaves_the_program_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fix in a helper module is seen, and nothing is printed or set."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "bench_helper.py").write_text("def work(x):\n    raise ValueError('not yet')\n")
    (tmp_path / "bench.py").write_text(
        "import bench_helper\nfrom inspector import Network, actor\n\n\n@actor\ndef work(x: int) -> int:\n"
        "    return bench_helper.work(x)\n\n\nnet = Network('bench')\nnode = net.add(work)\n"
        "net.connect(net.input('x'), node.x)\nnet.connect(node.out, net.output('y'))\n"
    )
    trace, target = str(tmp_path / "t"), f"{tmp_path / 'bench.py'}:net"
    before, found = dict(os.environ), list[Any]()

    def first() -> None:
        found.append(load(target).value.run_sync({"x": [1]}, trace=trace))

    def second() -> None:
        found.append(resume(open_job(trace, load(target), trace=str(tmp_path / "u")), lambda event: None))

    for work in (first, second):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        (tmp_path / "bench_helper.py").write_text("def work(x):\n    return x + 1\n")
    assert [each.status for each in found] == ["failed", "completed"]
    assert found[1].output == {"y": [2]}
    assert (capsys.readouterr(), dict(os.environ)) == (("", ""), before)
