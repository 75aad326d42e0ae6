"""Text from a file, made visible once, before anything shows it.

A trace can hold terminal escapes, bidirectional controls that reorder a line, and halves of
surrogate pairs that no terminal can print. `clean` turns each into the escape a JSON file would
use (`\\u001b`); newline and tab stay, everything else stays as it is and is not normalised.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

# C0 but tab and newline, DEL, C1; bidi marks, embeddings, overrides and isolates; line and
# paragraph separators (some terminals break lines there); the byte order mark; lone surrogates.
# Interlinear anchors and tag characters are invisible carriers of text, so they are shown too.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


_CONTROLS = bytes(code for code in range(0x80) if HIDDEN.match(chr(code)))
LONG = 1000
"""Characters from which on a text of many lines is looked at as bytes first."""


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str) -> str:
    """`text` with every character that could act on a terminal or reorder a line as an escape."""
    return text if _verbatim else visible(text)


def visible(text: str) -> str:
    """The same, also while texts are taken over `verbatim`."""
    return text if _is_plain(text) or not HIDDEN.search(text) else HIDDEN.sub(_escape, text)


def _is_plain(text: str) -> bool:
    """Whether nothing in it needs an escape, where that is told in less than half the time the pattern takes."""
    if text.isprintable():  # none of the hidden ones is
        return True
    return len(text) > LONG and text.isascii() and len(text.encode().translate(None, _CONTROLS)) == len(text)


_verbatim = False


@contextlib.contextmanager
def verbatim() -> Iterator[None]:
    """Meanwhile `clean` leaves texts as they are: for a copy that loses nothing. Nothing that is read then
    may be shown. For a command that does nothing else, since it holds for all threads."""
    global _verbatim
    before, _verbatim = _verbatim, True
    try:
        yield
    finally:
        _verbatim = before


def one_line(text: str) -> str:
    """`clean` text that also stays on its line: newline and tab become visible escapes."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def shorten(text: str, width: int) -> str:
    """At most `width` characters of one line; what is cut is replaced by an ellipsis."""
    if len(text) <= width and text.isascii() and text.isprintable():
        return text
    line = one_line(text[: width * 2 + 2])
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def again(number: int) -> str:
    """What stands behind a text that is there for the `number`-th time."""
    return " (again)" if number == 2 else f" (again {number})"


def told_apart(names: Iterable[str], mark: Callable[[int], str] = again) -> list[str]:
    """The names, each of its own: behind one that was there before stands `mark`, of how often."""
    names = list(names)
    taken, count = set(names), Counter[str]()
    found = []
    for name in names:
        count[name] += 1
        shown = name
        if count[name] > 1:
            while (shown := name + mark(count[name])) in taken:
                count[name] += 1
            taken.add(shown)
        found.append(shown)
    return found
