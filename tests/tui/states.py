"""Snapshots for the pictures of the state pane: one with everything, and those that know little."""

from inspector.model.run import (
    Actor,
    Call,
    Consumed,
    Definition,
    Edge,
    Graph,
    Hook,
    Message,
    Node,
    Pending,
    Produced,
    Queue,
    RawRecord,
    SourceInfo,
    State,
    Step,
)
from inspector.model.values import Number
from inspector.tui.session import StateSnapshot

SOURCE = SourceInfo(path="shop.jsonl", format="runinspect", version="1")

GRAPH = Graph(
    nodes=(
        Node(id="desk", kind="task", class_="shop:Desk"),
        Node(id="line", kind="network", class_="shop:Line"),
        Node(id="line/splitter", kind="task", class_="shop:Splitter"),
        Node(id="line/press", kind="task", class_="shop:Press"),
        Node(id="check", kind="when", class_="shop:good"),
        Node(id="binder", kind="task", class_="shop:Binder"),
    ),
    edges=(
        Edge(id="in.Order-->desk.Order", from_="in.Order", to="desk"),
        Edge(id="desk.Job-->line.Job", from_="desk", to="line"),
        Edge(id="line/splitter.Sheet-->press.Sheet", from_="line/splitter", to="line/press"),
        Edge(id="line.Page-->check.Page", from_="line", to="check"),
        Edge(id="check.Bad-->line.Job", from_="check", to="line"),
        Edge(id="check.Good-->binder.Page", from_="check", to="binder"),
        Edge(id="binder.Book-->out.Book", from_="binder", to="out.Book"),
    ),
)

MESSAGES = (
    Message(role="system", text="You run a small print shop. " * 12 + "Answer briefly."),
    Message(role="user", text="Print 受取人確認 twice.\nAnd bind it — été ✓"),
    Message(
        role="assistant",
        text="Both at once.",
        calls=(
            Call(name="print_sheets", call_id="c1", arguments={"job": "受取人", "copies": 2}),
            Call(name="bind", call_id="c2", arguments={"job": "J-1", "cover": None}),
        ),
    ),
    Message(role="tool", text='{"printed": 2, "smudged": [1]}', call_id="c1", name="print_sheets"),
)

BEFORE = State(
    step=11,
    pending=(),
    queues=(
        Queue(id="in.Order-->desk.Order", size=0, contents="complete", tokens=()),
        Queue(id="desk.Job-->line.Job", size=3, contents="complete", tokens=("job 1", {"id": "J-2"}, "job 3")),
        Queue(id="splitter.Sheet-->press.Sheet", scope=("line",), size=1, contents="complete", tokens=(["1", 1],)),
    ),
    messages=MESSAGES[:3],
    values={"shift": "night", "printed": 4, "open": True},
    actors=(Actor(id="splitter", scope=("line",), fire_count=3, state={"_n": 3, "sheets": [1, 2]}),),
    hooks=(Hook(event="before_tool", name="approve_large_jobs"),),
)

AFTER = State(
    step=12,
    pending=(
        Pending(
            kind="tool",
            name="print_sheets",
            status="answered",
            call_id="c1",
            arguments={"job": "受取人", "copies": 2},
            result={"printed": 2, "smudged": [1]},
        ),
        Pending(
            kind="tool",
            name="bind",
            status="ambiguous",
            call_id="c2",
            arguments={"job": "J-1", "cover": None},
            since="2026-03-01T09:30:00Z",
            note="attempt 1; the owner's lease ended",
        ),
        Pending(kind="tool", name="refund", status="waiting", call_id="c3", arguments={"amount": Number("12.50")}),
        Pending(kind="tool", name="email", status="in_flight", call_id="c4", arguments="plain [bold]text[/]"),
        Pending(kind="tool", name="email", status="denied", call_id="c5", arguments={}),
        Pending(kind="firing", name="line/press", status="ready"),
    ),
    queues=(
        Queue(id="in.Order-->desk.Order", size=0, contents="complete", tokens=()),
        Queue(id="desk.Job-->line.Job", size=2, contents="complete", tokens=({"id": "J-2"}, "job 3")),
        Queue(
            id="splitter.Sheet-->press.Sheet",
            scope=("line",),
            size=3,
            contents="complete",
            tokens=(["1", 1], ["1", 2], "紙"),
        ),
        Queue(id="line.Page-->check.Page", size=12, contents="last", tokens=("1.1",)),
        Queue(id="check.Good-->binder.Page", size=80, contents="size"),
        Queue(id="check.Bad-->line.Job", contents="unknown"),
    ),
    messages=MESSAGES,
    values={"shift": "night", "printed": 6, "notes": {"1": "smudged\nagain", "sheets": list(range(60))}},
    actors=(Actor(id="splitter", scope=("line",), fire_count=4, state={"_n": 4, "sheets": [1, 2, 3]}),),
    hooks=(
        Hook(event="before_tool", name="approve_large_jobs"),
        Hook(event="before_tool", name="redact"),
        Hook(event="run_end", name="report"),
    ),
)

FIRING = Step(
    seq=12,
    kind="firing",
    name="line/splitter",
    status="done",
    consumed=(Consumed(queue="desk.Job-->line.Job", count=1),),
    produced=(Produced(queue="splitter.Sheet-->press.Sheet", count=2),),
)

EVERYTHING = StateSnapshot(
    step=12,
    last=14,
    state=AFTER,
    before=BEFORE,
    step_record=FIRING,
    definition=Definition(graph=GRAPH, hooks=AFTER.hooks),
    raw=RawRecord(
        where="shop.jsonl:14 byte 4211",
        text='{"record":"step","step":{"seq":12,"kind":"firing","name":"line/splitter"},"note":"紙 '
        + "word " * 60
        + '"}',
    ),
    source=SOURCE,
)

EMPTY = StateSnapshot(
    step=0,
    last=14,
    state=State(step=0, pending=(), queues=(), messages=(), values={}, actors=(), hooks=()),
    definition=Definition(graph=Graph(nodes=(), edges=()), hooks=()),
    raw=RawRecord(where="shop.jsonl:1 byte 0", text="{}"),
    source=SOURCE,
)
"""All is recorded, and there is nothing."""

UNTOLD = StateSnapshot(step=3, last=14, state=State(step=3), definition=Definition(), source=SOURCE)
"""The state is known, and holds nothing that a pane shows."""

UNKNOWN = StateSnapshot(step=3, last=14, definition=Definition(), source=SOURCE)
"""The file cannot tell the state at that step."""
