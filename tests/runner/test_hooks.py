"""Hooks: every event, the actions that it takes, and how those of several hooks combine."""

import asyncio
import json
import operator
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, Hook, Message, ModelTurn, ScriptedModel, ToolContext, tool
from inspector.runner.hookchain import merged
from inspector.runner.hooks import EVENTS, Patch, checked, listed
from inspector.runner.messages import Reasoning, Result, own
from inspector.runner.restore import load


@tool
def add(a: int, b: int) -> int:
    return a + b


ADDS = [Call("add", {"a": 1, "b": 2})]


class All(Hook):
    """Hears everything and writes it down."""

    name = "all"

    def __init__(self) -> None:
        self.heard: list[str] = []
        for event in EVENTS:
            setattr(self, f"on_{event}", lambda event: self.heard.append(event.kind))


def agent_of(*script: Any, hooks: Any = (), **options: Any) -> Agent:
    return Agent("a", ScriptedModel(*script), tools=[add], hooks=hooks, **options)


async def test_the_order_of_events() -> None:
    hook = All()
    result = await agent_of(ADDS, "3", hooks=[hook]).prompt("go").run()
    assert result.status == "completed"
    turn = ["completion_call", "model_select", "completion_response", "model_turn_finished"]
    assert hook.heard == ["run_start", *turn, "tool_call", "tool_result", *turn, "run_settled"]
    hook.heard.clear()
    async for _ in agent_of(ADDS, "3", hooks=[hook]).prompt("go").stream():
        pass
    streamed = [event for event in hook.heard if not event.endswith("delta")]
    assert streamed == [
        "run_start",
        *("completion_call", "model_select", "model_turn_finished", "tool_call", "tool_result"),
        *("completion_call", "model_select", "stream_response_finish", "model_turn_finished", "run_settled"),
    ]
    assert {"text_delta", "tool_call_delta"} <= set(hook.heard)


async def test_what_a_hook_may_know() -> None:
    seen: list[Any] = []

    class Look(Hook):
        def on_tool_call(self, event: Any) -> None:
            seen.append((event.run_id, event.agent, event.turn, event.is_streaming, event.arguments))

    result = await agent_of(ADDS, "3", hooks=[Look()]).prompt("go").run()
    assert seen == [(result.run_id, "a", 1, False, {"a": 1, "b": 2})]


def a_hook(event: str, *actions: Any) -> Hook:
    """A hook that answers an event with actions, one after another; a string is a method of the event."""
    left = list(actions)

    def method(heard: Any) -> Any:
        if not left:
            return None
        name, *args = left.pop(0)
        return getattr(heard, name)(*args)

    async def later(heard: Any) -> Any:
        return method(heard)

    hook = Hook()
    hook.name = f"{event}-{len(actions)}"
    setattr(hook, f"on_{event}", method if event == "model_select" else later)
    return hook


async def test_a_rewrite_of_the_arguments_chains_and_survives_a_skip() -> None:
    first = a_hook("tool_call", ("rewrite", {"a": 5, "b": 5}))
    seen: list[Any] = []

    class Second(Hook):
        def on_tool_call(self, event: Any) -> Any:
            seen.append(event.arguments)
            return event.rewrite({"a": event.arguments["a"], "b": 1})

    result = await agent_of(ADDS, "done", hooks=[first, Second()]).prompt("go").run()
    assert seen == [{"a": 5, "b": 5}]
    assert _results(result) == ["6"]
    assert result.messages[1].calls[0].arguments == {"a": 1, "b": 2}


class Cap(Hook):
    """Rewrites what is too much."""

    def __init__(self, to: int) -> None:
        self.to, self.heard = to, list[tuple[Any, bool]]()

    def on_tool_call(self, event: Any) -> Any:
        self.heard.append((event.arguments["amount"], event.approved))
        return event.rewrite({"amount": self.to}) if event.arguments["amount"] != self.to else None


PAYS = [Call("pay", {"amount": 50})]


