"""What a difference means: for what is pending, and for nothing else."""

from inspector.diff import Side, Weighed, compare, weigh
from inspector.model.run import Definition, Edge, Graph, Hook, Node, Pending, State, Tool


def side(*tools: Tool, pending: tuple[Pending, ...] = (), **definition: object) -> Side:
    made = Definition(tools=tools, tools_known="registry", **definition)  # type: ignore[arg-type]
    return Side(definition=made, state=State(step=1, pending=pending))


def code(*tools: Tool, **definition: object) -> Side:
    return Side(definition=Definition(tools=tools, tools_known="registry", **definition))  # type: ignore[arg-type]


def tool(name: str, kind: str = "integer", description: str = "") -> Tool:
    return Tool(name=name, description=description, schema={"properties": {"x": {"type": kind}}})


def call(name: str, status: str = "waiting") -> Pending:
    return Pending(kind="tool", name=name, status=status, call_id="c1")  # type: ignore[arg-type]


def weights(left: Side, right: Side, found: dict[str, str] | None = None) -> dict[str, str | None]:
    return {item.subject: item.weight for item in weigh(left, compare(left, right), found)}  # type: ignore[arg-type]


def test_a_tool_that_is_gone_breaks_only_what_is_pending_for_it() -> None:
    left = side(tool("a"), tool("b"), tool("c"), pending=(call("a"), call("c", "answered")))
    assert weights(left, code()) == {"a": "breaking", "b": "harmless", "c": "harmless"}


def test_a_changed_schema_breaks_a_pending_call_unless_the_plan_says_that_it_fits() -> None:
    left, right = side(tool("a"), pending=(call("a"),)), code(tool("a", "number"))
    assert weights(left, right) == {"a": "breaking"}
    assert weights(left, right, {}) == {"a": "accept"}
    assert weights(left, right, {"a": "breaking"}) == {"a": "breaking"}
    assert weights(side(tool("a")), right) == {"a": "harmless"}


def test_every_call_that_waits_for_a_tool_is_named() -> None:
    pending = tuple(Pending(kind="tool", name="a", status="waiting", call_id=f"c{n}") for n in range(2, 10))
    told = []
    for left in (side(tool("a"), pending=pending[:2]), side(tool("a"), pending=pending)):
        told += [
            item.why for right in (code(), code(tool("a", "number"))) for item in weigh(left, compare(left, right))
        ]
    assert told == [
        "the calls c2, c3 need it",
        "the calls c2, c3 wait for it",
        "the calls c2, c3, c4, c5, c6 and 3 more need it",
        "the calls c2, c3, c4, c5, c6 and 3 more wait for it",
    ]


def test_what_the_model_is_told_is_harmless() -> None:
    left = side(tool("a", description="old"), pending=(call("a"),))
    found = weigh(left, compare(left, code(tool("a", description="new"))))
    assert [(item.path, item.weight) for item in found] == [("description", "harmless")]


def test_the_structure_of_a_graph_breaks_and_a_body_does_not() -> None:
    def graph(edges: tuple[str, ...], body: str, kind: str = "task") -> Graph:
        nodes = (Node(id="n", kind=kind, class_="N", body=body),)
        return Graph(nodes=nodes, edges=tuple(Edge(id=name) for name in edges))

    left = side(graph=graph(("e",), "1"))
    assert weights(left, code(graph=graph((), "1"))) == {"edge e": "breaking"}
    assert weights(left, code(graph=graph(("e",), "2"))) == {"node n": "harmless"}
    assert weights(left, code(graph=graph(("e",), "1", "agent"))) == {"node n": "breaking"}


def test_a_hook_that_is_gone_breaks_and_a_new_one_does_not() -> None:
    def hook(name: str) -> Hook:
        return Hook(event="tool_call", name=name)

    left = side(hooks=(hook("Gate"), hook("Log")))
    right = code(hooks=(hook("Log"), hook("Gate"), hook("New")))
    assert weights(left, right) == {"tool_call: New": "harmless", "the order": "harmless"}
    assert weights(left, code(hooks=(hook("Log"),))) == {"tool_call: Gate": "breaking"}


def test_settings_are_harmless() -> None:
    left = Side(definition=Definition(settings={"temperature": 0.1}))
    found = weigh(left, compare(left, Side(definition=Definition(settings={"temperature": 0.9}))))
    assert [(item.section, item.subject, item.weight) for item in found] == [("Settings", "temperature", "harmless")]


def test_two_states_have_no_weight() -> None:
    left = Side(definition=Definition(), state=State(step=1, values={"a": 1, "b": 1}))
    right = Side(definition=Definition(), state=State(step=2, values={"a": 2, "c": 1}))
    found = weigh(right, compare(left, right))
    assert [(item.sign, item.subject, item.weight) for item in found] == [
        ("~", "values.a", None),
        ("-", "values.b", None),
        ("+", "values.c", None),
    ]
    assert all(isinstance(item, Weighed) for item in found)
