"""What is sent to the terminal: only what is not there yet, and the same picture as Textual's own."""

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from inspector.tui._compat import ERASE, Stretch, _Lean
from tests.tui.panes.snapshots import few

WIDTH, HEIGHT = 12, 9
CONSOLE = Console(force_terminal=True, color_system="truecolor", width=WIDTH)
BOLD = Style(bold=True)


def layout(*texts: str, style: Style | None = None) -> LayoutUpdate:
    lines = [[Strip([Segment(text, style), Segment(" " * (WIDTH - len(text)))])] for text in texts]
    return LayoutUpdate(list(lines), Region(0, 0, WIDTH, len(texts)))


def chops(y: int, begin: int, end: int, text: str) -> ChopsUpdate:
    """A part of a line that has changed."""
    edges = sorted({0, begin, end, WIDTH})
    rest: list[dict[int, Strip | None]] = [dict.fromkeys(edges[:-1]) for _ in range(HEIGHT)]
    rest[y][begin] = Strip([Segment(text[: end - begin].ljust(end - begin))])
    return ChopsUpdate(rest, [(y, begin, end)], [edges[1:]] * HEIGHT)


def paint(grid: list[list[str]], sequences: str) -> None:
    """What a terminal does with them; colours are passed over."""
    row = column = 0
    top, bottom = 0, HEIGHT
    found = re.findall(
        r"([^\x1b\n]+)|\x1b\[(\d+;\d+)H|(\x1b\[K)|\x1b\[(\d*;?\d*)(r)|(\n|\x1bM)|\x1b\[[\d;]*m", sequences
    )
    for text, move, erase, region, margins, scroll in found:
        if margins:
            top, bottom = (int(region.split(";")[0]) - 1, int(region.split(";")[1])) if region else (0, HEIGHT)
        elif scroll and (row == bottom - 1 if scroll == "\n" else row == top):
            grid.insert(bottom if scroll == "\n" else top, [" "] * WIDTH)
            grid.pop(top if scroll == "\n" else bottom)
        elif move:
            row, column = (int(number) - 1 for number in move.split(";"))
        elif erase:
            grid[row][column:] = [" "] * (WIDTH - column)
        elif text:
            grid[row][column : column + len(text)] = text
            column += len(text)


def pieces(*lines: list[tuple[str, Style | None]]) -> LayoutUpdate:
    """Lines of pieces, cut where the screen ends."""
    made = []
    for line in lines:
        strip = Strip([Segment(text, style) for text, style in line])
        made.append([strip.crop(0, WIDTH).extend_cell_length(WIDTH)])
    return LayoutUpdate(list(made), Region(0, 0, WIDTH, len(lines)))


texts = st.text("ab ", max_size=WIDTH)
styles = st.sampled_from([None, BOLD])
piece = st.tuples(st.sampled_from(["a", "b ", "▏", "██", "  "]), styles)
scrolled = st.builds(
    lambda begin, above: layout(*"ab"[:above], *(f"line {begin + at}" for at in range(HEIGHT - above))),
    st.integers(0, 8),
    st.integers(0, 2),
)
updates = st.one_of(
    scrolled,
    st.builds(
        lambda lines, style: layout(*lines, style=style), st.lists(texts, min_size=HEIGHT, max_size=HEIGHT), styles
    ),
    st.builds(lambda lines: pieces(*lines), st.lists(st.lists(piece, max_size=5), min_size=HEIGHT, max_size=HEIGHT)),
    st.builds(
        lambda y, edges, text: chops(y, min(edges), max(edges), text),
        st.integers(0, HEIGHT - 1),
        st.sets(st.sampled_from([0, 3, 4, 7, WIDTH]), min_size=2, max_size=2),
        texts,
    ),
)


@few
@given(st.lists(updates, max_size=8))
def test_the_picture_is_that_of_textual(found: list[LayoutUpdate | ChopsUpdate]) -> None:
    theirs, ours = ([[" "] * WIDTH for _ in range(HEIGHT)] for _ in range(2))
    known: dict[int, list[Stretch]] = {}
    for update in found:
        assert isinstance(update, CompositorUpdate)
        paint(theirs, update.render_segments(CONSOLE))
        paint(ours, _Lean(update, known, WIDTH).render_segments(CONSOLE))
        assert ours == theirs


def test_what_stands_there_is_not_sent_again() -> None:
    known: dict[int, list[Stretch]] = {}
    first = _Lean(layout("one", "two", "three", style=BOLD), known, WIDTH).render_segments(CONSOLE)
    assert first.count(ERASE) == 3
    assert " " not in first
    again = _Lean(layout("one", "TWO", "three", style=BOLD), known, WIDTH).render_segments(CONSOLE)
    assert "TWO" in again
    assert "one" not in again
    assert not _Lean(layout("one", "TWO", "three", style=BOLD), known, WIDTH).render_segments(CONSOLE)
    _Lean(chops(1, 4, WIDTH, "more"), known, WIDTH).render_segments(CONSOLE)
    after = _Lean(layout("one", "TWO", "three", style=BOLD), known, WIDTH).render_segments(CONSOLE)
    assert "TWO" not in after, "of a line of which a part was painted the other is known"
    assert ERASE in after


def test_of_a_line_only_what_changed_is_sent() -> None:
    known: dict[int, list[Stretch]] = {}

    def sent(*line: str) -> str:
        return _Lean(pieces([(text, BOLD) for text in line]), known, WIDTH).render_segments(CONSOLE)

    sent("one", "█", "three")
    again = sent("one", "▏", "three")
    assert again.startswith("\x1b[1;4H")
    assert "▏" in again
    assert "one" not in again
    assert "three" not in again
    assert ERASE not in again
    assert "three" not in sent("one", "▏▏", "thr")
    for odd in ("漢", "⏰", "◽", "n⃝", "x\u2060", "x\xad"):
        sent(odd, "one")
        assert odd in sent(odd, "two"), "in which column what is behind it begins is not the same everywhere"
    for known_width in ("✓", "✗", "é", "→", "█"):
        sent(known_width, "one")
        assert known_width not in sent(known_width, "two")


def test_lines_of_a_list_that_is_scrolled_are_not_sent_again() -> None:
    known: dict[int, list[Stretch]] = {}

    def sent(begin: int) -> str:
        rows = (f"line {begin + at}" for at in range(HEIGHT - 1))
        return _Lean(layout("title", *rows), known, WIDTH).render_segments(CONSOLE)

    sent(0)
    down = sent(2)
    assert re.findall(r"line (\d+)", down) == ["8", "9"]
    assert "title" not in down
    assert re.findall(r"line (\d+)", sent(1)) == ["1"]
