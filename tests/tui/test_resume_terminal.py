"""Resuming in a real terminal, from opening a run to its end, in one go; nothing that code prints tears the screen."""

import contextlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inspector.resume.apps import load
from inspector.store import open_store
from tests.tui.resuming import gate, two
from tests.tui.terminal import Terminal

SIZE = (100, 30)


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    return {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("STATE", "DATA")}


def step_and_compare(terminal: Terminal) -> None:
    """Look at the run: a step back and on, and what is different."""
    terminal.until("? all keys")
    terminal.quiet()
    terminal.type("hl")
    terminal.quiet()
    terminal.clear()
    terminal.type("d")
    terminal.until("the same")
    terminal.type("s")
    terminal.until("difference")
    terminal.type("q")
    terminal.quiet()


def approve_both(terminal: Terminal) -> None:
    """Approve both calls of `two`; the plan is then ready to run."""
    terminal.until("? all keys")
    terminal.type("r")
    terminal.until("2 decisions owed")
    terminal.quiet()
    terminal.type("ja")
    terminal.quiet()
    terminal.type("jja")
    terminal.until("runs pay")
    terminal.quiet()


def to_the_end(terminal: Terminal, begins: str) -> None:
    """Run what the plan says."""
    terminal.until(begins)
    terminal.quiet()
    terminal.clear()
    terminal.type("r")
    terminal.until("completed")
    terminal.quiet()
    assert terminal.leave("q" + "q" + "q") == 0
    assert terminal.restored()


@pytest.mark.parametrize("kind", ["file", "store"])
def test_an_agent_of_which_one_call_is_denied_and_one_approved(
    kind: str, tmp_path: Path, folders: dict[str, str]
) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    if kind == "store":
        path = str(tmp_path / "runs.db")

        def begin() -> None:
            with contextlib.closing(open_store(path)) as store:
                load(target).value.prompt("Go.").durable(store, key="order-1").run_sync()

        with ThreadPoolExecutor(1) as pool:
            pool.submit(begin).result()
    with Terminal("open", path, "--app", target, size=SIZE, **folders) as terminal:
        step_and_compare(terminal)
        terminal.type("r")
        terminal.until("2 decisions owed: c1, c2")
        terminal.quiet()
        terminal.clear()
        terminal.type("jx")
        terminal.until("reason:")
        terminal.type("not that one\r")
        terminal.until("denied: not that one")
        terminal.quiet()
        terminal.type("jj")
        terminal.quiet()
        terminal.clear()
        terminal.type("a")
        to_the_end(terminal, "runs pay")
        assert "a child prints" not in terminal.text
        assert "paying B-2" not in terminal.text
    log = [json.loads(line) for line in (tmp_path / "state/runinspect/audit.jsonl").read_text().splitlines()]
    assert [entry["what"] for entry in log] == ["approve", "deny", "resume"]


def test_a_network_that_failed(tmp_path: Path, folders: dict[str, str]) -> None:
    path = str(shutil.copy("examples/review-failed.jsonl", tmp_path))
    with Terminal("open", path, "--app", "examples/review_pipeline.py:net", size=SIZE, **folders) as terminal:
        step_and_compare(terminal)
        terminal.type("r")
        to_the_end(terminal, "runs sections/polish")


def test_a_folder_of_wfpy(tmp_path: Path, folders: dict[str, str]) -> None:
    path = str(shutil.copytree("examples/wfpy-failed", tmp_path / "wfpy-failed"))
    with Terminal("open", path, "--app", "examples/wfpy_shop.py:shop", size=SIZE, **folders) as terminal:
        step_and_compare(terminal)
        terminal.type("r")
        to_the_end(terminal, "runs van")


