import json
import string

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.model.changes import Change, QueueChange, apply, change
from inspector.model.run import Actor, Hook, Message, Pending, Queue, State
from inspector.model.values import to_json
from tests.fuzz import TIMES

NAMES = st.sampled_from(string.ascii_lowercase[:4])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(0, 3), NAMES, st.lists(st.integers(0, 2), max_size=2))
MESSAGES = st.builds(Message, role=st.sampled_from(["user", "assistant"]), text=NAMES)
QUEUES = st.one_of(
    st.lists(VALUES, max_size=5).map(
        lambda tokens: Queue(id="q", contents="complete", size=len(tokens), tokens=tuple(tokens))
    ),
    st.builds(Queue, id=NAMES, size=st.integers(0, 3), contents=st.sampled_from(["last", "size", "unknown"])),
)
STATES = st.builds(
    State,
    step=st.integers(0, 9),
    queues=st.none() | st.lists(QUEUES, max_size=3).map(tuple),
    pending=st.none()
    | st.lists(st.builds(Pending, kind=st.just("tool"), name=NAMES, status=st.just("ready")), max_size=2).map(tuple),
    actors=st.none() | st.lists(st.builds(Actor, id=NAMES, fire_count=st.integers(0, 2)), max_size=3).map(tuple),
    messages=st.none() | st.lists(MESSAGES, max_size=4).map(tuple),
    values=st.none() | st.dictionaries(NAMES, VALUES, max_size=3),
    hooks=st.none() | st.lists(st.builds(Hook, name=NAMES), max_size=2).map(tuple),
)


@given(STATES, STATES)
@settings(max_examples=300 * TIMES, deadline=None)
def test_a_change_leads_from_one_state_to_the_other(before: State, after: State) -> None:
    assert apply(before, change(before, after), after.step) == after


@given(STATES, STATES)
@settings(max_examples=150 * TIMES, deadline=None)
def test_a_change_survives_being_written(before: State, after: State) -> None:
    written = to_json(change(before, after))
    read = msgspec.json.decode(written, type=Change)
    assert json.loads(to_json(apply(before, read, after.step))) == json.loads(to_json(after))


def test_what_did_not_change_is_not_written() -> None:
    messages = tuple(Message(role="user", text=str(number)) for number in range(1000))
    tokens = tuple(range(1000))
    before = State(
        step=1,
        messages=messages,
        queues=(Queue(id="q", contents="complete", size=1000, tokens=tokens),),
        values={"kept": 1, "gone": 2},
    )
    after = State(
        step=2,
        messages=(*messages, Message(role="assistant", text="more")),
        queues=(Queue(id="q", contents="complete", size=1000, tokens=(*tokens[2:], "x", "y")),),
        values={"kept": 1, "new": 3},
    )
    found = change(before, after)
    assert found.messages == (Message(role="assistant", text="more"),)
    assert found.moved == (QueueChange(index=0, taken=2, put=("x", "y")),)
    assert (found.values, found.dropped) == ({"new": 3}, ("gone",))
    assert len(to_json(found)) < 300


@pytest.mark.parametrize("wrong", [Change(moved=(QueueChange(index=3),)), Change(acted={"7": Actor(id="a")})])
def test_a_change_that_does_not_fit_is_refused(wrong: Change) -> None:
    with pytest.raises(ValueError, match="there is no"):
        apply(State(step=0, queues=(), actors=()), wrong, 1)
