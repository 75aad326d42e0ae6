import base64
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.errors import UnreadableError, UsageError
from inspector.formats import linefile, open_path
from inspector.formats.readers.opentelemetry import parts, units
from inspector.formats.readers.opentelemetry.grouped import Grouped
from inspector.formats.readers.opentelemetry.parents import Parents, Table
from inspector.formats.readers.opentelemetry.parts import cut, snake
from inspector.formats.readers.opentelemetry.run import Sorted, Trace
from inspector.formats.readers.opentelemetry.span import hexadecimal, instant, moment
from inspector.model.run import RunError, Usage
from inspector.report.view import view
from tests.fuzz import TIMES, check, fuzz

DATA = Path(__file__).parent.parent / "data" / "opentelemetry"
TRACE = "5b8aa5a2d2c872e8321cf37308d69df2"
BEGIN = 1_795_950_000_000_000_000


def span(number: int, name: str = "part", *, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    """A span of OTLP that begins `number` milliseconds in and lasts one."""
    found = {
        "traceId": TRACE,
        "spanId": f"b{number:015x}",
        "name": f"{name} {number}",
        "kind": 1,
        "startTimeUnixNano": str(BEGIN + number * 10**6),
        "endTimeUnixNano": str(BEGIN + (number + 1) * 10**6),
        "attributes": [],
        "status": {},
    }
    if parent is not None:
        found["parentSpanId"] = f"b{parent:015x}"
    return found | fields


def attribute(name: str, value: Any) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}


def genai(number: int, operation: str, parent: int | None = 0, **values: Any) -> dict[str, Any]:
    pairs = [("gen_ai.operation.name", operation), *((f"gen_ai.{k.replace('__', '.')}", v) for k, v in values.items())]
    return span(number, operation, parent=parent, attributes=[attribute(*pair) for pair in pairs])


