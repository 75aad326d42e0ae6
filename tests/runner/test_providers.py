"""Real models, against a local server that speaks the OpenAI chat protocol."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, ModelError, Retries, ScriptedModel, openai_model, tool
from inspector.errors import UsageError
from inspector.model.values import Number
from inspector.runner.messages import Call, Media, Message, ModelTurn, Reasoning, Result, Text, Usage
from inspector.runner.models import Delta, ModelRequest, as_model
from tests.runner.chatserver import Answer, ChatServer, calls, says

QUICK = Retries(tries=3, first=0.001, cap=0.01)


@tool
def price(item: str, count: float = 1) -> str:
    """What it costs."""
    return f"{item} {count}"


def scripted(*answers: Any) -> Answer:
    """One answer after another; a function is called with the request."""
    left = list(answers)

    def answer(body: dict[str, Any]) -> Any:
        now = left.pop(0)
        return now(body) if callable(now) else now

    return answer


def agent(server: ChatServer, **options: Any) -> Agent:
    model = openai_model("local-model", base_url=server.url)
    return Agent("buyer", model, tools=[price], **{"retries": QUICK} | options)


async def test_a_conversation_with_tools() -> None:
    asks = calls(("call_1", "price", '{"item": "tea", "count": 310.50}'), ("call_2", "price", '{"item": "cup"}'))
    with ChatServer(scripted(asks, says("All fine."))) as server:
        result = await agent(server, instructions="Be brief.", temperature=0.2).prompt("Buy tea.").run()
    assert (result.status, result.output) == ("completed", "All fine."), result.error
    assert (result.usage.input_tokens, result.usage.output_tokens) == (22, 8)
    first, second = server.requests
    assert first["model"] == "local-model"
    assert first["temperature"] == 0.2
    assert first["tools"][0]["function"]["name"] == "price"
    assert first["tools"][0]["function"]["parameters"]["required"] == ["item"]
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert second["messages"][0]["content"] == "Be brief."
    assert [message["content"] for message in second["messages"][3:]] == ["tea 310.5", "cup 1"]
    assert result.messages[1].calls[0].arguments == {"item": "tea", "count": Number("310.50")}
    call = result.run.data.calls[0]
    assert (call.finish_reason, call.response_id, call.model) == ("tool_calls", "resp-1", "local-model")


async def test_the_same_streamed() -> None:
    asks = calls(("call_1", "price", '{"item": "tea"}'))
    with ChatServer(scripted(asks, says("All is fine."))) as server:
        items = [item async for item in agent(server).prompt("Buy tea.").stream()]
    result = items[-1].result
    assert (result.status, result.output) == ("completed", "Allisfine."), result.error
    text = "".join(item.text for item in items if type(item).__name__ == "TextDelta")
    assert text == "Allisfine."
    pieces = [item for item in items if type(item).__name__ == "CallDelta"]
    assert pieces[0].name == "price"
    assert "".join(piece.arguments or "" for piece in pieces) == '{"item": "tea"}'
    assert {piece.internal_id for piece in pieces} == {"1.1"}
    assert result.usage.input_tokens == 22


async def test_a_busy_server_is_asked_again_and_every_try_is_a_step(tmp_path: Any) -> None:
    busy = (429, {"Retry-After": "0"}, {"message": "slow down", "type": "rate_limit"})
    with ChatServer(scripted(busy, (503, {}, {"message": "later"}), says("Hello."))) as server:
        result = await agent(server).prompt("Hi").run(trace=str(tmp_path / "a.jsonl"))
    assert (result.status, result.output, result.run.data.turn) == ("completed", "Hello.", 1)
    assert (result.steps, len(server.requests), result.usage.input_tokens) == (3, 3, 11)
    from inspector.formats import open_path

    run = open_path(str(tmp_path / "a.jsonl")).open()
    for _ in run.index():
        pass
    assert [(step.status, (step.error or "")[:12]) for step in run.steps(1, 4)] == [
        ("failed", "rate_limited"),
        ("failed", "provider: Mo"),
        ("done", ""),
    ]


@pytest.mark.parametrize(
    ("status", "kind", "tries"),
    [(400, "invalid_request", 1), (401, "permission_denied", 1), (429, "rate_limited", 3), (500, "provider", 3)],
)
async def test_errors_are_classified_and_the_run_can_go_on(status: int, kind: str, tries: int) -> None:
    wrong = (status, {}, {"message": "no"})
    with ChatServer(scripted(*[wrong] * tries, says("Now."))) as server:
        failed = await agent(server).prompt("Hi").run()
        assert (failed.status, failed.reason, failed.error and failed.error.type) == ("failed", "model", kind)
        assert len(server.requests) == tries
        assert failed.run.data.turn == 0
        assert (await agent(server).resume(failed.run).run()).output == "Now."


async def test_a_server_that_is_not_there() -> None:
    model = openai_model("x", base_url="http://127.0.0.1:9/v1")
    result = await Agent("a", model, retries=Retries(tries=2, first=0.001)).prompt("Hi").run()
    assert (result.reason, result.error and result.error.type, result.steps) == ("model", "network", 2)


async def test_a_stream_that_breaks_off_is_no_answer() -> None:
    with ChatServer(scripted("cut", says("whole"))) as server:
        items = [item async for item in agent(server).prompt("Hi").stream()]
    assert items[-1].result.output == "whole"
    assert "TurnRetried" in [type(item).__name__ for item in items]
    assert items[-1].result.steps == 2


@dataclasses.dataclass
class Trip:
    city: str
    nights: int


async def test_a_structured_answer() -> None:
    with ChatServer(scripted(says('{"city": "Oslo", "nights": 2}'))) as server:
        model = openai_model("gpt-4o", base_url=server.url)
        result = await Agent("a", model, output=Trip).prompt("Where?").run()
    assert result.output == Trip("Oslo", 2)
    assert server.requests[0]["response_format"]["json_schema"]["schema"]["required"] == ["city", "nights"]
    with ChatServer(scripted(calls(("c", "final_result", '{"city": "Oslo", "nights": 2}')))) as server:
        result = await agent(server, output=Trip).prompt("Where?").run()
    assert result.output == Trip("Oslo", 2)
    assert [item["function"]["name"] for item in server.requests[0]["tools"]] == ["price", "final_result"]


async def test_the_choice_of_tools_reaches_the_wire() -> None:
    with ChatServer(scripted(calls(("c", "price", '{"item": "x"}')), says("ok"))) as server:
        await agent(server).prompt("Hi").tool_choice("required").run()
    assert [request["tool_choice"] for request in server.requests] == ["required", "required"]


async def test_a_whole_history_can_be_told() -> None:
    picture = Media("image", {"type": "base64", "value": "aGk="}, "png")
    thought = Reasoning(({"type": "text", "content": {"text": "hm", "signature": "s"}, "provider_name": "x"},), "r1")
    history = [
        Message("system", (Text("rules"),)),
        Message("user", (Text("see"), picture, Media("document", {"type": "fileId", "value": "f"}))),
        Message("assistant", (thought, Text("calling"), Call("price", {"item": Number("1.0")}, "c1"))),
        Message("user", (Result("c1", "price", (Text("7"),), outcome="error"),)),
    ]
    with ChatServer(scripted(says("ok"))) as server:
        result = await agent(server).prompt("Go on").history(history).run()
    assert result.output == "ok", result.error
    sent = server.requests[0]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_what_passes_through_comes_back() -> None:
    from inspector.runner import translation

    thought = Reasoning(
        ({"type": "text", "content": {"text": "hm", "signature": "s"}, "provider_name": "openai"},), "r1"
    )
    turn = (thought, Text("t", {"provider_name": "openai", "provider_details": {"x": 1}}), Call("price", {}, "c1"))
    asked = ModelRequest(messages=(Message("user", (Text("x"),)), Message("assistant", turn)))
    response = translation.messages(asked)[1]
    assert translation.turn(response).parts == turn  # type: ignore[arg-type]
    assert translation.arguments("{broken") == "{broken"
    assert translation.arguments(None) == translation.arguments(" ") == {}


def test_names_that_mean_no_model() -> None:
    for name in ("no-such-provider:x", "gpt", "openai:gpt-5-mini"):
        with pytest.raises(UsageError, match=name.split(":")[0]):
            as_model(name)
    with pytest.raises(TypeError, match="is no model"):
        as_model(3)


async def test_models_of_pydantic_ai_can_be_given_as_they_are() -> None:
    from pydantic_ai.models.test import TestModel

    result = await Agent("a", TestModel(custom_output_text="hi", call_tools=[])).prompt("x").run()
    assert result.output == "hi"


# Tries, with a model of ours


class Flaky(ScriptedModel):
    """Fails as told, then answers."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__("fine")
        self.errors = list(errors)

    async def request(self, request: Any) -> ModelTurn:
        if self.errors:
            raise self.errors.pop(0)
        return await super().request(request)


