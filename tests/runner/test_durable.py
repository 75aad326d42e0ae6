"""Agent runs in a store: begun, suspended, resumed, owned, replayed, refused."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from inspector import (
    Agent,
    Ambiguity,
    Call,
    ExistingOwner,
    Hook,
    JsonLines,
    Result,
    ScriptedModel,
    Started,
    Store,
    StoreError,
    StoreMemory,
    TerminalReplay,
    ToolContext,
    ToolError,
    open_store,
    tool,
)
from inspector.errors import UsageError
from inspector.runner.drive import Control
from inspector.runner.errors import ModelError, RequestError, ResumeRefused
from inspector.runner.outcomes import Outcome
from inspector.runner.result import RunResult


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = open_store(tmp_path / "runs.db")
    yield opened
    opened.close()


class Shop:
    """Tools that count, and an agent of them."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.keys: list[str] = []
        self.error: Exception | None = None

    def agent(self, *turns: Any, **options: Any) -> Agent:
        @tool(idempotency="supported")
        async def look(order: str) -> dict[str, int]:
            self.did.append(f"look {order}")
            return {"kettle": 4200}

        @tool(needs_approval=options.pop("gate", True))
        async def refund(order: str, amount: int, context: ToolContext) -> str:
            self.did.append(f"refund {order}")
            self.keys.append(context.idempotency_key)
            if self.error is not None:
                raise self.error
            return f"paid {context.metadata.get('currency', amount)}"

        script = turns or ([LOOK], [REFUND], "done")
        given: dict[str, Any] = {"model": ScriptedModel(*script), "tools": [look, refund], "instructions": "Refund."}
        return Agent("shop", **{**given, **options})


LOOK = Call("look", {"order": "A"})
REFUND = Call("refund", {"order": "A", "amount": 5})


def said(run: RunResult) -> Any:
    """What the model was told of the last call."""
    return [part.text for message in run.messages for part in message.content if isinstance(part, Result)][-1]


def result(outcome: Outcome[RunResult]) -> RunResult:
    assert isinstance(outcome, Started | TerminalReplay)
    return outcome.result


def journal(store: Store, key: str = "k") -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.journal(key)]


async def test_a_run_waits_in_the_store_goes_on_there_and_gives_its_answer_again(store: Store) -> None:
    shop = Shop()
    first = await shop.agent().prompt("Refund A").durable(store, key="k").run()
    assert (first.status, first.reason, first.trace) == ("suspended", "approval", store.url)
    row = store.read("k")
    assert (row.status, row.reason, row.claim, row.steps, row.final, row.id) == (
        "suspended",
        "approval",
        None,
        4,
        False,
        first.run_id,
    )
    still = await shop.agent().resume(store, "k").run()
    assert isinstance(still, Started)
    assert (still.status, still.attempt, store.read("k").steps) == ("suspended", 2, 4)
    done = await shop.agent().resume(store, "k").approve("c2").run()
    assert isinstance(done, Started)
    assert (done.status, done.output, done.attempt, done.result.run_id) == ("completed", "done", 3, first.run_id)
    assert shop.did == ["look A", "refund A"]
    row = store.read("k")
    assert (row.status, row.final, row.acknowledged, row.attempt) == ("completed", True, True, 3)
    before = store.journal("k")
    replay = await shop.agent().resume(store, "k").run()
    assert isinstance(replay, TerminalReplay)
    assert (replay.status, replay.output, replay.result.messages[-1].text) == ("completed", "done", "done")
    assert (store.journal("k"), store.read("k"), shop.did) == (before, row, ["look A", "refund A"])


async def test_a_failure_for_good_is_replayed_too(store: Store) -> None:
    shop = Shop()
    agent = shop.agent([Call("nothere", {})], "done")
    first = await agent.prompt("go").durable(store, key="k").run()
    assert (first.status, first.reason, store.read("k").final) == ("failed", "unknown_tool", True)
    again = await agent.resume(store, "k").run()
    assert isinstance(again, TerminalReplay)
    assert (again.status, again.result.error) == ("failed", first.error)


