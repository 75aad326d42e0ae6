"""A process that runs a network in a store and kills itself at a write, then goes on there. Run by `test_crash`:

    python -m tests.store.crash_network FOLDER

Places are sampled. For each a child is forked from a process that has done nothing yet; it is killed before the write
or behind it. Other children go on in the store, the first of them killed in turn, until one lives through; a line of
JSON says what came of it.
"""

import asyncio
import json
import os
import random
import signal
import sys
from functools import partial

import msgspec

from inspector.formats.reader import readers
from inspector.resume.apps import App
from inspector.resume.jobs import all_drivers, check, open_job
from inspector.resume.plan import Decisions
from inspector.runner.outcomes import Started
from tests.runner.crash import forked
from tests.runner.network.crash import APP, PAPERS, decisions, effects, net
from tests.store.crash import opened

ACCEPTED = frozenset({"model_in_flight"})


def first(at: int, behind: bool) -> None:
    """The process that dies."""
    store, backend = opened(os.environ["CRASH"], at, behind)
    result = asyncio.run(net.run({"paper": PAPERS}, store=store, key="k", id="run"))
    print(json.dumps({"writes": backend.count, **standing(result.outputs)}))


def second(at: int, behind: bool) -> None:
    """One that goes on, and may die in turn."""
    store, _ = opened(os.environ["CRASH"], at, behind)
    row = store.backend.read("k")
    if row is None:
        # It was killed before it was in the store: whoever began it begins it again.
        asyncio.run(net.run({"paper": PAPERS}, store=store, key="k", id="run"))
    asked = net.resume(store, "k").accept("model_in_flight")
    if row is not None and not row.final:
        job = open_job(os.path.join(os.environ["CRASH"], "runs.db"), App(target=APP, value=net, digest="d"), run="k")
        job = msgspec.structs.replace(job, decisions=Decisions(accept=ACCEPTED))
        plan = check(job)
        assert not plan.refusals, plan.refusals
        for call, (how, value) in decisions(job, plan).items():
            asked.reconcile(call, how, value)
    outcome = asyncio.run(asked.run())
    assert isinstance(outcome, Started) or store.read("k").final, outcome
    print(json.dumps(standing(outcome.result.outputs)))  # type: ignore[union-attr]


def standing(outputs: object) -> dict[str, object]:
    """All that there is in the end."""
    store, _ = opened(os.environ["CRASH"])
    row = store.read("k")
    lines = store.journal("k")
    seqs = [json.loads(line)["step"]["seq"] for line in lines if line.startswith(b'{"record":"step"')]
    return {
        "row": [row.status, row.reason, row.steps, row.final, row.claim is None],
        "outputs": outputs,
        "seqs": seqs,
        "open": len(store.operations("k", open_only=True)),
        "effects": effects(),
    }


def main(folder: str) -> None:
    """Places one after another, until a child lives through."""
    rng = random.Random(folder if "RUNINSPECT_FUZZ" in os.environ else 7)
    every = 1 if "RUNINSPECT_FUZZ" in os.environ else 24
    all_drivers(), readers()  # loaded once, not in each child
    at = 0
    while True:
        behind = rng.random() < 0.5
        inner = os.path.join(folder, str(at))
        os.makedirs(inner)
        os.environ.update(CRASH=inner, XDG_STATE_HOME=inner, XDG_DATA_HOME=inner)
        status, text = forked(partial(first, at, behind))
        if status == 0:
            print(json.dumps({"clean": json.loads(text)}))
            return
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        kills, again = 1, rng.randrange(1, 30)
        status, text = forked(partial(second, again, behind))
        if status != 0:
            assert os.WTERMSIG(status) == signal.SIGKILL, f"the second one after a kill at write {at} ended: {status}"
            kills = 2
            status, text = forked(partial(second, -1, False))
        assert status == 0, f"the last one after kills at {at} and {again} ended with {status}"
        print(json.dumps({"at": at, "kills": kills, **json.loads(text)}), flush=True)
        at += 1 + rng.randrange(every)


if __name__ == "__main__":
    main(sys.argv[1])
