"""The append-only session log of vv-agent."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.formats import sqlitefile
from inspector.formats.readers.vv_agent.projection import Projection
from inspector.formats.readers.vv_agent.store import Store
from inspector.formats.sqlitefile import Database
from inspector.model.run import Pending
from inspector.model.source import RunSource
from tests.formats.vv_agent_sessions import ANSWER, Log, begun, store
from tests.formats.vv_agent_stores import EXPIRED, LIVE, NOW, SHIP, WEIGH, asked

TOOL = f"{ANSWER}/attempt/1/tool"
SECOND = "turn/1/model/primary/2"


def opened(path: Path, run_id: str | None = None) -> RunSource:
    return Store(str(path), Database(str(path)), now=lambda: NOW).open(run_id)


def only(tmp_path: Path, log: Log, **options: Any) -> RunSource:
    return opened(store(tmp_path / "s.sqlite3", log, **options))


def kinds(run: RunSource) -> list[tuple[str, str]]:
    return [(step.kind, step.status) for step in run.steps(1, len(run) + 1)]


def pending(run: RunSource) -> list[Pending]:
    state = run.state(len(run))
    assert state is not None
    return list(state.pending or ())


def texts(run: RunSource, step: int) -> list[str | None]:
    state = run.state(step)
    assert state is not None
    return [message.text for message in state.messages or ()]


def batch() -> Log:
    """Two calls planned at once, the first done."""
    log = begun().turn("Pack A.").model("Both.", WEIGH, SHIP).plan(0, WEIGH).plan(1, SHIP)
    return log.begin(0).result(0, "c1", "40 kg")


def test_a_completed_turn(tmp_path: Path) -> None:
    log = batch().begin(1).result(1, "c2", "shipped").model("Done.", operation=SECOND, given=20).done()
    run = only(tmp_path, log)
    found = run.run()
    assert (found.id, found.name, found.status, found.steps) == ("desk", "packer", "completed", 3)
    assert found.usage is not None
    assert (found.usage.input_tokens, found.usage.output_tokens) == (30, 6)
    assert kinds(run) == [("model", "done"), ("tools", "done"), ("model", "done")]
    assert texts(run, 3) == ["You pack crates.", "Pack A.", "Both.", "40 kg", "shipped", "Done."]
    assert texts(run, 0) == ["You pack crates.", "Pack A."]
    assert pending(run) == []
    assert run.resume().reasons == ("terminal",)
    assert list(run.problems()) == []
    first, second, _ = run.steps(1, 4)
    assert (first.started, first.ended) == ("2027-01-15T07:58:24.000Z", "2027-01-15T07:58:25.000Z")
    assert (second.started, second.ended) == ("2027-01-15T07:58:28.000Z", "2027-01-15T07:58:31.000Z")
    state = run.state(3)
    assert state is not None
    assert (state.values or {})["shared_state"] == {"n": 20}


def test_the_definition_of_the_newest_turn(tmp_path: Path) -> None:
    found = only(tmp_path, batch()).definition()
    assert found.tools is not None
    assert [(tool.name, tool.idempotency) for tool in found.tools] == [("weigh", "supported"), ("ship", "unknown")]
    assert (found.tools_known, found.model) == ("registry", "m-1")
    assert found.tools[1].schema["properties"] == {"crate": {"type": "string"}}


@pytest.mark.parametrize(
    ("lease", "status", "call"), [(LIVE, "running", "in_flight"), (EXPIRED, "interrupted", "ambiguous")]
)
def test_a_turn_cut_in_a_tool(tmp_path: Path, lease: int, status: str, call: str) -> None:
    run = only(tmp_path, batch().begin(1), phase="active", lease=lease)
    assert run.run().status == status
    assert [(one.call_id, one.status, one.arguments) for one in pending(run)] == [("c2", call, {"crate": "A"})]
    assert kinds(run) == [("model", "done"), ("tools", "pending")]
    assert ("owned" in run.resume().reasons) == (lease == LIVE)


def test_planned_calls_are_ready(tmp_path: Path) -> None:
    run = only(tmp_path, begun().turn("Pack A.").model("Both.", WEIGH, SHIP).plan(0, WEIGH), phase="active")
    assert [(one.call_id, one.status, one.note) for one in pending(run)] == [
        ("c1", "ready", "planned, attempt 1"),
        ("c2", "ready", "not planned yet"),
    ]


def test_a_hook_that_changed_a_call(tmp_path: Path) -> None:
    log = begun().turn("Pack A.").model("One.", SHIP).plan(0, SHIP)
    log.add("op_prepared", f"{TOOL}/0", 1, op_kind="tool", request=asked("c2", "ship", crate="B"), tool={})
    assert pending(only(tmp_path, log, phase="active"))[0].arguments == {"crate": "B"}


@pytest.mark.parametrize(("decision", "status"), [(None, "waiting"), ("approve", "approved"), ("deny", "denied")])
def test_a_call_that_waits_for_an_approval(tmp_path: Path, decision: str | None, status: str) -> None:
    log = batch().add(
        "op_parked", f"{TOOL}/1", 1, phase="before_dispatch", handle={"kind": "approval", "request_id": "r"}
    )
    if decision:
        payload = {"operation_id": f"{TOOL}/1", "decision": decision}
        log.add("input_applied", disposition="applied", input={"kind": "approval_answer", "payload": payload})
    run = only(tmp_path, log, phase="parked" if decision is None else "active")
    assert [one.status for one in pending(run)] == [status]
    if decision is None:
        assert (run.run().status, run.run().reason) == ("suspended", "approval")


def test_a_question_to_the_user(tmp_path: Path) -> None:
    call = asked("q1", "ask_user", question="Which bay?")
    log = begun().turn("Pack A.").model("Hm.", call).plan(0, call)
    said = {"content": "Which bay?", "tool_call_id": "q1"}
    log.add("op_parked", f"{TOOL}/0", 1, handle={"kind": "user", "question": "Which bay?"}, interaction_result=said)
    run = only(tmp_path, log, phase="parked")
    assert (run.run().status, run.run().reason) == ("suspended", "input")
    assert [(one.kind, one.name, one.call_id, one.status) for one in pending(run)] == [
        ("input", "ask_user", "q1", "waiting")
    ]
    assert kinds(run) == [("model", "done"), ("tools", "pending")]


def test_a_turn_parked_on_words(tmp_path: Path) -> None:
    log = begun().turn("Pack A.").model("Which bay?").add("turn_parked", question="Which bay?")
    run = only(tmp_path, log, phase="parked")
    assert [(one.kind, one.status, one.arguments) for one in pending(run)] == [
        ("input", "waiting", {"question": "Which bay?"})
    ]


def test_later_turns_and_steering_are_inputs(tmp_path: Path) -> None:
    log = begun().turn("One?").model("One.").done().turn("Two?").model("Hm.", WEIGH, operation=SECOND)
    log.plan(0, WEIGH, SECOND).begin(0, SECOND).result(0, "c1", "40 kg", SECOND)
    log.add("input_applied", disposition="applied", input={"kind": "steer", "payload": {"content": "Hurry!"}})
    log.model("Two.", operation="turn/1/model/primary/3").done()
    run = only(tmp_path, log)
    assert [kind for kind, _ in kinds(run)] == ["model", "input", "model", "tools", "input", "model"]
    assert texts(run, 6) == ["You pack crates.", "One?", "One.", "Two?", "Hm.", "40 kg", "Hurry!", "Two."]


def test_an_unconfirmed_operation_of_a_completed_turn_is_flagged(tmp_path: Path) -> None:
    log = batch().begin(1).add("op_unknown", f"{TOOL}/1", 1, reason="worker lost")
    log.model("Done.", operation=SECOND).done(left=(f"{TOOL}/1",))
    run = only(tmp_path, log)
    assert run.run().status == "completed"
    assert [(one.call_id, one.status) for one in pending(run)] == [("c2", "ambiguous")]
    assert any("ship (c2)" in problem.message for problem in run.problems())
    assert texts(run, 2)[-1] == '{"error": "tool_outcome_unknown", "retryable": false}'


def test_a_model_request_in_flight(tmp_path: Path) -> None:
    run = only(
        tmp_path, begun().turn("Pack A.").plan_model().add("op_started", ANSWER, 1), phase="active", lease=EXPIRED
    )
    assert [(one.kind, one.name, one.status) for one in pending(run)] == [("model", "primary", "ambiguous")]
    assert run.resume().reasons == ("model_in_flight", "not_resumable")
    assert len(run) == 0


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("failed", "max_cycles", ("failed", "max_cycles")),
        ("failed", "budget_exhausted", ("failed", "budget")),
        ("failed", "agent_failed", ("failed", None)),
        ("cancelled", None, ("cancelled", None)),
        ("aborted", None, ("cancelled", None)),
        ("odd", None, ("unknown", None)),
    ],
)
def test_how_turns_end(tmp_path: Path, status: str, reason: str | None, expected: tuple[str, str | None]) -> None:
    found = only(tmp_path, begun().turn("Pack A.").model("Hm.").done(status, reason)).run()
    assert (found.status, found.reason) == expected
    assert (found.error is not None) == (status == "failed")


def test_a_model_call_that_failed_is_a_step(tmp_path: Path) -> None:
    log = begun().turn("Pack A.").model("", error_code="provider_rejected").done("failed", "agent_failed")
    assert kinds(only(tmp_path, log)) == [("model", "failed")]


def test_an_input_that_is_not_what_was_sent_is_told(tmp_path: Path) -> None:
    log = begun().turn("Pack A.").model("Hm.")
    path = store(tmp_path / "s.sqlite3", log, phase="active", inbox=({"content": "Hurry!"},))
    assert not any("digest" in problem.message for problem in opened(path).problems())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sk_inbox SET body = ?", (b'{"payload":{"content":"Stop!"}}',))
    connection.close()
    run = opened(path)
    run.state(len(run))
    [told] = [problem for problem in run.problems() if "digest" in problem.message]
    assert "sk_inbox" in told.where


def test_inputs_that_wait_are_a_queue(tmp_path: Path) -> None:
    run = only(tmp_path, begun().turn("Pack A.").model("Hm."), phase="active", inbox=({"content": "Hurry!"},))
    state = run.state(len(run))
    assert state is not None
    assert state.queues is not None
    assert [(queue.id, queue.size, queue.contents) for queue in state.queues] == [("inbox", 1, "complete")]
    assert list(state.queues[0].tokens or ()) == [{"kind": "steer", "payload": {"content": "Hurry!"}}]


def test_several_sessions_are_listed(tmp_path: Path) -> None:
    path = store(tmp_path / "s.db", begun("a").turn("One?").model("One.").done(), begun("b").turn("Two?").plan_model())
    runs = Store(str(path), Database(str(path)), now=lambda: NOW)
    assert [(row.id, row.status, row.steps) for row in runs.rows()] == [("a", "completed", 1), ("b", "interrupted", 0)]
    assert runs.source.version == "session log 3"


def test_many_sessions_are_listed_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.readers.vv_agent.session.COUNTED", 3)
    path = store(tmp_path / "s.db", begun("a").turn("One?").model("One.").done())
    row = Store(str(path), Database(str(path)), now=lambda: NOW).rows()[0]
    assert (row.id, row.steps) == ("a", None)


def test_a_changed_record_and_a_torn_one_are_named(tmp_path: Path) -> None:
    path = store(tmp_path / "s.db", batch().begin(1).result(1, "c2", "shipped").done())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sk_record SET body = CAST(replace(CAST(body AS TEXT), '40 kg', '4 kg') AS BLOB)")
        connection.execute("UPDATE sk_record SET body = substr(body, 1, 60) WHERE kind = 'turn_ended'")
    connection.close()
    run = opened(path)
    found = [f"{problem.where}: {problem.message}" for problem in run.problems()]
    assert any("sk_record[desk:9].body" in words and "digest" in words for words in found)
    assert any("breaks off" in words for words in found)
    assert texts(run, 2)[-2:] == ["4 kg", "shipped"]


def test_an_edited_definition_is_flagged(tmp_path: Path) -> None:
    log = begun().turn("Pack A.").model("Hm.").done()
    path = store(tmp_path / "s.db", log)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE sk_record SET body = CAST(replace(CAST(body AS TEXT), 'What ship', 'What it') AS BLOB)"
        )
    connection.close()
    assert any("definition" in problem.message for problem in opened(path).problems())


def test_a_growing_log_is_followed(tmp_path: Path) -> None:
    log = batch()
    path = store(tmp_path / "s.db", log, phase="active", lease=LIVE)
    run = opened(path)
    assert len(run) == 2
    known = len(log.records)
    log.begin(1).result(1, "c2", "shipped").model("Done.", operation=SECOND)
    with closing(sqlite3.connect(path)) as connection, connection:
        marks = ", ".join("?" * 9)
        connection.executemany(f"INSERT INTO sk_record VALUES ({marks})", log.records[known:])
    connection.close()
    assert run.refresh()
    assert len(run) == 3
    assert not run.refresh()


def test_where_records_are_missing_no_call_is_ready(tmp_path: Path) -> None:
    log = batch()
    assert [one.status for one in pending(only(tmp_path, log, phase="active"))] == ["ready"]
    del log.records[3]
    (tmp_path / "gap").mkdir()
    run = only(tmp_path / "gap", log, phase="active")
    assert [one.status for one in pending(run)] == ["ambiguous"]
    assert any("record 4 is missing" in problem.message for problem in run.problems())


def test_records_without_their_key_are_not_read_whole_for_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work: list[None] = []
    count = lambda sqlite, _: sqlite.set_progress_handler(lambda: work.append(None), 100)  # noqa: E731
    monkeypatch.setattr(sqlitefile, "_limit", count)

    def read(answers: int, sessions: int) -> int:
        logs = [begun(f"s{number}").turn("go") for number in range(sessions)]
        for log in logs:
            for number in range(answers):
                log.model("hm", operation=f"turn/1/model/primary/{number + 1}")
        path = store(tmp_path / f"{answers} {sessions}.db", *logs)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("ALTER TABLE sk_record RENAME TO kept")
            database.execute("CREATE TABLE sk_record AS SELECT * FROM kept")
            database.execute("DROP TABLE kept")
        runs = Store(str(path), Database(str(path)), now=lambda: NOW)
        work.clear()
        for row in runs.rows():
            run = runs.open(row.id)
            assert len(run.steps(1, len(run) + 1)) == answers
            assert texts(run, answers)[-1] == "hm"
        return len(work)

    assert read(600, 1) < 6 * read(150, 1)
    assert read(1, 200) < 6 * read(1, 50)


def test_operations_that_are_over_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = begun().turn("Pack A.")
    for number in range(1, 101):
        answer, call = f"turn/1/model/primary/{number}", asked(f"c{number}", "weigh")
        log.model("Next.", call, operation=answer).plan(0, call, answer).begin(0, answer)
        log.result(0, f"c{number}", "40 kg", answer)
    read = list[Projection]()
    monkeypatch.setattr(Projection, "finish", lambda told: read.append(told) or told._flush(over=False))
    run = only(tmp_path, log)
    assert len(run) == 200
    assert texts(run, 200)[-1] == "40 kg"
    assert len(read[0].operations) == 1


def test_an_approved_call_that_was_begun_tells_both(tmp_path: Path) -> None:
    log = batch().add("op_parked", f"{TOOL}/1", 1, handle={"kind": "approval"})
    answer = {"kind": "approval_answer", "payload": {"operation_id": f"{TOOL}/1", "decision": "approve"}}
    log.add("input_applied", disposition="applied", input=answer).begin(1)
    (call,) = pending(only(tmp_path, log, phase="active"))
    assert call.status == "ambiguous"
    assert call.note == "approval: approve; started, attempt 1; idempotency unknown; may have happened"


def torn(path: Path, seq: int, kept: bytes) -> None:
    """Cuts a record's body behind `kept`."""
    with closing(sqlite3.connect(path)) as connection, connection:
        (body,) = connection.execute("SELECT body FROM sk_record WHERE seq = ?", (seq,)).fetchone()
        connection.execute("UPDATE sk_record SET body = ? WHERE seq = ?", (body[: body.index(kept)] + kept, seq))
    connection.close()


