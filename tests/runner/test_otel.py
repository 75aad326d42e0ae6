"""Spans: their names and attributes, the link of a resume, and no content unless asked for."""

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from inspector import Agent, Call, Hook, Retries, ScriptedModel, ToolContext, ToolError, UsageError, open_store, tool
from inspector.runner.otel import OpenTelemetry


@tool(needs_approval=True)
def pay(amount: int) -> str:
    return f"secret {amount}"


@tool
def fail() -> None:
    raise ToolError("no", "rate_limited")


def watched(**options: Any) -> tuple[Agent, InMemorySpanExporter]:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    model = ScriptedModel([Call("fail"), Call("pay", {"amount": 7})], "done", name="openai:some-model")
    return Agent("payer", model, tools=[pay, fail], telemetry=OpenTelemetry(provider, **options)), spans


async def test_one_trace_before_the_suspension_and_a_linked_one_after() -> None:
    agent, spans = watched()
    first = await agent.prompt("hidden words").run()
    before = spans.get_finished_spans()
    assert [span.name for span in before] == ["chat some-model", "execute_tool fail", "invoke_agent payer"]
    assert len({span.context.trace_id for span in before}) == 1
    chat, failed, run = before
    assert chat.parent is not None
    assert chat.parent.span_id == run.context.span_id
    assert chat.attributes is not None
    assert chat.attributes["gen_ai.provider.name"] == "openai"
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "rate_limited"
    assert not failed.status.is_ok
    spans.clear()
    result = await agent.resume(first.run).approve("c2").run()
    assert result.status == "completed"
    after = spans.get_finished_spans()
    assert [span.name for span in after] == ["execute_tool pay", "chat some-model", "invoke_agent payer"]
    (link,) = after[-1].links
    assert link.context.span_id == run.context.span_id
    told = " ".join(span.to_json() for span in (*before, *after))
    assert "hidden words" not in told
    assert "secret" not in told


def test_what_is_no_provider_is_refused_where_it_is_given() -> None:
    with pytest.raises(UsageError, match=r"^provider: cannot be .*expected an object of the class TracerProvider"):
        OpenTelemetry(TracerProvider().get_tracer("t"))


async def test_content_only_when_asked_for() -> None:
    agent, spans = watched(content=True)
    first = await agent.prompt("hidden words").run()
    await agent.resume(first.run).approve("c2").run()
    told = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert "hidden words" in told
    assert "secret 7" in told


class Breaks(Hook):
    def on_completion_response(self, event: Any) -> None:
        raise ValueError("hidden words in a hook")


@tool
def ask(context: ToolContext) -> None:
    context.ask("hidden question")


def broken(request: Any) -> Any:
    raise RuntimeError("hidden words of the request")


@pytest.mark.parametrize("content", [False, True])
async def test_errors_are_told_without_their_words(content: bool) -> None:
    agent, spans = watched(content=content)
    failing = Agent("payer", ScriptedModel(broken), telemetry=agent.setup.telemetry, retries=Retries(tries=1))
    assert (await failing.prompt("go").run()).status == "failed"
    chat, run = spans.get_finished_spans()
    for span, kind in ((chat, "other"), (run, "other")):
        assert span.attributes is not None
        assert span.attributes["error.type"] == kind
        assert not span.status.is_ok
        assert span.events == ()
    assert run.attributes is not None
    assert run.attributes["runinspect.run.status"] == "failed"
    told = chat.to_json() + run.to_json()
    assert ("hidden words of the request" in told) == content


async def test_a_question_is_no_error_and_a_hook_that_raises_is_one() -> None:
    agent, spans = watched()
    asking = Agent("payer", ScriptedModel([Call("ask")], "done"), tools=[ask], telemetry=agent.setup.telemetry)
    assert (await asking.prompt("go").run()).reason == "input"
    asked, run = (span for span in spans.get_finished_spans() if not span.name.startswith("chat"))
    assert asked.attributes is not None
    assert "error.type" not in asked.attributes
    assert asked.status.status_code is StatusCode.UNSET
    assert run.attributes is not None
    assert run.attributes["runinspect.run.status"] == "suspended"
    assert run.status.status_code is StatusCode.UNSET
    spans.clear()
    telemetry = agent.setup.telemetry
    assert (await Agent("p", ScriptedModel("x"), hooks=[Breaks()], telemetry=telemetry).prompt("go").run()).error
    *_, run = spans.get_finished_spans()
    assert run.attributes is not None
    assert (run.attributes["runinspect.run.status"], run.attributes["error.type"]) == ("cancelled", "cancelled")
    assert "hidden" not in run.to_json()


async def test_a_run_of_a_store_links_to_its_earlier_process(tmp_path: Path) -> None:
    agent, spans = watched()
    store = open_store(str(tmp_path / "runs.db"))
    await agent.prompt("go").durable(store, "k").run()
    *_, before = spans.get_finished_spans()
    await agent.resume(store, "k").run()
    *_, between = spans.get_finished_spans()
    await agent.resume(store, "k").approve("c2").run()
    *_, after = spans.get_finished_spans()
    assert [link.context.span_id for span in (before, between, after) for link in span.links] == [
        before.context.span_id,
        between.context.span_id,
    ]


async def test_a_run_that_was_killed_is_linked_to_too(tmp_path: Path) -> None:
    agent, spans = watched()
    first = await agent.prompt("go").run(trace=str(tmp_path / "a.jsonl"))
    *_, before = spans.get_finished_spans()
    whole = Path(first.trace or "").read_bytes().splitlines(keepends=True)
    Path(first.trace or "").write_bytes(b"".join(whole[:2]))  # the header, and the checkpoint that it began with
    await agent.resume(first.trace or "").run()
    *_, after = spans.get_finished_spans()
    assert [link.context.span_id for link in after.links] == [before.context.span_id]
