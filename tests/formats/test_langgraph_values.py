"""The values of LangGraph stores: every serializer, and nothing that a file names is imported or called."""

import json
import os
import pickle
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector.formats import open_path
from inspector.formats.msgpackdata import careful
from inspector.formats.problems import Problems
from inspector.formats.readers.langgraph import messages
from inspector.formats.readers.langgraph.pending import failure
from inspector.formats.readers.langgraph.serde import Reading
from inspector.model.run import Call, Message, State
from inspector.model.source import RunSource
from inspector.model.values import Value, tag, to_json
from tests.formats.langgraph_stores import ABSENT, Base, Thread, ai, ext, human, interrupt, packed, result, send
from tests.fuzz import check, fuzz

EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph-interrupted.db"


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "store.db")


def opened(base: Base) -> RunSource:
    base.close()
    assert check(base.path)
    return open_path(str(base.path)).open()


def last(run: RunSource) -> State:
    found = run.state(len(run))
    assert found is not None
    return found


def load(kind: Any, data: object) -> tuple[Value, list[str]]:
    problems = Problems()
    value = Reading("here", problems).load(kind, data)
    assert all(problem.where.startswith("here") for problem in problems)
    return value, [problem.message for problem in problems]


def msgpack(value: Any) -> tuple[Value, list[str]]:
    return load("msgpack", msgspec.msgpack.encode(value))


def test_every_extension() -> None:
    order = ext(
        2,
        "shop",
        "Order",
        {"sku": "A-1", "when": ext(3, "datetime", "datetime", "2026-11-01T12:00:00", "fromisoformat")},
    )
    customer = ext(5, "shop", "Customer", {"tags": ext(0, "builtins", "set", ["vip"])}, "model_validate_json")
    values = {
        "order": order,
        "customer": customer,
        "old": ext(4, "shop", "Old", {"a": 1}),
        "colour": ext(0, "shop", "Colour", "blue"),
        "decimal": ext(0, "decimal", "Decimal", "1.10"),
        "path": ext(1, "pathlib", "PosixPath", ["/", "tmp"]),
        "array": ext(6, "<f8", [2], "C", b"\x00" * 16),
        "token": send("worker", {"n": 1}),
        "odd": msgspec.msgpack.Ext(77, b"\x01\x02"),
        5: "int key",
        "big": 2**63,
        "nan": float("nan"),
    }
    value, problems = msgpack(values)
    assert value["order"] == {
        "$type": "object",
        "class": "shop:Order",
        "state": {"sku": "A-1", "when": {"$type": "datetime", "iso": "2026-11-01T12:00:00"}},
    }
    assert value["customer"]["state"] == {"tags": {"$type": "set", "items": ["vip"]}}
    assert value["old"] == {"$type": "object", "class": "shop:Old", "state": {"a": 1}}
    assert value["colour"] == {"$type": "object", "class": "shop:Colour", "state": "blue"}
    assert value["decimal"] == {"$type": "decimal", "text": "1.10"}
    assert value["path"] == {"$type": "path", "path": "/tmp"}
    assert (value["array"]["dtype"], value["array"]["shape"]) == ("<f8", [2])
    assert value["token"]["state"] == ["worker", {"n": 1}]
    assert value["odd"] == {"$type": "ext", "code": 77, "base64": "AQI="}
    assert (value["5"], value["big"]) == ("int key", 2**63)
    assert '"nan":{"$type":"number","text":"NaN"}' in to_json(value)
    assert problems == []


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (ext(0, "os", "system", "touch /tmp/x"), "os.system"),
        (ext(1, "subprocess", "Popen", [["true"]]), "subprocess.Popen"),
        (ext(2, "builtins", "eval", {"source": "1"}), "builtins.eval"),
        (ext(3, "shop", "Order", "x", "drop_all"), "shop.Order.drop_all"),
        (ext(3, "datetime", "datetime", "x", "strptime"), "datetime.datetime.strptime"),
        (ext(5, "os", "system", {}, "model_validate_json"), "os.system"),
        (ext(5, "shop", "Order", {}, "run"), "shop.Order"),
        (ext(0, "shop", "wipe", None), "shop.wipe"),
    ],
)
def test_what_names_code_is_data_and_said(part: Any, name: str) -> None:
    value, problems = msgpack({"deep": [part]})
    assert value["deep"][0]["$type"] == "object"
    assert len(problems) == 1
    assert f"names the function {name}" in problems[0]


