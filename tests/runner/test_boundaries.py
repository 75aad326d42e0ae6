"""A run that is stopped, written down and taken up elsewhere is the run that was never stopped."""

import asyncio
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector import AgentRun, Call, Control, ScriptedModel
from inspector.journal import Journal
from inspector.model.records import JournalRecord
from inspector.runner.items import Final
from inspector.runner.messages import Result
from tests.runner.world import Script, StopAt, World, decided, scripts, told

FUZZ = int(os.environ.get("RUNINSPECT_FUZZ", "1"))


Notes = list[tuple[str, str]]


async def whole(world: World, notes: Notes, stop: int | None, way: str) -> AgentRun:
    """Drive a run to its end, in one go or stopped after so many looks at the control, and then resumed as
    often as it takes; everything but the JSON or the trace is new each time."""
    control = Control() if stop is None else StopAt(stop)
    trace = os.path.join(world.folder, "0.jsonl") if way == "trace" else None
    asked: Any = world.agent().prompt("go").conversation("talk").id("run").control(control)
    result = await driven(asked, trace, way)
    legs = 1
    while result.status in ("suspended", "interrupted"):
        again = world.agent()
        asked = again.resume(result.trace if way == "trace" else AgentRun.from_json(result.run.to_json()))
        trace = os.path.join(world.folder, f"{legs}.jsonl") if way == "trace" else None
        result = await driven(
            decided(asked, result.run, lambda key: False, approve=result.reason == "approval"), trace, way
        )
        legs += 1
        assert legs < 30
    assert result.status == "completed", result.error
    return result.run


async def driven(asked: Any, trace: str | None, way: str) -> Any:
    if way != "stream":
        return await asked.run(trace=trace)
    items = [item async for item in asked.stream(trace=trace)]
    assert isinstance(items[-1], Final)
    return items[-1].result


def once(script: Script, stop: int | None, way: str) -> tuple[Any, Notes, int]:
    notes: Notes = []
    with tempfile.TemporaryDirectory() as folder:
        before = dict(os.environ)
        os.environ.update(XDG_STATE_HOME=folder, XDG_DATA_HOME=folder)
        try:
            world = World(folder, script, lambda kind, word: notes.append((kind, word)))
            run = asyncio.run(whole(world, notes, stop, way))
            (kept,) = Path(folder, "memory").iterdir()
            lines = kept.read_text().splitlines()
        finally:
            os.environ.clear()
            os.environ.update(before)
    return told(run), notes, len(lines)


def same(script: Script, stop: int, way: str) -> None:
    clean, heard, _ = once(script, None, way)
    cut, heard_then, lines = once(script, stop, way)
    assert cut == clean
    assert heard_then == heard  # every hook, tool and append: once, and in the same order
    assert lines == 1
    assert all(count == 1 for note, count in Counter(heard_then).items() if note[0] in ("look", "pay", "ask", "append"))


@settings(max_examples=40 * FUZZ, deadline=None)
@given(scripts, st.integers(0, 40), st.sampled_from(["json", "stream", "trace"]))
def test_a_stop_anywhere_changes_nothing(script: Script, stop: int, way: str) -> None:
    same(script, stop, way)


@pytest.mark.parametrize("way", ["json", "stream"])
def test_every_boundary_of_one_run(way: str) -> None:
    script: Script = [["look", "ask", "pay"], ["nothere", "look"], ["broken"], "end"]
    for stop in range(30):
        same(script, stop, way)


@settings(max_examples=20 * FUZZ, deadline=None)
@given(scripts)
def test_streams_equal_runs(script: Script) -> None:
    run, heard, _ = once(script, None, "json")
    streamed, heard_then, _ = once(script, None, "stream")
    run_phase, streamed_phase = run.pop("phase"), streamed.pop("phase")
    assert streamed == run
    assert streamed_phase == run_phase
    left = [note for note in heard if note[0] not in ("completion_response", "stream_response_finish")]
    left_then = [
        note
        for note in heard_then
        if note[0] not in ("completion_response", "stream_response_finish") and not note[0].endswith("_delta")
    ]
    assert left_then == left


class Kept(Journal):
    """A journal in memory, as text."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def append(self, *records: JournalRecord, durable: bool = False) -> None:
        from inspector.model.values import to_json

        self.lines += map(to_json, records)

    def close(self) -> None: ...


def test_a_thousand_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    notes: Notes = []
    world = World(str(tmp_path), ["unused"], lambda kind, word: notes.append((kind, word)))

    def script(messages: Any) -> Any:
        number = int(messages[0].text)
        turns = sum(message.role == "assistant" for message in messages)
        return f"end {number}" if turns == number % 3 else [Call("look", {"n": number}), Call("pay", {"n": number})]

    agent = world.agent(model=ScriptedModel(script))

    async def one(number: int) -> int:
        journal = Kept()
        result = await agent.prompt(str(number)).id(f"run{number}").run(journal=journal)
        assert (result.status, result.output) == ("completed", f"end {number}")
        text = "".join(journal.lines)
        assert f'"id":"run{number}"' in text
        told = [part.text for message in result.messages for part in message.content if isinstance(part, Result)]
        assert told == [f'{{"seen":{number}}}', f"paid {number}"] * (number % 3)
        return result.steps

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(one(number) for number in range(1000)))

    steps = asyncio.run(all_of_them())
    assert steps == [1 + 2 * (number % 3) for number in range(1000)]
    paid = Counter(word.split(":")[0] for kind, word in notes if kind == "pay")
    assert paid == {f"run{number}": number % 3 for number in range(1000) if number % 3}
