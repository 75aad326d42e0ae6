"""Tools: schemas from hints, validation, the ways in which a call can end."""

import asyncio
import dataclasses
import enum
import sys
import threading
import time
from typing import Annotated, Any, Literal

import msgspec
import pytest

from inspector import Agent, AgentRun, Call, ScriptedModel, ToolContext, ToolError, ToolRefused, tool
from inspector.model.digest import digest
from inspector.model.values import Number
from inspector.runner.messages import Json, Media, Result, Text
from inspector.runner.registry import Registry
from inspector.runner.tools import AnyTool, as_tool


async def came(function: Any, arguments: Any = None, **options: Any) -> Result:
    """What a call of one tool comes to, through a whole run."""
    made = function if hasattr(function, "spec") else tool(**options)(function)
    agent = Agent("a", ScriptedModel([Call(made.spec.name, arguments)], "done"), tools=[made])
    result = await agent.prompt("go").run()
    assert result.status == "completed", result.error
    (found,) = [part for message in result.messages for part in message.content if isinstance(part, Result)]
    return found


class Size(enum.Enum):
    SMALL = "small"


@dataclasses.dataclass
class Line:
    sku: str
    count: int = 1


def test_the_schema_says_what_the_hints_say() -> None:
    @tool
    def order(
        lines: list[Line], size: Size, note: str | None = None, pay: Annotated[int, msgspec.Meta(ge=0)] = 0
    ) -> None:
        """Order something."""

    schema = order.spec.schema
    assert schema["required"] == ["lines", "size"]
    assert schema["properties"]["pay"] == {"type": "integer", "minimum": 0, "default": 0}
    assert schema["additionalProperties"] is False
    assert "Line" in schema["$defs"]
    assert order.spec.description == "Order something."
    assert order.spec.digest == digest(
        {
            "name": "order",
            "description": "Order something.",
            "schema": schema,
            "idempotency": "unknown",
            "needs_approval": False,
        }
    )


def test_a_tool_is_still_a_function() -> None:
    @tool(name="plus")
    def add(a: int, b: int = 2) -> int:
        return a + b

    assert add(1) == 3
    assert add.spec.name == "plus"
    assert as_tool(add) is add
    with pytest.raises(TypeError, match="cannot be a tool's name"):
        as_tool(lambda: 1)


def test_the_context_is_not_for_the_model() -> None:
    @tool
    def known(context: ToolContext, x: int) -> str:
        return f"{context.call_id} {x}"

    assert list(known.spec.schema["properties"]) == ["x"]


@pytest.mark.parametrize("bad", ["def f(*x): ...", "def f(**x): ...", "def f(x, /): ...", "def f(x: 'Strange'): ..."])
def test_what_no_schema_describes_is_refused_at_once(bad: str) -> None:
    space: dict[str, Any] = {"Strange": type("Strange", (), {"__init__": lambda self, a: None})}
    exec(bad, space)
    with pytest.raises(TypeError):
        tool(space["f"])


def test_what_is_no_tool_is_refused() -> None:
    with pytest.raises(TypeError, match="is no tool"):
        Registry([3])


async def test_results_are_words_values_or_parts() -> None:
    assert (await came(lambda: "words", name="f")).content == (Text("words"),)
    assert (await came(lambda: None, name="f")).content == (Text(""),)
    assert (await came(lambda: {"a": [1, 2.5]}, name="f")).content == (Json({"a": [1, 2.5]}),)
    assert (await came(lambda: Line("x"), name="f")).content == (Json({"sku": "x", "count": 1}),)
    picture = Media("image", {"type": "url", "value": "http://x/y.png"})
    assert (await came(lambda: picture, name="f")).content == (picture,)
    assert (await came(lambda: [Text("see"), picture], name="f")).content == (Text("see"), picture)


async def test_odd_values_are_told_and_saved(tmp_path: Any) -> None:
    def odd() -> Any:
        return {"half": "a\ud800b", 1: (1, float("nan"), 10**30), "\udc00": {2}}

    made = tool(odd)
    agent = Agent("a", ScriptedModel([Call("odd")], "done"), tools=[made])
    result = await agent.prompt("go \ud800").run(trace=str(tmp_path / "a.jsonl"))
    assert result.status == "completed", result.error
    (found,) = [part for message in result.messages for part in message.content if isinstance(part, Result)]
    assert found.content == (Json({"half": "a\ufffdb", "1": [1, Number("NaN"), 10**30], "\ufffd": [2]}),)
    again = await agent.resume(result.trace).run()  # type: ignore[arg-type]
    assert again.output == "done"
    failing = await came(lambda: (_ for _ in ()).throw(ValueError("\ud800")), name="f")
    assert failing.text == "ValueError: \ufffd"