async def test_a_key_is_used_once(store: Store) -> None:
    shop = Shop()
    await shop.agent("hello").prompt("hi").durable(store, key="k").run()
    with pytest.raises(StoreError, match="run_exists"):
        await shop.agent("hello").prompt("hi").durable(store, key="k").run()
    with pytest.raises(StoreError, match="run_absent"):
        await shop.agent().resume(store, "other").run()
    with pytest.raises(StoreError, match="key_invalid"):
        await shop.agent("hello").prompt("hi").durable(store, key="k" * 513).run()
    with pytest.raises(UsageError, match="journal in the store"):
        await shop.agent("hello").prompt("hi").durable(store, key="k2").run(trace="x.jsonl")
    assert [run.key for run in store.runs()] == ["k"]


async def test_the_library_starts_runs_from_plain_programs_too(store: Store) -> None:
    def program() -> None:
        assert Shop().agent("hello").prompt("hi").durable(store, key="k").run_sync().output == "hello"
        assert Shop().agent("hello").resume(store, "k").run_sync().status == "completed"

    await asyncio.to_thread(program)


async def test_whoever_drives_a_run_is_named_to_others(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(), list[Any]()
    other = open_store(tmp_path / "runs.db")

    class Ask(Hook):
        async def on_completion_call(self, event: Any) -> None:
            if not seen:
                seen.append(await shop.agent().resume(other, "k").run())

    agent = shop.agent("done", hooks=[Ask()])
    await agent.prompt("go").durable(store, key="k").run()
    (owner,) = seen
    assert isinstance(owner, ExistingOwner)
    claim_host, own = owner.host, owner.pid
    import os
    import socket

    assert (claim_host, own, owner.attempt) == (socket.gethostname(), os.getpid(), 1)
    assert f"process {os.getpid()} on {socket.gethostname()} since {owner.since}" in str(owner)
    assert store.read("k").attempt == 1
    other.close()


async def test_a_claim_is_taken_over_when_that_was_accepted_and_the_loser_writes_nothing_more(
    store: Store, tmp_path: Path
) -> None:
    shop, seen = Shop(), list[Any]()
    other = open_store(tmp_path / "runs.db")

    class Rob(Hook):
        async def on_tool_call(self, event: Any) -> None:
            if not seen:
                seen.append(None)
                seen[0] = await shop.agent(gate=False, hooks=[Rob()]).resume(other, "k").accept("owned").run()

    agent = shop.agent(gate=False, hooks=[Rob()])
    with pytest.raises(StoreError, match="claim_lost"):
        await agent.prompt("go").durable(store, key="k").run()
    assert isinstance(seen[0], Started)
    assert (seen[0].status, seen[0].attempt) == ("completed", 2)
    assert shop.did == ["look A", "refund A"]
    assert store.read("k").status == "completed"
    other.close()


async def test_a_lost_lease_stops_before_the_next_dispatch(tmp_path: Path) -> None:
    store = open_store(tmp_path / "runs.db", lease=1000)
    shop = Shop()

    class Late(Hook):
        async def on_tool_call(self, event: Any) -> None:
            began = store.clock()
            store.clock = journal_clock(lambda: began + 2_000_000)

    def journal_clock(clock: Any) -> Any:
        claimed[0].clock = clock
        return clock

    claimed: list[Any] = []
    begin = store.begin
    store.begin = lambda *a, **b: claimed.append(begin(*a, **b)) or claimed[0]  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="claim_lost"):
        await shop.agent(hooks=[Late()]).prompt("go").durable(store, key="k").run()
    assert shop.did == []
    store.close()


