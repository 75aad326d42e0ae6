"""Killed at any write of its journal, a run goes on from the file and ends as if nothing had happened."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector.formats import open_path

ROOT = Path(__file__).parent.parent.parent
SCRIPTS: list[Any] = [[["pay", "look"], ["broken"], "end"]]
if os.environ.get("RUNINSPECT_FUZZ"):
    SCRIPTS += [[["nothere", "pay"], "end"], [["look", "pay", "look"], ["pay"], ["look"], "end"], ["end"]]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: "-".join("+".join(turn) for turn in script))
def test_killed_at_every_write(script: Any, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runner.crash", str(tmp_path), json.dumps(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout[-500:]
    *killed, last = [json.loads(line) for line in done.stdout.splitlines()]
    clean = last["clean"]
    assert clean["status"] == "completed"
    assert {case["at"] for case in killed} == set(range(clean["writes"]))
    for case in killed:
        place = f"at write {case['at']}, torn {case['torn']}"
        if case["status"] == "nothing":
            # The header or the first checkpoint, written as one, is not whole: nothing was done.
            assert case["code"] in ("not_resumable", "begins_anew"), place
            assert (case["at"], case["effects"]) == (0, []), place
            continue
        assert case["status"] == "completed", f"{place}: {case['error']}"
        assert case["told"] == clean["told"], place
        counts = Counter(case["effects"])
        wanted = Counter(last["effects"])
        assert set(counts) == set(wanted), place
        for effect, count in counts.items():
            kind = effect.split()[0]
            # What says that it may run again can run twice; the memory drops a key that it has.
            assert count == 1 or (count == 2 and kind in ("look", "append")), f"{place}: {effect} {count} times"
    _opens(tmp_path)


@pytest.mark.parametrize("script", [[["pay", "look", "nothere"], ["broken", "look"], "end"]])
def test_stopped_at_every_boundary_and_gone_on_in_other_processes(script: Any, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runner.crash", str(tmp_path), json.dumps(script), "stop"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout[-500:]
    *cut, clean = [json.loads(line) for line in done.stdout.splitlines()]
    assert (clean["status"], clean["legs"]) == ("completed", 1)
    assert len(cut) > 8
    assert all(case["legs"] > 1 for case in cut)
    for case in cut:
        assert case["told"] == clean["told"], case["stop"]
        assert case["effects"] == clean["effects"], case["stop"]  # each once, in the same order, hooks too


def _opens(folder: Path) -> None:
    """Each of the files opens, and says what is ambiguous."""
    seen = set()
    for path in sorted(folder.glob("*/0.jsonl")):
        if not path.read_bytes().partition(b"\n")[1]:
            continue  # killed in the header
        run = open_path(str(path)).open()
        for _ in run.index():
            pass
        state = run.state(len(run))
        if state is None:
            assert b'"record":"move"' not in path.read_bytes()  # killed before it began
            continue
        seen |= {pending.status for pending in state.pending or ()}
        assert run.run().status in ("interrupted", "suspended", "completed"), path
    assert "ambiguous" in seen
