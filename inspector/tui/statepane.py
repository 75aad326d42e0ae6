"""The state half of the screen: seven tabs, of which one is shown, built from one snapshot."""

from collections.abc import Callable, Hashable, Sequence, Set
from functools import cache

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.strip import Strip

from inspector.tui.bars import Bar
from inspector.tui.draw import strip
from inspector.tui.finished import Column
from inspector.tui.line import Line, Span
from inspector.tui.panes.parts import Stack, note
from inspector.tui.rows import Rows
from inspector.tui.session import StateSnapshot

ABBREVIATED = 4
"""Letters of the names of other tabs where there is no room for them."""


class Tab(Struct, frozen=True):
    """A tab: `title` is what stands behind its name, None where the file does not tell; `of_state` says
    that it shows nothing without a state."""

    name: str
    title: Callable[[StateSnapshot], int | str | None]
    lines: Callable[[StateSnapshot, int, Set[Hashable]], Stack]
    of_state: bool


@cache
def tabs() -> tuple[Tab, ...]:
    """The tabs, imported when there is a state to show."""
    from inspector.tui.panes import graph, hooks, messages, pending, queues, raw, values

    return (
        Tab("Pending", pending.title, pending.lines, True),
        Tab("Queues", queues.title, queues.lines, True),
        Tab("Hooks", hooks.title, hooks.lines, False),
        Tab("Messages", messages.title, messages.lines, True),
        Tab("Values", values.title, values.lines, True),
        Tab("Graph", graph.title, graph.lines, False),
        Tab("Raw", raw.title, raw.lines, False),
    )


MESSAGES = 3
PREFERRED = (0, 1, 3, 4, 5, 6)
"""Which tab is open at first: the first of these that has something to show."""


class StatePane(Column):
    """The pane. `show` gives it what to show; which tab, fold and row one looks at stays from step to step."""

    DEFAULT_CSS = """
    StatePane Rows { height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = Rows(id="state-rows")
        self.tab = 0
        self._bar = TabBar()
        self._snapshot: StateSnapshot | None = None
        self._chosen = False
        self._toggled: set[Hashable] = set()
        self._cursors: dict[int, int] = {}
        self.edits: Callable[[str], object] | None = None
        """What edits the value in a place; None where nothing does."""
        self.why_not: Callable[[], str | None] = lambda: None
        """Why it does not for this run, in words; None where it does."""

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self.rows

    def strips(self, lines: Sequence[int]) -> list[Strip]:
        if not self.gutter.width:
            return super().strips(lines)
        border = Line((Span("│", "frame"),))
        return [strip(border, self.outer_size.width, ascii=Rows.ascii)] * len(lines)

    def show(self, snapshot: StateSnapshot | None) -> None:
        """Show another state, in the tab that is open."""
        self._snapshot = snapshot
        if snapshot is not None and snapshot.state is not None and not self._chosen:
            self._chosen = True
            self.tab = next((tab for tab in PREFERRED if tabs()[tab].title(snapshot) not in (None, 0)), PREFERRED[-1])
        self._build()

    def _build(self) -> None:
        """Make the lines of the open tab anew."""
        snapshot, width = self._snapshot, self.size.width - 1
        if snapshot is None or width < 1:
            return
        self._bar.set_tabs(snapshot, self.tab)
        at_end = self.tab == MESSAGES and self.rows.cursor >= len(self.rows.lines) - 1
        lines = pane_lines(snapshot, tabs()[self.tab], width, self._toggled)
        self.rows.show(lines, len(lines) - 1 if at_end else None)

    def open_tab(self, number: int) -> None:
        """Open tab `number`, from 1."""
        self._cursors[self.tab] = self.rows.cursor
        self.tab, self._chosen = number - 1, True
        self.rows.shift = 0
        self._build()
        at_first = len(self.rows.lines) - 1 if self.tab == MESSAGES else 0
        self.rows.move(self._cursors.get(self.tab, at_first), tell=False)

    def node_at_cursor(self) -> str | None:
        """The node of the graph that the cursor is on; None where that is none."""
        snapshot, rows = self._snapshot, self.rows
        if tabs()[self.tab].name != "Graph" or snapshot is None or rows.cursor >= len(rows.lines):
            return None
        opens, known = rows.lines[rows.cursor].opens, snapshot.definition.graph
        nodes = {node.id for node in known.nodes or ()} if known is not None else set()
        return opens.title if opens is not None and opens.title in nodes else None

    def place_at_cursor(self) -> str | None:
        """Where the value at the cursor can be edited; None where that is none."""
        rows = self.rows
        opens = rows.lines[rows.cursor].opens if rows.cursor < len(rows.lines) else None
        return opens.place if opens is not None else None

    def open_beside(self, by: int) -> None:
        """Open the tab beside the open one."""
        self.open_tab((self.tab + by) % len(tabs()) + 1)

    def fold(self) -> None:
        """Fold or unfold what is at the cursor."""
        if isinstance(self.rows.lines, Stack):
            self._toggle(self.rows.lines.fold(self.rows.cursor))

    def change_form(self) -> None:
        """Show the graph as a drawing or as a list."""
        if self.tab != len(tabs()) - 2:
            self.open_tab(len(tabs()) - 1)
        from inspector.tui.panes.graph import FORM

        self._toggle(FORM)

    def _toggle(self, fold: Hashable | None) -> None:
        if fold is not None:
            self._toggled ^= {fold}
            self._build()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        if event.line.opens is not None:
            from inspector.tui.viewer import Viewer

            self.app.push_screen(Viewer(event.line.opens, self.edits, self.why_not()))
        else:
            self.fold()

    def on_resize(self, event: events.Resize) -> None:
        self._build()


def pane_lines(snapshot: StateSnapshot, tab: Tab, width: int, toggled: Set[Hashable]) -> Stack:
    """What a tab shows of a snapshot."""
    if snapshot.loading:
        return note("loading …")
    if tab.of_state and snapshot.state is None:
        return note(f"this file cannot tell the state after step {snapshot.step}")
    return tab.lines(snapshot, width, toggled)


class TabBar(Bar):
    """The names of the tabs with their counts; the open one in brackets."""

    def __init__(self) -> None:
        super().__init__(id="tabs")
        self._names: list[tuple[str, str]] = []
        self._open = 0

    def set_tabs(self, snapshot: StateSnapshot, opened: int) -> None:
        """Show the counts of a snapshot."""
        self._open = opened
        self._names = [(tab.name, "" if snapshot.loading else counted(tab.title(snapshot))) for tab in tabs()]
        self.update()

    def lines(self) -> tuple[Line, ...]:
        return (tab_line(self._names, self._open, self.size.width),)


def counted(count: int | str | None) -> str:
    """What stands behind a tab's name, in few cells."""
    if count is None:
        return "-"
    if isinstance(count, str):
        return count
    return f"{count}" if count < 10_000 else f"{count // 1000}k" if count < 10_000_000 else f"{count // 1_000_000}M"


def tab_line(names: list[tuple[str, str]], opened: int, width: int) -> Line:
    """The tabs in one line: where there is no room, the names of the others are cut, then all but the open
    one and its neighbours left to the cut at the edge."""
    full = sum(len(" ".join(filter(None, parts))) + 2 for parts in names)
    spans: list[Span] = []
    for at, (name, count) in enumerate(names):
        shown = name if full <= width or at == opened else name[:ABBREVIATED]
        text = f"{shown} {count}".rstrip()
        spans.append(Span(f"[{text}]", "heading") if at == opened else Span(f" {text} ", "dim"))
    return Line(tuple(spans))
