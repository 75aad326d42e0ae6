"""Typed values and chat histories of wfpy, as data."""

import base64
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats.readers.wfpy.chat import messages
from inspector.formats.readers.wfpy.tokens import elements, matches
from inspector.formats.readers.wfpy.typed import typed
from inspector.model.run import Problem
from inspector.model.values import depth, to_json
from tests.formats.wfpy.folders import ROUND, Writer, contents, digest, folder, header, opened, state_at, told


def tagged(kind: str, /, **fields: Any) -> dict[str, Any]:
    return {"$wfType": kind, **fields}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (
            tagged("tuple", items=[1, tagged("tuple", items=[])]),
            ("tuple", {"items": [1, {"$type": "tuple", "items": []}]}),
        ),
        (tagged("set", items=[1]), ("set", {"items": [1]})),
        (tagged("set", values=[1]), ("set", {"items": [1]})),
        (tagged("frozenset", items=["a"]), ("frozenset", {"items": ["a"]})),
        (tagged("bytes", base64="aGk="), ("bytes", {"base64": "aGk="})),
        (tagged("dict", items=[[1, "a"]]), ("dict", {"items": [[1, "a"]]})),
        (tagged("enum", type="m:Colour", name="RED"), ("enum", {"class": "m:Colour", "name": "RED"})),
        (tagged("object", type="m:C", state={"x": tagged("path", path="/a")}), None),
        (tagged("dataclass", type="m:D", fields={"x": 1}), ("object", {"class": "m:D", "state": {"x": 1}})),
        (tagged("decimal", value="1.10"), ("decimal", {"value": "1.10"})),
        (tagged("resource", path="/a", ext="", validate=[], kind="url"), None),
        (tagged("nonsense", x=1), ("nonsense", {"x": 1})),
    ],
)
def test_tags(value: Any, shown: tuple[str, dict[str, Any]] | None) -> None:
    found = typed(value)
    if shown is not None:
        assert found == {"$type": shown[0], **shown[1]}
    elif value["$wfType"] == "object":
        assert found == {"$type": "object", "class": "m:C", "state": {"x": {"$type": "path", "path": "/a"}}}
    else:
        assert (found["$type"], found["kind"]) == ("resource", "url")


def test_a_dict_of_the_users_own_does_not_pass_for_a_tag() -> None:
    assert typed({"$type": "object", "x": [1]}) == {"$type": "dict", "items": [["$type", "object"], ["x", [1]]]}
    assert typed({"$wfType": 5}) == {"$wfType": 5}


class Bomb:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


def test_pickles_are_shown_and_what_they_call_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def pickled(value: object) -> Any:
        return tagged("pickle", type="m:X", base64=base64.b64encode(pickle.dumps(value)).decode())

    problems: list[Problem] = []
    assert typed(pickled(Counter("aab")), problems) == {"$type": "pickle", "class": "m:X", "value": {"a": 2, "b": 1}}
    assert problems == []
    found = typed([pickled(Bomb())], problems, "here")[0]
    assert (found["class"], found["calls"]) == ("m:X", ["builtins.print"])
    assert [(one.where, "print" in one.message) for one in problems] == [("here", True)]
    assert capsys.readouterr().out == ""
    assert typed(tagged("pickle", type="m:X", base64="!!"), problems)["base64"] == "!!"
    assert typed(tagged("pickle", type="m:X", base64=5)) == {"$type": "pickle", "class": "m:X"}


