"""The agent run as a machine: phases, budgets, recovery, the structured answer, answers one by one."""

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.model.run import Tool
from inspector.model.values import Number
from inspector.runner import AgentRun, Call, CallModel, CallTools, Done, Message, ModelTurn, Result, Text, Usage
from inspector.runner.data import Failed, Finished, Output
from inspector.runner.effects import (
    Again,
    Announce,
    Answer,
    Approve,
    Begin,
    Configure,
    Deny,
    Edit,
    Fail,
    Hear,
    Heard,
    Hold,
    Record,
    Remembered,
    Resolve,
    ResolveCall,
    Retry,
    Rollback,
    Scratch,
    Start,
    Steer,
    Stop,
    Turn,
    Wait,
)
from inspector.runner.errors import ProtocolViolation, RequestError, RunClosed, RunFailed
from inspector.runner.transitions import TRANSITIONS

FUZZ = int(os.environ.get("RUNINSPECT_FUZZ", "1"))
TOOLS = (Tool(name="add"), Tool(name="sub"))


def begun(run: AgentRun, **fields: Any) -> None:
    run.next()
    run.send(Begin(fields.pop("tools", TOOLS), **fields))


def calling(*names: str, **fields: Any) -> ModelTurn:
    return ModelTurn(calls=tuple(Call(name, {"n": at}, f"c{at}") for at, name in enumerate(names, 1)), **fields)


def batch(*names: str) -> AgentRun:
    """A run with an open batch of these calls."""
    run = AgentRun.start("go")
    begun(run, tools=tuple(Tool(name=name) for name in names))
    run.absorb(calling(*names))
    assert isinstance(run.next(), CallTools)
    return run


def test_the_loop_by_hand() -> None:
    run = AgentRun.start("What is 2 + 2?", max_turns=3)
    seen = []
    while not isinstance(effect := run.next(), Done):
        seen.append(type(effect).__name__)
        match effect:
            case CallModel(messages=messages) if len(messages) == 1:
                run.absorb(ModelTurn(calls=(Call("add", {"a": 2}, "x"), Call("add", {"a": 3}, "y")), usage=Usage(3, 2)))
            case CallModel():
                run.absorb(ModelTurn(text="4", usage=Usage(5, 1)))
            case CallTools(calls=calls):
                run.absorb_result(calls[-1].call_id, "4")
        run = AgentRun.from_json(run.to_json())
    assert seen == ["CallModel", "CallTools", "CallTools", "CallModel"]
    assert effect.output == "4"
    assert run.data.usage == Usage(8, 3)
    assert [message.role for message in run.messages] == ["user", "assistant", "user", "assistant"]
    assert [part.call_id for part in run.messages[2].content if isinstance(part, Result)] == ["x", "y"]


def test_asking_again_changes_nothing() -> None:
    run = AgentRun.start("go")
    before = run.to_json()
    assert run.next() == run.next()
    assert run.to_json() == before
    run = batch("add")
    before = run.to_json()
    assert run.next() == run.next()
    assert run.to_json() == before


def test_the_turn_is_spent_only_when_the_call_begins() -> None:
    run = AgentRun.start("go", max_turns=1)
    run.next()
    with pytest.raises(RequestError, match="required"):
        run.send(Begin((), choice="required"))
    with pytest.raises(RequestError, match="names no tool"):
        run.send(Begin(TOOLS, choice=()))
    with pytest.raises(RequestError, match="not offered: mul"):
        run.send(Begin(TOOLS, choice=("mul",)))
    assert run.data.turn == 0
    run.send(Begin(TOOLS, choice=("add",)))
    assert run.data.turn == 1
    assert run.data.advertised is not None
    assert run.data.advertised.allowed == ("add",)


