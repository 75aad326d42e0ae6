"""Spans of a run, by the GenAI conventions of OpenTelemetry (the extra `otel`).

A run is one `invoke_agent` span, with a `chat` span a model call and an `execute_tool` span a tool call
below it; a run of a network is an `invoke_workflow` span, with a span a firing and below it those of its agents.
A run that is resumed is a trace of its own that links to the one before. What was said is told only when asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from inspector.errors import UsageError
from inspector.model.run import RunError
from inspector.model.values import to_json
from inspector.runner import options
from inspector.runner.leg import Telemetry
from inspector.runner.messages import ModelTurn
from inspector.runner.tools import Came, NeedsInput

INSTALL = "needs the extra `otel`: pip install 'runinspect[otel]'"


class OpenTelemetry(Telemetry):
    """Telemetry of an agent: `Agent(..., telemetry=OpenTelemetry())`. `provider` None: the global one;
    `content`: tell what was said, too. Raises UsageError without the extra, or for what is no provider of tracers."""

    def __init__(self, provider: Any = None, *, content: bool = False) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise UsageError("OpenTelemetry", INSTALL) from error
        from inspector import __version__

        provider = trace.get_tracer_provider() if provider is None else provider
        self._tracer = options.instance("provider", provider, trace.TracerProvider).get_tracer("inspector", __version__)
        self._content = content

    def span(self, kind: str, name: str, **about: Any) -> AbstractContextManager[Any]:
        makers: dict[str, Callable[..., AbstractContextManager[Any]]] = {
            "run": self._run,
            "model": self._model,
            "tool": self._tool,
            "network": self._network,
            "firing": self._firing,
        }
        return makers[kind](name, **about)

    @contextmanager
    def _span(self, name: str, attributes: Mapping[str, Any], **options: Any) -> Iterator[Any]:
        """A span that says of an error what it is; its words, and where it is from, only with the content."""
        with self._tracer.start_as_current_span(
            name, attributes=_known(attributes), record_exception=False, set_status_on_exception=False, **options
        ) as span:
            try:
                yield span
            except NeedsInput:
                raise
            except Exception as error:
                self._failed(span, getattr(error, "kind", None) or type(error).__name__, str(error))
                raise

    def _failed(self, span: Any, kind: str | None, message: str | None) -> None:
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", kind or "other")
        span.set_status(Status(StatusCode.ERROR, message if self._content else None))

    @contextmanager
    def _run(self, name: str, *, leg: Any) -> Iterator[Any]:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.conversation.id": leg.data.conversation,
            "runinspect.run.id": leg.run_id,
        }
        with self._span(f"invoke_agent {name}", attributes, links=_links(leg.data.telemetry)) as span:
            # The run carries it along, so that the process that goes on can link to this one.
            leg.data.telemetry = {}
            TraceContextTextMapPropagator().inject(leg.data.telemetry)
            yield span
            usage = leg.data.usage
            span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)

    @contextmanager
    def _model(self, name: str, *, leg: Any, request: Any) -> Iterator[Any]:
        provider, _, model = name.rpartition(":")
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider or name,
            "gen_ai.request.model": model,
            "gen_ai.request.temperature": request.temperature,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.agent.name": leg.setup.name,
        }
        if self._content:
            attributes["gen_ai.input.messages"] = to_json(list(request.messages))
            attributes["gen_ai.system_instructions"] = request.instructions
        from opentelemetry.trace import SpanKind

        with self._span(f"chat {model}", attributes, kind=SpanKind.CLIENT) as span:
            yield span

    @contextmanager
    def _tool(self, name: str, *, leg: Any, call: Any, arguments: Any) -> Iterator[Any]:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call.call_id,
            "gen_ai.tool.call.arguments": to_json(arguments) if self._content else None,
        }
        with self._span(f"execute_tool {name}", attributes) as span:
            yield span

    @contextmanager
    def _network(self, name: str, *, watch: Any) -> Iterator[Any]:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        attributes = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": name,
            "runinspect.run.id": watch.run_id,
        }
        with self._span(f"invoke_workflow {name}", attributes, links=_links(watch.carried)) as span:
            watch.carried = {}
            TraceContextTextMapPropagator().inject(watch.carried)
            yield span

    @contextmanager
    def _firing(self, name: str, *, watch: Any, firing: Any) -> Iterator[Any]:
        attributes = {
            "runinspect.node": name,
            "runinspect.node.kind": firing.node.kind,
            "runinspect.firing.id": firing.id,
            "runinspect.tokens": to_json(dict(firing.tokens)) if self._content else None,
        }
        if firing.node.kind == "tool":
            tool = firing.node.class_name
            attributes |= {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": firing.id,
            }
            name = f"execute_tool {tool}"
        else:
            name = f"firing {name}"
        with self._span(name, attributes) as span:
            yield span

    def ended(self, span: Any, status: str, error: RunError | None) -> None:
        span.set_attribute("runinspect.run.status", status)
        if error is not None:
            self._failed(span, error.type, error.message)

    def fired(self, span: Any, error: RunError | None) -> None:
        if error is not None:
            self._failed(span, error.type, error.message)

    def answered(self, span: Any, answer: ModelTurn) -> None:
        found = {
            "gen_ai.response.model": answer.model,
            "gen_ai.response.id": answer.response_id,
            "gen_ai.response.finish_reasons": [answer.finish_reason] if answer.finish_reason else None,
            "gen_ai.usage.input_tokens": answer.usage.input_tokens if answer.usage else None,
            "gen_ai.usage.output_tokens": answer.usage.output_tokens if answer.usage else None,
            "gen_ai.output.messages": to_json(list(answer.content)) if self._content else None,
        }
        span.set_attributes(_known(found))

    def came(self, span: Any, came: Came) -> None:
        if came.outcome == "error":
            self._failed(span, came.kind, str(came.value))
        if self._content:
            span.set_attribute("gen_ai.tool.call.result", to_json(came.value))


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _links(carried: Mapping[str, str]) -> list[Any]:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator().extract(dict(carried))
    found = trace.get_current_span(context).get_span_context()
    return [trace.Link(found)] if found.is_valid else []