def said(role: str, *contents: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": p} if isinstance(p, str) else p for p in contents]}


def asks(name: str, call_id: str | None, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": [attribute("service.name", "ops")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "cases"}, "spans": spans}]}]}


def lines(*spans: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(otlp(one)).encode() + b"\n" for one in spans)


def opened(path: Path, data: bytes) -> Trace:
    path.write_bytes(data)
    run = open_path(str(path)).open()
    assert isinstance(run, Trace)
    list(run.index())
    return run


def names(run: Trace) -> list[str]:
    return [step.name for step in run.steps(1, len(run) + 1)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


CHAT = (
    genai(
        1,
        "chat",
        request__model="m1",
        input__messages=[said("user", "look")],
        output__messages=[said("assistant", "I look.", asks("read", "c1", path="/a"), asks("wipe", "c2", force=True))],
        tool__definitions=[{"type": "function", "name": "read", "parameters": {"type": "object"}}, {"name": "wipe"}],
        usage__input_tokens=7,
    ),
    genai(3, "execute_tool", tool__name="read", tool__call__id="c1", tool__call__result="text of /a"),
)


# a run


@pytest.mark.parametrize("sample", ["failed.otlp.jsonl", "failed.console.txt"])
def test_a_failed_run_in_two_spellings(sample: str) -> None:
    run = open_path(str(DATA / sample)).open()
    list(run.index())
    found = run.run()
    assert (found.id, found.name, found.kind, found.status) == (
        "d2e4f3e283dd45a01c5ffa52a436ebc2",
        "ops",
        "trace",
        "failed",
    )
    assert found.error is not None
    assert (found.error.type, found.error.message, found.error.step) == ("RuntimeError", "503 for order 4711", 5)
    assert found.error.where == ("invoke_agent ops", "execute_tool explode")
    assert found.usage == Usage(input_tokens=105, output_tokens=14)
    steps = run.steps(1, 6)
    assert [step.kind for step in steps] == ["node", "model", "tools", "model", "tools"]
    assert [step.parent for step in steps] == [None, 1, 1, 1, 1]
    assert (steps[4].status, steps[4].error) == ("failed", "RuntimeError: 503 for order 4711")
    assert run.definition().tools_known == "advertised"
    assert run.problems() == []
    assert run.resume().reasons == ("not_resumable",)


PYTHON = """Traceback (most recent call last):
  File "/srv/old.py", line 3, in read
    raise KeyError("a")
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app.py", line 7, in <module>
    main()
  File "/srv/app.py", line 5, in main
    raise OSError("full")
OSError: full
"""
JAVA = "IOException: full\n\tat a.B.c(B.java:5)\n\tat a.Main.main(Main.java:7)\nCaused by: x\n\tat o.P.q(P.java:1)\n"


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (PYTHON, ("/srv/app.py:7 in <module>", "/srv/app.py:5 in main")),
        (JAVA, ("a.Main.main(Main.java:7)", "a.B.c(B.java:5)")),
        ("full", None),
    ],
)
def test_where_in_the_code_a_failure_comes_from(path: Path, stack: str, expected: tuple[str, ...] | None) -> None:
    event = {"name": "exception", "attributes": [attribute("exception.stacktrace", stack)]}
    run = opened(path, lines(genai(0, "invoke_agent", None) | {"status": {"code": 2}, "events": [event]}))
    error = run.run().error
    assert error is not None
    assert error.frames == expected


def test_the_kind_of_a_failure_without_an_exception(path: Path) -> None:
    """`error.type` says it, where no exception was recorded."""
    failed = {"status": {"code": 2, "message": "the disk is full"}}
    tool = genai(1, "execute_tool", tool__name="read") | failed
    tool["attributes"].append(attribute("error.type", "OSError"))
    run = opened(path, lines(genai(0, "invoke_agent", None) | failed, tool))
    error = run.run().error
    assert error is not None
    assert (error.type, error.message, error.step) == ("OSError", "the disk is full", 2)
    assert run.steps(2, 3)[0].error == "OSError: the disk is full"


def test_an_approval_that_the_run_itself_names() -> None:
    run = open_path(str(DATA / "pending.base64.jsonl")).open()
    list(run.index())
    assert (run.run().id, run.run().status, run.run().reason) == (
        "a9be14147a7c6c5d768577762cae5620",
        "suspended",
        "approval",
    )
    state = run.state(len(run))
    assert state is not None
    assert state.pending is not None
    ((pending),) = state.pending
    assert (pending.call_id, pending.status, pending.arguments) == (
        "c2",
        "waiting",
        {"path": "/var/old.log", "force": True},
    )


def test_the_prompt_stands_until_the_first_answer(path: Path) -> None:
    run = opened(path, lines(genai(0, "invoke_agent", None), *CHAT))
    for step in (0, 1):
        state = run.state(step)
        assert state is not None
        assert [message.text for message in state.messages or ()] == ["look"]
        assert (state.step, state.pending) == (step, ())


@pytest.mark.parametrize("kind", ["reasoning", "thinking"])
def test_what_a_model_thought_is_told_from_what_it_said(path: Path, kind: str) -> None:
    answer = said("assistant", {"type": kind, "content": "hm"}, "Done.")
    run = opened(path, lines(genai(0, "chat", None, output__messages=[answer])))
    state = run.state(1)
    assert state is not None
    assert [message.text for message in state.messages or ()] == ["[reasoning: hm]\nDone."]


def test_states_follow_the_calls(path: Path) -> None:
    run = opened(path, lines(*CHAT, genai(0, "invoke_agent", parent=None)))
    states = [run.state(seq) for seq in range(4)]
    assert [[row.call_id for row in state.pending or ()] if state else None for state in states] == [
        [],
        [],
        ["c1", "c2"],
        ["c2"],
    ]
    assert states[0] is not None
    assert states[0].messages is not None
    assert [message.text for message in states[0].messages] == ["look"]
    assert states[0].values == {"service.name": "ops"}
    last = states[3]
    assert last is not None
    assert last.messages is not None
    assert last.pending is not None
    assert [(message.role, message.text, message.call_id) for message in last.messages] == [
        ("user", "look", None),
        ("assistant", "I look.", None),
        ("tool", "text of /a", "c1"),
    ]
    assert (last.pending[0].status, last.pending[0].note) == ("ready", "the run ended without a span for it")
    definition = run.definition()
    assert (definition.tools_known, definition.model) == ("advertised", "m1")
    assert [tool.name for tool in definition.tools or ()] == ["read", "wipe"]
    assert definition.tools is not None
    assert definition.tools[0].schema == {"type": "object"}
    assert run.steps(2, 3)[0].summary == 'I look. → read({"path": "/a"}), wipe({"force": true})'


def nested(end: int) -> tuple[dict[str, Any], ...]:
    """An agent that asks for two calls, of which the first is an agent with a conversation of its own."""
    outer = [said("assistant", asks("helper", "c1"), asks("wipe", "c2"))]
    inner = [said("assistant", asks("read", "d1"), asks("read", "d2"))]
    later = {"endTimeUnixNano": str(BEGIN + end * 10**6)}
    return (
        genai(1, "chat", input__messages=[said("user", "look")], output__messages=outer),
        genai(3, "execute_tool", tool__name="helper", tool__call__id="c1", tool__call__result="helped") | later,
        genai(4, "invoke_agent", 3) | later,
        genai(5, "chat", 4, input__messages=[said("user", "help")], output__messages=inner),
        genai(7, "execute_tool", 4, tool__name="read", tool__call__id="d1", tool__call__result="text"),
    )


@pytest.mark.parametrize("killed", [False, True])
def test_calls_of_the_agent_around_are_still_open(path: Path, killed: bool) -> None:
    spans = nested(20)
    kept = [spans[0], *spans[3:]] if killed else [genai(0, "invoke_agent", parent=None), *spans]
    run = opened(path, lines(*kept))
    state = run.state(len(run))
    assert state is not None
    assert next(message.text for message in state.messages or ()) == "help"
    assert [one.call_id for one in state.pending or ()] == (["d2", "c1", "c2"] if killed else ["d2", "c2"])


def test_a_conversation_is_that_of_the_agent_whose_step_it_is(path: Path) -> None:
    tool = genai(12, "execute_tool", tool__name="wipe", tool__call__id="c2", tool__call__result="wiped")
    run = opened(path, lines(genai(0, "invoke_agent", parent=None), *nested(9), tool))
    state = run.state(len(run))
    assert state is not None
    assert [(one.role, one.call_id) for one in state.messages or ()] == [
        ("user", None),
        ("assistant", None),
        ("tool", "c1"),
        ("tool", "c2"),
    ]
    assert state.pending == ()


def told(run: Trace, step: int) -> tuple[list[tuple[str, str | None]], list[str | None]]:
    """Roles and call ids of the messages after a step, and the calls that are open."""
    state = run.state(step)
    assert state is not None
    return [(one.role, one.call_id) for one in state.messages or ()], [one.call_id for one in state.pending or ()]


@pytest.mark.parametrize("agent", [None, 0])
def test_an_agent_within_a_tool_need_not_have_a_span(path: Path, agent: int | None) -> None:
    first, tool, _, chat, inner = nested(20)
    chat, inner = ({**one, "parentSpanId": tool["spanId"]} for one in (chat, inner))
    wipe = genai(25, "execute_tool", tool__name="wipe", tool__call__id="c2", tool__call__result="wiped")
    root = genai(0, "invoke_agent", None) if agent is not None else span(0, parent=None)
    run = opened(path, lines(root, first, tool, chat, inner, wipe))
    asked = [("user", None), ("assistant", None)]
    assert told(run, 4) == (asked, ["d1", "d2", "c2"])
    assert told(run, 5) == ([*asked, ("tool", "d1")], ["d2", "c2"])
    assert told(run, 6) == ([*asked, ("tool", "c1"), ("tool", "c2")], [])


def test_how_a_tool_was_done_is_no_result_of_its_own(path: Path) -> None:
    """As of a tool of an MCP server, whose client has a span as well."""
    client = genai(4, "execute_tool", 3, tool__name="read", tool__call__result="text of /a")
    run = opened(path, lines(genai(0, "invoke_agent", None), *CHAT, client))
    assert told(run, 4) == ([("user", None), ("assistant", None), ("tool", "c1")], ["c2"])


def test_a_failure_that_was_caught_did_not_end_the_run(path: Path) -> None:
    bad = {"status": {"code": 2, "message": "no"}}
    inner = genai(2, "execute_tool", 1, tool__name="a") | bad
    run = opened(path, lines(genai(0, "invoke_agent", parent=None) | bad, genai(1, "chat"), inner))
    error = run.run().error
    assert error is not None
    assert (error.step, error.where) == (1, ("invoke_agent 0",))


def test_a_killed_run_has_no_root(path: Path) -> None:
    run = opened(path, lines(*CHAT))
    assert (run.run().status, names(run)) == ("interrupted", ["chat 1", "execute_tool 3"])
    state = run.state(2)
    assert state is not None
    assert state.pending is not None
    assert [(row.call_id, row.status) for row in state.pending] == [("c2", "ambiguous")]
    (problem,) = run.problems()
    assert (problem.severity, problem.message.startswith("2 spans name a parent")) == ("warning", True)


@pytest.mark.parametrize(
    ("flags", "status", "expected"),
    [(0x301, 0, "completed"), (0x300, 2, "failed"), (0x101, 0, "interrupted"), (None, 0, "interrupted")],
)
def test_a_run_that_another_process_asked_for(path: Path, flags: int | None, status: int, expected: str) -> None:
    """Its first span has a parent that is in no file of its own, and says so."""
    top = genai(1, "invoke_agent", 99, agent__name="ops") | {"flags": flags, "status": {"code": status}}
    child = genai(2, "chat", 1) | {"flags": 0x101}
    assert opened(path, lines(child, top)).run().status == expected


def test_tokens_that_only_the_run_itself_counts(path: Path) -> None:
    run = opened(path, lines(genai(0, "invoke_agent", None, usage__input_tokens="x"), genai(1, "execute_tool")))
    assert run.run().usage is None
    counts = [{"key": f"gen_ai.usage.{which}_tokens", "value": {"intValue": "7"}} for which in ("input", "output")]
    root = genai(0, "invoke_agent", None)
    root["attributes"] += counts
    run = opened(path, lines(root, genai(1, "execute_tool")))
    assert run.run().usage == Usage(input_tokens=7, output_tokens=7)


@pytest.mark.parametrize("content", [True, False])
def test_a_call_that_two_libraries_tell_is_one(path: Path, content: bool) -> None:
    """As of an agent's library and of the client that it calls, each with its own instrumentation."""
    counts = [{"key": f"gen_ai.usage.{which}_tokens", "value": {"intValue": "7"}} for which in ("input", "output")]
    outer = CHAT[0] | {"endTimeUnixNano": str(BEGIN + 9 * 10**6)}
    outer["attributes"] = [one for one in outer["attributes"] if "usage" not in one["key"]] + counts
    answer = {"output__messages": [said("assistant", asks("read", "c1"), asks("wipe", "c2"))]} if content else {}
    inner = genai(2, "chat", 1, **answer)
    inner["attributes"] += counts
    run = opened(path, lines(genai(0, "invoke_agent", None), outer, inner, CHAT[1]))
    assert run.run().usage == Usage(input_tokens=7, output_tokens=7)
    assert told(run, 4)[1] == ["c2"]


def test_a_picture_is_no_text(path: Path) -> None:
    blob = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBORw0KGgo="}
    state = opened(path, lines(genai(0, "chat", None, input__messages=[said("user", "see", blob)]))).state(1)
    assert state is not None
    assert [one.text for one in state.messages or ()] == ["see\n[blob]"]


def test_a_tool_whose_span_has_no_end(path: Path) -> None:
    tool = CHAT[1] | {"endTimeUnixNano": None}
    run = opened(path, lines(CHAT[0], tool, genai(0, "invoke_agent", parent=None)))
    state = run.state(3)
    assert state is not None
    assert state.pending is not None
    assert [(row.call_id, row.status) for row in state.pending] == [("c1", "ambiguous"), ("c2", "ready")]
    assert run.steps(3, 4)[0].status == "unknown"


def test_one_id_for_two_calls(path: Path) -> None:
    answer = [said("assistant", asks("read", "call_0", n=1), asks("read", "call_0", n=2))]
    tool = genai(3, "execute_tool", tool__name="read", tool__call__id="call_0")
    run = opened(path, lines(genai(1, "chat", parent=None, output__messages=answer), tool))
    state = run.state(2)
    assert state is not None
    assert state.pending is not None
    assert [row.arguments for row in state.pending] == [{"n": 2}]


def test_without_content_nothing_is_invented(path: Path) -> None:
    run = opened(path, lines(genai(0, "chat", parent=None), genai(1, "execute_tool", tool__name="read")))
    state = run.state(2)
    assert state is not None
    assert (state.messages, state.pending) == (None, None)
    assert run.definition().tools_known == "called"


def test_content_on_an_event(path: Path) -> None:
    event = {
        "name": "gen_ai.client.inference.operation.details",
        "attributes": [attribute("gen_ai.output.messages", [said("assistant", "hi")])],
    }
    run = opened(path, lines(genai(0, "chat", parent=None) | {"events": [event]}))
    state = run.state(1)
    assert state is not None
    assert state.messages is not None
    assert [message.text for message in state.messages] == ["hi"]


def test_structured_attributes(path: Path) -> None:
    parts = {"arrayValue": {"values": [{"kvlistValue": {"values": [attribute("type", "text")]}}]}}
    pairs = [
        {"key": "list", "value": parts},
        {"key": "big", "value": {"intValue": "9007199254740993"}},
        {"key": "yes", "value": {"boolValue": True}},
        {"key": "bytes", "value": {"bytesValue": "aGk="}},
        {"key": "none", "value": {}},
    ]
    run = opened(path, lines(span(0, attributes=pairs)))
    state = run.state(1)
    assert state is not None
    assert state.values == {
        "list": [{"type": "text"}],
        "big": 9007199254740993,
        "yes": True,
        "bytes": {"$type": "bytes", "base64": "aGk="},
        "none": None,
    }


# files of all sorts


def test_the_order_is_that_of_the_starts(path: Path) -> None:
    run = opened(path, lines(*(span(number, parent=0) for number in (5, 2, 9, 1)), span(0, "root")))
    assert names(run) == ["root 0", "part 1", "part 2", "part 5", "part 9"]
    assert run.problems() == []


@pytest.mark.parametrize(("before", "end"), [(b"Hello\nINFO ready\n", b"\n"), (b"Hello\r\n", b"\r\n"), (b"", b"\n")])
def test_a_console_that_begins_with_something_else(path: Path, before: bytes, end: bytes) -> None:
    """Output of the program, or the rest of a span that was cut."""
    printed = (DATA / "failed.console.txt").read_bytes()
    cut = printed if before else printed[300:]
    run = opened(path, before + cut.replace(b"\n", end))
    assert (run.run().status, len(run)) == ("failed", 5 if before else 4)
    assert run.problems()[0].where.startswith("trace.jsonl:1 byte 0" if before else "trace.jsonl:")


def test_the_newest_trace_is_listed_last(path: Path) -> None:
    """Also when the older one began on a whole second, whose text has no digits of a fraction."""
    older, newer = span(0) | {"traceId": "f" * 32}, span(500) | {"traceId": "1" * 32}
    path.write_bytes(lines(older, newer))
    rows = open_path(str(path)).rows()
    assert [row.id for row in rows] == ["f" * 32, "1" * 32]
    assert [row.started for row in rows] == ["2026-11-29T11:00:00Z", "2026-11-29T11:00:00.5Z"]


def test_a_parent_stands_before_a_child_that_began_with_it(path: Path) -> None:
    root = span(0, "root", endTimeUnixNano=str(BEGIN + 10**9))
    run = opened(path, lines(span(1, "child", parent=0, startTimeUnixNano=str(BEGIN)), root))
    assert names(run) == ["root 0", "child 1"]


def test_of_spans_with_the_same_times_a_parent_stands_first(path: Path) -> None:
    together = {"startTimeUnixNano": str(BEGIN), "endTimeUnixNano": str(BEGIN + 1)}
    spans = [span(3, parent=2), span(2, parent=1), span(4, parent=1), span(1, parent=0), span(0, "root")]
    run = opened(path, lines(*(one | together for one in spans), span(6, parent=7), span(7, parent=6)))
    assert names(run) == ["root 0", "part 1", "part 2", "part 3", "part 4", "part 6", "part 7"]
    assert [run.parent(seq) for seq in range(1, 6)] == [None, 1, 2, 3, 2]


def test_of_spans_that_begin_together_what_ended_first_stands_first(path: Path) -> None:
    begun = {"startTimeUnixNano": str(BEGIN)}
    root, tool = span(0, "root") | begun, span(2, "tool", parent=0) | begun
    endless = span(3, "endless", parent=0) | begun | {"endTimeUnixNano": "0"}
    run = opened(path, lines(endless, tool, span(1, "chat", parent=0, endTimeUnixNano=str(BEGIN)) | begun, root))
    assert names(run) == ["root 0", "chat 1", "tool 2", "endless 3"]


def long_units(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Have units of more than so many bytes read as long ones are."""
    monkeypatch.setattr(parts, "LONG", limit)
    monkeypatch.setattr(units, "LONG", limit)
    monkeypatch.setattr(units.SpanFile, "long", limit)


@pytest.mark.parametrize("limit", [16, 1 << 20])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_one_document(path: Path, indent: int | None, end: bytes, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    long_units(monkeypatch, limit)
    data = json.dumps(otlp(*(span(number, parent=0) for number in (3, 1, 2)), span(0, "root")), indent=indent)
    run = opened(path, data.encode() + end)
    assert names(run) == ["root 0", "part 1", "part 2", "part 3"]
    raw = run.raw(2)
    assert raw is not None
    assert json.loads(raw.text)["name"] == "part 1"
    assert data.encode()[int(raw.where.split(" ")[-1]) :].startswith(raw.text.encode())
    assert hits(run, "part 2") == [3]


@pytest.mark.parametrize("limit", [16, 1 << 20])
def test_a_document_that_breaks_off(path: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    long_units(monkeypatch, limit)
    data = json.dumps(otlp(*(span(number, parent=0) for number in range(9)))).encode()
    whole = data.index(b'"b000000000000006"')
    run = opened(path, data[: whole + 60])
    assert names(run) == [f"part {number}" for number in range(6)]
    assert [problem.where.split(" ")[0] for problem in run.problems() if problem.severity == "error"] == [
        "trace.jsonl:1"
    ]


@pytest.mark.parametrize("limit", [16, 1 << 20])
@pytest.mark.parametrize("form", ["a line each", "one document", "a list", "breaks off"])
def test_fields_named_as_in_the_protobuf_files(
    path: Path, form: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `MessageToDict(..., preserving_proto_field_name=True)` makes them."""
    long_units(monkeypatch, limit)
    event = {"name": "exception", "attributes": [attribute("exception.type", "OSError")]}
    bad = {"status": {"code": "STATUS_CODE_ERROR", "message": "no"}, "events": [event]}
    counts = {"key": "counts", "value": {"arrayValue": {"values": [{"intValue": "7"}, {"boolValue": True}]}}}
    root = genai(0, "invoke_agent", None) | bad
    root["attributes"].append(counts)
    spans = (CHAT[0], CHAT[1], root)
    data = {"one document": json.dumps(otlp(*spans)), "a list": json.dumps([otlp(one) for one in spans])}.get(
        form, lines(*spans).decode()
    )
    cut = 200 if form == "breaks off" else 0
    seen = []
    for text in (data, re.sub(r'(?<=")[a-z]+[A-Z]\w+(?=":)', lambda name: snake(name[0]), data)):
        run = opened(path, text[: len(text) - cut].encode())
        told = view(run, len(run), 1, len(run) + 1)
        seen.append((told.run, told.steps, told.state, told.definition, [one.message for one in told.problems]))
    assert seen[0] == seen[1]
    assert "arrayValue" not in text
    if not cut:
        assert seen[1][0].error == RunError(message="no", type="OSError", step=1, where=("invoke_agent 0",))
        assert seen[1][1][0].name == "invoke_agent 0"


CONSOLE = {
    "name": "chat",
    "context": {"trace_id": "0x" + TRACE, "span_id": "0x00000000000000b7", "trace_state": "[]"},
    "parent_id": None,
    "start_time": "2026-11-29T10:00:09.000000Z",
    "end_time": "2026-11-29T10:00:10.000000Z",
    "status": {"status_code": "OK"},
    "attributes": {},
}


@pytest.mark.parametrize("limit", [16, 1 << 20])
@pytest.mark.parametrize("form", ["one line", "indented", "at the margin", "a line each"])
def test_a_list_of_objects(path: Path, form: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `jq -s` makes it of lines, and a script of what its exporter holds in memory."""
    long_units(monkeypatch, limit)
    items = [otlp(span(3, parent=0), span(1, parent=0)), CONSOLE, otlp(span(0, "root"))]
    data = json.dumps(items, indent={"indented": 2, "at the margin": 0}.get(form))
    if form == "a line each":
        data = "[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n"
    run = opened(path, data.encode())
    assert sorted(names(run)) == ["chat", "part 1", "part 3", "root 0"]
    assert not run.problems()
    raw = run.raw(names(run).index("part 1") + 1)
    assert raw is not None
    assert data.encode()[int(raw.where.split(" ")[-1]) :].startswith(raw.text.encode())
    torn = opened(path, data.encode()[: data.index("root 0")])
    assert {"chat", "part 1", "part 3"} <= set(names(torn))
    assert [problem.severity for problem in torn.problems()].count("error") == 1
    between = opened(path, data.encode()[: data.rindex("{", 0, data.index('"chat"'))])
    assert names(between) == ["part 1", "part 3"]
    assert [problem.severity for problem in between.problems()].count("error") == 1


@pytest.mark.parametrize("limit", [16, 1 << 20])
def test_what_stands_behind_a_list_is_said(path: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    long_units(monkeypatch, limit)
    whole = json.dumps([otlp(span(0)), otlp(span(1, parent=0))])
    behind = json.dumps(otlp(span(2, parent=0)))
    for data, said in ((whole[:-1], "breaks off"), (f"{whole}\n{behind}", "more text behind the list")):
        run = opened(path, data.encode())
        assert [said in problem.message for problem in run.problems() if problem.severity == "error"] == [True]
        assert len(run) == (3 if behind in data else 2)


OLD = {"scopeSpans": "instrumentationLibrarySpans", '"scope"': '"instrumentationLibrary"'}


def spelled(data: dict[str, Any], names: dict[str, str]) -> str:
    text = json.dumps(data)
    for name, other in names.items():
        text = text.replace(name, other)
    return text


@pytest.mark.parametrize("limit", [16, 1 << 20])
@pytest.mark.parametrize(
    ("around", "resource"),
    [
        (lambda unit: spelled(unit, OLD), True),
        (lambda unit: spelled(unit, {**OLD, "resourceSpans": "batches"}), True),
        (lambda unit: spelled(unit, {"resourceSpans": "batches"}), True),
        (lambda unit: json.dumps({"trace": unit}, indent=1), True),
        (lambda unit: json.dumps(unit["resourceSpans"][0]["scopeSpans"][0]["spans"]), False),
        (lambda unit: json.dumps(unit["resourceSpans"][0]["scopeSpans"][0]["spans"], indent=2), False),
        (lambda unit: "\n".join(map(json.dumps, unit["resourceSpans"][0]["scopeSpans"][0]["spans"])), False),
    ],
    ids=["old names", "Tempo, old", "Tempo", "Tempo's trace", "a list", "a printed list", "a line each"],
)
def test_spans_in_what_others_put_around_them(
    path: Path, around: Callable[[dict[str, Any]], str], resource: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_units(monkeypatch, limit)
    unit = otlp(span(3, parent=0), span(1, parent=0), span(0, "root"))
    text = around(unit)
    for one in (text, re.sub(r"(?<=\")[a-z]+[A-Z]\w+(?=\":)", lambda name: snake(name[0]), text)):
        run = opened(path, one.encode())
        assert (names(run), run.problems()) == (["root 0", "part 1", "part 3"], [])
        assert run.run().name == ("ops" if resource else "root 0")
        assert [step.parent for step in run.steps(1, 4)] == [None, 1, 1]


@pytest.mark.parametrize("limit", [16, 1 << 20])
@pytest.mark.parametrize(
    ("more", "expected"),
    [({"trace": "x"}, ["root 0", "part 1"]), ({"trace": otlp(span(2))}, ["part 2"])],
    ids=["a text", "an object"],
)
def test_the_spans_that_are_counted_are_those_that_are_cut_out(
    path: Path, more: dict[str, Any], expected: list[str], limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_units(monkeypatch, limit)
    run = opened(path, json.dumps(otlp(span(0, "root"), span(1, parent=0)) | more).encode())
    assert (names(run), run.problems()) == (expected, [])


@pytest.mark.parametrize("text", ['{"batches":[{"id":1}]}', '{"trace":{"id":"a"}}', '{"traceId":"a","name":"b"}'])
def test_what_only_has_such_words_is_no_trace(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(UnreadableError, match="no known kind"):
        open_path(str(path))


def test_what_is_cut_for_its_depth_is_said_once(path: Path) -> None:
    levels = 20_000  # more than any Python goes down
    deep = '{"arrayValue":{"values":[' * levels + '{"stringValue":"x"}' + "]}}" * levels
    text = json.dumps(otlp(span(0, attributes=["deep"]))).replace('"deep"', f'{{"key":"deep","value":{deep}}}')
    run = opened(path, text.encode())
    assert len([problem for problem in run.problems() if "deeper than" in problem.message]) == 1


@given(st.data())
def test_a_long_unit_has_the_parts_of_a_short_one(data: st.DataObject) -> None:
    """Whatever the order of its keys and wherever it breaks off."""
    scopes = st.lists(st.integers(0, 3), max_size=3)
    unit: dict[str, Any] = {"resourceSpans": []}
    for sizes in data.draw(st.lists(scopes, max_size=3)):
        inner = [{"spans": [span(number) for number in range(size)], "scope": {"name": "x"}} for size in sizes]
        pairs = [("resource", {"attributes": []}), ("scopeSpans", inner), ("schemaUrl", "]}")]
        unit["resourceSpans"].append(dict(data.draw(st.permutations(pairs))))
    text = json.dumps(unit, indent=data.draw(st.sampled_from([None, 1]))).encode() + b"\n"
    text = text[: data.draw(st.one_of(st.just(len(text)), st.integers(1, len(text))))]
    short = [tuple(piece and bytes(piece) for piece in part) for part in parts.cut(text)]
    assert [tuple(piece and bytes(piece) for piece in part) for part in parts.Parts(memoryview(text))] == short


def test_parts_that_no_text_can_hold_are_left_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_units(monkeypatch, 16)
    monkeypatch.setattr(parts, "FEW", 3)
    unit = {"resourceSpans": [{"scopeSpans": [{"spans": [1] * 10_000}]}]}
    assert len(parts.cut(json.dumps(unit).encode())) < 1000
    run = opened(path, json.dumps(otlp(span(0), *[1] * 10_000)).encode())  # type: ignore[arg-type]
    assert names(run) == ["part 0"]
    assert any("the rest is not looked at" in problem.message for problem in run.problems())


def test_damage_between_whole_lines(path: Path) -> None:
    data = lines(*(span(number) for number in range(6))).split(b"\n")
    data[1] = data[1][:200]
    data[3] = b"not json at all"
    data[4] = data[4][:150] + data[4]
    run = opened(path, b"\n".join(data))
    assert names(run) == ["part 0", "part 2", "part 4", "part 5"]
    assert [problem.where.split(" ")[0] for problem in run.problems()] == [
        "trace.jsonl:2",
        "trace.jsonl:4",
        "trace.jsonl:5",
    ]
    assert [run.state(seq) is not None for seq in range(5)] == [True] * 5


def test_other_signals_are_passed_over(path: Path) -> None:
    run = opened(path, b'{"resourceMetrics":[]}\n' + lines(span(0)) + b'{"resourceLogs":[]}\n\n')
    assert (names(run), run.problems()) == (["part 0"], [])
    path.write_bytes(b'{"resourceSpans":[]}\n')
    with pytest.raises(UnreadableError, match="no span"):
        open_path(str(path))


def test_a_span_that_was_exported_twice_is_one_step(path: Path) -> None:
    """Also in another spelling; a span of the same id that says something else is another one."""
    counts = [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "10"}}]
    chat = genai(2, "chat")
    other, chat["attributes"] = genai(2, "chat"), chat["attributes"] + counts
    spelled = chat | {"spanId": base64.b64encode(bytes.fromhex(chat["spanId"])).decode()}
    run = opened(path, lines(span(0, "agent"), chat, spelled, span(3, "leaf", parent=0), chat, other))
    assert names(run) == ["agent 0", "chat 2", "chat 2", "leaf 3"]
    assert run.run().usage == Usage(input_tokens=10, output_tokens=0)
    told = [(problem.where.split(" ")[0].rpartition(":")[2], problem.message) for problem in run.problems()]
    assert ("3", "2 spans stand in the file once more, as an exporter that tries again leaves them: left out") in told
    assert any("1 spans have an id that another" in message for _, message in told)
    assert hits(run, "chat 2") == [2, 3]


@pytest.mark.parametrize("first", ["begun", "ended"])
def test_a_span_that_was_exported_before_its_end_is_the_one_with_an_end(path: Path, first: str) -> None:
    ended = genai(0, "invoke_agent", parent=None)
    begun = {key: value for key, value in ended.items() if key not in ("endTimeUnixNano", "attributes")}
    both = (begun, ended) if first == "begun" else (ended, begun)
    run = opened(path, lines(*both, genai(2, "chat")))
    assert (names(run), run.run().status) == (["invoke_agent 0", "chat 2"], "completed")
    assert [problem.message for problem in run.problems()] == [
        "a span stands in the file once more, as an exporter that tries again leaves them: left out"
    ]


def test_a_span_that_was_exported_under_two_resources_is_one_step(path: Path) -> None:
    other = otlp(span(0, "root"))
    other["resourceSpans"][0]["resource"]["attributes"] += [attribute("host.name", "a")]
    run = opened(path, lines(span(0, "root")) + json.dumps(other).encode())
    assert names(run) == ["root 0"]


def test_rings_are_taken_apart(path: Path) -> None:
    spans = [span(0, "root"), span(1, parent=1), span(2, parent=3), span(3, parent=2), span(4, parent=3)]
    run = opened(path, lines(*spans))
    assert [step.parent for step in run.steps(1, 6)] == [None, None, None, None, 4]
    assert [problem.where.split(" ")[0] for problem in run.problems()] == [f"trace.jsonl:{n}" for n in (2, 3, 4)]


@given(st.lists(st.integers(-1, 7), min_size=1, max_size=8))
@settings(max_examples=60 * TIMES, deadline=None)
def test_parents_never_make_a_ring(tmp_path_factory: pytest.TempPathFactory, links: list[int]) -> None:
    spans = [span(number, parent=None if link < 0 else link) for number, link in enumerate(links)]
    run = opened(tmp_path_factory.mktemp("links") / "t.jsonl", lines(*spans))
    above = {step.seq: step.parent for step in run.steps(1, len(links) + 1)}
    assert len(above) == len(links)
    for seq in above:
        walked = 0
        at: int | None = seq
        while at is not None:
            at, walked = above[at], walked + 1
            assert walked <= len(links)
    kept = {seq - 1: parent - 1 for seq, parent in above.items() if parent is not None}
    assert all(links[child] == parent for child, parent in kept.items())


@pytest.mark.parametrize(
    ("start", "end", "part"),
    [
        (BEGIN + 5, BEGIN, "before it starts"),
        (0, BEGIN, "start is not set"),
        ("soon", BEGIN, "start is no time: 'soon'"),
        (10**21, 10**21, "past the year 9999"),
        (BEGIN, "later", "end is no time"),
        (1.5, BEGIN, "start is no time: '1.5'"),
        (None, None, "start is not set"),
        (-5, BEGIN, "start is no time"),
    ],
)
def test_odd_clocks(path: Path, start: Any, end: Any, part: str) -> None:
    odd = span(1, startTimeUnixNano=start, endTimeUnixNano=end)
    run = opened(path, lines(span(0), odd, span(2)))
    assert sorted(names(run)) == ["part 0", "part 1", "part 2"]
    found = run.problems()
    assert (found[0].where.split(" ")[0], part in found[0].message) == ("trace.jsonl:2", True)


def test_times_as_rfc_3339() -> None:
    odd: list[str] = []
    assert moment("1795950000000000000", "start", odd) == (BEGIN, "2026-11-29T11:00:00Z")
    assert moment(BEGIN + 120_000_001, "start", odd)[1] == "2026-11-29T11:00:00.120000001Z"
    assert instant("2026-11-29T11:00:00.120Z", "start", odd) == (BEGIN + 120_000_000, "2026-11-29T11:00:00.120Z")
    assert odd == []
    instant("2026-11-29T11:00:00", "start", odd)
    assert odd == ["its start names no zone"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACE, TRACE),
        (f"0x{TRACE}", TRACE),
        (TRACE.upper(), TRACE),
        (base64.b64encode(bytes.fromhex(TRACE)).decode(), TRACE),
        ("no id", "no id"),
        ("0" * 32, ""),
        (None, ""),
    ],
)
def test_ids_in_any_spelling(text: Any, expected: str) -> None:
    assert hexadecimal(text, 16) == expected


def test_several_traces_are_several_runs(path: Path) -> None:
    other = "a" * 32
    path.write_bytes(
        lines(span(5, "late"), span(1, "early", traceId=other, spanId="c" * 16), span(2, traceId=other), span(6))
    )
    runs = open_path(str(path))
    rows = runs.rows()
    assert [(row.id, row.steps) for row in rows] == [(other, 2), (TRACE, 2)]
    with pytest.raises(UsageError, match="choose one"):
        runs.open()
    with pytest.raises(UsageError, match="no trace"):
        runs.open("b" * 32)
    run = runs.open(other)
    assert [step.name for step in run.steps(1, 9)] == ["early 1", "part 2"]
    assert [hit for hit in run.find("part", 1) if isinstance(hit, int)] == [2]


def test_a_large_file_of_one_trace_opens_before_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.readers.opentelemetry.traces.CHECKED", 100)
    data = lines(*(span(number, parent=0) for number in range(300)))
    path.write_bytes(data)
    run = open_path(str(path)).open()
    assert 0 < len(run) < 300
    list(run.index())
    assert len(run) == 300
    assert run.steps(300, 301)[0].parent == 1


def test_a_growing_file(path: Path) -> None:
    data = lines(*(span(number, parent=0) for number in (4, 2, 3, 1)), span(0, "root"))
    pretty = "\n".join(json.dumps(otlp(span(number, parent=0)), indent=2) for number in (4, 2, 3, 1, 0)).encode()
    for content in (data, pretty):
        path.unlink(missing_ok=True)
        run = opened(path, content[: len(content) // 3])
        for end in range(len(content) // 3, len(content) + 400, 371):
            with path.open("ab") as file:
                file.write(content[path.stat().st_size : end])
            run.refresh()
            assert [step.seq for step in run.steps(1, 9)] == list(range(1, len(run) + 1))
        assert names(run)[1:] == ["part 1", "part 2", "part 3", "part 4"]
        assert (len(run), [p for p in run.problems() if p.severity == "error"]) == (5, [])


def test_spans_of_a_unit_that_goes_on_are_not_taken_in_twice(path: Path) -> None:
    data = json.dumps(otlp(*(span(number, parent=0) for number in (1, 2, 3)), span(0, "root")), indent=2).encode()
    run = opened(path, data[: data.index(b'"b000000000000003"')])
    assert len(run) == 2
    with path.open("ab") as file:
        file.write(data[path.stat().st_size :])
    run.refresh()
    assert len(run) == 4
    assert not run.problems()


@pytest.mark.parametrize("limit", [16, 1 << 20])
def test_a_span_that_is_none_leaves_those_before_it_once(
    path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_units(monkeypatch, limit)
    monkeypatch.setattr(units, "CHUNK", 2)
    spans = [span(0, "root"), *(span(number, parent=0) for number in (1, 2, 3))]
    spans[3] = 5
    run = opened(path, json.dumps([otlp(*spans)]).encode())
    assert names(run)[:3] == ["root 0", "part 1", "part 2"]
    assert not [problem for problem in run.problems() if "once more" in problem.message]


@pytest.mark.parametrize("limit", [16, 1 << 20])
@pytest.mark.parametrize("key", ["traceId", "spanId"])
@pytest.mark.parametrize("spelled", ["0" * 32, "0" * 16, "", None, -5, {}, {"a": 1}, [1], "0x"])
def test_a_span_without_ids_is_told_and_left_out(
    path: Path, key: str, spelled: Any, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_units(monkeypatch, limit)
    console = {**CONSOLE, "context": {**CONSOLE["context"], {"traceId": "trace_id", "spanId": "span_id"}[key]: spelled}}  # type: ignore[dict-item]
    for odd in (otlp({**span(1), key: spelled}), console):
        run = opened(path, "\n".join(map(json.dumps, (otlp(span(0, "root")), odd, otlp(span(2, parent=0))))).encode())
        assert names(run) == ["root 0", "part 2"]
        (problem,) = run.problems()
        assert "left out" in problem.message


# search, the price, and hostile files


def hits(run: Trace, wanted: str, start: int = 1, backward: bool = False) -> list[int]:
    return [hit for hit in run.find(wanted, start, backward=backward) if isinstance(hit, int)]


def test_find(path: Path) -> None:
    run = opened(path, lines(*(span(number, parent=0) for number in (5, 2, 9, 1)), span(0, "root")))
    assert hits(run, "part") == [2, 3, 4, 5]
    assert hits(run, "part 9") == [5]
    assert hits(run, "part", 3) == [3, 4, 5]
    assert hits(run, "part", 3, backward=True) == [3, 2]


def test_a_page_decodes_its_rows_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(path, lines(*(span(number) for number in range(2000))))
    calls: list[int] = []
    read = run.file.span
    monkeypatch.setattr(run.file, "span", lambda row: calls.append(row) or read(row))
    assert len(run.steps(1000, 1040)) == 40
    assert len(calls) == 40


def test_a_view_decodes_a_span_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = units.spans.read
    calls: list[str] = []
    monkeypatch.setattr(units.spans, "read", lambda *values: calls.append(values[0]["spanId"]) or read(*values))
    run = opened(path, lines(*CHAT, span(0)))
    for _ in range(2):
        view(run, len(run), 1, len(run) + 1)
    assert len(calls) == len(set(calls)) == len(run)


@pytest.mark.parametrize("limit", [16, 1 << 20])
@pytest.mark.parametrize("second", [b'"name": "part 7"', b'"attributes": [{"key": "service.name"'])
def test_what_is_odd_has_its_place_and_is_looked_for_once(
    path: Path, second: bytes, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a span, and in the resource of all of them."""
    long_units(monkeypatch, limit)
    place = linefile.Scan.place
    looked: list[int] = []
    monkeypatch.setattr(linefile.Scan, "place", lambda scan, at: looked.append(at) or place(scan, at))
    data = json.dumps(otlp(*(span(number) for number in range(9)))).encode()
    data = data.replace(second, second.split(b":")[0] + b': "first", ' + second, 1)
    run = opened(path, data)
    assert len(names(run)) == 9
    (problem,) = run.problems()
    assert data[int(problem.where.split(" ")[-1]) :].startswith(second)
    assert len(looked) == 1


def test_a_long_document_is_not_read_into_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_units(monkeypatch, 200_000)
    read, one = list[int](), units.File.read
    monkeypatch.setattr(units.File, "read", lambda file, at, length: read.append(length) or one(file, at, length))
    data = json.dumps(otlp(*(span(number, name="x" * 9_000) for number in range(300)))).encode()
    run = opened(path, data)
    assert len(run) == 300
    assert len(data) > 2 << 20
    assert max(read) <= 1 << 20


def test_parents_of_a_very_large_trace_are_looked_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.readers.opentelemetry.parents.WALKED", 0)
    run = opened(path, lines(span(0), span(1, parent=0), span(2, parent=2), span(3, parent=77), span(4, parent=1)))
    assert [step.parent for step in run.steps(1, 6)] == [None, 1, None, None, 2]
    assert isinstance(run.sorted.parents, Parents)


@pytest.mark.parametrize("parent", [lambda number: 0, lambda number: number * 7 % 299, lambda number: 1000 + number])
def test_ids_are_walked_once_for_all_parents(path: Path, parent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One root, parents that are everywhere, and such as are nowhere."""
    monkeypatch.setattr("inspector.formats.readers.opentelemetry.parents.WALKED", 0)
    probed = count(monkeypatch, Table, "_slot")
    run = opened(path, lines(span(0), *(span(number, parent=parent(number)) for number in range(1, 300))))
    above = [None, *(parent(number) for number in range(1, 300))]
    known = [None if one is None or one > 299 or one == at else one + 1 for at, one in enumerate(above)]
    assert [step.parent for step in run.steps(1, 301)] == known
    assert len(probed) <= 3 * 300


def test_rows_of_traces_are_told_apart_once_for_all_traces(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.readers.opentelemetry.traces.LISTED", 200)
    grouped, sorting = count(monkeypatch, Grouped, "__init__"), count(monkeypatch, Sorted, "__init__")
    twice = [(number, None if number < 300 else number - 300) for number in range(600)]
    path.write_bytes(lines(*(span(at, parent=above, traceId=f"{at % 300 + 1:032x}") for at, above in twice)))
    runs = open_path(str(path))
    assert len(runs.rows()) == 200
    assert (len(grouped), len(sorting)) == (1, 200)
    last = runs.open(runs.rows()[-1].id)
    assert [step.parent for step in last.steps(1, 3)] == [None, 1]
    assert [item for item in last.find("spanId", 1) if isinstance(item, int)] == [1, 2]


def count(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[None]:
    """A list that grows by one with each call of a method."""
    method, calls = getattr(owner, name), list[None]()
    monkeypatch.setattr(owner, name, lambda *given: calls.append(None) or method(*given))
    return calls


SAMPLES: Sequence[bytes] = (
    lines(*CHAT, genai(0, "invoke_agent", parent=None), span(5, parent=5)),
    json.dumps(otlp(*CHAT, span(0)), indent=1).encode(),
    (DATA / "failed.console.txt").read_bytes(),
)


@pytest.mark.parametrize("sample", SAMPLES, ids=["lines", "document", "console"])
def test_damaged_copies(tmp_path: Path, sample: bytes) -> None:
    some, _ = fuzz(sample, tmp_path, count=20)
    assert some > 4


def test_no_depth_is_too_deep(tmp_path: Path) -> None:
    deep: Any = {"stringValue": "x"}
    for _ in range(150):
        deep = {"arrayValue": {"values": [deep]}}
    check(lines(span(0, attributes=[{"key": "deep", "value": deep}])), folder=tmp_path)
    text = '{"arrayValue":{"values":[' * 5_000
    check(
        lines(span(0)).replace(b'"attributes": []', b'"attributes": [{"key":"k","value":' + text.encode()),
        folder=tmp_path,
    )


def test_checked_is_what_the_reader_means() -> None:
    assert linefile.CHECKED <= linefile.LONG, "a line of a file that is checked is never cut"


def test_what_begins_again_and_again_in_a_line_is_not_copied_each_time() -> None:
    copied = 0

    class Watched(bytes):
        def __getitem__(self, key: Any) -> Any:
            nonlocal copied
            found = super().__getitem__(key)
            copied += len(found) if isinstance(found, bytes) else 0
            return found

    text = Watched(b'{"resourceSpans":[{"scopeSpans":[{"spans":[' * 1000)
    assert cut(text) == []
    assert copied < 4 * len(text)
