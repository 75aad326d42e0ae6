import pytest

from inspector.dataflow.actors import action, actor, actor_of, emit
from inspector.dataflow.definition import body_digest
from inspector.dataflow.network import Network
from inspector.dataflow.plan import flatten
from inspector.errors import UsageError
from tests.dataflow.networks import Count, Sum, add, double, is_even, sort


def test_ports_come_from_the_signature() -> None:
    found = actor_of(add)
    assert found is not None
    assert (found.inputs, found.outputs, found.kind) == (("left", "right"), ("out",), "task")
    assert found.class_name == "tests.dataflow.networks:add"


def test_fields_are_parameters_or_state() -> None:
    found = actor_of(Sum(start=5))  # type: ignore[call-arg]
    assert found is not None
    assert (dict(found.parameters), dict(found.state)) == ({"start": 5}, {"total": 0})
    assert (found.inputs, found.default_name) == (("number",), "sum")


def test_all_of_a_class_counts_as_its_body() -> None:
    @actor
    class One:
        def fire(self, x: int) -> int:
            return self.helper(x)

        def helper(self, x: int) -> int:
            return x + 1

    first = One

    @actor
    class One:  # type: ignore[no-redef]
        def fire(self, x: int) -> int:
            return self.helper(x)

        def helper(self, x: int) -> int:
            return x + 2

    one, other = actor_of(first()), actor_of(One())
    assert one is not None
    assert other is not None
    assert body_digest(one.bodies) is not None
    assert body_digest(one.bodies) != body_digest(other.bodies)


def test_several_actions_share_the_ports() -> None:
    @actor(outputs=("a", "b"))
    class Both:
        @action(guard=lambda self, x: x > 0)
        def one(self, x: int) -> object:
            return emit(a=x)

        @action()
        def two(self, x: int, y: int) -> object:
            return emit(b=y)

    found = actor_of(Both())
    assert found is not None
    assert found.inputs == ("x", "y")
    assert [act.name for act in found.actions] == ["one", "two"]


def test_names_are_made_unique() -> None:
    net = Network("n")
    net.add(double)
    net.add(double)
    net.add(double, name="mine")
    assert list(net.nodes) == ["double", "double_2", "mine"]


def test_the_same_ports_can_be_connected_twice() -> None:
    net = Network("n")
    one, two = net.add(double), net.add(double)
    net.connect(net.input("x"), one.number)
    net.connect(one.out, two.number)
    net.connect(one.out, two.number)
    net.connect(two.out, net.output("y"))
    assert [link.id for link in flatten(net).links] == [
        "in.x-->double.number",
        "double.out-->double_2.number",
        "double.out-->double_2.number #2",
        "double_2.out-->out.y",
    ]


def test_an_input_and_an_output_can_have_one_name() -> None:
    @actor(outputs=("text",))
    def trim(text: str) -> str:
        return text.strip()

    net = Network("n")
    node = net.add(trim)
    net.connect(net.input("x"), node.text)
    net.connect(node.text, net.output("y"))
    assert [link.id for link in flatten(net).links] == ["in.x-->trim.text", "trim.text-->out.y"]


def nested() -> Network:
    inner = Network("inner")
    node = inner.add(double)
    inner.connect(inner.input("a"), node.number)
    inner.connect(inner.input("a"), inner.output("same"))
    inner.connect(node.out, inner.output("b"))
    return inner


def test_a_nested_network_is_transparent() -> None:
    net = Network("n")
    first, second = net.add(nested()), net.add(nested())
    net.connect(net.input("x"), first.a)
    net.connect(first.b, second.a)
    net.connect(second.b, net.output("y"))
    net.connect(second.same, net.output("y"))
    plan = flatten(net)
    assert [node.name for node in plan.nodes] == ["inner/double", "inner_2/double"]
    assert [link.id for link in plan.links] == [
        "in.x-->inner/double.number",
        "inner/double.out-->inner_2/double.number",
        "inner/double.out-->out.y",
        "inner_2/double.out-->out.y",
    ]


def test_control_nodes_keep_their_bodies() -> None:
    net = Network("n")
    loop = net.loop(nested(), name="each")
    branch = net.when(is_even, double)
    net.connect(net.input("xs"), loop["items"])
    net.connect(loop.b, branch.value)
    for port in (branch.out, branch.otherwise, loop.done):
        net.connect(port, net.output("y"))
    plan = flatten(net)
    assert [node.name for node in plan.nodes] == ["each", "each/double", "when", "when/then/double"]
    assert list(plan.nodes[0].body) == [1]
    assert plan.nodes[2].class_name == "tests.dataflow.networks:is_even"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda net: net.add(3), "no actor"),
        (lambda net: net.add(double).nope, "has no port"),
        (lambda net: net.connect(net.add(double).number, net.output("y")), "wrong side"),
        (lambda net: net.connect(net.input("x"), Network("other").add(double).number), "belongs to"),
        (lambda net: net.connect(net.input("x"), net.add(double).number, capacity=0), "capacity"),
        (lambda net: net.loop(add), "one input"),
        (lambda net: net.add(net) and flatten(net), "nested in itself"),
        (lambda net: net.add(double) and flatten(net), "nothing is connected"),
        (lambda net: net.add(double, name="a/b"), "slash"),
    ],
    ids=lambda words: words if isinstance(words, str) else "",
)
def test_what_cannot_be_built(build: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        build(Network("n"))  # type: ignore[operator]


def test_bodies_that_cannot_be_actors() -> None:
    with pytest.raises(UsageError, match="name each one"):

        @actor
        def many(*numbers: int) -> None: ...

    with pytest.raises(UsageError, match=r"mutable default.*field\(default_factory=list\)"):
        actor(type("Keeps", (), {"__annotations__": {"seen": list}, "seen": [], "fire": lambda self, n: n}))
    with pytest.raises(UsageError, match="no method fire"):

        @actor
        class Empty:
            pass


def test_a_source_has_no_inputs() -> None:
    found = actor_of(Count(limit=3))  # type: ignore[call-arg]
    assert found is not None
    assert found.kind == "source"
    assert actor_of(sort) is not None