def till(gate: Any, hook: Hook, paid: list[int]) -> Agent:
    @tool(needs_approval=gate)
    def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    return Agent("till", ScriptedModel(PAYS, "done"), tools=[pay], hooks=[hook])


async def test_what_somebody_approved_is_what_runs(tmp_path: Path) -> None:
    """A hook that rewrites it then has it wait again, with what it would run with."""
    paid: list[int] = []
    cap, traces = Cap(40), [str(tmp_path / f"{number}.jsonl") for number in range(3)]
    first = await till(True, cap, paid).prompt("go").run(trace=traces[0])
    assert ([call.arguments for call in first.pending], cap.heard) == ([{"amount": 50}], [])
    second = await till(True, cap, paid).resume(traces[0]).approve("c1").run(trace=traces[1])
    assert (second.status, second.reason, paid) == ("suspended", "approval", [])
    assert [(call.arguments, call.question) for call in second.pending] == [
        ({"amount": 40}, "a hook gave it other arguments, which nobody has let through yet")
    ]
    assert load(traces[1]).run.slots[0].effective == {"amount": 40}
    third = await till(True, cap, paid).resume(traces[1]).approve("c1").run(trace=traces[2])
    assert (third.status, paid, cap.heard) == ("completed", [40], [(50, True), (40, True)])
    denied = await till(True, cap, paid).resume(traces[1]).deny("c1").accept("already_resumed").run()
    assert (denied.status, paid) == ("completed", [40])


@pytest.mark.parametrize(("to", "waits"), [(400, True), (40, False)])
async def test_the_gate_is_asked_about_what_a_hook_made_of_the_arguments(to: int, waits: bool) -> None:
    paid: list[int] = []
    result = await till(lambda call: call.arguments["amount"] > 100, Cap(to), paid).prompt("go").run()
    assert (result.status == "suspended", paid) == (waits, [] if waits else [to])
    if waits:
        assert [call.arguments for call in result.pending] == [{"amount": to}]


async def test_a_rewrite_to_the_same_is_none(tmp_path: Path) -> None:
    class Same(Hook):
        def on_tool_call(self, event: Any) -> Any:
            return event.rewrite(dict(event.arguments))

    paid: list[int] = []
    first = await till(True, Same(), paid).prompt("go").run()
    done = await till(True, Same(), paid).resume(first.run).approve("c1").run(trace=str(tmp_path / "t.jsonl"))
    assert (done.status, paid) == ("completed", [50])
    assert '"event":"edit"' not in (tmp_path / "t.jsonl").read_text()


async def test_what_may_have_happened_is_run_again_as_it_was_begun(tmp_path: Path) -> None:
    """However the hook that gave it its arguments would rewrite them now: its key stays, and the effect is one."""
    ran: list[tuple[int, str]] = []

    class Stamp(Hook):
        count = 0

        def on_tool_call(self, event: Any) -> Any:
            Stamp.count += 1
            return event.rewrite({"amount": event.arguments["amount"] + Stamp.count})

    @tool(idempotency="supported")
    def pay(context: ToolContext, amount: int) -> str:
        ran.append((amount, context.idempotency_key))
        return f"paid {amount}"

    agent = Agent("till", ScriptedModel(PAYS, "done"), tools=[pay], hooks=[Stamp()])
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    await agent.prompt("go").run(trace=str(whole))
    lines = whole.read_text().splitlines(keepends=True)
    begun = next(at for at, line in enumerate(lines) if '"kind":"tool"' in line and '"status":"started"' in line)
    cut.write_text("".join(lines[: begun + 1]))
    done = await agent.resume(str(cut)).run(trace=str(tmp_path / "on.jsonl"))
    assert (done.status, len(ran), ran[0][0]) == ("completed", 2, 51)
    assert ran[0] == ran[1]


