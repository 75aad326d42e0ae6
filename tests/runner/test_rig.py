"""Runs that rig saved go on here, and can be handed back."""

import json
from pathlib import Path

import pytest

from inspector.runner import AgentRun, Call, CallModel, CallTools, Done, ModelTurn, Reasoning, Result, Text, Usage
from inspector.runner.effects import ResolveCall
from inspector.runner.errors import ProtocolViolation, RequestError, RunFailed

DATA = Path(__file__).parent / "data"
CURRENT = ["executing", "resolving", "advancing", "awaiting", "done", "failed", "preparing", "media"]


def saved(name: str) -> str:
    return (DATA / f"rig_{name}.json").read_text()


@pytest.mark.parametrize("name", CURRENT)
def test_a_run_of_0_42_is_written_as_it_was_read(name: str) -> None:
    run = AgentRun.from_rig(saved(name))
    assert json.loads(run.to_rig()) == json.loads(saved(name))
    again = AgentRun.from_json(run.to_json())
    assert again.to_rig() == run.to_rig()
    assert "Zürich" in run.to_rig() or "Zürich" not in saved(name)


def test_numbers_stay_as_written() -> None:
    text = saved("executing").replace("310.5", "310.50")
    assert "310.50" in AgentRun.from_json(AgentRun.from_rig(text).to_json()).to_rig()


@pytest.mark.parametrize("name", ["v0_39_resolving", "format_1_executing"])
def test_other_generations_become_0_42(name: str) -> None:
    run = AgentRun.from_rig(saved(name))
    again = AgentRun.from_rig(run.to_rig())
    assert json.loads(again.to_rig()) == json.loads(run.to_rig())
    assert all(part["type"] for message in json.loads(run.to_rig())["new_messages"] for part in message["content"])


def test_a_batch_goes_on_and_what_was_answered_does_not_run() -> None:
    run = AgentRun.from_rig(saved("executing"))
    effect = run.next()
    assert isinstance(effect, CallTools)
    assert [call.name for call in effect.calls] == ["get_weather", "search_flights"]
    assert effect.calls[0].internal_id == "intl_k2jf8aWq0Zr7TtYxBn4Ec"
    run.absorb_result("call_f9", "LX39")
    half = json.loads(run.to_rig())["state"]["ExecutingTools"]
    assert [slot["preresolved_result"] is None for slot in half] == [True, False, False]
    run.absorb_result("call_w9", {"c": [3, 6]})
    asked = run.next()
    assert isinstance(asked, CallModel)
    names = [part.name for part in asked.prompt.content if isinstance(part, Result)]
    assert names == ["get_weather", "search_flights", "book_hotel"]
    run.absorb(ModelTurn(text="Done."))
    run.next()
    assert json.loads(run.to_rig())["state"]["Done"]["output"] == "Done."


def test_arguments_that_are_json_text_are_what_the_tool_gets() -> None:
    value = json.loads(saved("executing"))
    value["state"]["ExecutingTools"][0]["tool_call"]["function"]["arguments"] = '{"city": "Bern"}'
    value["state"]["ExecutingTools"][1]["tool_call"]["function"]["arguments"] = "to the lake"
    effect = AgentRun.from_rig(json.dumps(value)).next()
    assert isinstance(effect, CallTools)
    assert [call.arguments for call in effect.calls] == [{"city": "Bern"}, "to the lake"]


def test_a_call_that_was_not_on_offer_is_still_to_be_resolved() -> None:
    run = AgentRun.from_rig(saved("resolving"))
    effect = run.next()
    assert isinstance(effect, ResolveCall)
    assert effect.allowed == ("book_hotel", "get_weather", "search_flights")
    run.resolve("repair", "search_flights")
    assert isinstance(run.next(), CallTools)


def test_the_skip_of_an_old_run_is_found_by_its_call() -> None:
    run = AgentRun.from_rig(saved("v0_39_resolving"))
    effect = run.next()
    assert isinstance(effect, ResolveCall)
    assert effect.call.name == "mul"
    run.resolve("skip", "no")
    results = run.next()
    assert isinstance(results, CallModel)
    assert next(part.text for part in results.prompt.content if isinstance(part, Result)) == "div is disabled"


def test_calls_of_a_stream_keep_their_ids() -> None:
    run = AgentRun.from_rig(saved("advancing"))
    effect = run.next()
    assert isinstance(effect, CallTools)
    assert [(call.call_id, call.internal_id) for call in effect.calls] == [
        ("call_dup", "V1StGXR8_Z5jdHi6B-myT"),
        ("call_dup", "Uakgb_J5m9g-0JDMbcJqL"),
    ]


def test_a_call_under_way_and_a_failure_do_not_go_on_by_themselves() -> None:
    with pytest.raises(ProtocolViolation, match="next in the phase awaiting"):
        AgentRun.from_rig(saved("awaiting")).next()
    with pytest.raises(RunFailed, match="does not hold the reason"):
        AgentRun.from_rig(saved("failed")).next()


