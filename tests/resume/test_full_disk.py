"""A disk that is full in the middle of a run: the run has failed, and goes on from where its journal ends."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

APP = """
from inspector import Agent, Call, Network, ScriptedModel, actor, tool

@tool(idempotency="supported")
def look(order: str) -> str:
    with open("looked", "a") as file:
        file.write(".")
    return "5" * 3000

def script(messages):
    asked = sum(message.role == "assistant" for message in messages)
    return [Call("look", {"order": "A"})] if asked < 20 else "done"

agent = Agent("shop", ScriptedModel(script), tools=[look], max_turns=50)

@actor(idempotency="supported")
def grow(text: str) -> str:
    return text + "y" * 900

net = Network("growing")
last = net.input("text")
for number in range(30):
    node = net.add(grow, name=f"grow{number}")
    net.connect(last, node.text)
    last = node.out
net.connect(last, net.output("text"))
"""


def command(folder: Path, *arguments: str, room: int | None = None) -> tuple[int, Any, str]:
    """(exit code, last line, stderr) of a process whose files may not grow beyond `room` bytes: a write behind that
    fails as one on a full disk does."""

    def limited() -> None:
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    done = subprocess.run(
        [sys.executable, "-B", "-m", "inspector", *arguments, "--json"],
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")},
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=limited,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else None, done.stderr


@pytest.mark.parametrize(
    ("name", "given", "output"),
    [("agent", '"go"', "done"), ("net", '{"text": ["a"]}', {"text": ["a" + "y" * 27000]})],
)
@pytest.mark.parametrize(("place", "room"), [("t.jsonl", 40_000), ("runs.db", 300_000)])
def test_a_full_disk_in_the_middle_of_a_run(
    tmp_path: Path, name: str, given: str, output: Any, place: str, room: int
) -> None:
    (tmp_path / "app.py").write_text(APP)
    stored = place == "runs.db"
    where = ("--store", place, "--key", "k") if stored else ("--trace", place)
    code, result, errors = command(tmp_path, "run", f"app.py:{name}", "--input", given, *where, room=room)
    assert code == 1, errors
    assert errors.startswith(f"runinspect: {place}: "), errors
    assert "Traceback" not in errors
    reason = "unavailable" if stored else "journal"
    assert (result["event"], result["status"], result["reason"], result["trace"]) == (
        "result", "interrupted", reason, place,
    )  # fmt: skip
    again = ("--run", "k") if stored else ()
    code, result, errors = command(tmp_path, "resume", place, "--app", f"app.py:{name}", *again)
    assert (code, result["output"], result["replayed"] > 0) == (0, output, True), errors
    if name == "agent":
        looked = (tmp_path / "looked").read_text()
        assert looked in ("." * 20, "." * 21)  # each call once, but the one whose result could not be written down


@pytest.mark.parametrize("name", ["agent", "net"])
def test_a_run_that_cannot_begin_is_a_matter_of_usage(tmp_path: Path, name: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    given = '"go"' if name == "agent" else '{"text": ["a"]}'
    code, result, errors = command(tmp_path, "run", f"app.py:{name}", "--input", given, "--trace", "t.jsonl", room=500)
    assert (code, result, errors) == (2, None, "runinspect: t.jsonl: File too large\n")
    assert not (tmp_path / "looked").exists()
