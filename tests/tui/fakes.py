"""Runs made up for the screen: small ones with everything in them, and one of any length."""

import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from inspector.formats.memory import ManyRuns, MemoryRun, OneRun
from inspector.model.run import (
    Call,
    Definition,
    Hook,
    Message,
    Pending,
    Problem,
    Queue,
    RawRecord,
    Resume,
    Run,
    RunError,
    RunLink,
    RunRow,
    SourceInfo,
    State,
    Step,
    StepKind,
    StepStatus,
    Tool,
    Usage,
)
from inspector.model.source import RunSet

BEGIN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SOURCE = SourceInfo(path="runs/refund-4711.jsonl", format="runinspect", version="1")


def at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


def a_step(
    seq: int,
    kind: StepKind,
    name: str,
    status: StepStatus = "done",
    *,
    begin: float | None = None,
    took: float | None = None,
    summary: str | None = None,
    error: str | None = None,
    parent: int | None = None,
) -> Step:
    return Step(
        seq=seq,
        kind=kind,
        name=name,
        status=status,
        started=None if begin is None else at(begin),
        ended=None if begin is None or took is None else at(begin + took),
        summary=summary,
        error=error,
        parent=parent,
    )


REFUND = (
    a_step(1, "model", "model", begin=0, took=2.4, summary="I will look up both orders. → lookup_order, lookup_order"),
    a_step(2, "tools", "lookup_order, lookup_order", begin=2.4, took=0.12, summary="lookup_order: found; 2 items"),
    a_step(3, "model", "model", "replayed", begin=2.6, took=0.003, summary="Order A-17 was damaged in transit."),
    a_step(4, "input", "input", begin=41, took=0, summary="Please refund both orders and tell the customer."),
    a_step(5, "node", "check policy", begin=41.2, took=1.1, summary="two rules apply"),
    a_step(6, "node", "rule: damaged goods", begin=41.3, took=0.4, summary="amount ≤ 200 €", parent=5),
    a_step(7, "node", "rule: 受取人確認", "failed", begin=41.8, took=0.5, error="TimeoutError: no answer", parent=5),
    a_step(8, "model", "model", begin=43, took=4.1, summary="refund(A-17), refund(B-02), email(null)"),
    a_step(9, "tools", "refund, refund, email", "pending", begin=47.2, summary="4 calls, 1 answered"),
)

PENDING = (
    Pending(
        kind="tool",
        name="lookup_order",
        status="answered",
        call_id="c1",
        arguments={"id": "A-17"},
        result={"items": 2, "state": "damaged"},
    ),
    Pending(kind="tool", name="refund", status="waiting", call_id="c2", arguments={"order": "A-17", "amount": 120.5}),
    Pending(kind="tool", name="refund", status="ambiguous", call_id="c3", arguments={"order": "B-02", "amount": 80}),
    Pending(kind="tool", name="email", status="ready", call_id="c4", arguments=None),
)

PROBLEMS = (
    Problem(severity="error", where="refund-4711.jsonl:6 byte 1841", message="is cut short; skipped"),
    Problem(severity="warning", where="refund-4711.jsonl:9 byte 2600", message="a time without a zone"),
)


def refund_state(step: int) -> State:
    messages = [
        Message(role="system", text="You handle refunds."),
        Message(role="user", text="A-17 arrived broken, and B-02 too."),
        Message(
            role="assistant",
            text="I will look up both orders.",
            calls=(Call(name="lookup_order", call_id="c0", arguments={"id": "A-17"}),),
        ),
        Message(role="tool", text="found; 2 items", call_id="c0", name="lookup_order"),
    ]
    return State(
        step=step,
        messages=messages[: 2 + step],
        pending=PENDING if step >= 8 else (),
        queues=(Queue(id="in", contents="complete", size=1, tokens=["A-17"], to="check policy"),),
        values={"customer": "K. Jansen", "total": 200.5, "attempt": step},
        hooks=(Hook(event="before_tool", name="approve_refunds"),),
    )


