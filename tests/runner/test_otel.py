"""Spans: their names and attributes, the link of a resume, and no content unless asked for."""

from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from inspector import Agent, Call, ScriptedModel, ToolError, tool
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


async def test_content_only_when_asked_for() -> None:
    agent, spans = watched(content=True)
    first = await agent.prompt("hidden words").run()
    await agent.resume(first.run).approve("c2").run()
    told = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert "hidden words" in told
    assert "secret 7" in told