async def test_a_changed_program_is_refused_by_name_before_anything_changes(store: Store) -> None:
    shop = Shop()

    class Audit(Hook):
        async def on_tool_call(self, event: Any) -> None: ...

    await shop.agent(hooks=[Audit()]).prompt("Refund A").durable(store, key="k").run()
    before = store.read("k"), store.journal("k")

    @tool(needs_approval=True)
    async def refund(order: str, amount: str) -> str:
        return "other"

    async def extra() -> None: ...

    other = Agent("shop", ScriptedModel("x"), tools=[refund, extra], instructions="Refund all.", temperature=0.5)
    with pytest.raises(ResumeRefused) as caught:
        await other.resume(store, "k").accept("hook_missing", "arguments_invalid", "tool_changed").approve("c2").run()
    assert caught.value.code == "definition_changed"
    detail = caught.value.detail
    for words in (
        "tool refund changed",
        "schema.properties.amount.type",
        "tool extra is new",
        "tool look is gone",
        "hook tool_call: Audit is gone",
        "settings.instructions changed",
        "settings.temperature changed",
    ):
        assert words in detail, detail
    assert (store.read("k"), store.journal("k")) == before


async def test_a_changed_program_goes_on_when_that_was_accepted_and_is_the_run_s_own_from_there_on(
    store: Store,
) -> None:
    shop = Shop()
    await shop.agent().prompt("Refund A").durable(store, key="k").run()
    changed = shop.agent(instructions="Refund, kindly.")
    with pytest.raises(ResumeRefused, match=r"definition_changed: settings\.instructions changed"):
        await changed.resume(store, "k").run()
    assert result(await changed.resume(store, "k").accept("definition_changed").run()).status == "suspended"
    with pytest.raises(ResumeRefused, match="definition_changed"):
        await shop.agent().resume(store, "k").run()
    assert result(await changed.resume(store, "k").approve("c2").run()).status == "completed"
    attempts = [record for record in journal(store) if record["record"] == "attempt"]
    assert [bool(attempt.get("definition")) for attempt in attempts] == [True, False]


async def test_credentials_are_no_part_of_a_definition(store: Store) -> None:
    shop = Shop()

    def agent(secret: str, **params: Any) -> Agent:
        given = {"extra": {"X-Pass": secret}, "hosts": [{"a/b~": "x"}, {"a/b~": secret}], "note": "n", **params}
        return shop.agent(
            params=given, credentials=["/params/extra/X-Pass", "/params/hosts/1/a~1b~0", "/params/none/0"]
        )

    await agent("first-secret").prompt("Refund A").durable(store, key="k").run()
    assert b"first-secret" not in b"".join(store.journal("k"))
    settings = journal(store)[0]["definition"]["settings"]
    mark = "[redacted:credential]"
    hosts = [{"a/b~": "x"}, {"a/b~": mark}]
    assert settings["params"] == {"extra": {"X-Pass": mark}, "hosts": hosts, "note": "n"}
    assert result(await agent("second-secret").resume(store, "k").run()).status == "suspended"
    with pytest.raises(ResumeRefused, match=r"settings\.params\.note changed"):
        await agent("second-secret", note="m").resume(store, "k").run()


@pytest.mark.parametrize("pointer", ["", "params/extra", "/params/a~2", "X-Pass"])
def test_what_points_to_no_credentials_is_refused(pointer: str) -> None:
    with pytest.raises(UsageError, match="is no JSON pointer"):
        Shop().agent(credentials=[pointer])


async def test_an_exception_leaves_open_what_happened_unless_somebody_says_otherwise(store: Store) -> None:
    definite: list[tuple[Exception, dict[str, Any]]] = [
        (ToolError("no funds"), {}),
        (ValueError("x"), {"ambiguity": Ambiguity(raised="failed")}),
    ]
    for number, (error, options) in enumerate(definite):
        shop = Shop()
        shop.error = error
        ended = await shop.agent(gate=False, **options).prompt("go").durable(store, key=f"d{number}").run()
        assert (ended.status, len(shop.keys)) == ("completed", 1)
        assert str(error) in said(ended)
    shop = Shop()
    for number, error in enumerate((ValueError("x"), TimeoutError(), ConnectionResetError("gone"))):
        shop.error = error
        ended = await shop.agent(gate=False).prompt("go").durable(store, key=f"a{number}").run()
        assert (ended.status, ended.reason, ended.pending[0].why) == ("suspended", "reconciliation", "reconciliation")
        (found,) = store.operations(f"a{number}", open_only=True)
        assert (found.operation.status, found.operation.name) == ("ambiguous", "refund")
        assert found.operation.error is not None
    # Idempotent tools are told to the model: calling again does no harm.
    calls: list[str] = []

    @tool(idempotency="supported")
    async def look(order: str) -> str:
        calls.append(order)
        raise ValueError("down")

    ended = await shop.agent(tools=[look]).prompt("go").durable(store, key="i").run()
    assert ended.status == "failed"  # the script goes on to call a tool that is not there
    assert calls == ["A"]