def test_pickles_in_a_journal_are_told_without_looking_at_them(tmp_path: Path) -> None:
    bomb = tagged("pickle", type="m:X", base64=base64.b64encode(pickle.dumps(Bomb())).decode())
    writer = Writer(header()).fire("bell", put={ROUND: [1, bomb]})
    run = opened(folder(tmp_path / "run", writer))
    assert [line.split(" byte ")[0] for line in told(run)] == ["run.wf-journal.jsonl:2"]
    assert "builtins.print" in told(run)[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$wfType", "$type", "items", "state", "type", "base64", "a"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_anything_can_be_typed(value: Any) -> None:
    found = typed(value)
    to_json(found)
    assert depth(found) <= 3 * depth(value) + 2
    assert typed(value) == found


@given(st.lists(JSON, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_digests_are_those_of_wfpy(tokens: list[Any]) -> None:
    import json

    texts = [json.dumps(token).encode() for token in tokens]
    assert matches(texts, digest(tokens)) is True
    assert matches(texts, digest([*tokens, 1])) is False
    assert matches([*texts, None], digest(tokens)) is None


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (b'[1, "a"]', [b"1", b'"a"']),
        (b'{"$wfType": "tuple", "items": [1]}', [b"1"]),
        (b'{"$wfType": "dict", "items": [[1, 2]]}', [b"1"]),
        (b'{"a": 1}', [b'"a"']),
        (b'"xy"', [b'"x"', b'"y"']),
        (b"5", None),
        (b'{"$wfType": "pickle"}', None),
        (b"?", None),
        (None, None),
    ],
)
def test_what_a_loop_iterates(text: bytes | None, items: list[bytes] | None) -> None:
    assert elements(text) == items


HISTORY = [
    {"role": "system", "content": "You are a clerk."},
    {"role": "user", "content": "How many?"},
    {
        "role": "assistant",
        "content": '{"role": "assistant", "content": "let me see", "tool_calls": [{"id": "c1", "type": "function", '
        '"function": {"name": "count", "arguments": "{\\"of\\": \\"jars\\"}"}}]}',
    },
    {"role": "tool", "tool_call_id": "c1", "name": "count", "content": "stdout:\n42"},
    {"role": "assistant", "content": "42"},
]


def test_a_chat_is_unwrapped() -> None:
    found = list(messages(HISTORY, "clerk"))
    assert [message.role for message in found] == ["system", "user", "assistant", "tool", "assistant"]
    calls = found[2].calls or ()
    assert [(call.name, call.call_id, call.arguments) for call in calls] == [("count", "c1", {"of": "jars"})]
    assert (found[2].text, found[3].call_id, found[3].name, found[4].text) == ("let me see", "c1", "count", "42")


def test_a_chat_in_blocks_is_unwrapped() -> None:
    asked = '[{"type": "text", "text": "so"}, {"type": "tool_use", "id": "t1", "name": "count", "input": {"of": 1}}]'
    answer = '[{"type": "tool_result", "tool_use_id": "t1", "content": "42"}]'
    found = list(messages([{"role": "assistant", "content": asked}, {"role": "user", "content": answer}], "clerk"))
    assert [(call.name, call.call_id, call.arguments) for call in found[0].calls or ()] == [("count", "t1", {"of": 1})]
    assert (found[0].text, found[1].role, found[1].call_id, found[1].text) == ("so", "tool", "t1", "42")


@given(JSON)
@settings(max_examples=60, deadline=None)
def test_any_history_can_be_read(value: Any) -> None:
    entries = [value, {"role": value, "content": value}, {"role": "assistant", "content": value, "tool_call_id": value}]
    for message in messages([*entries, {"role": "user", "content": to_json(value)}], "a"):
        to_json(message)


def test_states_hold_the_chat_and_the_context_of_their_step(tmp_path: Path) -> None:
    writer = Writer(header())
    writer.fire("clerk", put={ROUND: [1]}, chatHistory=HISTORY[:2])
    writer.fire("clerk", put={ROUND: [2]}, chatHistory=HISTORY)
    writer.fire("other", context={"store": {"jars": tagged("tuple", items=[42])}, "version": 1, "commitSeq": 1})
    run = opened(folder(tmp_path / "run", writer))
    assert [len(state_at(run, step).messages or ()) for step in range(4)] == [0, 2, 5, 5]
    assert {message.name for message in state_at(run, 1).messages or ()} == {"clerk"}
    assert [state_at(run, step).values for step in (2, 3)] == [None, {"jars": {"$type": "tuple", "items": [42]}}]
    assert contents(run, 2)[ROUND] == [1, 2]
