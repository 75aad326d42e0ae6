"""Stores of vv-agent made by hand, in every generation of their tables."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import rfc8785

NOW = 1_800_000_000.0
LIVE, EXPIRED = int(NOW * 1000) + 60_000, int(NOW * 1000) - 60_000
GENERATIONS = (3, 4, 5, 8, 10, 11, 12)
_COLUMNS = """
    checkpoint_key schema_version run_definition_schema run_definition task_id root_run_id
    trace_id run_definition_digest resume_attempt cycle_index status messages
    cycles model_calls shared_state budget_usage event_cursor event_outbox
    extension_state model_call_journal tool_journal revision claim_token claimed_cycle
    lease_expires_at_ms terminal_result terminal_acknowledged
"""
_JSON = """
    run_definition messages cycles model_calls shared_state budget_usage
    event_cursor event_outbox extension_state model_call_journal tool_journal terminal_result
"""
JSON_COLUMNS = _JSON.split()

Row = dict[str, Any]


def columns(generation: int) -> list[str]:
    more = ["active_host_interaction", "suspended_origin"] if generation >= 8 else []
    return [
        *_COLUMNS.split(),
        *more,
        *(["cancel_requested"] if generation >= 10 else []),
        *(["history"] * (generation >= 12)),
    ]


def store(path: Path, rows: list[Row], generation: int = 5, archive: dict[str, list[Row]] | None = None) -> Path:
    """A database of that generation; `archive` holds batches of retired cycles by key (v12)."""
    with closing(sqlite3.connect(path)) as connection, connection:
        names = columns(generation)
        connection.execute(f"CREATE TABLE checkpoints (checkpoint_key PRIMARY KEY, {', '.join(names[1:])})")
        connection.execute("CREATE INDEX checkpoints_status_idx ON checkpoints(status)")
        if generation >= 8:
            connection.execute(
                "CREATE TABLE host_interaction_records (record_id TEXT PRIMARY KEY, checkpoint_key TEXT, "
                "interaction_id TEXT, state TEXT, response TEXT)"
            )
        if generation >= 12:
            connection.execute(
                "CREATE TABLE checkpoint_history (checkpoint_key TEXT NOT NULL, sequence INTEGER NOT NULL, "
                "payload TEXT NOT NULL, payload_digest TEXT NOT NULL, PRIMARY KEY (checkpoint_key, sequence))"
            )
        for row in rows:
            insert(connection, row, generation)
        for key, batches in (archive or {}).items():
            for batch in batches:
                text = rfc8785.dumps(batch).decode()
                values = (key, batch["sequence"], text, hashlib.sha256(text.encode()).hexdigest())
                connection.execute("INSERT INTO checkpoint_history VALUES (?, ?, ?, ?)", values)
    connection.close()
    return path


def insert(connection: sqlite3.Connection, row: Row, generation: int = 5) -> None:
    cells = {"schema_version": f"vv-agent.checkpoint.v{generation}", "cancel_requested": 0, **row}
    names = [name for name in columns(generation) if name in cells]
    values = [_cell(cells[name]) for name in names]
    marks = ", ".join("?" * len(names))
    connection.execute(f"INSERT INTO checkpoints ({', '.join(names)}) VALUES ({marks})", values)


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value


def tool(name: str, idempotency: str = "unknown", **properties: Any) -> Row:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": f"What {name} does.", "parameters": parameters, "strict": True}
    return {
        "approval": {"mode": "static", "required": False},
        "schema": {"type": "function", "function": function},
        "timeout_seconds": None,
        "tool_metadata": {"idempotency": idempotency, "side_effect": "external", "terminal": False},
    }


TOOLS = [tool("weigh", "supported", crate={"type": "string"}), tool("ship", crate={"type": "string"})]


def definition(**changes: Any) -> Row:
    return {
        "agent": {"name": "packer", "type": None},
        "capability_refs": {},
        "checkpoint_policy": {"ambiguous_tool_policy": "require_reconciliation"},
        "initial_messages": [],
        "initial_shared_state": {"bay": 4},
        "model": {"backend": "scripted", "model_id": "m-1", "settings": {}},
        "prompt_bundle": {"sections": [{"id": "agent_instructions", "text": "You pack crates."}]},
        "root_input": "Pack crate A.",
        "schema_version": "vv-agent.run-definition.v5",
        "tools": TOOLS,
        **changes,
    }


def digest(value: Any) -> str:
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


SYSTEM = {"role": "system", "content": "You pack crates."}
USER = {"role": "user", "content": "Pack crate A."}


def asked(call_id: str, name: str, **arguments: Any) -> Row:
    return {"id": call_id, "name": name, "arguments": arguments}


def assistant(words: str, *calls: Row) -> Row:
    wire = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])}}
        for c in calls
    ]
    return {"role": "assistant", "content": words, **({"tool_calls": wire} if wire else {})}


def told(call_id: str, words: str) -> Row:
    return {"role": "tool", "content": words, "tool_call_id": call_id}


def result(call_id: str, words: str, **more: Any) -> Row:
    return {"tool_call_id": call_id, "content": words, "directive": "continue", "status_code": "SUCCESS", **more}


def cycle(index: int, words: str, calls: tuple[Row, ...] = (), results: tuple[Row, ...] = ()) -> Row:
    return {
        "index": index,
        "assistant_message": words,
        "memory_compacted": False,
        "tool_calls": list(calls),
        "tool_results": list(results),
    }


def spent(cycle_index: int, given: int = 10, made: int = 3, **changes: Any) -> Row:
    return {
        "call_id": f"op_model_cycle_{cycle_index}_main:attempt:1",
        "cycle_index": cycle_index,
        "operation": "agent_cycle",
        "status": "completed",
        "error_code": None,
        "usage": {"input_tokens": given, "output_tokens": made},
        **changes,
    }


def model_entry(cycle_index: int, state: str = "succeeded", words: str = "", *calls: Row, **changes: Any) -> Row:
    return {
        "kind": "model",
        "operation_id": f"op_model_cycle_{cycle_index}_main",
        "cycle_index": cycle_index,
        "attempt": 1,
        "state": state,
        "model_operation": "agent_cycle",
        "model": "m-1",
        "call_id": f"op_model_cycle_{cycle_index}_main:attempt:1",
        "response": {"content": words, "tool_calls": list(calls)} if state == "succeeded" else None,
        "error": None,
        **changes,
    }


def tool_entry(call: Row, state: str, cycle_index: int = 1, **changes: Any) -> Row:
    return {
        "kind": "tool",
        "operation_id": f"op_tool_cycle_{cycle_index}_{call['id']}",
        "cycle_index": cycle_index,
        "attempt": 1,
        "state": state,
        "tool_call_id": call["id"],
        "tool_name": call["name"],
        "arguments": call["arguments"],
        "idempotency_support": "unknown",
        "result": result(call["id"], "40 kg") if state == "succeeded" else None,
        "error": None,
        **changes,
    }


def event(kind: str, at: float = NOW - 100, state: str = "delivered", **fields: Any) -> Row:
    return {"event_id": f"evt_{kind}", "state": state, "event": {"type": kind, "created_at": at, **fields}}


def row(key: str, **changes: Any) -> Row:
    """A run that was created and never claimed."""
    found = changes.pop("definition", None) or definition()
    return {
        "checkpoint_key": key,
        "run_definition_schema": "vv-agent.run-definition.v5",
        "run_definition": rfc8785.dumps(found).decode(),
        "run_definition_digest": digest(found),
        "task_id": "task-1",
        "root_run_id": "run-1",
        "trace_id": "trace-1",
        "resume_attempt": 1,
        "cycle_index": 0,
        "status": "running",
        "messages": [SYSTEM, USER],
        "cycles": [],
        "model_calls": [],
        "shared_state": {"bay": 4},
        "event_outbox": [],
        "extension_state": {},
        "model_call_journal": [],
        "tool_journal": [],
        "revision": 7,
        "terminal_acknowledged": 0,
        **changes,
    }


WEIGH, SHIP = asked("c1", "weigh", crate="A"), asked("c2", "ship", crate="A")
FIRST = (assistant("Weighing.", WEIGH), told("c1", "40 kg"))
FIRST_CYCLE = cycle(1, "Weighing.", (WEIGH,), (result("c1", "40 kg"),))


def finished(key: str = "finished", **changes: Any) -> Row:
    fields: Row = {
        "status": "completed",
        "cycle_index": 1,
        "messages": [SYSTEM, USER, *FIRST, assistant("Done.")],
        "cycles": [FIRST_CYCLE, cycle(2, "Done.")],
        "model_calls": [spent(1), spent(2, 20, 5)],
        "terminal_result": {"status": "completed", "completion_reason": "no_tool_finish", "final_answer": "Done."},
        "terminal_acknowledged": 1,
    }
    return row(key, **(fields | changes))


def killed(key: str = "killed", lease: int = EXPIRED, **changes: Any) -> Row:
    """Killed in the second of three calls of cycle 2."""
    calls = (asked("c2", "weigh", crate="B"), asked("c3", "ship", crate="A"), asked("c4", "weigh", crate="C"))
    fields: Row = {
        "cycle_index": 1,
        "messages": [SYSTEM, USER, *FIRST],
        "cycles": [FIRST_CYCLE],
        "model_calls": [spent(1), spent(2)],
        "model_call_journal": [model_entry(2, "succeeded", "Shipping.", *calls)],
        "tool_journal": [tool_entry(calls[0], "succeeded", 2), tool_entry(calls[1], "started", 2)],
        "claim_token": "claim-1",
        "claimed_cycle": 2,
        "lease_expires_at_ms": lease,
    }
    return row(key, **(fields | changes))


def raised(key: str = "raised", **changes: Any) -> Row:
    fields: Row = {
        "status": "reconciliation_required",
        "model_calls": [spent(1)],
        "model_call_journal": [model_entry(1, "succeeded", "Both.", WEIGH, SHIP)],
        "tool_journal": [tool_entry(WEIGH, "ambiguous")],
    }
    return row(key, **(fields | changes))


def asks(key: str = "asks", **changes: Any) -> Row:
    call = asked("q1", "ask_user", question="Which bay?")
    fields: Row = {
        "status": "wait_user",
        "messages": [SYSTEM, USER, assistant("Hm.", call), told("q1", "Which bay?")],
        "cycles": [cycle(1, "Hm.", (call,), (result("q1", "Which bay?", directive="wait_user"),))],
        "model_calls": [spent(1)],
        "terminal_result": {
            "status": "wait_user",
            "wait_reason": "Which bay?",
            "completion_tool_name": "ask_user",
        },
        "terminal_acknowledged": 1,
    }
    return row(key, **(fields | changes))


def failed(key: str = "failed", error: Any = "the quota is used up", **changes: Any) -> Row:
    fields: Row = {
        "status": "failed",
        "cycle_index": 1,
        "messages": [SYSTEM, USER, *FIRST],
        "cycles": [FIRST_CYCLE],
        "model_calls": [spent(1), spent(2, status="failed", error_code="provider_rejected", usage={})],
        "terminal_result": {"status": "failed", "completion_reason": "failed", "error": error},
        "terminal_acknowledged": 1,
    }
    return row(key, **(fields | changes))