async def test_what_is_run_has_its_own_digest_and_key_in_the_journal(tmp_path: Path) -> None:
    path, paid = tmp_path / "t.jsonl", list[int]()
    await till(False, Cap(40), paid).prompt("go").run(trace=str(path))
    told = [record for line in path.read_text().splitlines() if (record := json.loads(line)).get("kind") == "tool"]
    planned, started, succeeded = told
    assert (planned["request"], started["request"]) == ({"amount": 50}, {"amount": 40})
    assert planned["digest"] != started["digest"]
    assert planned["idempotency_key"] != started["idempotency_key"] == succeeded["idempotency_key"]


class Meddler(Hook):
    """Changes everything that it can reach, in place."""

    def __init__(self) -> None:
        self.reached: set[str] = set()
        for event in EVENTS:
            setattr(self, f"on_{event}", self._heard)

    def _heard(self, event: Any) -> None:
        for name in event.__struct_fields__:
            if name not in ("scratch", "model"):
                self._spoil(event.kind, getattr(event, name))

    def _spoil(self, kind: str, value: Any) -> None:
        if isinstance(value, dict | list):
            self.reached.add(kind)
            value.clear()
        elif isinstance(value, tuple):
            for item in value:
                self._spoil(kind, item)
        elif hasattr(value, "__struct_fields__"):
            for name in value.__struct_fields__:
                self._spoil(kind, getattr(value, name))


@pytest.mark.parametrize("streams", [False, True])
async def test_what_a_hook_does_in_place_changes_nothing(tmp_path: Path, streams: bool) -> None:
    @tool
    def look(order: list[int]) -> dict[str, list[int]]:
        return {"found": order}

    def gate(call: Any) -> bool:
        call.arguments.clear()
        call.call.arguments.clear()
        return False

    @tool(needs_approval=gate)
    def pay(amounts: list[int]) -> str:
        return str(amounts)

    said = [Call("look", {"order": [1]}, extra={"kept": [1]}), Call("pay", {"amounts": [2]})]

    class Mends(Hook):
        def on_invalid_tool_call(self, event: Any) -> Any:
            return event.repair("look")

    async def run(*hooks: Hook) -> Any:
        script = ScriptedModel(said, [Call("none", {"order": [1]})], "done")
        agent = Agent("a", script, tools=[look, pay], hooks=[*hooks, Mends()])
        asked, trace = agent.prompt("go"), str(tmp_path / f"{len(hooks)}.jsonl")
        if not streams:
            return await asked.run(trace=trace)
        return [item async for item in asked.stream(trace=trace)][-1].result

    meddler = Meddler()
    clean, meddled = await run(), await run(meddler)
    assert meddled.messages == clean.messages
    heard = {"completion_call", "model_turn_finished", "invalid_tool_call", "tool_call", "tool_result"}
    assert heard <= meddler.reached
    saved = load(str(tmp_path / "1.jsonl")).run
    assert saved.messages == meddled.messages


async def test_a_skip_is_the_result_and_the_body_does_not_run() -> None:
    ran: list[int] = []

    @tool(name="add")
    def counted(a: int, b: int) -> int:
        ran.append(a)
        return a

    agent = Agent("a", ScriptedModel(ADDS, "done"), tools=[counted], hooks=[a_hook("tool_call", ("skip", "closed"))])
    result = await agent.prompt("go").run()
    assert (_results(result), ran) == (["closed"], [])


async def test_a_result_is_told_otherwise_and_the_raw_one_stays() -> None:
    seen: list[Any] = []

    class Second(Hook):
        def on_tool_result(self, event: Any) -> None:
            seen.append((event.raw, event.value, event.outcome))

    result = await agent_of(ADDS, "x", hooks=[a_hook("tool_result", ("rewrite", "three")), Second()]).prompt("go").run()
    assert _results(result) == ["three"]
    assert seen == [(3, "three", "success")]


