"""What the network loop costs by itself, beside wfpy's on the same network.

    python -m tests.benchmarks.networkloop [--firings N] [--wfpy N] [--workers N]

A source and a row of actors that add one; a firing takes one token and puts one. Ours is measured without a
journal and with the journal on tmpfs, in bodies that block and in async ones, and with several workers; so is how long
a resume at the last step takes until it is over, beside reading the journal. wfpy is measured where it is installed,
on fewer firings, since each takes milliseconds; its folder is on tmpfs too. Times are of the processor: nothing here
waits, and others that use the machine do not count.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspector import Network, action, actor, emit
from tests.benchmarks.measure import row

STAGES = 9
TIMES = 3
"""The shortest of several runs, where there is a goal: what disturbs one only ever makes it longer."""
GOAL = 100
"""Microseconds a firing."""


@actor
def add_one(number: int) -> int:
    return number + 1


@actor
async def add_one_async(number: int) -> int:
    return number + 1


@actor
class Numbers:
    limit: int
    next: int = 0

    @action(guard=lambda self: self.next < self.limit)
    def give(self) -> object:
        self.next += 1
        return emit(out=self.next)


def watched(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What `work` returns, and how many seconds it took of the processor and by the clock."""
    used, clock = time.process_time(), time.perf_counter()
    done = work()
    return done, time.process_time() - used, time.perf_counter() - clock


def network(firings: int, body: Any) -> Network:
    """A source and STAGES actors, which fire `firings` times in all."""
    net = Network("row")
    port = net.add(Numbers(limit=firings // (STAGES + 1))).out  # type: ignore[call-arg]
    for _ in range(STAGES):
        node = net.add(body)
        net.connect(port, node.number)
        port = node.out
    net.connect(port, net.output("number"))
    return net


def ours(firings: int, body: Any, trace: str | None, workers: int = 1) -> float:
    """Microseconds a firing, with the journal in `trace`; it is kept."""
    net = network(firings, body)
    if trace is not None:
        Path(trace).unlink(missing_ok=True)
    result, taken, _ = watched(lambda: net.run_sync(workers=workers, trace=trace))
    assert (result.status, result.steps) == ("completed", firings), result
    return taken / firings * 1e6


def reading(trace: str) -> float:
    """Seconds that reading the lines of a journal takes."""
    return watched(lambda: sum(1 for _ in open(trace, "rb")))[1]


def resumed(firings: int, trace: str) -> float:
    """Seconds until a resume at the step before the last is over."""
    net = network(firings, add_one)
    result, taken, _ = watched(lambda: asyncio.run(net.resume(trace, step=firings - 1).accept("already_resumed").run()))
    assert (result.status, result.steps, result.replayed) == ("completed", 1, firings - 1), result
    return taken


def theirs(firings: int, folder: str) -> tuple[float, float]:
    """wfpy's microseconds a firing, of the processor and by the clock, with one worker and its journal."""
    from wfpy import Port, connect, guard, run, task, workflow
    from wfpy import action as step

    count = firings // (STAGES + 1)

    @task
    class Count:
        _next: int = 0

        class Ports:
            Out = Port[int](direction="out")

        @step(consumes={}, produces={"Out": 1})
        @guard(lambda self: self._next < count)
        def give(self):  # type: ignore[no-untyped-def]
            self._next += 1
            return {"Out": self._next}

    @task
    class AddOne:
        class Ports:
            In = Port[int](direction="in")
            Out = Port[int](direction="out")

        @step(consumes={"In": 1}, produces={"Out": 1})
        def add(self, number):  # type: ignore[no-untyped-def]
            return {"Out": number + 1}

    @workflow(outputs={"Number": int})
    def line():  # type: ignore[no-untyped-def]
        count_ = Count()
        one, two, three, four, five = AddOne(), AddOne(), AddOne(), AddOne(), AddOne()
        six, seven, eight, nine = AddOne(), AddOne(), AddOne(), AddOne()
        here = count_.Out
        for stage in (one, two, three, four, five, six, seven, eight, nine):
            connect(here, stage.In)
            here = stage.Out
        connect(here, "Number")

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        done, taken, clock = watched(lambda: run(line, out_dir=folder, max_workers=1))
    assert done["Number"] == [STAGES + number for number in range(1, count + 1)], done
    return taken / firings * 1e6, clock / firings * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.networkloop", description=__doc__.split("\n")[0])
    parser.add_argument("--firings", type=int, default=100_000, help="firings of ours (default: 100000)")
    parser.add_argument("--wfpy", type=int, default=1_000, help="firings of wfpy (default: 1000)")
    parser.add_argument("--workers", type=int, default=4, help="workers, where there are several (default: 4)")
    options = parser.parse_args()
    firings = options.firings // (STAGES + 1) * (STAGES + 1)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        os.environ.update(XDG_STATE_HOME=memory, XDG_DATA_HOME=memory)
        trace = os.path.join(memory, "row.jsonl")
        print(f"microseconds a firing, {firings} firings:")
        row("ours, no journal", f"{ours(firings, add_one, None):.0f}")
        for name, body in (("blocking bodies", add_one), ("async bodies", add_one_async)):
            value = min(ours(firings, body, trace) for _ in range(TIMES))
            row(f"ours, journal on tmpfs, {name}", f"{value:.0f}", f"goal {GOAL}", value < GOAL)
        for name, body in (("blocking bodies in threads", add_one), ("async bodies", add_one_async)):
            value = ours(firings, body, trace, options.workers)
            row(f"the same, {options.workers} workers, {name}", f"{value:.0f}")
        if importlib.util.find_spec("wfpy") is not None:
            used, clock = theirs(options.wfpy, memory)
            row(f"wfpy, {options.wfpy} firings", f"{used:.0f}", f"{clock:.0f} by the clock: it waits in between")
        print("resume at the last step:")
        for part in (firings // 10, firings):
            ours(part, add_one, trace)
            read, taken = reading(trace), resumed(part, trace)
            row(f"of {part} firings", f"{taken * 1000:.0f} ms", f"reading the journal {read * 1000:.0f} ms")


if __name__ == "__main__":
    main()