async def test_arguments_are_validated_and_the_model_is_told() -> None:
    def f(n: int) -> int:
        return n

    assert (await came(f, {"n": 3})).text == "3"
    for bad in ({"n": "3"}, {}, {"n": 1, "m": 2}, "{not json", [1]):
        found = await came(f, bad)
        assert (found.outcome, found.kind) == ("error", "invalid_args"), bad
        assert "invalid arguments" in found.text


async def test_no_arguments_come_in_many_spellings() -> None:
    for empty in (None, {}, "", "  "):
        assert (await came(lambda: "ok", empty, name="f")).text == "ok"


async def test_a_failure_is_told_and_ends_nothing() -> None:
    def fails(error: BaseException) -> Any:
        def f() -> None:
            raise error

        return f

    for error, kind, words in (
        (ToolError("gone", "not_found"), "not_found", "gone"),
        (ValueError("odd"), "other", "ValueError: odd"),
        (PermissionError("no"), "permission_denied", "PermissionError: no"),
        (ConnectionResetError("cut"), "network", "ConnectionResetError: cut"),
    ):
        found = await came(fails(error), name="f")
        assert (found.outcome, found.kind, found.text) == ("error", kind, words)
    refused = await came(fails(ToolRefused("not today")), name="f")
    assert (refused.outcome, refused.kind, refused.text) == ("refused", None, "not today")
    odd = await came(lambda: threading.Lock(), name="f")
    assert odd.outcome == "error"


class Mute(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


async def waits_in_vain() -> None:
    other = asyncio.ensure_future(asyncio.sleep(60))
    other.cancel()
    await other


async def exits() -> None:
    sys.exit(3)


class Panic(BaseException):
    """No Exception, as what a library in another language raises."""


async def panics() -> None:
    raise Panic("no")


async def leaves() -> None:
    raise GeneratorExit("no")


async def is_mute() -> None:
    raise Mute


async def is_late() -> None:
    raise TimeoutError


async def of_no_kind() -> None:
    raise ToolError("odd", "strange")  # type: ignore[arg-type]


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (waits_in_vain, "cancelled", "cancelled from inside; it may still happen"),
        (exits, "other", "SystemExit: 3"),
        (lambda: sys.exit(3), "other", "SystemExit: 3"),
        (panics, "other", "Panic: no"),
        (leaves, "other", "GeneratorExit: no"),
        (is_mute, "other", "Mute: "),
        (is_late, "timeout", "no answer in time; it may still happen"),
        (of_no_kind, "other", "odd"),
    ],
)
async def test_whatever_a_tool_raises_ends_the_call_only(
    function: Any, kind: str, words: str, concurrency: int
) -> None:
    calls = [Call("f", {}) for _ in range(2)]
    agent = Agent("a", ScriptedModel(calls, "done"), tools=[tool(name="f")(function)], concurrency=concurrency)
    result = await agent.prompt("go").run()
    assert result.status == "completed", result.error
    found = [part for message in result.messages for part in message.content if isinstance(part, Result)]
    assert [(part.kind, part.text) for part in found] == [(kind, words)] * 2
    assert AgentRun.from_json(result.run.to_json()).messages == result.messages


async def test_a_run_that_is_cancelled_takes_its_calls_along() -> None:
    begun = asyncio.Event()

    @tool
    async def wait() -> None:
        begun.set()
        await asyncio.sleep(60)

    going = asyncio.ensure_future(Agent("a", ScriptedModel([Call("wait", {})], "x"), tools=[wait]).prompt("go").run())
    await begun.wait()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going


async def test_a_timeout_is_a_result() -> None:
    async def slow() -> None:
        await asyncio.sleep(5)

    begin = time.monotonic()
    found = await came(slow, timeout=0.02)
    assert (found.kind, time.monotonic() - begin < 2) == ("timeout", True)


async def test_a_function_that_blocks_does_not_stop_the_loop() -> None:
    free = threading.Event()

    def blocks() -> int:
        assert free.wait(20), "the loop stood still"
        return threading.get_ident()

    asyncio.get_running_loop().call_later(0.01, free.set)
    found = await came(blocks)
    assert found.outcome == "success", found.text
    assert found.text != str(threading.get_ident())
    here = await came(lambda: threading.get_ident(), name="f", thread=False)
    assert here.text == str(threading.get_ident())


async def test_what_a_tool_may_know_of_its_call() -> None:
    seen: list[ToolContext] = []

    @tool(idempotency="supported")
    def f(context: ToolContext) -> str:
        seen.append(context)
        return "ok"

    agent = Agent("helper", ScriptedModel([Call("f"), Call("f")], "done"), tools=[f])
    result = await agent.prompt("go").run()
    assert [context.call_id for context in seen] == ["c1", "c2"]
    assert {context.run_id for context in seen} == {result.run_id}
    keys = [context.idempotency_key for context in seen]
    assert [key.rpartition(":")[0] for key in keys] == [f"{result.run_id}:1.1", f"{result.run_id}:1.2"]
    assert [(context.agent, context.turn, context.attempt) for context in seen] == [("helper", 1, 1)] * 2


