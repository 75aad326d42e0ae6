"""Makes trace.json, the run of an agent that waits for two approvals: `python examples/make_trace.py`.

It is written record by record, as the runner writes it, with a clock of its own, so that it comes out the
same each time.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from inspector.model.changes import change
from inspector.model.digest import digest
from inspector.model.records import Checkpoint, End, Header, JournalRecord, Operation, StepRecord
from inspector.model.run import Call, Definition, Hook, Message, Pending, State, Step, Tool, Usage
from inspector.model.values import Value, preview, to_json

PROMPT = (
    "Customer 882 writes: both kettles of order A-17 arrived broken, and the toaster of order B-02 never came. "
    "Please sort it out today."
)


class Clock:
    """A clock that goes on only when it is told to."""

    def __init__(self, begin: datetime) -> None:
        self.time = begin

    def __str__(self) -> str:
        return self.time.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def wait(self, seconds: float) -> str:
        self.time += timedelta(seconds=seconds)
        return str(self)


def tool(name: str, description: str, *, approval: bool = False, idempotency: Any = "supported", **fields: str) -> Tool:
    schema = {
        "type": "object",
        "properties": {field: {"type": kind} for field, kind in fields.items()},
        "required": list(fields),
    }
    return Tool(
        name=name,
        description=description,
        schema=schema,
        digest=digest({"name": name, "description": description, "schema": schema}),
        idempotency=idempotency,
        needs_approval=approval,
    )


TOOLS = (
    tool("lookup_order", "The lines of an order and their amounts, in cents.", order="string"),
    tool("refund_policy", "What may be paid back, and when.", topic="string"),
    tool("track_parcel", "Where a parcel is.", order="string"),
    tool("check_stock", "How many of an article are left.", article="string"),
    tool("note", "Write a line into the ticket.", idempotency="unsupported", text="string"),
    tool(
        "refund",
        "Pay an amount, in cents, back to the customer.",
        approval=True,
        idempotency="unsupported",
        order="string",
        amount="integer",
    ),
    tool("send_email", "Write to the customer.", idempotency="unsupported", to="string", text="string"),
)
HOOKS = (
    Hook(event="completion_call", name="refund_agent:TokenBudget"),
    Hook(event="tool_call", name="refund_agent:Audit"),
    Hook(event="tool_call", name="refund_agent:ApprovalGate"),
    Hook(event="tool_result", name="refund_agent:HideAddresses"),
)


class Journal:
    """The records of the run so far, and the state behind the last of them."""

    def __init__(self, begin: datetime) -> None:
        self.clock = Clock(begin)
        definition = Definition(tools=TOOLS, tools_known="registry", hooks=HOOKS, model="openai:gpt-5-mini")
        self.messages = [
            Message(role="system", text="You handle refunds for a shop that sells kitchen goods. Be fair and brief."),
            Message(role="user", text=PROMPT),
        ]
        self.values: dict[str, Value] = {"ticket": 4711, "customer": {"id": 882, "since": "2019-04-02"}, "spent": 0}
        self.pending: Sequence[Pending] = ()
        self.seq = 0
        self.usage = [0, 0]
        self.state = self._state()
        self.records: list[JournalRecord] = [
            Header(
                id="refund-4711",
                name="refunds",
                kind="agent",
                started=str(self.clock),
                definition=definition,
                input=PROMPT,
            ),
            Checkpoint(seq=0, state=self.state, at=str(self.clock), reason="start"),
        ]

    def _state(self) -> State:
        return State(
            step=self.seq,
            messages=tuple(self.messages),
            pending=tuple(self.pending),
            values=dict(self.values),
            hooks=HOOKS,
        )

    def operation(self, number: str, kind: Any, name: str, seconds: float | None, **fields: Any) -> None:
        """An operation from its start to its end, which takes `seconds`."""
        plain = {"id": number, "seq": self.seq + 1, "kind": kind, "name": name}
        request = {"request": fields.pop("request", None), "call_id": fields.get("call_id")}
        self.records.append(Operation(**plain, **request, status="planned", at=str(self.clock)))
        if seconds is None:
            return
        self.records.append(Operation(**plain, call_id=fields.get("call_id"), status="started", at=str(self.clock)))
        status = "failed" if "error" in fields else "succeeded"
        self.records.append(Operation(**plain, **fields, status=status, at=self.clock.wait(seconds)))

    def step(self, kind: Any, name: str, started: str, summary: str, **fields: Any) -> None:
        self.seq += 1
        after = self._state()
        plain = {"seq": self.seq, "kind": kind, "name": name, "started": started, "ended": str(self.clock)}
        step = Step(**{"status": "done", "summary": summary} | plain | fields)
        self.records.append(StepRecord(step=step, change=change(self.state, after)))
        self.state = after

    def checkpoint(self, reason: str) -> None:
        self.records.append(Checkpoint(seq=self.seq, state=self.state, at=str(self.clock), reason=reason))

    def model(self, text: str, seconds: float, usage: tuple[int, int], *calls: Call) -> None:
        """A turn of the model: its text, and the calls it asks for."""
        started = self.clock.wait(0.004)
        self.operation(
            f"m{self.seq + 1}", "model", "openai:gpt-5-mini", seconds, request={"messages": len(self.messages)}
        )
        self.messages.append(Message(role="assistant", text=text, calls=calls or None))
        self.pending = [
            Pending(kind="tool", name=call.name, status="ready", call_id=call.call_id, arguments=call.arguments)
            for call in calls
        ]
        self.usage = [sum(pair) for pair in zip(self.usage, usage, strict=True)]
        self.values["spent"] = sum(self.usage)
        asked = ", ".join(f"{call.name}({preview(call.arguments, 60)})" for call in calls)
        self.step(
            "model",
            "model",
            started,
            f"{text} → {asked}" if calls else text,
            usage=Usage(input_tokens=usage[0], output_tokens=usage[1]),
        )

    def tools(self, *results: tuple[float, Value], error: str | None = None, **values: Value) -> None:
        """The results of the calls that are pending: how long each took and what it gave."""
        started = str(self.clock)
        calls, said = list(self.pending), []
        for call, (seconds, result) in zip(calls, results, strict=True):
            outcome = {"error": {"message": error}} if error else {"result": result}
            self.operation(
                str(call.call_id),
                "tool",
                call.name,
                seconds,
                call_id=call.call_id,
                request=call.arguments,
                idempotency="supported",
                **outcome,
            )
            shown = result if isinstance(result, str) else to_json(result)
            self.messages.append(Message(role="tool", text=shown, call_id=call.call_id, name=call.name))
            said.append(f"{call.name}: {shown}")
        self.pending = ()
        self.values |= values
        status = {"status": "failed", "error": error} if error else {}
        names = ", ".join(call.name for call in calls)
        self.step("tools", names, started, "; ".join(said), **status)

    def user(self, text: str, seconds: float) -> None:
        """A message of a person, who took `seconds` to write it."""
        started = self.clock.wait(seconds)
        self.messages.append(Message(role="user", text=text))
        self.step("input", "input", started, text)


def refunds() -> list[JournalRecord]:
    """The run."""
    run = Journal(datetime(2026, 11, 29, 9, 0, 12, 250_000, tzinfo=UTC))
    run.model(
        "Let me look at both orders.",
        1.31,
        (412, 58),
        Call(name="lookup_order", call_id="c1", arguments={"order": "A-17"}),
        Call(name="lookup_order", call_id="c2", arguments={"order": "B-02"}),
    )
    kettles = {"article": "kettle", "count": 2, "amount": 4200}
    toaster = {"article": "toaster", "count": 1, "amount": 3150}
    run.tools(
        (0.082, {"order": "A-17", "state": "delivered", "lines": [kettles]}),
        (0.091, {"order": "B-02", "state": "shipped", "lines": [toaster]}),
        orders={"A-17": 8400, "B-02": 3150},
    )
    run.model(
        "A-17 is delivered. Where is B-02?",
        0.94,
        (655, 31),
        Call(name="track_parcel", call_id="c3", arguments={"order": "B-02"}),
    )
    late = "TimeoutError: the carrier did not answer within 30 s"
    run.tools((30.004, late), error=late)
    run.model(
        "The carrier did not answer. I try it once more.",
        0.88,
        (742, 29),
        Call(name="track_parcel", call_id="c4", arguments={"order": "B-02"}),
    )
    run.tools((2.37, {"state": "lost", "last_seen": "2026-11-21T16:40:00+01:00", "place": "Köln"}), lost=["B-02"])
    run.model(
        "The parcel is lost. What does our policy say about broken and lost goods?",
        1.12,
        (829, 44),
        Call(name="refund_policy", call_id="c5", arguments={"topic": "broken"}),
        Call(name="refund_policy", call_id="c6", arguments={"topic": "lost"}),
    )
    run.tools(
        (0.011, "Broken on arrival: the customer chooses between money back and a new article. Up to 100.00 EUR."),
        (0.009, "Lost: send anew when in stock, else money back. Anything above 50.00 EUR needs a second person."),
    )
    run.model(
        "Is the toaster in stock?",
        0.71,
        (1010, 22),
        Call(name="check_stock", call_id="c7", arguments={"article": "toaster"}),
    )
    run.tools((0.034, {"article": "toaster", "left": 0}), stock={"toaster": 0})
    run.checkpoint("interval")
    run.user("She just called: she wants her money back for everything, no new kettles.", 41.5)
    run.model(
        "Then I pay back 84.00 EUR for A-17 and 31.50 EUR for B-02. First I write it down.",
        1.64,
        (1142, 61),
        Call(
            name="note",
            call_id="c8",
            arguments={"text": "Kettles broken, toaster lost, none in stock. Money back for both, by her wish."},
        ),
    )
    run.tools((0.047, "written"), noted=True)
    run.model(
        "Now the payments, and a word to the customer.",
        2.05,
        (1239, 143),
        Call(name="note", call_id="c9", arguments={"text": "Refunds asked for: A-17 8400, B-02 3150."}),
        Call(name="refund", call_id="c10", arguments={"order": "A-17", "amount": 8400}),
        Call(name="refund", call_id="c11", arguments={"order": "B-02", "amount": 3150}),
        Call(
            name="send_email",
            call_id="c12",
            arguments={"to": "customer-882", "text": "We are sorry. 115.50 EUR are on their way to you."},
        ),
    )
    return approvals(run)


def approvals(run: Journal) -> list[JournalRecord]:
    """The last batch: one call is done, two wait for somebody, one is ready to run behind them."""
    started = str(run.clock)
    note, first, second, email = run.pending
    run.operation("c9", "tool", "note", 0.043, call_id="c9", request=note.arguments, result="written")
    waits = "needs an approval: refund_agent:ApprovalGate"
    run.pending = [
        replaced(note, status="answered", result="written"),
        replaced(first, status="waiting", note=waits, since=str(run.clock)),
        replaced(second, status="waiting", note=waits, since=str(run.clock)),
        replaced(email, note="runs when the calls before it are settled"),
    ]
    run.step("tools", "note, refund, refund, send_email", started, "note: written", status="pending")
    run.checkpoint("suspended")
    usage = Usage(input_tokens=run.usage[0], output_tokens=run.usage[1])
    run.records.append(End(status="suspended", reason="approval", at=str(run.clock), usage=usage))
    return run.records


def replaced(row: Pending, **fields: Any) -> Pending:
    return Pending(**{name: getattr(row, name) for name in row.__struct_fields__} | fields)


def written(records: Sequence[JournalRecord]) -> str:
    """The text of a trace file."""
    return "".join(to_json(record) + "\n" for record in records)


if __name__ == "__main__":
    (Path(__file__).parent / "trace.json").write_text(written(refunds()))