def test_arguments_in_an_editor(tmp_path: Path, folders: dict[str, str]) -> None:
    path, target = two(tmp_path)
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\ntest -t 0 && sed -i s/5/6/ "$1"\n')
    os.chmod(editor, 0o700)
    with Terminal("open", path, "--app", target, size=SIZE, EDITOR=str(editor), **folders) as terminal:
        terminal.until("? all keys")
        terminal.type("r")
        terminal.until("2 decisions owed")
        terminal.quiet()
        terminal.type("j")
        terminal.quiet()
        terminal.clear()
        terminal.type("E")
        terminal.until('"amount": 6}')
        terminal.until("edited")
        assert terminal.leave("qq") == 0
        assert terminal.restored()


def test_who_leaves_while_a_tool_is_stuck_gets_the_terminal_back(tmp_path: Path, folders: dict[str, str]) -> None:
    path, target = two(tmp_path)
    file = Path(target.rpartition(":")[0])
    stuck = 'print("paying", order)\n    import time; time.sleep(1000)'
    file.write_text(file.read_text().replace('print("paying", order)', stuck))
    with Terminal("open", path, "--app", target, size=SIZE, **folders) as terminal:
        approve_both(terminal)
        terminal.type("r")
        terminal.until("pay started")
        terminal.quiet()
        terminal.type("\x03")
        terminal.until("stopping at the next boundary")
        terminal.quiet()
        terminal.type("\x03")
        terminal.until("leave the inspector now")
        terminal.quiet()
        assert terminal.leave("jj\r") == 1
        assert terminal.restored()


def test_code_that_ends_its_process_when_it_is_imported_is_not_imported_here(
    tmp_path: Path, folders: dict[str, str]
) -> None:
    path, target = two(tmp_path)
    file = Path(target.rpartition(":")[0])
    whole = file.read_text()
    file.write_text(f"import os; os.kill(os.getpid(), 11)\n{whole}")
    how = "ends the process without a word (SIGSEGV)"
    with Terminal("open", path, "--app", target, size=(200, 30), **folders) as terminal:
        terminal.until(how)
        for key in "rd":
            terminal.clear()
            terminal.type(key)
            terminal.until(how)
            terminal.quiet()
            terminal.type("q")
            terminal.until("? all keys")
            terminal.quiet()
        file.write_text(whole)
        terminal.clear()
        terminal.type("r")
        terminal.until("2 decisions owed")
        terminal.quiet()
        assert terminal.leave("qq") == 0
        assert terminal.restored()


def test_a_tool_that_ends_the_process_leaves_the_terminal_as_it_was_and_says_where_the_run_is(
    tmp_path: Path, folders: dict[str, str]
) -> None:
    path, target = two(tmp_path)
    file = Path(target.rpartition(":")[0])
    file.write_text(file.read_text().replace('print("paying", order)', "os._exit(9)"))
    with Terminal("open", path, "--app", target, size=SIZE, **folders) as terminal:
        approve_both(terminal)
        terminal.clear()
        assert terminal.leave("r") == 9
        terminal.until("ended without a word")
        terminal.until(terminal.restored)
    (trace,) = (tmp_path / "data/runinspect/traces").iterdir()
    assert f"the run as far as it came: runinspect {trace}" in terminal.text.replace("\r\n", "")


def test_over_a_slow_link_with_slow_code_a_word_says_what_is_waited_for(
    tmp_path: Path, folders: dict[str, str]
) -> None:
    path, target = two(tmp_path)
    gate(tmp_path)
    file = Path(target.rpartition(":")[0])
    file.write_text(f"import time; time.sleep(2)\n{file.read_text()}")
    with Terminal("open", path, "--app", target, latency=0.15, **folders) as terminal:
        terminal.until("? all keys")
        terminal.type("hl")
        terminal.quiet()
        terminal.clear()
        terminal.type("r")
        terminal.until("the plan is being made")
        assert "decisions owed" not in terminal.text
        terminal.until("2 decisions owed: c1, c2")
        terminal.quiet()
        terminal.type("jx")
        terminal.until("reason:")
        terminal.type("no\r")
        terminal.until("denied: no")
        terminal.quiet()
        terminal.type("jj")
        terminal.quiet()
        terminal.clear()
        terminal.type("a")
        to_the_end(terminal, "runs pay")
