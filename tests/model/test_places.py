"""Places of values in a state: what names one, and what stands there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.model.places import Place, read_place, value_at
from inspector.model.run import Actor, Call, Message, Pending, Queue, State

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
FIELDS = st.from_regex(r"\A[a-z_]{1,6}\Z")


@given(NAMES, st.integers(0, 10**6), FIELDS)
def test_every_place_is_read_as_it_was_written(name: str, at: int, field: str) -> None:
    assert read_place(f"queues.{name}[{at}]") == Place("queues", name, at)
    assert read_place(f"actors.{name}.state.{field}") == Place("actors", name, field=field)
    assert read_place(f"values.{name}") == Place("values", name)
    assert read_place(f"messages[{at}].text") == Place("messages", at=at, field="text")
    assert read_place(f"pending.{name}.result") == Place("pending", name, field="result")


@pytest.mark.parametrize(
    "text", ["", "queues.a", "queues[0]", "messages[x].text", "messages[1]", "pending.a", "hooks.a"]
)
def test_what_names_no_place(text: str) -> None:
    assert read_place(text) is None


def test_what_stands_in_a_place() -> None:
    state = State(
        step=1,
        queues=(
            Queue(id="a-->b", scope=("in",), contents="complete", tokens=(1, 2)),
            Queue(id="a-->b", scope=("in",), contents="complete", tokens=(3,)),
        ),
        actors=(Actor(id="b", scope=("in",), state={"sum": 4}),),
        values={"x.y": 5},
        messages=(Message(role="user", text="six"), Message(role="assistant", calls=(Call(name="t", arguments=7),))),
        pending=(Pending(kind="tool", name="t", status="ready", call_id="c", internal_call_id="1.1", arguments=8),),
    )
    places = {
        "queues.in/a-->b[1]": 2,
        "queues.in/a-->b #2[0]": 3,
        "actors.in/b.state.sum": 4,
        "values.x.y": 5,
        "messages[0].text": "six",
        "messages[1].calls[0].arguments": 7,
        "pending.c.arguments": 8,
        "pending.1.1.arguments": 8,
    }
    assert {place: value_at(state, place) for place in places} == places
    for nowhere in ("queues.in/a-->b[2]", "queues.no[0]", "actors.no.state.a", "values.no", "pending.d.result", "x"):
        with pytest.raises(LookupError):
            value_at(state, nowhere)
