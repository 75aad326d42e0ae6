"""A process that runs the world's program and kills itself at a write of its journal. Run by `test_crash`:

    python -m tests.runner.crash FOLDER SCRIPT [stop]
    python -m tests.runner.crash serve

For each place where it may die, a child is forked from a process that keeps nothing of a run. It is killed
just before a write, or in the middle of it. Then another fresh child resumes from the file, as often as it
takes, and a line of JSON says what came of it. With `stop` nothing is killed: the child stops at each boundary in
turn, every leg has a process of its own, and what the hooks hear counts as an effect too. With `serve` whoever asks
says what the legs are.
"""

import asyncio
import contextlib
import io
import json
import os
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from inspector import AgentRun
from inspector.errors import UnreadableError
from inspector.journal import TraceFile
from inspector.model.records import JournalRecord
from inspector.model.values import to_json
from inspector.runner.errors import ResumeRefused
from inspector.runner.restore import load
from tests.runner.world import StopAt, World, decided, told


class Deadly(TraceFile):
    """A trace that ends its process at write number `at` (from 0), before it or in the middle of it."""

    def __init__(self, path: str, at: int, torn: bool) -> None:
        super().__init__(path)
        self.at, self.torn, self.count = at, torn, 0

    def append(self, *records: JournalRecord, durable: bool = False) -> None:
        if self.count == self.at:
            if self.torn:
                text = "\n".join(map(to_json, records)).encode()
                fd = self._created() if self._fd is None else self._fd
                os.write(fd, text[: len(text) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1
        super().append(*records)  # a kill loses nothing that was written; only a loss of power would


def world(folder: str, script: Any, *, hooks: bool = False) -> World:
    """The world whose effects, and with `hooks` what those hear, go to a file that outlives the process."""
    log = os.open(os.path.join(folder, "effects"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(kind: str, word: str) -> None:
        if hooks or kind in ("look", "pay", "ask", "broken", "append"):
            os.write(log, f"{kind} {word}\n".encode())

    return World(folder, script, note)


def effects(folder: str) -> list[str]:
    """What was done, in all processes."""
    with open(os.path.join(folder, "effects")) as file:
        return file.read().split("\n")[:-1]


async def first(folder: str, script: Any, at: int, torn: bool) -> None:
    """The leg that dies."""
    journal = Deadly(os.path.join(folder, "0.jsonl"), at, torn)
    asked = world(folder, script).agent().prompt("go").conversation("talk").id("run")
    result = await asked.run(journal=journal)
    print(json.dumps({"status": result.status, "writes": journal.count, "told": told(result.run)}))


async def rest(folder: str, script: Any) -> dict[str, Any]:
    """The legs after it, each from the file of the one before."""
    trace, legs = os.path.join(folder, "0.jsonl"), 0
    while True:
        try:
            saved = load(trace)
        except (ResumeRefused, UnreadableError) as error:
            return {"status": "nothing", "code": getattr(error, "code", "not_resumable"), "effects": effects(folder)}
        if saved.anew:
            return {"status": "nothing", "code": "begins_anew", "effects": effects(folder)}
        asked = world(folder, script).agent().resume(trace)
        done = {line.split(" ", 1)[1] for line in effects(folder)}
        decided(asked, saved.run, done.__contains__, approve=True)
        if saved.model_in_flight:
            asked.accept("model_in_flight")
        legs += 1
        path = os.path.join(folder, f"{legs}.jsonl")
        result = await asked.run(journal=Deadly(path, -1, torn=False))
        if result.status not in ("suspended", "interrupted"):
            error = result.error.message if result.error else None
            return {"status": result.status, "told": told(result.run), "effects": effects(folder), "error": error}
        trace = path


async def leg(
    folder: str, script: Any, number: int, stop: int | None, way: str, before: str | None, approve: bool
) -> None:
    """One leg: from the file that the one before left, if there was one, to the boundary where it is stopped. It leaves
    a trace, or, with the ways `json` and `stream`, a saved run."""
    there = world(folder, script, hooks=True)
    asked: Any
    if before is None:
        asked = there.agent().prompt("go").conversation("talk").id("run")
    elif way == "trace":
        asked = decided(there.agent().resume(before), load(before).run, lambda key: False, approve=approve)
    else:
        saved = AgentRun.from_json(Path(before).read_bytes())
        asked = decided(there.agent().resume(saved), saved, lambda key: False, approve=approve)
    if stop is not None:
        asked.control(StopAt(stop))
    left: str | None = os.path.join(folder, f"{number}.json")
    if way == "stream":
        result = [item async for item in asked.stream()][-1].result
    else:
        result = await asked.run(trace=f"{left}l" if way == "trace" else None)
    if way == "trace":
        left = result.trace
    else:
        Path(str(left)).write_text(result.run.to_json())
    error = result.error.message if result.error else None
    kept = [line for file in Path(folder, "memory").glob("*") for line in file.read_text().splitlines()]
    print(json.dumps({
        "status": result.status, "reason": result.reason, "error": error, "told": told(result.run), "left": left,
        "effects": effects(folder), "remembered": len(kept),
    }))  # fmt: skip


def stopped(folder: str, script: Any) -> None:
    """Every boundary, one after another, until the first leg comes to its end; each leg is a process."""
    stop, whole = 0, False
    while not whole:
        inner = os.path.join(folder, f"stop-{stop}")
        os.makedirs(inner)
        number, found = 0, {"status": "interrupted", "left": None}
        while found["status"] in ("interrupted", "suspended"):
            status, text = forked(
                partial(_leg, inner, script, number, None if number else stop, "trace", found["left"], True)
            )
            assert status == 0, f"leg {number} of the run stopped at {stop} ended with {status}"
            found = json.loads(text)
            whole = number == 0 and found["status"] == "completed"
            number += 1
        print(json.dumps({"stop": stop, "legs": number, **found}), flush=True)
        stop += 1


def _first(*given: Any) -> None:
    asyncio.run(first(*given))


def _leg(folder: str, *given: Any) -> None:
    os.environ.update(XDG_STATE_HOME=folder, XDG_DATA_HOME=folder)
    asyncio.run(leg(folder, *given))


def warm() -> None:
    """Import here what a leg needs, so that not every child has to; nothing else stays of it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for number, left in enumerate((None, f"{folder}/0.jsonl")):
            _leg(folder, [["look"], "end"], number, 3 - number, "trace", left, False)


def serve() -> None:
    """Legs, as they are asked for: a line of JSON each, and one of what came of it."""
    for line in sys.stdin:
        status, text = forked(partial(_leg, *json.loads(line)))
        print(text.strip() if status == 0 else json.dumps({"status": f"ended with {status}"}), flush=True)


def _rest(*given: Any) -> None:
    print(json.dumps(asyncio.run(rest(*given))))


def forked(work: Any) -> tuple[int, str]:
    """(how a child ended, what it printed)."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(into, 1)
        os.close(out)
        try:
            work()
            sys.stdout.flush()
            os._exit(0)
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
    os.close(into)
    with os.fdopen(out) as file:
        text = file.read()
    return os.waitpid(pid, 0)[1], text


def main(folder: str, script: Any) -> None:
    """Every place, one after another, until a child lives through."""
    at = 0
    while True:
        for torn in (False, True) if at % 4 == 0 or "RUNINSPECT_FUZZ" in os.environ else (False,):
            inner = os.path.join(folder, f"{at}-{torn}")
            os.makedirs(inner)
            os.environ.update(XDG_STATE_HOME=inner, XDG_DATA_HOME=inner)
            status, text = forked(partial(_first, inner, script, at, torn))
            if status == 0:
                print(json.dumps({"clean": json.loads(text), "effects": effects(inner)}))
                return
            assert os.WTERMSIG(status) == signal.SIGKILL, status
            status, text = forked(partial(_rest, inner, script))
            assert status == 0, f"the resume after a kill at write {at} ended with {status}"
            print(json.dumps({"at": at, "torn": torn, **json.loads(text)}), flush=True)
        at += 1


if __name__ == "__main__":
    warm()
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        (stopped if sys.argv[3:] else main)(sys.argv[1], json.loads(sys.argv[2]))