def test_a_time_of_another_class_is_a_value() -> None:
    value, problems = msgpack({"at": ext(3, "pandas", "Timestamp", "2026-01-02T00:00:00", "fromisoformat")})
    assert value == {"at": tag("object", **{"class": "pandas:Timestamp"}, state="2026-01-02T00:00:00")}
    assert problems == []
    _, problems = msgpack([ext(3, "os", "system", "true", "fromisoformat")])
    assert len(problems) == 1


def test_what_names_code_again_and_again_is_said_some_times() -> None:
    _, problems = msgpack([ext(0, "os", "system", str(number)) for number in range(2000)])
    assert len(problems) == Problems.LIMIT + 1
    assert "not listed" in problems[-1]


def test_hostile_state_is_shown(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"plan": ext(0, "os", "system", "touch /tmp/fooled")}, then=["a"])
    run = opened(base)
    assert last(run).values == {"plan": tag("object", **{"class": "os:system"}, state="touch /tmp/fooled")}
    (problem,) = run.problems()
    assert problem.severity == "error"
    assert "os.system" in problem.message
    assert problem.where == f"store.db checkpoint {thread.id}"


@pytest.mark.parametrize(
    "parts", [None, [], ["a"], ["a", "b"], [1, 2, 3], {"a": 1}, "text", ["m", 3, []], ["m", "N", None, ["x"]]]
)
@pytest.mark.parametrize("code", range(8))
def test_extensions_of_any_shape(code: int, parts: Any) -> None:
    value, _ = msgpack([msgspec.msgpack.Ext(code, msgspec.msgpack.encode(parts))])
    assert isinstance(value, list)
    to_json(value)


def test_types() -> None:
    assert load("null", b"") == (None, [])
    assert load("bytes", b"ab") == (tag("bytes", base64="YWI="), [])
    assert load("bytearray", b"ab")[0]["$type"] == "bytearray"
    assert load("json", b'{"a": [1, 2.50]}')[0]["a"][0] == 1
    assert load("json", '{"text": "cell"}') == ({"text": "cell"}, [])
    value, problems = load("msgpack+aes", b"\x01" * 40)
    assert value == tag("encrypted", cipher="aes", bytes=40)
    assert "encrypted (aes)" in problems[0]
    value, problems = load("rot13", b"abc")
    assert value["$type"] == "unreadable"
    assert "unknown type" in problems[0]
    for kind, data in ((None, b"x"), ("msgpack", None), ("msgpack", 7), (3, b""), (None, None)):
        value, problems = load(kind, data)
        assert value["$type"] == "unreadable"
        assert len(problems) == 1
    value, problems = load("msgpack", b"\x92\x01")
    assert value == [1]
    assert "damaged at byte 2" in problems[0]
    value, problems = load("json", b'{"a": 1, "b"')
    assert value == {"a": 1}
    assert "damaged" in problems[0]


class Bomb:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/fooled-by-pickle",)


def test_pickle_is_not_loaded() -> None:
    value, problems = load("pickle", pickle.dumps({"v": 4, "bomb": Bomb()}))
    assert value["v"] == 4
    assert "system" in problems[0]
    assert not Path("/tmp/fooled-by-pickle").exists()
    value, problems = load("pickle", b"no pickle")
    assert len(problems) == 1


def pickled(value: Any) -> tuple[str, bytes]:
    return ("null", b"") if value is None else ("pickle", pickle.dumps(value))


def test_pickled_store(base: Base) -> None:
    thread = Thread(base, pack=pickled)
    thread.input({})
    thread.start({"pair": (1, 2)}, then=["a"])
    thread.wrote("a", {"__interrupt__": ({"question": "?"},)})
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__"]
    assert last(run).values == {"pair": tag("tuple", items=[1, 2])}
    (one,) = last(run).pending or ()
    assert (one.status, one.arguments) == ("waiting", {"question": "?"})


