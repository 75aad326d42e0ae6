"""The screen of a run, laid out: timeline and state side by side, or as two pages."""

from collections.abc import Iterable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from inspector.tui.bars import Bar, Footer
from inspector.tui.finished import Column, Row
from inspector.tui.header import HeaderBar, TroubleBar
from inspector.tui.loader import Loader
from inspector.tui.overview import OverviewBar
from inspector.tui.prompt import Prompt
from inspector.tui.session import Session
from inspector.tui.statepane import StatePane
from inspector.tui.timeline import Timeline, TitlesBar

NARROW = 110
"""Columns below which timeline and state are two pages."""

LATE = 0.15
"""Seconds after which what has not come, a state or a hit, is said to be on its way."""


class RunLayout(Screen[None]):
    """Timeline and state, the bars around them, and what they show of the session."""

    # DEFAULT_CSS and not CSS, which Textual does not load for the first screen of an app.
    DEFAULT_CSS = """
    RunLayout #body { height: 1fr; }
    RunLayout #left { width: 44%; }
    RunLayout #timeline { height: 1fr; }
    RunLayout #state { width: 1fr; border-left: solid ansi_bright_black; }
    RunLayout.-ascii #state { border-left: ascii ansi_bright_black; }
    RunLayout.-narrow #left { width: 1fr; }
    RunLayout.-narrow #state { border-left: none; display: none; }
    RunLayout.-narrow.-state #left { display: none; }
    RunLayout.-narrow.-state #state { display: block; }
    """
    AUTO_FOCUS = "#timeline"

    def __init__(self, session: Session, loader: Loader) -> None:
        super().__init__()
        self.session, self.loader = session, loader
        self.timeline = Timeline(session, self.go)
        self.pane = StatePane(id="state")
        self.footer = Footer("run", "app")
        self.prompt = Prompt()
        self.exporting = False
        self._bars: Sequence[Bar] = ()
        """Those that show where the session stands."""
        self.set_class(session.ascii, "-ascii")
        self._new = True

    async def on_event(self, event: events.Event) -> None:
        if self._new and isinstance(event, events.ScreenResume):
            # Everything was just styled; doing it again would take a tenth of the time to the first paint.
            self._new = event.refresh_styles = False
        await super().on_event(event)

    def compose(self) -> ComposeResult:
        # What it is first painted with is told only behind that paint.
        self.set_class(self.app.size.width < NARROW, "-narrow")
        above = (HeaderBar(self.session), TroubleBar(self.session), *self.more_bars())
        titles, overview = TitlesBar(self.timeline), OverviewBar(self.session)
        self._bars = (*above, titles, overview)
        yield from above
        with Row(id="body"):
            with Column(id="left"):
                yield titles
                yield self.timeline
                yield overview
            yield self.pane
        yield self.footer
        yield self.prompt

    def update_footer(self) -> None:
        """Show the keys of where one is."""

    def more_bars(self) -> Iterable[Bar]:
        """Bars below the header that a screen of more than looking has."""
        return ()

    def on_mount(self) -> None:
        self.loader.follow(self.session.following)
        self.sync(rows=True)
        self.call_after_refresh(self.loader.read_on)
        self.call_after_refresh(self.update_footer)

    def on_resize(self, event: events.Resize) -> None:
        narrow = event.size.width < NARROW
        if narrow and not self.narrow:
            # The page with the focus is the one that stays.
            self.set_class(self.focused in self.pane.walk_children(), "-state")
        if narrow != self.narrow:
            self.set_class(narrow, "-narrow")
            # At once, for the screen is laid out next: else it would be painted in the other layout first.
            self.app.stylesheet.update(self)
        self.call_after_refresh(self.ask_state)

    @property
    def narrow(self) -> bool:
        """Whether timeline and state are two pages."""
        return self.has_class("-narrow")

    def sync(self, *, rows: bool = False, state: bool = True) -> None:
        """Show where the session stands; `rows`: rows changed, `state`: so may the state."""
        self.timeline.sync(rows=rows)
        for bar in self._bars:
            bar.update()
        self.loader.hurry(self.session.waits_for_columns)
        if state:
            # The thread that fetches it would only get in the way of the cursor.
            self.call_after_refresh(self.ask_state)

    def ask_state(self) -> None:
        """Have the state fetched, where the pane is to be seen and shows another one."""
        snapshot = self.session.state()
        if snapshot is None or (self.narrow and not self.has_class("-state")):
            return
        if not snapshot.loading:
            self.pane.show(snapshot)
            return
        self.loader.state(snapshot.step)
        self.set_timer(LATE, self._say_loading)

    def _say_loading(self) -> None:
        snapshot = self.session.state()
        if snapshot and snapshot.loading:
            self.pane.show(snapshot)

    def go(self, seq: int) -> None:
        """Stand on a step."""
        self.session.seeking = 0
        if self.session.go(seq):
            self.sync()

    def focus_on(self, widget: Widget) -> None:
        """Put the focus on a widget, or on the first in it that takes one."""
        inner = next((child for child in widget.query("*") if child.focusable), None)
        self.set_focus(widget if widget.can_focus or inner is None else inner)
