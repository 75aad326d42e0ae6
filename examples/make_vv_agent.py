"""Makes vv-agent-store.db, a checkpoint store of three runs: `python examples/make_vv_agent.py`.

The rows are written by hand into tables of generation v5, with times of their own, so that the store comes out
the same each time. Every lease in it has long ended.
"""

import hashlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rfc8785

Row = dict[str, Any]

TABLE = """
CREATE TABLE checkpoints (
    checkpoint_key TEXT PRIMARY KEY,
    schema_version TEXT NOT NULL CHECK (schema_version = 'vv-agent.checkpoint.v5'),
    run_definition_schema TEXT NOT NULL CHECK (run_definition_schema = 'vv-agent.run-definition.v5'),
    run_definition TEXT NOT NULL, task_id TEXT NOT NULL, root_run_id TEXT NOT NULL, trace_id TEXT NOT NULL,
    run_definition_digest TEXT NOT NULL, resume_attempt INTEGER NOT NULL, cycle_index INTEGER NOT NULL,
    status TEXT NOT NULL, messages TEXT NOT NULL, cycles TEXT NOT NULL, model_calls TEXT NOT NULL,
    shared_state TEXT NOT NULL, budget_usage TEXT, event_cursor TEXT, event_outbox TEXT NOT NULL,
    extension_state TEXT NOT NULL, model_call_journal TEXT NOT NULL, tool_journal TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0, claim_token TEXT, claimed_cycle INTEGER, lease_expires_at_ms INTEGER,
    terminal_result TEXT, terminal_acknowledged INTEGER NOT NULL DEFAULT 0
)
"""
BEGIN = datetime(2026, 11, 20, 22, 5, tzinfo=UTC).timestamp()