@pytest.mark.parametrize(
    ("how", "value", "told", "did", "operation"),
    [
        ("retry", None, "paid 5", 2, "failed"),
        ("result", "paid by hand", "paid by hand", 1, "succeeded"),
        ("failure", "the bank said no", "the bank said no", 1, "failed"),
    ],
)
async def test_decisions_settle_what_may_have_happened(
    store: Store, how: str, value: Any, told: str, did: int, operation: str
) -> None:
    shop = Shop()
    shop.error = ConnectionResetError("gone")
    agent = shop.agent(gate=False)
    await agent.prompt("go").durable(store, key="k").run()
    shop.error = None
    for _ in range(3):  # left open as often as one likes, it can still be decided
        left = await agent.resume(store, "k").run()
        assert (result(left).reason, len(shop.keys)) == ("reconciliation", 1)
    left = await agent.resume(store, "k").reconcile("c2", "leave").run()
    assert result(left).reason == "reconciliation"
    done = result(await agent.resume(store, "k").reconcile("c2", how, value).run())
    assert (done.status, said(done), len(shop.keys)) == ("completed", told, did)
    assert len(set(shop.keys)) == 1
    states = {found.operation.id: found.operation.status for found in store.backend.operations("k")}
    assert states["tool-2.1.1"] == operation
    decisions = [record for record in journal(store) if record["record"] == "decision"]
    assert [(found["subject"], found["value"]["how"]) for found in decisions] == [("c2", "leave"), ("c2", how)]


async def test_a_run_is_given_up_with_any_mix_of_calls(store: Store) -> None:
    shop = Shop()
    shop.error = ConnectionResetError("gone")
    agent = shop.agent([LOOK, REFUND, Call("look", {"order": "B"})], "done", gate=False)
    await agent.prompt("go").durable(store, key="k").run()
    gone = await agent.resume(store, "k").reconcile("c2", "abort").run()
    assert isinstance(gone, Started)
    assert (gone.status, store.read("k").final) == ("failed", True)
    assert gone.result.reason == "operator_abort_with_unknown_outcome"
    assert gone.result.error is not None
    assert gone.result.error.message == "operator_abort_with_unknown_outcome: refund (c2)"
    states = {found.operation.name: found.operation.status for found in store.operations("k", open_only=True)}
    assert states == {"refund": "ambiguous"}
    again = await agent.resume(store, "k").run()
    assert isinstance(again, TerminalReplay)
    assert again.status == "failed"


async def test_hooks_are_asked_about_what_may_have_happened(store: Store) -> None:
    heard: list[Any] = []

    class Ledger(Hook):
        async def on_ambiguous(self, event: Any) -> Any:
            heard.append((event.name, event.call_id, event.arguments, event.attempt, event.idempotency_key))
            return event.result("found in the ledger") if event.name == "refund" else event.proceed()

    shop = Shop()
    shop.error = ConnectionResetError("gone")
    agent = shop.agent(gate=False, hooks=[Ledger()])
    first = await agent.prompt("go").durable(store, key="k").run()
    assert (first.reason, heard) == ("reconciliation", [])
    done = result(await agent.resume(store, "k").run())
    assert (done.status, said(done)) == ("completed", "found in the ledger")
    assert heard == [("refund", "c2", {"order": "A", "amount": 5}, 1, shop.keys[-1])]


