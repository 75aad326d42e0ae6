import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import UsageError
from inspector.formats import open_path
from inspector.formats.conversation import Conversation
from inspector.formats.memory import MemoryRun
from inspector.model.records import Checkpoint, End, Header, StepRecord
from inspector.model.run import (
    Call,
    Definition,
    Message,
    Pending,
    Resume,
    Run,
    RunError,
    RunLink,
    SourceInfo,
    State,
    Usage,
)
from inspector.model.source import RunSource
from inspector.model.text import verbatim
from inspector.model.values import Number, to_json
from inspector.report.export import lines
from inspector.report.output import send
from inspector.report.view import view
from tests.formats.traces import operation, records, states, step, text

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
KEY = "sk-abcdefghijklmnopqrstuvwx"


def opened(path: Path) -> RunSource:
    run = open_path(str(path)).open()
    list(run.index())
    return run


def exported(source: RunSource, path: Path, start: int = 1, stop: int | None = None, raw: bool = False) -> RunSource:
    path.write_bytes(b"".join(lines(source, start, len(source) + 1 if stop is None else stop, raw=raw)))
    return opened(path)


def told(source: RunSource) -> list[Any]:
    """All that a run says of itself, but for where it stands and whether it can be resumed."""
    last = len(source)
    found = json.loads(to_json(view(source, last, 1, last + 1)))
    del found["source"], found["resume"]
    return [found, *(json.loads(to_json(source.state(seq))) for seq in range(last + 1))]


def memory(count: int, known: Sequence[State | None], **fields: Any) -> MemoryRun:
    return MemoryRun(
        source=SourceInfo(path="some/where", format="unknown"),
        run=Run(**{"id": "m", "kind": "workflow", "status": "completed", "steps": count} | fields),
        definition=Definition(),
        steps=[step(seq) for seq in range(1, count + 1)],
        state=lambda seq: known[seq],
        resume=Resume(),
    )


@pytest.mark.parametrize("example", ["trace.json", "otel-trace.jsonl"])
@pytest.mark.parametrize("raw", [False, True])
def test_an_export_tells_the_same(example: str, raw: bool, tmp_path: Path) -> None:
    source = opened(EXAMPLES / example)
    copy = exported(source, tmp_path / "copy.jsonl", raw=raw)
    assert told(copy) == told(source)
    assert copy.source.format == "runinspect"


@pytest.mark.parametrize("count", [0, 1, 90])
def test_an_export_of_our_own_trace(count: int, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(text([*records(count, end=None), operation("m", count + 1, "started")]))
    source = opened(path)
    copy = exported(source, tmp_path / "copy.jsonl")
    assert told(copy) == told(source)
    assert b'"record":"operation"' in (tmp_path / "copy.jsonl").read_bytes()
    assert told(exported(copy, tmp_path / "again.jsonl")) == told(source)


def test_raw_our_own_trace_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    data = text([*records(5, end=None), Checkpoint(seq=5, state=states(5)[5], machine={"key": KEY})]) + b'{"torn'
    path.write_bytes(data)
    source = opened(path)
    assert b"".join(lines(source, 1, 6, raw=True)) == data
    masked = b"".join(lines(source, 1, 6))
    assert b"machine" not in masked, "a machine must not go on with what is masked"


@pytest.mark.parametrize("unknown", [set(), {0}, {0, 1, 2}, {2}, {3, 4}, {5}, {0, 1, 2, 3, 4, 5}])
def test_states_that_are_not_known_stay_unknown(unknown: set[int], tmp_path: Path) -> None:
    known = [None if seq in unknown else state for seq, state in enumerate(states(5))]
    source = memory(5, known)
    assert told(exported(source, tmp_path / "copy.jsonl")) == told(source)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "running"},
        {"status": "interrupted", "ended": "2026-11-29T10:00:00Z"},
        {"status": "unknown", "id": None},
        {"status": "suspended", "reason": "approval", "parent": RunLink(run="outer", step=3)},
        {"status": "completed", "replaced_by": "later", "resumed_from": RunLink(run="earlier", step=2)},
        {"status": "failed", "error": RunError(message="no", step=2, where=("a", "b")), "usage": Usage(input_tokens=1)},
    ],
)
def test_how_a_run_ended_is_kept(fields: dict[str, Any], tmp_path: Path) -> None:
    flying = Pending(kind="model", name="model", status="in_flight")
    source = memory(1, [State(step=0), State(step=1, pending=(flying,))], **fields)
    assert told(exported(source, tmp_path / "copy.jsonl")) == told(source)


