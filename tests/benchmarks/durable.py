"""The store of durable runs: steps committed a second beside the raw rate of the disk, and ten thousand runs in one."""

import os
import time
from pathlib import Path

from inspector.formats import open_path
from inspector.model.records import Checkpoint, Header, Operation, StepRecord
from inspector.model.run import Definition, Message, State, Step, Tool
from inspector.store import Filter, open_store
from inspector.store.interface import NewRun, Written
from inspector.store.store import Store
from tests.benchmarks.measure import COMMAND, best, command, mib, ms, row

RUNS = 10_000
SECONDS = 3.0


def store(folder: Path) -> None:
    """Measures in a folder of the disk that is meant."""
    fsync = rate(appended(folder / "raw"))
    row("append and fdatasync of 400 bytes", f"{fsync:.0f} /s")
    path = folder / "commits.db"
    kept = open_store(path)
    journal = kept.begin("run")
    journal.append(header("run"), Checkpoint(seq=0, state=State(step=0)))
    seq = iter(range(1, 1 << 40))
    steps = rate(lambda: journal.append(step(next(seq)), durable=True))
    row(
        "steps committed, each durable",
        f"{steps:.0f} /s = {steps / fsync:.2f} of the disk",
        "1,000 /s, or half the disk",
        steps >= min(1000, fsync / 2),
    )
    lazy = rate(lambda: journal.append(step(next(seq))))
    row("steps committed, that a kill leaves", f"{lazy:.0f} /s")
    number = iter(range(1 << 40))
    operations = rate(lambda: operation(journal, next(number)))
    row("operations begun and ended, renewed, durable", f"{operations:.0f} /s")
    journal.close()
    kept.close()
    many(folder / "many.db")


def appended(path: Path):  # type: ignore[no-untyped-def]
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    line = b"x" * 399 + b"\n"

    def once() -> None:
        os.write(fd, line)
        os.fdatasync(fd)

    return once


def rate(work) -> float:  # type: ignore[no-untyped-def]
    """How often a second."""
    begin, count = time.perf_counter(), 0
    while (spent := time.perf_counter() - begin) < SECONDS:
        work()
        count += 1
    return count / spent


def header(key: str, name: str = "shop") -> Header:
    tool = Tool(name="pay", description="Pay an amount.", schema={"type": "object"}, digest="d" * 64)
    definition = Definition(tools=(tool,), tools_known="registry", digest="e" * 64)
    return Header(id=f"id-{key}", name=name, kind="agent", key=key, definition=definition, input="Refund an order.")


def step(seq: int) -> StepRecord:
    return StepRecord(step=Step(seq=seq, kind="model", name="model", status="done", summary=f"step {seq} " + "x" * 200))


def operation(journal, number: int) -> None:  # type: ignore[no-untyped-def]
    for status in ("started", "succeeded"):
        told = Operation(id=f"tool-{number}", seq=1, kind="tool", name="pay", status=status, result="paid")
        journal.append(told, durable=True)


def fill(store: Store, count: int) -> None:
    """A store of many runs of a few steps each, half of them over."""
    state = State(step=0, messages=tuple(Message(role="user", text=f"message {at} " + "x" * 80) for at in range(6)))
    store.backend._on._connection.execute("PRAGMA synchronous = OFF")  # type: ignore[attr-defined]
    for number in range(count):
        key, now = f"run-{number:05}", 1_700_000_000_000 + number
        new = NewRun(key=key, id=f"id-{key}", kind="agent", name=f"agent-{number % 7}", digest="e" * 64)
        steps = tuple(step(seq) for seq in range(1, 5))
        first = (header(key, f"agent-{number % 7}"), Checkpoint(seq=0, state=state), *steps)
        store.backend.create(new, first, now)
        if number % 2:
            store.backend.finalize(Written(key=key, token=None, revision=0, now=now), "completed", None)


def many(path: Path) -> None:
    kept = open_store(path)
    if not kept.runs(Filter(limit=1)):
        fill(kept, RUNS)
    row(f"a store of {RUNS} runs", mib(os.path.getsize(path)))
    row("all rows, in the library", ms(best(lambda: kept.runs())), "< 500 ms")
    row("the newest 50 that are completed", ms(best(lambda: kept.runs(Filter(status="completed", limit=50)))))
    row("one by its key, and its journal", ms(best(lambda: (kept.read("run-05000"), kept.journal("run-05000")))))
    kept.close()
    listed = best(lambda: open_path(str(path)).rows(), 3)
    row("all rows, as the screen reads them", ms(listed), "< 500 ms", listed < 0.5)
    opened = best(lambda: [*open_path(str(path)).open("run-05000").index()], 3)
    row("one run, as the screen reads it", ms(opened), "< 500 ms", opened < 0.5)
    whole = best(lambda: command(COMMAND, "runs", str(path), "--status", "completed"), 2)
    row("runinspect runs --status completed", ms(whole), "< 1 s", whole < 1)
    shown = best(lambda: command(COMMAND, "show", str(path), "--run", "run-05000"), 2)
    row("runinspect show --run", ms(shown), "< 1 s", shown < 1)
