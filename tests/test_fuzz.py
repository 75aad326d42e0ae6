"""The harness itself: it lets sound readers pass and catches each thing a reader must not do."""

import os
import pickle
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inspector.errors import UnreadableError
from inspector.formats import open as door
from inspector.formats.memory import MemoryRun, OneRun
from inspector.formats.reader import Probe, Reader
from inspector.model.run import Definition, Resume, Run, SourceInfo, State, Step
from inspector.model.source import RunSet
from tests.damage import damage
from tests.fuzz import TooSlow, check, fuzz


def reader(monkeypatch: pytest.MonkeyPatch, act: Callable[[Probe], object], *, steps: int = 1, name: str = "n") -> None:
    """Makes every file one of a format whose opening does `act`."""

    def opened(probe: Probe) -> RunSet:
        act(probe)
        source = SourceInfo(path=probe.path, format="unknown")
        run = MemoryRun(
            source=source,
            run=Run(id="r", kind="agent", status="unknown", steps=steps),
            definition=Definition(),
            steps=[Step(seq=1, kind="node", name=name, status="done")],
            state=lambda step: State(step=step),
            resume=Resume(),
        )
        return OneRun(run, "r")

    known = Reader(name="unknown", what="", claims=lambda probe: True, open=opened)
    monkeypatch.setattr(door, "readers", lambda: [known])


def refuse(probe: Probe) -> None:
    raise UnreadableError(probe.path, "no")


def test_sound_and_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reader(monkeypatch, lambda probe: probe.head)
    assert check(b"{}", folder=tmp_path)
    reader(monkeypatch, refuse)
    assert not check(b"{}", folder=tmp_path)


@pytest.mark.parametrize(
    "act",
    [
        lambda probe: __import__("this"),
        lambda probe: os.system("true"),
        lambda probe: pickle.loads(b"cposix\nsystem\n."),
        lambda probe: open(probe.path + ".lock", "w").close(),
        lambda probe: os.mkdir(probe.path + ".d"),
        lambda probe: eval("1"),
    ],
)
def test_acts_are_caught(act: Callable[[Probe], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reader(monkeypatch, act)
    with pytest.raises(AssertionError):
        check(b"{}", folder=tmp_path)


def test_wrong_documents_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reader(monkeypatch, id, steps=2)
    with pytest.raises(AssertionError, match=r"run\.steps"):
        check(b"{}", folder=tmp_path)
    reader(monkeypatch, id, name="a\x1b[2J")
    with pytest.raises(AssertionError, match="hidden"):
        check(b"{}", folder=tmp_path)
    reader(monkeypatch, id, name=7)  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"Expected `str`|int"):
        check(b"{}", folder=tmp_path)


def test_endless_work_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reader(monkeypatch, lambda probe: time.sleep(30))
    with pytest.raises(TooSlow):
        check(b"{}", folder=tmp_path, seconds=0.1)


def test_fuzz_counts_and_names_the_failing_copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reader(monkeypatch, lambda probe: refuse(probe) if len(probe.head) % 2 else None)
    opened, refused = fuzz(b'{"a": [1, 2, {"b": "some text"}]}', tmp_path, count=30)
    assert opened
    assert refused
    reader(monkeypatch, lambda probe: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        fuzz(b"{}", tmp_path, count=1)
    assert "copy number 0" in caught.value.__notes__[0]


def test_damage_keeps_kinds_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE t (a, b)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [("x", b"y"), (1, None)])
    database.close()
    copies = {damage(path.read_bytes(), random.Random(seed)) for seed in range(30)}
    assert len(copies) > 10
    assert damage(b"", random.Random(1)) is not None
