"""The backends that the conformance suite is run on. Another one is a line here: a function of a folder that
opens the store there, the same one however often it is called."""

import os
from collections.abc import Callable
from pathlib import Path

from inspector.model.records import (
    Checkpoint,
    End,
    Header,
    JournalRecord,
    Operation,
    OperationStatus,
    Program,
    StepRecord,
)
from inspector.model.run import Definition, State, Step
from inspector.store.interface import Backend, NewRun, Wanted, Written
from inspector.store.sqlite import SQLite

BACKENDS: dict[str, Callable[[Path], Backend]] = {
    "sqlite": lambda folder: SQLite(os.fspath(folder / "runs.db")),
}

HERE = Program(name="test", host="here", pid=4)
THERE = Program(name="test", host="there", pid=5)


def new(key: str = "k", **about: object) -> NewRun:
    """A run to be created."""
    return NewRun(**{"key": key, "id": f"id-{key}", "kind": "agent", "name": "n", **about})  # type: ignore[arg-type]


def header(key: str = "k") -> Header:
    """The first record of a run."""
    return Header(id=f"id-{key}", name="n", kind="agent", key=key, definition=Definition(digest="d" * 64))


def step(seq: int) -> StepRecord:
    """A step has ended."""
    return StepRecord(step=Step(seq=seq, kind="model", name="model", status="done"))


def checkpoint(seq: int = 0) -> Checkpoint:
    """The whole state."""
    return Checkpoint(seq=seq, state=State(step=seq), machine={"of": "a test"})


def operation(status: OperationStatus, name: str = "tool-1.1.1", **about: object) -> Operation:
    """A change of an operation."""
    given = {"id": name, "seq": 1, "kind": "tool", "name": "pay", "status": status, "internal_call_id": "1.1", **about}
    return Operation(**given)  # type: ignore[arg-type]


def end(status: str = "completed", *, final: bool = True) -> End:
    """How a run ended."""
    return End(status=status, final=final)  # type: ignore[arg-type]


def created(backend: Backend, key: str = "k", now: int = 100, **about: object) -> None:
    """A new run with its header and first checkpoint."""
    assert backend.create(new(key, **about), (header(key), checkpoint()), now)


def wanted(token: str = "t", **about: object) -> Wanted:
    """A claim of the first step of a new run, that holds until 200."""
    given = {"token": token, "step": 1, "revision": 0, "mode": "continue", "now": 100, "expires": 200, "program": HERE}
    return Wanted(**{**given, **about})  # type: ignore[arg-type]


def written(revision: int, *records: JournalRecord, token: str | None = "t", now: int = 110, key: str = "k") -> Written:
    """A change by the holder of token `t`."""
    return Written(key=key, token=token, revision=revision, now=now, records=records)
