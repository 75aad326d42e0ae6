"""Conversations as steps and states, against a plain reading of what a step is."""

import os
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats.conversation import Conversation, as_pending, letter
from inspector.formats.pairing import Pairing, outline
from inspector.model.run import Call, Message, Pending, Step, Usage
from inspector.model.values import to_json

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)

ids = st.sampled_from(["c1", "c2", "c3", None])
calls = st.builds(Call, name=st.sampled_from(["read", "pay"]), call_id=ids, arguments=st.just({"a": 1}))
messages = st.one_of(
    st.builds(Message, role=st.sampled_from(["user", "system"]), text=st.just("hi")),
    st.builds(Message, role=st.just("assistant"), text=st.just("so"), calls=st.lists(calls, max_size=3).map(tuple)),
    st.builds(Message, role=st.just("tool"), text=st.just("ok"), call_id=ids),
)


def user(text: str = "hi") -> Message:
    return Message(role="user", text=text)


def asks(*call_ids: str, text: str | None = None) -> Message:
    return Message(
        role="assistant",
        text=text,
        calls=tuple(Call(name=f"tool_{one}", call_id=one, arguments={"n": one}) for one in call_ids),
    )


def says(text: str) -> Message:
    return Message(role="assistant", text=text)


def result(call_id: str, text: str = "ok") -> Message:
    return Message(role="tool", text=text, call_id=call_id)


def shape(conversation: Conversation) -> list[tuple[str, str]]:
    return [(step.kind, step.status) for step in conversation.steps()]


def open_ids(conversation: Conversation, seq: int) -> list[str | None]:
    return [pending.call_id for pending in conversation.pending(seq)]


def test_a_run_of_every_kind_of_step() -> None:
    told = [user(), asks("a", "b"), result("b"), result("a"), says("half"), user("more"), user("!"), asks("c")]
    conversation = Conversation(told, 1)
    done = [("model", "done"), ("tools", "done"), ("model", "done"), ("input", "done"), ("input", "done")]
    assert shape(conversation) == [*done, ("model", "done"), ("tools", "pending")]
    assert [len(conversation.state(seq).messages or ()) for seq in range(8)] == [1, 2, 4, 5, 6, 7, 8, 8]
    assert [open_ids(conversation, seq) for seq in range(8)] == [[], ["a", "b"], [], [], [], [], ["c"], ["c"]]
    assert [step.name for step in conversation.steps()][1] == "tool_a, tool_b"
    assert conversation.steps()[-1].summary == 'tool_c({"n": "c"})'
    assert conversation.steps()[1:3] == [conversation.step(2), conversation.step(3)]
    assert [conversation.span(seq) for seq in (0, 1, 2, 7)] == [(0, 1), (1, 2), (2, 4), (8, 8)]


def test_an_empty_conversation_and_history_alone() -> None:
    assert len(Conversation([], 0)) == 0
    history = Conversation([says("before"), user()], 2)
    assert len(history) == 0
    assert len(history.state(0).messages or ()) == 2
    assert len(Conversation([user()], 5).state(0).messages or ()) == 1


def test_the_readers_word_on_the_last_batch() -> None:
    call = Call(name="pay", call_id="x")
    answered = as_pending(call, "answered", "no")
    told = [user(), asks("x")]
    assert Conversation(told, 1, batch=[answered]).pending(2) == [answered]
    assert open_ids(Conversation(told, 1, batch=[answered]), 1) == ["x"]
    assert shape(Conversation(told, 1, batch=())) == [("model", "done")]
    partly = [user(), asks("x", "y"), result("y")]
    waiting = as_pending(call, "waiting")
    assert shape(Conversation(partly, 1, batch=[waiting])) == [("model", "done"), ("tools", "pending")]
    assert Conversation(partly, 1, batch=[waiting]).pending(2) == [waiting]
    assert open_ids(Conversation(partly, 1), 2) == ["x"]
    assert shape(Conversation(partly, 1, batch=())) == [("model", "done"), ("tools", "done")]
    model = Pending(kind="model", name="model", status="ambiguous")
    assert shape(Conversation([user()], 1, batch=[model])) == []
    assert Conversation([user()], 1, batch=[model]).pending(0) == [model]
    assert Conversation([user(), asks("x"), result("x")], 1, batch=[model]).pending(2) == [model]
    lone = Conversation([user()], 1, batch=[waiting])
    assert [(step.kind, step.name, step.status) for step in lone.steps()] == [("tools", "pay", "pending")]


