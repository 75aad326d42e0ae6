"""Large files to measure with: `python -m tests.benchmarks.generate STEPS FILE`."""

import json
import sys
from collections.abc import Iterator

from inspector.model.changes import Change
from inspector.model.records import Checkpoint, End, Header, StepRecord
from inspector.model.run import State, Step, Usage
from inspector.model.values import to_json

APART = 256
TRACE = "5b8aa5a2d2c872e8321cf37308d69df2"
BEGIN = 1_795_950_000_000_000_000


def trace(path: str, steps: int) -> None:
    """A trace of ours with a step a line, of 455 bytes on average, and a checkpoint every 256 steps."""
    with open(path, "w") as file:
        file.writelines(_lines(steps))


def _lines(steps: int) -> Iterator[str]:
    yield to_json(Header(id="large", name="large", kind="agent", started="2026-11-29T10:00:00Z")) + "\n"
    yield to_json(Checkpoint(seq=0, state=State(step=0, values={"count": 0}))) + "\n"
    line = to_json(StepRecord(step=_step(111111), change=Change(values={"count": 111111, "note": "x" * 70}))) + "\n"
    for seq in range(1, steps + 1):
        # What differs is put in; encoding a million records would take longer than measuring does.
        yield line.replace("111111", str(seq)).replace("00.000000Z", f"{seq // 1000 % 60:02}.{seq % 1000:03}000Z")
        if seq % APART == 0:
            yield to_json(Checkpoint(seq=seq, state=State(step=seq, values={"count": seq}))) + "\n"
    yield to_json(End(status="completed", at="2026-11-29T11:00:00Z")) + "\n"


def _step(seq: int) -> Step:
    return Step(
        seq=seq,
        kind="model",
        name="model",
        status="done",
        started="2026-11-29T10:00:00.000000Z",
        ended="2026-11-29T10:00:00.000000Z",
        summary=f"answer number {seq}, with a few words of text",
        usage=Usage(input_tokens=310, output_tokens=61),
    )


def document(path: str, size: int) -> None:
    """One OTLP document on one line, of about `size` bytes: a span in 500."""
    head = '{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{"name":"bench"},"spans":['
    with open(path, "w") as file:
        file.write(head)
        for number in range(size // 500):
            file.write(("," if number else "") + _span(number))
        file.write("]}]}]}\n")


def _span(number: int) -> str:
    span = {
        "traceId": TRACE,
        "spanId": f"b{number:015x}",
        "parentSpanId": f"b{0:015x}" if number else "",
        "name": f"chat number {number}",
        "kind": 3,
        "startTimeUnixNano": str(BEGIN + number * 10**6),
        "endTimeUnixNano": str(BEGIN + number * 10**6 + 900_000),
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "note", "value": {"stringValue": "x" * 150}},
        ],
        "status": {},
    }
    return json.dumps(span, separators=(",", ":"))


if __name__ == "__main__":
    trace(sys.argv[2], int(sys.argv[1]))
