"""Killed before or behind any write of its store, a run goes on there and ends as if nothing had happened."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
EVERY = 1 if os.environ.get("RUNINSPECT_FUZZ") else 15


def test_killed_at_every_write(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.crash", str(tmp_path), str(EVERY)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (last,) = [line for line in lines if "clean" in line]
    killed = [line for line in lines if "at" in line and "second" not in line]
    twice = [line for line in lines if "second" in line]
    clean = last["clean"]
    assert clean["row"] == ["completed", None, 3, True, True, True]
    assert Counter(line.split()[0] for line in clean["effects"]) == {"look": 1, "pay": 1, "mail": 1}
    assert len(clean["session"]) == 4
    assert {case["at"] for case in killed} == set(range(0, last["writes"], EVERY))
    assert len({case["second"] for case in twice}) >= 2
    for case in [*killed, *twice]:
        _as_if_nothing_had_happened(case, clean)


def _as_if_nothing_had_happened(case: dict[str, Any], clean: dict[str, Any]) -> None:
    place = f"killed at write {case['at']}, behind {case['behind']}, of the process behind {case.get('second')}"
    for name in ("row", "told", "steps", "session", "pending"):
        assert case[name] == clean[name], f"{place}: {name}"
    counts = Counter(case["effects"])
    assert set(counts) == set(clean["effects"]), place
    kills = 2 if "second" in case else 1
    for effect, count in counts.items():
        # What says that it may run again can run once more for each kill, with the same key.
        assert count == 1 or (count <= 1 + kills and effect.startswith("look ")), f"{place}: {effect} {count} times"
    ids = [event_id for event_id, _ in case["events"]]
    assert len(set(ids)) == len(ids), place
    kept = {event_id for event_id, kind in clean["events"] if not kind.startswith("operation_")}
    assert kept <= set(ids), place
    kinds = Counter(kind for _, kind in case["events"])
    for kind, count in Counter(kind for _, kind in clean["events"]).items():
        if not kind.startswith("operation_"):
            assert kinds[kind] == count, f"{place}: {kind}"
    assert case["attempt"] <= 1 + kills, place


def test_a_network_killed_at_writes_and_killed_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.crash_network", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    *killed, last = [json.loads(line) for line in done.stdout.splitlines()]
    clean = last["clean"]
    assert clean["row"] == ["completed", None, len(clean["seqs"]), True, True]
    assert len(killed) >= 4
    assert {case["kills"] for case in killed} >= {2}
    for case in killed:
        place = f"killed at write {case['at']}"
        for name in ("row", "outputs", "seqs", "open"):
            assert case[name] == clean[name], f"{place}: {name}"
        counts, expected = Counter(case["effects"]), Counter(clean["effects"])
        assert set(counts) == set(expected), place
        for effect, count in counts.items():
            # What says that it may run again can run once more for each kill.
            most = expected[effect] + (case["kills"] if effect.startswith("again ") else 0)
            assert expected[effect] <= count <= most, f"{place}: {effect} {count} times"
