from inspector.diff import Side, compare
from inspector.model.run import (
    Actor,
    Call,
    Definition,
    Edge,
    Graph,
    Hook,
    Message,
    Node,
    Pending,
    Queue,
    State,
    Tool,
)


def tool(name: str, **fields: object) -> Tool:
    return Tool(name=name, schema={"properties": {"x": {"type": "integer"}}}, **fields)  # type: ignore[arg-type]


def registry(*tools: Tool, known: str = "registry") -> Side:
    return Side(definition=Definition(tools=tools, tools_known=known))  # type: ignore[arg-type]


def test_a_state_that_the_file_cannot_tell_is_not_the_same() -> None:
    told = Side(definition=Definition(), state=State(step=1))
    untold = Side(definition=Definition(), state=None)
    assert "state" in compare(untold, untold, states=True).unknown
    assert "state" in compare(told, untold, states=True).unknown
    assert "state" not in compare(told, told, states=True).unknown
    assert "state" not in compare(told, untold).unknown, "code has none"


def test_tools_are_compared_by_name_and_path() -> None:
    changed = Tool(name="a", schema={"properties": {"x": {"type": "number"}}}, needs_approval=True)
    found = compare(registry(tool("a", needs_approval=False), tool("b")), registry(changed, tool("c")))
    assert not found.same
    assert (found.tools.added, found.tools.removed) == (("c",), ("b",))
    assert [(change.path, change.left, change.right) for change in found.tools.changed[0].changes] == [
        ("schema.properties.x.type", "integer", "number"),
        ("needs_approval", False, True),
    ]


def test_tools_that_were_only_called_cannot_be_missing() -> None:
    found = compare(registry(tool("a"), known="called"), registry(tool("b")))
    assert found.same
    assert "tools" in found.unknown


def test_what_one_side_does_not_record_is_no_difference() -> None:
    found = compare(registry(tool("a")), Side(definition=Definition()))
    assert found.same
    assert found.unknown == ("tools", "graph", "hooks")


def graph(nodes: str, edges: str = "", digest: str | None = None) -> Side:
    return Side(
        definition=Definition(
            graph=Graph(
                digest=digest,
                nodes=tuple(Node(id=name, kind="task", class_=name.upper()) for name in nodes.split()),
                edges=tuple(Edge(id=name) for name in edges.split()),
            )
        )
    )


def test_the_graph_is_compared_by_node_and_edge() -> None:
    found = compare(graph("a b", "a-b a-b"), graph("a c", "a-b a-c")).graph
    assert (found.added_nodes, found.removed_nodes) == (("c",), ("b",))
    assert (found.added_edges, found.removed_edges) == (("a-c",), ("a-b #2",))


def test_another_order_and_another_class_are_seen() -> None:
    assert compare(graph("a b"), graph("b a")).graph.reordered
    other = Side(definition=Definition(graph=Graph(nodes=(Node(id="a", kind="task", class_="B"),))))
    assert compare(graph("a"), other).graph.changed_nodes[0].changes[0].path == "class"


def test_digests_alone_can_differ() -> None:
    found = compare(graph("a", digest="sha256:1"), graph("a", digest="sha256:2"))
    assert not found.same
    assert compare(graph("a", digest="sha256:1"), graph("a")).same


def test_hooks_by_event_and_order() -> None:
    one, two = Hook(event="tool_call", name="Audit"), Hook(event="tool_call", name="Limit")
    left, right = Side(definition=Definition(hooks=(one, two))), Side(definition=Definition(hooks=(two, one)))
    assert compare(left, right).hooks.reordered
    assert compare(left, Side(definition=Definition(hooks=(one,)))).hooks.removed == ("tool_call: Limit",)


def at(**parts: object) -> Side:
    return Side(definition=Definition(), state=State(step=1, **parts))  # type: ignore[arg-type]


def paths(left: Side, right: Side) -> list[str]:
    return [change.path for change in compare(left, right).state]


def test_state_by_path() -> None:
    def queue(*tokens: int) -> Queue:
        return Queue(id="a-->b", scope=("in",), contents="complete", size=len(tokens), tokens=tokens)

    assert paths(at(queues=(queue(1),)), at(queues=(queue(1, 2),))) == ["queues.in/a-->b"]
    assert paths(at(queues=(queue(1), queue(2))), at(queues=(queue(1), queue(3)))) == ["queues.in/a-->b #2"]
    waiting = Pending(kind="tool", name="pay", call_id="c1", status="waiting")
    approved = Pending(kind="tool", name="pay", call_id="c1", status="approved")
    assert paths(at(pending=(waiting,)), at(pending=(approved,))) == ["pending.c1.status"]
    assert paths(at(actors=(Actor(id="a", state={"n": 1}),)), at(actors=(Actor(id="a", state={"n": 2}),))) == [
        "actors.a.state.n"
    ]
    assert paths(at(values={"k": [1, 2]}), at(values={"k": [1, 3]})) == ["values.k[1]"]


def test_messages_by_number() -> None:
    asks = Message(role="assistant", text="", calls=(Call(name="pay", call_id="c1", arguments={"n": 1}),))
    other = Message(role="assistant", text="", calls=(Call(name="pay", call_id="c1", arguments={"n": 2}),))
    assert paths(at(messages=(asks,)), at(messages=(other,))) == ["messages[0].calls[0].arguments.n"]
    assert paths(at(messages=(asks,)), at(messages=(asks, other))) == ["messages[1]"]


def test_a_size_without_tokens_is_compared_as_a_size() -> None:
    one, other = (Queue(id="q", contents="size", size=size) for size in (1, 2))
    assert paths(at(queues=(one,)), at(queues=(other,))) == ["queues.q.size"]


def test_state_that_one_side_cannot_tell_is_named() -> None:
    found = compare(at(messages=()), at(values={}))
    assert found.same
    assert {"messages", "values"} <= set(found.unknown)
