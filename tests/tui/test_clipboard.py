import base64
from pathlib import Path

import pytest

from inspector.tui import clipboard
from inspector.tui.clipboard import MOST_ENCODED, osc52, save


def decoded(sequence: str) -> str:
    return base64.b64decode(sequence.split("\x1b]52;c;")[1].split("\x07")[0]).decode()


def test_outside_tmux_one_sequence() -> None:
    sequence = osc52("jam 受", {})
    assert sequence is not None
    assert sequence.startswith("\x1b]52;c;")
    assert sequence.endswith("\x07")
    assert decoded(sequence) == "jam 受"


def test_in_tmux_also_wrapped() -> None:
    sequence = osc52("jam", {"TMUX": "/tmp/tmux-0/default,1,0"})
    assert sequence is not None
    bare, _, wrapped = sequence.partition("\x1bPtmux;")
    assert decoded(bare) == "jam"
    assert wrapped.startswith("\x1b\x1b]52;c;")
    assert wrapped.endswith("\x07\x1b\\")


def test_in_screen_wrapped() -> None:
    sequence = osc52("jam", {"STY": "1.tty"})
    assert sequence is not None
    assert sequence.startswith("\x1bP\x1b]52;c;")


def test_nothing_of_the_text_is_an_escape() -> None:
    sequence = osc52("\x1b]0;title\x07", {})
    assert sequence is not None
    assert sequence.count("\x1b") == 1
    assert osc52("\ud800", {}) is not None


def test_too_long_a_text_is_not_sent() -> None:
    most = MOST_ENCODED // 4 * 3
    assert osc52("x" * most, {}) is not None
    assert osc52("x" * (most + 3), {}) is None


def test_a_saved_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "value.txt"
    assert save("one", str(path)) == str(path)
    assert path.read_text() == "one\n"
    with pytest.raises(FileExistsError):
        save("two", str(path))
    assert path.read_text() == "one\n"
    with pytest.raises(OSError):
        save("x", str(tmp_path / "no" / "such"))


def test_printing_is_bounded_and_clean(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(clipboard, "wait_for_key", lambda prompt: None)
    monkeypatch.setattr(clipboard, "MOST_PRINTED", 10)
    clipboard.print_plain("0123\x1b[2J" + "x" * 100, "ti\x9btle", ascii=True)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "98 characters more" in out