def refund(problems: Sequence[Problem] = PROBLEMS, steps: Sequence[Step] = REFUND, **changed: object) -> MemoryRun:
    """An agent's run that waits for an approval, with a failure, nesting and damage."""
    fields: dict[str, object] = {
        "id": "4711",
        "name": "refund-4711",
        "kind": "agent",
        "status": "suspended",
        "reason": "approval",
        "steps": len(steps),
        "started": at(0),
        "usage": Usage(input_tokens=1200, output_tokens=340),
    }
    return MemoryRun(
        source=SOURCE,
        run=Run(**(fields | changed)),  # type: ignore[arg-type]
        definition=Definition(
            tools=(Tool(name="lookup_order"), Tool(name="refund", needs_approval=True), Tool(name="email")),
            tools_known="registry",
            hooks=(Hook(event="before_tool", name="approve_refunds"),),
        ),
        steps=steps,
        state=refund_state,
        resume=Resume(possible=True, driver="agent"),
        problems=problems,
        raw=lambda step: RawRecord(
            where=f"refund-4711.jsonl:{step + 2 + (step > 3)} byte {step * 300}", text=f'{{"seq": {step}}}'
        ),
    )


ROWS = (
    RunRow(id="r1", name="refund-4702", kind="agent", status="completed", steps=31, started=at(-90_000)),
    RunRow(
        id="r2", name="refund-4705", kind="agent", status="suspended", reason="approval", steps=14, started=at(-800)
    ),
    RunRow(
        id="r3",
        name="refund-4705",
        kind="agent",
        status="failed",
        reason="budget",
        steps=22,
        started=at(-500),
        resumed_from=RunLink(run="r2", step=14),
    ),
    RunRow(
        id="r4",
        name="refund-4705",
        kind="agent",
        status="running",
        steps=25,
        started=at(-100),
        updated=at(8000),
        holder="worker-3:4120",
        resumed_from=RunLink(run="r3", step=20),
    ),
    RunRow(id="r5", name="nightly", kind="dataflow", status="interrupted", steps=None, started=at(-7200)),
    RunRow(id="r6", name="refund-4711", kind="agent", status="suspended", reason="approval", steps=9, started=at(0)),
)


def several() -> ManyRuns:
    """A store of runs, two of which continue another."""
    return ManyRuns(
        SourceInfo(path="runs.db", format="runinspect", version="1"),
        ROWS,
        lambda run_id: refund(id=run_id, name=next(row.name for row in ROWS if row.id == run_id)),
        [Problem(severity="warning", where="runs.db: runs", message="2 rows hold no JSON")],
    )


def one() -> OneRun:
    return OneRun(refund(), "4711")


def failed_run() -> OneRun:
    """A run that failed and says why."""
    error = RunError(message="limit of 3 turns", type="MaxTurns", step=9)
    return OneRun(refund((), status="failed", reason="max_turns", error=error), "4711")


class Long(MemoryRun):
    """A run of any length whose steps are made when asked for; `made` counts them. Its first `batch` steps
    are known at once, the others when `gate` opens."""

    def __init__(self, length: int, batch: int = 100_000, gate: threading.Event | None = None) -> None:
        self.length, self.batch, self.gate = length, batch, gate
        self.length_known = 0
        self.made = 0
        base = refund(())
        self.__dict__ |= base.__dict__

    def __len__(self) -> int:
        return self.length_known

    def index(self) -> Iterator[tuple[int, int]]:
        while self.length_known < self.length:
            self.length_known = min(self.length_known + self.batch, self.length)
            yield self.length_known, self.length
            while self.gate and not self.gate.is_set():
                time.sleep(0.002)
                yield self.length_known, self.length

    def run(self) -> Run:
        return Run(id="long", kind="trace", status="completed", steps=len(self))

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        found = range(max(start, 1), min(stop, len(self) + 1))
        self.made += len(found)
        return [
            a_step(
                seq,
                "tools" if seq % 2 else "model",
                f"call {seq}",
                "failed" if seq % 1000 == 0 else "done",
                begin=seq,
                took=(seq * 7 % 10) / 10,
                summary=f"the result of step {seq}",
            )
            for seq in found
        ]

    def raw(self, step: int) -> RawRecord | None:
        return RawRecord(where=f"long.jsonl:{step}", text=f'{{"seq": {step}}}')

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        order = range(start, 0, -1) if backward else range(start, len(self) + 1)
        for count, seq in enumerate(order, 1):
            if text in f"call {seq}":
                yield seq
            if count % 1000 == 0:
                yield count, len(order)


def opener(runs: RunSet, gate: threading.Event | None = None):  # type: ignore[no-untyped-def]
    """What `open_path` is, for the loader: these runs, whatever the path, when the `gate` opens."""

    def open_path(path: str, format: str | None = None) -> RunSet:
        if gate:
            gate.wait(10)
        return runs

    return open_path
