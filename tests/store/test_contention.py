"""Twenty processes resume the same run at once: one drives it, and the others are told who, or what came of it."""

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ROUNDS = 100 if os.environ.get("RUNINSPECT_FUZZ") else 2


def test_one_owner_each_time(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.contend", str(tmp_path), str(ROUNDS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == ROUNDS
    for number, found in enumerate(rounds):
        told = found["told"]
        outcomes = Counter(item["outcome"] for item in told)
        assert set(outcomes) <= {"Started", "ExistingOwner", "TerminalReplay"}, f"round {number}: {told}"
        (started,) = [item for item in told if item["outcome"] == "Started"]
        assert (started["status"], started["attempt"]) == ("completed", 2)
        for item in told:
            if item["outcome"] == "ExistingOwner":
                assert (item["owner"], item["host"], item["attempt"]) == (started["pid"], socket.gethostname(), 2)
            elif item["outcome"] == "TerminalReplay":
                assert item["status"] == "completed"
        assert (found["paid"], found["decisions"], found["row"]) == (1, 1, ["completed", 2, 4, True]), f"round {number}"
