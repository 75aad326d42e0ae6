"""Makes otel-trace.jsonl with the OpenTelemetry SDK: a research agent that hands a part of its work to
another, with a tool that fails once and tools that are on offer only later.

    pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-common
    python examples/make_otel.py

The spans are real and go through the SDK's own exporter encoding; times and ids are chosen here, so that
the file comes out the same each time.
"""

import base64
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

FILE = Path(__file__).parent / "otel-trace.jsonl"
BEGIN = 1_795_950_000_000_000_000


class Ids(IdGenerator):
    """Ids from a seed."""

    def __init__(self) -> None:
        self._random = random.Random(4711)

    def generate_span_id(self) -> int:
        return self._random.getrandbits(64)

    def generate_trace_id(self) -> int:
        return self._random.getrandbits(128)


class Lines(SpanExporter):
    """Writes OTLP JSON as the specification has it, one object a line, when a span ends."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        request = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        for resource in request["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for key in {"traceId", "spanId", "parentSpanId"} & span.keys():
                        span[key] = base64.b64decode(span[key]).hex()
        self.lines.append(json.dumps(request, ensure_ascii=False, separators=(",", ":")) + "\n")
        return SpanExportResult.SUCCESS


class Agent:
    """Pretends to be agents at work, and traces it as the GenAI conventions say."""

    def __init__(self) -> None:
        self.exporter = Lines()
        resource = Resource({"service.name": "city-guide", "service.version": "0.9.1"})
        provider = TracerProvider(resource=resource, id_generator=Ids())
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("city_guide", "0.9.1")
        self.now = BEGIN

    @contextmanager
    def span(self, name: str, kind: SpanKind = SpanKind.INTERNAL, **attributes: Any) -> Iterator[Span]:
        shown = {f"gen_ai.{key.replace('__', '.')}": plain(value) for key, value in attributes.items()}
        begin = self.now
        self.now += 2_000_000
        with self.tracer.start_as_current_span(
            name, kind=kind, attributes=shown, start_time=begin, end_on_exit=False
        ) as span:
            yield span
        span.end(self.now)

    def chat(
        self, said: list[Any], answer: Any, seconds: float, usage: tuple[int, int], tools: Sequence[str], model: str
    ) -> None:
        """A model call; its answer is added to what was said."""
        with self.span(
            f"chat {model}",
            SpanKind.CLIENT,
            operation__name="chat",
            provider__name="openai",
            request__model=model,
            request__temperature=0.2,
            tool__definitions=[TOOLS[name] for name in tools],
            input__messages=said,
            output__messages=[answer],
            usage__input_tokens=usage[0],
            usage__output_tokens=usage[1],
            response__finish_reasons=["tool_call" if len(answer["parts"]) > 1 else "stop"],
        ):
            self.now += int(seconds * 10**9)
        said.append(answer)

    @contextmanager
    def tool(self, said: list[Any], call: dict[str, Any], seconds: float, result: Any) -> Iterator[None]:
        """A tool's run; its result is added to what was said. A result that is an exception is raised."""
        name = call["name"]
        with self.span(
            f"execute_tool {name}",
            operation__name="execute_tool",
            tool__name=name,
            tool__type="function",
            tool__call__id=call["id"],
            tool__call__arguments=call["arguments"],
        ) as span:
            yield
            self.now += int(seconds * 10**9)
            if isinstance(result, Exception):
                span.record_exception(result, timestamp=self.now)
                span.set_status(Status(StatusCode.ERROR, str(result)))
                result = f"{type(result).__name__}: {result}"
            else:
                span.set_attribute("gen_ai.tool.call.result", plain(result))
        said.append({"role": "tool", "parts": [{"type": "tool_call_response", "id": call["id"], "response": result}]})

    def run_tool(self, said: list[Any], call: dict[str, Any], seconds: float, result: Any) -> None:
        with self.tool(said, call, seconds, result):
            pass


def plain(value: Any) -> Any:
    """An attribute's value: what is no text or number is written as JSON."""
    if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
        return json.dumps(value, ensure_ascii=False)
    return value


