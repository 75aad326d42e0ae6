"""A run that is stopped, written down and taken up elsewhere is the run that was never stopped."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector import Call, ScriptedModel
from inspector.journal import Journal
from inspector.model.records import JournalRecord
from inspector.runner.messages import Result
from tests.runner.world import Script, World, scripts

ROOT = Path(__file__).parent.parent.parent
FUZZ = int(os.environ.get("RUNINSPECT_FUZZ", "1"))
"""How many times as many examples."""


Stops = list[int | None]
stops: st.SearchStrategy[Stops] = st.lists(st.integers(0, 40) | st.none(), min_size=1, max_size=4)
"""At which of its boundaries each leg is stopped; None, and behind the last: at none."""


class Legs:
    """A process that forks one for each leg of a run; what a leg leaves is in files alone."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.runner.crash", "serve"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, script: Script, stops: Stops, way: str) -> tuple[dict[str, Any], int]:
        """(what the run came to, in how many legs)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            left, reason = None, None
            for number in range(30):
                stop = stops[number] if number < len(stops) else None
                asked = [folder, script, number, stop, way, left, reason == "approval"]
                self.process.stdin.write(json.dumps(asked) + "\n")
                self.process.stdin.flush()
                found: dict[str, Any] = json.loads(self.process.stdout.readline())
                left, reason = found.pop("left", None), found.pop("reason", None)
                if found["status"] not in ("interrupted", "suspended"):
                    return found, number + 1
        raise AssertionError("the run does not come to its end")


@pytest.fixture(scope="module")
def legs() -> Iterator[Legs]:
    made = Legs()
    yield made
    made.process.communicate(timeout=60)


def clean_run(legs: Legs, script: Script, way: str) -> dict[str, Any]:
    """What the run comes to that is never stopped."""
    clean, _ = legs(script, [], way)
    assert (clean["status"], clean["remembered"]) == ("completed", 1), clean
    effects = Counter(line for line in clean["effects"] if line.split()[0] in ("look", "pay", "ask", "append"))
    assert all(count == 1 for count in effects.values())
    return clean


@settings(max_examples=20 * FUZZ, deadline=None)
@given(scripts, stops, st.sampled_from(["json", "stream", "trace"]))
def test_stops_anywhere_and_processes_that_go_on_change_nothing(
    legs: Legs, script: Script, stops: Stops, way: str
) -> None:
    cut, _ = legs(script, stops, way)
    # Messages, usage, and every hook, tool and append: once, and in the same order.
    assert cut == clean_run(legs, script, way)


@pytest.mark.parametrize("way", ["json", "stream"])
def test_every_boundary_of_one_run(legs: Legs, way: str) -> None:
    script: Script = [["look", "ask", "pay"], ["nothere", "look"], ["broken"], "end"]
    clean, (_, whole) = clean_run(legs, script, way), legs(script, [], way)
    boundaries = 0
    for before in ([], [None]):  # up to the approval, and behind it
        number, stop = whole + 1, -1
        while number > whole:
            stop += 1
            cut, number = legs(script, [*before, stop], way)
            assert cut == clean, (before, stop)
        boundaries += stop
    assert boundaries > 12


@settings(max_examples=15 * FUZZ, deadline=None)
@given(scripts)
def test_streams_equal_runs(legs: Legs, script: Script) -> None:
    (run, _), (streamed, _) = legs(script, [], "json"), legs(script, [], "stream")
    finish = ("completion_response", "stream_response_finish")
    left, left_then = (
        [line for line in found.pop("effects") if not line.split()[0].endswith(("_delta", *finish))]
        for found in (run, streamed)
    )
    assert streamed == run
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
    notes: list[tuple[str, str]] = []
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
