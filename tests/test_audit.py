"""The audit log, and what is not done where only looking is allowed."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from inspector import audit, cli, exits
from inspector.errors import UsageError

RUN = "examples/refund-suspended.jsonl"
AGENT = "examples/refund_agent.py:agent"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNINSPECT_READ_ONLY", raising=False)
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def run(*arguments: str) -> int:
    return exits.guarded(lambda: cli.run(list(arguments)))


def entries() -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(audit.path()).read_text().splitlines()]


def test_deeds_are_appended_for_their_owner_alone() -> None:
    audit.record("reveal", "r1", step=4, nothing=None)
    audit.record("save", "a value\nwith a line")
    first, second = entries()
    assert (first["what"], first["subject"], first["step"]) == ("reveal", "r1", 4)
    assert "nothing" not in first
    assert "@" in str(first["who"])
    assert first["pid"] == os.getpid()
    assert second["subject"] == "a value\nwith a line"
    assert stat.S_IMODE(os.stat(audit.path()).st_mode) == 0o600


def test_words_that_are_no_utf_8_are_written_down_visibly() -> None:
    audit.record("deny", "c1", reason="\udcff no")
    assert entries()[0]["reason"] == "\\udcff no"


def test_a_deed_that_cannot_be_written_down_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RUNINSPECT_AUDIT", str(tmp_path))
    with pytest.raises(UsageError, match="so nothing is done"):
        audit.record("reveal")
    path = shutil.copy(RUN, tmp_path)
    assert run("resume", str(path), "--app", AGENT, "--approve", "c3", "--trace", str(tmp_path / "new.jsonl")) == 2
    assert "the audit log cannot be written" in capfd.readouterr().err
    assert not (tmp_path / "new.jsonl").exists()


def test_who_resumed_and_decided_and_exported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(shutil.copy(RUN, tmp_path))
    assert run("resume", path, "--app", AGENT, "--deny", "c3=not that one", "--trace", str(tmp_path / "new.jsonl")) == 0
    assert run("export", path, "-o", str(tmp_path / "copy.jsonl")) == 0
    found = [(entry["what"], entry["subject"]) for entry in entries()]
    assert found == [("deny", "c3"), ("resume", "refund-suspended"), ("export", "refund-suspended")]
    deny, resumed, exported = entries()
    assert deny["reason"] == "not that one"
    assert (resumed["path"], resumed["step"], resumed["app"]) == (path, 4, AGENT)
    assert exported["to"] == str(tmp_path / "copy.jsonl")


@pytest.mark.parametrize(
    ("arguments", "deed"),
    [
        (("check", RUN, "--app", AGENT), "imported"),
        (("resume", RUN, "--app", AGENT, "--approve", "c3"), "imported"),
        (("run", AGENT, "--input", '"x"'), "imported"),
        (("diff", RUN, "--app", AGENT), "imported"),
        (("export", RUN, "--raw"), "exported with its credentials"),
    ],
)
@pytest.mark.parametrize("way", ["option", "environment"])
def test_read_only(
    arguments: tuple[str, ...],
    deed: str,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("RUNINSPECT_READ_ONLY", "1" if way == "environment" else "")
    assert run(*(("--read-only",) if way == "option" else ()), *arguments) == 3
    out, errors = capfd.readouterr()
    assert out == ""
    assert f"read_only: this is read-only (RUNINSPECT_READ_ONLY or --read-only): nothing is {deed}" in errors
    assert not (tmp_path / "data").exists()


def test_read_only_still_shows_and_exports_what_is_masked(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RUNINSPECT_READ_ONLY", "1")
    assert run("show", RUN) == 0
    assert run("export", RUN) == 0
    assert "refund-suspended" in capfd.readouterr().out


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_read_only_prints_no_credential(
    json: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    key = "sk-ant-api03-" + "aB3" * 20
    path = tmp_path / "run.jsonl"
    path.write_text(Path(RUN).read_text().replace("42.00", key).replace("A-17", key))
    run("show", str(path), *json)
    run("diff", f"{path}@0", f"{path}@4", *json)
    assert capfd.readouterr().out.count(key) > 1, "elsewhere it is told as it stands"
    monkeypatch.setenv("RUNINSPECT_READ_ONLY", "1")
    assert run("show", str(path), *json) == 0
    assert run("diff", f"{path}@0", f"{path}@4", *json) == 1
    out = capfd.readouterr().out
    assert key not in out
    assert "[redacted:api-key]" in out


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_read_only_lists_no_credential_and_tells_none_of_what_is_wrong(
    json: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    key = "sk-ant-api03-" + "aB3" * 20
    path = tmp_path / "run.jsonl"
    path.write_text(Path(RUN).read_text().replace('"refund-suspended"', f'"{key}"') + '{"record":"step"\n')
    run("runs", str(path), *json)
    run("show", str(path), "--run", f"no {key}")
    told = capfd.readouterr()
    assert (key in told.out, key in told.err) == (True, True), "elsewhere it is told as it stands"
    monkeypatch.setenv("RUNINSPECT_READ_ONLY", "1")
    run("runs", str(path), *json)
    run("show", str(path), "--run", f"no {key}")
    told = capfd.readouterr()
    assert key not in told.out + told.err
    assert "[redacted:api-key]" in told.out


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_read_only_prints_neither_side_of_a_password(
    json: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sides = tmp_path / "left.jsonl", tmp_path / "right.jsonl"
    for path, word in zip(sides, ("hunter2-left", "hunter2-right"), strict=True):
        path.write_text(Path(RUN).read_text().replace('{"order":"A-17"}', f'{{"order":"A-17","password":"{word}"}}'))
    monkeypatch.setenv("RUNINSPECT_READ_ONLY", "1")
    assert run("diff", *map(str, sides), *json) == 1
    out = capfd.readouterr().out
    assert "hunter2" not in out
    assert out.count("[redacted:password]") == 2