@pytest.mark.parametrize(
    "event", [event for event, actions in EVENTS.items() if "stop" in actions and not event.startswith("firing")]
)
async def test_a_stop_ends_the_run_wherever_it_comes(event: str) -> None:
    thought = Reasoning(({"type": "text", "content": {"text": "well"}},))
    script: list[Any] = [[Call("sub")], "x"] if event == "invalid_tool_call" else [[thought, "hm", *ADDS], "x"]
    agent = agent_of(*script, hooks=[a_hook(event, ("stop", "enough"))])
    if event.endswith("delta") or event.startswith("stream"):
        items = [item async for item in agent.prompt("go").stream()]
        result = items[-1].result
    else:
        result = await agent.prompt("go").run()
    assert (result.status, result.reason) == ("cancelled", "cancelled")
    assert "enough" in (result.error.message or "")


async def test_a_stopped_preparation_spends_no_turn() -> None:
    result = await agent_of("x", hooks=[a_hook("completion_call", ("stop", "no"))]).prompt("go").run()
    assert (result.run.data.turn, result.usage.input_tokens) == (0, 0)


async def test_a_hook_that_raises_stops_the_run_by_name() -> None:
    class Broken(Hook):
        def on_tool_call(self, event: Any) -> None:
            raise KeyError("x")

    result = await agent_of(ADDS, "x", hooks=[Broken()]).prompt("go").run()
    assert "the hook Broken raised KeyError" in (result.error.message or "")  # type: ignore[union-attr]


async def test_an_action_of_another_event_stops_the_run() -> None:
    class Odd(Hook):
        def on_tool_call(self, event: Any) -> Any:
            return 7

    result = await agent_of(ADDS, "x", hooks=[Odd()]).prompt("go").run()
    assert "returned 7 for tool_call" in (result.error.message or "")  # type: ignore[union-attr]


async def test_the_first_resolution_of_an_invalid_call_wins() -> None:
    hooks = [
        a_hook("invalid_tool_call"),
        a_hook("invalid_tool_call", ("repair", "add")),
        a_hook("invalid_tool_call", ("fail",)),
    ]
    result = await agent_of([Call("plus", {"a": 1, "b": 2})], "3", hooks=hooks).prompt("go").run()
    assert (result.status, _results(result)) == ("completed", ["3"])


async def test_without_a_resolution_the_run_fails() -> None:
    result = await agent_of([Call("plus")], "3").prompt("go").run()
    assert (result.status, result.reason) == ("failed", "unknown_tool")
    assert "on offer were add" in (result.error.message or "")  # type: ignore[union-attr]


async def test_a_senseless_resolution_fails_the_run_and_says_so() -> None:
    result = (
        await agent_of([Call("plus")], "3", hooks=[a_hook("invalid_tool_call", ("repair", "minus"))]).prompt("x").run()
    )
    assert "makes no sense" in (result.error.message or "")  # type: ignore[union-attr]


async def test_a_retry_that_is_not_made_is_not_shown() -> None:
    hook = Says("invalid_tool_call", lambda event: event.retry())
    items = [
        item async for item in agent_of([Call("nope", {})], [Call("nope", {})], hooks=[hook]).prompt("go").stream()
    ]
    assert [type(item).__name__ for item in items].count("TurnRetried") == 1
    assert items[-1].result.reason == "unknown_tool"


async def test_a_retried_call_is_told_to_the_model() -> None:
    hook = a_hook("invalid_tool_call", ("retry", "use add"))
    model = ScriptedModel([Call("plus")], lambda messages: messages[-1].content[0].text)
    result = await Agent("a", model, tools=[add], hooks=[hook]).prompt("go").run()
    assert result.output == "use add"


async def test_a_turn_is_made_again_on_both_surfaces() -> None:
    def script(messages: Any) -> Any:
        return "better" if messages[-1].text == "again" else "draft"

    agent = Agent("a", ScriptedModel(script), hooks=[a_hook("model_turn_finished", ("retry", "again"))])
    assert (await agent.prompt("go").run()).output == "better"
    agent = Agent("a", ScriptedModel(script), hooks=[a_hook("model_turn_finished", ("retry", "again"))])
    items = [item async for item in agent.prompt("go").stream()]
    assert [type(item).__name__ for item in items if "Delta" not in type(item).__name__] == [
        *("ModelCalled", "TurnRetried", "ModelCalled", "Final")
    ]
    result = await agent_of(ADDS, "x", hooks=[a_hook("model_turn_finished", ("retry",))]).prompt("go").run()
    assert "cannot be made again" in (result.error.message or "")  # type: ignore[union-attr]