def tool(name: str, description: str, idempotency: str, **fields: str) -> Row:
    parameters = {
        "type": "object",
        "properties": {field: {"type": kind} for field, kind in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }
    return {
        "approval": {"mode": "static", "required": False},
        "schema": {
            "type": "function",
            "function": {"name": name, "description": description, "parameters": parameters, "strict": True},
        },
        "timeout_seconds": None,
        "tool_metadata": {"idempotency": idempotency, "side_effect": "external", "terminal": False},
    }


TOOLS = [
    tool("paper_stock", "Sheets of a paper that are left in the store.", "supported", paper="string"),
    tool("expose_plates", "Expose printing plates; each set is paid for.", "unsupported", job="string", sets="integer"),
    tool("mail_customer", "Write to the customer of a job.", "unknown", job="string", text="string"),
]
HOOKS = {
    "runtime_hook:0": {"id": "press.hide-prices", "version": "2"},
    "runtime_hook:1": {"id": "press.night-limit", "version": "1"},
}
PROMPT = "You are the night clerk of a print shop. Prepare each job for the morning shift."


def definition(asked: str) -> Row:
    return {
        "agent": {"name": "night-clerk", "type": None},
        "budget_limits": None,
        "capability_refs": HOOKS,
        "checkpoint_policy": {
            "ambiguous_model_policy": "require_reconciliation",
            "ambiguous_tool_policy": "require_reconciliation",
            "max_extension_state_bytes": 262144,
        },
        "initial_messages": [],
        "initial_shared_state": {"press": "B"},
        "model": {"backend": "scripted", "model_id": "clerk-1", "settings": {}, "transport_timeout_seconds": None},
        "prompt_bundle": {"sections": [{"id": "agent_instructions", "stable": True, "text": PROMPT}]},
        "root_input": asked,
        "run_metadata": {"shift": "night"},
        "runtime_controls": {"max_cycles": 8},
        "schema_version": "vv-agent.run-definition.v5",
        "tools": TOOLS,
    }


def call(call_id: str, name: str, **arguments: Any) -> Row:
    return {"id": call_id, "name": name, "arguments": arguments}


class Job:
    """A run, written down cycle by cycle."""

    def __init__(self, key: str, asked: str, minutes: int) -> None:
        self.time = BEGIN + minutes * 60
        found = definition(asked)
        number = key.rpartition("/")[2]
        self.row: Row = {
            "checkpoint_key": key,
            "schema_version": "vv-agent.checkpoint.v5",
            "run_definition_schema": "vv-agent.run-definition.v5",
            "run_definition": rfc8785.dumps(found).decode(),
            "run_definition_digest": hashlib.sha256(rfc8785.dumps(found)).hexdigest(),
            "task_id": f"night-clerk_{number}",
            "root_run_id": f"run_{number}",
            "trace_id": f"trace_{number}",
            "resume_attempt": 1,
            "cycle_index": 0,
            "status": "running",
            "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": asked}],
            "cycles": [],
            "model_calls": [],
            "shared_state": {"press": "B", "todo_list": []},
            "event_outbox": [],
            "extension_state": {},
            "model_call_journal": [],
            "tool_journal": [],
            "revision": 1,
            "terminal_acknowledged": 0,
        }

    def event(self, kind: str, **fields: Any) -> None:
        self.time += 3
        told = {"type": kind, "created_at": self.time, "event_id": f"evt_{kind}_{int(self.time)}", "version": "v2"}
        self.row["event_outbox"].append(
            {"event_id": told["event_id"], "state": "delivered", "event": {**told, **fields}, "cursor": {}}
        )

    def spent(self, given: int, made: int) -> None:
        index = len(self.row["model_calls"]) + 1
        self.row["model_calls"].append(
            {
                "call_id": f"op_model_cycle_{index}_main:attempt:1",
                "operation_id": f"op_model_cycle_{index}_main",
                "operation": "agent_cycle",
                "cycle_index": index,
                "attempt": 1,
                "status": "completed",
                "error_code": None,
                "model": "clerk-1",
                "usage": {"input_tokens": given, "output_tokens": made, "total_tokens": given + made},
            }
        )
        self.row["revision"] += 4

    def cycle(self, words: str, calls: list[Row], results: list[str], tokens: tuple[int, int]) -> None:
        """A cycle that was committed."""
        self.spent(*tokens)
        wire = [
            {"id": one["id"], "type": "function", "function": {**one, "arguments": json.dumps(one["arguments"])}}
            for one in calls
        ]
        for one in wire:
            del one["function"]["id"]
        told = [{"tool_call_id": one["id"], "content": text} for one, text in zip(calls, results, strict=True)]
        index = len(self.row["cycles"]) + 1
        self.row["messages"] += [{"role": "assistant", "content": words, **({"tool_calls": wire} if wire else {})}]
        self.row["messages"] += [{"role": "tool", **result} for result in told]
        done = [{**result, "directive": "continue", "status_code": "SUCCESS"} for result in told]
        self.row["cycles"].append(
            {
                "index": index,
                "assistant_message": words,
                "memory_compacted": False,
                "tool_calls": calls,
                "tool_results": done,
            }
        )
        self.row["cycle_index"] = index if calls else index - 1

    def open_cycle(self, words: str, calls: list[Row], states: list[str], tokens: tuple[int, int]) -> None:
        """A cycle that was not: the answer is journalled, and as many calls as there are states."""
        index = self.row["cycle_index"] + 1
        operation = {
            "operation_id": f"op_model_cycle_{index}_main",
            "call_id": f"op_model_cycle_{index}_main:attempt:1",
        }
        if index == 1:  # delivered events are dropped when a cycle is committed
            self.event("checkpoint_created")
        self.event("model_call_started", cycle_index=index, **operation)
        self.event("model_call_completed", cycle_index=index, **operation)
        self.spent(*tokens)
        self.row["model_call_journal"] = [
            {
                **operation,
                "kind": "model",
                "cycle_index": index,
                "attempt": 1,
                "state": "succeeded",
                "model_operation": "agent_cycle",
                "model": "clerk-1",
                "response": {"content": words, "tool_calls": calls},
                "error": None,
            }
        ]
        metadata = {one["schema"]["function"]["name"]: one["tool_metadata"]["idempotency"] for one in TOOLS}
        self.row["tool_journal"] = [
            {
                "kind": "tool",
                "operation_id": f"op_tool_cycle_{index}_call_{number}",
                "cycle_index": index,
                "attempt": 1,
                "state": state,
                "tool_call_id": one["id"],
                "tool_name": one["name"],
                "arguments": one["arguments"],
                "idempotency_support": metadata[one["name"]],
                "result": {"tool_call_id": one["id"], "content": "4200 sheets"} if state == "succeeded" else None,
                "error": None,
            }
            for number, (one, state) in enumerate(zip(calls, states, strict=False), 1)
        ]


