"""Session logs of vv-agent made by hand."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import rfc8785

from tests.formats.vv_agent_stores import NOW, TOOLS, Row, digest

BEGIN = int(NOW * 1000) - 100_000
ANSWER = "turn/1/model/primary/1"

DEFINITION = {
    "agent_name": "packer",
    "capabilities": {"weigh": {"idempotency": "supported"}, "ship": {"idempotency": "unknown"}},
    "model_binding": {"backend": "scripted", "model": "m-1"},
    "tools": [tool["schema"] for tool in TOOLS],
}


class Log:
    """Records of one session, to be stored."""

    def __init__(self, session: str = "desk") -> None:
        self.session, self.records = session, list[tuple[Any, ...]]()

    def add(self, kind: str, operation: str | None = None, attempt: int | None = None, **payload: Any) -> "Log":
        seq = len(self.records) + 1
        body = rfc8785.dumps({"kind": kind, "operation_id": operation, "payload": payload, "session_id": self.session})
        told = hashlib.sha256(body).hexdigest()
        turn = None if kind == "session_created" else "turn/1"
        self.records.append((self.session, seq, kind, turn, operation, attempt, BEGIN + seq * 1000, body, told))
        return self

    def turn(self, words: str, **metadata: Any) -> "Log":
        sections = [{"id": "agent_instructions", "text": "You pack crates."}]
        task = {"prompt_bundle": {"sections": sections}, "user_prompt": words, "metadata": metadata}
        definition = {**DEFINITION, "task": task}
        return self.add("turn_started", definition=definition, definition_digest=digest(definition))

    def model(self, words: str, *calls: Row, operation: str = ANSWER, given: int = 10, **more: Any) -> "Log":
        self.plan_model(operation)
        self.add("op_started", operation, 1)
        result = {"content": words, "tool_calls": list(calls), **more}
        usage = {"prompt_tokens": given, "completion_tokens": 3}
        return self.add(
            "op_completed", operation, 1, result=result, usage=usage, context="normal", shared_state={"n": given}
        )

    def plan_model(self, operation: str = ANSWER, purpose: str = "primary") -> "Log":
        request = {"messages": [{"role": "user", "content": "x"}], "model": "m-1"}
        return self.add("op_planned", operation, 1, op_kind="model", purpose=purpose, request=request, tool=None)

    def plan(self, place: int, call: Row, answer: str = ANSWER) -> "Log":
        operation = f"{answer}/attempt/1/tool/{place}"
        tool = {"idempotency": "unknown"}
        return self.add("op_planned", operation, 1, op_kind="tool", purpose=None, request=call, tool=tool)

    def begin(self, place: int, answer: str = ANSWER) -> "Log":
        return self.add("op_started", f"{answer}/attempt/1/tool/{place}", 1)

    def result(self, place: int, call_id: str, words: str, answer: str = ANSWER, context: str = "normal") -> "Log":
        told = {"content": words, "tool_call_id": call_id, "directive": "continue"}
        return self.add("op_completed", f"{answer}/attempt/1/tool/{place}", 1, result=told, context=context)

    def done(self, status: str = "completed", reason: str | None = None, left: tuple[str, ...] = ()) -> "Log":
        return self.add("turn_ended", status=status, reason=reason, result="Done.", unconfirmed_operations=list(left))


def begun(session: str = "desk") -> Log:
    seed: Row = {"messages": [], "shared_state": {}}
    return Log(session).add("session_created", attributes={"seed": seed}, workspace="/ws")


def store(path: Path, *logs: Log, phase: str = "idle", lease: int | None = None, inbox: tuple[Row, ...] = ()) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 3")
        connection.execute(
            "CREATE TABLE sk_session (session_id TEXT PRIMARY KEY, parent_session_id TEXT, parent_operation_id TEXT, "
            "lease_epoch INTEGER, lease_owner TEXT, lease_until_ms INTEGER, phase TEXT) STRICT"
        )
        connection.execute(
            "CREATE TABLE sk_record (session_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, turn_id TEXT, "
            "operation_id TEXT, attempt INTEGER, created_ms INTEGER, body BLOB NOT NULL, digest TEXT NOT NULL, "
            "PRIMARY KEY (session_id, seq)) STRICT"
        )
        connection.execute(
            "CREATE TABLE sk_inbox (session_id TEXT, input_seq INTEGER, kind TEXT, body BLOB, digest TEXT, "
            "consumed_seq INTEGER)"
        )
        for log in logs:
            owner = None if lease is None else "owner-1"
            connection.execute(
                "INSERT INTO sk_session VALUES (?, NULL, NULL, 1, ?, ?, ?)", (log.session, owner, lease, phase)
            )
            marks = ", ".join("?" * 9)
            connection.executemany(f"INSERT INTO sk_record VALUES ({marks})", log.records)
            for number, item in enumerate(inbox, 1):
                body = json.dumps({"payload": item}).encode()
                values = (log.session, number, body, hashlib.sha256(body).hexdigest())
                connection.execute("INSERT INTO sk_inbox VALUES (?, ?, 'steer', ?, ?, NULL)", values)
    connection.close()
    return path