async def test_the_prompt_can_be_rewritten_and_the_end_is_heard() -> None:
    ends: list[Any] = []

    class End(Hook):
        def on_run_settled(self, event: Any) -> None:
            ends.append((event.status, event.output, event.error))

    model = ScriptedModel(lambda messages: messages[-1].text.upper())
    agent = Agent("a", model, hooks=[a_hook("run_start", ("rewrite", "hello")), End()])
    assert (await agent.prompt("go").run()).output == "HELLO"
    failing = await Agent("a", ScriptedModel(), hooks=[End()]).prompt("go").run()
    assert failing.status == "failed"
    assert [end[0] for end in ends] == ["completed", "failed"]


def test_patches_merge() -> None:
    old = Patch("one", 0.1, None, None, ("a", "b"), {"x": 1, "y": 1}, ("doc1",), (Message.user("h1"),))
    new = Patch(None, 0.2, 5, "none", ("b", "c"), {"y": 2}, ("doc2",), None)
    assert merged(old, new) == Patch(
        "one", 0.2, 5, "none", ("b",), {"x": 1, "y": 2}, ("doc1", "doc2"), (Message.user("h1"),)
    )
    assert merged(Patch(), Patch()) == Patch()


async def test_a_patch_is_for_one_turn_only() -> None:
    seen: list[Any] = []

    class Asked(ScriptedModel):
        async def request(self, request: Any) -> ModelTurn:
            seen.append((request.instructions, request.temperature, request.choice, [t.name for t in request.tools]))
            return await super().request(request)

    class Once(Hook):
        def on_completion_call(self, event: Any) -> Any:
            if event.turn == 1:
                return event.patch(
                    temperature=0.5, tool_choice="required", extra_context=["Doc."], active_tools=["add"]
                )
            return None

    agent = Agent("a", Asked(ADDS, "x"), tools=[add, tool(name="sub")(lambda: 1)], instructions="Be.", hooks=[Once()])
    assert (await agent.prompt("go").run()).status == "completed"
    assert seen == [("Be.\n\nDoc.", 0.5, "required", ["add"]), ("Be.", None, None, ["add", "sub"])]


async def test_an_active_tool_that_is_not_there_fails_and_spends_nothing() -> None:
    class Wrong(Hook):
        def on_completion_call(self, event: Any) -> Any:
            return event.patch(active_tools=["nothing"])

    result = await agent_of("x", hooks=[Wrong()]).prompt("go").run()
    assert (result.status, result.reason, result.run.data.turn) == ("failed", "request", 0)
    assert "nothing" in (result.error.message or "")  # type: ignore[union-attr]


async def test_a_model_is_chosen_per_turn_and_the_one_before_is_known() -> None:
    seen: list[Any] = []

    class Route(Hook):
        def on_model_select(self, event: Any) -> Any:
            seen.append((event.model.name, event.previous))
            return event.select(ScriptedModel(ADDS, "from the other", name="other")) if event.turn == 2 else None

    result = await agent_of(ADDS, "from the first", hooks=[Route()]).prompt("go").run()
    assert result.output == "from the other"
    assert seen == [("scripted", None), ("scripted", "scripted")]
    assert result.run.data.previous_model == "other"


async def test_the_scratchpad_is_saved_with_the_run() -> None:
    class Count(Hook):
        def on_completion_call(self, event: Any) -> None:
            event.scratch["calls"] = event.scratch.get("calls", 0) + 1

    @tool(needs_approval=True)
    def sign() -> str:
        return "ok"

    agent = Agent("a", ScriptedModel([Call("sign")], "done"), tools=[sign], hooks=[Count()])
    first = await agent.prompt("go").run()
    assert first.run.data.scratch == {"calls": 1}
    again = await agent.resume(first.run).approve("c1").run()
    assert again.run.data.scratch == {"calls": 2}


