"""Processes that resume the same run at once. Run by `test_contention`:

    python -m tests.store.contend FOLDER ROUNDS

In each round a run waits for an approval, and twenty processes have it go on at the same instant. A line of JSON says
what each of them was told, and what was done.
"""

import asyncio
import json
import os
import sys
from typing import Any

from inspector import Agent, Call, ExistingOwner, ScriptedModel, Started, open_store, tool
from inspector.store.store import Store

PROCESSES = 20


def agent(folder: str) -> Agent:
    """The program; what it does goes to a file."""

    @tool(needs_approval=True)
    async def pay(key: str) -> str:
        with open(os.path.join(folder, "paid"), "a") as file:
            file.write(f"{key}\n")
        await asyncio.sleep(0.02)  # so that others come while it is driven
        return f"paid {os.getpid()}"

    return Agent("till", ScriptedModel(lambda messages: said(messages[0].text, len(messages))), tools=[pay])


def said(key: str, length: int) -> Any:
    """What the model says."""
    return [Call("pay", {"key": key}, call_id="c1")] if length == 1 else "done"


def resume(folder: str, key: str) -> dict[str, Any]:
    """What one process is told."""
    store = open_store(os.path.join(folder, "runs.db"))
    try:
        outcome = agent(folder).resume(store, key).approve("c1").run_sync()
    finally:
        store.close()
    told: dict[str, Any] = {"pid": os.getpid(), "outcome": type(outcome).__name__, "status": outcome.status}
    if isinstance(outcome, ExistingOwner):
        told |= {"owner": outcome.pid, "host": outcome.host, "attempt": outcome.attempt}
    elif isinstance(outcome, Started):
        told |= {"attempt": outcome.attempt}
    return told


def child(folder: str, key: str, go: tuple[int, int], out: int) -> None:
    """Wait until all are told to go, and say what came of it."""
    os.close(go[1])
    os.read(go[0], 1)
    try:
        text = json.dumps(resume(folder, key))
    except BaseException as error:
        text = json.dumps({"pid": os.getpid(), "outcome": "error", "error": f"{type(error).__name__}: {error}"})
    os.write(out, text.encode())
    os._exit(0)


def once(folder: str, key: str) -> dict[str, Any]:
    """One round."""
    store = open_store(os.path.join(folder, "runs.db"))
    agent(folder).prompt(key).durable(store, key=key).run_sync()
    store.close()
    go, children = os.pipe(), []
    for _ in range(PROCESSES):
        result = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(folder, key, go, result[1])
        os.close(result[1])
        children.append((pid, result[0]))
    os.close(go[0])
    os.close(go[1])
    told = []
    for pid, out in children:
        with os.fdopen(out) as file:
            told.append(json.loads(file.read()))
        os.waitpid(pid, 0)
    return {"told": told, **after(folder, key)}


def after(folder: str, key: str) -> dict[str, Any]:
    """What there is in the end."""
    store: Store = open_store(os.path.join(folder, "runs.db"))
    row = store.read(key)
    with open(os.path.join(folder, "paid")) as file:
        paid = file.read().split().count(key)
    decisions = sum(line.startswith(b'{"record":"decision"') for line in store.journal(key))
    store.close()
    return {"paid": paid, "decisions": decisions, "row": [row.status, row.attempt, row.steps, row.claim is None]}


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        print(json.dumps(once(sys.argv[1], f"k{number}")), flush=True)
