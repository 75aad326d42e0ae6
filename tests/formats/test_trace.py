import os
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.errors import UnreadableError
from inspector.formats import linefile, open_path, tracelines, traceops
from inspector.formats.files import File
from inspector.formats.lines import Scan
from inspector.formats.memory import row
from inspector.formats.tracelines import plain
from inspector.formats.tracerun import FURTHEST, TAIL, TraceRun
from inspector.model.changes import Change, change
from inspector.model.records import Attempt, Checkpoint, End, Move, Operation, StepRecord
from inspector.model.run import Definition, Pending, RunError, RunLink, State, Tool, Usage
from inspector.model.source import definition_at
from inspector.model.values import Number, to_json
from tests.formats import traces
from tests.formats.traces import header, operation, records, states, step, text
from tests.fuzz import TIMES, fuzz

GONE = 2**22 + 1
"""A process number that no Linux gives by default."""


def opened(path: Path, data: bytes, *, index: bool = True) -> TraceRun:
    path.write_bytes(data)
    run = open_path(str(path)).open()
    assert isinstance(run, TraceRun)
    if index:
        list(run.index())
    return run


@pytest.fixture(params=["checked", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test as for a small file and as for a large one, which is indexed without decoding."""
    if request.param == "large":
        monkeypatch.setattr(linefile, "CHECKED", 0)
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_whole_run(path: Path, size: str) -> None:
    run = opened(path, text(records(20)))
    assert (run.source.format, run.source.version) == ("runinspect", "1")
    found = run.run()
    assert (found.id, found.name, found.status, found.steps) == ("run-1", "refunds", "completed", 20)
    assert [s.seq for s in run.steps(1, 21)] == list(range(1, 21))
    assert run.steps(3, 5) == [step(3), step(4)]
    assert [to_json(run.state(seq)) for seq in range(21)] == [to_json(state) for state in states(20)]
    assert run.state(21) is None
    assert run.problems() == []


def test_header_and_end_are_taken_over(path: Path) -> None:
    error = RunError(message="no more", type="Limit", step=2)
    end = End(status="failed", reason="max_turns", at="2026-11-29T11:00:00Z", error=error, usage=Usage(input_tokens=3))
    data = [header(resumed_from=RunLink(run="before", step=4)), *records(2, end=end)[1:]]
    run = opened(path, text(data)).run()
    assert (run.status, run.reason, run.ended, run.error, run.usage) == (
        "failed",
        "max_turns",
        "2026-11-29T11:00:00Z",
        error,
        Usage(input_tokens=3),
    )
    assert run.resumed_from == RunLink(run="before", step=4)


def test_the_end_is_known_before_the_index(path: Path) -> None:
    run = opened(path, text(records(300)), index=False)
    assert len(run) == 0
    assert (run.run().status, run.run().steps) == ("completed", 300)


def test_a_large_checkpoint_at_the_end_hides_no_steps(path: Path) -> None:
    """What the end of a file does not tell before the index is unknown, and not 0."""
    large = Checkpoint(seq=3, state=State(step=3, values={"x": "y" * FURTHEST}))
    known = [*records(3, end=None), large]
    assert opened(path, text([*known, End(status="failed", steps=3)]), index=False).run().steps == 3
    assert opened(path, text([*known, End(status="failed")]), index=False).run().steps is None
    assert [row.steps for row in open_path(str(path)).rows()] == [None]
    assert opened(path, text([*known, End(status="failed")])).run().steps == 3
    small = msgspec.structs.replace(large, state=State(step=3, values={"x": "y" * TAIL}))
    assert opened(path, text([*records(3, end=None), small]), index=False).run().steps == 3
    assert opened(path, text(records(0)), index=False).run().steps == 0


@pytest.mark.parametrize("every", [0, 1, 3, 8, 50])
def test_states_come_from_checkpoints_and_changes(path: Path, size: str, every: int) -> None:
    known = states(120)
    run = opened(path, text(records(120, every)))
    for seq in (0, 1, 120, 119, 118, 60, 61, 7, 8, 9, 100):
        assert to_json(run.state(seq)) == to_json(known[seq])


def test_a_step_back_decodes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(path, text(records(100, every=50)))
    assert to_json(run.state(99)) == to_json(states(99)[99])
    calls: list[int] = []
    decode = run.decode
    monkeypatch.setattr(run, "decode", lambda line, offset: calls.append(offset) or decode(line, offset))
    assert run.state(98) is not None
    assert calls == []
    assert run.state(49) is not None
    assert len(calls) == 50, "the checkpoint of step 0 and the 49 steps behind it"


def test_without_checkpoints_states_are_kept_on_the_way(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(path, text(records(700, every=0)))
    assert run.state(700) is not None
    calls: list[int] = []
    decode = run.decode
    monkeypatch.setattr(run, "decode", lambda line, offset: calls.append(offset) or decode(line, offset))
    known = states(700)
    for seq in (690, 600, 300):
        assert to_json(run.state(seq)) == to_json(known[seq])
    assert len(calls) <= 3 * 256


def test_states_that_are_kept_are_few_and_evenly_apart(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.states.STRETCH", 4)
    monkeypatch.setattr("inspector.formats.states.KEPT", 8)
    run = opened(path, text(records(300, every=0)))
    assert run.state(300) is not None
    calls: list[int] = []
    decode = run.decode
    monkeypatch.setattr(run, "decode", lambda line, offset: calls.append(offset) or decode(line, offset))
    known = states(300)
    for seq in (299, 7, 150, 201, 66, 98, 250):
        calls.clear()
        assert to_json(run.state(seq)) == to_json(known[seq])
        assert len(calls) <= 64 + 1, f"{len(calls)} records were read for the state after {seq}"


@pytest.mark.parametrize("number", ["310.50", "1E+2", "1e999", "NaN", "-Infinity", "-0", "9" * 5000])
def test_numbers_stay_as_written(path: Path, number: str) -> None:
    values = {"x": Number(number), "in": [{"y": Number(number)}]}
    run = opened(path, text([header(), Checkpoint(seq=0, state=State(step=0, values=values))]))
    state = run.state(0)
    assert state is not None
    assert state.values == values
    assert number in to_json(state)


def test_a_tag_that_holds_no_number_stays_a_tag(path: Path) -> None:
    values = {"x": {"$type": "number", "text": '1,"y":2'}, "z": {"$type": "number", "text": 3}}
    run = opened(path, text([header(), Checkpoint(seq=0, state=State(step=0, values=values))]))
    state = run.state(0)
    assert state is not None
    assert state.values == values


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False)
    | st.sampled_from(["1.50", "1E+2", "-0", "1e999", "NaN", "0.0"]).map(Number)
    | st.text(alphabet='a,:"\\[{ 1.5\x1b\x85\u202eé', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\u202e", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES, st.sampled_from([b"", b" ", b"  "]))
@settings(max_examples=100 * TIMES, deadline=None)
def test_what_is_read_quickly_is_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, value: Any, space: bytes
) -> None:
    line = text([StepRecord(step=step(1), change=Change(values={"x": value, "y": 1}))])
    line = line.replace(b'"y":1', b'"y":' + space + b"1").replace(b'"x":', b'"x":' + space, 1)
    folder = tmp_path_factory.mktemp("plain")
    found = []
    for limit in (0, linefile.CHECKED):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(linefile, "CHECKED", limit)
            run = opened(
                folder / "run.jsonl", text([header(), Checkpoint(seq=0, state=State(step=0, values={}))]) + line
            )
            found.append((to_json(run.state(1)), run.steps(1, 2)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("line", "is_plain"),
    [
        (b'{"at":"2026-11-29T10:00:00.25Z","n":[1,-2],"text":"a \\"b\\" \xc3\xa9"}', True),
        (b'{"text":"say \\"1.5\\", 2.5: 3.5 \\\\"}', True),
        (b'{"a\\\\":"b","n":1.5}', False),
        (b'{"n":1.5}', False),
        (b'{"n":[1, 2e3]}', False),
        (b'{"n":-0}', False),
        (b'{"n":12345678901234567}', False),
        (b'{"text":"\\u001b"}', False),
        (b'{"text":"\xe2\x80\xae"}', False),
        (b'{"text":"\xff"}', False),
        (b'{"$type":"number","text":"1e999"}', False),
    ],
)
def test_plain_lines(line: bytes, is_plain: bool) -> None:
    assert plain(line) == is_plain


# what was under way


def unfinished(**writer: Any) -> list[Any]:
    """A run that stopped in the batch behind step 1."""
    pending = tuple(
        Pending(kind="tool", name=name, status="ready", call_id=name, arguments={}) for name in ("a", "b", "c", "d")
    )
    before, after = State(step=0, pending=()), State(step=1, pending=pending)
    return [
        header(**writer),
        Checkpoint(seq=0, state=before),
        StepRecord(step=step(1), change=change(before, after)),
        operation("1", 2, "planned", call_id="a"),
        operation("2", 2, "planned", call_id="b"),
        operation("2", 2, "started", call_id="b", at="2026-11-29T10:00:05Z"),
        operation("3", 2, "started", call_id="c"),
        operation("3", 2, "succeeded", call_id="c", result="yes"),
        operation("4", 2, "started", call_id="d"),
        operation("4", 2, "failed", call_id="d", error=RunError(message="no such order")),
    ]


def test_an_operation_without_an_end_is_ambiguous(path: Path, size: str) -> None:
    run = opened(path, text(unfinished(program=traces.program(GONE, socket.gethostname()))))
    assert run.run().status == "interrupted"
    state = run.state(1)
    assert state is not None
    assert state.pending is not None
    assert [(p.name, p.status, p.result) for p in state.pending] == [
        ("a", "ready", None),
        ("b", "ambiguous", None),
        ("c", "answered", "yes"),
        ("d", "answered", None),
    ]
    assert state.pending[1].since == "2026-11-29T10:00:05Z"
    assert f"process {GONE}" in str(state.pending[1].note)
    assert state.pending[3].note == "failed: no such order"


def test_while_its_process_lives_it_is_in_flight(path: Path) -> None:
    here = traces.program(os.getpid(), socket.gethostname())
    run = opened(path, text(unfinished(program=here, started=None)))
    assert (run.run().status, run.resume().reasons) == ("running", ("owned",))
    assert row(run, "").holder == f"{here.host}:{here.pid}"
    state = run.state(1)
    assert state is not None
    assert state.pending is not None
    assert [p.status for p in state.pending] == ["ready", "in_flight", "answered", "answered"]


@pytest.mark.parametrize(
    "writer",
    [
        {"program": traces.program(os.getpid(), "another-host")},
        {"program": traces.program(os.getpid(), socket.gethostname()), "started": "2001-01-01T00:00:00Z"},
        {"program": traces.program(0, socket.gethostname())},
        {"program": traces.program(2**70, socket.gethostname())},
        {},
    ],
    ids=["elsewhere", "a number given again", "no process", "no number", "not recorded"],
)
def test_a_process_that_is_not_the_writer(path: Path, writer: dict[str, Any]) -> None:
    assert opened(path, text(unfinished(**writer))).run().status == "interrupted"


def test_what_a_step_took_in_is_not_pending(path: Path, size: str) -> None:
    run = opened(path, text(records(5, end=None)))
    state = run.state(5)
    assert state is not None
    assert state.pending == states(5)[5].pending


def test_an_operation_that_no_state_names_is_pending_too(path: Path, size: str) -> None:
    run = opened(path, text([*records(4, end=None), operation("m", 5, "started", request={"messages": 3})]))
    state = run.state(4)
    assert state is not None
    assert state.pending == (
        Pending(
            kind="model",
            name="look",
            status="ambiguous",
            arguments={"messages": 3},
            note="started, no result recorded: it may have happened",
        ),
    )


def test_a_model_call_is_one_whatever_it_is_named(path: Path) -> None:
    flying = Pending(kind="model", name="model", status="in_flight")
    found = [header(), Checkpoint(seq=0, state=State(step=0, pending=(flying,))), operation("m", 1, "started")]
    state = opened(path, text(found)).state(0)
    assert state is not None
    assert state.pending is not None
    assert [(row.name, row.status) for row in state.pending] == [("model", "ambiguous")]


def test_flying_firings_of_a_dead_writer_are_ambiguous(path: Path) -> None:
    flying = Pending(kind="firing", name="ink", status="in_flight", call_id="ink#1")
    writer = traces.program(GONE, socket.gethostname())
    run = opened(path, text([header(program=writer), Checkpoint(seq=0, state=State(step=0, pending=(flying,)))]))
    state = run.state(0)
    assert state is not None
    assert state.pending is not None
    assert [p.status for p in state.pending] == ["ambiguous"]


def test_what_may_have_happened_is_told_with_its_key_also_where_a_state_names_it(path: Path) -> None:
    flying = Pending(kind="firing", name="ink", status="in_flight", call_id="ink#1")
    found = [
        header(program=traces.program(GONE, socket.gethostname())),
        Checkpoint(seq=0, state=State(step=0, pending=(flying,))),
        operation("ink#1", 1, "started", kind="firing", call_id="ink#1", idempotency_key="idem_1"),
    ]
    state = opened(path, text(found)).state(0)
    assert state is not None
    assert state.pending is not None
    (row,) = state.pending
    assert row.status == "ambiguous"
    assert "idempotency key idem_1" in (row.note or "")


# damage


def test_damage_is_a_problem_and_no_step(path: Path, size: str) -> None:
    data = text(records(20)).split(b"\n")
    place = next(at for at, line in enumerate(data) if b'"seq":5,"kind":"model","name":"model"' in line)
    offset = sum(len(line) + 1 for line in data[:place])
    data[place] = data[place][:-30]
    run = opened(path, b"\n".join(data))
    found = run.steps(1, 30)
    assert [s.seq for s in found] == list(range(1, 20))
    assert [s.trace_step for s in found[3:6]] == [None, 6, 7]
    (problem,) = run.problems()
    assert problem.where.startswith(f"run.jsonl:{place + 1} byte ")
    assert int(problem.where.rpartition(" ")[2]) >= offset
    assert to_json(run.state(4)) == to_json(states(4)[4])
    assert run.state(5) is None, "the change of the lost step is not known"
    state = run.state(10)
    assert state is not None, "a checkpoint follows"
    assert state.values == {"n": 11}


def test_fused_lines_are_taken_apart(path: Path) -> None:
    data = traces.lines(records(6))
    steps = [at for at, line in enumerate(data) if line.startswith(b'{"record":"step"')]
    one, two, torn, whole = steps[1], steps[2], steps[3], steps[4]
    data[one] = data[one] + data[two]
    data[torn] = data[torn][:40] + data[whole]
    for gone in (whole, two):
        del data[gone]
    run = opened(path, b"\n".join(data))
    assert [s.summary for s in run.steps(1, 9)] == [f"step number {seq}" for seq in (1, 2, 3, 5, 6)]
    assert len(run.problems()) == 2
    assert to_json(run.state(3)) == to_json(states(3)[3])


@pytest.mark.parametrize("tail", [b"", b"\n", b"\r\n", b"\n\n \n"])
def test_line_ends(path: Path, size: str, tail: bytes) -> None:
    run = opened(path, text(records(20)).rstrip(b"\n").replace(b"\n", b"\r\n") + tail)
    assert (len(run), run.run().status, run.problems()) == (20, "completed", [])
    assert to_json(run.state(20)) == to_json(states(20)[20])


def test_spaces_and_an_other_order_of_keys(path: Path, size: str) -> None:
    spaced = [line.replace(b'":', b'": ').replace(b',"', b', "') for line in traces.lines(records(20))]
    spaced[-1] = b'{"status": "completed", "record": "end"}'
    run = opened(path, b"\n".join(spaced))
    assert (len(run), run.run().status, run.problems()) == (20, "completed", [])
    assert to_json(run.state(20)) == to_json(states(20)[20])


@pytest.mark.parametrize("before", [b"", b"\n", b"starting up\n"])
def test_a_later_format_is_named_and_refused(path: Path, before: bytes) -> None:
    path.write_bytes(before + text([header(format=7)]))
    with pytest.raises(UnreadableError, match="format 7"):
        open_path(str(path))


def test_an_unknown_record_is_named_and_passed_over(path: Path, size: str) -> None:
    data = traces.lines(records(4))
    data.insert(3, b'{"record":"weather","rain":true}')
    run = opened(path, b"\n".join(data))
    assert len(run) == 4
    (problem,) = run.problems()
    assert (problem.severity, "'weather'" in problem.message) == ("warning", True)


def test_a_lost_header(path: Path, size: str) -> None:
    run = opened(path, b'{"record":"header","format":1,"id\n' + text(records(4)[1:]))
    assert (run.run().id, len(run), run.run().status) == (None, 4, "completed")
    assert [problem.where for problem in run.problems()] == ["run.jsonl:1 byte 30"]


@pytest.mark.parametrize(
    "before", [b"\n\n", b"starting up\n", b"\0" * 40 + b"\n", b'{"record":"header","format":1,"id\n', b'{"a": 1}\n']
)
def test_a_header_behind_lines_that_are_none(path: Path, size: str, before: bytes) -> None:
    run = opened(path, before + text(records(4)))
    assert (run.run().id, run.run().kind, len(run)) == ("run-1", "agent", 4)
    damage = [problem.where for problem in run.problems()]
    assert damage == ([] if not before.strip() else [f"run.jsonl:1 byte {30 if b'record' in before else 0}"])
    raw = run.raw(0)
    assert raw is not None
    assert raw.text.startswith('{"record":"header"')


def test_a_second_run_in_the_file_is_not_mixed_in(path: Path, size: str) -> None:
    first, second = text(records(10)), text(records(20))
    run = opened(path, first + second)
    assert (len(run), run.run().status) == (10, "completed")
    line = first.count(b"\n") + 1
    assert [problem.where for problem in run.problems()] == [f"run.jsonl:{line} byte {len(first)}"]


def test_many_damaged_lines_are_counted(path: Path) -> None:
    run = opened(path, text(records(3)) + b"{]\n" * 3000)
    assert len(run) == 3
    assert len(run.problems()) == linefile.LISTED + 1
    assert "2000 more" in run.problems()[-1].message


def test_where_lines_that_are_only_counted_stand_is_not_looked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    number = Scan.number
    monkeypatch.setattr(Scan, "number", lambda scan, offset: looked.append(offset) or number(scan, offset))
    monkeypatch.setattr(linefile, "LISTED", 5)
    run = opened(path, text(records(3)) + b"{]\n" * 50 + b"{}\n" * 50)
    assert "95 more" in run.problems()[-1].message
    assert len(looked) < 20


@pytest.mark.parametrize("end", [b"", b'"}\n'])
def test_a_very_long_line_is_not_held(path: Path, end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linefile.LineFile, "long", 200_000)
    monkeypatch.setattr(traceops, "LONG", 200_000)
    monkeypatch.setattr(tracelines, "LONG", 200_000)
    read: list[int] = []
    one = File.read
    monkeypatch.setattr(File, "read", lambda file, at, length: read.append(length) or one(file, at, length))
    run = opened(path, text(records(3)) + b'{"x":"' + b"abc " * 500_000 + end)
    assert run.state(3) is not None
    assert run.raw(3) is not None
    assert max(read) <= 1 << 20
    (problem,) = run.problems()
    assert "a line of 2,000,0" in problem.message
    assert "not decoded" in problem.message


def test_damaged_copies(tmp_path: Path) -> None:
    writer = traces.program(GONE, socket.gethostname())
    sample = text([*records(9, every=4, end=None), *unfinished(program=writer)[3:]])
    some, _ = fuzz(sample, tmp_path, count=40)
    assert some > 10


# a file that grows, is cut or replaced


def test_a_growing_file(path: Path, size: str) -> None:
    data = text(records(30))
    run = opened(path, data[:1000])
    for end in range(1000, len(data) + 1, 777):
        with path.open("ab") as file:
            file.write(data[path.stat().st_size : end])
        assert run.refresh() == (end > 1000)
        known = len(run)
        if known:
            assert run.steps(known, known + 1)[0].seq == known
            state = run.state(known)
            assert state is not None
            assert state.values == {"n": known}
    path.write_bytes(data)
    assert run.refresh()
    assert (len(run), run.run().status, run.problems()) == (30, "completed", [])
    assert to_json(run.state(30)) == to_json(states(30)[30])
    assert not run.refresh()


@pytest.mark.parametrize("way", ["cut", "cut and written anew", "replaced", "emptied"])
def test_a_file_that_does_not_only_grow(path: Path, size: str, way: str) -> None:
    run = opened(path, text(records(30)))
    assert run.state(30) is not None
    other = text([header(id="other"), *records(50)[1:]])
    if way == "replaced":
        path.with_name("new").write_bytes(other)
        path.with_name("new").replace(path)
    else:
        path.write_bytes({"cut": text(records(30))[:4000], "cut and written anew": other, "emptied": b""}[way])
    assert run.refresh()
    list(run.index())
    assert len(run) == {"cut": 5, "emptied": 0}.get(way, 50)
    assert [s.seq for s in run.steps(1, 60)] == list(range(1, len(run) + 1))
    assert run.run().id == {"cut": "run-1", "emptied": None}.get(way, "other")
    if len(run):
        assert run.state(len(run)) is not None
    assert any("replaced" in problem.message for problem in run.problems())


@pytest.mark.parametrize("between", [b"", b'{"record":"hea'], ids=["emptied", "torn"])
def test_a_file_that_is_emptied_and_written_anew(path: Path, size: str, between: bytes) -> None:
    run = opened(path, text(records(30)))
    for data in (between, text([header(id="other"), *records(50)[1:]])):
        path.write_bytes(data)
        assert run.refresh()
        list(run.index())
        assert run.run().status
    assert (run.run().id, len(run)) == ("other", 50)
    assert run.state(50) is not None
    assert [problem.message for problem in run.problems()] == [
        "the file was replaced while it was open: this is the new one"
    ]


def test_a_file_cut_behind_our_back(path: Path, size: str) -> None:
    run = opened(path, text(records(30)))
    path.write_bytes(text(records(30))[:2000])
    assert len(run.steps(1, 31)) <= 30
    run.state(30)
    run.raw(30)
    list(run.find("number", 1))
    run.run()


# search and raw text


def test_find(path: Path, size: str) -> None:
    run = opened(path, text([*records(40, every=5, end=None), operation("m", 41, "started", request="tail")]))
    assert hits(run, "step number 17") == [17]
    assert hits(run, "result of 23") == [23], "an operation belongs to its step"
    assert hits(run, "seen 9") == [10], "a checkpoint, which repeats everything, is not searched"
    assert hits(run, "tail") == [40]
    assert hits(run, "step number") == list(range(1, 41))
    assert hits(run, "step number", start=38) == [38, 39, 40]
    assert hits(run, "step number", start=3, backward=True) == [3, 2, 1]
    assert hits(run, "run-1") == []
    assert hits(run, "") == []


def hits(run: TraceRun, wanted: str, start: int | None = None, backward: bool = False) -> list[int]:
    begin = start if start is not None else len(run) if backward else 1
    return [hit for hit in run.find(wanted, begin, backward=backward) if isinstance(hit, int)]


@given(st.text(alphabet='ab"\\é\n\u2028\u00a0/', min_size=1, max_size=4), st.data())
@settings(max_examples=40 * TIMES, deadline=None)
def test_find_finds_what_is_shown(tmp_path_factory: pytest.TempPathFactory, wanted: str, data: st.DataObject) -> None:
    summaries = data.draw(st.lists(st.text(alphabet='ab"\\é\n\u00a0/', max_size=12), min_size=1, max_size=8))
    found = [StepRecord(step=step(seq, summary=summary)) for seq, summary in enumerate(summaries, 1)]
    run = opened(tmp_path_factory.mktemp("find") / "run.jsonl", text([header(id="0"), *found]))
    expected = [seq for seq, summary in enumerate(summaries, 1) if wanted in summary]
    assert set(expected) <= set(hits(run, wanted))
    assert hits(run, wanted, backward=True) == hits(run, wanted)[::-1]


def test_a_match_across_windows(path: Path, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.search.CHUNK", 64)
    run = opened(path, text(records(40)))
    assert hits(run, "step number") == list(range(1, 41))
    assert hits(run, "step number", backward=True) == list(range(40, 0, -1))


def test_raw_holds_the_step_and_its_operations(path: Path, size: str) -> None:
    run = opened(path, text(records(9, every=8)))
    first, ninth, zero = run.raw(1), run.raw(9), run.raw(0)
    assert first is not None
    assert ninth is not None
    assert zero is not None
    assert [line.split(",")[0] for line in first.text.split("\n")] == [
        '{"record":"operation"',
        '{"record":"operation"',
        '{"record":"step"',
    ]
    assert [line.split(",")[0] for line in ninth.text.split("\n")][-2:] == ['{"record":"step"', '{"record":"end"']
    assert "checkpoint" not in ninth.text
    assert zero.text.startswith('{"record":"header"')
    offset = text(records(9)).index(b'{"record":"step"')
    assert first.where == f"run.jsonl:5 byte {offset}"


def test_hidden_characters_are_shown_everywhere(path: Path) -> None:
    bad = "\x1b[2J\u202e"
    found = StepRecord(step=step(1, name=bad, summary=bad))
    run = opened(path, text([header(name=bad), found]))
    raw = run.raw(1)
    assert raw is not None
    for shown in (run.run().name, run.steps(1, 2)[0].name, run.steps(1, 2)[0].summary, raw.text):
        assert "\x1b" not in str(shown)
        assert "\u202e" not in str(shown)
        assert "\\u202e" in str(shown)


def test_a_run_without_a_machine_cannot_go_on(path: Path) -> None:
    end = End(status="suspended", reason="approval")
    run = opened(path, text(records(3, end=end)))
    assert (run.resume().possible, run.resume().reasons) == (False, ("not_resumable",))
    last = Checkpoint(seq=3, state=states(3)[3], machine={"phase": "tools"})
    run = opened(path, text([*records(3, end=None), last, end]))
    assert (run.resume().possible, run.resume().driver) == (True, "agent")
    for over in (End(status="completed"), End(status="failed", reason="unknown_tool", final=True)):
        assert opened(path, text([*records(3, end=None), last, over])).resume().reasons == ("terminal",)
    run = opened(path, text([*records(3, end=None), last, End(status="failed", reason="model")]))
    assert run.resume().possible


# the price


class Counted:
    def __init__(self, run: TraceRun, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = self.decodes = 0
        read, decode = run.file.read, run.decode

        def counting_read(offset: int, length: int) -> bytes:
            found = read(offset, length)
            self.bytes += len(found)
            return found

        def counting_decode(line: bytes, offset: int) -> Any:
            self.decodes += 1
            return decode(line, offset)

        monkeypatch.setattr(run.file, "read", counting_read)
        monkeypatch.setattr(run, "decode", counting_decode)


def test_what_is_read_before_the_first_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 KiB to know the format; the rest of 128 KiB shows a screen."""
    long = "x" * 200
    line = text([StepRecord(step=step(1, summary=long))])
    path.write_bytes(text([header()]) + b"".join(line.replace(b":1,", b":%d," % seq, 1) for seq in range(1, 60_001)))
    assert path.stat().st_size > linefile.CHECKED
    total = [0]
    pread = os.pread

    def counting(fd: int, length: int, offset: int) -> bytes:
        found = pread(fd, length, offset)
        total[0] += len(found)
        return found

    monkeypatch.setattr(os, "pread", counting)
    run = open_path(str(path)).open()
    next(iter(run.index()))
    assert run.run().steps == 60_000
    assert len(run.steps(1, 51)) == 50
    assert total[0] <= 128 << 10


def test_a_page_decodes_its_rows_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(path, text(records(600)))
    counted = Counted(run, monkeypatch)
    run.steps(400, 440)
    assert counted.decodes == 40
    assert counted.bytes < 96 << 10


def test_the_index_keeps_eight_bytes_a_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linefile, "CHECKED", 0)
    monkeypatch.setattr(tracelines, "PLENTY", 100)
    run = opened(path, text(records(400, every=1)), index=False)
    counted = Counted(run, monkeypatch)
    list(run.index())
    assert counted.decodes == 0
    assert len(run.starts) == 400
    assert len(run.checkpoints) <= 100 + 300 / tracelines.APART


def test_calls_show_what_was_decided_before_their_batch_ends(path: Path) -> None:
    calls = {"1.1": "waiting", "1.2": "waiting", "1.3": "ready", "1.4": "waiting", "1.5": "waiting"}
    before = State(
        step=0,
        pending=tuple(
            Pending(kind="tool", name="t", status=status, call_id=name, internal_call_id=name, arguments={}, note="old")
            for name, status in calls.items()
        ),
    )

    def move(seq: int, **event: Any) -> Move:
        return Move(seq=seq, event=event)

    asks = {"event": "hold", "call": "1.3", "why": "input", "question": {"which": 1}}
    run = opened(
        path,
        text(
            [
                header(program=traces.program(os.getpid(), socket.gethostname()), started=None),
                Checkpoint(seq=0, state=before),
                move(0, event="deny", call="1.1", reason="not hers"),
                move(0, event="edit", call="1.2", arguments={"n": 1}),
                move(0, event="approve", call="1.2"),
                move(0, event="answer", call="1.4", value=[7]),
                move(0, event="approve", call="nobody"),
                operation("3", 2, "started", call_id="1.3", internal_call_id="1.3"),
                operation("3", 2, "failed", call_id="1.3", internal_call_id="1.3", event=asks),
                operation("2", 2, "started", call_id="1.2", internal_call_id="1.2"),
            ]
        ),
    )
    state = run.state(0)
    assert state is not None
    assert state.pending is not None
    assert [(p.status, p.arguments, p.result, p.note) for p in state.pending] == [
        ("denied", {}, None, "not hers"),
        ("in_flight", {"n": 1}, None, None),
        ("waiting", {}, None, 'input: {"which": 1}'),
        ("answered", {}, [7], None),
        ("waiting", {}, None, "old"),
    ]


def test_what_was_decided_since_is_found_by_its_call_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    count, heard, looked = 100, traceops._heard, []
    monkeypatch.setattr(traceops, "_heard", lambda row, event: looked.append(row) or heard(row, event))
    monkeypatch.setattr(traceops, "_same", lambda row, operation: pytest.fail("no row stands there before"))
    ids = [f"1.{number}" for number in range(count)]
    asks = {"event": "hold", "call": ids[0], "why": "answer", "question": "Which one?"}
    begun = [
        Operation(id=call, seq=1, kind="tool", name="pay", status="succeeded", internal_call_id=call) for call in ids
    ]
    begun[0] = msgspec.structs.replace(begun[0], event=asks)
    moves = [Move(seq=1, event={"event": "approve", "call": call}) for call in [*ids[1:], "none"]]
    moves.append(Move(seq=1, event={"event": "approve", "call": [1]}))
    found = traceops.overlaid(State(step=1), list(enumerate([*begun, *moves])), None, False)
    first, *others = found.pending or ()
    assert (first.status, first.note) == ("waiting", "answer: Which one?")
    assert {other.status for other in others} == {"approved"}
    assert len(looked) == count


def test_a_step_that_is_missing_or_there_twice_is_named(path: Path) -> None:
    found = records(9, every=0)
    lines = traces.lines(found)
    at = next(n for n, one in enumerate(found) if isinstance(one, StepRecord) and one.step.seq == 4)
    begin = sum(len(line) + 1 for line in lines[: at + 1])
    run = opened(path, b"\n".join([*lines[: at + 1], lines[at], *lines[at + 1 :]]) + b"\n")
    (problem,) = run.problems()
    assert problem.where == f"{path.name}:{at + 2} byte {begin}"
    assert problem.message == "step 4 is there again; no state behind it is known before the next checkpoint"
    run = opened(path, b"\n".join([*lines[:at], *lines[at + 1 :]]) + b"\n")
    (problem,) = run.problems()
    assert "step 5 follows step 3: what stood between them is missing" in problem.message
    assert opened(path, text(found)).problems() == []


@pytest.mark.parametrize("spaced", [False, True])
def test_steps_that_are_missing_before_a_later_checkpoint_or_the_end_are_named(path: Path, spaced: bool) -> None:
    for kind, what in ((Checkpoint, "the checkpoint of step 8"), (End, "the end after step 8")):
        found = records(8, every=8, end=End(status="completed", steps=8))
        last = [one for one in found if isinstance(one, kind)][-1]
        found = [one for one in found if not isinstance(one, StepRecord) or one.step.seq < 7]
        found = [one for one in found if one is last or not isinstance(one, Checkpoint | End) or one == found[1]]
        lines = traces.lines(found)
        lines[-1] = lines[-1].replace(b",", b", ", 1).replace(b"{", b"{ ", 1) if spaced else lines[-1]
        run = opened(path, b"\n".join([*lines, b""]))
        (problem,) = run.problems()
        place = f"{path.name}:{len(lines)} byte {sum(len(line) + 1 for line in lines[:-1])}"
        assert problem.where == place
        assert problem.message == f"{what} follows step 6: what stood between them is missing"
    assert opened(path, text(records(8, end=End(status="completed", steps=8)))).problems() == []


def test_a_torn_record_of_an_operation_hides_none_before_it(path: Path) -> None:
    found = unfinished(program=traces.program(GONE, socket.gethostname()))
    lines = traces.lines(found)

    def status(at: int, name: str, behind: bytes) -> str:
        """What is told of a call where the record at that place is torn."""
        torn = lines[at][: lines[at].index(b'"status"') + 22]
        rest = [*lines[at + 1 :], b""] if behind else []
        state = opened(path, b"\n".join([*lines[:at], torn, *rest])).state(1)
        return next(one.status for one in state.pending or () if one.name == name) if state else ""

    for behind in (b"", b"\n"):
        assert status(7, "c", behind) == "ambiguous"  # it was started, and how it ended is torn
        assert status(5, "b", behind) == "ready"  # the write was not finished, so it was not begun


def test_a_record_inside_a_damaged_one_is_no_record_of_the_run(path: Path) -> None:
    found = records(4, every=0)
    lines = traces.lines(found)
    nested = to_json({"record": "move", "seq": 0, "event": {"event": "nested", "record": header(id="inner")}}).encode()
    for damaged in (b"\0" * 20 + nested[20:], b"\0" * 20 + nested[20:] + lines[2]):
        run = opened(path, b"\n".join([*lines[:2], damaged, *lines[2:], b""]))
        assert (len(run), run.run().id, run.run().status) == (4, "run-1", "completed")
        assert all("another run" not in problem.message for problem in run.problems())


@pytest.mark.parametrize("damaged", [True, False])
def test_a_checkpoint_behind_a_missing_step_is_no_state_of_the_one_before(path: Path, damaged: bool) -> None:
    found = records(9, every=3)
    at = next(n for n, one in enumerate(found) if isinstance(one, StepRecord) and one.step.seq == 3)
    lines = traces.lines(found)
    lines[at : at + 1] = [lines[at][:60]] if damaged else []
    run = opened(path, b"\n".join([*lines, b""]))
    told = [state.values["n"] if state and state.values else None for state in map(run.state, range(9))]
    assert told == [0, 1, None, 4, 5, 6, 7, 8, 9]
    assert run.state(2) is None


def test_the_code_of_a_step_is_that_of_the_attempt_it_ran_in(path: Path, size: str) -> None:
    """So that steps before and behind a change that somebody accepted can be compared."""
    later = Definition(tools=(Tool(name="later"),), tools_known="registry")
    found = records(2, end=None)
    attempt = Attempt(number=1, mode="continue", definition=later)
    run = opened(path, text([*found, attempt, *records(4)[len(found) :]]))
    assert [definition_at(run, step).tools == later.tools for step in range(5)] == [False, False, False, True, True]
    assert run.definition() == later
