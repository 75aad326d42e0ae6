import json
from array import array
from pathlib import Path

import pytest

from inspector.errors import UnreadableError
from inspector.formats import jsonlines, linefile, open_path
from inspector.formats.readers import records
from inspector.formats.readers.records import RecordsRun
from tests.fuzz import fuzz

LINES = [
    {"type": "begin", "ts": "2026-11-29T10:00:00Z", "n": 1},
    {"event": "work", "items": [1, 2.50, None]},
    ["a", "list"],
    {"n": 4},
    "text",
    17,
]
DATA = b"".join(json.dumps(line).encode() + b"\n" for line in LINES)


def opened(path: Path, data: bytes) -> RecordsRun:
    path.write_bytes(data)
    run = open_path(str(path), "records").open()
    assert isinstance(run, RecordsRun)
    list(run.index())
    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def test_each_line_is_a_step(path: Path) -> None:
    run = opened(path, DATA)
    assert (run.source.format, run.run().status, run.run().steps) == ("unknown", "unknown", 6)
    steps = run.steps(1, 7)
    assert [step.name for step in steps] == ["begin", "work", "record", "record", "record", "record"]
    assert (steps[0].started, steps[0].summary) == ("2026-11-29T10:00:00Z", '{"type": "begin", "n": 1}')
    assert [step.status for step in steps] == ["unknown"] * 6
    states = [run.state(seq) for seq in range(7)]
    assert [state.values if state else None for state in states] == [
        None,
        *LINES[:2],
        {"value": LINES[2]},
        LINES[3],
        {"value": "text"},
        {"value": 17},
    ]


@pytest.mark.parametrize("limit", [0, linefile.CHECKED])
def test_damage_and_blank_lines(path: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linefile, "CHECKED", limit)
    run = opened(path, b'{"n":1}\n\n{"n":2\n{"n":3}\r\nnothing\n{"n":4}')
    assert [step.summary for step in run.steps(1, 9)] == ['{"n": 1}', '{"n": 3}', '{"n": 4}']
    assert [problem.where.split(" ")[0] for problem in run.problems()] == ["log.jsonl:3", "log.jsonl:5"]


def test_damage_that_shows_only_when_a_line_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linefile, "CHECKED", 0)
    run = opened(path, b'{"n":1}\n{"n":}\n{"n":3}\n')
    assert len(run) == 3
    assert [(step.seq, step.summary) for step in run.steps(1, 9)] == [(1, '{"n": 1}'), (2, '{"n": 3}')]
    assert len(run) == 2
    assert [problem.where for problem in run.problems()] == ["log.jsonl:2 byte 13"]


def test_it_never_claims_a_file(path: Path) -> None:
    path.write_bytes(DATA)
    with pytest.raises(UnreadableError):
        open_path(str(path))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"no json\n", b"\x00\xff" * 50])
def test_what_is_no_json_lines(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match="no JSON lines"):
        open_path(str(path), "records")


def test_a_file_that_grows_past_four_gibibytes_keeps_its_places(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 256 ** array("I").itemsize - 1 == jsonlines.NARROW - 1
    monkeypatch.setattr(jsonlines, "NARROW", len(DATA) + 1)
    run = opened(path, DATA)
    assert run.starts.typecode == "I"
    with path.open("ab") as file:
        file.write(DATA)
    assert run.refresh()
    assert run.starts.typecode == "Q"
    raw = run.raw(2 * len(LINES) - 2)
    assert raw is not None
    assert raw.text == '{"n": 4}'


def test_find_and_raw(path: Path) -> None:
    run = opened(path, DATA)
    assert [hit for hit in run.find("n", 1) if isinstance(hit, int)] == [1, 2, 4]
    raw = run.raw(4)
    assert raw is not None
    assert (raw.text, raw.where.split(" ")[0]) == ('{"n": 4}', "log.jsonl:4")


def test_damaged_copies(tmp_path: Path) -> None:
    some, _ = fuzz(DATA, tmp_path, count=20, format="records")
    assert some > 10


def test_a_record_that_is_too_long_is_not_decoded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "DECODED", 1000)
    long = {"list": ["\u001b[2J", *range(1000)]}
    run = opened(path, DATA + json.dumps(long).encode() + b"\n" + DATA)
    decoded: list[int] = []
    monkeypatch.setattr(run, "value", lambda line, offset: decoded.append(len(line)) or {})
    steps = run.steps(1, 20)
    assert [step.name for step in steps] == ["record"] * 13
    assert (steps[6].summary or "").startswith('{"list": ["\\u001b[2J", 0, 1, 2')
    state = run.state(7)
    assert state is not None
    assert state.values == {"value": {"$type": "cut", "bytes": len(json.dumps(long)) + 1}}
    assert len(decoded) == 12
    assert max(decoded) < 100
    told = [(problem.where.split(" ")[0], problem.message) for problem in run.problems()]
    assert [where for where, message in told if "only its text is shown" in message] == ["log.jsonl:7"]
    raw = run.raw(7)
    assert raw is not None
    assert raw.text.endswith("999]}")
