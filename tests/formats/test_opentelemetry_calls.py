"""Which span answers which call, and what kind a span of a tool is, where it says neither in the newest words."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.diff import Side, compare
from inspector.model.source import definition_at
from inspector.report.view import view
from tests.formats.test_opentelemetry import asks, attribute, genai, lines, opened, path, said, span

__all__ = ["path"]


def asked(*calls: dict[str, Any]) -> dict[str, Any]:
    answer = [said("assistant", *calls)]
    return genai(1, "chat", input__messages=[said("user", "look")], output__messages=answer)


def ran(number: int, name: str = "read", **values: Any) -> dict[str, Any]:
    return genai(number, "execute_tool", tool__name=name, **values)


def standing(path: Path, *spans: dict[str, Any]) -> tuple[list[str | None], list[str | None]]:
    run = opened(path, lines(genai(0, "invoke_agent", parent=None), *spans))
    state = run.state(len(run))
    assert state is not None
    results = [message.call_id for message in state.messages or () if message.role == "tool"]
    return results, [one.call_id for one in state.pending or ()]


BOTH = asked(asks("read", "c1", path="/a", mode="r"), asks("read", "c2", mode="r", path="/b"))


def test_a_span_without_an_id_answers_the_call_of_its_arguments(path: Path) -> None:
    span_of_b = ran(3, tool__call__arguments={"path": "/b", "mode": "r"}, tool__call__result="B")
    assert standing(path, BOTH, span_of_b) == (["c2"], ["c1"])


def test_a_span_without_an_id_leaves_the_call_of_another_span_to_that(path: Path) -> None:
    assert standing(path, BOTH, ran(3), ran(4, tool__call__id="c1")) == (["c2", "c1"], [])


def test_spans_without_ids_and_arguments_answer_the_calls_of_their_name_in_order(path: Path) -> None:
    assert standing(path, BOTH, ran(3), ran(4)) == (["c1", "c2"], [])
    assert standing(path, BOTH, ran(3)) == (["c1"], ["c2"])
    assert standing(path, BOTH, ran(3, name="wipe")) == ([None], ["c1", "c2"])


def test_a_call_without_an_id_is_answered_by_its_arguments(path: Path) -> None:
    calls = asked(asks("read", None, path="/a"), asks("read", None, path="/b"))
    run = opened(path, lines(calls, ran(3, tool__call__id="x", tool__call__arguments={"path": "/b"})))
    state = run.state(2)
    assert state is not None
    assert [one.arguments for one in state.pending or ()] == [{"path": "/a"}]


def test_many_calls_are_paired_in_one_walk(path: Path) -> None:
    count = 3000
    calls = asked(*(asks("read", f"c{number}", path=str(number)) for number in range(count)))
    spans = [ran(number + 2, tool__call__arguments={"path": str(number)}) for number in reversed(range(500))]
    results, pending = standing(path, calls, *spans)
    assert (set(results), len(pending)) == ({f"c{number}" for number in range(500)}, count - 500)


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("tools/call read", {"mcp.method.name": "tools/call"}),
        ("tools/call read", {"mcp.method.name": "tools/call", "gen_ai.tool.name": "read"}),
        ("running tool: read", {"gen_ai.tool.name": "read", "gen_ai.tool.call.id": "c1"}),
    ],
)
def test_a_tool_without_an_operation_is_one(path: Path, name: str, pairs: dict[str, str]) -> None:
    """MCP's own spans need no operation, and those of older libraries have none."""
    tool = span(3, parent=0, attributes=[attribute(*pair) for pair in pairs.items()]) | {"name": name}
    run = opened(path, lines(genai(0, "invoke_agent", parent=None), BOTH, tool))
    assert [step.kind for step in run.steps(1, 4)] == ["node", "model", "tools"]
    assert standing(path, BOTH, tool) == (["c1"], ["c2"])
    listed = span(3, parent=0, attributes=[attribute("mcp.method.name", "tools/list")])
    assert [step.kind for step in opened(path, lines(listed)).steps(1, 2)] == ["node"]


