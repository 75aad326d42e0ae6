"""A line of the screen as data: spans of text with a meaning, and what Enter opens on it.

Panes build lines and never colours. A span's style is a *meaning*, a key of `COLOURS`; what it looks
like is decided there, once, and a meaning that matters is also told by a sign or a word in the text,
because not every terminal has colours. Text of a span is one line; `draw` makes sure of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # the first paint needs none of it
    from collections.abc import Iterator

    from inspector.model.run import PendingStatus, RunStatus, StepStatus
    from inspector.model.values import Value


class Span(Struct, frozen=True):
    """A piece of a line; `style` is a key of `COLOURS`."""

    text: str
    style: str = ""


class Opens(Struct, frozen=True):
    """What Enter shows full-screen. `value` is a value or, where only text will do, a str; `place` is where it can be
    edited (see `model.places`), None where it cannot."""

    title: str
    value: Value
    place: str | None = None


class Line(Struct, frozen=True):
    """A line of the screen."""

    spans: tuple[Span, ...] = ()
    opens: Opens | None = None


class Lines(Protocol):
    """Lines that are built when asked for. A tuple or list of lines is one."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Line: ...


COLOURS = {
    "": "",
    "dim": "dim",
    "frame": "bright_black",
    "heading": "bold",
    "accent": "cyan",
    "key": "bold cyan",
    "done": "green",
    "failed": "bold red",
    "waiting": "bold yellow",
    "running": "bold cyan",
    "replayed": "magenta",
    "problem": "yellow",
    "added": "green",
    "removed": "red",
    "changed": "yellow",
    "bar": "blue",
    "match": "black on yellow",
    "title": "reverse",
    "selected": "bold reverse",
}
"""What a meaning looks like, in the colours that every terminal has and its owner chose."""

STEP_SIGNS: dict[StepStatus, Span] = {
    "done": Span("ok", "done"),
    "failed": Span("failed", "failed"),
    "replayed": Span("replay", "replayed"),
    "pending": Span("open", "waiting"),
    "running": Span("runs", "running"),
    "unknown": Span("?", "dim"),
}
"""A step's status in at most six cells."""

PENDING_SIGNS: dict[PendingStatus, Span] = {
    "waiting": Span("waiting", "waiting"),
    "ready": Span("ready", "accent"),
    "in_flight": Span("in flight", "running"),
    "ambiguous": Span("ambiguous", "failed"),
    "answered": Span("answered", "done"),
    "approved": Span("approved", "done"),
    "denied": Span("denied", "removed"),
}
"""The status of pending work."""

RUN_STYLES: dict[RunStatus, str] = {
    "running": "running",
    "suspended": "waiting",
    "completed": "done",
    "failed": "failed",
    "interrupted": "failed",
    "cancelled": "dim",
    "unknown": "dim",
}
"""The meaning of a run's status; its word is shown as it is."""

ASCII_SIGNS = {
    "…": "~",
    "·": "-",
    "→": ">",
    "←": "<",
    "↑": "^",
    "↓": "v",
    "│": "|",
    "─": "-",
    "┼": "+",
    "├": "+",
    "└": "`",
    "┌": "+",
    "┐": "+",
    "┘": "+",
    "┤": "+",
    "┬": "+",
    "┴": "+",
    "▸": ">",
    "▾": "v",
    "▏": ".",
    "▎": ":",
    "▍": ":",
    "▌": "=",
    "▋": "=",
    "▊": "#",
    "▉": "#",
    "█": "#",
    "▁": "_",
    "▂": ".",
    "▃": "-",
    "▄": "=",
    "▅": "+",
    "▆": "*",
    "▇": "#",
    "×": "x",
    "✓": "+",
    "✗": "x",
    "●": "*",
    "○": "o",
    "▲": "^",
    "▼": "v",
    "►": ">",
    "◄": "<",
}
"""Signs of ours and what stands for each with `--ascii`: one cell for one cell."""


def text_of(line: Line) -> str:
    """The line without its styles."""
    return "".join(span.text for span in line.spans)


def plain(text: str, style: str = "", opens: Opens | None = None) -> Line:
    """A line of one span."""
    return Line((Span(text, style),), opens)


def joined(parts: Iterator[Span] | list[Span], gap: str = "  ") -> Line:
    """A line of spans with a gap between each two; empty spans are left out."""
    spans: list[Span] = []
    for part in parts:
        if part.text:
            spans += [Span(gap), part] if spans else [part]
    return Line(tuple(spans))