async def test_the_wait_grows_up_to_a_cap_and_heeds_the_provider() -> None:
    waits = [Retries(first=1, cap=5).delay(attempt, None) for attempt in (1, 2, 3, 4)]
    assert waits == [1, 2, 4, 5]
    assert Retries(first=1, cap=60).delay(1, 30.0) == 30.0


async def test_an_error_that_is_none_of_ours_is_a_model_error_too() -> None:
    result = await Agent("a", Flaky(KeyError("x"))).prompt("hi").run()
    assert (result.status, result.reason) == ("failed", "model")
    assert "KeyError" in (result.error.message or "")  # type: ignore[union-attr]
    retried = await Agent("a", Flaky(ModelError("m", "network", "cut", retry=True)), retries=QUICK).prompt("hi").run()
    assert (retried.output, retried.steps) == ("fine", 2)
    assert retried.usage == Usage(1, 7, 7) or retried.usage.input_tokens > 0


class Gives:
    """A model that answers with what it was given; streamed, with pieces before it."""

    name = "gives"

    def __init__(self, answer: Any, *pieces: Any) -> None:
        self.answer, self.pieces = answer, pieces

    async def request(self, request: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    async def stream(self, request: Any) -> Any:
        for piece in self.pieces:
            yield piece
        yield await self.request(request)


@pytest.mark.parametrize("way", ["run", "stream"])
@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        ModelTurn(text="\ud800"),
        ModelTurn(text=5),  # type: ignore[arg-type]
        ModelTurn(calls=(Call("add", {"a": object()}),)),
        ModelTurn(calls=(Call(5, {}),)),  # type: ignore[arg-type]
        ModelTurn(text="x", usage=Usage(1, None)),  # type: ignore[arg-type]
        asyncio.CancelledError(),
        SystemExit(3),
        BaseException("no"),
        GeneratorExit("no"),
    ],
    ids=[
        "none",
        "text",
        "surrogate",
        "no text",
        "object",
        "no name",
        "no usage",
        "cancelled",
        "exit",
        "panic",
        "leaves",
    ],
)
async def test_what_is_no_answer_is_an_error_of_the_model_and_the_run_can_go_on(
    way: str, answer: Any, tmp_path: Any
) -> None:
    trace = str(tmp_path / "a.jsonl")
    asked = Agent("a", Gives(answer)).prompt("go")
    result = await asked.run(trace=trace) if way == "run" else [i async for i in asked.stream(trace=trace)][-1].result
    assert (result.status, result.reason, result.run.data.turn) == ("failed", "model", 0)
    assert (await Agent("a", ScriptedModel("fine")).resume(trace).run()).output == "fine"


