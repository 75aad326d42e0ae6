"""Code that ends its process when it is imported: said on stderr by every command that imports."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from inspector.resume.fatal import exits_raise

RUN = "examples/refund-suspended.jsonl"
COMMANDS = [("check", RUN, "--app"), ("resume", RUN, "--app"), ("run",), ("diff", RUN, "--app")]


def _run(command: tuple[str, ...], file: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "inspector", *command, f"{file}:agent"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "XDG_DATA_HOME": str(file.parent), "XDG_STATE_HOME": str(file.parent)},
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_exit_at_import_is_an_error_with_its_place(tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "leaving_app.py"
    file.write_text("import os\nfrom os import _exit\n_exit(0)\n")
    done = _run(command, file)
    assert done.returncode == 2
    told = "cannot be imported: Exited: it calls os._exit(0) (leaving_app.py:3)"
    assert done.stderr == f"runinspect: {file}:agent: {told}\n"
    assert not done.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_signal_at_import_is_said(tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "crashing_app.py"
    file.write_text("import os\nos.kill(os.getpid(), 11)\n")
    done = _run(command, file)
    assert done.returncode == -11
    assert done.stderr == f"runinspect: {file}:agent: importing it ended the process without a word\n"


LEAVES = """
import os
from inspector import Agent, Call, ScriptedModel, tool

@tool
def leave() -> str:
    "Leave."
    if os.path.exists("killed"):
        os._exit(0)
    open("killed", "w").close()
    os.kill(os.getpid(), 9)

agent = Agent("leaving", model=ScriptedModel([Call("leave", {})]), tools=[leave])
"""


def test_a_tool_that_ends_the_process_is_said_with_the_way_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "leaving_tool.py"
    file.write_text(LEAVES)
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.chdir(tmp_path)
    target, again = f"{file}:agent", ("--reconcile", "c1=retry", "--trace", "b.jsonl")
    for command, code, trace in (
        (("run", "--input", '"x"', "--trace", "a.jsonl"), -9, "a.jsonl"),
        (("resume", "a.jsonl", *again, "--app"), 1, "b.jsonl"),
    ):
        done = _run(command, file)
        assert done.returncode == code
        assert done.stderr == (
            f"runinspect: {target}: this process ended without a word, with that code in it, and the run stops where "
            f"its journal ends; look with: runinspect {trace}; go on with: runinspect resume {trace} --app {target}\n"
        )


def test_a_program_that_hears_of_no_child_is_told_of_as_any_other(tmp_path: Path) -> None:
    file = tmp_path / "taking_app.py"
    lines = "import signal", "signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "from inspector import Agent"
    file.write_text("\n".join((*lines, "agent = Agent('a', model='openai:m')")))
    done = _run(("check", RUN, "--app"), file)
    assert (done.returncode, "runinspect: output" in done.stderr) == (3, False), done.stderr


def test_a_process_that_closes_its_files_has_not_ended() -> None:
    code = "import os; from inspector.resume.fatal import last_words\nwith last_words('lost'): os.closerange(3, 64)"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_only_the_thread_that_imports_is_kept_from_leaving() -> None:
    code = "import os, threading; from inspector.resume.fatal import exits_raise\nwith exits_raise(): {}"
    for leaves in (
        "t = threading.Thread(target=os._exit, args=(5,)); t.start(); t.join()",
        "os._exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1])) if (p := os.fork()) else os._exit(5)",
    ):
        done = subprocess.run([sys.executable, "-c", code.format(leaves)], check=False, timeout=60)
        assert done.returncode in ((5,) if "Thread" in leaves else (1,))
    assert threading.current_thread() is threading.main_thread()
    real = os._exit
    with exits_raise():
        assert os._exit is not real
    assert os._exit is real