def definition(name: str, description: str, **fields: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in fields.items()}}
    return {"type": "function", "name": name, "description": description, "parameters": schema}


TOOLS = {
    "search": definition("search", "Search the city's archive.", query="string"),
    "weather": definition("weather", "The weather of a day.", day="string"),
    "ask_historian": definition("ask_historian", "Ask the agent that knows the city's past.", question="string"),
    "read_page": definition("read_page", "One page of the archive.", page="integer"),
    "book": definition("book", "Book places for a walk.", day="string", places="integer"),
}


def text(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": words}]}


def asks(words: str, *calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    parts = [{"type": "tool_call", "id": call_id, "name": name, "arguments": given} for call_id, name, given in calls]
    return {"role": "assistant", "parts": [{"type": "text", "content": words}, *parts]}


def guide(agent: Agent) -> None:
    """The run."""
    first, big, small = ("search", "weather", "ask_historian"), "gpt-5", "gpt-5-mini"
    said: list[Any] = [text("user", "A walk along the old walls next Saturday, for six, please. With a good story.")]
    with agent.span(
        "invoke_agent guide", operation__name="invoke_agent", agent__name="guide", conversation__id="walk-17"
    ) as root:
        plan = asks(
            "I look at the weather and the archive.",
            ("g1", "weather", {"day": "2026-12-05"}),
            ("g2", "search", {"query": "old walls"}),
        )
        agent.chat(said, plan, 1.9, (310, 61), first, big)
        calls = plan["parts"][1:]
        agent.run_tool(said, calls[0], 0.21, {"day": "2026-12-05", "sky": "clear", "high": 4})
        agent.run_tool(said, calls[1], 5.0, TimeoutError("the archive did not answer within 5 s"))
        again = asks("The archive is slow today. Once more.", ("g3", "search", {"query": "old walls tower"}))
        agent.chat(said, again, 1.1, (455, 28), first, small)
        agent.run_tool(said, again["parts"][1], 1.4, ["p. 12: the Pulverturm", "p. 31: the gate that moved"])
        hand = asks(
            "That gate is worth a story.",
            ("g4", "ask_historian", {"question": "Why did the gate move?"}),
        )
        agent.chat(said, hand, 1.6, (540, 37), first, big)
        with agent.tool(said, hand["parts"][1], 0.0, "In 1624 it was moved by nine paces, for a wedding coach."):
            historian(agent)
        book = asks("I book it.", ("g5", "book", {"day": "2026-12-05", "places": 6}))
        agent.chat(said, book, 1.3, (690, 24), ("weather", "book"), small)
        agent.run_tool(said, book["parts"][1], 0.4, {"booked": 6, "at": "14:00"})
        end = text("assistant", "Saturday at 14:00, six places, clear and 4 degrees. You will hear why a gate moved.")
        agent.chat(said, end, 2.2, (760, 66), ("weather", "book"), big)
        root.set_attribute("gen_ai.aggregated_usage.input_tokens", 3205)
        root.set_attribute("gen_ai.aggregated_usage.output_tokens", 287)


def historian(agent: Agent) -> None:
    """The agent that the first one asks."""
    said: list[Any] = [text("user", "Why did the gate move?")]
    with agent.span("invoke_agent historian", operation__name="invoke_agent", agent__name="historian"):
        look = asks("Page 31 should say.", ("h1", "read_page", {"page": 31}))
        agent.chat(said, look, 0.8, (120, 19), ("read_page",), "gpt-5-mini")
        agent.run_tool(said, look["parts"][1], 0.09, "… nine paces to the left, so that the bride's coach might pass …")
        end = text("assistant", "In 1624 it was moved by nine paces, for a wedding coach.")
        agent.chat(said, end, 1.2, (330, 52), ("read_page",), "gpt-5-mini")


if __name__ == "__main__":
    at_work = Agent()
    guide(at_work)
    FILE.write_text("".join(at_work.exporter.lines))
