"""Single lines at the edges of the screen: header, headings, footer."""

from collections.abc import Sequence, Set
from itertools import zip_longest

from textual.geometry import Region
from textual.strip import Strip

from inspector.model.text import one_line
from inspector.tui import keys
from inspector.tui.draw import strip
from inspector.tui.finished import Finished
from inspector.tui.keys import Where
from inspector.tui.line import Line, Span, plain
from inspector.tui.rows import Rows

ARROWS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓"}
PLAIN_ARROWS = {"Left": "<-", "Right": "->"}


class Bar(Finished):
    """Lines that are set as a whole. `over` is the meaning that covers all of it."""

    DEFAULT_CSS = "Bar { height: 1; background: transparent; }"

    def __init__(self, *lines: Line, over: str | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = lines
        self._drawn: Sequence[Line] = ()
        self._width = -1
        self._strips: dict[int, Strip] = {}
        self._over = over

    def set(self, *lines: Line) -> None:
        """Show these lines."""
        self._lines = lines
        self.update()

    def lines(self) -> Sequence[Line]:
        """What is shown; for bars that make it from something else."""
        return self._lines

    def update(self) -> None:
        """Draw the lines that are not as they were drawn."""
        width = self._measure()
        before, self._drawn = self._drawn, self.lines()
        for y, (old, new) in enumerate(zip_longest(before, self._drawn)):
            if old != new:
                self._strips.pop(y, None)
                self.refresh(Region(0, y, width, 1))

    def redraw(self) -> None:
        """Draw all lines anew: they are shown otherwise, and are still the same."""
        self._strips.clear()
        self.refresh()

    def strips(self, lines: Sequence[int]) -> list[Strip]:
        before = self._width
        if before != self._measure():
            self._drawn = self.lines()
        for y in lines:
            if y not in self._strips:
                line = self._drawn[y] if y < len(self._drawn) else Line()
                self._strips[y] = strip(line, self._width, ascii=Rows.ascii, over=self._over)
        return [self._strips[y] for y in lines]

    def render_line(self, y: int) -> Strip:
        return self.strips([y])[0]

    def _measure(self) -> int:
        width = self.size.width
        if self._width != width:
            self._width = width
            self._strips.clear()
        return width


TOLD_ROWS = 4
"""Rows that are told at most at once."""


class Footer(Bar):
    """The keys of where one is; in their place, until the next key, what there is to tell, in as many rows as it
    takes, up to `TOLD_ROWS`."""

    def __init__(self, *places: Where) -> None:
        super().__init__(id="footer")
        self._places = places
        self._without: Set[str] = frozenset()
        self._said: tuple[str, str] | None = None
        """What there is to tell, and its style."""
        self._told: Sequence[Line] = ()

    def at(self, *places: Where, without: Set[str] = frozenset()) -> None:
        """Show the keys of these places, `without` those (by their ids) that can do nothing now."""
        if (places, without) != (self._places, self._without):
            self._places, self._without = places, without
            self.update()

    def tell(self, text: str, style: str = "problem") -> None:
        """Say something until the next key."""
        self._said = text, style
        self._show()

    def key_pressed(self) -> None:
        """What was told has been read."""
        if self._said is not None:
            self._said = None
            self._show()

    def on_resize(self) -> None:
        """What is told is broken anew."""
        if self._said is not None:
            self._show()

    def _show(self) -> None:
        self._told = self._rows(*self._said) if self._said is not None else ()
        self.styles.height = max(len(self._told), 1)
        self.update()

    def _rows(self, text: str, style: str) -> Sequence[Line]:
        from inspector.tui.masking import masked
        from inspector.tui.panes.flow import Flow

        # Broken as it will be seen: a credential is masked first. The footer itself has no width while it is hidden.
        width = self.app.size.width if self.is_attached else self.size.width
        flow = Flow(masked(one_line(text)), max(width - 1, 1), ascii=Rows.ascii)
        return [plain(f" {row}", style) for row in flow[:TOLD_ROWS]]

    def lines(self) -> Sequence[Line]:
        return self._told or (hints(self._places, self.size.width, self._without),)


def hints(places: Sequence[Where], width: int, without: Set[str] = frozenset()) -> Line:
    """The keys that have a word in the footer, `without` those with these ids, those with the same word together; as
    many as fit."""
    groups: dict[str, list[str]] = {}
    for key in (key for place in places for key in keys.of(place)):
        if key.hint and key.id not in without:
            first = keys.shown(key).split()[0]
            groups.setdefault(key.hint, []).append((PLAIN_ARROWS if Rows.ascii else ARROWS).get(first, first))
    # The last place's first key, `?`, stays when there is no room for all.
    *others, (last_hint, last_keys) = groups.items()
    spans: list[Span] = []
    room = width - len(last_hint) - sum(map(len, last_keys)) - 4
    for hint, signs in others:
        size = len(" ".join(signs)) + len(hint) + 3
        if size <= room:
            spans += [Span(" " + " ".join(signs), "key"), Span(f" {hint} ", "dim")]
            room -= size
    return Line((*spans, Span(" " + " ".join(last_keys), "key"), Span(f" {last_hint}", "dim")))
