"""Killed at a write of its journal, and again while it goes on, a network ends as if nothing had happened."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("workers", [1, 3])
def test_killed_at_any_write(workers: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runner.network.crash", str(tmp_path), str(workers)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout[-500:]
    *killed, last = [json.loads(line) for line in done.stdout.splitlines()]
    clean: dict[str, Any] = last["clean"]
    assert clean["status"] == "completed"
    assert len(killed) >= 5
    assert max(case["legs"] for case in killed) > 1
    for case in killed:
        place = f"at write {case['at']}, torn {case['torn']}, {case['legs']} legs"
        if case["status"] == "nothing":
            # The header or the first checkpoint is not whole: nothing had begun, and nothing was done.
            assert (case["effects"], case["at"] <= 1) == ([], True), f"{place}: {case['why']}"
            continue
        assert case["status"] == "completed", f"{place}: {case['error']}"
        assert {port: sorted(tokens) for port, tokens in case["outputs"].items()} == {
            port: sorted(tokens) for port, tokens in clean["outputs"].items()
        }, place
        counts = Counter(case["effects"])
        assert {name for name in counts if not name.startswith("again")} == {
            name for name in last["effects"] if not name.startswith("again")
        }, place
        for effect, count in counts.items():
            # What says that it may run again can run again; its key is the same then.
            assert count == 1 or effect.startswith("again"), f"{place}: {effect} {count} times"
        assert set(counts) == set(last["effects"]), place