def test_hooks_are_listed_by_event_order_and_name() -> None:
    class B(Hook):
        def on_tool_result(self, event: Any) -> None: ...

        def on_tool_call(self, event: Any) -> None: ...

    class A(Hook):
        name = "first"

        def on_tool_call(self, event: Any) -> None: ...

    name = B.__name__
    found = [(hook.event, hook.name) for hook in listed([A(), B()])]
    assert found == [("tool_call", "first"), ("tool_call", name), ("tool_result", name)]
    with pytest.raises(TypeError, match="on_tool_cal"):
        checked([type("Typo", (Hook,), {"on_tool_cal": lambda self, event: None})()])
    with pytest.raises(TypeError, match="hears no event"):
        checked([Hook()])


async def test_the_first_stop_of_a_batch_counts_and_nothing_is_shown() -> None:
    import asyncio

    class StopSecond(Hook):
        async def on_tool_call(self, event: Any) -> Any:
            await asyncio.sleep(0.01 if event.call_id == "c1" else 0)
            return event.stop(f"at {event.call_id}") if event.call_id in ("c1", "c2") else None

    calls = [Call("add", {"a": n, "b": 0}) for n in range(4)]
    for limit in (1, 4):
        agent = agent_of(calls, "x", hooks=[StopSecond()], concurrency=limit)
        items = [item async for item in agent.prompt("go").stream()]
        assert not [item for item in items if type(item).__name__.startswith("Tool")]
        assert "at c1" in items[-1].result.error.message


def _results(result: Any) -> list[str]:
    return [part.text for message in result.messages for part in message.content if isinstance(part, Result)]


class Keeps(Hook):
    """Puts a thing into the scratchpad that cannot be saved, at one event."""

    def __init__(self, event: str) -> None:
        setattr(self, f"on_{event}", self._keep)

    def _keep(self, event: Any) -> None:
        event.scratch |= {"good": 1, "bad": object()}


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(
    ("event", "done", "status"),
    [
        ("run_start", 0, "failed"),
        ("completion_call", 0, "failed"),
        ("tool_call", 0, "cancelled"),
        ("tool_result", 1, "cancelled"),
        ("run_settled", 2, "completed"),
    ],
)
async def test_what_cannot_be_saved_stops_the_run_by_name(
    tmp_path: Path, event: str, done: int, status: str, concurrency: int
) -> None:
    did: list[int] = []

    @tool
    async def act(n: int) -> int:
        did.append(n)
        return n

    calls = [Call("act", {"n": 1}), Call("act", {"n": 2})]
    agent = Agent("a", ScriptedModel(calls, "x"), tools=[act], hooks=[Keeps(event)], concurrency=concurrency)
    result = await agent.prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    assert result.status == status
    if event != "run_settled":
        assert result.error is not None
        assert "cannot be saved as bad" in result.error.message
    assert len(did) in (done, done * concurrency)
    assert result.run.data.scratch == {"good": 1}
    saved = load(str(tmp_path / "a.jsonl"))
    assert saved.status == status
    assert [slot.status for slot in saved.run.slots].count("started") == 0


class Says(Hook):
    """Answers one event with what a function makes of it."""

    def __init__(self, event: str, answer: Any) -> None:
        setattr(self, f"on_{event}", answer)


