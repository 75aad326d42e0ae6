"""The shared context: seen by others when a firing succeeds, journaled with its step, there on a resume."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from inspector import Network, actor
from inspector.formats import open_path
from inspector.runner.claims import Claims

FAILS: set[str] = set()
STEP = '{"record":"step"'


@pytest.fixture(autouse=True)
def clean() -> None:
    FAILS.clear()


@actor
def note(word: str, context: Any) -> str:
    context.append("words", word)
    context.merge("lengths", {word: len(word)})
    context.set("last", word)
    assert context.get("last") == word
    if word in FAILS:
        raise ValueError(f"no {word}")
    return f"{word} {len(context.get('words'))} {context.step}"


def notes() -> Network:
    net = Network("notes")
    node = net.add(note)
    net.connect(net.input("word"), node.word)
    net.connect(node.out, net.output("said"))
    return net


def values(path: str) -> list[Any]:
    run = open_path(path).open()
    list(run.index())
    states = [run.state(step) for step in range(len(run) + 1)]
    return [state.values if state is not None else None for state in states]


async def test_a_step_of_the_journal_has_what_it_changed(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    result = await notes().run({"word": ["one", "three"]}, trace=trace)
    assert result.outputs == {"said": ["one 1 1", "three 2 2"]}
    assert values(trace) == [
        {},
        {"words": ["one"], "lengths": {"one": 3}, "last": "one"},
        {"words": ["one", "three"], "lengths": {"one": 3, "three": 5}, "last": "three"},
    ]


async def test_a_firing_that_fails_changes_nothing_and_a_resume_has_the_rest(tmp_path: Path) -> None:
    trace, second = str(tmp_path / "t.jsonl"), str(tmp_path / "u.jsonl")
    FAILS.add("two")
    assert (await notes().run({"word": ["one", "two"]}, trace=trace)).status == "failed"
    assert values(trace)[-1]["words"] == ["one"]
    FAILS.clear()
    claims = Claims(str(tmp_path))
    result = await notes().resume(trace).claims(claims).run(trace=second)
    assert result.outputs == {"said": ["one 1 1", "two 2 1"]}
    assert values(second)[-1]["words"] == ["one", "two"]
    result = await notes().resume(trace, step=0).claims(claims).accept("already_resumed").run()
    assert result.outputs == {"said": ["one 1 1", "two 2 2"]}


@pytest.mark.parametrize("workers", [1, 3])
async def test_inside_a_nested_network_changes_are_whole_and_in_their_step(tmp_path: Path, workers: int) -> None:
    @actor
    def count(said: str, context: Any) -> int:
        return len(context.get("words"))

    def nested() -> Network:
        middle, outer = Network("middle"), Network("outer")
        inner, counting = middle.add(notes()), middle.add(count)
        middle.connect(middle.input("word"), inner.word)
        middle.connect(inner.said, counting.said)
        middle.connect(counting.out, middle.output("count"))
        node = outer.add(middle)
        outer.connect(outer.input("word"), node.word)
        outer.connect(node["count"], outer.output("count"))
        return outer

    trace, second = str(tmp_path / "t.jsonl"), str(tmp_path / "u.jsonl")
    FAILS.add("two")
    failed = await nested().run({"word": ["one", "two"]}, workers=workers, trace=trace)
    assert [failure.firing.node.name for failure in failed.failures] == ["middle/notes/note"]
    FAILS.clear()
    resumed = nested().resume(trace).claims(Claims(str(tmp_path))).workers(workers)
    assert (await resumed.run(trace=second)).status == "completed"
    one = {"words": ["one"], "lengths": {"one": 3}, "last": "one"}
    both = {"words": ["one", "two"], "lengths": {"one": 3, "two": 3}, "last": "two"}
    found = []
    for path in (trace, second):
        steps = [json.loads(line) for line in Path(path).read_text().splitlines() if line.startswith(STEP)]
        changed = [(step["step"]["name"], step["change"].get("values")) for step in steps]
        assert {name for name, kept in changed if kept is None} <= {"middle/count"}
        found += [(name, kept) for name, kept in changed if kept is not None]
    assert found == [("middle/notes/note", one), ("middle/notes/note", both)]
    assert [kept for kept in values(trace) if kept not in ({}, one)] == []
    assert (values(trace)[-1], values(second)[0], values(second)[-1]) == (one, one, both)


async def test_firings_at_the_same_time_both_append(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=10)

    @actor
    def add(word: str, context: Any) -> str:
        context.append("words", word)
        both.wait()
        return word

    net = Network("two")
    for name in ("left", "right"):
        node = net.add(add, name=name)
        net.connect(net.input(name), node.word)
        net.connect(node.out, net.output(name))
    trace = str(tmp_path / "t.jsonl")
    result = await net.run({"left": ["a"], "right": ["b"]}, workers=2, trace=trace)
    assert result.status == "completed"
    assert sorted(values(trace)[-1]["words"]) == ["a", "b"]


@pytest.mark.parametrize("what", ["append", "merge", "set"])
async def test_a_change_that_does_not_fit_fails_its_firing(what: str) -> None:
    @actor
    def clash(word: str, context: Any) -> str:
        context.set("n", 1)
        change = {"append": lambda: context.append("n", 2), "merge": lambda: context.merge("n", {"a": 1})}
        change.get(what, lambda: context.set("n", threading.Lock()))()
        return word

    net = Network("n")
    node = net.add(clash)
    net.connect(net.input("word"), node.word)
    net.connect(node.out, net.output("said"))
    result = await net.run({"word": ["x"]})
    assert result.status == "failed"
    assert result.error is not None
    assert "context.n" in (result.error.message or "")