async def test_the_last_tool_of_a_name_wins_and_keeps_its_place() -> None:
    @tool(name="one")
    def first() -> str:
        return "first"

    @tool(name="one")
    def second() -> str:
        return "second"

    registry = Registry([first, tool(name="two")(lambda: "2"), second])
    snapshot = await registry.snapshot("")
    assert [spec.name for spec in snapshot.specs()] == ["one", "two"]
    assert snapshot.tools["one"] is second


class Shelf:
    """A source that offers what is asked about, and can dispatch all it has."""

    name = "shelf"

    def __init__(self, *, gated: bool = False) -> None:
        self.asked: list[str | None] = []
        self.all = [
            tool(name=name, needs_approval=gated)(lambda name=name: name)  # type: ignore[misc]
            for name in ("tea", "cake")
        ]

    async def tools(self, query: str | None) -> list[AnyTool]:
        self.asked.append(query)
        return [made for made in self.all if query is not None and made.spec.name in query]

    async def all_tools(self) -> list[AnyTool]:
        return list(self.all)

    async def open(self) -> None: ...

    async def close(self) -> None: ...


async def test_a_retrieved_tool_is_dispatched_on_resume_without_a_search() -> None:
    class Down(Shelf):
        async def tools(self, query: str | None) -> list[AnyTool]:
            assert self.asked == []
            raise ConnectionError("the index is down")

    agents = [
        Agent(
            "a", ScriptedModel([Call("tea"), Call("sign")], "done"), tools=[shelf, tool(name="sign")(lambda: "signed")]
        )
        for shelf in (Shelf(gated=True), Down(gated=True), Shelf(gated=True))
    ]
    saved = await agents[0].prompt("tea, please").run()
    assert [call.name for call in saved.pending] == ["tea"]
    cut = await agents[1].resume(saved.run).approve("c1").run()
    told = [part.text for part in cut.messages[-1].content if isinstance(part, Result)]
    assert told == ["tea", "signed"]  # only the turn behind it needs the index
    assert (cut.status, cut.error and cut.error.message) == ("failed", "the index is down")
    assert (await agents[2].resume(cut.run).run()).output == "done"


async def test_what_was_not_offered_in_the_turn_is_never_dispatched() -> None:
    from inspector import Hook

    class OnlySign(Hook):
        def on_completion_call(self, event: Any) -> Any:
            return event.patch(active_tools=["sign"])

    ran: list[str] = []

    @tool(needs_approval=True)
    def sign() -> str:
        ran.append("sign")
        return "ok"

    @tool
    def wipe() -> str:
        ran.append("wipe")
        return "ok"

    class Repair(Hook):
        def on_invalid_tool_call(self, event: Any) -> Any:
            assert event.allowed == ("sign",)
            return event.skip("not now")

    model = ScriptedModel([Call("wipe"), Call("sign")], "done")
    agent = Agent("a", model, tools=[sign, wipe], hooks=[OnlySign(), Repair()])
    result = await agent.prompt("go").run()
    assert (result.status, ran) == ("completed", [])


async def test_a_gate_that_fails_asks() -> None:
    def gate(call: Any) -> bool:
        raise RuntimeError("broken")

    async def over(call: Any) -> bool:
        return bool(call.arguments["n"] > 5)

    async def forgets(call: Any) -> Any:
        pass

    for approval, suspended in (
        *((gate, True), (over, False), (forgets, True)),
        *((lambda call: None, True), (lambda call: "yes", True), (lambda call: False, False)),
    ):
        made = tool(needs_approval=approval, name="f")(lambda n: "ok")
        agent = Agent("a", ScriptedModel([Call("f", {"n": 1})], "done"), tools=[made])
        result = await agent.prompt("go").run()
        assert (result.status == "suspended") is suspended


@pytest.mark.filterwarnings("error")
async def test_a_blocking_helper_says_what_to_do_where_a_loop_runs() -> None:
    with pytest.raises(RuntimeError, match="await run"):
        Agent("a", ScriptedModel("hi")).prompt("go").run_sync()


async def test_calls_of_a_batch_run_at_the_same_time_up_to_the_limit() -> None:
    now = most = 0

    @tool
    async def work(n: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01 * (4 - n))
        now -= 1
        return n

    calls = [Call("work", {"n": n}) for n in range(4)]
    for limit in (1, 2, 8):
        most = 0
        agent = Agent("a", ScriptedModel(calls, "done"), tools=[work], concurrency=limit)
        result = await agent.prompt("go").run()
        assert most == min(limit, 4)
        assert [part.text for part in result.messages[2].content if isinstance(part, Result)] == ["0", "1", "2", "3"]


def test_literals_and_docs() -> None:
    @tool(description="Say it.")
    def say(how: Literal["loud", "low"] = "low") -> None: ...

    assert say.spec.description == "Say it."
    assert say.spec.schema["properties"]["how"]["enum"] == ["loud", "low"]
