"""Saved rig runs: their states, their generations, and what is wrong with them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.errors import InspectorError
from inspector.formats import document, open_path
from inspector.formats.jsontext import Place, parse
from inspector.formats.pairing import outline
from inspector.formats.readers.rig.parts import messages_of, outlines, quick_outlines
from inspector.model.values import decimal, to_json
from inspector.report.view import View, view
from tests.formats.rigfiles import answered, asked, assistant, call, saved, slot, text, usage, user, written
from tests.fuzz import check, fuzz

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
GO = user(text("go"))


def shown(folder: Path, run: dict[str, Any] | bytes, step: int | None = None) -> View:
    path = folder / "run.json"
    path.write_bytes(run if isinstance(run, bytes) else written(run))
    source = open_path(str(path)).open()
    for _ in source.index():
        pass
    last = len(source)
    return view(source, last if step is None else step, 1, last + 1)


def kinds(found: View) -> list[tuple[str, str]]:
    return [(step.kind, step.status) for step in found.steps]


def pending(found: View) -> list[tuple[str, str | None, str]]:
    assert found.state is not None
    return [(one.name, one.call_id, one.status) for one in found.state.pending or ()]


def told(found: View) -> str:
    return "\n".join(f"{problem.where}: {problem.message}" for problem in found.problems)


def test_a_batch_that_waits(tmp_path: Path) -> None:
    asks = assistant(text("On it."), asked("a", "read", {"p": 1}), asked("b", "pay", {"n": 310.5}))
    batch = [slot("a", internal_call_id="x1"), slot("b", "pay", "denied: too much", internal_call_id="x2")]
    found = shown(tmp_path, saved({"ExecutingTools": batch}, GO, asks, completion_calls=[{"usage": usage(7, 3)}]))
    assert (found.source.format, found.source.version) == ("rig", None)
    assert (found.run.kind, found.run.status, found.run.reason) == ("agent", "suspended", "tools")
    assert kinds(found) == [("model", "done"), ("tools", "pending")]
    assert pending(found) == [("read", "a", "ready"), ("pay", "b", "answered")]
    assert found.state is not None
    first, second = found.state.pending or ()
    assert (first.internal_call_id, first.result, first.arguments) == ("x1", None, {"of": "a"})
    assert second.result == "denied: too much"
    assert found.steps[0].usage is not None
    assert found.steps[0].usage.input_tokens == 7
    assert found.run.usage is not None
    assert (found.run.usage.input_tokens, found.run.usage.output_tokens) == (10, 5)
    assert found.definition.tools_known == "called"
    assert [tool.name for tool in found.definition.tools or ()] == ["read", "pay"]
    assert (found.resume.possible, found.resume.driver) == (True, "agent")
    assert found.state.values is not None
    assert found.state.values["max_turns"] == 6
    assert found.problems == []
    before = shown(tmp_path, saved({"ExecutingTools": batch}, GO, asks), 1)
    assert pending(before) == [("read", "a", "ready"), ("pay", "b", "ready")]
    assert shown(tmp_path, saved({"ExecutingTools": batch}, GO, asks), 0).state is not None


def test_all_answered_is_not_waiting_for_tools(tmp_path: Path) -> None:
    found = shown(tmp_path, saved({"ExecutingTools": [slot("a", answer="no")]}, GO, assistant(asked("a"))))
    assert (found.run.status, found.run.reason, found.resume.possible) == ("interrupted", None, True)
    assert kinds(found)[-1] == ("tools", "pending")


@pytest.mark.parametrize(
    ("state", "status", "reason", "possible", "reasons"),
    [
        ("PreparingRequest", "interrupted", None, True, ()),
        ("AwaitingModel", "interrupted", None, False, ("model_in_flight",)),
        ("Failed", "failed", None, False, ("terminal",)),
        ({"Done": {"output": "x", "messages": None, "content": []}}, "completed", None, False, ("terminal",)),
        ({"AwaitingAdvance": {"items": [text("x")], "skipped": {}}}, "interrupted", None, True, ()),
        ({"AwaitingAdvance": {"items": [asked("a")], "skipped": {}}}, "suspended", "tools", True, ()),
        ("Exploding", "unknown", None, False, ("version_unsupported",)),
        (17, "unknown", None, False, ("value_unreadable",)),
        (None, "unknown", None, False, ("value_unreadable",)),
        ({"ExecutingTools": []}, "interrupted", None, True, ()),
        ({"ExecutingTools": {"odd": 1}}, "unknown", None, False, ("value_unreadable",)),
        ({"AwaitingModel": {"recorded": True}}, "interrupted", None, False, ("model_in_flight",)),
    ],
)
def test_states(
    state: Any, status: str, reason: str | None, possible: bool, reasons: tuple[str, ...], tmp_path: Path
) -> None:
    found = shown(tmp_path, saved(state, GO))
    assert (found.run.status, found.run.reason) == (status, reason)
    assert (found.resume.possible, found.resume.reasons) == (possible, reasons)
    assert found.run.error is None
    if status == "unknown":
        assert "state" in told(found)


def test_a_model_call_in_flight_is_ambiguous(tmp_path: Path) -> None:
    found = shown(tmp_path, saved("AwaitingModel", GO, assistant(asked("a")), user(answered("a"))))
    assert kinds(found) == [("model", "done"), ("tools", "done")]
    assert found.state is not None
    assert [(one.kind, one.status) for one in found.state.pending or ()] == [("model", "ambiguous")]


def test_a_finished_run_shows_its_messages_wherever_they_are(tmp_path: Path) -> None:
    messages = [GO, assistant(text("done"))]
    for run in (
        saved({"Done": {"output": "done"}}, *messages),
        saved({"Done": {"output": "done", "messages": messages}}),
    ):
        found = shown(tmp_path, run)
        assert kinds(found) == [("model", "done")]
        assert found.state is not None
        assert found.state.values is not None
        assert found.state.values["output"] == "done"
    no_messages = shown(tmp_path, saved({"Done": {"output": "done", "messages": []}}))
    assert no_messages.steps == []


def test_history_and_later_input(tmp_path: Path) -> None:
    history = [{"role": "system", "content": "be kind"}, user(text("hi")), assistant(asked("h")), user(answered("h"))]
    run = saved("PreparingRequest", GO, assistant(text("a")), user(text("b")), user(text("c")), chat_history=history)
    found = shown(tmp_path, run)
    assert [step.kind for step in found.steps] == ["model", "input", "input"]
    assert [len((shown(tmp_path, run, step).state or found.state).messages or ()) for step in range(4)] == [5, 6, 7, 8]


def test_an_answer_that_is_not_taken_over_yet(tmp_path: Path) -> None:
    items = [text("Let me look."), asked("d", "w", {"c": 1}), asked("d", "w", {"c": 2}), asked("s", "w")]
    body = {
        "items": items,
        "skipped": {"3": answered("s", "skipped")},
        "internal_call_ids": [["d", "i1"], ["d", "i2"], ["s", "i3"]],
    }
    found = shown(tmp_path, saved({"AwaitingAdvance": body}, GO))
    assert found.state is not None
    rows = [(one.internal_call_id, one.arguments, one.status) for one in found.state.pending or ()]
    assert rows == [("i1", {"c": 1}, "ready"), ("i2", {"c": 2}, "ready"), ("i3", None, "answered")]
    assert (found.state.messages or ())[-1].text == "Let me look."
    assert found.problems == []
    del body["internal_call_ids"]
    assert "share the id d" in told(shown(tmp_path, saved({"AwaitingAdvance": body}, GO)))


def test_the_output_tool_is_not_run(tmp_path: Path) -> None:
    body = {"items": [asked("o", "final_result", {"x": 1})], "skipped": {}}
    found = shown(tmp_path, saved({"AwaitingAdvance": body}, GO, output_tool_name="final_result"))
    assert found.run.status == "interrupted"
    assert found.state is not None
    assert "output tool" in str((found.state.pending or ())[0].note)


def test_what_is_called_beside_the_output_tool_is_dropped(tmp_path: Path) -> None:
    items = [asked("a", "read"), asked("o", "final_result", {"x": 1})]
    state = {"AwaitingAdvance": {"items": items, "skipped": {}}}
    found = shown(tmp_path, saved(state, GO, output_tool_name="final_result"))
    assert (found.run.status, found.run.reason) == ("interrupted", None)
    assert pending(found)[0] == ("read", "a", "waiting")


@pytest.mark.parametrize("key", ["fc_1", "call_1", "0"])
@pytest.mark.parametrize("state", ["AwaitingAdvance", "ResolvingToolCalls"])
def test_the_answer_of_a_skipped_call_is_found_by_any_of_its_ids(key: str, state: str, tmp_path: Path) -> None:
    old = {"id": "fc_1", "call_id": "call_1", "function": {"name": "add", "arguments": {}}}
    answer = {"type": "toolresult", "id": "fc_1", "call_id": "call_1", "content": [text("disabled")]}
    body = {"items": [old], "original_choice": [old], "skipped": {key: answer}, "allowed_tool_names": ["add"]}
    found = shown(tmp_path, saved({state: body}, GO))
    assert pending(found) == [("add", "call_1", "answered")]


def test_calls_that_are_being_resolved(tmp_path: Path) -> None:
    items = [asked("a", "read"), asked("f", "fly"), asked("g", "gone")]
    body = {
        "original_choice": [asked("a", "raed"), asked("f", "fly"), asked("g", "gone")],
        "items": items,
        "executable_tool_names": ["pay", "read"],
        "allowed_tool_names": ["read"],
        "skipped": {"2": answered("g", "no such tool")},
    }
    found = shown(tmp_path, saved({"ResolvingToolCalls": body}, GO))
    assert (found.run.status, found.run.reason) == ("suspended", "invalid_tool_call")
    assert pending(found) == [("read", "a", "ready"), ("fly", "f", "waiting"), ("gone", "g", "answered")]
    assert found.state is not None
    assert "raed" in str((found.state.pending or ())[0].note)
    assert found.definition.tools_known == "advertised"
    assert [tool.name for tool in found.definition.tools or ()] == ["pay", "read"]


def test_the_generation_without_types(tmp_path: Path) -> None:
    item = {"id": "fc_1", "call_id": "call_1", "function": {"name": "add", "arguments": {"x": 1}}}
    asks = {"role": "assistant", "id": None, "content": [{"text": "so"}, {"id": "r", "content": ["thinking"]}, item]}
    results = user({"type": "toolresult", "id": "fc_1", "call_id": "call_1", "content": [text("3")]})
    body = {"items": [item], "allowed_tool_names": [], "skipped": {"call_1": results["content"][0]}}
    found = shown(tmp_path, saved({"ResolvingToolCalls": body}, GO, asks, results))
    assert kinds(found) == [("model", "done"), ("tools", "done"), ("model", "done"), ("tools", "pending")]
    assert pending(found) == [("add", "call_1", "answered")]
    assert found.problems == []


def test_later_formats(tmp_path: Path) -> None:
    definitions = [{"name": "read", "description": "Reads.", "parameters": {"type": "object"}}]
    more = {"turn_tools": {"turn": 1, "definitions": definitions}, "previous_model": "m-1", "entries": []}
    run = saved({"ExecutingTools": [slot("a", block_id="wire:a")]}, GO, assistant(asked("a")), **more)
    for number in (1, 2):
        found = shown(tmp_path, run | {"format": number})
        assert found.source.version == str(number)
        assert found.definition.tools_known == "advertised"
        (tool,) = found.definition.tools or ()
        assert (tool.name, tool.description, tool.schema) == ("read", "Reads.", {"type": "object"})
        assert found.definition.model == "m-1"
        assert found.state is not None
        assert (found.state.pending or ())[0].internal_call_id == "wire:a"
        assert found.resume.possible


def test_format_4_keeps_each_answer(tmp_path: Path) -> None:
    slots = [{"Answered": answered("a", "one")}, {"Execute": call("b", "pay")}, {"Malformed": call("c", "odd")}]
    run = saved({"ExecutingTools": [{"slots": slots}, {"tool_choice": None}]}, GO, format=4)
    found = shown(tmp_path, run)
    assert pending(found) == [("read", "a", "answered"), ("pay", "b", "ready"), ("odd", "c", "waiting")]
    assert (found.resume.possible, found.resume.reasons) == (False, ("version_unsupported",))
    assert "format 4" in told(found)


def test_an_answer_of_format_4_keeps_the_arguments_of_its_call(tmp_path: Path) -> None:
    slots = [{"Answered": answered("a", "one")}, {"Execute": call("b", "pay", {"sum": 2})}]
    asks = assistant(asked("a", arguments={"of": 1}), asked("b", "pay", {"sum": 2}))
    found = shown(tmp_path, saved({"ExecutingTools": [{"slots": slots}, None]}, GO, asks, format=4))
    assert found.state is not None
    assert [one.arguments for one in found.state.pending or ()] == [{"of": 1}, {"sum": 2}]


def test_internal_ids_are_those_of_their_calls(tmp_path: Path) -> None:
    """Whatever their order, and where a call has none."""
    body = {"items": [asked("a"), asked("b"), asked("c")], "internal_call_ids": [["c", "i3"], ["b", "i2"]]}
    found = shown(tmp_path, saved({"AwaitingAdvance": {**body, "has_tool_calls": True, "skipped": {}}}, GO))
    assert found.state is not None
    assert [one.internal_call_id for one in found.state.pending or ()] == [None, "i2", "i3"]


def test_the_proposed_schema_is_read_and_not_resumed(tmp_path: Path) -> None:
    found = shown(tmp_path, saved("PreparingRequest", GO, turns=[{"turn": 1}], **{"$schemaVersion": "1.0"}))
    assert (found.source.version, found.run.status) == ("1.0", "interrupted")
    assert found.state is not None
    assert found.state.values is not None
    assert found.state.values["turns"] == [{"turn": 1}]
    assert found.resume.reasons == ("version_unsupported",)
    assert "no release took up" in told(found)


@pytest.mark.parametrize("key", ["format", "$schemaVersion"])
@pytest.mark.parametrize("value", [3, 97, 0, -1, 1.0, "draft-xyz", True, [], {"a": 1}, "1"])
def test_unknown_formats_are_named_and_refused(key: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InspectorError) as caught:
        shown(tmp_path, saved("PreparingRequest", GO, **{key: value}))
    assert key in str(caught.value)
    assert json.dumps(value).strip('"')[:3] in str(caught.value)


def test_missing_and_unknown_fields(tmp_path: Path) -> None:
    run = {"new_messages": [GO], "state": "PreparingRequest", "max_turns": 1, "from_the_future": {"x": 1}}
    found = shown(tmp_path, run)
    assert found.run.status == "interrupted"
    assert found.run.usage is None
    assert found.definition.tools is None
    assert found.definition.tools_known == "none"
    assert found.state is not None
    assert found.state.values == {"max_turns": 1, "from_the_future": {"x": 1}}
    assert "state is not in the file" in told(
        shown(tmp_path, {key: run[key] for key in run if key != "state"} | {"tool_choice": None})
    )


def test_a_missing_total_is_summed_up(tmp_path: Path) -> None:
    calls = [{"usage": usage(7, 3)}, {"usage": usage(1, 2)}]
    found = shown(tmp_path, saved("PreparingRequest", GO, usage=None, completion_calls=calls))
    assert found.run.usage is not None
    assert (found.run.usage.input_tokens, found.run.usage.output_tokens) == (8, 5)
    calls.append({"usage": None})  # type: ignore[dict-item]
    assert shown(tmp_path, saved("PreparingRequest", GO, usage=None, completion_calls=calls)).run.usage is None


def test_parts_that_are_no_text(tmp_path: Path) -> None:
    image = {"type": "image", "data": {"type": "base64", "value": "iVBOR"}, "media_type": "png"}
    link = {"type": "document", "data": {"type": "url", "value": "https://x.invalid/a.pdf"}}
    result = {"type": "toolresult", "call": "a", "content": [text("got"), image, {"type": "json", "value": {"k": 1}}]}
    reasoning = {"type": "reasoning", "id": None, "content": [{"type": "summary", "content": "hm"}]}
    found = shown(
        tmp_path,
        saved(
            "PreparingRequest",
            user(text("see"), image, link),
            assistant(reasoning, asked("a")),
            user(result),
            assistant(reasoning),
        ),
    )
    assert found.state is not None
    texts = [message.text for message in found.state.messages or ()]
    assert texts == [
        "see\n[image png 5 characters]\n[document https://x.invalid/a.pdf]",
        None,
        'got\n[image png 5 characters]\n{"k":1}',
        "[reasoning: hm]",
    ]
    assert found.problems == []


def test_what_does_not_pair_is_told_with_its_place(tmp_path: Path) -> None:
    orphan = saved("PreparingRequest", GO, assistant(asked("a")), user(answered("a"), answered("ghost_9", "deleted")))
    lost = saved("PreparingRequest", GO, assistant(asked("lost_7")), user(text("never mind")))
    twice = saved({"ExecutingTools": [slot("c1"), slot("c1")]}, GO, assistant(asked("c1"), asked("c1", "pay")))
    dangling = saved("Failed", GO, assistant(asked("end_1")))
    for run, name in ((orphan, "ghost_9"), (lost, "lost_7"), (twice, "c1"), (dangling, "end_1")):
        found = shown(tmp_path, run)
        (problem,) = found.problems
        assert name in problem.message
        offset = int(problem.where.removeprefix("run.json:1 byte "))
        assert (tmp_path / "run.json").read_bytes()[offset : offset + 8] == b'{"role":'
    assert pending(shown(tmp_path, dangling)) == [("read", "end_1", "ambiguous")]


WRONG = (
    ({"ExecutingTools": "x"}, "ExecutingTools holds text, where a list is expected", False),
    ({"ExecutingTools": None}, "ExecutingTools holds null", False),
    ({"ExecutingTools": ["x", slot("a")]}, "ExecutingTools[0] is text", True),
    ({"ExecutingTools": [slot("a") | {"tool_call": 5}]}, "ExecutingTools[0].tool_call is a number", True),
    ({"ExecutingTools": [slot("a") | {"preresolved_result": "x"}]}, "[0].preresolved_result is text", True),
    ({"ExecutingTools": [{"slots": [{"Burn": 1}]}, {}]}, "ExecutingTools[0].slots[0] is none of Execute", True),
    ({"ExecutingTools": [{"slots": [{"Execute": "x"}]}, {}]}, "slots[0].Execute is text", True),
    ({"AwaitingAdvance": [1]}, "AwaitingAdvance holds a list, where an object is expected", False),
    ({"AwaitingAdvance": {"items": "x"}}, "AwaitingAdvance.items is text, where a list", True),
    ({"AwaitingAdvance": {"items": [asked("a") | {"function": []}]}}, "items[0].function is a list", True),
    ({"AwaitingAdvance": {"items": [], "internal_call_ids": [["a"]]}}, "internal_call_ids[0] is no pair", True),
    ({"ResolvingToolCalls": True}, "ResolvingToolCalls holds true or false", False),
    ({"ResolvingToolCalls": {"items": [7], "skipped": {"0\x1b": 1}}}, "skipped.0\\u001b is a number", True),
    ({"ResolvingToolCalls": {"items": [], "allowed_tool_names": [1]}}, "allowed_tool_names[0] is a number", True),
    ({"Done": "x"}, "Done holds text, where an object is expected", False),
    ({"Done": {"output": [1]}}, "Done.output is a list, where text", True),
    ({"PreparingRequest": 5}, "PreparingRequest holds a number", True),
    ({"Failed": None, "Done": {}}, "names 2: Failed, Done", False),
    ("Done", "the state Done stands without what it holds", False),
    ({}, "the state names none", False),
)


@pytest.mark.parametrize("generation", [{}, {"output_retries": 0}, {"format": 1}, {"format": 4}])
def test_states_of_another_shape_are_named_with_their_place(generation: dict[str, Any], tmp_path: Path) -> None:
    for state, words, known in WRONG:
        found = shown(tmp_path, saved(state, GO, assistant(asked("a")), **generation))
        (place,) = {problem.where for problem in found.problems if words in problem.message} or {""}
        assert place, (state, told(found))
        data = (tmp_path / "run.json").read_bytes()
        assert data[int(place.split(" ")[-1]) :].startswith(json.dumps(state).encode())
        assert (found.run.status == "unknown") is not known
        if not known:
            assert "value_unreadable" in found.resume.reasons or generation.get("format") == 4


@pytest.mark.parametrize("name", ["chat_history", "new_messages", "completion_calls", "usage", "turn_tools"])
def test_fields_of_another_kind_are_named_with_their_place(name: str, tmp_path: Path) -> None:
    found = shown(tmp_path, saved("PreparingRequest", GO) | {name: "x"})
    (problem,) = found.problems
    assert f"{name} is text, where a" in problem.message
    assert (tmp_path / "run.json").read_bytes()[int(problem.where.split(" ")[-1]) :].startswith(b'"x"')


@pytest.mark.parametrize("at", [0, 1, 2])
def test_text_beside_results_is_one_message_behind_them(at: int, tmp_path: Path) -> None:
    parts = [answered("a", "1"), answered("b", "2")]
    parts.insert(at, text("and one thing more"))
    found = shown(tmp_path, saved("PreparingRequest", GO, assistant(asked("a"), asked("b")), user(*parts)))
    assert kinds(found) == [("model", "done"), ("tools", "done"), ("input", "done")]
    assert found.state is not None
    assert [message.text for message in (found.state.messages or ())[2:]] == ["1", "2", "and one thing more"]
    assert (told(found), found.state.pending) == ("", ())


def test_unknown_parts_and_roles_are_told(tmp_path: Path) -> None:
    odd = assistant({"type": "hologram\n", "value": 1}, text("x"))
    found = shown(tmp_path, saved("PreparingRequest", GO, odd, {"role": "oracle", "content": "y"}, 17, None))
    assert "hologram" in told(found)
    assert "oracle" in told(found)
    assert told(found).count("no object") == 2
    assert found.run.steps == 4


def test_arguments_that_are_json_text_are_parsed(tmp_path: Path) -> None:
    told_as = ['{"city": "Zürich", "n": 310.50}', "[1]", "to the lake"]
    asks = assistant(*(asked(str(number), "go", words) for number, words in enumerate(told_as)))
    batch = [{"tool_call": call(str(number), "go", words)} for number, words in enumerate(told_as)]
    meant = [{"city": "Zürich", "n": decimal("310.50")}, [1], "to the lake"]
    for state in ({"ExecutingTools": batch}, {"AwaitingAdvance": {"items": asks["content"]}}):
        messages = [GO] if "AwaitingAdvance" in state else [GO, asks]
        for step in (1, 2):
            found = shown(tmp_path, saved(state, *messages), step)
            assert found.state is not None
            assert [one.arguments for one in found.state.pending or ()] == meant
            assert [one.arguments for one in (found.state.messages or ())[-1].calls or ()] == meant
            assert "no JSON" in told(found)
            assert "[2]" in told(found) or "call 2" in told(found)


def test_arguments_that_break_off_are_not_known(tmp_path: Path) -> None:
    state = written(saved({"ExecutingTools": [slot("a"), slot("b")]}, GO, assistant(asked("a"), asked("b"))))
    begun = state.rindex(b'"arguments"') + len(b'"arguments": {')
    found = shown(tmp_path, state[:begun])
    assert found.state is not None
    assert [one.arguments is None for one in found.state.pending or ()] == [False, True]


def test_a_torn_run_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = written(saved("PreparingRequest", GO, assistant(text("half an answer")), user(text("more"))))
    found = shown(tmp_path, whole[: whole.index(b"an answer")])
    assert found.run.status == "unknown"
    assert found.resume.reasons == ("value_unreadable",)
    assert found.state is not None
    assert [message.text for message in found.state.messages or ()][:1] == ["go"]
    assert "breaks off" in told(found)
    with pytest.raises(InspectorError, match=r"byte \d+: .*breaks off"):
        shown(tmp_path, whole[: whole.index(b'"chat_history"')])
    state = written(saved({"ExecutingTools": [slot("a"), slot("b")]}, GO, assistant(asked("a"), asked("b"))))
    torn = shown(tmp_path, state[: state.rindex(b'"of"')])
    assert torn.resume.reasons == ("value_unreadable",)
    assert [one[1] for one in pending(torn)] == ["a", "b"]


@pytest.mark.parametrize(
    "other",
    [
        {"state": "Exploding", "max_turns": 3},
        {"new_messages": []},
        {"max_turns": 1, "tool_choice": None, "state": {}},
        {"messages": [GO], "state": {}},
        [],
    ],
)
def test_what_is_no_rig_run_is_left_to_others(other: Any, tmp_path: Path) -> None:
    with pytest.raises(InspectorError) as caught:
        shown(tmp_path, json.dumps(other).encode())
    assert "rig run" not in str(caught.value)


def test_sorted_keys_and_a_long_history_are_known(tmp_path: Path) -> None:
    history = [user(text("x" * 1000)), assistant(text("y"))] * 100
    run = saved("PreparingRequest", GO, chat_history=history)
    found = shown(tmp_path, written(dict(sorted(run.items()))))
    assert found.source.format == "rig"
    assert found.run.steps == 0


ids = st.sampled_from(["a", "b", ""])
words = st.text(st.characters(codec="utf-8"), max_size=5)
names = st.sampled_from(["read", "", "p\x1bay"])
parts = st.one_of(
    st.builds(text, words),
    st.builds(asked, ids, names, st.sampled_from([{"x": 1}, '{"x": 1}', "x", None])),
    st.builds(answered, ids, words),
    st.just({"type": "image", "data": {"type": "unknown"}}),
    st.just({"type": "reasoning", "content": ["x"]}),
    st.just({"type": "hologram"}),
    st.builds(lambda one: {"text": one}, words),
    st.builds(lambda one, two: {"id": one, "call_id": two, "function": {"name": "add"}}, ids, ids | st.none()),
    st.sampled_from([None, 7, "x", {}, {"type": None}, {"type": 7}, {"type": "toolcall"}, {"type": "toolresult"}]),
)
contents = st.lists(parts, max_size=4) | words | st.none() | st.just(7)
messages = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system", "oracle", None]),
    contents,
) | st.sampled_from([None, 7, {}, {"role": "user"}])


@settings(max_examples=100 * TIMES, deadline=None, database=None)
@given(messages)
def test_outlines_agree_with_the_messages(message: Any) -> None:
    raw = json.dumps(message).encode()
    value = parse(raw, Place("run.json"), [])
    slow = outlines(value, lambda problem: None)
    assert [(mark, call_ids) for mark, call_ids, _ in slow] == [outline(one) for one in messages_of(value)]
    quick = quick_outlines(raw)
    assert quick is None or quick == slow


@settings(max_examples=25 * TIMES, deadline=None, database=None)
@given(st.lists(messages, max_size=6), st.lists(messages, max_size=3), st.sampled_from(["PreparingRequest", "Failed"]))
def test_a_large_file_says_what_a_small_one_says(
    tmp_path_factory: pytest.TempPathFactory, told: list[Any], history: list[Any], state: str
) -> None:
    folder = tmp_path_factory.mktemp("rig")
    run = saved(state, *told, chat_history=history)
    small = to_json(shown(folder, run))
    limit = document.WHOLE_LIMIT
    document.WHOLE_LIMIT = 0
    try:
        large = to_json(shown(folder, run))
    finally:
        document.WHOLE_LIMIT = limit
    assert large == small


MEMORY = """
import sys
from inspector.formats import open_path
def anonymous():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("RssAnon"))
open_path(sys.argv[1]).close()
before = anonymous()
run = open_path(sys.argv[2]).open()
for _ in run.index():
    pass