def test_a_failed_send_gives_the_turn_back_and_keeps_what_was_billed() -> None:
    run = AgentRun.start("go", max_turns=1)
    begun(run)
    run.record(Usage(7, 0))
    with pytest.raises(ProtocolViolation, match="recorded already"):
        run.record(Usage(7, 0))
    run.rollback()
    assert (run.data.turn, run.data.usage.input_tokens) == (0, 7)
    begun(run)
    run.absorb(ModelTurn(text="ok", usage=Usage(7, 1)))
    assert run.next() == Done("ok")
    assert run.data.usage == Usage(14, 1)


def test_a_recorded_stream_is_counted_once() -> None:
    run = AgentRun.start("go")
    begun(run)
    run.record(Usage(7, 0))
    run.absorb(ModelTurn(text="ok", finish_reason="stop"), streamed=True)
    assert run.data.usage == Usage(7, 0)
    assert [(call.index, call.usage) for call in run.data.calls] == [(0, Usage(7, 0))]


def test_a_spent_budget_fails_and_can_be_raised() -> None:
    run = AgentRun.start("go", max_turns=1)
    begun(run)
    run.absorb(calling("add"))
    run.next()
    run.absorb_result("c1", 1)
    for _ in range(2):
        with pytest.raises(RunFailed, match="max_turns: the limit of 1"):
            run.next()
    with pytest.raises(ProtocolViolation):
        run.absorb(ModelTurn(text="late"))
    run = AgentRun.from_json(run.to_json())
    run.send(Configure(max_turns=2))
    assert isinstance(run.next(), CallModel)
    spent = AgentRun.start("go", token_budget=10)
    begun(spent)
    spent.absorb(calling("add", usage=Usage(8, 2)))
    spent.next()
    spent.absorb_result("c1", 1)
    with pytest.raises(RunFailed, match="budget: 10 tokens"):
        spent.next()


def test_calls_with_one_id_stay_apart_by_their_place() -> None:
    run = AgentRun.start("go")
    run.absorb(ModelTurn(calls=(Call("add", 1, "same"), Call("add", 2, "same"), Call("add", 3))))
    effect = run.next()
    assert isinstance(effect, CallTools)
    assert [call.internal_id for call in effect.calls] == ["1.1", "1.2", "1.3"]
    assert effect.calls[2].call_id == "call_1.3"
    run.absorb_result("1.2", "second")
    run.absorb_result("same", "first")
    with pytest.raises(RequestError, match="answered already"):
        run.absorb_result("same", "third")
    run.absorb_result("1.3", "third")
    run.next()
    assert [part.text for part in run.messages[-1].content if isinstance(part, Result)] == ["first", "second", "third"]


def test_a_batch_suspends_when_only_waiting_calls_are_left() -> None:
    run = batch("add", "sub")
    run.hold("c2")
    effect = run.next()
    assert isinstance(effect, CallTools)
    assert [call.name for call in effect.calls] == ["add"]
    run.absorb_result("c1", 3)
    run = AgentRun.from_json(run.to_json())
    wait = run.next()
    assert isinstance(wait, Wait)
    assert (wait.reason, [call.call_id for call in wait.calls]) == ("approval", ["c2"])
    run.edit("c2", {"n": 5})
    run.approve("c2")
    effect = run.next()
    assert isinstance(effect, CallTools)
    assert (effect.calls[0].arguments, effect.calls[0].approved) == ({"n": 5}, True)
    assert run.messages[1].calls[1].arguments == {"n": 2}  # the history keeps what the model asked for


def test_a_denial_is_the_result_of_the_call() -> None:
    run = batch("add")
    run.hold("c1")
    run.deny("c1", "not that one")
    assert isinstance(run.next(), CallModel)
    (result,) = run.messages[-1].content
    assert isinstance(result, Result)
    assert (result.text, result.outcome) == ("not that one", "refused")


def test_a_call_that_began_is_never_run_again_by_itself() -> None:
    run = batch("add", "sub")
    run.start_call("c1")
    run.absorb_result("c2", 1)
    wait = run.next()
    assert isinstance(wait, Wait)
    assert (wait.reason, [call.call_id for call in wait.calls]) == ("reconciliation", ["c1"])
    with pytest.raises(RequestError, match="is started"):
        run.deny("c1")
    run.send(Again(run.slot("c1").call.internal_id))
    again = run.next()
    assert isinstance(again, CallTools)
    assert again.calls[0].attempt == 2


