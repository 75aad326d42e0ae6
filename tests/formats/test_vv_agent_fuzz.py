"""Damaged vv-agent files: opening stays inert, bounded, and says what is wrong."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.damage import ODD
from tests.formats import vv_agent_sessions as sessions
from tests.formats import vv_agent_stores as made
from tests.formats.test_vv_agent import batch, retired
from tests.formats.test_vv_agent_events import whole
from tests.fuzz import TIMES, check, fuzz


def sample(folder: Path) -> Path:
    row, batches = retired()
    rows = [row, made.killed(), made.raised(), made.asks(), made.failed()]
    history = {"sequence": 0, "head_digest": None}
    return made.store(folder / "c.db", [{"history": history, **one} for one in rows], 12, {"finished": batches})


def log(folder: Path) -> Path:
    told = sessions.begun().turn("Pack A.").model("Both.", made.WEIGH, made.SHIP).plan(0, made.WEIGH)
    told.plan(1, made.SHIP).begin(0).result(0, "c1", "40 kg").begin(1)
    return sessions.store(folder / "s.db", told, phase="active", lease=made.EXPIRED)


def test_damaged_stores(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    fuzz(sample(tmp_path / "made"), tmp_path, count=25)


def test_damaged_session_logs(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    fuzz(log(tmp_path / "made"), tmp_path, count=25)


def test_damaged_event_logs(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    fuzz(whole().write(tmp_path / "made" / "events.jsonl"), tmp_path, count=25)


def _odd(value: Any, rng: random.Random) -> Any:
    """A copy of a JSON value in which one part is another value."""
    if rng.random() < 0.2 or not isinstance(value, dict | list) or not value:
        return rng.choice(ODD)
    if isinstance(value, dict):
        key = rng.choice(list(value))
        return {**value, key: _odd(value[key], rng)}
    place = rng.randrange(len(value))
    return [*value[:place], _odd(value[place], rng), *value[place + 1 :]]


def test_wrong_shapes_in_every_json_column(tmp_path: Path) -> None:
    for number in range(2 * TIMES):
        rng = random.Random(f"shapes:{number}")
        rows = []
        for make in (made.finished, made.killed, made.raised, made.asks, made.failed):
            for column in made.JSON_COLUMNS:
                row = make(f"{len(rows)}")
                found = row.get(column)
                value = json.loads(found) if isinstance(found, str) else found
                rows.append({**row, column: json.dumps(_odd(value, rng))})
        rng.shuffle(rows)
        for part in range(0, len(rows), 20):  # the harness looks at the first twenty runs
            path = made.store(tmp_path / f"{number}-{part}.db", rows[part : part + 20], 12)
            assert check(path, seconds=20)


def test_wrong_shapes_in_every_record(tmp_path: Path) -> None:
    for number in range(30 * TIMES):
        rng = random.Random(f"records:{number}")
        path = log(tmp_path)
        with closing(sqlite3.connect(path)) as connection, connection:
            seq = rng.randint(1, 10)
            (body,) = connection.execute("SELECT body FROM sk_record WHERE seq = ?", (seq,)).fetchone()
            changed = json.dumps(_odd(json.loads(body), rng)).encode()
            connection.execute("UPDATE sk_record SET body = ? WHERE seq = ?", (changed, seq))
        connection.close()
        assert check(path)
        path.unlink()


def test_wrong_shapes_in_batches_of_retired_cycles(tmp_path: Path) -> None:
    row, batches = retired()
    for number in range(10 * TIMES):
        rng = random.Random(f"batches:{number}")
        path = made.store(tmp_path / f"{number}.db", [row], 12, {"finished": batches})
        with closing(sqlite3.connect(path)) as connection, connection:
            odd = json.dumps(_odd(batch(1, [made.FIRST_CYCLE], [made.spent(1)], None), rng))
            connection.execute("UPDATE checkpoint_history SET payload = ? WHERE sequence = 1", (odd,))
        connection.close()
        assert check(path)


def test_wrong_types_in_every_cell(tmp_path: Path) -> None:
    odd = (None, 2**62, "", b"\xff\x00", "\x1b[2J\u202e")
    for number, value in enumerate(odd):
        columns = made.columns(12)
        for part in range(0, len(columns), 20):
            rows = [{**made.killed(str(at)), column: value} for at, column in enumerate(columns[part : part + 20])]
            assert check(made.store(tmp_path / f"{number}-{part}.db", rows, 12), seconds=20)
