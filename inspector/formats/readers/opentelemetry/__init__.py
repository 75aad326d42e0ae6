"""OpenTelemetry traces with the GenAI conventions: OTLP JSON, a line each, as one document or as a list, with
hexadecimal or base64 ids, its fields named in either of the two ways, in what Tempo puts around it or its spans by
themselves, and what the console exporter prints. A trace is a run, a span a step."""

import re
from collections.abc import Iterator

from inspector.errors import UnreadableError
from inspector.formats.reader import Probe, Reader
from inspector.model.run import SourceInfo
from inspector.model.source import RunSet
from inspector.model.text import one_line

NAME = "opentelemetry"
TRIED = 3
"""Objects of a console's text that are looked at."""
_SIGNALS = ("Spans", "Logs", "Metrics")
_LISTS = [f"resource{signal}" for signal in _SIGNALS] + [f"resource_{signal.lower()}" for signal in _SIGNALS]
_OBJECT = b"\n{\n"
_SCOPES = re.compile(rb'"(?:scope|instrumentationLibrary|instrumentation_library)_?[sS]pans"\s*:\s*\[')
_SNAKE = {"trace_id", "span_id", "start_time_unix_nano"}


def _claims(probe: Probe) -> bool:
    if any(
        _is_otlp(keys) or _is_console(keys) or _is_span(keys) or (_holds(keys) and _SCOPES.search(probe.head))
        for keys in [probe.keys, *probe.line_keys, probe.item_keys]
    ):
        return True
    return any(map(_is_console, _printed(probe)))


def _printed(probe: Probe) -> Iterator[dict[str, str]]:
    """Keys of the first objects that stand behind something else: a console has other output and cut spans too."""
    from inspector.formats.jsonreading import top_keys

    head = probe.head.replace(b"\r\n", b"\n")
    at = head.find(_OBJECT)
    for _ in range(TRIED):
        if at < 0:
            return
        yield top_keys(head[at:])
        at = head.find(_OBJECT, at + 1)


def _is_otlp(keys: dict[str, str]) -> bool:
    """Whether it is an object of OTLP; where only other signals are found, that is told."""
    return any(keys.get(name) in ("[", "") for name in _LISTS)


def _holds(keys: dict[str, str]) -> bool:
    """Whether it may be what Tempo answers; others have such words too."""
    return keys.get("batches") == "[" or keys.get("trace") == "{"


def _is_span(keys: dict[str, str]) -> bool:
    """Whether it is a span of OTLP by itself."""
    return {"traceId", "spanId", "startTimeUnixNano"} <= keys.keys() or keys.keys() >= _SNAKE


def _is_console(keys: dict[str, str]) -> bool:
    return keys.get("context") == "{" and {"name", "parent_id", "start_time"} <= keys.keys()


def _open(probe: Probe) -> RunSet:
    from inspector.formats.readers.opentelemetry.traces import Traces
    from inspector.formats.readers.opentelemetry.units import SpanFile

    source = SourceInfo(path=one_line(probe.path), format=NAME)
    traces = Traces(SpanFile(probe.file, source, probe.head))
    if not len(traces.file):
        found = "; ".join(f"{problem.where}: {problem.message}" for problem in traces.file.problems()[:3])
        raise UnreadableError(probe.path, f"holds no span that can be read ({found or 'only other signals'})")
    return traces


READER = Reader(
    name=NAME,
    what="OpenTelemetry traces with the GenAI conventions: OTLP JSON and the console exporter's text",
    claims=_claims,
    open=_open,
)