def constructor(*names: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": list(names), "kwargs": fields}


def test_json_store(base: Base) -> None:
    """As the first versions, and those for JavaScript, write them."""

    def written(value: Any) -> tuple[str, bytes]:
        return "json", json.dumps(value).encode()

    thread = Thread(base, pack=written, version=1)
    thread.input({})
    asked = constructor(
        "langchain", "schema", "messages", "AIMessage", content="hi", tool_calls=[{"name": "f", "args": {}, "id": "c1"}]
    )
    told = constructor("langchain_core", "messages", "HumanMessage", content="go")
    token = {
        "lc": 2,
        "type": "constructor",
        "id": ["langgraph", "constants", "Send"],
        "kwargs": {"node": "w", "arg": 1},
    }
    bad = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]}
    thread.start({"messages": [told, asked], "bad": bad}, then=["a"])
    thread.ran({"a": {}}, sends=[token])
    run = opened(base)
    assert [(one.role, one.text) for one in last(run).messages or ()] == [("user", "go"), ("assistant", "hi")]
    assert [(one.name, one.arguments) for one in last(run).pending or ()] == [("w", 1), ("f", {})]
    assert any("os.system" in problem.message for problem in run.problems())
    assert run.run().started == "2026-11-29T13:08:02.000000+00:00"


def encrypted(value: Any) -> tuple[str, bytes]:
    kind, data = packed(value)
    return f"{kind}+aes", bytes(byte ^ 0x5A for byte in data) + b"0123456789abcdef"


def test_encrypted_store(base: Base) -> None:
    thread = Thread(base, pack=encrypted)
    thread.input({})
    thread.start({"secret": "swordfish"}, then=["plan"])
    thread.ran({"plan": {"secret": "swordfish"}}, then=["approve", "other"])
    thread.wrote("approve", {"__interrupt__": [interrupt("?")]})
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__", "plan"]
    assert run.steps(3, 4)[0].summary == "secret: encrypted"
    assert (run.run().status, run.run().reason) == ("suspended", "input")
    assert run.run().started is not None, "the id of a checkpoint says when it was made"
    assert last(run).values is None
    assert [(one.kind, one.name, one.status) for one in last(run).pending or ()] == [
        ("input", "approve", "waiting"),
        ("node", "other", "ambiguous"),
    ]
    assert any("encrypted (aes)" in problem.message for problem in run.problems())
    assert run.resume().reasons == ("value_unreadable",)


def test_why_an_encrypted_run_failed_is_not_told(base: Base) -> None:
    thread = Thread(base, pack=encrypted)
    thread.input({})
    thread.start({}, then=["bad"])
    thread.wrote("bad", {"__error__": "ValueError('swordfish')"})
    error = opened(base).run().error
    assert error is not None
    assert (error.type, error.message, error.where) == (None, "the reason is encrypted (aes)", ("bad",))


def test_encrypted_end_is_not_known_to_be_one(base: Base) -> None:
    thread = Thread(base, pack=encrypted)
    thread.input({})
    thread.start({}, then=["plan"])
    thread.ran({"plan": {}})
    assert opened(base).run().status == "unknown"