@pytest.mark.parametrize(
    ("how", "text", "then", "left"),
    [
        ("fail", None, RunFailed, 0),
        ("stop", "enough", RunFailed, 0),
        ("retry", "no such tool", CallModel, 2),
        ("repair", "sub", CallTools, 1),
        ("skip", "left out", CallModel, 2),
    ],
)
def test_a_call_that_was_not_on_offer(how: str, text: str | None, then: type, left: int) -> None:
    run = AgentRun.start("go")
    begun(run)
    run.absorb(calling("add", "mul"))
    effect = run.next()
    assert isinstance(effect, ResolveCall)
    assert (effect.call.name, effect.allowed) == ("mul", ("add", "sub"))
    run.resolve(how, text)
    if then is RunFailed:
        with pytest.raises(RunFailed, match=text or "the model called 'mul'"):
            run.next()
        assert isinstance(run.data.phase, Failed)
        assert run.data.phase.turn is not None  # what was not taken over stays visible
    else:
        assert isinstance(run.next(), then)
    assert len(run.messages) == 1 + left
    if how == "repair":
        assert [call.name for call in run.messages[1].calls] == ["add", "sub"]
    if how in ("retry", "skip"):
        texts = [part.text for part in run.messages[2].content if isinstance(part, Result)]
        assert texts[1] == text
        assert "Not executed" in texts[0]
        assert [call.name for call in run.messages[1].calls] == ["add", "mul"]


def test_recovery_has_its_limits() -> None:
    run = AgentRun.start("go", max_invalid_retries=1)
    for _ in range(2):
        begun(run)
        run.absorb(calling("mul"))
        run.next()
        with pytest.raises(RequestError, match="not on offer"):
            run.resolve("repair", "div")
        run.resolve("retry", "again")
    with pytest.raises(RunFailed, match="unknown_tool"):
        run.next()
    none = AgentRun.start("go")
    begun(none, choice="none")
    none.absorb(calling("add"))
    assert isinstance(none.next(), ResolveCall)
    with pytest.raises(RequestError, match="must not call tools"):
        none.resolve("skip")


def test_every_call_not_on_offer_is_asked_about() -> None:
    run = AgentRun.start("go")
    begun(run)
    run.absorb(calling("mul", "div"))
    run.resolve("repair", "add")
    effect = run.next()
    assert isinstance(effect, ResolveCall)
    assert effect.call.name == "div"


def test_a_turn_is_made_again_with_or_without_feedback() -> None:
    run = AgentRun.start("go")
    begun(run)
    run.send(Turn(ModelTurn(text="hm")))
    assert isinstance(run.next(), Hear)
    run.retry("be precise")
    assert [message.text for message in run.messages] == ["go", "hm", "be precise"]
    begun(run)
    run.absorb(ModelTurn(text="hm"))
    run.retry()
    assert len(run.messages) == 3
    begun(run)
    run.absorb(calling("add"))
    run.retry("no")
    with pytest.raises(RunFailed, match="cannot be made again"):
        run.next()


SCHEMA = {"type": "object", "required": ["city", "nights"]}


def structured(**fields: Any) -> AgentRun:
    run = AgentRun.start("which?", output=Output(SCHEMA), **fields)
    begun(run, tools=(*TOOLS, Tool(name="final_result")), output_tool="final_result")
    return run


def test_the_output_tool_ends_the_run_and_never_runs() -> None:
    run = structured()
    answer = {"city": "Oslo", "nights": Number("2.50")}
    run.absorb(ModelTurn(text="So:", calls=(Call("add", {}, "c1"), Call("final_result", answer, "c2"))))
    done = run.next()
    assert isinstance(done, Done)
    assert done.output == '{"city":"Oslo","nights":2.50}'
    assert done.value == answer
    assert run.messages[-1].calls == ()
    assert run.messages[-1].text == "So:" + done.output