class Flaky:
    """A model whose process ends while it is asked, as long as it is to be killed."""

    name = "flaky"

    def __init__(self, script: ScriptedModel) -> None:
        self.script, self.kill = script, True
        self.asked = 0

    async def request(self, request: Any) -> Any:
        self.asked += 1
        if self.kill:
            raise KeyboardInterrupt
        return await self.script.request(request)

    def stream(self, request: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("how", "value", "status", "asked"),
    [
        ("retry", None, "completed", 2),
        ("result", "by hand", "completed", 1),
        ("failure", "no answer", "failed", 1),
        ("abort", None, "failed", 1),
        ("leave", None, "suspended", 1),
    ],
)
def test_a_model_call_that_may_have_been_answered(store: Store, how: str, value: Any, status: str, asked: int) -> None:
    model = Flaky(ScriptedModel("done"))
    agent = Shop().agent(model=model)
    with pytest.raises(KeyboardInterrupt):
        agent.prompt("go").durable(store, key="k").run_sync()
    model.kill = False
    assert (store.read("k").status, [row.operation.status for row in store.operations("k")]) == (
        "interrupted",
        ["started"],
    )
    with pytest.raises(ResumeRefused, match="model_in_flight"):
        agent.resume(store, "k").run_sync()
    ended = result(agent.resume(store, "k").reconcile("model", how, value).run_sync())
    assert (ended.status, model.asked) == (status, asked)
    if how == "leave":
        assert ended.reason == "reconciliation"
        assert result(agent.resume(store, "k").accept("model_in_flight").run_sync()).status == "completed"
    if how == "retry":
        states = {found.operation.id: found.operation.status for found in store.backend.operations("k")}
        assert states == {"model-1.1": "failed", "model-1.2": "succeeded"}


def test_a_model_call_is_made_again_where_the_rules_say_so(store: Store) -> None:
    model = Flaky(ScriptedModel("done"))
    agent = Shop().agent(model=model, ambiguity=Ambiguity(model="retry_with_duplicate_risk"))
    with pytest.raises(KeyboardInterrupt):
        agent.prompt("go").durable(store, key="k").run_sync()
    model.kill = False
    assert result(agent.resume(store, "k").run_sync()).output == "done"
    (decision,) = [record for record in journal(store) if record["record"] == "decision"]
    assert (decision["subject"], decision["reason"]) == ("model", "model_retry_duplicate_risk")


async def test_what_failed_outside_of_the_run_is_tried_again_under_the_same_key(store: Store) -> None:
    class Down:
        name = "scripted"
        up = False

        async def request(self, request: Any) -> Any:
            if not self.up:
                raise ModelError("scripted", "provider", "down")
            return await ScriptedModel("done").request(request)

        def stream(self, request: Any) -> Any:
            raise NotImplementedError

    model = Down()
    agent = Shop().agent(model=model)
    first = await agent.prompt("go").durable(store, key="k").run()
    assert (first.status, first.reason, store.read("k").final) == ("failed", "model", False)
    model.up = True
    assert result(await agent.resume(store, "k").run()).output == "done"
    ids = [found.operation.id for found in store.backend.operations("k")]
    assert ids == ["model-1.1", "model-1.2"]


async def test_a_limit_can_be_raised(store: Store) -> None:
    agent = Shop().agent(max_turns=1)
    first = await agent.prompt("go").durable(store, key="k").run()
    assert (first.status, first.reason, store.read("k").final) == ("failed", "max_turns", False)
    with pytest.raises(ResumeRefused, match="terminal"):
        await agent.resume(store, "k").run()
    assert result(await agent.resume(store, "k").max_turns(5).run()).status == "suspended"


async def test_a_decision_on_what_is_not_open_changes_nothing(store: Store) -> None:
    agent = Shop().agent()
    await agent.prompt("go").durable(store, key="k").run()
    before = store.read("k"), store.journal("k")
    with pytest.raises(RequestError):
        await agent.resume(store, "k").approve("c9").run()
    assert (store.read("k"), store.journal("k")) == before


