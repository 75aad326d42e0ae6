"""Messages that stand in log records beside the spans, as libraries write them that leave spans without content."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import UnreadableError
from inspector.formats import open_path
from inspector.formats.readers.opentelemetry import logs as logs_module
from inspector.formats.readers.opentelemetry import units
from inspector.formats.readers.opentelemetry.parts import snake
from inspector.model.run import Call, Message
from tests.formats.test_opentelemetry import TRACE, attribute, genai, lines, opened, path
from tests.fuzz import fuzz

__all__ = ["path"]

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "/a"}'}}
EXPECTED = [
    Message(role="system", text="be good"),
    Message(role="user", text="look"),
    Message(role="assistant", text="I look.", calls=(Call(name="read", call_id="c1", arguments={"path": "/a"}),)),
]


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": typed(inner)} for key, inner in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": list(map(typed, value))}}
    return {"stringValue": value}


def record(number: int, name: str, body: Any = None, *, as_attribute: bool = False, **values: Any) -> dict[str, Any]:
    """A log record of the span `number`."""
    pairs = [{"key": key.replace("__", "."), "value": typed(value)} for key, value in values.items()]
    found: dict[str, Any] = {"traceId": TRACE, "spanId": f"b{number:015x}", "attributes": pairs}
    if body is not None:
        found["body"] = typed(body)
    if as_attribute:
        return found | {"attributes": [*pairs, attribute("event.name", name)]}
    return found | {"eventName": name}


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {}, "logRecords": records}]}]}


def said(number: int, *, as_attribute: bool = False) -> list[dict[str, Any]]:
    return [
        record(number, "gen_ai.system.message", {"content": "be good"}, as_attribute=as_attribute),
        record(number, "gen_ai.user.message", {"content": "look"}, as_attribute=as_attribute),
        record(
            number,
            "gen_ai.choice",
            {"index": "0", "message": {"content": "I look.", "tool_calls": [CALL]}},
            as_attribute=as_attribute,
        ),
    ]


SPANS = lines(genai(0, "invoke_agent", parent=None), genai(1, "chat", request__model="m1"), genai(4, "chat"))


def line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def messages(path: Path, data: bytes, step: int = 2) -> list[Message] | None:
    state = opened(path, data).state(step)
    assert state is not None
    return None if state.messages is None else list(state.messages)


@pytest.mark.parametrize("as_attribute", [False, True])
def test_events_of_a_model_call(path: Path, as_attribute: bool) -> None:
    found = logs(*said(1, as_attribute=as_attribute), record(4, "gen_ai.choice", {"message": {"content": "done"}}))
    for data in (SPANS + line(found), line(found) + SPANS, line({**found, **json.loads(SPANS.split(b"\n")[1])})):
        assert messages(path, data, 2 if data.count(b"\n") > 1 else 1) == EXPECTED
    assert messages(path, SPANS + line(found), 3) == [Message(role="assistant", text="done")]
    run = opened(path, SPANS + line(found))
    state = run.state(2)
    assert state is not None
    assert [(one.call_id, one.status) for one in state.pending or ()] == [("c1", "ready")]
    assert run.steps(2, 3)[0].summary == 'I look. → read({"path": "/a"})'
    assert (len(run), run.problems()) == (3, [])


def test_the_details_of_a_call_in_one_event(path: Path) -> None:
    parts = [{"role": "user", "parts": [{"type": "text", "content": "look"}]}]
    found = logs(
        record(1, "gen_ai.client.inference.operation.details", gen_ai__input__messages=parts),
        record(1, "gen_ai.evaluation.result"),
        record(1, "others"),
    )
    assert messages(path, SPANS + line(found)) == [Message(role="user", text="look")]


@pytest.mark.parametrize("spelling", ["base64", "snake", "both"])
def test_other_spellings(path: Path, spelling: str) -> None:
    found = logs(*said(1))
    if spelling != "snake":
        for one in found["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
            for key in ("traceId", "spanId"):
                one[key] = base64.b64encode(bytes.fromhex(one[key])).decode()
    text = json.dumps(found)
    if spelling != "base64":
        text = re.sub(r'(?<=")[a-z]+[A-Z]\w+(?=":)', lambda name: snake(name[0]), text)
    assert messages(path, SPANS + text.encode()) == EXPECTED


def test_what_the_span_says_itself_is_not_said_by_records(path: Path) -> None:
    whole = genai(1, "chat", input__messages=[{"role": "user", "parts": [{"type": "text", "content": "mine"}]}])
    assert messages(path, lines(whole) + line(logs(*said(1)[:2])), 1) == [Message(role="user", text="mine")]


def test_records_that_come_while_the_file_is_followed(path: Path) -> None:
    run = opened(path, SPANS)
    state = run.state(2)
    assert state is not None
    assert state.messages is None
    text = line(logs(*said(1)))
    for piece in (text[:100], text[100:]):
        with path.open("ab") as file:
            file.write(piece)
        run.refresh()
        list(run.index())
    state = run.state(2)
    assert state is not None
    assert list(state.messages or ()) == EXPECTED


def test_more_records_than_are_known_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (logs_module, units):
        monkeypatch.setattr(module, "KNOWN", 1)
    more = record(4, "gen_ai.choice", {"message": {"content": "done"}})
    run = opened(path, SPANS + line(logs(*said(1))) + line(logs(more)) + line(logs(more)))
    assert [(problem.where.split(" ")[0], problem.severity) for problem in run.problems()] == [
        ("trace.jsonl:5", "warning")
    ]
    assert [run.state(step) is not None and run.steps(step, step + 1)[0].summary for step in (2, 3)] == [
        'I look. → read({"path": "/a"})',
        None,
    ]


def test_records_that_are_gone_from_the_file(path: Path) -> None:
    text = line(logs(*said(1)))
    run = opened(path, SPANS + text)
    with path.open("r+b") as file:
        file.seek(len(SPANS))
        file.write(b"{" * len(text))
    (step,) = run.steps(2, 3)
    assert (step.name, step.summary) == ("chat 1", None)


def test_records_of_no_span_and_files_of_records_alone(path: Path) -> None:
    found = logs(record(9, "gen_ai.choice", {"message": "x"}), {"body": {"stringValue": "gen_ai."}}, {"spanId": 5})
    assert messages(path, SPANS + line(found)) is None
    path.write_bytes(line(found))
    with pytest.raises(UnreadableError, match="only other signals"):
        open_path(str(path))


def test_damaged_records(tmp_path: Path) -> None:
    some, _ = fuzz(SPANS + line(logs(*said(1))) + SPANS, tmp_path, count=40)
    assert some