def test_an_incomplete_answer_is_asked_for_once_more() -> None:
    run = structured()
    run.absorb(ModelTurn(calls=(Call("final_result", {"city": "Oslo"}, "c1"),)))
    assert isinstance(run.next(), CallModel)
    assert "nights" in run.messages[-1].content[0].text  # type: ignore[union-attr]
    begun(run, tools=None, output_tool="final_result")
    run.absorb(ModelTurn(calls=(Call("final_result", {"city": "Oslo"}, "c2"),)))
    assert isinstance(run.next(), Done)
    text = structured()
    text.absorb(ModelTurn(text="Oslo, I think"))
    assert isinstance(text.next(), CallModel)
    last = structured(max_turns=1)
    last.absorb(ModelTurn(text="Oslo, I think"))
    assert last.next() == Done("Oslo, I think")


def test_a_text_that_is_the_object_is_an_answer() -> None:
    run = structured()
    run.absorb(ModelTurn(text='{"city": "Oslo", "nights": 2}'))
    assert run.next() == Done('{"city": "Oslo", "nights": 2}', {"city": "Oslo", "nights": 2})


@pytest.mark.parametrize(("reason", "kind"), [("length", "truncated"), ("content_filter", "content_filter")])
def test_a_turn_cut_short_without_an_answer_fails(reason: str, kind: str) -> None:
    run = AgentRun.start("go")
    run.absorb(ModelTurn(finish_reason=reason))
    with pytest.raises(RunFailed, match=kind):
        run.next()
    empty = AgentRun.start("go")
    empty.absorb(ModelTurn(finish_reason="stop"))
    assert empty.next() == Done("")
    assert len(empty.messages) == 1


def test_steering_waits_for_the_batch_and_reopens_an_answer() -> None:
    run = batch("add")
    run.steer("hurry")
    run.absorb_result("c1", 1)
    effect = run.next()
    assert isinstance(effect, CallModel)
    assert [message.text for message in effect.messages][-2:] == ["", "hurry"]
    run.send(Begin(TOOLS))
    run.send(Turn(ModelTurn(text="done")))
    run.steer("one more thing")
    run.send(Heard())
    assert isinstance(run.next(), CallModel)
    run.absorb(ModelTurn(text="done too"))
    assert run.next() == Done("done too")
    with pytest.raises(RunClosed):
        run.steer("too late")


def test_steering_grants_no_turn_and_loses_nothing() -> None:
    run = AgentRun.start("go", max_turns=1)
    begun(run)
    run.steer("and this")
    run.absorb(ModelTurn(text="done"))
    assert run.next() == Done("done")
    assert isinstance(run.data.phase, Finished)
    assert [message.text for message in run.data.phase.undelivered] == ["and this"]


def test_stopping_keeps_what_was_answered() -> None:
    run = batch("add", "sub")
    run.absorb_result("c1", 1)
    run.stop("enough")
    with pytest.raises(RunFailed, match="cancelled: enough"):
        run.next()
    assert isinstance(run.data.phase, Failed)
    assert [slot.status for slot in run.data.phase.slots] == ["answered", "ready"]


def test_an_unknown_format_is_named() -> None:
    text = AgentRun.start("go").to_json()
    with pytest.raises(RequestError, match="format 7; this program knows 1"):
        AgentRun.from_json(text.replace('"format":1', '"format":7'))
    for bad in ("[]", "{", '{"phase": {}}', text.replace('"turn":0', '"turn":"x"')):
        with pytest.raises(RequestError):
            AgentRun.from_json(bad)