def finished() -> Row:
    job = Job("orders/1041", "Order 1041: 500 leaflets on blue paper.", 0)
    job.cycle("Looking for blue paper.", [call("call-1", "paper_stock", paper="blue")], ["900 sheets"], (210, 18))
    plates = [
        call("call-2", "expose_plates", job="1041", sets=1),
        call("call-3", "mail_customer", job="1041", text="Your leaflets are printed tomorrow."),
    ]
    job.cycle("Enough for it. Exposing and telling the customer.", plates, ["set 1041/1 exposed", "sent"], (260, 41))
    job.cycle("Order 1041 is ready for the morning shift.", [], [], (310, 12))
    answer = "Order 1041 is ready for the morning shift."
    job.event("run_completed", status="completed", final_output=answer)
    result = {"status": "completed", "completion_reason": "no_tool_finish", "final_answer": answer, "error": None}
    return {**job.row, "status": "completed", "terminal_result": result, "terminal_acknowledged": 1}


def doubtful() -> Row:
    """The plate setter lost its connection in the second of three calls."""
    job = Job("orders/1042", "Order 1042: 2000 posters on matt paper.", 20)
    calls = [
        call("call-1", "paper_stock", paper="matt"),
        call("call-2", "expose_plates", job="1042", sets=4),
        call("call-3", "mail_customer", job="1042", text="Your posters are printed tomorrow."),
    ]
    job.open_cycle("Checking, exposing and telling the customer.", calls, ["succeeded", "ambiguous"], (220, 52))
    job.event("operation_ambiguous", operation_id="op_tool_cycle_1_call_2", risk="unknown_tool_side_effect")
    return {**job.row, "status": "reconciliation_required", "resume_attempt": 2}


def killed() -> Row:
    """The process was killed while it exposed plates, in the second cycle."""
    job = Job("orders/1043", "Order 1043: 80 menus, and tell the cook when.", 45)
    job.cycle("Looking for card.", [call("call-1", "paper_stock", paper="card")], ["120 sheets"], (205, 16))
    calls = [
        call("call-2", "paper_stock", paper="foil"),
        call("call-3", "expose_plates", job="1043", sets=2),
        call("call-4", "mail_customer", job="1043", text="Your menus are ready at nine."),
    ]
    job.open_cycle("Card is there. Checking foil, exposing, writing.", calls, ["succeeded", "started"], (262, 60))
    claim = {"claim_token": "claim_7f20", "claimed_cycle": 2, "lease_expires_at_ms": int((job.time + 300) * 1000)}
    return {**job.row, **claim}


def main() -> None:
    path = Path(__file__).with_name("vv-agent-store.db")
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute(TABLE)
        connection.execute("CREATE INDEX checkpoints_status_idx ON checkpoints(status)")
        for row in (finished(), doubtful(), killed()):
            cells = {
                name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()
            }
            marks = ", ".join("?" * len(cells))
            connection.execute(f"INSERT INTO checkpoints ({', '.join(cells)}) VALUES ({marks})", list(cells.values()))
    connection.close()


if __name__ == "__main__":
    main()