run.steps(1, 50), run.state(len(run)).messages[-1], run.state(3)
print(len(run), anonymous() - before)
"""


def test_a_large_run_takes_little_memory(tmp_path: Path) -> None:
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    small.write_bytes(written(saved("PreparingRequest", GO)))
    pair = written(assistant(text("x" * 400), asked("a"))), written(user(answered("a", "y" * 400)))
    rest = written(saved("PreparingRequest"))[1:].replace(b'"new_messages": [], ', b"")
    large.write_bytes(b'{"new_messages": [' + written(GO) + b", " + b", ".join(pair * 12_000) + b"], " + rest)
    done = subprocess.run([sys.executable, "-c", MEMORY, small, large], capture_output=True, text=True, check=True)
    steps, grown = map(int, done.stdout.split())
    assert steps == 24_000
    assert grown <= 0.2 * large.stat().st_size


@pytest.mark.parametrize(
    "run",
    [
        saved(
            {"ExecutingTools": [slot("a"), slot("b", answer="no")]}, GO, assistant(text("x"), asked("a"), asked("b"))
        ),
        saved({"ResolvingToolCalls": {"items": [asked("a")], "allowed_tool_names": []}}, GO, chat_history=[GO]),
        saved(
            {"Done": {"output": "x", "messages": [GO, assistant(text("x"))]}}, completion_calls=[{"usage": usage(1, 2)}]
        ),
        saved({"ExecutingTools": [{"slots": [{"Execute": call("a")}]}]}, GO, format=4),
        saved(
            "PreparingRequest", GO, assistant(asked("a")), user(answered("a")), format=1, turn_tools={"definitions": []}
        ),
    ],
)
def test_any_damage(run: dict[str, Any], tmp_path: Path) -> None:
    opened, _ = fuzz(written(run, indent=1), tmp_path, count=12, seconds=20)
    assert opened


def test_any_damage_of_a_large_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "WHOLE_LIMIT", 0)
    run = saved("PreparingRequest", GO, assistant(asked("a")), user(answered("a")), assistant(text("x")))
    assert check(written(run), folder=tmp_path)
    fuzz(written(run), tmp_path, count=20, seconds=20)
