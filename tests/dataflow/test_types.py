"""Types of ports: what cannot be is refused before the run, what is not is refused at the put."""

import collections.abc
from typing import Annotated, Any, Literal, NewType, Protocol, TypedDict, TypeVar

import pytest

from inspector import Network, action, actor, emit
from inspector.dataflow.plan import flatten
from inspector.dataflow.types import fits, possible
from inspector.errors import UsageError
from tests.dataflow.networks import double, split

Anything = TypeVar("Anything")
Price = NewType("Price", int)


class Named(Protocol):
    name: str


class Row(TypedDict):
    name: str


class Base: ...


class Derived(Base): ...


@pytest.mark.parametrize(
    ("given", "wanted", "may"),
    [
        (int, str, False),
        (int, float, True),
        (float, int, False),
        (bool, int, True),
        (list[int], list[str], True),
        (list[int], dict[str, int], False),
        (list[int], collections.abc.Sequence[int], True),
        (int | None, str | None, True),
        (int | str, bytes, False),
        (Any, int, True),
        (int, object, True),
        (int, Anything, True),
        (int, "Forward", True),
        (int, Named, True),
        (Price, int, True),
        (Price, str, False),
        (Annotated[int, "cents"], str, False),
        (Literal["a", 1], int, True),
        (Literal["a"], int, False),
        (Row, dict, True),
        (Row, str, False),
        (None, int, False),
        (Base, Derived, True),
        (Derived, int, False),
        (Base, collections.abc.Iterable, True),
    ],
)
def test_whether_a_token_may_fit(given: Any, wanted: Any, may: bool) -> None:
    assert possible(given, wanted) is may


@pytest.mark.parametrize(
    ("value", "wanted", "does"),
    [
        (1, int, True),
        ("1", int, False),
        (1, float, True),
        (1.5, int, False),
        ([1, 2], list[int], True),
        ([1, "2"], list[int], False),
        ((1, "2"), tuple[int, str], True),
        ((1, 2, 3), tuple[int, ...], True),
        ((1, 2), tuple[int, int, int], False),
        ({"a": [1]}, dict[str, list[int]], True),
        ({"a": ["1"]}, dict[str, list[int]], False),
        (None, int | None, True),
        ("x", int | None, False),
        ("a", Literal["a", "b"], True),
        (True, Literal[1], False),
        ({"name": "x"}, Row, True),
        (3, Named, True),
        (3, "Forward", True),
        (3, Any, True),
        (3, Annotated[Price, "cents"], True),
        ("3", Price, False),
        ({1, 2}, set[str], False),
        (Derived(), Base, True),
        (Base(), Derived, False),
    ],
)
def test_whether_a_value_fits(value: Any, wanted: Any, does: bool) -> None:
    assert fits(value, wanted) is does


@actor
def spell(word: str) -> str:
    return word


@actor
def loose(number: int):  # type: ignore[no-untyped-def]
    return str(number)


def row(*bodies: Any) -> Network:
    net = Network("row")
    port = net.input("x")
    for body in bodies:
        node = net.add(body)
        net.connect(port, node[node._inputs[0]])
        port = node[node._outputs[0]]
    net.connect(port, net.output("y"))
    return net


def test_ports_that_cannot_fit_are_refused_by_their_queue() -> None:
    with pytest.raises(UsageError, match=r"double.out-->spell.word: the one gives int, and the other takes str"):
        flatten(row(double, spell))


def test_through_the_boundary_of_a_nested_network() -> None:
    net = Network("outer")
    inner, node = net.add(row(double), name="inner"), net.add(spell)
    net.connect(net.input("x"), inner.x)
    net.connect(inner.y, node.word)
    net.connect(node.out, net.output("y"))
    with pytest.raises(UsageError, match=r"inner/double.out-->spell.word"):
        flatten(net)


async def test_a_token_of_another_type_fails_the_firing_that_puts_it() -> None:
    result = await row(loose, double).run({"x": [3]})
    assert result.error is not None
    assert result.error.where == ("loose",)
    assert result.error.message == "double.number takes int, not str: '3'"
    assert result.steps == 0
    with pytest.raises(UsageError, match=r"row, input x\[1\]: spell.word takes str, not int: 4"):
        await row(spell).run({"x": ["a", 4]})


async def test_an_item_of_a_loop_is_looked_at_when_it_is_taken() -> None:
    net = Network("n")
    items, loop = net.add(split), net.loop(spell)
    net.connect(net.input("x"), items.number)
    net.connect(items.out, loop["items"])
    net.connect(loop.out, net.output("y"))
    result = await net.run({"x": [2]})
    assert result.error is not None
    assert result.error.where == ("loop", "spell")
    assert "takes str, not int" in (result.error.message or "")


async def test_actions_that_differ_about_a_port_leave_it_open() -> None:
    @actor(outputs=("y",))
    class Both:
        @action(guard=lambda self, x: isinstance(x, int))
        def number(self, x: int) -> object:
            return emit(y=x)

        @action()
        def word(self, x: str) -> object:
            return emit(y=x)

    assert (await row(Both()).run({"x": [1, "a"]})).outputs == {"y": [1, "a"]}