def test_a_part_is_a_run_of_its_own(tmp_path: Path) -> None:
    known = states(9)
    steps = [step(seq, parent=seq - 1 or None) for seq in range(1, 10)]
    source = MemoryRun(
        source=SourceInfo(path="x", format="unknown"),
        run=Run(id="m", kind="agent", status="completed", steps=9),
        definition=Definition(),
        steps=steps,
        state=lambda seq: known[seq],
        resume=Resume(),
    )
    part = exported(source, tmp_path / "part.jsonl", 4, 7)
    assert [(s.seq, s.trace_step, s.parent) for s in part.steps(1, 9)] == [(1, 4, None), (2, 5, 1), (3, 6, 2)]
    assert part.run().status == "interrupted"
    assert [to_json(part.state(seq)).replace(f'"step":{seq}', f'"step":{seq + 3}', 1) for seq in range(4)] == [
        to_json(state) for state in known[3:7]
    ]
    rest = exported(source, tmp_path / "rest.jsonl", 7, 10)
    assert rest.run().status == "completed"


def test_checkpoints_keep_states_near_and_the_file_short(tmp_path: Path) -> None:
    """A long conversation must not be written again and again."""
    messages = [
        Message(role="user" if seq % 2 else "assistant", text=f"message {seq} " + "x" * 80) for seq in range(2000)
    ]
    conversation = Conversation(messages, 1)
    source = MemoryRun(
        source=SourceInfo(path="x", format="unknown"),
        run=Run(id="m", kind="agent", status="completed", steps=len(conversation)),
        definition=Definition(),
        steps=conversation.steps(),
        state=conversation.state,
        resume=Resume(),
    )
    data = b"".join(lines(source, 1, len(source) + 1))
    kinds = [json.loads(line)["record"] for line in data.splitlines()]
    assert kinds.count("checkpoint") > 3
    assert len(data) < 4 * sum(len(to_json(message)) + 300 for message in messages)
    (tmp_path / "long.jsonl").write_bytes(data)
    copy = opened(tmp_path / "long.jsonl")
    for seq in (0, 1, 500, len(source)):
        assert to_json(copy.state(seq)) == to_json(source.state(seq))


# what is masked, and what is not


def secrets(tmp_path: Path) -> RunSource:
    call = Call(name="pay", call_id="c1", arguments={"api_key": "abc", "url": f"https://x/?k={KEY}"})
    known = [
        State(step=0, messages=(Message(role="user", text=f"my key is {KEY}"),), values={"password": "hunter2"}),
        State(
            step=1, messages=(Message(role="assistant", text="ok", calls=(call,)),), values={"amount": Number("1.50")}
        ),
    ]
    return memory(1, known)


def test_credentials_are_masked(tmp_path: Path) -> None:
    data = b"".join(lines(secrets(tmp_path), 1, 2))
    assert KEY.encode() not in data
    assert b"hunter2" not in data
    assert b'"abc"' not in data
    assert data.count(b"[redacted:api-key]") == 3
    assert b"[redacted:password]" in data
    assert b'"amount":1.50' in data


def test_raw_masks_nothing(tmp_path: Path) -> None:
    data = b"".join(lines(secrets(tmp_path), 1, 2, raw=True))
    assert data.count(KEY.encode()) == 2
    assert b"redacted" not in data


def test_raw_loses_no_character(tmp_path: Path) -> None:
    odd = "esc \x1b[2J c1 \x9b bidi \u202e half \ud800 tag \U000e0041 stand-in \ufdd0 pair \U0001f600"
    path = tmp_path / "t.jsonl"
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": odd, "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    with verbatim():
        data = b"".join(lines(opened(path), 1, 2, raw=True))
    step_line = next(json.loads(line) for line in data.splitlines() if line.startswith(b'{"record":"step"'))
    assert step_line["step"]["name"] == odd
    assert all(byte >= 32 or byte == 10 for byte in data)
    assert b"\\u001b" in data
    assert b"\\udb40\\udc41" in data
    shown = b"".join(lines(opened(path), 1, 2))
    assert b"\\\\u001b" in shown, "without --raw it is the escape that was shown"


# where it goes


def test_nothing_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    send(str(path), lambda keep: [b"one\n"])
    with pytest.raises(UsageError, match="exists already: give another name, or --overwrite"):
        send(str(path), lambda keep: [b"two\n"])
    assert path.read_bytes() == b"one\n"
    send(str(path), lambda keep: [b"two\n"], overwrite=True)
    assert path.read_bytes() == b"two\n"
    assert os.listdir(tmp_path) == ["out.jsonl"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_is_whole_or_not_there(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "out.jsonl"
    if overwrite:
        path.write_bytes(b"before")

    def broken() -> Any:
        yield b"one\n"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send(str(path), lambda keep: broken(), overwrite=overwrite)
    assert os.listdir(tmp_path) == (["out.jsonl"] if overwrite else [])
    assert not overwrite or path.read_bytes() == b"before"


def test_the_records_are_those_of_the_model(tmp_path: Path) -> None:
    found = [line.split(b",")[0] for line in lines(memory(1, states(1)), 1, 2)]
    kinds = (Header, Checkpoint, StepRecord, End)
    assert found == [f'{{"record":"{kind.__struct_config__.tag}"'.encode() for kind in kinds]
