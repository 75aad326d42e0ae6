"""A process that runs a network and kills itself at a write of its journal, then resumes it. Run by `test_crash`:

    python -m tests.runner.network.crash FOLDER WORKERS

For each write a child is forked from a process that has done nothing yet. It is killed just before the write, or in
the middle of it. Other children go on from the file, killed in turn at a write of their own, until one lives through;
a line of JSON says what came of it.
"""

import asyncio
import json
import os
import random
import signal
import sys
from functools import partial
from typing import Any

import msgspec

from inspector import Agent, Call, Network, ScriptedModel, ToolContext, actor, emit, tool
from inspector.errors import UnreadableError
from inspector.formats.reader import readers
from inspector.resume.apps import App
from inspector.resume.jobs import Refused, all_drivers, check, open_job
from inspector.resume.plan import Decisions
from inspector.runner.errors import ResumeRefused
from tests.runner.crash import Deadly, forked

PAPERS = [3, 2]
APP = "tests.runner.network.crash:net"


def note(what: str) -> None:
    """Write an effect where it outlives the process."""
    fd = os.open(os.path.join(os.environ["CRASH"], "effects"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, f"{what}\n".encode())
    os.close(fd)


def effects() -> list[str]:
    """What was done, in all processes."""
    try:
        with open(os.path.join(os.environ["CRASH"], "effects")) as file:
            return file.read().split("\n")[:-1]
    except FileNotFoundError:
        return []


@actor(outputs=("items", "prompt", "sum"), idempotency="supported")
def split(paper: int) -> Any:
    return emit(items=list(range(paper)), prompt=f"paper {paper}", sum=paper)


@actor
def effect(number: int, context: Any) -> int:
    note(context.firing_id)
    return number * 10


@actor(idempotency="supported")
async def harmless(number: int, context: Any) -> int:
    note(f"again {context.idempotency_key}")
    await asyncio.sleep(0)
    return number + 1


@actor(idempotency="supported")
class Gather:
    total: int = 0

    def fire(self, number: int) -> int:
        self.total += number
        return self.total


@actor(idempotency="supported")
def join(answer: str, paper: int) -> str:
    return f"{answer} of {paper}"


@tool
def pay(amount: int, context: ToolContext) -> str:
    note(f"pay {context.run_id.partition('/')[2]} {context.call_id}")
    return f"paid {amount}"


@tool(idempotency="supported")
def look(place: str) -> str:
    note(f"again look {place}")
    return place


def build() -> Network:
    """A fan-out, a nested network in a loop, an agent with tools, and a join."""
    body = Network("body")
    first, second = body.add(effect), body.add(harmless)
    body.connect(body.input("number"), first.number)
    body.connect(first.out, second.number)
    body.connect(second.out, body.output("number"))
    clerk = Agent(
        "clerk",
        ScriptedModel(
            [Call("pay", {"amount": 5}), Call("look", {"place": "sea"})], [Call("pay", {"amount": 6})], "fine"
        ),
        tools=[pay, look],
    )
    net = Network("crash")
    splitting, looping, gathering = net.add(split), net.loop(body), net.add(Gather())
    asking, joining = net.add(clerk), net.add(join)
    net.connect(net.input("paper"), splitting.paper)
    net.connect(splitting["items"], looping["items"])
    net.connect(looping.number, gathering.number)
    net.connect(gathering.out, net.output("totals"))
    net.connect(splitting.prompt, asking.prompt)
    net.connect(asking.answer, joining.answer)
    net.connect(splitting.sum, joining.paper)
    net.connect(joining.out, net.output("answers"))
    return net


net = build()


def first(workers: int, at: int, torn: bool) -> None:
    """The leg that dies."""
    journal = Deadly(os.path.join(os.environ["CRASH"], "0.jsonl"), at, torn)
    result = asyncio.run(net.run({"paper": PAPERS}, journal=journal, workers=workers, id="run"))
    print(json.dumps({"status": result.status, "writes": journal.count, "outputs": result.outputs}))


def decisions(job: Any, plan: Any) -> dict[str, tuple[str, Any]]:
    """What somebody who looks at the effects says of what may have happened."""
    state, done = job.source.state(job.step), effects()
    arguments = {item.call_id: item.arguments for item in (state.pending or ()) if item.kind == "firing"}
    found: dict[str, tuple[str, Any]] = {}
    for need in plan.needs:
        if need.name.endswith("effect"):
            happened = need.call_id in done
            number = arguments[need.call_id]["number"]
            found[need.call_id] = ("result", number * 10) if happened else ("retry", None)
        else:
            firings = {line.split()[1] for line in done if line.startswith("pay ")}
            inside = max(firings, default="", key=lambda name: name.rpartition("#")[2])
            amount = {"c1": 5, "c3": 6}[need.call_id]
            fresh = _fired(state) + 1
            happened = inside == f"clerk#{fresh}" and f"pay {inside} {need.call_id}" in done
            found[need.call_id] = ("result", f"paid {amount}") if happened else ("retry", None)
    return found


def _fired(state: Any) -> int:
    return next(item.fire_count for item in state.actors if item.id == "clerk")


def second(workers: int, leg: int, at: int) -> None:
    """A leg that goes on from the file of the one before, and may die in turn."""
    folder = os.environ["CRASH"]
    source = os.path.join(folder, f"{leg - 1}.jsonl")
    try:
        job = open_job(source, App(target=APP, value=net, digest="d"))
        job = msgspec.structs.replace(job, decisions=Decisions(accept=frozenset({"model_in_flight"})))
        plan = check(job)
    except (UnreadableError, ResumeRefused, Refused) as error:
        print(json.dumps({"status": "nothing", "why": str(error)}))
        return
    if plan.refusals:
        print(json.dumps({"status": "nothing", "why": plan.refusals[0].detail}))
        return
    asked = net.resume(source).workers(workers).accept("model_in_flight")
    for call, (how, value) in decisions(job, plan).items():
        asked.reconcile(call, how, value)
    journal = Deadly(os.path.join(folder, f"{leg}.jsonl"), at, torn=False)
    result = asyncio.run(asked.run(journal=journal))
    error = result.error.message if result.error is not None else None
    print(json.dumps({"status": result.status, "outputs": result.outputs, "error": error, "reason": result.reason}))


def main(folder: str, workers: int) -> None:
    """Every place, one after another, until a child lives through."""
    rng = random.Random(workers)
    every = 1 if "RUNINSPECT_FUZZ" in os.environ else 16
    all_drivers(), readers()  # loaded once, not in each child
    at = rng.randrange(every)
    while True:
        torn = rng.random() < 0.3
        inner = os.path.join(folder, f"{at}-{torn}")
        os.makedirs(inner)
        os.environ.update(CRASH=inner, XDG_STATE_HOME=inner, XDG_DATA_HOME=inner)
        status, text = forked(partial(first, workers, at, torn))
        if status == 0:
            print(json.dumps({"clean": json.loads(text), "effects": effects()}))
            return
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        for leg in range(1, 9):
            again = rng.randrange(4, 60) if leg < 3 else -1
            status, text = forked(partial(second, workers, leg, again))
            if status == 0:
                break
            assert os.WTERMSIG(status) == signal.SIGKILL, f"leg {leg} after a kill at write {at} ended with {status}"
        print(json.dumps({"at": at, "torn": torn, "legs": leg, "effects": effects(), **json.loads(text)}), flush=True)
        at += 1 + rng.randrange(every)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
