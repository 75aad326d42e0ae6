"""The three ways out of the screen, in a real terminal."""

import base64
import json
from pathlib import Path

from tests.tui.terminal import Terminal

TEXT = "Where is order A-17? 受取\nIt should be here."


def trace(path: Path, text: str = TEXT) -> str:
    """A run of one message."""
    records = [
        {"record": "header", "id": "r1", "name": "jam", "kind": "agent"},
        {"record": "checkpoint", "seq": 0, "state": {"step": 0, "messages": [{"role": "user", "text": text}]}},
        {"record": "end", "status": "completed"},
    ]
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return str(path)


def open_message(terminal: Terminal, text: str = "Where") -> None:
    terminal.until("step 0/0")
    terminal.type("4")
    terminal.until("1 message")
    terminal.until(text)
    terminal.type("\r")
    terminal.until("tree/text")
    terminal.clear()


def come_back(terminal: Terminal, key: str) -> None:
    """Press a key on the plain terminal and wait for the screen: what is typed before it is there is dropped."""
    terminal.clear()
    terminal.type(key)
    terminal.until("tree/text")
    assert b"\x1b[?1049h" in terminal.seen
    terminal.quiet()


def test_a_text_is_copied_printed_and_saved(tmp_path: Path) -> None:
    with Terminal(trace(tmp_path / "t.jsonl")) as terminal:
        open_message(terminal)
        terminal.type("c")
        terminal.until("to the clipboard")
        assert terminal.seen.count(b"\x1b]52;c;") == 1, "one sequence, our own"
        encoded = terminal.seen.split(b"\x1b]52;c;")[1].split(b"\x07")[0]
        assert base64.b64decode(encoded).decode() == TEXT

        terminal.clear()
        terminal.type("p")
        terminal.until("[any key goes back]")
        begin = terminal.seen.rfind(b"\x1b[?1049l")
        assert begin >= 0, "the plain screen is shown"
        assert TEXT.replace("\n", "\r\n") in terminal.seen[begin:].decode()
        come_back(terminal, "\x03")

        terminal.type("s")
        terminal.until("save to:")
        # In one packet, as a slow link brings it: the line is emptied, typed, mended, and entered.
        terminal.type("\x15" + str(tmp_path / "outx") + "\x7f.txt\r")
        terminal.until("saved")
        assert (tmp_path / "out.txt").read_text() == TEXT + "\n"
        assert terminal.leave("qqq") == 0
        assert terminal.restored()


def test_what_is_printed_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    with Terminal(trace(tmp_path / "t.jsonl", "Where\x1b]0;owned\x07 \x9b31m \u202e")) as terminal:
        open_message(terminal)
        terminal.type("p")
        terminal.until("[any key goes back]")
        assert b"\x1b]0;" not in terminal.seen
        assert "\x9b" not in terminal.seen.decode()
        assert "\u202e" not in terminal.seen.decode()
        come_back(terminal, " ")
        assert terminal.leave("qqq") == 0
