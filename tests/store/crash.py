"""A process that drives a durable run and kills itself at a write of its store. Run by `test_crash`:

    python -m tests.store.crash FOLDER EVERY

The run makes two model calls and calls three tools, remembers a conversation and tells a sink of its events. For each
write (every EVERY-th), a child is forked from a process that has done nothing yet, and killed just before it or just
behind it. Then a fresh child has the run go on, as an operator would who looks what was done, and a line of JSON says
what came of it. Behind that, runs that were killed in the middle are killed once more, at each write of the process
that had them go on.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from inspector import Agent, Call, JsonLines, ScriptedModel, StoreMemory, ToolContext, tool
from inspector.runner.outcomes import ExistingOwner
from inspector.runner.restore import read_trace
from inspector.runner.toolstep import idempotency_key
from inspector.store.sqlite import SQLite
from inspector.store.store import Store
from tests.runner.crash import forked
from tests.runner.world import told

WRITES = (
    "create",
    "claim",
    "renew",
    "progress",
    "suspend",
    "commit",
    "finalize",
    "deliver",
    "acknowledge",
    "add_once",
)


class Deadly:
    """A backend that ends its process at write number `at` (from 0), before or behind it."""

    def __init__(self, backend: SQLite, at: int, behind: bool) -> None:
        self._backend, self.at, self.behind, self.count = backend, at, behind, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._backend, name)
        return partial(self._write, found) if name in WRITES else found

    def _write(self, write: Callable[..., Any], *given: Any, **named: Any) -> Any:
        deadly, self.count = self.count == self.at, self.count + 1
        if deadly and not self.behind:
            os.kill(os.getpid(), signal.SIGKILL)
        found = write(*given, **named)
        if deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return found


def agent(folder: str, store: Store) -> Agent:
    """The program, whose effects go to a file that outlives the process."""

    def note(line: str) -> None:
        with open(os.path.join(folder, "effects"), "a") as file:
            file.write(line + "\n")

    @tool(idempotency="supported")
    async def look(order: str, context: ToolContext) -> str:
        note(f"look {context.idempotency_key}")
        return f"order {order}"

    @tool
    async def pay(order: str, context: ToolContext) -> str:
        note(f"pay {context.idempotency_key}")
        return f"paid {order}"

    @tool(idempotency="unsupported")
    async def mail(order: str, context: ToolContext) -> str:
        note(f"mail {context.idempotency_key}")
        return f"told {order}"

    calls = [Call(name, {"order": "A"}) for name in ("look", "pay", "mail")]
    return Agent("shop", ScriptedModel(calls, "done"), tools=[look, pay, mail], memory=StoreMemory(store))


def effects(folder: str) -> list[str]:
    """What was done, in all processes."""
    path = os.path.join(folder, "effects")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().splitlines()


def opened(folder: str, at: int = -1, behind: bool = False) -> tuple[Store, Deadly]:
    """The store, with a backend that is deadly at a write."""
    backend = Deadly(SQLite(os.path.join(folder, "runs.db")), at, behind)
    return Store(backend), backend  # type: ignore[arg-type]


def sink(folder: str) -> JsonLines:
    """Where the events go."""
    return JsonLines(os.path.join(folder, "events.jsonl"))


async def first(folder: str, at: int, behind: bool) -> None:
    """The process that dies."""
    store, backend = opened(folder, at, behind)
    asked = agent(folder, store).prompt("go").conversation("talk").id("run")
    await asked.durable(store, key="k", sink=sink(folder)).run()
    print(json.dumps({"writes": backend.count}))


async def rest(folder: str, at: int = -1, behind: bool = False) -> dict[str, Any]:
    """The processes after it, until the run is over; deadly too, where that is asked for."""
    store, _ = opened(folder, at, behind)
    processes = 0
    while True:
        processes += 1
        if store.backend.read("k") is None:
            # It was killed before it was in the store: whoever began it begins it again.
            begun = agent(folder, store).prompt("go").conversation("talk").id("run")
            await begun.durable(store, key="k", sink=sink(folder)).run()
            break
        asked = agent(folder, store).resume(store, "k").sink(sink(folder))
        if not store.read("k").final:
            decide(asked, folder, store)
        outcome = await asked.run()
        assert not isinstance(outcome, ExistingOwner), outcome
        assert processes < 5, outcome
        if store.read("k").final:
            break
    return {"processes": processes, **standing(folder, store)}


def decide(asked: Any, folder: str, store: Store) -> None:
    """What somebody decides who looks whether it was done."""
    saved = read_trace("k", b"".join(store.journal("k")), None)
    done = {line.split(" ", 1)[1] for line in effects(folder)}
    if saved.model_in_flight:
        asked.reconcile("model", "retry")
    for slot in saved.run.slots:
        if slot.status == "started" and slot.call.name != "look":
            words = {"pay": "paid A", "mail": "told A"}
            if idempotency_key("run", slot.call, slot.effective) in done:
                asked.reconcile(slot.call.internal_id, "result", words[slot.call.name])
            else:
                asked.reconcile(slot.call.internal_id, "retry")


def standing(folder: str, store: Store) -> dict[str, Any]:
    """All that there is in the end."""
    row = store.read("k")
    saved = read_trace("k", b"".join(store.journal("k")), None)
    with open(os.path.join(folder, "events.jsonl")) as file:
        delivered = [json.loads(line) for line in file]
    steps = [json.loads(line)["step"] for line in store.journal("k") if line.startswith(b'{"record":"step"')]
    return {
        "row": [row.status, row.reason, row.steps, row.final, row.acknowledged, row.claim is None],
        "attempt": row.attempt,
        "told": told(saved.run),
        "steps": [[step[name] for name in ("seq", "kind", "name", "status", "summary")] for step in steps],
        "effects": effects(folder),
        "session": list(store.session("talk")),
        "events": [[event["id"], event["event"]] for event in delivered],
        "pending": len(store.backend.events("k", pending_only=True)),
    }


def _first(*given: Any) -> None:
    asyncio.run(first(*given))


def _rest(*given: Any) -> None:
    print(json.dumps(asyncio.run(rest(*given))))


def main(folder: str, every: int) -> None:
    """Every place of the first process, and of a second one behind each kind of end of the first."""
    writes = once(folder, every)
    for place in range(writes // 3, writes, max(writes // 3, 1)):
        twice(folder, place, every)


def twice(folder: str, place: int, every: int) -> None:
    """The first process is killed at one place, and the second one at every place, until one lives through."""
    at = 0
    while True:
        for behind in (False, True):
            inner = os.path.join(folder, f"{place}-{at}-{behind}")
            os.makedirs(inner)
            os.environ["XDG_STATE_HOME"] = inner  # each is a host of its own
            forked(partial(_first, inner, place, True))
            status, text = forked(partial(_rest, inner, at, behind))
            if status == 0:
                return
            assert os.WTERMSIG(status) == signal.SIGKILL, (place, at, status)
            status, text = forked(partial(_rest, inner))
            assert status == 0, f"the resume after kills at {place} and {at} (behind {behind}) ended with {status}"
            print(json.dumps({"at": at, "behind": behind, "second": place, **json.loads(text)}), flush=True)
        at += every


def once(folder: str, every: int) -> int:
    """Every place, one after another, until a child lives through; how many writes that made."""
    at = 0
    while True:
        for behind in (False, True):
            inner = os.path.join(folder, f"{at}-{behind}")
            os.makedirs(inner)
            os.environ["XDG_STATE_HOME"] = inner  # each is a host of its own
            status, text = forked(partial(_first, inner, at, behind))
            if status == 0:
                _, told = forked(partial(_rest, inner))
                print(json.dumps({"clean": json.loads(told), **json.loads(text)}), flush=True)
                return int(json.loads(text)["writes"])
            assert os.WTERMSIG(status) == signal.SIGKILL, (at, status)
            status, text = forked(partial(_rest, inner))
            assert status == 0, f"the resume after a kill at write {at} (behind {behind}) ended with {status}"
            print(json.dumps({"at": at, "behind": behind, **json.loads(text)}), flush=True)
        at += every


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
