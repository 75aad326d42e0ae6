"""The command in a real terminal: nothing from a file acts on it, and it is left as it was found."""

import json
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal

ATTACKS = (
    "\x1b]0;owned\x07",
    "\x1b]52;c;b3duZWQ=\x1b\\",
    "\x1b[31337m",
    "\x1bP1$qowned\x1b\\",
    "\x9b31337m",
    "\x07\x08\x0c\x0e",
    "\u202eevil\u2066",
    "[/red][@click=app.quit]quit[/] [sys:LOCK=SAFE",
    "\ud800",
)
ATTACK = "".join(ATTACKS)
EXAMPLE = "examples/trace.json"

FORBIDDEN = (b"\x1b]0;", b"\x1b]52;", b"\x1b[31337m", b"\x1bP", b"\x08", b"\x0c", b"\x0e")
FORBIDDEN_TEXT = ("\x9b", "\u202e", "\u2066", "\ud800")


def attacked(value: object) -> object:
    """A copy of a record with the attack behind every text that is no word of the format."""
    words = {"record", "kind", "status", "contents", "tools_known", "started", "ended", "since", "at", "idempotency"}
    if isinstance(value, dict):
        return {key: item if key in words else attacked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [attacked(item) for item in value]
    return value + ATTACK if isinstance(value, str) else value


def hostile_trace(path: Path) -> Path:
    lines = Path(EXAMPLE).read_text().splitlines()
    records = [json.dumps(attacked(json.loads(line))) for line in lines]
    path.write_text(
        "\n".join([*records[:5], '{"record": "st' + ATTACK.encode("utf-8", "ignore").decode(), *records[5:]])
    )
    return path


def assert_harmless(terminal: Terminal) -> None:
    for sequence in FORBIDDEN:
        assert sequence not in terminal.seen
    text = terminal.seen.decode("utf-8", "replace")
    for sign in FORBIDDEN_TEXT:
        assert sign not in text


def test_nothing_from_a_file_acts_on_the_terminal(tmp_path: Path) -> None:
    trace = hostile_trace(tmp_path / "trace.jsonl")
    with Terminal(str(trace), size=(160, 40)) as terminal:
        terminal.until("/15")
        for keys in ("k", "\t", "1", "2", "3", "4", "5", "6", "7"):
            terminal.type(keys)
            terminal.quiet(0.1)
        for keys in ("\r", "q", "4", "j", "\r", "w", "q", "p", "\r", "q", "q", "?", "q", "/owned\r", "f", "q"):
            terminal.type(keys)
            terminal.quiet(0.1)
        assert "\\u001b]0;owned" in terminal.text
        assert "[/red][@click=app.quit]quit[/]" in terminal.text
        assert_harmless(terminal)
        assert terminal.leave("\x03") == 0
        assert terminal.restored()
        assert_harmless(terminal)


def test_what_is_pasted_does_not_act() -> None:
    with Terminal(EXAMPLE) as terminal:
        terminal.until("/15")
        for opened in ("/", "g", "x"):
            terminal.type(f"{opened}\x1b[200~a\x1b]0;owned\x07\x9b31337m\x0eb\x1b[201~")
            terminal.quiet()
            assert_harmless(terminal)
            terminal.type("\x1b")
            terminal.quiet()
        assert terminal.leave("q") == 0


def test_names_of_files_and_errors_do_not_act(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b]0;owned\x07[red]\u202e"
    folder.mkdir()
    (folder / "x\x1b[31337m").write_text('{"no": "run"}')
    with Terminal(str(folder / "x\x1b[31337m")) as terminal:
        terminal.until("This cannot be opened")
        terminal.quiet()
        assert "\\u001b]0;owned" in terminal.text
        assert terminal.leave("q") == 2
        assert "runinspect: " in terminal.text
        assert_harmless(terminal)


def test_a_list_of_runs_with_such_names_does_not_act(tmp_path: Path) -> None:
    folder = tmp_path / "runs\x1b]0;owned\x07"
    folder.mkdir()
    hostile_trace(folder / "one\x1b[31337m")
    (folder / "two").write_text(Path(EXAMPLE).read_text())
    with Terminal(str(folder)) as terminal:
        terminal.until("2 runs")
        terminal.quiet()
        for keys in ("p", "q", "/own\r", "\x1b", "\r", "q"):
            terminal.type(keys)
            terminal.quiet(0.15)
        assert_harmless(terminal)
        assert terminal.leave("\x03") == 0


@pytest.mark.parametrize(
    ("keys", "number", "code"),
    [("q", None, 0), ("", signal.SIGTERM, 143), ("", signal.SIGHUP, 129)],
)
def test_the_terminal_is_left_as_it_was(keys: str, number: int | None, code: int) -> None:
    with Terminal(EXAMPLE) as terminal:
        terminal.until("/15")
        terminal.quiet()
        assert not terminal.restored()
        assert b"\x1b[?1000h" not in terminal.seen, "the mouse is left to the terminal"
        assert terminal.leave(keys, number) == code
        assert terminal.restored()


def test_a_defect_ends_it_in_one_line_with_the_terminal_restored() -> None:
    program = (
        "from inspector.tui.runscreen import RunScreen\n"
        "from inspector.cli import main\n"
        "def broken(self): raise RuntimeError('a defect')\n"
        "RunScreen.action_mark = broken\n"
        "main()\n"
    )
    with Terminal(EXAMPLE, program=program) as terminal:
        terminal.until("/15")
        assert terminal.leave("m") == 2
        assert terminal.restored()
        end = terminal.text[-400:]
        assert "runinspect: internal error: RuntimeError: a defect" in end
        assert "Traceback" not in terminal.text


def test_control_z_goes_to_the_shell_and_comes_back() -> None:
    with Terminal(EXAMPLE) as terminal:
        terminal.until("/15")
        terminal.quiet()
        terminal.type("\x1a")
        terminal.until(terminal.is_stopped)
        terminal.quiet(0.05)
        assert terminal.restored()
        terminal.clear()
        terminal.wake()
        terminal.until("/15")
        terminal.type("k")
        terminal.until("14/15")
        assert terminal.leave("q") == 0
        assert terminal.restored()


@pytest.mark.parametrize(
    "arguments", [("--step", "3", EXAMPLE), (EXAMPLE, "--step", "3"), ("--read-only", EXAMPLE, "--step=3")]
)
def test_options_stand_before_or_behind_the_path(arguments: tuple[str, ...]) -> None:
    with Terminal(*arguments) as terminal:
        terminal.until("step 3/15")
        assert terminal.leave("q") == 0


def test_a_step_costs_a_slow_link_little() -> None:
    with Terminal(EXAMPLE) as terminal:
        terminal.until("/15")
        terminal.quiet()
        for key in "kkjhl":
            terminal.clear()
            terminal.type(key)
            terminal.quiet()
            assert len(terminal.seen) < 700, "two rows, the position, and where one is in the strip"
        terminal.type("/")
        terminal.quiet()
        terminal.clear()  # Ctrl-L draws all of it again, also where something is typed
        terminal.type("\x0c")
        terminal.until("find:")
        terminal.until("/15")


def test_where_nothing_changes_nothing_is_sent() -> None:
    with Terminal(EXAMPLE, "--step", "0") as terminal:
        terminal.until("/15")
        terminal.quiet()
        terminal.clear()
        terminal.type("hk")
        terminal.quiet()
        assert terminal.seen == b""


def test_a_narrow_terminal_is_painted_narrow_from_the_first() -> None:
    with Terminal(EXAMPLE) as terminal:
        terminal.until("/15")
        terminal.quiet()
        assert "│" not in terminal.text, "between timeline and state, where they are side by side"
        assert len(terminal.seen) < 5000, "one picture, and the bars behind it"


def test_what_is_piped_in_is_shown_and_keys_come_from_the_terminal() -> None:
    program = f"import os, sys\nos.dup2(os.open({EXAMPLE!r}, os.O_RDONLY), 0)\nfrom inspector.cli import main\nmain()\n"
    with Terminal("-", program=program) as terminal:
        terminal.until("/15")
        terminal.type("k")
        terminal.until("14/15")
        assert terminal.leave("q") == 0
        assert terminal.restored()


def test_it_ends_while_it_waits_for_what_is_piped_in() -> None:
    command = [sys.executable, "-m", "inspector", "-"]
    program = f"import subprocess, sys; sys.exit(subprocess.Popen({command!r}, stdin=subprocess.PIPE).wait())"
    with Terminal(program=program) as terminal:
        terminal.until("opening - …")
        assert terminal.leave("q") == 0
        assert "Fatal" not in terminal.text
        assert terminal.restored()


def test_it_ends_when_the_terminal_goes_away() -> None:
    with Terminal(EXAMPLE) as terminal:
        terminal.until("/15")
        terminal.hang_up()
        assert terminal.process.wait(20) != 0


def test_the_mouse_is_taken_when_asked_for() -> None:
    with Terminal(EXAMPLE, "--mouse", TERM="linux") as terminal:
        terminal.until("/15")
        terminal.quiet()
        assert b"\x1b[?1000h" in terminal.seen
        assert terminal.leave("q") == 0
        assert terminal.restored()


def colours(terminal: Terminal) -> set[int]:
    """The codes of colours that came out."""
    codes = {
        int(code) for found in re.findall(rb"\x1b\[([0-9;]*)m", terminal.seen) for code in found.split(b";") if code
    }
    return codes & {*range(30, 39), *range(40, 49), *range(90, 108)}


def test_a_terminal_without_utf8_and_without_colours_gets_neither(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(Path(EXAMPLE).read_text().replace("refund_agent", "受取 é"))
    with Terminal(str(trace), size=(160, 40), LC_ALL="C", TERM="vt100") as terminal:
        terminal.until("/15")
        terminal.type("\t3467")
        terminal.quiet()
        assert terminal.seen.isascii()
        assert not colours(terminal)
        assert terminal.leave("q") == 0
        assert terminal.restored()


def test_a_terminal_that_cannot_move_its_cursor_is_told_so() -> None:
    with Terminal(EXAMPLE, TERM="dumb") as terminal:
        assert terminal.leave() == 2
        assert "`runinspect show` prints the run" in terminal.text
        assert b"\x1b" not in terminal.seen


def test_resizing_draws_the_other_layout_and_no_colour_means_none() -> None:
    with Terminal(EXAMPLE, size=(160, 40), NO_COLOR="1", TERM="tmux-256color") as terminal:
        terminal.until("Pending")
        terminal.quiet()
        terminal.clear()
        terminal.resize(80, 24)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.until("15/15")
        terminal.quiet()
        assert "Pending" not in terminal.text
        assert not colours(terminal)
        assert terminal.leave("q") == 0