def test_calls_of_a_torn_answer_are_told_by_their_own_records(tmp_path: Path) -> None:
    path = store(tmp_path / "open", batch(), phase="active")
    torn(path, 5, b'"result":{"content":"Both."')
    run = opened(path)
    assert [(one.name, one.call_id, one.status) for one in pending(run)] == [("ship", "c2", "ready")]
    assert kinds(run) == [("model", "done"), ("tools", "pending")]
    over = batch().begin(1).result(1, "c2", "sent").model("Done.", operation=SECOND).done()
    path = store(tmp_path / "over", over)
    torn(path, 5, b'"result":{"content":"Both."')
    assert texts(opened(path), 3)[-3:] == ["40 kg", "sent", "Done."]


def test_a_torn_end_is_an_end_of_unknown_status(tmp_path: Path) -> None:
    path = store(tmp_path / "s", begun().turn("Hi.").model("Hello.").done())
    torn(path, 6, b"{")
    assert opened(path).run().status == "unknown"


def test_a_record_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    log = batch()
    path = store(tmp_path / "s", log, phase="active")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE sk_record RENAME TO old")
        connection.execute("CREATE TABLE sk_record AS SELECT * FROM old")
        connection.execute("INSERT INTO sk_record SELECT * FROM old")
        connection.execute("DROP TABLE old")
    connection.close()
    run = opened(path)
    assert kinds(run) == [("model", "done"), ("tools", "pending")]
    assert [one.status for one in pending(run)] == ["ready"]
    assert {problem.message for problem in run.problems()} == {"is there again: the first one is shown"}


def test_an_unconfirmed_operation_of_an_earlier_turn_stays_flagged(tmp_path: Path) -> None:
    log = batch().begin(1).add("op_unknown", f"{TOOL}/1", 1).done(left=(f"{TOOL}/1",)).turn("And?")
    words = "turn 1 ended completed, but these operations may or may not have happened: ship (c2)"
    assert [problem.message for problem in only(tmp_path, log, phase="active").problems()] == [words]
    (tmp_path / "told").mkdir()
    log.result(1, "c2", "sent", context="correction")
    assert not list(only(tmp_path / "told", log, phase="active").problems())
