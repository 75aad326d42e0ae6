"""Messages, calls, tools and usage as conventions before `gen_ai.input.messages` have them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats.readers.opentelemetry import genai
from inspector.formats.readers.opentelemetry.run import Trace
from inspector.formats.readers.opentelemetry.span import Event, Span, read
from inspector.model.run import Call, Message, State, Tool, Usage
from inspector.model.values import to_json
from tests.formats.test_opentelemetry import attribute, lines, opened, span
from tests.fuzz import TIMES

ASKED = {"path": "/a", "deep": [1]}
SCHEMA = {"type": "object"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.jsonl"


def part(number: int, values: dict[str, Any], *events: dict[str, Any], parent: int | None = 0) -> dict[str, Any]:
    pairs = [
        {"key": name, "value": {"intValue": str(value)}} if isinstance(value, int) else attribute(name, value)
        for name, value in values.items()
    ]
    return span(number, parent=parent, attributes=pairs, events=list(events))


def event(kind: str, /, **values: Any) -> dict[str, Any]:
    return {"name": kind, "attributes": [attribute(key.replace("__", "."), value) for key, value in values.items()]}


LLMETRY = {
    "llm.request.type": "chat",
    "gen_ai.request.model": "m1",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "rules",
    "gen_ai.prompt.10.role": "tool",
    "gen_ai.prompt.10.tool_call_id": "c0",
    "gen_ai.prompt.10.content": '[{"type": "row"}]',
    "gen_ai.prompt.2.role": "user",
    "gen_ai.prompt.2.content": '[{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]',
    "gen_ai.prompt.3.role": "assistant",
    "gen_ai.prompt.3.tool_calls.0.id": "c0",
    "gen_ai.prompt.3.tool_calls.0.name": "list",
    "gen_ai.prompt.3.tool_calls.0.arguments": "{}",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "I look.",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "read",
    "gen_ai.completion.0.tool_calls.0.arguments": json.dumps(ASKED),
    "gen_ai.completion.0.tool_calls.1.id": "c2",
    "gen_ai.completion.0.tool_calls.1.name": "wipe",
    "gen_ai.completion.0.tool_calls.1.arguments": "{}",
    "llm.request.functions.0.name": "read",
    "llm.request.functions.0.description": "Reads.",
    "llm.request.functions.0.parameters": json.dumps(SCHEMA),
    "gen_ai.usage.prompt_tokens": 7,
    "gen_ai.usage.completion_tokens": 3,
}
_MESSAGE = "llm.input_messages.{}.message.{}"
_CALL = "message.tool_calls.{}.tool_call.{}"
INFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "m1",
    _MESSAGE.format(0, "role"): "system",
    _MESSAGE.format(0, "content"): "rules",
    _MESSAGE.format(1, "role"): "user",
    _MESSAGE.format(1, "contents.0.message_content.type"): "text",
    _MESSAGE.format(1, "contents.0.message_content.text"): "look",
    _MESSAGE.format(1, "contents.1.message_content.type"): "image",
    _MESSAGE.format(1, "contents.1.message_content.image.image.url"): "x",
    _MESSAGE.format(2, "role"): "assistant",
    "llm.input_messages.2." + _CALL.format(0, "id"): "c0",
    "llm.input_messages.2." + _CALL.format(0, "function.name"): "list",
    "llm.input_messages.2." + _CALL.format(0, "function.arguments"): "{}",
    _MESSAGE.format(3, "role"): "tool",
    _MESSAGE.format(3, "tool_call_id"): "c0",
    _MESSAGE.format(3, "content"): '[{"type": "row"}]',
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "I look.",
    "llm.output_messages.0." + _CALL.format(0, "id"): "c1",
    "llm.output_messages.0." + _CALL.format(0, "function.name"): "read",
    "llm.output_messages.0." + _CALL.format(0, "function.arguments"): json.dumps(ASKED),
    "llm.output_messages.0." + _CALL.format(1, "id"): "c2",
    "llm.output_messages.0." + _CALL.format(1, "function.name"): "wipe",
    "llm.output_messages.0." + _CALL.format(1, "function.arguments"): "{}",
    "llm.tools.0.tool.json_schema": json.dumps(
        {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": SCHEMA}}
    ),
    "llm.token_count.prompt": 7,
    "llm.token_count.completion": 3,
}
LLMETRY_TOOL = {"traceloop.span.kind": "tool", "traceloop.entity.name": "read", "traceloop.entity.output": '"text"'}
INFERENCE_TOOL = {"openinference.span.kind": "TOOL", "tool.name": "read", "output.value": '"text"'}


@pytest.mark.parametrize(
    ("call", "tool", "image"),
    [(LLMETRY, LLMETRY_TOOL, "[image_url]"), (INFERENCE, INFERENCE_TOOL, "[image]")],
    ids=["OpenLLMetry", "OpenInference"],
)
def test_attributes_with_numbers(path: Path, call: dict[str, Any], tool: dict[str, Any], image: str) -> None:
    run = opened(path, lines(part(0, {}, parent=None), part(1, call), part(3, tool)))
    steps = run.steps(1, 4)
    assert [step.kind for step in steps] == ["node", "model", "tools"]
    assert steps[1].usage == run.run().usage == Usage(input_tokens=7, output_tokens=3)
    assert steps[1].summary == f"I look. → read({to_json(ASKED).replace(',', ', ').replace(':', ': ')}), wipe({{}})"
    state = run.state(2)
    assert state is not None
    calls = (Call(name="read", call_id="c1", arguments=ASKED), Call(name="wipe", call_id="c2", arguments={}))
    assert list(state.messages or ()) == [
        Message(role="system", text="rules"),
        Message(role="user", text=f"look\n{image}"),
        Message(role="assistant", calls=(Call(name="list", call_id="c0", arguments={}),)),
        Message(role="tool", text='[{"type": "row"}]', call_id="c0"),
        Message(role="assistant", text="I look.", calls=calls),
    ]
    assert [(one.name, one.status) for one in state.pending or ()] == [("read", "ready"), ("wipe", "ready")]
    assert not any(genai.older.is_message(name) for name in state.values or ())
    last = run.state(3)
    assert last is not None
    assert [one.call_id for one in last.pending or ()] == ["c2"]
    found = run.definition()
    assert (found.model, found.tools) == ("m1", (Tool(name="read", description="Reads.", schema=SCHEMA),))


CHAT = {"gen_ai.operation.name": "chat"}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": json.dumps(ASKED)}}]
BLOCKS = [{"text": "I look."}, {"toolUse": {"toolUseId": "c1", "name": "read", "input": ASKED}}]
ANSWER = {"role": "assistant", "content": "I look.", "tool_calls": CALLS}
LISTED = [
    {"event.name": "gen_ai.user.message", "content": "look", "role": "user"},
    {"event.name": "gen_ai.tool.message", "content": "rows", "role": "tool", "id": "c0", "name": "list"},
    {"event.name": "gen_ai.choice", "index": 0, "message": ANSWER},
]


@pytest.mark.parametrize(
    "one",
    [
        part(
            1,
            CHAT,
            event("gen_ai.user.message", content="look"),
            event("gen_ai.tool.message", content="rows", id="c0", name="list"),
            event("gen_ai.choice", finish_reason="tool_calls", message=ANSWER),
        ),
        part(
            1,
            CHAT,
            event("gen_ai.user.message", gen_ai__event__content={"role": "user", "content": "look"}),
            event("gen_ai.tool.message", gen_ai__event__content={"content": "rows", "id": "c0", "name": "list"}),
            event("gen_ai.choice", gen_ai__event__content={"index": 0, "message": ANSWER}),
        ),
        part(
            1,
            CHAT,
            event("gen_ai.user.message", content=[{"text": "look"}]),
            event("gen_ai.tool.message", content=[{"toolResult": {"toolUseId": "c0", "content": "rows"}}]),
            event("gen_ai.choice", message=BLOCKS),
        ),
        part(1, CHAT | {"events": LISTED}),
    ],
    ids=["attributes", "content", "blocks", "listed"],
)
def test_events(path: Path, one: dict[str, Any]) -> None:
    state = opened(path, lines(part(0, {}, parent=None), one)).state(2)
    assert state is not None
    asked = Call(name="read", call_id="c1", arguments=ASKED)
    user, result, answer = state.messages or ()
    assert user == Message(role="user", text="look")
    assert (result.role, result.text, result.call_id) == ("tool", "rows", "c0")
    assert answer == Message(role="assistant", text="I look.", calls=(asked,))
    assert [one.call_id for one in state.pending or ()] == ["c1"]


def told(path: Path, values: dict[str, Any], *events: dict[str, Any]) -> State:
    state = opened(path, lines(part(0, CHAT | values, *events, parent=None))).state(1)
    assert state is not None
    return state


def test_the_prompt_as_a_whole(path: Path) -> None:
    prompt = event("gen_ai.content.prompt", gen_ai__prompt=[{"role": "user", "content": "look"}])
    state = told(path, {}, prompt, event("gen_ai.content.completion", gen_ai__completion="I look."))
    assert [(one.role, one.text) for one in state.messages or ()] == [("user", "look"), ("assistant", "I look.")]


@pytest.mark.parametrize(
    ("values", "events"),
    [
        ({"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "stop"}, []),
        ({}, [event("gen_ai.choice", gen_ai__event__content={"finish_reason": "stop", "index": 0})]),
        ({"gen_ai.prompt.12345.content": "x", "gen_ai.prompt.x.content": "x", "gen_ai.prompt.": "x"}, []),
    ],
)
def test_without_content_nothing_is_known(path: Path, values: dict[str, Any], events: list[dict[str, Any]]) -> None:
    state = told(path, values, *events)
    assert (state.messages, state.pending) == (None, None)


def test_texts_that_look_like_parts_stay_texts(path: Path) -> None:
    texts = ["[]", "[1, 2]", '["a", "b"]', '[{"a": 1}]', '{"type": "text"}']
    state = told(path, {f"gen_ai.prompt.{at}.content": text for at, text in enumerate(texts)})
    assert [(one.role, one.text) for one in state.messages or ()] == [("user", text) for text in texts]


def test_a_tool_of_events(path: Path) -> None:
    values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read", "gen_ai.tool.call.id": "c1"}
    asked, gave = event("gen_ai.tool.message", content=ASKED), event("gen_ai.choice", message="text")
    run: Trace = opened(path, lines(part(0, values, asked, gave, parent=None)))
    assert run.steps(1, 2)[0].summary == '{"path": "/a", "deep": [1]} → text'


names = st.sampled_from(
    [
        *(name for convention in (LLMETRY, INFERENCE, INFERENCE_TOOL) for name in convention),
        *("gen_ai.prompt", "gen_ai.completion", "events", "gen_ai.event.content", "message", "content", "tool_calls"),
        *("gen_ai.prompt.0.tool_calls", "llm.tools.0.tool.name", "message.content", "role", "id"),
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
keys = st.sampled_from(["type", "text", "role", "content", "tool_calls", "function", "name", "toolUse", "toolResult"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=8
)
said = st.dictionaries(names, values | values.map(json.dumps), max_size=12)
happened = st.tuples(st.sampled_from(["gen_ai.choice", "gen_ai.user.message", "gen_ai.tool.message"]), said)


@settings(max_examples=100 * TIMES, deadline=None, database=None)
@given(said, st.lists(happened, max_size=3))
def test_anything_odd_is_survived(attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]) -> None:
    bare = read(span(0))
    fields = {name: getattr(bare, name) for name in Span.__struct_fields__}
    told = [Event(name=name, attributes=body) for name, body in events]
    odd = Span(**fields | {"attributes": attributes, "events": tuple(told)})
    for message in genai.conversation(odd) or ():
        assert isinstance(message, Message)
    genai.tools(odd)
    genai.step(odd, 1, None)