@pytest.mark.parametrize("word", ["3", "4", "97", '"draft"'])
def test_an_unknown_generation_is_named(word: str) -> None:
    text = saved("format_1_executing").replace('"format": 1', f'"format": {word}')
    with pytest.raises(RequestError) as caught:
        AgentRun.from_rig(text)
    assert word.strip('"') in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"new_messages": 1, "state": 2, "max_turns": 1, "current_turn": 0}', "[" * 100_000],
)
def test_what_is_no_saved_run_is_refused(text: str) -> None:
    with pytest.raises(RequestError):
        AgentRun.from_rig(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"max_turns": ', '"max_turns": "six", "was": '),
        ('"role": "user"', '"role": 7'),
        ('"text": "', '"text": null, "was": "'),
        ('"input_tokens": ', '"input_tokens": "many", "was": '),
        ("Zürich", "\\ud800"),
    ],
)
def test_what_could_not_be_saved_again_is_refused_as_it_is_read(old: str, new: str) -> None:
    text = saved("executing")
    assert old in text
    with pytest.raises(RequestError, match="is damaged"):
        AgentRun.from_rig(text.replace(old, new))


def test_what_rig_cannot_hold_is_not_handed_over() -> None:
    run = AgentRun.from_rig(saved("executing"))
    run.start_call("call_w9")
    with pytest.raises(RequestError, match="may have run"):
        run.to_rig()
    run = AgentRun.from_rig(saved("executing"))
    run.steer("psst")
    with pytest.raises(RequestError, match="messages that wait"):
        run.to_rig()


def test_a_denial_is_handed_over_as_the_answer() -> None:
    run = AgentRun.from_rig(saved("executing"))
    run.deny("call_w9", "too cold")
    slot = json.loads(run.to_rig())["state"]["ExecutingTools"][0]
    assert slot["preresolved_result"]["content"] == [{"type": "text", "text": "too cold"}]


def test_a_run_of_ours_is_handed_over() -> None:
    thought = Reasoning(
        ({"type": "text", "content": {"text": "hm"}, "provider_name": "x"}, {"type": "other", "part": {}}), "r1"
    )
    run = AgentRun.start("go", max_turns=4)
    call = Call("pay", {"n": 1}, "c1", "", {"provider_name": "x"})
    run.absorb(ModelTurn(parts=(thought, Text("so"), call), finish_reason="error", usage=Usage(1, 2, 3)))
    run.next()
    run.hold("c1")
    saved = json.loads(run.to_rig())
    assert saved["new_messages"][1]["content"] == [
        {"type": "reasoning", "id": "r1", "content": [{"type": "text", "content": {"text": "hm"}}]},
        {"type": "text", "text": "so"},
        {
            "type": "toolcall",
            "id": "c1",
            "function": {"name": "pay", "arguments": {"n": 1}},
            "signature": None,
            "additional_params": None,
        },
    ]
    assert saved["completion_calls"][0]["finish_reason"] == {"other": "error"}
    again = AgentRun.from_rig(run.to_rig())
    assert isinstance(again.next(), CallTools)
    again.absorb_result("c1", "ok")
    assert isinstance(again.next(), CallModel)


OUTPUT = {"output_tool_name": "final_result", "output_schema": {"type": "object"}, "max_output_retries": 2}


def test_a_run_of_0_40_is_one_of_0_39_with_an_output_tool() -> None:
    old = json.loads(saved("v0_39_resolving")) | OUTPUT | {"output_retries": 1}
    run = AgentRun.from_rig(json.dumps(old))
    assert (run.data.output.tool, run.data.output.retries, run.data.output.max_retries) == ("final_result", 1, 2)
    written = json.loads(run.to_rig())
    assert {name: written[name] for name in OUTPUT} == OUTPUT
    assert isinstance(AgentRun.from_rig(run.to_rig()).next(), ResolveCall)


def test_results_that_are_json_and_a_finished_run_of_0_41() -> None:
    result = {"type": "toolresult", "id": "c1", "call_id": None, "content": [{"type": "json", "value": {"sum": 7.50}}]}
    call = {"id": "c1", "call_id": None, "function": {"name": "add", "arguments": {"a": 3}}}
    old = json.loads(saved("v0_39_resolving")) | OUTPUT
    old["new_messages"] = [
        {"role": "user", "content": [{"type": "text", "text": "add"}]},
        {"role": "assistant", "id": None, "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "id": None, "content": [{"text": "seven"}]},
    ]
    done = {"output": "seven", "usage": old["usage"], "completion_calls": [], "messages": old["new_messages"]}
    run = AgentRun.from_rig(json.dumps(old | {"state": {"Done": done}}))
    assert run.next() == Done("seven")
    told = [part for message in run.messages for part in message.content if isinstance(part, Result)]
    assert [(part.name, part.text) for part in told] == [("add", '{"sum":7.5}')]
    written = json.loads(run.to_rig())
    assert written["state"]["Done"]["content"] == [{"type": "text", "text": "seven"}]
    assert written["new_messages"][2]["content"][0]["name"] == "add"


def test_format_2_differs_from_1_in_nothing_that_a_run_needs() -> None:
    second = saved("format_1_executing").replace('"format": 1', '"format": 2')
    assert AgentRun.from_rig(second).to_rig() == AgentRun.from_rig(saved("format_1_executing")).to_rig()