def test_delta_channels(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.metadata = {"counters_since_delta_snapshot": {"log": [1, 1]}}
    thread.start({"log": ABSENT, "n": 0}, then=["w"])
    thread.metadata = {}
    thread.values["log"] = ext(7, ["one", "two"])
    thread.ran({"w": {"n": 1}}, then=["w"])
    thread.metadata = {"counters_since_delta_snapshot": {"log": [2, 2]}}
    thread.wrote("w", {"log": ["three"]})
    del thread.values["log"]
    thread.ran({"w": {"n": 2}}, then=["w"], stored=False)
    thread.wrote("w", {"log": ["four"]})
    thread.ran({"w": {"n": 3}}, stored=False)
    run = opened(base)
    assert last(run).values == {
        "n": 3,
        "log": {
            "$type": "delta",
            "text": "delta: 2 writes since the snapshot of step 3",
            "snapshot": ["one", "two"],
            "writes": [["three"], ["four"]],
        },
    }
    whole, early = run.state(3), run.state(2)
    assert whole is not None
    assert whole.values == {"n": 1, "log": ["one", "two"]}
    assert early is not None
    assert early.values is not None
    assert early.values["log"]["text"].startswith("delta: 0 writes since the start")


def test_damaged_and_odd_rows(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    cut = packed({"v": 4, "ts": "2026-11-29T13:08:02+00:00", "channel_values": {"x": "text that is cut"}})[1][:-5]
    base.checkpoint(("t", "", "2", thread.id), "msgpack", cut, b'{"source": "loop", ')
    base.checkpoint(("t", "", "3", "2"), "msgpack", msgspec.msgpack.encode([1]), b"[]")
    base.checkpoint(("t", "", "4", "3"), None, None, None)
    base.checkpoint(("t", "", "5", "5"), "msgpack", b"\xc1", b"null")
    base.write(("t", "", "5"), "task", "~__pregel_pull, a, b", 0, "x", "msgpack", b"\xc1")
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["input", "?", "?", "?", "?"]
    for step in range(6):
        assert run.state(step) is not None
    said = [problem.message for problem in run.problems()]
    assert any("breaks off" in message for message in said)
    assert any("is no checkpoint" in message for message in said)
    assert last(run).pending is not None


def test_ids_of_any_kind(base: Base) -> None:
    kind, data = packed({"v": 4, "channel_values": {"x": 1}, "channel_versions": {}, "versions_seen": {}})
    base.connection.execute("DROP TABLE checkpoints")
    base.connection.execute(
        "CREATE TABLE checkpoints "
        "(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)"
    )
    for thread_id in (None, 7, 1.5, b"\xff\x00", "\x1b[2Jevil", "a\nb", "", "'; DROP TABLE checkpoints; --"):
        base.checkpoint((thread_id, "", "1", None), kind, data, b"{}")
        base.checkpoint((thread_id, None, 2, 1), kind, data, b"{}")
    base.connection.execute(
        "INSERT INTO checkpoints VALUES (CAST(x'61ff' AS TEXT), '', CAST(x'ff' AS TEXT), NULL, ?, ?, NULL)",
        (kind, data),
    )
    base.close()
    assert check(base.path)
    runs = open_path(str(base.path))
    ids = [row.id for row in runs.rows()]
    assert len(ids) == 17
    assert "\\u001b[2Jevil" in ids
    for run_id in ids:
        run = runs.open(run_id)
        assert len(run) == 1
        assert last(run).values == {"x": 1}


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("ValueError('plain')", "ValueError", "plain"),
        ('ValueError("it\'s")', "ValueError", "it's"),
        (r"app.Wrong('a\nb\\c')", "app.Wrong", "a\nb\\c"),
        ("KeyError(3)", "KeyError", "3"),
        ("Wrong('a', 'b')", "Wrong", "'a', 'b'"),
        (r"Wrong('\x1b[2J')", "Wrong", r"'\x1b[2J'"),
        ("Stop()", "Stop", None),
        ("just text", None, "just text"),
        ({"a": 1}, None, '{"a": 1}'),
        (tag("object", **{"class": "app:Wrong"}, state={"args": [1]}), "Wrong", '{"args": [1]}'),
    ],
)
def test_what_an_error_says(text: Value, kind: str | None, message: str | None) -> None:
    found = failure(text)
    assert (found.type, found.message) == (kind, message)


def one(value: Any) -> Message | None:
    return messages.message(msgpack(value)[0])


def test_messages_in_every_form() -> None:
    assert one(human("hi")) == Message(role="user", text="hi")
    assert one({"type": "ai", "content": "x"}) == Message(role="assistant", text="x")
    assert one({"role": "developer", "content": None}) == Message(role="system")
    assert one(["user", "hi"]) == Message(role="user", text="hi")
    assert one(result("c1", "ok")) == Message(role="tool", text="ok", call_id="c1")
    assert one(ext(5, "x", "AIMessageChunk", {"content": "c", "type": "AIMessageChunk"})) == Message(
        role="assistant", text="c"
    )
    assert one(ext(5, "x", "ChatMessage", {"content": "c", "type": "chat", "role": "critic"})) == Message(
        role="critic", text="c"
    )
    blocks = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {}}, "and", {"type": "tool_use"}, 3]
    assert one(ai(blocks)) == Message(role="assistant", text="see\n[image_url]\nand\n[3]")
    spoken = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1.50}'}}],
    }
    made = one(spoken)
    assert made is not None
    assert [(call.name, call.call_id, to_json(call.arguments)) for call in made.calls or ()] == [
        ("f", "c", '{"a":1.50}')
    ]
    for value in (
        None,
        3,
        "x",
        [],
        ["user"],
        [["user"], "x"],
        {},
        {"content": "x"},
        {"type": "event", "content": "x"},
        send("a", 1),
    ):
        assert one(value) is None


def test_arguments_that_are_no_json_are_said() -> None:
    said: list[str] = []
    broken = {"content": "", "invalid_tool_calls": [{"name": "f", "args": "{not", "id": "c"}]}
    assert messages.calls(broken, said.append) == [Call(name="f", call_id="c", arguments="{not")]
    assert said == ["the arguments of a call are no JSON: {not"]