async def test_an_approval_is_used_once_by_whoever_was_first(store: Store, tmp_path: Path) -> None:
    shop = Shop()
    await shop.agent().prompt("go").durable(store, key="k").run()
    others = [open_store(tmp_path / "runs.db") for _ in range(4)]
    outcomes: list[Any] = []

    def resume(other: Store) -> None:
        outcomes.append(shop.agent().resume(other, "k").approve("c2").run_sync())

    threads = [threading.Thread(target=resume, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    started = [outcome for outcome in outcomes if isinstance(outcome, Started)]
    assert [outcome.status for outcome in started] == ["completed"]
    assert all(isinstance(outcome, Started | ExistingOwner | TerminalReplay) for outcome in outcomes)
    assert shop.did.count("refund A") == 1
    assert sum(record["record"] == "decision" for record in journal(store)) == 1
    for other in others:
        other.close()


async def test_a_claim_is_known_here_as_soon_as_it_can_be_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Shop().agent()
    await agent.prompt("go").durable(store, key="k").run()
    claim, owners = store.backend.claim, list[Any]()

    def claimed(key: str, wanted: Any) -> Any:
        row = claim(key, wanted)
        owners.append(store.owner(store.read(key)))  # as another thread may ask
        return row

    monkeypatch.setattr(store.backend, "claim", claimed)
    assert result(await agent.resume(store, "k").approve("c2").run()).status == "completed"
    assert owners
    assert None not in owners


async def test_metadata_of_the_run_counts_more_than_what_it_is_resumed_with(store: Store) -> None:
    shop = Shop()
    await shop.agent().prompt("go").durable(store, key="k", metadata={"currency": "EUR"}).run()
    asked = shop.agent().resume(store, "k").approve("c2").metadata({"currency": "USD", "desk": 4})
    done = result(await asked.run())
    assert said(done) == "paid EUR"


async def test_events_are_delivered_in_order_each_at_least_once(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(), list[tuple[str, str]]()
    failing = [3]

    def sink(event_id: str, event: Any) -> None:
        if failing and len(seen) >= failing[0]:
            raise OSError("the line is down")
        seen.append((event_id, event["event"]))

    first = await shop.agent().prompt("go").durable(store, key="k", sink=sink).run()
    assert first.status == "suspended"
    assert len(seen) == 3
    failing.clear()
    await shop.agent().resume(store, "k").approve("c2").run()
    row = store.read("k")
    assert (row.status, row.acknowledged) == ("completed", False)  # nobody took the events
    file = JsonLines(str(tmp_path / "events.jsonl"))

    def both(event_id: str, event: Any) -> None:
        sink(event_id, event)
        file(event_id, event)
        file(event_id, event)

    await shop.agent().resume(store, "k").sink(both).run()
    assert store.read("k").acknowledged
    events = store.events("k")
    assert [event.id for event in events] == [event_id for event_id, _ in seen]
    assert all(event.delivered is not None for event in events)
    kinds = [kind for _, kind in seen]
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_ended"
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [event.id for event in events[3:]]


async def test_a_sink_that_blocks_keeps_nothing_else_from_going_on(store: Store) -> None:
    """The run goes on while a plain function takes an event, which is then not told a second time beside it."""
    shop, entered, told = Shop(), threading.Event(), list[tuple[str, int]]()
    went_on = threading.Event()

    @tool
    async def wait_for_the_sink() -> str:
        await asyncio.to_thread(entered.wait)
        went_on.set()  # the loop runs, though the sink has not returned
        return "ok"

    def sink(event_id: str, event: Any) -> None:
        entered.set()
        assert went_on.wait(60)
        told.append((event_id, threading.get_ident()))

    agent = shop.agent([Call("wait_for_the_sink", {})], "done", tools=[wait_for_the_sink])
    done = await agent.prompt("go").durable(store, key="k", sink=sink).run()
    assert (done.status, store.read("k").acknowledged) == ("completed", True)
    assert [event_id for event_id, _ in told] == [event.id for event in store.events("k")]
    assert {thread for _, thread in told}.isdisjoint({threading.get_ident()})
    assert len({thread for _, thread in told}) == 1


def _exits(event_id: str, event: Any) -> None:
    raise SystemExit(3)


async def _is_cancelled(event_id: str, event: Any) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize("sink", [_exits, _is_cancelled])
async def test_a_sink_cannot_end_the_run_that_it_is_told_of(store: Store, sink: Any) -> None:
    shop = Shop()
    done = await shop.agent("hi").prompt("go").durable(store, key="k", sink=sink).run()
    assert (done.status, done.output, store.read("k").acknowledged) == ("completed", "hi", False)
    assert all(event.delivered is None for event in store.events("k"))


def test_files_of_several_processes_hold_each_event_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    one, other = JsonLines(str(path)), JsonLines(str(path))
    for sink in (one, other):
        sink("a", {"n": 1})
    other("b", {"n": 2})
    one("b", {"n": 2})
    with path.open("ab") as file:
        file.write(b'{"id": "c", "n": 3}')  # whole, but for its end
    one("c", {"n": 3})
    with path.open("ab") as file:
        file.write(b'\n{"id": "d", "n"')
    other("d", {"n": 4})
    one("d", {"n": 4})
    found = [json.loads(line)["id"] for line in path.read_text().splitlines() if line.endswith("}")]
    assert found == ["a", "b", "c", "d"]
    path.unlink()
    one("a", {"n": 1})
    assert path.read_text() == '{"id": "a", "n": 1}\n'


async def test_a_memory_that_does_not_work_now_takes_in_the_run_later(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = open_store(tmp_path / "talks.db")
    agent = Shop().agent("hello", memory=StoreMemory(elsewhere))

    def full(*given: Any) -> bool:
        raise StoreError("talks.db", "disk_full", "no space is left")

    with monkeypatch.context() as broken:
        broken.setattr(elsewhere.backend, "add_once", full)
        with pytest.raises(StoreError, match="disk_full"):
            await agent.prompt("hi").conversation("talk").durable(store, key="k").run()
    assert (store.read("k").final, store.read("k").claim, list(elsewhere.session("talk"))) == (False, None, [])
    for goes in (Started, TerminalReplay):
        outcome = await agent.resume(store, "k").run()
        assert isinstance(outcome, goes)
        assert (outcome.output, len(elsewhere.session("talk"))) == ("hello", 2)
    elsewhere.close()


async def test_a_sink_may_be_a_coroutine_function_or_an_object_of_one(store: Store) -> None:
    class Async:
        def __init__(self) -> None:
            self.told: list[tuple[str, int]] = []

        async def __call__(self, event_id: str, event: Any) -> None:
            await asyncio.sleep(0)
            self.told.append((event_id, threading.get_ident()))

    shop, one, other = Shop(), Async(), Async()
    for key, sink, kept in (("a", one, one), ("b", lambda *given: other(*given), other)):
        await shop.agent("hi").prompt("go").durable(store, key=key, sink=sink).run()
        assert [event_id for event_id, _ in kept.told] == [event.id for event in store.events(key)]
        assert {thread for _, thread in kept.told} == {threading.get_ident()}
        assert store.read(key).acknowledged


async def test_a_conversation_takes_in_a_run_once(store: Store) -> None:
    memory = StoreMemory(store)
    agent = Shop().agent("hello", "again", memory=memory)
    await agent.prompt("hi").conversation("talk").durable(store, key="a").run()
    await agent.prompt("hi again").conversation("talk").durable(store, key="b").run()
    texts = [message.text for message in await memory.load("talk")]
    assert texts[:2] == ["hi", "hello"]
    assert "hi again" in texts
    run = (await agent.resume(store, "a").run()).result  # type: ignore[union-attr]
    await memory.append("talk", run.messages, key=run.run_id)
    assert [message.text for message in await memory.load("talk")] == texts
    with pytest.raises(StoreError, match="session_conflict"):
        await memory.append("talk", run.messages[:1], key=run.run_id)


async def test_the_journal_in_the_store_is_a_trace(store: Store, tmp_path: Path) -> None:
    shop = Shop()
    await shop.agent().prompt("go").durable(store, key="k").run()
    path = tmp_path / "k.jsonl"
    path.write_bytes(b"".join(store.export("k")))
    done = await shop.agent().resume(str(path)).approve("c2").run(trace=str(tmp_path / "on.jsonl"))
    assert done.status == "completed"
    copy = store.import_(path.read_bytes().splitlines(keepends=True), "copy")
    original = store.read("k")
    for name in ("id", "kind", "name", "digest", "status", "reason", "attempt", "steps", "size", "final"):
        assert getattr(copy, name) == getattr(original, name), name
    assert b"".join(store.export("copy")) == path.read_bytes()
    assert [row.operation for row in store.backend.operations("copy")] == [
        row.operation for row in store.backend.operations("k")
    ]
    with pytest.raises(ResumeRefused, match="already_resumed: was resumed before"):  # the copy is of the same run
        await shop.agent().resume(store, "copy").approve("c2").run()
    asked = shop.agent().resume(store, "copy").approve("c2").accept("already_resumed")
    assert result(await asked.run()).status == "completed"


async def test_from_an_earlier_step_it_is_a_run_of_its_own(store: Store, tmp_path: Path) -> None:
    shop = Shop()
    agent = shop.agent(gate=False)
    await agent.prompt("go").durable(store, key="k", metadata={"currency": "EUR"}).run()
    assert shop.did == ["look A", "refund A"]
    before, row = store.journal("k"), store.read("k")
    trace = str(tmp_path / "fork.jsonl")
    outcome = await agent.resume(store, "k", step=2).run(trace=trace)
    assert isinstance(outcome, Started)
    fork = outcome.result
    assert (fork.status, fork.output, fork.trace, fork.resumed_from) == ("completed", "done", trace, row.id)
    assert fork.run_id != row.id
    assert shop.did == ["look A", "refund A", "refund A"]
    assert said(fork) == "paid EUR"
    assert (store.journal("k"), store.read("k")) == (before, row)
    with pytest.raises(ResumeRefused, match="already_resumed"):
        await agent.resume(store, "k", step=2).run()
    again = await agent.resume(store, "k", step=row.steps).run()
    assert isinstance(again, TerminalReplay)
    with pytest.raises(UsageError, match="journal in the store"):
        await agent.resume(store, "k", step=row.steps).run(trace=trace)
    with pytest.raises(ResumeRefused, match="step_not_resumable"):
        await agent.resume(store, "k", step=99).run()


@pytest.mark.parametrize("stopped_by", ["look", "model"])
async def test_a_run_that_was_stopped_is_handed_on_and_not_recovered(store: Store, stopped_by: str) -> None:
    """An attempt counts processes that were lost, not those that stopped where they wanted."""
    shop, control = Shop(), Control()

    class Stop(Hook):
        async def on_tool_result(self, event: Any) -> Any:
            if stopped_by == event.name:
                control.stop()
            return event.proceed()

        async def on_completion_response(self, event: Any) -> Any:
            if stopped_by == "model":
                control.stop()
            return event.proceed()

    agent = shop.agent(gate=False, hooks=[Stop()])
    await agent.prompt("go").durable(store, key="k").control(control).run()
    row = store.read("k")
    assert (row.status, row.reason, row.handed, row.claim) == ("suspended", "tools", True, None)
    if stopped_by == "model":
        # Stopped again before it made a step: that is no whole step to hand on.
        again = Control()
        again.stop()
        outcome = await agent.resume(store, "k").control(again).run()
        assert (outcome.status, store.read("k").handed, store.read("k").attempt) == ("suspended", False, 1)
        stopped_by = ""
        outcome = await agent.resume(store, "k").run()
        assert (outcome.status, store.read("k").attempt) == ("completed", 2)
    else:
        outcome = await agent.resume(store, "k").run()
        assert (outcome.status, store.read("k").attempt) == ("completed", 1)
    attempts = [record["mode"] for record in journal(store) if record["record"] == "attempt"]
    assert attempts[0] == "continue"
    assert shop.did == ["look A", "refund A"]
