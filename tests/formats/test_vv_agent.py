"""Checkpoint stores of vv-agent."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import UsageError
from inspector.formats import jsontext, open_path
from inspector.formats.readers.vv_agent.checkpoint import COMMON
from inspector.formats.readers.vv_agent.store import Store
from inspector.formats.sqlitefile import Database
from inspector.model.run import Message, Pending, State
from inspector.model.source import RunSource
from tests.formats import vv_agent_stores as made
from tests.formats.vv_agent_stores import EXPIRED, GENERATIONS, LIVE, NOW


def opened(path: Path, now: float = NOW) -> Store:
    return Store(str(path), Database(str(path)), now=lambda: now)


def only(tmp_path: Path, row: made.Row, generation: int = 5, now: float = NOW) -> RunSource:
    tmp_path.mkdir(exist_ok=True)
    return opened(made.store(tmp_path / "checkpoints.db", [row], generation), now).open()


def pending(run: RunSource) -> dict[str | None, Pending]:
    state = run.state(len(run))
    assert state is not None
    return {one.call_id: one for one in state.pending or ()}


def kinds(run: RunSource) -> list[tuple[str, str]]:
    return [(step.kind, step.status) for step in run.steps(1, len(run) + 1)]


def after(run: RunSource, step: int) -> tuple[State, list[Message]]:
    """The state after a step, and its messages."""
    state = run.state(step)
    assert state is not None
    assert state.messages is not None
    return state, list(state.messages)


def complaints(run: RunSource) -> list[str]:
    return [f"{problem.where}: {problem.message}" for problem in run.problems()]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_tells_the_same(tmp_path: Path, generation: int) -> None:
    error: Any = {"code": "x", "message": "the quota is used up"} if generation >= 10 else "the quota is used up"
    rows = [
        made.finished(),
        made.asks(),
        made.raised(),
        made.killed("live", LIVE),
        made.killed(),
        made.failed(error=error),
    ]
    history = {"sequence": 0, "cycle_count": 0, "head_digest": None}
    path = made.store(tmp_path / "c.db", [{**row, "history": history} for row in rows], generation)
    runs = opened(path)
    assert [(row.id, row.status, row.reason, row.steps) for row in runs.rows()] == [
        ("finished", "completed", None, 3),
        ("asks", "suspended", "input", 2),
        ("raised", "suspended", "reconciliation", 2),
        ("live", "running", None, 4),
        ("killed", "interrupted", None, 4),
        ("failed", "failed", None, 3),
    ]
    for listed in runs.rows():
        run = runs.open(listed.id)
        assert run.source.version == f"v{generation}"
        shown = run.run()
        assert (shown.status, shown.reason, shown.steps, shown.name) == (
            listed.status,
            listed.reason,
            listed.steps,
            "packer",
        )
        assert complaints(run) == []
    error_found = runs.open("failed").run().error
    assert error_found is not None
    assert error_found.message == "the quota is used up"
    assert runs.open("live").resume().reasons == ("owned",)
    assert runs.open("finished").resume().reasons == ("terminal",)


def test_a_finished_run_step_by_step(tmp_path: Path) -> None:
    run = only(tmp_path, made.finished())
    assert kinds(run) == [("model", "done"), ("tools", "done"), ("model", "done")]
    assert [step.usage.input_tokens if step.usage else None for step in run.steps(1, 9)] == [10, None, 20]
    state, messages = after(run, 0)
    assert [message.role for message in messages] == ["system", "user"]
    assert state.values == {"shared_state": {"bay": 4}}
    called, _ = after(run, 1)
    assert [(one.name, one.status, one.arguments) for one in called.pending or ()] == [
        ("weigh", "ready", {"crate": "A"})
    ]
    last, messages = after(run, 3)
    assert (last.pending, (last.values or {})["final_answer"], messages[-1].text) == ((), "Done.", "Done.")
    assert run.state(4) is None
    usage = run.run().usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (30, 8)


def test_a_batch_is_told_call_by_call(tmp_path: Path) -> None:
    run = only(tmp_path, made.killed())
    found = pending(run)
    assert {key: one.status for key, one in found.items()} == {"c2": "answered", "c3": "ambiguous", "c4": "ready"}
    assert (found["c2"].result, found["c3"].result) == ("40 kg", None)
    assert found["c3"].arguments == {"crate": "A"}
    assert "lease ended" in (found["c3"].note or "")
    assert kinds(run)[2:] == [("model", "done"), ("tools", "pending")]
    _, messages = after(run, 3)
    assert messages[-1].text == "Shipping."


@pytest.mark.parametrize(
    ("now", "status", "call"), [(NOW, "interrupted", "ambiguous"), (NOW - 0.001, "running", "in_flight")]
)
def test_a_lease_that_ends_now_has_ended(tmp_path: Path, now: float, status: str, call: str) -> None:
    run = only(tmp_path, made.killed(lease=int(NOW * 1000)), now=now)
    assert run.run().status == status
    assert pending(run)["c3"].status == call


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("planned", "ready"),
        ("started", "ambiguous"),
        ("ambiguous", "ambiguous"),
        ("deferred", "waiting"),
        ("failed", "answered"),
        ("succeeded", "answered"),
        ("something else", "ambiguous"),
        (None, "ambiguous"),
        ([], "ambiguous"),
    ],
)
def test_the_states_of_a_journal_entry(tmp_path: Path, state: Any, status: str) -> None:
    entry = made.tool_entry(made.SHIP, "started") | {"state": state, "error": {"code": "no", "message": "never"}}
    run = only(tmp_path, made.raised(tool_journal=[entry]))
    assert pending(run)["c2"].status == status
    assert pending(run)["c1"].status == "ready"


@pytest.mark.parametrize(("lease", "status"), [(LIVE, "in_flight"), (EXPIRED, "ambiguous")])
def test_a_model_request_that_was_sent(tmp_path: Path, lease: int, status: str) -> None:
    call_id = "op_model_cycle_1_main:attempt:1"
    row = made.row(
        "m",
        model_call_journal=[made.model_entry(1, "started")],
        event_outbox=[
            made.event("checkpoint_created", NOW - 9),
            made.event("model_call_started", NOW - 5, call_id=call_id),
        ],
        claim_token="t",
        claimed_cycle=1,
        lease_expires_at_ms=lease,
    )
    run = only(tmp_path, row)
    found = pending(run)[call_id]
    assert (found.kind, found.name, found.status) == ("model", "m-1", status)
    assert found.since == "2027-01-15T07:59:55.000Z"
    assert run.run().started == "2027-01-15T07:59:51.000Z"
    assert len(run) == 0
    assert ("model_in_flight" in run.resume().reasons) == (status == "ambiguous")


def test_what_a_waiting_run_waits_for(tmp_path: Path) -> None:
    run = only(tmp_path, made.asks())
    found = pending(run)["q1"]
    assert (found.kind, found.name, found.status) == ("input", "ask_user", "waiting")
    assert found.arguments == {"question": "Which bay?"}
    assert kinds(run) == [("model", "done"), ("tools", "pending")]
    assert run.run().error is None


def test_a_run_that_waits_for_an_approval(tmp_path: Path) -> None:
    call = made.asked("c9", "ship", crate="A")
    asks = made.result("c9", "Approval required.", directive="wait_user", error_code="tool_approval_required")
    row = made.asks(
        messages=[made.SYSTEM, made.USER, made.assistant("Ship?", call), made.told("c9", "Approval required.")],
        cycles=[made.cycle(1, "Ship?", (call,), (asks,))],
        terminal_result={"status": "wait_user", "completion_tool_name": "ship", "wait_reason": "Approval required."},
    )
    run = only(tmp_path, row)
    assert (run.run().status, run.run().reason) == ("suspended", "approval")
    found = pending(run)["c9"]
    assert (found.kind, found.name, found.status, found.arguments) == ("tool", "ship", "waiting", {"crate": "A"})


def test_a_question_in_words_alone(tmp_path: Path) -> None:
    row = made.asks(
        messages=[made.SYSTEM, made.USER, made.assistant("Which bay?")],
        cycles=[made.cycle(1, "Which bay?")],
        terminal_result={"status": "wait_user", "wait_reason": "Which bay?"},
    )
    run = only(tmp_path, row)
    assert kinds(run) == [("model", "done")]
    found = pending(run)[None]
    assert (found.kind, found.status, found.arguments) == ("input", "waiting", {"question": "Which bay?"})


def test_a_host_interaction(tmp_path: Path) -> None:
    request = {"interaction_id": "i-1", "tool_call_id": "c1", "prompt": "Which bay?", "operation_id": "op"}
    row = made.row(
        "host",
        status="host_interaction",
        cycle_index=1,
        messages=[made.SYSTEM, made.USER, *made.FIRST],
        cycles=[made.FIRST_CYCLE],
        active_host_interaction=request,
    )
    path = made.store(tmp_path / "c.db", [row], 8)
    found = pending(opened(path).open())["c1"]
    assert (found.kind, found.name, found.status) == ("input", "weigh", "waiting")
    with closing(sqlite3.connect(path)) as connection, connection:
        answer = ("r", "host", "i-1", "resolved_pending", '{"text": "bay 4"}')
        connection.execute("INSERT INTO host_interaction_records VALUES (?, ?, ?, ?, ?)", answer)
    connection.close()
    found = pending(opened(path).open())["c1"]
    assert (found.status, found.result) == ("answered", {"text": "bay 4"})


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        ("running", {}, ("interrupted", None)),
        ("deferred", {}, ("suspended", "input")),
        ("suspended", {"suspended_origin": {"status": "running"}}, ("suspended", "tools")),
        ("suspended", {"suspended_origin": {"status": "deferred"}}, ("suspended", "input")),
        ("max_cycles", {"terminal_result": {"status": "max_cycles"}}, ("failed", "max_cycles")),
        ("failed", {"terminal_result": {"completion_reason": "budget_exhausted"}}, ("failed", "budget")),
        ("failed", {"terminal_result": {"completion_reason": "cancelled"}}, ("cancelled", None)),
        ("sleeping", {}, ("unknown", None)),
        (None, {}, ("unknown", None)),
    ],
)
def test_status_and_reason(tmp_path: Path, status: Any, changes: made.Row, expected: tuple[str, str | None]) -> None:
    runs = opened(made.store(tmp_path / "c.db", [made.row("x", status=status, **changes)], 8))
    found = runs.open().run()
    assert (found.status, found.reason) == expected
    assert (runs.rows()[0].status, runs.rows()[0].reason) == expected


def test_an_ended_run_shows_the_call_it_did_not_make(tmp_path: Path) -> None:
    row = made.failed(
        messages=[made.SYSTEM, made.USER, made.assistant("Again.", made.WEIGH)],
        cycles=[made.cycle(1, "Again.", (made.WEIGH,))],
        model_calls=[made.spent(1)],
        terminal_result={"status": "failed", "completion_reason": "budget_exhausted", "error": "spent"},
    )
    run = only(tmp_path, row)
    assert kinds(run) == [("model", "done"), ("tools", "pending")]
    assert "ended before" in (pending(run)["c1"].note or "")


def test_a_model_call_that_failed_is_a_step(tmp_path: Path) -> None:
    run = only(tmp_path, made.failed())
    assert kinds(run)[-1] == ("model", "failed")
    assert run.run().error is not None
    state, messages = after(run, 3)
    assert (len(messages), state.pending) == (4, ())


def test_model_calls_are_timed_where_the_outbox_still_tells_of_them(tmp_path: Path) -> None:
    def times(name: str, row: made.Row) -> list[tuple[str | None, str | None]]:
        return [(step.started, step.ended) for step in only(tmp_path / name, row).steps(1, 9) if step.kind == "model"]

    second = {"call_id": "op_model_cycle_2_main:attempt:1"}
    begun = made.event("model_call_started", NOW - 5, **second)
    outbox = [begun, made.event("model_call_completed", NOW - 4, **second)]
    known = ("2027-01-15T07:59:55.000Z", "2027-01-15T07:59:56.000Z")
    assert times("killed", made.killed(event_outbox=outbox)) == [(None, None), known]
    outbox = [begun, made.event("model_call_failed", NOW - 4, outcome="definitive", **second)]
    assert times("failed", made.failed(event_outbox=outbox)) == [(None, None), known]
    # When a recovery says that it does not know how a call ended, that is not when it ended.
    outbox = [begun, made.event("model_call_failed", NOW - 4, outcome="ambiguous", **second)]
    row = made.failed(event_outbox=outbox, model_call_journal=[made.model_entry(2, "ambiguous")])
    assert times("aborted", row) == [(None, None), (known[0], None)]


def test_tool_calls_are_timed_where_the_outbox_still_tells_of_them(tmp_path: Path) -> None:
    def told(call_id: str, at: float, kind: str = "completed") -> made.Row:
        return made.event(f"tool_call_{kind}", at, tool_call_id=call_id)

    calls, results = (made.WEIGH, made.SHIP), (made.result("c1", "40 kg"), made.result("c2", "sent"))
    row = made.finished(
        messages=[
            made.SYSTEM,
            made.USER,
            made.assistant("Both.", *calls),
            made.told("c1", "40 kg"),
            made.told("c2", ""),
        ],
        cycles=[made.cycle(1, "Both.", calls, results)],
        event_outbox=[told("c1", NOW - 5, "started"), told("c1", NOW - 4), told("c2", NOW - 3)],
    )
    [step] = only(tmp_path / "finished", row, 10).steps(2, 3)
    assert (step.started, step.ended) == ("2027-01-15T07:59:55.000Z", "2027-01-15T07:59:57.000Z")
    # What waits for its user has not ended: it waits since the question was asked.
    run = only(tmp_path / "asks", made.asks(event_outbox=[told("q1", NOW - 3)]), 10)
    [step] = run.steps(2, 3)
    assert (step.status, step.started, step.ended) == ("pending", None, None)
    assert pending(run)["q1"].since == "2027-01-15T07:59:57.000Z"
    begun = [told("c1", NOW - 5, "started"), told("c3", NOW - 2, "started")]
    run = only(tmp_path / "killed", made.killed(event_outbox=begun), 10)
    assert pending(run)["c3"].since == "2027-01-15T07:59:58.000Z"


def test_an_aborted_run_keeps_its_evidence(tmp_path: Path) -> None:
    calls = (made.SHIP,)
    cut = made.tool_entry(
        made.SHIP,
        "failed",
        2,
        error={"code": "tool_cancelled", "message": "effect unknown"},
        resume_observation={"state": "ambiguous"},
    )
    error = {"code": "operator_abort_with_unknown_outcome", "message": "accepted"}
    row = made.failed(
        error=error,
        model_calls=[made.spent(1), made.spent(2)],
        model_call_journal=[made.model_entry(2, "succeeded", "Shipping.", *calls)],
        tool_journal=[cut],
    )
    run = only(tmp_path, row, 10)
    assert kinds(run) == [("model", "done"), ("tools", "done"), ("model", "done"), ("tools", "unknown")]
    assert pending(run)["c2"].status == "ambiguous"
    asked, _ = after(run, 3)
    assert [(one.call_id, one.status, one.arguments) for one in asked.pending or ()] == [
        ("c2", "ready", {"crate": "A"})
    ]
    _, messages = after(run, 4)
    assert len(messages) == 4
    found = run.run().error
    assert found is not None
    assert (found.type, found.message) == ("operator_abort_with_unknown_outcome", "accepted")


def test_a_later_user_message_is_a_step(tmp_path: Path) -> None:
    row = made.finished(
        messages=[made.SYSTEM, made.USER, *made.FIRST, {"role": "user", "content": "Hurry!"}, made.assistant("Done.")]
    )
    runs = opened(made.store(tmp_path / "c.db", [row]))
    assert [kind for kind, _ in kinds(runs.open())] == ["model", "tools", "input", "model"]
    assert runs.rows()[0].steps == 4


def test_history_from_before_the_run_belongs_to_step_0(tmp_path: Path) -> None:
    old = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    row = made.finished(
        definition=made.definition(initial_messages=old),
        messages=[made.SYSTEM, *old, made.USER, *made.FIRST, made.assistant("Done.")],
    )
    run = only(tmp_path, row)
    _, messages = after(run, 0)
    assert (len(run), len(messages)) == (3, 4)


def test_a_shortened_transcript_keeps_its_steps(tmp_path: Path) -> None:
    short = [made.SYSTEM, {"role": "user", "content": "So far: A weighs 40 kg."}, made.assistant("Done.")]
    runs = opened(made.store(tmp_path / "c.db", [made.finished(messages=short)]))
    run = runs.open()
    assert [kind for kind, _ in kinds(run)] == ["model", "tools", "model"]
    assert runs.rows()[0].steps == 3
    (_, rebuilt), (_, last) = after(run, 2), after(run, 3)
    assert rebuilt[-1].text == "40 kg"
    assert [message.text for message in last] == ["You pack crates.", "So far: A weighs 40 kg.", "Done."]


def batch(sequence: int, cycles: list[made.Row], calls: list[made.Row], before: str | None) -> made.Row:
    return {
        "schema_version": "vv-agent.checkpoint-history.v1",
        "checkpoint_key": "finished",
        "sequence": sequence,
        "previous_digest": before,
        "cycles": cycles,
        "model_calls": calls,
    }


def retired() -> tuple[made.Row, list[made.Row]]:
    """A v12 row of three cycles, of which two are in the archive."""
    one = batch(1, [made.FIRST_CYCLE], [made.spent(1)], None)
    second = made.cycle(2, "Shipping.", (made.SHIP,), (made.result("c2", "shipped"),))
    two = batch(2, [second], [made.spent(2, 20, 5)], made.digest(one))
    row = made.finished(
        messages=[
            made.SYSTEM,
            made.USER,
            *made.FIRST,
            made.assistant("Shipping.", made.SHIP),
            made.told("c2", "shipped"),
            made.assistant("Done."),
        ],
        cycles=[made.cycle(3, "Done.")],
        model_calls=[made.spent(3, 30, 7)],
        history={"sequence": 2, "cycle_count": 2, "head_digest": made.digest(two)},
    )
    return row, [one, two]


def test_retired_cycles_are_taken_in(tmp_path: Path) -> None:
    row, batches = retired()
    runs = opened(made.store(tmp_path / "c.db", [row], 12, {"finished": batches}))
    run = runs.open()
    assert [kind for kind, _ in kinds(run)] == ["model", "tools", "model", "tools", "model"]
    assert runs.rows()[0].steps == 5
    usage = run.run().usage
    assert usage is not None
    assert usage.input_tokens == 60
    assert complaints(run) == []


def test_a_retired_batch_that_was_changed_or_lost_is_named(tmp_path: Path) -> None:
    row, batches = retired()
    path = made.store(tmp_path / "c.db", [row], 12, {"finished": batches})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE checkpoint_history SET payload = replace(payload, 'Weighing', 'Wishing')")
    connection.close()
    assert any("digest" in words for words in complaints(opened(path).open()))
    lost = opened(made.store(tmp_path / "lost.db", [row], 12, {"finished": batches[1:]})).open()
    assert any("missing" in words for words in complaints(lost))
    assert [kind for kind, _ in kinds(lost)] == ["model", "tools", "model", "tools", "model"]
    none = opened(made.store(tmp_path / "none.db", [row], 12)).open()
    assert any("2 batches" in words for words in complaints(none))


def test_the_definition(tmp_path: Path) -> None:
    refs = {
        "runtime_hook:10": {"id": "hook.last", "version": "1"},
        "runtime_hook:2": {"id": "hook.mid", "version": "3"},
        "output_guardrail:0": {"id": "guard", "version": "2"},
        "behavior_affecting_run_metadata": {"id": "meta", "version": "1"},
    }
    found = only(tmp_path, made.finished(definition=made.definition(capability_refs=refs))).definition()
    assert found.tools is not None
    assert found.hooks is not None
    assert [(tool.name, tool.idempotency, tool.needs_approval) for tool in found.tools] == [
        ("weigh", "supported", False),
        ("ship", "unknown", False),
    ]
    assert found.tools[0].schema["properties"] == {"crate": {"type": "string"}}
    assert found.tools[0].description == "What weigh does."
    assert [f"{hook.event}: {hook.name}" for hook in found.hooks] == [
        "runtime_hook: hook.mid@3",
        "runtime_hook: hook.last@1",
        "output_guardrail: guard@2",
    ]
    assert (found.tools_known, found.model, found.graph) == ("registry", "m-1", None)


def test_a_changed_definition_is_flagged(tmp_path: Path) -> None:
    row = made.finished()
    row["run_definition"] = row["run_definition"].replace("What weigh does", "What weigh might do")
    run = only(tmp_path, row)
    assert any("digest" in words for words in complaints(run))
    assert run.run().status == "completed"


@pytest.mark.parametrize(
    "found", [{"limit": 1e20}, {"text": "\u202e\x1b[2J ü"}, {"numbers": [1.5, -0.0, 1e-7, 2**53 - 1]}]
)
def test_digests_of_odd_definitions_hold(tmp_path: Path, found: made.Row) -> None:
    run = only(tmp_path, made.finished(definition=made.definition(**found)))
    assert complaints(run) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"a": 1e999}', "cannot be checked"), ("[" * 5000 + "]" * 5000, ""), ('{"a": "\\ud800"}', "cannot")],
)
def test_a_definition_without_a_canonical_form(tmp_path: Path, text: str, words: str) -> None:
    run = only(tmp_path, made.finished() | {"run_definition": text})
    assert any(words in complaint for complaint in complaints(run))


def test_a_future_schema_is_named(tmp_path: Path) -> None:
    run = only(tmp_path, made.finished(schema_version="vv-agent.checkpoint.v77"))
    assert run.source.version == "v77"
    assert any("v77" in words for words in complaints(run))
    assert "version_unsupported" in run.resume().reasons
    path = made.store(tmp_path / "two.db", [made.finished("a", schema_version="x.v77"), made.finished("b")])
    assert any("v77" in problem.message for problem in opened(path).problems())


def test_a_stuck_run_is_named(tmp_path: Path) -> None:
    entry = made.tool_entry(made.SHIP, "ambiguous", 2)
    run = only(tmp_path, made.killed(tool_journal=[entry], resume_attempt=3))
    assert any("stuck" in words and "attempt 3" in words for words in complaints(run))
    quiet = only(tmp_path / "live", made.killed(lease=LIVE, tool_journal=[entry]))
    assert not any("stuck" in words for words in complaints(quiet))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (made.finished(terminal_result=None), "its terminal result is missing"),
        (made.finished(terminal_result={"status": "failed"}), "is completed, and its terminal result says failed"),
        (made.killed(terminal_result={"status": "failed"}), "has the terminal result of a run that has ended"),
        (made.raised(tool_journal=[]), "its journals hold nothing that is ambiguous"),
        (made.killed(claim_token=None), "has a lease that nobody holds"),
        (made.killed(lease=int(NOW)), "is no likely time"),
        (made.killed(lease=2**63 - 1), "is no likely time"),
    ],
)
def test_columns_that_contradict_each_other_are_told(tmp_path: Path, row: made.Row, told: str) -> None:
    found = complaints(only(tmp_path, row))
    assert len(found) == 1
    assert told in found[0]


def test_a_lease_without_a_claim_holds_nothing(tmp_path: Path) -> None:
    run = only(tmp_path, made.killed(lease=LIVE, claim_token=None))
    assert (run.run().status, pending(run)["c3"].status) == ("interrupted", "ambiguous")


def test_an_event_that_is_not_what_was_recorded_is_told(tmp_path: Path) -> None:
    sound, changed = made.event("checkpoint_created"), made.event("run_completed", state="delivered")
    outbox = [sound | {"payload_digest": made.digest(sound["event"])}, changed | {"payload_digest": "0" * 64}]
    [told] = complaints(only(tmp_path, made.finished(event_outbox=outbox)))
    assert told.startswith("checkpoints.db: checkpoints[finished].event_outbox[1].event: is not what was recorded")


def test_undelivered_events_of_an_ended_run_are_named(tmp_path: Path) -> None:
    run = only(tmp_path, made.finished(event_outbox=[made.event("run_completed", state="pending")]))
    assert any("not delivered" in words for words in complaints(run))
    assert run.run().ended == "2027-01-15T07:58:20.000Z"


ODD: tuple[Any, ...] = (
    '[{"role": "user", "con',
    "",
    "no json",
    '{"a": 1',
    7,
    b"\xff\xfe",
    "[]",
    "{}",
    "null",
    '"x"',
    "[[]]",
)
UNREADABLE = ("no json", 7, b"\xff\xfe")


def test_damage_in_one_column_leaves_the_others(tmp_path: Path) -> None:
    cells = [(column, text) for column in made.JSON_COLUMNS for text in ODD]
    rows = [made.killed(f"run/{number}") | {column: text} for number, (column, text) in enumerate(cells)]
    runs = opened(made.store(tmp_path / "c.db", rows))
    for listed, (column, text) in zip(runs.rows(), cells, strict=True):
        run = runs.open(listed.id)
        found = run.run()
        assert (found.id, found.status, listed.status) == (listed.id, "interrupted", "interrupted")
        assert listed.steps in (None, found.steps), f"{column} = {text!r}"
        for step in range(len(run) + 1):
            assert run.state(step) is not None
            run.raw(step)
        if text in UNREADABLE and column != "event_cursor":  # nothing of the cursor is shown
            assert any(f"checkpoints[{listed.id}].{column}" in words for words in complaints(run)), (
                f"{column} = {text!r}"
            )


@pytest.mark.parametrize("column", COMMON)
def test_a_column_that_is_missing_is_named(tmp_path: Path, column: str) -> None:
    path = made.store(tmp_path / "c.db", [made.killed()])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP INDEX checkpoints_status_idx")
        connection.execute(f"ALTER TABLE checkpoints DROP COLUMN {column}")
    connection.close()
    run = opened(path).open()
    assert any(f".{column}: the table has no such column" in words for words in complaints(run))
    calls = [one for one in pending(run).values() if one.kind == "tool"]
    if column == "tool_journal":
        assert {one.status for one in calls} == {"ambiguous"}, "whether it was begun is not known"


@pytest.mark.parametrize("value", [None, 7, "x", b"\xff", 2**62, 1.5, "\u202e\x1b[2J"])
def test_odd_values_in_plain_columns(tmp_path: Path, value: Any) -> None:
    plain = [name for name in made.columns(12) if name not in made.JSON_COLUMNS]
    rows = [made.killed(f"run/{number}") | {column: value} for number, column in enumerate(plain)]
    runs = opened(made.store(tmp_path / "c.db", [{**row, "history": row.get("history")} for row in rows], 12))
    for listed in runs.rows():
        run = runs.open(listed.id)
        assert run.run().status == listed.status
        assert run.state(len(run)) is not None
        list(run.problems())


def test_a_torn_transcript_is_rebuilt_from_the_cycles(tmp_path: Path) -> None:
    torn = json.dumps([made.SYSTEM, made.USER, *made.FIRST, made.assistant("Done.")])[:-60]
    run = only(tmp_path, made.finished() | {"messages": torn})
    _, messages = after(run, 3)
    assert [message.text for message in messages] == [
        "You pack crates.",
        "Pack crate A.",
        "Weighing.",
        "40 kg",
        "Done.",
    ]
    assert any("checkpoints[finished].messages:1 byte" in words for words in complaints(run))


def test_a_torn_journal_makes_no_call_ready(tmp_path: Path) -> None:
    row = made.killed()
    run = only(tmp_path, row | {"tool_journal": json.dumps(row["tool_journal"])[:-700]})
    assert {one.status for one in pending(run).values()} == {"ambiguous"}


def test_torn_cycles_leave_the_transcript(tmp_path: Path) -> None:
    torn = json.dumps([made.FIRST_CYCLE, made.cycle(2, "Done.")])[:-30]
    run = only(tmp_path, made.finished() | {"cycles": torn})
    assert [kind for kind, _ in kinds(run)] == ["model", "tools", "model"]


def test_arguments_that_are_no_json_stay_text(tmp_path: Path) -> None:
    message = made.assistant("Hm.", made.WEIGH)
    message["tool_calls"][0]["function"]["arguments"] = '{"crate": '
    row = made.row("x", messages=[made.SYSTEM, made.USER, message, made.told("c1", "?")], cycles=None)
    run = only(tmp_path, row)
    _, messages = after(run, 1)
    calls = messages[2].calls
    assert calls is not None
    assert calls[0].arguments == '{"crate": '
    assert any("no JSON" in words for words in complaints(run))


def test_arguments_of_an_open_call_that_are_no_json_are_told_once(tmp_path: Path) -> None:
    call = {**made.SHIP, "arguments": '{"crate": '}
    row = made.killed(model_call_journal=[made.model_entry(2, "succeeded", "Shipping.", call)], tool_journal=[])
    run = only(tmp_path, row)
    assert pending(run)["c2"].arguments == '{"crate": '
    after(run, len(run))
    assert [words.partition("]")[2] for words in complaints(run)] == [
        ".model_call_journal.response.tool_calls[0].arguments: the arguments are no JSON: shown as text"
    ]


def test_a_long_transcript_is_decoded_where_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.readers.vv_agent.columns.WHOLE_LIMIT", 100)
    run = only(tmp_path, made.finished())
    assert [kind for kind, _ in kinds(run)] == ["model", "tools", "model"]
    _, messages = after(run, 3)
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant"]


def test_the_list_decodes_nothing_carefully(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made.store(
        tmp_path / "c.db", [made.finished() | {"checkpoint_key": f"run/{number}"} for number in range(500)]
    )

    def never(*arguments: Any) -> Any:
        raise AssertionError("a list must not decode a whole run")

    monkeypatch.setattr(jsontext, "parse", never)
    monkeypatch.setattr("inspector.formats.readers.vv_agent.columns.parse", never)
    rows = opened(path).rows()
    assert len(rows) == 500
    assert {row.steps for row in rows} == {3}


def test_a_list_has_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.formats.readers.vv_agent.listing.DETAIL_BYTES", 6000)
    rows = opened(made.store(tmp_path / "c.db", [made.finished(f"run/{number}") for number in range(9)])).rows()
    assert [row.status for row in rows] == ["completed"] * 9
    assert rows[0].steps is None
    assert rows[-1].steps == 3


def test_keys_are_told_apart_and_unknown_ones_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE checkpoints ({', '.join(made.columns(5))})")
        for key in ("a", "a", None):
            made.insert(connection, made.finished() | {"checkpoint_key": key})
    connection.close()
    runs = opened(path)
    assert [row.id for row in runs.rows()] == ["a", "a #2", "row 3"]
    assert runs.open("a #2").run().id == "a #2"
    with pytest.raises(UsageError, match="nope"):
        runs.open("nope")
    with pytest.raises(UsageError, match="3 runs"):
        runs.open()


def test_a_store_that_is_written_is_followed(tmp_path: Path) -> None:
    path = made.store(tmp_path / "c.db", [made.killed("a", LIVE)])
    runs = opened(path)
    run = runs.open("a")
    assert (run.refresh(), runs.refresh()) == (False, False)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM checkpoints")
    made.insert(connection, made.finished("a"))
    made.insert(connection, made.asks("b"))
    connection.commit()
    assert run.refresh()
    assert run.run().status == "completed"
    assert runs.rows()[-1].id == "b"
    connection.execute("DELETE FROM checkpoints WHERE checkpoint_key = 'a'")
    connection.commit()
    connection.close()
    assert not run.refresh()
    assert run.run().status == "completed"
    runs.close()


def test_a_lease_that_ends_meanwhile_changes_the_run(tmp_path: Path) -> None:
    path = made.store(tmp_path / "c.db", [made.killed(lease=LIVE)])
    clock = [NOW]
    runs = Store(str(path), Database(str(path)), now=lambda: clock[0])
    run = runs.open()
    assert (run.run().status, runs.rows()[0].holder) == ("running", "claim-1")
    clock[0] = LIVE / 1000
    assert run.refresh()
    assert run.run().status == "interrupted"
    assert runs.refresh()
    assert (runs.rows()[0].status, runs.rows()[0].holder) == ("interrupted", None)
    assert not runs.refresh()


def test_raw_records_name_their_place(tmp_path: Path) -> None:
    run = only(tmp_path, made.killed())
    places = [raw.where if (raw := run.raw(step)) else None for step in range(len(run) + 1)]
    assert places[0] == "checkpoints.db: checkpoints[killed].run_definition"
    assert places[1] == "checkpoints.db: checkpoints[killed].messages[2]"
    last = run.raw(4)
    assert last is not None
    assert "op_tool_cycle_2_c3" in last.text
    assert list(run.find("Weighing", 1)) == [1]


def test_detection_is_by_content(tmp_path: Path) -> None:
    runs = open_path(str(made.store(tmp_path / "x.bin", [made.finished()])))
    assert (runs.source.format, runs.source.version) == ("vv-agent", "v5")
    empty = open_path(str(made.store(tmp_path / "empty.db", [])))
    assert list(empty.rows()) == []


def test_the_example_shows_what_it_promises() -> None:
    path = Path(__file__).parents[2] / "examples" / "vv-agent-store.db"
    runs = open_path(str(path))
    assert [(row.id, row.status, row.reason, row.steps) for row in runs.rows()] == [
        ("orders/1041", "completed", None, 5),
        ("orders/1042", "suspended", "reconciliation", 2),
        ("orders/1043", "interrupted", None, 4),
    ]
    for row in runs.rows():
        run = runs.open(row.id)
        assert run.run().steps == row.steps
        run.state(len(run))
        assert list(run.problems()) == []
    assert pending(runs.open("orders/1043"))["call-3"].status == "ambiguous"