async def test_numbers_of_any_length_can_be_arguments(tmp_path: Any) -> None:
    call = Call("add", {"a": 10**400, "b": [1.5, float("nan")]})
    result = await Agent("a", ScriptedModel([call], "x")).prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    assert result.reason == "unknown_tool"


async def test_a_stream_may_tell_its_usage_more_than_once() -> None:
    pieces = [Delta(usage=Usage(5, 1, 6)), Delta(usage=Usage(5, 2, 7))]
    model = Gives(ModelTurn(text="x", usage=Usage(5, 3, 8)), *pieces)
    items = [item async for item in Agent("a", model).prompt("go").stream()]
    assert (items[-1].result.output, items[-1].result.usage.total_tokens) == ("x", 8)


@pytest.mark.parametrize("options", [{"output": int}, {"output": {"type": "array"}}, {"output_mode": "odd"}])
def test_an_answer_that_no_model_can_be_asked_for_is_refused_at_once(options: Any) -> None:
    with pytest.raises(UsageError, match="output"):
        Agent("a", ScriptedModel("x"), **options)


async def test_an_endpoint_of_ones_own_is_spoken_to_by_the_chat_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(scripted(says("Hello."))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        result = await Agent("a", "openai:gpt-5-mini", retries=QUICK).prompt("go").run()
    assert (result.status, result.output) == ("completed", "Hello."), result.error
    assert result.run.data.previous_model == "openai:gpt-5-mini"


async def test_a_model_that_cannot_be_had_is_told_before_there_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    trace = tmp_path / "a.jsonl"
    for name, message in (("openai:gpt-5-mini", "OPENAI_API_KEY"), ("nobody:x", "Unknown model")):
        with pytest.raises(UsageError, match=message):
            await Agent("a", name).prompt("go").id("mine").run(trace=str(trace))
        assert not trace.exists()
    done = await Agent("a", ScriptedModel("x")).prompt("go").id("mine").run(trace=str(trace))
    again = await Agent("a", "openai:gpt-5-mini").resume(trace).run()  # it is over: no model is asked
    assert (again.status, again.output) == ("completed", done.output)