async def _gives_up(event: Any) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("event", "answer", "did", "why"),
    [
        ("tool_call", lambda event: event.rewrite(object()), 0, "rewrite was given what cannot be saved"),
        ("tool_call", lambda event: event.skip(object()), 0, "skip was given what cannot be saved"),
        ("tool_result", lambda event: event.rewrite(object()), 1, "rewrite was given what cannot be saved"),
        ("tool_call", lambda event: sys.exit(3), 0, "the hook Says raised SystemExit: 3"),
        ("tool_call", _gives_up, 0, "the hook Says raised CancelledError: "),
        ("completion_call", _gives_up, 0, "the hook Says raised CancelledError: "),
    ],
)
async def test_a_hook_that_gives_what_it_must_not_stops_the_run_by_name(
    event: str, answer: Any, did: int, why: str
) -> None:
    done: list[int] = []

    @tool
    def act(n: int) -> int:
        done.append(n)
        return n

    calls = [Call("act", {"n": 1}), Call("act", {"n": 2})]
    result = await Agent("a", ScriptedModel(calls, "x"), tools=[act], hooks=[Says(event, answer)]).prompt("go").run()
    assert result.status == "cancelled"
    assert result.error is not None
    assert why in result.error.message
    assert "Says" in result.error.message
    assert len(done) == did
    failed: Any = result.run.data.phase
    assert [slot.status for slot in failed.slots].count("answered") == did  # what happened stands


@pytest.mark.parametrize("how", ["skip", "retry", "fail", "stop"])
async def test_what_a_hook_says_in_words_may_be_anything_that_has_words(how: str) -> None:
    hook = Says("invalid_tool_call", lambda event: getattr(event, how)(5))
    result = await agent_of([Call("nope", {})], "end", hooks=[hook]).prompt("go").run()
    told = [part.text for message in result.messages for part in message.content if isinstance(part, Result)]
    assert told == ["5"] if how in ("skip", "retry") else result.error is not None and result.error.message == "5"


async def test_a_patch_takes_one_name_as_well_as_several() -> None:
    asked: list[Any] = []

    def model(messages: Any) -> Any:
        return "end"

    class Keeps(ScriptedModel):
        async def request(self, request: Any) -> Any:
            asked.append(request)
            return await super().request(request)

    hook = Says("completion_call", lambda event: event.patch(active_tools="add", extra_context="a page"))
    assert (await Agent("a", Keeps(model), tools=[add], hooks=[hook]).prompt("go").run()).status == "completed"
    assert ([tool.name for tool in asked[0].tools], asked[0].instructions) == (["add"], "a page")


async def test_a_choice_that_is_none_is_refused_and_spends_nothing() -> None:
    hook = Says("completion_call", lambda event: event.patch(tool_choice="add"))
    result = await agent_of("end", hooks=[hook]).prompt("go").run()
    assert (result.status, result.reason, result.run.data.turn) == ("failed", "request", 0)
    assert result.error is not None
    assert "'add' is none of auto, none, required" in result.error.message


WAYS: dict[str, Any] = {
    "iteration": lambda handed: [*handed],
    "one": lambda handed: [handed[-1]],
    "some": lambda handed: [*handed[1:]],
    "backwards": lambda handed: list(reversed(handed)),
    "more": lambda handed: list(operator.add(handed, ())),
    "behind more": lambda handed: list(operator.add((), handed)),
    "a tuple": lambda handed: tuple(handed),
    "unpacked": lambda handed: (lambda *each: each)(*handed),
}


@pytest.mark.parametrize("way", WAYS)
def test_messages_that_are_handed_out_are_copied_when_they_are_looked_at(way: str) -> None:
    messages = tuple(Message("assistant", (Call("look", {"n": [number]}),)) for number in range(3))
    handed = own(messages)
    assert all(mine is kept for mine, kept in zip(tuple.__iter__(handed), messages, strict=True))
    assert (len(handed), handed == messages, messages[1] in handed) == (3, True, True)
    for message in WAYS[way](handed):
        message.calls[0].arguments["n"].clear()
    assert [message.calls[0].arguments for message in messages] == [{"n": [0]}, {"n": [1]}, {"n": [2]}]


async def test_messages_that_a_hook_keeps_are_saved_and_handed_on() -> None:
    class Keeps(Hook):
        def on_completion_call(self, event: Any) -> Any:
            event.scratch["said"] = event.messages
            return event.patch(history=event.messages[:0])

    result = await agent_of(ADDS, "3", hooks=[Keeps()]).prompt("go").run()
    assert result.status == "completed"
    assert [item["role"] for item in json.loads(result.run.to_json())["scratch"]["said"]] == [
        "user",
        "assistant",
        "user",
    ]