def test_messages_of_calls_that_stand_together_are_one_batch() -> None:
    told = [user(), asks("a"), asks("b"), result("a"), result("b")]
    conversation = Conversation(told, 1)
    assert [step.kind for step in conversation.steps()] == ["model", "model", "tools"]
    assert open_ids(conversation, 2) == ["a", "b"]
    assert open_ids(conversation, 3) == []
    assert list(conversation.unpaired()) == []


def test_usage_is_asked_by_the_number_of_the_model_call() -> None:
    told = [says("history"), user(), says("a"), user(), says("b")]
    conversation = Conversation(told, 2, usage=lambda number: Usage(input_tokens=number))
    found = [step.usage.input_tokens if step.usage else None for step in conversation.steps()]
    assert found == [0, None, 1]


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ([asks("a"), result("a")], []),
        ([asks("a"), result("ghost"), result("a")], [(1, "result", ["ghost"])]),
        ([asks("lost"), user()], [(0, "call", ["lost"])]),
        ([asks("lost", "b"), result("b"), says("x")], [(0, "call", ["lost"])]),
        ([asks("late"), user(), result("late")], [(0, "call", ["late"]), (2, "result", ["late"])]),
        ([asks("d", "d"), result("d"), result("d")], [(0, "twice", ["d"])]),
        ([asks("d"), result("d"), asks("d"), result("d")], []),
        ([asks("d"), result("d"), result("d")], [(2, "result", ["d"])]),
        ([asks("open")], []),
        ([result("a")], [(0, "result", ["a"])]),
    ],
)
def test_what_does_not_pair(told: list[Message], what: list[tuple[int, str, list[str]]]) -> None:
    found = list(Conversation(told, 0).unpaired())
    assert [tuple(one) for one in found] == what
    for one in found:
        assert one.ids[0] in str(one)


def reference(told: Sequence[Message], prelude: int) -> list[list[Message]]:
    """The messages of each step: every message its own, but results together."""
    steps: list[list[Message]] = []
    for message in told[prelude:]:
        if message.role == "tool" and steps and steps[-1][-1].role == "tool":
            steps[-1].append(message)
        else:
            steps.append([message])
    return steps


@settings(max_examples=60 * TIMES, deadline=None, database=None)
@given(st.lists(messages, max_size=14), st.integers(0, 4))
def test_any_conversation(told: list[Message], prelude: int) -> None:
    prelude = min(prelude, len(told))
    conversation = Conversation(told, prelude)
    steps = reference(told, prelude)
    waits = bool(steps) and bool(steps[-1][-1].calls)
    assert len(conversation) == len(steps) + waits
    seen = prelude
    for seq, (step, part) in enumerate(zip(conversation.steps(), steps, strict=False), 1):
        seen += len(part)
        assert step.seq == seq
        kinds = {"assistant": "model", "tool": "tools"}
        assert step.kind == kinds.get(part[0].role, "input")
        state = conversation.state(seq)
        assert list(state.messages or ()) == told[:seen]
        assert to_json(state)
    growing = Conversation(told, prelude, growing=True)
    for message in told:
        growing.extend(letter(message))
    growing.finish()
    assert list(growing.steps()) == list(conversation.steps())
    for seq in range(len(growing) + 1):
        assert to_json(growing.state(seq)) == to_json(conversation.state(seq))


@settings(max_examples=60 * TIMES, deadline=None, database=None)
@given(st.lists(messages, max_size=20))
def test_no_call_and_no_result_is_lost_count_of(told: list[Message]) -> None:
    """Every call is answered, passed over, or open at the end; every result answers a call or does not."""
    pairing = Pairing()
    found = [one for at, message in enumerate(told) for one in pairing.add(at, *outline(message))]
    orphans = sum(len(one.ids) for one in found if one.what == "result")
    passed = sum(len(one.ids) for one in found if one.what == "call")
    made = sum(len(message.calls or ()) for message in told)
    results = sum(message.role == "tool" for message in told)
    still = len(list(pairing.open()))
    assert results - orphans == made - passed - still


def test_large_texts_do_not_make_large_summaries() -> None:
    told = [user("x" * 10**6), asks(*(f"c{number}" for number in range(5000)))]
    told += [result(f"c{number}", "y" * 1000) for number in range(5000)]
    conversation = Conversation(told, 0)
    step: Step
    for step in conversation.steps():
        assert len(step.summary or "") <= 160
        assert len(step.name) <= 160
    assert open_ids(conversation, 3) == []
    assert list(conversation.unpaired()) == []