@pytest.mark.parametrize(
    ("message", "kind", "expected"),
    [
        ("ValueError: bad path", None, ("ValueError", "bad path")),
        ("httpx.ReadTimeout: no answer\nin 5 s", None, ("httpx.ReadTimeout", "no answer\nin 5 s")),
        ("ValueError: bad path", "builtins.ValueError", ("builtins.ValueError", "bad path")),
        ("ModelRetry: again", "ModelRetry", ("ModelRetry", "again")),
        ("HTTP: 503", None, (None, "HTTP: 503")),
        ("an Error: late", None, (None, "an Error: late")),
        ("ValueError: bad path", "500", ("500", "ValueError: bad path")),
    ],
)
def test_a_status_that_says_what_was_raised(
    path: Path, message: str, kind: str | None, expected: tuple[str | None, str]
) -> None:
    """As SDKs write it, where no exception was recorded beside it."""
    pairs = [] if kind is None else [attribute("error.type", kind)]
    bad = span(0, status={"code": 2, "message": message}, attributes=pairs)
    run = opened(path, json.dumps(bad).encode())
    error = run.run().error
    assert error is not None
    assert (error.type, error.message) == expected
    assert run.steps(1, 2)[0].error == ": ".join(filter(None, expected))


def test_tools_that_the_agent_around_says_it_has(path: Path) -> None:
    """Not those of an agent within it, nor those of one beside."""
    outer = genai(0, "invoke_agent", parent=None, tool__definitions=[{"name": "read"}, {"name": "wipe"}])
    inner = genai(5, "invoke_agent", 4, tool__definitions=[{"name": "inner"}])
    spans = (outer, BOTH, ran(3, tool__call__id="c1"), ran(4, tool__call__id="c2"), inner, genai(6, "chat", 5))
    for count, expected in ((3, ["read", "wipe"]), (6, ["inner"])):
        found = opened(path, lines(*spans[:count])).definition()
        assert (found.tools_known, [tool.name for tool in found.tools or ()]) == ("advertised", expected)
    found = opened(path, lines(*spans, genai(9, "chat"), genai(10, "invoke_agent"))).definition()
    assert [tool.name for tool in found.tools or ()] == ["read", "wipe"]


def test_tools_of_a_step_are_those_that_were_offered_last(path: Path) -> None:
    """So that two steps of a run can be compared: each model call says what it was offered."""
    spans = [
        genai(0, "invoke_agent", parent=None),
        genai(1, "chat", tool__definitions=[{"name": "read", "parameters": {"type": "object"}}, {"name": "old"}]),
        ran(3),
        genai(4, "chat", tool__definitions=[{"name": "read", "parameters": {"type": "array"}}, {"name": "new"}]),
    ]
    run = opened(path, lines(*spans))
    offered = [[tool.name for tool in definition_at(run, step).tools or ()] for step in range(5)]
    assert offered == [["read", "new"], ["read", "new"], ["read", "old"], ["read", "old"], ["read", "new"]]
    sides = [Side(definition=definition_at(run, step), state=run.state(step)) for step in (2, 4)]
    found = compare(*sides, states=True).tools
    assert (found.added, found.removed, [one.name for one in found.changed]) == (("new",), ("old",), ["read"])
    run = opened(path, lines(*spans[:1], ran(3), ran(4, "wipe")))
    assert definition_at(run, 2) == run.definition()