def test_conversation_may_have_another_name() -> None:
    values = {"n": [1], "chat": [{"role": "user", "content": "hi"}], "empty": []}
    found = messages.conversation(values)
    assert found is not None
    assert (found[0], len(found[1])) == ("chat", 1)
    assert messages.conversation({"messages": []}) == ("messages", [])
    assert messages.conversation({"messages": [1], "x": []}) is None


def test_results_that_answer_nothing_are_said(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"messages": [human("a"), result("c9", "whose?")]}, then=["a"])
    run = opened(base)
    last(run)
    assert "a result for c9, which nobody called" in run.problems()[0].message


def test_no_runs(base: Base) -> None:
    base.close()
    runs = open_path(str(base.path))
    assert list(runs.rows()) == []
    assert check(base.path)


def test_store_without_writes(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"x": 1}, then=["a"])
    base.connection.execute("DROP TABLE writes")
    run = opened(base)
    assert [step.name for step in run.steps(1, 9)] == ["input", "__start__"]
    assert [one.name for one in last(run).pending or ()] == ["a"]


@pytest.mark.parametrize("table", ["checkpoints", "writes"])
def test_a_column_that_stands_for_row_ids(base: Base, table: str) -> None:
    Thread(base, "t").input({"a": 1})
    base.close()
    with closing(sqlite3.connect(base.path)) as database, database:
        database.execute(f"ALTER TABLE {table} ADD COLUMN RowId TEXT")
    database.close()
    assert check(base.path) == (table == "writes")


def test_a_page_of_rubbish_leaves_the_rest(base: Base) -> None:
    thread = Thread(base)
    thread.input({})
    thread.start({"x": "y" * 900}, then=["a"])
    for _ in range(40):
        thread.ran({"a": {"x": "y" * 900}}, then=["a"])
    base.close()
    data = bytearray(base.path.read_bytes())
    data[8 * 4096 : 9 * 4096] = struct.pack(">I", 0xDEADBEEF) * 1024
    base.path.write_bytes(data)
    assert check(base.path)
    run = open_path(str(base.path)).open()
    assert 20 < len(run) <= 42
    assert "damaged" in run.problems()[0].message


@pytest.mark.parametrize("seed", range(3))
def test_damage(base: Base, tmp_path: Path, seed: int) -> None:
    thread = Thread(base)
    thread.input({"messages": [["user", "x"]]})
    asked = ai("calls", ("c1", "f", {"a": 1}), usage_metadata={"input_tokens": 1})
    thread.start({"messages": [human("x"), asked]}, then=["a", "b"])
    thread.ran({"a": {"x": ext(0, "builtins", "set", [1])}, "b": {}}, sends=[send("w", {"n": 1}), send("w", 2)])
    thread.wrote("w", {"messages": [result("c1", "r")]}, path="~__pregel_push, 0000000000, 0000000000", task="w0")
    thread.wrote("w", {"__error__": "E('x')"}, path="~__pregel_push, 0000000001, 0000000000", task="w1")
    thread.resumed({"a": 1})
    base.connection.execute("PRAGMA page_size = 512")
    base.connection.execute("VACUUM")
    base.close()
    fuzz(base.path, tmp_path, count=8, seed=seed)


def test_damage_of_a_real_store(tmp_path: Path) -> None:
    opened, refused = fuzz(EXAMPLE, tmp_path, count=12)
    assert opened > refused


def test_the_example_says_what_it_shows() -> None:
    runs = open_path(str(EXAMPLE))
    assert [(row.id, row.status, row.reason) for row in runs.rows()] == [
        ("drill", "completed", None),
        ("day-shift", "failed", None),
        ("night-shift", "suspended", "input"),
    ]
    with closing(sqlite3.connect(f"file:{EXAMPLE}?immutable=1", uri=True)) as connection, connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
    assert "branches off step 5" in (runs.open("drill").steps(9, 10)[0].summary or "")


def test_a_dict_that_looks_like_a_tag_is_shown_as_its_pairs() -> None:
    mine = {"$type": "cut", "deep": [{"$type": "unknown"}]}
    shown = tag("dict", items=[["$type", "cut"], ["deep", [tag("dict", items=[["$type", "unknown"]])]]])
    assert msgpack({"last": mine, "other": 1}) == ({"last": shown, "other": 1}, [])
    assert careful(msgspec.msgpack.encode(mine), lambda code: None) == shown
    assert load("json", to_json(mine)) == (shown, [])
    assert load("pickle", pickle.dumps(mine)) == (shown, [])
