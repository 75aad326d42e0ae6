"""Resuming: rules per state, decisions, a registry that changed, memory, claims."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from inspector import (
    Agent,
    AgentRun,
    Call,
    Hook,
    InMemory,
    Message,
    ModelTurn,
    RequestError,
    ResumeRefused,
    ScriptedModel,
    ToolContext,
    Usage,
    tool,
)
from inspector.formats import open_path
from inspector.journal import TraceFile
from inspector.runner.claims import Claims, Owned
from inspector.runner.data import Executing
from inspector.runner.effects import Again, Start
from inspector.runner.messages import Result
from inspector.runner.restore import load
from inspector.runner.resuming import examined, restored

DATA = Path(__file__).parent / "data"
EXAMPLES = Path(__file__).parents[2] / "examples"
LOOKUP = Call("lookup", {"order": "A"})
REFUND = Call("refund", {"order": "A", "amount": 5})


class Shop:
    """Two tools that write down what they did."""

    def __init__(self) -> None:
        self.did: list[str] = []
        shop = self

        @tool(idempotency="supported")
        def lookup(order: str) -> str:
            shop.did.append(f"lookup {order}")
            return f"{order}: 5"

        @tool(needs_approval=True)
        def refund(order: str, amount: int) -> str:
            shop.did.append(f"refund {order} {amount}")
            return "paid"

        self.lookup, self.refund = lookup, refund

    def agent(self, *script: Any, **options: Any) -> Agent:
        turns = script or ([LOOKUP, REFUND], "done")
        return Agent("shop", ScriptedModel(*turns), **({"tools": [self.lookup, self.refund]} | options))


def results(run: AgentRun) -> list[str]:
    return [part.text for message in run.messages for part in message.content if isinstance(part, Result)]


async def test_the_others_run_and_the_gated_call_waits() -> None:
    shop = Shop()
    result = await shop.agent().prompt("go").run()
    assert (result.status, result.reason) == ("suspended", "approval")
    assert [(call.name, call.call_id, call.arguments) for call in result.pending] == [
        ("refund", "c2", {"order": "A", "amount": 5})
    ]
    assert shop.did == ["lookup A"]
    assert result.output is None


async def test_approved_denied_edited(tmp_path: Path) -> None:
    for number, (decide, did, told) in enumerate(
        (
            (lambda asked: asked.approve("c2"), ["refund A 5"], "paid"),
            (lambda asked: asked.deny("c2", "not that one"), [], "not that one"),
            (lambda asked: asked.approve("c2").edit("c2", {"order": "A", "amount": 3}), ["refund A 3"], "paid"),
            (lambda asked: asked.answer("c2", {"done": True}), [], '{"done":true}'),
            (lambda asked: asked.approve("2"), None, None),
        )
    ):
        first = Shop()
        suspended = await first.agent().prompt("go").run(trace=str(tmp_path / f"{number}.jsonl"))
        second = Shop()
        asked = decide(second.agent().resume(suspended.trace))
        if did is None:
            with pytest.raises(RequestError, match="no call of this batch"):
                await asked.run()
            continue
        result = await asked.run()
        assert result.status == "completed", result.error
        assert second.did == did  # lookup does not run again
        assert results(result.run) == ["A: 5", told]
        assert [message.role for message in result.messages] == ["user", "assistant", "user", "assistant"]


async def test_a_second_resume_of_a_file_must_be_accepted_also_with_another_journal(tmp_path: Path) -> None:
    shop, path = Shop(), str(tmp_path / "t.jsonl")
    await shop.agent().prompt("go").run(trace=path)
    for _ in range(2):  # nothing is decided, so nothing goes on, and no new run is made of it
        left = await shop.agent().resume(path).run(trace=str(tmp_path / "none.jsonl"))
        assert (left.status, left.reason, left.trace) == ("suspended", "approval", path)
        assert [call.call_id for call in left.pending] == ["c2"]
    assert not (tmp_path / "none.jsonl").exists()
    second = TraceFile(str(tmp_path / "u.jsonl"))
    first = await shop.agent().resume(path).approve("c2").run(journal=second)
    second.close()
    assert (first.status, len(shop.did)) == ("completed", 2)
    for step in (None, 1):
        with pytest.raises(ResumeRefused, match=f"was resumed before, as {first.run_id} at ") as caught:
            await shop.agent().resume(path, step=step).approve("c2").run()
        assert caught.value.code == "already_resumed"
    again = await shop.agent().resume(path).approve("c2").accept("already_resumed").run()
    assert (again.status, len(shop.did)) == ("completed", 3)


async def test_a_call_of_a_fork_has_the_old_key_when_it_is_the_same_call_and_else_another(tmp_path: Path) -> None:
    keys: list[tuple[int, str]] = []

    @tool(idempotency="supported")
    def pay(amount: int, context: ToolContext) -> str:
        keys.append((amount, context.idempotency_key))
        return "paid"

    def agent(amount: int) -> Agent:
        return Agent(
            "till", ScriptedModel("hm", [Call("pay", {"amount": amount})], "done"), tools=[pay], hooks=[Again()]
        )

    class Again(Hook):
        def on_model_turn_finished(self, event: Any) -> Any:
            return event.retry("go on") if event.turn == 1 else None

    path = str(tmp_path / "t.jsonl")
    assert (await agent(5).prompt("go").run(trace=path)).status == "completed"
    for number, (amount, step) in enumerate(((5, 1), (6, 1), (5, 0), (6, 0))):
        asked = agent(amount).resume(path, step=step).accept("already_resumed")
        done = await asked.run(trace=str(tmp_path / f"{number}.jsonl"))
        assert done.status == "completed"
        written = [json.loads(line) for line in (tmp_path / f"{number}.jsonl").read_text().splitlines()]
        started = [line for line in written if line["record"] == "operation" and line["status"] == "started"]
        assert started[-2]["idempotency_key"] == keys[-1][1]
    amounts, found = [amount for amount, _ in keys], dict(keys)
    assert amounts == [5, 5, 6, 5, 6]
    assert keys == [(amount, found[amount]) for amount in amounts]
    assert found[5] != found[6]


async def test_edited_arguments_have_a_key_of_their_own(tmp_path: Path) -> None:
    keys: list[str] = []

    @tool(needs_approval=True)
    def pay(amount: int, context: ToolContext) -> str:
        keys.append(context.idempotency_key)
        return "paid"

    agent = Agent("till", ScriptedModel([Call("pay", {"amount": 5})], "done"), tools=[pay])
    path = str(tmp_path / "t.jsonl")
    await agent.prompt("go").run(trace=path)
    for amount in (5, 6, 5):
        asked = agent.resume(path).approve("c1").edit("c1", {"amount": amount}).accept("already_resumed")
        assert (await asked.run()).status == "completed"
    assert keys[0] == keys[2] != keys[1]


async def test_only_some_are_decided() -> None:
    shop = Shop()
    agent = shop.agent([REFUND, Call("refund", {"order": "B", "amount": 1})], "done")
    first = await agent.prompt("go").run()
    assert [call.call_id for call in first.pending] == ["c1", "c2"]
    second = await agent.resume(first.run).approve("c2").run()
    assert (second.status, [call.call_id for call in second.pending]) == ("suspended", ["c1"])
    third = await agent.resume(second.run).deny("c1").run()
    assert third.status == "completed"
    assert results(third.run) == ["This call was denied.", "paid"]


async def test_calls_that_share_an_id_are_decided_apart() -> None:
    shop = Shop()
    twice = [Call("refund", {"order": "A", "amount": 1}, "same"), Call("refund", {"order": "B", "amount": 2}, "same")]
    agent = shop.agent(twice, "done")
    first = await agent.prompt("go").run()
    result = await agent.resume(AgentRun.from_json(first.run.to_json())).approve("1.2").deny("1.1", "no").run()
    assert shop.did == ["refund B 2"]
    assert results(result.run) == ["no", "paid"]


async def test_usage_turns_and_ids_span_the_processes() -> None:
    seen: list[Any] = []

    class Look(Hook):
        def on_tool_call(self, event: Any) -> None:
            seen.append((event.run_id, event.turn))

    script = [ModelTurn(calls=(REFUND,), usage=Usage(7, 3, 10)), ModelTurn(text="x", usage=Usage(5, 2, 7))]
    shop = Shop()
    first = await shop.agent(*script, hooks=[Look()]).prompt("go").run()
    result = await shop.agent(*script, hooks=[Look()]).resume(first.run).approve("c1").run()
    assert (result.usage.input_tokens, result.usage.output_tokens) == (12, 5)
    assert seen == [(first.run_id, 1)]
    assert result.run_id != first.run_id
    assert [call.index for call in result.run.data.calls] == [0, 1]


async def test_limits_are_seeded_from_the_run_and_can_be_set() -> None:
    shop = Shop()
    first = await shop.agent(max_turns=1).prompt("go").run()
    spent = await shop.agent(max_turns=9).resume(first.run).approve("c2").run()
    assert (spent.status, spent.reason) == ("failed", "max_turns")
    with pytest.raises(ResumeRefused, match="terminal: failed: max_turns"):
        await shop.agent().resume(spent.run).run()
    done = await shop.agent().resume(spent.run).max_turns(2).run()
    assert done.status == "completed"
    assert shop.did == ["lookup A", "refund A 5"]


async def test_history_cannot_be_set_on_a_resume() -> None:
    shop = Shop()
    first = await shop.agent().prompt("go").history([Message.user("before")]).run()
    assert not hasattr(shop.agent().resume(first.run), "history")
    result = await shop.agent().resume(first.run).approve("c2").run()
    assert [message.text for message in result.run.messages][:2] == ["before", "go"]
    assert result.messages[0].text == "go"


async def test_a_run_saved_before_its_first_call_is_like_a_new_one() -> None:
    run = AgentRun.start("go")
    result = await Shop().agent("hi").resume(run).run()
    assert (result.status, result.output, result.run.data.turn) == ("completed", "hi", 1)


async def test_streams_of_a_resumed_run(tmp_path: Path) -> None:
    shop = Shop()
    first = await shop.agent().prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    items = [item async for item in shop.agent().resume(first.trace).approve("c2").stream()]
    names = [type(item).__name__ for item in items]
    assert names[:2] == ["ToolCommitted", "ToolReturned"]
    assert names[-1] == "Final"
    assert items[-1].result.output == "done"
    over = [item async for item in shop.agent().resume(items[-1].result.trace).stream()]
    assert [type(item).__name__ for item in over] == ["Final"]
    assert over[-1].result.output == "done"


async def test_an_answer_not_taken_over_yet_is_not_lost() -> None:
    run = AgentRun.start("go")
    run.absorb(ModelTurn(text="there"))
    items = [item async for item in Shop().agent().resume(run).stream()]
    assert items[-1].result.output == "there"


async def test_a_finished_run_gives_its_answer_again(tmp_path: Path) -> None:
    shop = Shop()
    result = await shop.agent([LOOKUP], "done").prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    again = await shop.agent().resume(result.trace).run()
    assert (again.status, again.output, again.steps) == ("completed", "done", 0)
    assert shop.did == ["lookup A"]


# Memory


class Counted(InMemory):
    def __init__(self) -> None:
        super().__init__()
        self.loads = self.appends = 0

    async def load(self, conversation: str) -> Any:
        self.loads += 1
        return await super().load(conversation)

    async def append(self, conversation: str, messages: Any, *, key: str) -> None:
        self.appends += 1
        await super().append(conversation, messages, key=key)


async def test_memory_is_loaded_once_and_appended_once(tmp_path: Path) -> None:
    memory, shop = Counted(), Shop()
    await memory.append("c", [Message.user("earlier"), Message("assistant", ())], key="old")
    script = ([LOOKUP, REFUND], "unused", [LOOKUP, REFUND], "done")
    agent = shop.agent(*script[1:], memory=memory)
    first = await agent.prompt("go").conversation("c").run(trace=str(tmp_path / "a.jsonl"))
    assert [message.text for message in first.run.messages][:1] == ["earlier"]
    result = await agent.resume(first.trace).approve("c2").run(trace=str(tmp_path / "b.jsonl"))
    assert result.status == "completed", result.error
    assert (memory.loads, memory.appends) == (1, 2)
    assert (await memory.load("c"))[2:] == list(result.messages)
    for _ in range(2):
        await agent.resume(result.trace).run()
    assert memory.appends == 2


async def test_a_memory_that_fails_keeps_the_answer_and_is_asked_again(tmp_path: Path) -> None:
    class Broken(Counted):
        async def append(self, conversation: str, messages: Any, *, key: str) -> None:
            await super().append(conversation, messages, key=key)
            if self.appends == 1:
                raise OSError("disk full")

    memory = Broken()
    agent = Shop().agent("hi", memory=memory)
    result = await agent.prompt("go").conversation("c").run(trace=str(tmp_path / "a.jsonl"))
    assert (result.status, result.output, result.forgotten) == ("completed", "hi", "OSError: disk full")
    again = await agent.resume(result.trace).run()
    assert (again.forgotten, memory.appends) == (None, 2)
    assert len(await memory.load("c")) == 2  # the key kept it from being there twice


@pytest.mark.parametrize("on", ["load", "append"])
async def test_a_memory_that_is_cancelled_from_inside_has_failed(on: str) -> None:
    class GivesUp(InMemory):
        async def load(self, conversation: str) -> Any:
            if on == "load":
                raise asyncio.CancelledError
            return await super().load(conversation)

        async def append(self, conversation: str, messages: Any, *, key: str) -> None:
            raise asyncio.CancelledError

    result = await Shop().agent("hi", memory=GivesUp()).prompt("go").conversation("c").run()
    if on == "load":
        assert (result.status, result.error and result.error.message) == (
            "failed",
            "the memory was cancelled from inside",
        )
    else:
        assert (result.output, result.forgotten) == ("hi", "CancelledError: ")


async def test_a_memory_that_cannot_load_ends_the_run(tmp_path: Path) -> None:
    class Gone(InMemory):
        async def load(self, conversation: str) -> Any:
            raise OSError("gone")

    result = await Shop().agent("hi", memory=Gone()).prompt("go").conversation("c").run(trace=str(tmp_path / "a"))
    assert (result.status, result.error and result.error.message) == ("failed", "gone")


# What changed since


def reload(**changes: Any) -> Agent:
    """The shop of another day."""
    shop = Shop()

    @tool(needs_approval=True, name="refund")
    def other(order: str, cents: int) -> str:
        return "paid"

    @tool(needs_approval=True, name="refund", description="Pays.")
    def described(order: str, amount: int) -> str:
        return "paid"

    @tool(name="refund")
    def ungated(order: str, amount: int) -> str:
        return "paid"

    class Audit(Hook):
        def on_tool_call(self, event: Any) -> None: ...

    kinds = {"other": other, "described": described, "ungated": ungated, "same": shop.refund}
    tools = [shop.lookup] + ([kinds[changes["refund"]]] if changes.get("refund") else [])
    tools += [tool(name="extra")(lambda: 1)] if changes.get("extra") else []
    hooks = [] if changes.get("no_hook") else [Audit()]
    script = ([LOOKUP, REFUND], "done")
    return Agent(changes.get("name", "shop"), ScriptedModel(*script), tools=tools, hooks=hooks)


@pytest.mark.parametrize(
    ("changes", "code", "subject"),
    [
        ({"refund": "same"}, None, None),
        ({"refund": "same", "extra": True}, None, None),
        ({}, "tool_missing", "refund"),
        ({"refund": "other"}, "arguments_invalid", "refund"),
        ({"refund": "described"}, "tool_changed", "refund"),
        ({"refund": "ungated"}, "hook_missing", "refund"),
        ({"refund": "same", "no_hook": True}, "hook_missing", "Audit"),
        ({"refund": "same", "name": "other"}, "other_run", "shop"),
    ],
)
async def test_what_changed_is_refused_by_name_and_has_its_own_switch(
    changes: dict[str, Any], code: str | None, subject: str | None
) -> None:
    first = await reload(refund="same").prompt("go").run()
    saved = first.run.to_json()
    agent = reload(**changes)
    if code is not None:
        with pytest.raises(ResumeRefused) as caught:
            await agent.resume(AgentRun.from_json(saved)).approve("c2").run()
        assert (caught.value.code, caught.value.place) == (code, subject)
        with pytest.raises(ResumeRefused):
            await agent.resume(AgentRun.from_json(saved)).approve("c2").accept("already_resumed").run()
    accepted = {code, "tool_changed", "hook_missing"} if code else set()
    if code == "hook_missing" and subject == "Audit":
        accepted = {code}
    result = await agent.resume(AgentRun.from_json(saved)).approve("c2").accept(*accepted).run()
    assert result.status == "completed"
    told = results(result.run)[1]
    assert told == "paid" or (code == "tool_missing" and "not found" in told) or code == "arguments_invalid"


async def test_a_refusal_names_all_that_does_not_fit() -> None:
    saved = await Shop().agent([LOOKUP, REFUND], "done", hooks=[reload().setup.hooks[0]]).prompt("go").run()
    with pytest.raises(ResumeRefused) as caught:
        await reload(no_hook=True, name="other").resume(saved).run()
    assert caught.value.code == "other_run"
    assert "; refund: tool_missing: the call c2" in caught.value.detail
    assert "; Audit: hook_missing: the hook Audit" in caught.value.detail


async def test_an_edit_makes_old_arguments_valid_again() -> None:
    first = await reload(refund="same").prompt("go").run()
    asked = reload(refund="other").resume(first.run).approve("c2").edit("c2", {"order": "A", "cents": 5})
    assert (await asked.accept("tool_changed").run()).status == "completed"


async def test_a_tool_that_came_later_is_not_callable_by_the_open_batch() -> None:
    first = await reload(refund="same").prompt("go").run()
    run = AgentRun.from_json(first.run.to_json())
    phase = run.data.phase
    assert isinstance(phase, Executing)
    phase.slots[1].call = Call("extra", {}, "c2", "1.2")  # a file that somebody edited
    with pytest.raises(ResumeRefused, match="extra: tool_missing"):
        await reload(refund="same", extra=True).resume(run).approve("c2").run()
    result = await reload(refund="same", extra=True).resume(run).approve("c2").accept("tool_missing").run()
    assert "not found" in results(result.run)[1]


# What may have happened


def begun(shop: Shop, *calls: Call) -> AgentRun:
    run = AgentRun.start("go", agent="shop")
    run.absorb(ModelTurn(calls=calls))
    run.next()
    for slot in run.slots:
        run.send(Start(slot.call.internal_id))
    return run


async def test_a_call_that_may_have_happened_waits_for_a_word() -> None:
    shop = Shop()
    agent = shop.agent("unused", "done")
    result = await agent.resume(begun(shop, REFUND)).run()
    assert (result.status, result.reason, shop.did) == ("suspended", "reconciliation", [])
    for how, value, told, did in (
        ("retry", None, "paid", ["refund A 5"]),
        ("result", "paid by hand", "paid by hand", []),
        ("failure", "the bank said no", "the bank said no", []),
    ):
        shop = Shop()
        again = await shop.agent("unused", "done").resume(result.run).reconcile("call_1.1", how, value).run()
        assert (again.status, results(again.run), shop.did) == ("completed", [told], did)
    left = await agent.resume(result.run).reconcile("call_1.1", "leave").run()
    assert (left.status, left.reason) == ("suspended", "reconciliation")
    gone = await agent.resume(result.run).reconcile("call_1.1", "abort").run()
    told = "operator_abort_with_unknown_outcome: refund (call_1.1)"
    assert (gone.status, gone.error and gone.error.message) == ("failed", told)


async def test_who_began_a_call_is_known_however_often_it_is_left_open(tmp_path: Path) -> None:
    """Not the process that only went on with the run, and beside it the key to look the call up by."""

    @tool
    def refund(order: str, amount: int) -> str: ...

    @tool
    def check_policy(order: str, reason: str) -> str:
        return "refunded within 30 days"

    agent = Agent("refunds", ScriptedModel("unused"), tools=[refund, check_policy])
    path = str(EXAMPLES / "refund-killed.jsonl")

    def told(path: str) -> list[str | None]:
        source = open_path(path).open()
        for _ in source.index():
            pass
        state = source.state(len(source))
        source.close()
        assert state is not None
        return [row.note for row in state.pending or () if row.status == "ambiguous"]

    before = told(path)
    assert len(before) == 1
    assert "idempotency key" in str(before[0])
    for number in range(2):
        asked = agent.resume(path).accept("hook_missing", "tool_changed", "already_resumed").reconcile("c3", "leave")
        path = str(tmp_path / f"{number}.jsonl")
        assert (await asked.run(trace=path)).reason == "reconciliation"
        assert told(path) == before


async def test_what_is_without_harm_runs_again_with_the_same_key() -> None:
    keys: list[tuple[str, int]] = []

    @tool(idempotency="supported")
    def lookup(order: str, context: ToolContext) -> str:
        keys.append((context.idempotency_key, context.attempt))
        return "5"

    agent = Agent("shop", ScriptedModel("unused", "done"), tools=[lookup])
    run = begun(Shop(), LOOKUP)
    run.data.id = "r1"
    first = await Agent("shop", ScriptedModel([LOOKUP], "done"), tools=[lookup]).prompt("go").id("r1").run()
    assert (first.status, [attempt for _, attempt in keys]) == ("completed", [1])
    assert (await agent.resume(run).run()).status == "completed"
    assert keys[1:] == [(keys[0][0], 2)]
    assert (await agent.resume(run).reconcile("call_1.1", "leave").run()).status == "suspended"


async def test_a_model_call_in_flight_is_refused_unless_it_may_be_sent_again() -> None:
    text = (DATA / "rig_awaiting.json").read_text()
    agent = Agent("a", ScriptedModel("answer", "answer", "answer"))
    for codes in ((), ("already_resumed",)):
        with pytest.raises(ResumeRefused, match="model_in_flight"):
            await agent.resume(AgentRun.from_rig(text)).accept(*codes).run()
    with pytest.raises(RequestError, match="nothing is open that could be decided about"):
        await agent.resume(AgentRun.from_rig(text)).reconcile("other", "retry").run()
    for ask in (
        agent.resume(AgentRun.from_rig(text)).accept("model_in_flight"),
        agent.resume(AgentRun.from_rig(text)).reconcile("model", "retry"),
    ):
        result = await ask.run()
        assert result.status == "completed"
        assert result.run.data.turn == AgentRun.from_rig(text).data.turn


async def test_the_plan_runs_nothing_that_has_its_end_and_nothing_of_a_run_that_is_given_up() -> None:
    async def found(agent: Agent, run: AgentRun, *words: tuple[str, str]) -> tuple[int, int, int]:
        asked = agent.resume(run)
        for call, how in words:
            asked.reconcile(call, how, "x")
        made = await examined(asked, restored(run), None)
        return len(made.runs), len(made.again), len(made.owed)

    model = AgentRun.from_rig((DATA / "rig_awaiting.json").read_text())
    agent = Agent("a", ScriptedModel("answer"))
    counts = {how: (await found(agent, model, ("model", how)))[1] for how in ("retry", "result", "failure", "abort")}
    assert counts == {"retry": 1, "result": 0, "failure": 0, "abort": 0}
    shop = Shop()
    run = begun(shop, REFUND, REFUND, REFUND)
    assert await found(shop.agent(), run, ("call_1.1", "retry")) == (0, 1, 2)
    assert await found(shop.agent(), run, ("call_1.1", "retry"), ("call_1.2", "abort")) == (0, 0, 0)


# Runs of rig


async def test_a_run_of_rig_goes_on_from_its_file(tmp_path: Path) -> None:
    did: list[str] = []

    def made(name: str) -> Any:
        @tool(name=name)
        def run(**_: Any) -> str: ...

        return run

    @tool
    def get_weather(city: str, note: str = "") -> str:
        did.append(city)
        return "snow"

    @tool(name="search_flights")
    def search(date: str, to: str) -> str:
        return "LX39"

    path = tmp_path / "run.json"
    path.write_text((DATA / "rig_executing.json").read_text())
    agent = Agent("travel", ScriptedModel("unused", "Done."), tools=[get_weather, search])
    with pytest.raises(ResumeRefused, match="arguments_invalid"):
        await agent.resume(path).run()
    result = (
        await agent.resume(path)
        .edit("call_f9", {"date": "2026-12-05", "to": "ZRH"})
        .run(trace=str(tmp_path / "new.jsonl"))
    )
    assert result.status == "completed", result.error
    assert did == ["Zürich"]
    assert result.output == "Done."
    assert path.read_text() == (DATA / "rig_executing.json").read_text()
    header = json.loads((tmp_path / "new.jsonl").read_text().splitlines()[0])
    assert header["resumed_from"]["step"] == 2
    with pytest.raises(ResumeRefused, match="already_resumed"):
        await agent.resume(str(path)).edit("call_f9", {"date": "x", "to": "y"}).run()


@pytest.mark.parametrize(
    ("name", "code"), [("failed", "terminal"), ("awaiting", "model_in_flight"), ("v0_39_resolving", None)]
)
async def test_states_of_rig_that_do_not_simply_go_on(name: str, code: str | None) -> None:
    run = AgentRun.from_rig((DATA / f"rig_{name}.json").read_text())
    add = tool(name="add")(lambda x, y: x + y)
    agent = Agent("a", ScriptedModel(*["x"] * 3), tools=[add])
    if code:
        with pytest.raises(ResumeRefused, match=code):
            await agent.resume(run).run()
        return
    failed = await agent.resume(run).run()
    assert (failed.status, failed.reason) == ("failed", "unknown_tool")
    for asked, then in (
        (agent.resume(run).resolve("skip", "no mul"), "completed"),
        (agent.resume(run).deny("fc_2", "no mul"), "completed"),
        (agent.resume(run).resolve("stop", "enough"), "cancelled"),
    ):
        assert (await asked.run()).status == then


def travel(did: list[str], *hooks: Hook) -> Agent:
    """The agent of the runs of rig."""

    @tool
    def get_weather(city: str, days: int = 1, note: str = "") -> str:
        did.append("get_weather")
        return "snow"

    @tool(name="search_flights")
    def flights(to: str, origin: str = "", date: str = "") -> str:
        did.append("search_flights")
        return "LX39"

    @tool
    def book_hotel(hotel: str, nights: int, max_price: float) -> str:
        did.append("book_hotel")
        return "booked"

    return Agent(
        "travel", ScriptedModel(lambda messages: "Done."), tools=[get_weather, flights, book_hotel], hooks=hooks
    )


@pytest.mark.parametrize("way", ["run", "stream"])
@pytest.mark.parametrize(
    ("how", "text", "did", "told"),
    [
        ("repair", "book_hotel", ["get_weather"], ["snow", "invalid arguments"]),
        ("skip", "no flights", [], ["Not executed", "no flights"]),
        ("retry", "there is none", [], ["Not executed", "there is none"]),
        ("proceed", None, [], None),
    ],
)
async def test_hooks_are_asked_about_a_saved_call_that_was_not_on_offer(
    way: str, how: str, text: str | None, did: list[str], told: list[str] | None
) -> None:
    ran: list[str] = []
    heard: list[str] = []

    class Resolves(Hook):
        def on_invalid_tool_call(self, event: Any) -> Any:
            heard.append(event.call.name)
            assert "search_flights" in event.allowed
            return event.proceed() if text is None else getattr(event, how)(text)

    asked = travel(ran, Resolves()).resume(AgentRun.from_rig((DATA / "rig_resolving.json").read_text()))
    result = await asked.run() if way == "run" else [item async for item in asked.stream()][-1].result
    assert (heard, ran) == (["find_flights"], did)
    if told is None:
        assert (result.status, result.reason) == ("failed", "unknown_tool")
        return
    assert (result.status, result.output) == ("completed", "Done.")
    assert [text.startswith(begin) for text, begin in zip(results(result.run), told, strict=True)] == [True, True]


async def test_what_is_answered_in_a_saved_batch_is_committed_in_order_and_neither_runs_nor_is_heard_of() -> None:
    ran: list[str] = []
    heard: list[str] = []

    class Audit(Hook):
        def on_tool_call(self, event: Any) -> None:
            heard.append(f"call {event.name} {event.internal_id[:5]}")

        def on_tool_result(self, event: Any) -> None:
            heard.append(f"result {event.name}")

    run = AgentRun.from_rig((DATA / "rig_executing.json").read_text())
    asked = travel(ran, Audit()).resume(run).edit("call_f9", {"to": "ZRH"})
    items = [item async for item in asked.stream()]
    assert ran == ["get_weather", "search_flights"]
    assert heard == [
        *("call get_weather intl_", "result get_weather"),
        *("call search_flights intl_", "result search_flights"),
    ]
    shown = [item.result.name for item in items if type(item).__name__ == "ToolReturned"]
    assert shown == ["get_weather", "search_flights"]
    answers = [part for part in items[-1].result.run.messages[-2].content if isinstance(part, Result)]
    assert [part.name for part in answers] == ["get_weather", "search_flights", "book_hotel"]
    assert answers[2].text.startswith("denied by reviewer")


# Steps


async def test_a_run_goes_on_from_an_earlier_step(tmp_path: Path) -> None:
    shop = Shop()
    script = ([LOOKUP], [Call("lookup", {"order": "B"})], "done")
    first = await shop.agent(*script).prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    assert first.steps == 5
    shop.did.clear()
    for step, did in ((0, ["lookup A", "lookup B"]), (2, ["lookup B"]), (3, ["lookup B"]), (4, []), (5, [])):
        again = await shop.agent(*script).resume(first.trace, step=step).accept("already_resumed").run()
        assert (again.status, shop.did) == ("completed", did), step
        assert [m.text for m in again.messages] == [m.text for m in first.messages]
        shop.did.clear()
    with pytest.raises(ResumeRefused, match="step_not_resumable"):
        load(first.trace, 9)  # type: ignore[arg-type]


# Claims


def test_a_claim_is_held_by_one_and_given_back(tmp_path: Path) -> None:
    claims = Claims(str(tmp_path))
    mine = claims.take("r")
    with pytest.raises(Owned, match="is driven by process"):
        Claims(str(tmp_path)).take("r")
    claims.take("another")
    claims.release(mine)
    claims.release(Claims(str(tmp_path)).take("r"))
    assert claims.holder("r") is None


def test_a_claim_of_a_process_that_is_gone_is_stale(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = f"from inspector.runner.claims import Claims; Claims({str(tmp_path)!r}).take('r')"
    subprocess.run([sys.executable, "-c", code], check=True)
    claims = Claims(str(tmp_path))
    assert claims.holder("r") is None
    mine = claims.take("r")
    assert claims.holder("r") == mine
    (path,) = (tmp_path / "claims").glob("*.claim")
    path.write_text(path.read_text().replace(mine.born, "another boot:1"))
    assert claims.holder("r") is None
    path.write_text("{")
    assert claims.holder("r") is None


async def test_a_run_that_is_driven_cannot_be_resumed(tmp_path: Path) -> None:
    refused: list[Any] = []
    trace = str(tmp_path / "a.jsonl")

    @tool
    async def nested() -> str:
        try:
            await agent.resume(trace).reconcile("c1", "retry").run()
        except ResumeRefused as error:
            refused.append(error.code)
        return "x"

    agent = Agent("a", ScriptedModel([Call("nested")], "done"), tools=[nested])
    assert (await agent.prompt("go").run(trace=trace)).status == "completed"
    assert refused == ["owned"]


async def test_a_copy_is_the_same_run(tmp_path: Path) -> None:
    shop = Shop()
    first = await shop.agent().prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((tmp_path / "a.jsonl").read_bytes())
    second = await shop.agent().resume(first.trace).approve("c2").run()
    with pytest.raises(ResumeRefused, match=f"already_resumed.*{second.run_id}"):
        await shop.agent().resume(str(copy)).approve("c2").run()
    assert shop.did == ["lookup A", "refund A 5"]
    accepted = await shop.agent().resume(str(copy)).approve("c2").accept("already_resumed").run()
    assert accepted.status == "completed"


@pytest.mark.parametrize("damage", [b"", b"[{", b"\xff\xff", b"{}"])
async def test_a_damaged_note_of_what_was_resumed_still_warns(
    damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    shop = Shop()
    first = await shop.agent().prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    await shop.agent().resume(first.trace).approve("c2").run()
    (note,) = tmp_path.glob("**/*.resumed")
    note.write_bytes(damage)
    with pytest.raises(ResumeRefused, match=r"already_resumed.*cannot be told"):
        await shop.agent().resume(first.trace).approve("c2").run()
    assert shop.did == ["lookup A", "refund A 5"]
    third = await shop.agent().resume(first.trace).approve("c2").accept("already_resumed").run()
    with pytest.raises(ResumeRefused, match=f"cannot be told.*{third.run_id}"):
        await shop.agent().resume(first.trace).approve("c2").run()


async def test_a_trace_is_never_written_over(tmp_path: Path) -> None:
    shop = Shop()
    (tmp_path / "a.jsonl").write_text("mine")
    with pytest.raises(Exception, match="exists already"):
        await shop.agent().prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    first = await shop.agent().prompt("go").run(trace=str(tmp_path / "b.jsonl"))
    with pytest.raises(Exception, match="exists already"):
        await shop.agent().resume(first.trace).approve("c2").run(trace=first.trace)
    assert (await shop.agent().resume(first.trace).approve("c2").run()).status == "completed"


async def test_files_that_are_no_runs(tmp_path: Path) -> None:
    from inspector.errors import InspectorError

    agent = Shop().agent()
    for text in ("", "{", "[]", '{"record":"header"}', '{"record":"header","format":9,"id":"x","kind":"agent"}'):
        path = tmp_path / "x.jsonl"
        path.write_text(text)
        with pytest.raises(InspectorError):
            await agent.resume(path).run()
    with pytest.raises(InspectorError, match="No such file"):
        await agent.resume(tmp_path / "gone").run()


async def test_an_ambiguous_call_that_is_approved_anew_is_not_held() -> None:
    run = begun(Shop(), REFUND)
    run.send(Again("1.1"))
    shop = Shop()
    assert (await shop.agent("unused", "done").resume(run).run()).status == "completed"
    assert shop.did == ["refund A 5"]


async def test_a_tool_can_ask_and_the_answer_is_its_result(tmp_path: Path) -> None:
    @tool
    def choose(context: ToolContext, what: str) -> str:
        context.ask({"question": what})

    agent = Agent("a", ScriptedModel([Call("choose", {"what": "tea?"})], "done"), tools=[choose])
    first = await agent.prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    assert (first.status, first.reason) == ("suspended", "input")
    assert first.pending[0].question == {"question": "tea?"}
    result = await agent.resume(first.trace).answer("c1", "green").run()
    assert (result.status, results(result.run)) == ("completed", ["green"])


async def test_a_run_cut_short_as_it_began_begins_again(tmp_path: Path) -> None:
    trace, shop = tmp_path / "t.jsonl", Shop()
    await shop.agent("fine").prompt("hello").run(trace=str(trace))
    lines = trace.read_text().splitlines(keepends=True)
    trace.write_text(lines[0] + lines[1][: len(lines[1]) // 2])
    with pytest.raises(ResumeRefused, match=r"only the run's prompt is in the file") as refused:
        await shop.agent("fine").resume(str(trace)).run(trace=str(tmp_path / "no.jsonl"))
    assert refused.value.code == "begins_anew"
    agent = shop.agent("fine", max_turns=3)
    result = await agent.resume(str(trace)).accept("begins_anew").run(trace=str(tmp_path / "u.jsonl"))
    assert (result.status, result.output, result.run.data.max_turns) == ("completed", "fine", 3)
    assert [message.text for message in result.run.messages] == ["hello", "fine"]


async def test_what_began_is_not_begun_again(tmp_path: Path) -> None:
    trace, shop = tmp_path / "t.jsonl", Shop()
    await shop.agent().prompt("hello").run(trace=str(trace))
    header, _, *rest = trace.read_text().splitlines(keepends=True)
    head = json.loads(header)
    moved = [line for line in rest if '"record":"checkpoint"' not in line]
    link = {"run": "first", "step": 0}
    for text, words in (
        (header + "".join(moved), "things had happened"),
        (json.dumps(head | {"input": None}) + "\n", "its prompt is not in it"),
        (json.dumps(head | {"resumed_from": link}) + "\n", "resume first, which it was made from"),
    ):
        trace.write_text(text.replace('{"record": ', '{"record":'))
        with pytest.raises(ResumeRefused, match=words) as refused:
            load(str(trace))
        assert refused.value.code == "not_resumable"


async def test_a_conversation_that_was_not_loaded_is_loaded_when_the_run_goes_on(tmp_path: Path) -> None:
    class Broken(InMemory):
        async def load(self, conversation: str) -> tuple[Message, ...]:
            raise OSError("away")

    trace, shop, memory = str(tmp_path / "t.jsonl"), Shop(), InMemory()
    await memory.append("talk", (Message.user("before"),), key="k")
    first = await shop.agent("fine", memory=Broken()).prompt("hello").conversation("talk").run(trace=trace)
    assert first.status == "failed"
    result = await shop.agent("fine", memory=memory).resume(trace).run(trace=str(tmp_path / "u.jsonl"))
    assert [message.text for message in result.run.messages] == ["before", "hello", "fine"]
