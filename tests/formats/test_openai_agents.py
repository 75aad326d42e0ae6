"""RunStates and session databases of the OpenAI Agents SDK."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import InspectorError
from inspector.formats import document, open_path, sqlitefile
from inspector.formats.readers.openai_agents.items import messages_of
from inspector.formats.readers.openai_agents.runstate import known
from inspector.model.source import RunSet
from inspector.report.view import View, view
from tests.fuzz import fuzz


def call(call_id: str, name: str = "read", arguments: str = '{"p": 1}') -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, text: Any = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def asked(call_id: str, name: str = "pay", agent: str = "ops", arguments: str = '{"n": 1}') -> dict[str, Any]:
    return {
        "type": "tool_approval_item",
        "raw_item": call(call_id, name, arguments),
        "agent": {"name": agent},
        "tool_name": name,
    }


def interrupted(*items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "next_step_interruption", "data": {"interruptions": list(items)}}


def run_state(responses: list[list[Any]], outputs: list[Any], step: Any = None, **fields: Any) -> dict[str, Any]:
    kinds = {True: "tool_call_output_item", False: "tool_call_item"}
    spent = {"input_tokens": 3, "output_tokens": 2}
    return {
        "$schemaVersion": "1.21",
        "current_turn": 1,
        "current_agent": {"name": "ops"},
        "original_input": [{"role": "user", "content": "go"}],
        "model_responses": [{"usage": spent, "output": items} for items in responses],
        "context": {"usage": {"input_tokens": 30, "output_tokens": 20}, "approvals": {}},
        "max_turns": 10,
        "session_items": [{"type": kinds["output" in item], "raw_item": item} for item in outputs],
        "current_step": step,
    } | fields


def shown(runs: RunSet, step: int | None = None, run_id: str | None = None) -> View:
    source = runs.open(run_id)
    for _ in source.index():
        pass
    last = len(source)
    return view(source, last if step is None else step, 1, last + 1)


def opened(folder: Path, value: dict[str, Any] | bytes, step: int | None = None) -> View:
    path = folder / "state"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return shown(open_path(str(path)), step)


def pending(found: View) -> list[tuple[str, str | None, str]]:
    assert found.state is not None
    return [(one.name, one.call_id, one.status) for one in found.state.pending or ()]


def told(found: View) -> str:
    return "\n".join(f"{problem.where}: {problem.message}" for problem in found.problems)


BATCH = [[call("c1")], [call("c2", "pay"), call("c3"), call("c4", "pay")]]


def test_a_batch_that_waits_for_approvals(tmp_path: Path) -> None:
    tool = {"name": "pay", "description": "Pays.", "paramsJsonSchema": {"type": "object"}}
    state = run_state(
        BATCH,
        [call("c1"), output("c1"), output("c3", "three")],
        interrupted(asked("c2"), asked("c4", agent="clerk")),
        last_processed_response={"functions": [{"tool": tool}, {"tool": tool}, 7]},
    )
    found = opened(tmp_path, state)
    assert (found.source.format, found.source.version) == ("openai-agents", "1.21")
    assert (found.run.kind, found.run.name) == ("agent", "ops")
    assert (found.run.status, found.run.reason) == ("suspended", "approval")
    assert [(step.kind, step.status) for step in found.steps] == [
        ("model", "done"),
        ("tools", "done"),
        ("model", "done"),
        ("tools", "pending"),
    ]
    assert pending(found) == [("pay", "c2", "waiting"), ("pay", "c4", "waiting")]
    assert found.state is not None
    first, second = found.state.pending or ()
    assert first.arguments == {"n": 1}
    assert "clerk" in str(second.note)
    assert [message.call_id for message in found.state.messages or () if message.role == "tool"] == ["c1", "c3"]
    assert found.definition.tools_known == "called"
    pay, read = found.definition.tools or ()
    assert (pay.name, pay.description, pay.schema) == ("pay", "Pays.", {"type": "object"})
    assert (read.name, read.schema) == ("read", None)
    assert found.run.usage is not None
    assert (found.run.usage.input_tokens, found.run.usage.output_tokens) == (30, 20)
    assert found.steps[0].usage is not None
    assert found.steps[0].usage.output_tokens == 2
    assert (found.resume.possible, found.resume.driver) == (True, "openai-agents")
    assert found.problems == []
    assert pending(opened(tmp_path, state, 1)) == [("read", "c1", "ready")]
    assert pending(opened(tmp_path, state, 2)) == []
    assert len((opened(tmp_path, state, 0).state or found.state).messages or ()) == 1


def decided(**decision: Any) -> dict[str, Any]:
    return {"function_tool_approvals": [{"agent": {"name": "ops"}, "tool_key": "pay", "decision": decision}]}


def test_what_was_decided_holds_where_no_interruption_stands(tmp_path: Path) -> None:
    """In a file that breaks off before it, as in a run that was taken up again. Who was approved may have run."""
    invocations = {"c2": {"executed": False}, "c4": {"executed": False}}
    context = decided(approved=["c2"], rejected=["c4"]) | {"tool_invocations": invocations}
    state = run_state(BATCH, [output("c1"), output("c3")], None, context=context)
    assert pending(opened(tmp_path, state)) == [("pay", "c2", "approved"), ("pay", "c4", "denied")]
    del context["tool_invocations"]
    assert pending(opened(tmp_path, state)) == [("pay", "c2", "ambiguous"), ("pay", "c4", "denied")]


@pytest.mark.parametrize(
    ("context", "statuses", "status"),
    [
        (
            decided(approved=["c2"], rejected=["c4"], rejection_messages={"c4": "not that one"}),
            ["approved", "denied"],
            "suspended",
        ),
        (decided(approved=True), ["approved", "approved"], "suspended"),
        (decided(rejected=True, approved=True), ["denied", "denied"], "suspended"),
        (decided(approved=["c2"]), ["approved", "waiting"], "suspended"),
        ({"approvals": {"pay": {"approved": ["c4"], "rejected": []}}}, ["waiting", "approved"], "suspended"),
        ({"approvals": {"read": {"approved": True}}}, ["waiting", "waiting"], "suspended"),
        (
            {
                "function_tool_approvals": [
                    {"agent": {"name": "other"}, "tool_key": "pay", "decision": {"approved": True}}
                ]
            },
            ["waiting", "waiting"],
            "suspended",
        ),
        ({"function_tool_approvals": "odd", "approvals": [1]}, ["waiting", "waiting"], "suspended"),
    ],
)
def test_decisions(context: dict[str, Any], statuses: list[str], status: str, tmp_path: Path) -> None:
    state = run_state(BATCH, [output("c1"), output("c3")], interrupted(asked("c2"), asked("c4")), context=context)
    found = opened(tmp_path, state)
    assert [one[2] for one in pending(found)] == statuses
    assert found.run.status == status
    assert found.run.reason == ("approval" if "waiting" in statuses else "tools")
    if "rejection_messages" in str(context):
        assert found.state is not None
        assert "not that one" in str((found.state.pending or ())[1].note)


def test_agents_that_are_tools_keep_their_own_decisions(tmp_path: Path) -> None:
    inner = run_state([[call("i1", "pay")]], [], interrupted(asked("i1", agent="sub")))
    inner["context"] = {
        "function_tool_approvals": [{"agent": {"name": "sub"}, "tool_key": "pay", "decision": {"approved": ["i1"]}}],
        "tool_invocations": {"i1": {"executed": False}},
    }
    inner["last_processed_response"] = {"functions": [{"tool": {"name": "pay", "description": "Pays."}}]}
    processed = {"functions": [{"tool_call": call("c1", "ask"), "tool": {"name": "ask"}, "agent_run_state": inner}]}
    state = run_state(
        [[call("c1", "ask"), call("c2", "pay")]],
        [],
        interrupted(asked("i1", agent="sub"), asked("c2")),
        last_processed_response=processed,
        context={"tool_invocations": {"c1": {"executed": True, "completed": False}}},
    )
    found = opened(tmp_path, state)
    assert pending(found) == [("ask", "c1", "ready"), ("pay", "c2", "waiting"), ("pay", "i1", "approved")]
    assert [(tool.name, tool.description) for tool in found.definition.tools or ()] == [("ask", None), ("pay", "Pays.")]


def test_ends_and_breaks(tmp_path: Path) -> None:
    done = opened(tmp_path, run_state([[call("c1")], [said("all read")]], [output("c1")]))
    assert (done.run.status, done.resume.reasons) == ("completed", ("terminal",))
    assert done.state is not None
    assert (done.state.messages or ())[-1].text == "all read"
    assert pending(done) == []
    cut = opened(tmp_path, run_state([[call("c1")]], []))
    assert cut.run.status == "interrupted"
    assert pending(cut) == [("read", "c1", "ambiguous")]
    context = {"tool_invocations": {"c1": {"executed": False, "completed": False}}}
    assert pending(opened(tmp_path, run_state([[call("c1")]], [], context=context))) == [("read", "c1", "ready")]
    begun = opened(tmp_path, run_state([], [], original_input="go"))
    assert (begun.run.status, begun.run.steps) == ("interrupted", 0)


def test_one_id_again_and_again(tmp_path: Path) -> None:
    state = run_state([[call("c")], [call("c")], [said("x")]], [output("c", "first"), output("c", "second")])
    found = opened(tmp_path, state)
    assert found.state is not None
    assert [message.text for message in found.state.messages or ()] == ["go", None, "first", None, "second", "x"]
    assert found.problems == []


def test_what_is_odd_is_told(tmp_path: Path) -> None:
    orphan = opened(tmp_path, run_state([[call("c1")]], [output("c1"), output("ghost")]))
    assert "ghost" in told(orphan)
    text = opened(tmp_path, run_state([[call("c2", "pay")]], [], interrupted(asked("c2", arguments="{n: 1"))))
    assert text.state is not None
    assert (text.state.pending or ())[0].arguments == "{n: 1"
    assert "no JSON" in told(text)
    twice = opened(
        tmp_path, run_state([[call("c2", "pay")]], [], interrupted(asked("c2", arguments='{"n": 1, "n": 9}')))
    )
    assert "given twice" in told(twice)
    nested = opened(tmp_path, run_state([[call("c1", "ask_agent")]], [], interrupted(asked("inner", agent="sub"))))
    assert pending(nested) == [("ask_agent", "c1", "ambiguous"), ("pay", "inner", "waiting")]


@pytest.mark.parametrize(
    ("version", "sound"),
    [("1.0", True), ("1.21", True), ("1.22", False), ("2.0", False), ("1.99", False), ("", False), ("1", False)],
)
def test_versions(version: str, sound: bool, tmp_path: Path) -> None:
    assert known(version) == sound
    state = run_state(BATCH, [output("c1"), output("c3")], interrupted(asked("c2"), asked("c4")))
    found = opened(tmp_path, state | {"$schemaVersion": version})
    assert found.run.steps == 4
    assert found.resume.reasons == (() if sound else ("version_unsupported",))
    told = [problem.message for problem in found.problems if "of the schema is not known" in problem.message]
    assert len(told) == (0 if sound else 1)


def test_items_of_many_kinds() -> None:
    items = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image"}]},
        {"type": "reasoning", "summary": []},
        {"type": "web_search_call", "id": "ws"},
        {"type": "computer_call", "call_id": "k", "action": {"type": "click"}},
        {"type": "local_shell_call", "call_id": "s", "action": {"command": ["ls"]}},
        {"type": "computer_call_output", "call_id": "k", "output": {"type": "computer_screenshot"}},
        {"type": "mcp_approval_request", "id": "m"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        "odd",
    ]
    found = list(messages_of(items))
    rows = [
        (message.role, message.text, [one.name for one in message.calls or ()], message.call_id) for message in found
    ]
    assert rows == [
        ("system", "be kind", [], None),
        ("user", "look\n[input_image]", [], None),
        ("assistant", "[web_search_call]", ["computer", "local_shell"], None),
        ("tool", '{"type":"computer_screenshot"}', [], "k"),
        ("assistant", "no", [], None),
        ("?", "odd", [], None),
    ]


def test_torn_states(tmp_path: Path) -> None:
    whole = json.dumps(run_state(BATCH, [output("c1")], interrupted(asked("c2")))).encode()
    found = opened(tmp_path, whole[: whole.index(b'"session_items"')])
    assert found.run.status == "interrupted"
    assert found.resume.reasons == ("value_unreadable",)
    assert "breaks off" in told(found)


def session(path: Path, *rows: tuple[str, Any], table: str = "agent_messages") -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at, updated_at)")
        database.execute(
            f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at)"
        )
        for name in dict.fromkeys(name for name, _ in rows):
            database.execute(
                "INSERT INTO agent_sessions VALUES (?, '2026-01-01 00:00:00', '2026-01-01 00:05:00')", (name,)
            )
        data = [(name, item if isinstance(item, str | bytes | int) else json.dumps(item)) for name, item in rows]
        database.executemany(f"INSERT INTO {table} (session_id, message_data) VALUES (?, ?)", data)
    database.close()
    return path


GO = {"role": "user", "content": "go"}


def test_a_session(tmp_path: Path) -> None:
    items = [
        GO,
        call("c1"),
        call("c2"),
        output("c2"),
        output("c1"),
        said("half"),
        {"role": "user", "content": "on"},
        call("c3", "pay"),
    ]
    path = session(tmp_path / "s.db", *(("s1", item) for item in items), table="my_messages")
    found = shown(open_path(str(path)))
    assert (found.run.id, found.run.status, found.run.started) == ("s1", "interrupted", "2026-01-01T00:00:00")
    assert [(step.kind, step.status) for step in found.steps] == [
        ("model", "done"),
        ("tools", "done"),
        ("model", "done"),
        ("input", "done"),
        ("model", "done"),
        ("tools", "pending"),
    ]
    assert pending(found) == [("pay", "c3", "ambiguous")]
    assert found.state is not None
    assert [message.role for message in found.state.messages or ()][:3] == ["user", "assistant", "tool"]
    assert (found.resume.possible, found.resume.reasons) == (False, ("not_resumable",))
    assert "no zone" in told(found)
    assert [tool.name for tool in found.definition.tools or ()] == ["read", "pay"]


def test_several_sessions_in_turns(tmp_path: Path) -> None:
    rows = [
        ("a", GO),
        ("b", GO),
        ("a", call("c1")),
        ("b", said("b done")),
        ("a", output("c1")),
        ("a", said("a done")),
        ("c\x1b", GO),
    ]
    runs = open_path(str(session(tmp_path / "s.db", *rows)))
    listed = [(row.id, row.status, row.steps) for row in runs.rows()]
    assert listed == [("a", "completed", 3), ("b", "completed", 1), ("c\\u001b", "interrupted", 0)]
    found = shown(runs, run_id="a")
    assert found.state is not None
    assert [message.text for message in found.state.messages or ()] == ["go", None, "ok", "a done"]
    assert shown(runs, run_id="c\\u001b").run.steps == 0
    with pytest.raises(InspectorError):
        runs.open()
    with pytest.raises(InspectorError):
        runs.open("d")


def test_damaged_rows_keep_their_place(tmp_path: Path) -> None:
    rows = [
        ("a", GO),
        ("a", '{"type": "function'),
        ("a", "[1]"),
        ("a", 17),
        ("a", b"\xff\xfe"),
        ("a", said("x")),
        ("a", output("z")),
    ]
    found = shown(open_path(str(session(tmp_path / "s.db", *rows))))
    assert found.state is not None
    assert len(found.state.messages or ()) == 7
    assert found.run.steps == 2
    assert "row 2" in told(found)
    assert "row 5" in told(found)
    assert "z, which nobody called" in told(found)


def test_many_rows_are_read_in_batches(tmp_path: Path) -> None:
    rows = [("a", GO)] + [("a", item) for number in range(700) for item in (call(f"c{number}"), output(f"c{number}"))]
    run = open_path(str(session(tmp_path / "s.db", *rows))).open()
    progress = list(run.index())
    assert [done for done, _ in progress] == [500, 1000, 1401]
    assert len(run) == 1400
    state = run.state(1399)
    assert state is not None
    assert [one.call_id for one in state.pending or ()] == ["c699"]
    assert [hit for hit in run.find("c650", 1) if isinstance(hit, int)] == [1301, 1302]


def test_any_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = run_state(
        BATCH, [output("c1"), output("c3")], interrupted(asked("c2"), asked("c4")), context=decided(approved=["c2"])
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    opened, _ = fuzz(json.dumps(state).encode(), scratch, count=20, seconds=20)
    assert opened
    items = [GO, call("c1"), output("c1"), said("x"), GO, call("c2")]
    path = session(tmp_path / "s.db", *(("s1", item) for item in items), ("s2", GO))
    opened, _ = fuzz(path, scratch, count=15, seconds=20)
    assert opened
    monkeypatch.setattr(document, "WHOLE_LIMIT", 0)
    fuzz(json.dumps(state).encode(), scratch, count=10, seed=1, seconds=20)


@pytest.mark.parametrize("index", ["", "CREATE INDEX by_time ON agent_messages (session_id, created_at)"])
def test_a_session_is_not_read_whole_for_each_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str) -> None:
    work: list[None] = []
    count = lambda sqlite, _: sqlite.set_progress_handler(lambda: work.append(None), 100)  # noqa: E731
    monkeypatch.setattr(sqlitefile, "_limit", count)

    def read(sessions: int, items: int) -> int:
        rows = [(f"s{number}", GO) for _ in range(items) for number in range(sessions)]
        path = session(tmp_path / f"{sessions} {items}.db", *rows)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(index)
        runs = open_path(str(path))
        work.clear()
        for row in runs.rows():
            assert list(runs.open(row.id).index())[-1] == (items, items)
        return len(work)

    assert read(1, 12_000) < 8 * read(1, 3000)
    assert read(400, 4) < 6 * read(100, 4)