NUMBERS = st.sampled_from(["0", "-0", "310.50", "1E+2", "1e999", "12345678901234567890123", "0.1", "1e5"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.text(st.characters(exclude_characters="\0"), max_size=5)
    | NUMBERS.map(lambda text: f"\0{text}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=50 * FUZZ, deadline=None)
@given(VALUES, st.text(max_size=20))
def test_nothing_is_lost_in_json(value: Any, text: str) -> None:
    from inspector.model.values import decimal, integer, transform

    def leaf(item: Any) -> Any:
        if isinstance(item, str) and item.startswith("\0"):
            number = item[1:]
            return (integer if number.lstrip("-").isdigit() else decimal)(number)
        return item

    run = AgentRun.start(text)
    run.absorb(ModelTurn(text=text, calls=(Call("f", transform(value, leaf), "c"),)))
    run.next()
    again = AgentRun.from_json(run.to_json())
    assert again.to_json() == run.to_json()
    # What no double holds is told by a tag; everything else is equal.
    if "1e999" not in run.to_json():
        assert again.data == run.data


CALLS = st.sampled_from(["1.1", "1.2", "2.1", "c1", "nobody"])
TURNS = st.builds(
    ModelTurn,
    text=st.sampled_from([None, "", "words", "{}"]),
    calls=st.lists(
        st.builds(Call, st.sampled_from(["add", "sub", "mul", "final_result"]), st.just({"n": 1}), st.just("c1")),
        max_size=2,
    ).map(tuple),
    usage=st.sampled_from([None, Usage(1, 1)]),
    finish_reason=st.sampled_from([None, "stop", "length"]),
)
EVENTS = st.one_of(
    st.just(Announce()),
    st.builds(Begin, st.just(TOOLS), choice=st.sampled_from([None, "none", "required", ("add",), ("mul",)])),
    st.builds(Record, st.just(Usage(2, 0))),
    st.just(Rollback()),
    st.builds(Turn, TURNS),
    st.builds(Turn, TURNS),
    st.builds(Resolve, st.sampled_from(["fail", "retry", "repair", "skip", "stop", "dance"]), st.just("add")),
    st.just(Heard()),
    st.builds(Retry, st.sampled_from([None, "again"])),
    st.builds(Hold, CALLS),
    st.builds(Start, CALLS),
    st.builds(Answer, CALLS, st.just("x")),
    st.builds(Answer, CALLS, st.just("x")),
    st.builds(Approve, CALLS),
    st.builds(Deny, CALLS),
    st.builds(Edit, CALLS, st.just({})),
    st.builds(Again, CALLS),
    st.just(Steer(Message("user", (Text("psst"),)))),
    st.just(Stop("stop")),
    st.just(Fail("model", "gone")),
    st.just(Configure(max_turns=4)),
    st.just(Scratch({"k": 1})),
    st.just(Remembered()),
)


@settings(max_examples=150 * FUZZ, deadline=None)
@given(st.lists(st.one_of(st.none(), EVENTS), max_size=25), st.booleans())
def test_any_order_of_events_is_taken_or_refused_without_a_trace(events: list[Any], wanted: bool) -> None:
    run = AgentRun.start(
        "go", max_turns=3, output=Output(SCHEMA if wanted else None, "final_result" if wanted else None)
    )
    taken: list[Any] = []
    for event in events:
        before = run.to_json()
        try:
            if event is None:
                run.next()
            else:
                run.send(event)
        except RunFailed:
            pass
        except (ProtocolViolation, RequestError, RunClosed):
            assert run.to_json() == before
            continue
        taken.append(event)
        assert AgentRun.from_json(run.to_json()).to_json() == run.to_json()
        assert run.data.usage.input_tokens == sum(call.usage.input_tokens for call in run.data.calls if call.usage)
        assert [call.index for call in run.data.calls] == list(range(len(run.data.calls)))
        assert run.data.turn <= run.data.max_turns or isinstance(event, Configure)
    again = AgentRun.start(
        "go", max_turns=3, output=Output(SCHEMA if wanted else None, "final_result" if wanted else None)
    )
    for event in taken:
        try:
            if event is None:
                again.next()
            else:
                again.send(event)
        except RunFailed:
            pass
    assert again.to_json() == run.to_json()


def test_the_table_names_every_event() -> None:
    from inspector.runner.effects import AnyEvent

    verbs = {str(kind.__struct_config__.tag) for kind in AnyEvent.__args__}
    assert verbs | {"next"} == set(TRANSITIONS)
