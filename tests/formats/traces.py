"""Traces of our own format for tests."""

from collections.abc import Iterable, Sequence
from typing import Any

from inspector.model.changes import change
from inspector.model.records import Checkpoint, End, Header, JournalRecord, Operation, Program, StepRecord
from inspector.model.run import Call, Message, Pending, State, Step
from inspector.model.values import to_json

DONE = End(status="completed")


def header(**fields: Any) -> Header:
    return Header(**{"id": "run-1", "name": "refunds", "kind": "agent", "started": "2026-11-29T10:00:00Z"} | fields)


def states(count: int) -> list[State]:
    """States 0 to `count`: a message more each step, and a call that is pending after every odd step."""
    messages = [Message(role="user", text="begin")]
    found = [State(step=0, messages=tuple(messages), pending=(), values={"n": 0})]
    for seq in range(1, count + 1):
        call = Call(name="look", call_id=f"c{seq}", arguments={"at": seq})
        if seq % 2:
            messages.append(Message(role="assistant", text=f"turn {seq}", calls=(call,)))
            pending: tuple[Pending, ...] = (
                Pending(kind="tool", name="look", status="ready", call_id=call.call_id, arguments=call.arguments),
            )
        else:
            messages.append(Message(role="tool", text=f"seen {seq - 1}", call_id=f"c{seq - 1}", name="look"))
            pending = ()
        found.append(State(step=seq, messages=tuple(messages), pending=pending, values={"n": seq}))
    return found


def step(seq: int, **fields: Any) -> Step:
    kind = "model" if seq % 2 else "tools"
    plain = {"seq": seq, "kind": kind, "name": kind, "status": "done", "summary": f"step number {seq}"}
    return Step(**plain | fields)


def records(count: int, every: int = 8, end: End | None = DONE) -> list[JournalRecord]:
    """A whole journal of `count` steps with a checkpoint every so many."""
    known = states(count)
    found: list[JournalRecord] = [header(), Checkpoint(seq=0, state=known[0])]
    for seq in range(1, count + 1):
        found.append(operation(f"op{seq}", seq, "started"))
        found.append(operation(f"op{seq}", seq, "succeeded", result=f"result of {seq}"))
        found.append(StepRecord(step=step(seq), change=change(known[seq - 1], known[seq])))
        if every and seq % every == 0:
            found.append(Checkpoint(seq=seq, state=known[seq]))
    return found if end is None else [*found, end]


def operation(name: str, seq: int, status: Any, **fields: Any) -> Operation:
    kind = "model" if seq % 2 else "tool"
    return Operation(**{"id": name, "seq": seq, "kind": kind, "name": "look", "status": status} | fields)


def program(pid: int, host: str) -> Program:
    return Program(host=host, pid=pid)


def lines(found: Iterable[JournalRecord]) -> list[bytes]:
    return [to_json(record).encode() for record in found]


def text(found: Sequence[JournalRecord]) -> bytes:
    return b"".join(line + b"\n" for line in lines(found))
