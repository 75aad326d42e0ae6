"""Getting a text out of the screen: the terminal's clipboard, the plain terminal, a file.

The clipboard is set by OSC 52, which no terminal acknowledges, many refuse, and tmux passes on only where
it is told to. So what is too large is not sent, and the other two ways always stand beside it.
"""

import base64
import contextlib
import os
import sys
from collections.abc import Mapping

from inspector.model.text import clean

MOST_ENCODED = 74_994
"""Bytes of base64 that terminals and tmux take in one sequence."""
MOST_PRINTED = 1_000_000
"""Characters that are printed at most: a slow link is not to be blocked for minutes."""


def osc52(text: str, environment: Mapping[str, str]) -> str | None:
    """The escape sequences that ask the terminal to put `text` into its clipboard; None if it is too long.

    In tmux once as such (for its `set-clipboard`) and once wrapped (for `allow-passthrough`): the second
    one to arrive changes nothing."""
    encoded = base64.b64encode(text.encode("utf-8", "backslashreplace")).decode()
    if len(encoded) > MOST_ENCODED:
        return None
    plain = f"\x1b]52;c;{encoded}\x07"
    if environment.get("TMUX"):
        doubled = plain.replace("\x1b", "\x1b\x1b")
        return f"{plain}\x1bPtmux;{doubled}\x1b\\"
    if environment.get("STY"):
        return f"\x1bP{plain}\x1b\\"
    return plain


def print_plain(text: str, title: str, *, ascii: bool = False) -> None:
    """Print to the plain terminal, and wait for a key. Called while the screen is suspended."""
    shown = clean(text[:MOST_PRINTED])
    if ascii:
        shown = shown.encode("ascii", "backslashreplace").decode()
    sys.stdout.write(f"{clean(title)}\n\n{shown}\n")
    if len(text) > MOST_PRINTED:
        sys.stdout.write(f"\n[cut here: {len(text) - MOST_PRINTED:,} characters more; save writes all of them]\n")
    sys.stdout.flush()
    wait_for_key("\n[any key goes back]")


def wait_for_key(prompt: str) -> None:
    """Ask for a key of the terminal, whatever stdin is, and wait for it; at once where there is no terminal."""
    try:
        import termios
    except ImportError:
        input(prompt)
        return
    with contextlib.suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY)
        before = termios.tcgetattr(terminal)
        try:
            mode = termios.tcgetattr(terminal)
            # Ctrl-C is a key here too: it must not end the run that is looked at.
            mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
            termios.tcsetattr(terminal, termios.TCSADRAIN, mode)
            # Only now: a Ctrl-C that answers the prompt at once would else still be a signal.
            sys.stdout.write(prompt)
            sys.stdout.flush()
            os.read(terminal, 1)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
            os.close(terminal)


def save(text: str, path: str) -> str:
    """Write a text to a file that does not exist yet; the path as it was opened. Raises OSError."""
    full = os.path.abspath(os.path.expanduser(path))
    with open(full, "x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(text if text.endswith("\n") else text + "\n")
    return full