@pytest.mark.parametrize("again", [False, True])
def test_a_result_that_only_the_agent_tells(path: Path, again: bool) -> None:
    """The output of a run is called as a tool, and none runs."""
    output = asks("final_result", "f1", n=3)
    result = said("user", {"type": "tool_call_response", "id": "f1", "name": "final_result", "result": "processed"})
    every = [said("user", "look"), said("assistant", output), result, *([said("assistant", output)] if again else [])]
    agent = genai(0, "invoke_agent", parent=None)
    agent["attributes"].append(attribute("pydantic_ai.all_messages", every))
    agent["endTimeUnixNano"] = span(9)["endTimeUnixNano"]
    run = opened(path, lines(agent, asked(output)))
    state = run.state(2)
    assert state is not None
    assert [one.call_id for one in state.pending or ()] == (["f1"] if again else [])
    assert [one.text for one in state.messages or () if one.role == "tool"] == ([] if again else ["processed"])


def test_what_was_said_before_a_model_call_that_failed_and_does_not_tell(path: Path) -> None:
    """Some libraries write what was said when there is an answer; where content is off, nothing is known."""
    bad = genai(5, "chat") | {"status": {"code": 2, "message": "no model"}}
    spans = (BOTH, ran(3, tool__call__id="c1", tool__call__result="A"), ran(4, tool__call__id="c2"))
    run = opened(path, lines(genai(0, "invoke_agent", parent=None), *spans, bad))
    state, before = run.state(5), run.state(4)
    assert state is not None
    assert before is not None
    assert [message.role for message in state.messages or ()] == ["user", "assistant", "tool", "tool"]
    assert (state.messages, state.pending) == (before.messages, ())
    silent = opened(path, lines(genai(0, "invoke_agent", parent=None), *spans, bad | {"status": {}})).state(5)
    assert silent is not None
    assert silent.messages is None


@pytest.mark.parametrize(("told", "expected"), [("10", 14), ("14", 14), ("20", 20)])
def test_tokens_of_an_agent_within_a_tool_are_spent_too(path: Path, told: str, expected: int) -> None:
    """The agent around tells its own alone; or more than is in the file."""

    def spent(one: dict[str, Any], name: str, count: str) -> dict[str, Any]:
        return one | {"attributes": [*one["attributes"], {"key": f"gen_ai.{name}", "value": {"intValue": count}}]}

    agent = spent(genai(0, "invoke_agent", parent=None), "aggregated_usage.input_tokens", told)
    inner = (genai(4, "invoke_agent", 3), spent(genai(5, "chat", 4), "usage.input_tokens", "4"))
    run = opened(path, lines(agent, spent(BOTH, "usage.input_tokens", "10"), ran(3, tool__call__id="c1"), *inner))
    usage = run.run().usage
    assert usage is not None
    assert usage.input_tokens == expected


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("{path: /var", "{path: /var", "call c1: arguments that are no JSON"),
        ("ls -l", "ls -l", "call c1: arguments that are no JSON"),
        ('{"path": "/a", "path": "/b"}', {"path": "/b"}, "'path'"),
        ('"/a"', "/a", None),
        ("17", 17, None),
        ('{"path": "/a"}', {"path": "/a"}, None),
    ],
)
def test_arguments_that_are_kept_as_text(path: Path, text: str, arguments: Any, told: str | None) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "read", "arguments": text}
    run = opened(path, lines(genai(0, "invoke_agent", parent=None), asked(call)))
    found = view(run, 2, 1, 3)
    assert found.state is not None
    assert [one.arguments for one in found.state.pending or ()] == [arguments]
    assert [(problem.where.split(" ")[0], told in problem.message) for problem in found.problems if told] == (
        [("trace.jsonl:2", True)] if told else []
    )
    assert told or not found.problems


def test_a_key_that_is_given_twice_in_arguments_is_told(path: Path) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"amount": 1}}
    data = lines(genai(0, "invoke_agent", parent=None), asked(call))
    twice = data.replace(rb"{\"amount\": 1}", rb"{\"amount\": 1, \"amount\": 100}")
    assert twice != data
    found = view(opened(path, twice), 2, 1, 3)
    assert ["'amount'" in problem.message for problem in found.problems] == [True]
