"""Runs handed back as rig saves them."""

import json
import shutil
from pathlib import Path

import pytest

from inspector import cli, exits
from inspector.formats import open_path

RIG = Path("tests/runner/data/rig_executing.json")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def run(*arguments: str) -> int:
    return exits.guarded(lambda: cli.run(list(arguments)))


def test_a_run_of_rig_comes_back_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "back.json"
    assert run("export", str(RIG), "--rig", "-o", str(out)) == 0
    assert json.loads(out.read_text()) == json.loads(RIG.read_text())
    (entry,) = [json.loads(line) for line in (tmp_path / "state/runinspect/audit.jsonl").read_text().splitlines()]
    assert (entry["what"], entry["form"], entry["raw"]) == ("export", "rig", True)


def test_a_run_that_went_on_here_is_one_that_rig_reads(tmp_path: Path) -> None:
    path = str(shutil.copy("examples/refund-suspended.jsonl", tmp_path))
    out = tmp_path / "run.rig.json"
    assert run("export", path, "--rig", "-o", str(out)) == 0
    source = open_path(str(out)).open(None)
    for _ in source.index():
        pass
    assert source.source.format == "rig"
    state = source.state(len(source))
    assert state is not None
    assert [item.name for item in state.pending or ()] == ["check_policy", "refund"]


def test_what_rig_could_not_go_on_with(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("export", "examples/review-failed.jsonl", "--rig") == 2
    assert "only those can be handed to rig" in capfd.readouterr().err


def test_read_only_hands_nothing_back(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RUNINSPECT_READ_ONLY", "1")
    assert run("export", str(RIG), "--rig") == 3
    out, errors = capfd.readouterr()
    assert out == ""
    assert "read_only" in errors
