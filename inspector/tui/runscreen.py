"""The screen of a run: keys to the session and the loader, reports to the panes. It decides nothing."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widget import Widget

from inspector.tui.bars import Bar, Footer
from inspector.tui.columns import Filter
from inspector.tui.header import header, rate
from inspector.tui.keys import bindings, typing
from inspector.tui.line import Line, plain
from inspector.tui.loader import Loader
from inspector.tui.overview import OverviewBar
from inspector.tui.pages import FilterPage, ProblemsPage
from inspector.tui.prompt import Prompt
from inspector.tui.reports import Damaged, Exported, Failed, Fetched, Known, Report, Scanned, Searched, Stood
from inspector.tui.rows import Rows
from inspector.tui.session import Session
from inspector.tui.statepane import StatePane
from inspector.tui.timeline import Timeline, titles

NARROW = 110
"""Columns below which timeline and state are two pages."""

LATE = 0.15
"""Seconds after which a state that has not come is said to be loading."""


class Header(Bar):
    """The header of a session."""

    def __init__(self, session: Session) -> None:
        super().__init__(over="title", id="header")
        self._session = session

    def lines(self) -> tuple[Line, ...]:
        heading = self._session.heading()
        return (header(heading, self.size.width) if heading else plain(" opening …"),)


class Titles(Bar):
    """The names of the timeline's columns."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(id="titles")
        self._timeline = timeline

    def lines(self) -> tuple[Line, ...]:
        return (Line((*plain(" ").spans, *titles(self._timeline.columns).spans)),)


class RunScreen(Screen[None]):
    """Timeline and state side by side, or below NARROW columns as two pages."""

    CSS = """
    RunScreen #body { height: 1fr; }
    RunScreen #left { width: 44%; }
    RunScreen #timeline { height: 1fr; }
    RunScreen #state { width: 1fr; border-left: solid ansi_bright_black; }
    RunScreen.-ascii #state { border-left: ascii ansi_bright_black; }
    RunScreen.-narrow #left { width: 1fr; }
    RunScreen.-narrow #state { border-left: none; display: none; }
    RunScreen.-narrow.-state #left { display: none; }
    RunScreen.-narrow.-state #state { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("run"), *bindings("state")]
    AUTO_FOCUS = "#timeline"

    def __init__(self, session: Session, loader: Loader) -> None:
        super().__init__()
        self.session, self.loader = session, loader
        self.timeline = Timeline(session, self.go)
        self.pane = StatePane(id="state")
        self.footer = Footer("run", "state", "app")
        self.prompt = Prompt()
        self.set_class(session.ascii, "-ascii")

    def compose(self) -> ComposeResult:
        yield Header(self.session)
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield Titles(self.timeline)
                yield self.timeline
                yield OverviewBar(self.session)
            yield self.pane
        yield self.footer
        yield self.prompt

    def on_mount(self) -> None:
        self.loader.follow(self.session.following)
        self.sync(rows=True)

    def on_resize(self, event: events.Resize) -> None:
        narrow = event.size.width < NARROW
        if narrow and not self.narrow:
            # The page with the focus is the one that stays.
            self.set_class(self.focused in self.pane.walk_children(), "-state")
        self.set_class(narrow, "-narrow")
        self.call_after_refresh(self.ask_state)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not typing(self)

    @property
    def narrow(self) -> bool:
        return self.has_class("-narrow")

    def sync(self, *, rows: bool = False, state: bool = True) -> None:
        """Show where the session stands; `rows`: rows changed, `state`: so may the state."""
        self.timeline.sync(rows=rows)
        for bar in self.query(Bar):
            bar.update()
        self.loader.hurry(self.session.waits_for_columns)
        if state:
            self.ask_state()

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

    def take(self, report: Report) -> None:
        """Show what the loader reports of the run."""
        match report:
            case Known():
                self._known(report)
            case Fetched():
                self._fetched(report)
            case Stood():
                if self.session.stood(report):
                    self.ask_state()
            case Scanned():
                self._scanned(report)
            case Damaged():
                self.session.damage = report.before
                self.timeline.changed()
            case Searched():
                self._searched(report)
            case Exported():
                self._exported(report)
            case Failed():
                self._failed(report)

    def _known(self, report: Known) -> None:
        self.session.known(report)
        self.sync(rows=report.revised is not None, state=True)

    def _fetched(self, report: Fetched) -> None:
        rows = list(self.session.fetched(report))
        if self.timeline.lay_out():
            self.timeline.changed()
            self.query_one(Titles).update()
        self.timeline.changed(rows)
        sight = self.timeline.in_sight
        around = range(sight.start - len(sight), sight.stop + len(sight))
        if not self.session.wanted_rows(sight) and (ranges := self.session.wanted_rows(around)):
            self.loader.near(ranges)

    def _scanned(self, report: Scanned) -> None:
        longest = self.session.columns.longest
        rows = self.session.scanned(report)
        self.sync(rows=rows or longest != self.session.columns.longest, state=False)
        if self.session.seeking:
            self.action_odd(self.session.seeking)

    def _searched(self, report: Searched) -> None:
        before = self.session.cursor
        self.session.searched(report)
        if not report.ended:
            self.footer.tell(f"finding {self.session.text!r}: {rate(report.progress)}   Esc stops", "accent")
        elif report.seq is None:
            self.footer.tell(f"{self.session.text!r} stands nowhere in this run")
        else:
            self.footer.key_pressed()
            self.sync(state=before != self.session.cursor)

    def _exported(self, report: Exported) -> None:
        if report.ended:
            self.footer.tell(f"wrote {report.path}", "done")
        else:
            self.footer.tell(f"writing {report.path}: {rate(report.progress)}   Esc stops", "accent")

    def _failed(self, report: Failed) -> None:
        self.footer.tell(str(report.error), "failed")
        if report.what == "find":
            self.session.search = None

    def on_timeline_wanted(self, event: Timeline.Wanted) -> None:
        self.loader.rows(event.ranges)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        if event.rows is self.timeline:
            event.stop()
            self.action_other_pane()

    def action_step(self, by: int) -> None:
        self.timeline.action_row(by)

    def action_tab(self, number: int) -> None:
        self._show_state()
        self.pane.open_tab(number)

    def action_beside(self, by: int) -> None:
        self._show_state()
        self.pane.open_beside(by)

    def action_fold(self) -> None:
        self.pane.fold()

    def action_form(self) -> None:
        self._show_state()
        self.pane.change_form()

    def _show_state(self) -> None:
        if self.narrow and not self.has_class("-state"):
            self.action_other_pane()

    def action_other_pane(self) -> None:
        to_state = self.timeline.has_focus
        if self.narrow:
            to_state = not self.has_class("-state")
            self.set_class(to_state, "-state")
        self._focus(self.pane if to_state else self.timeline)
        self.ask_state()

    def on_descendant_focus(self) -> None:
        self.footer.at(*(("run", "app") if self.timeline.has_focus else ("state", "run", "app")))

    def _focus(self, widget: Widget) -> None:
        inner = next((child for child in widget.query("*") if child.focusable), None)
        self.set_focus(widget if widget.can_focus or inner is None else inner)

    def action_odd(self, direction: int) -> None:
        found = self.session.odd(direction)
        if found is not None:
            self.footer.key_pressed()
            self.go(found)
        elif self.session.seeking:
            self.loader.hurry(True)
            self.footer.tell("looking for the next failed or open step …   Esc stops", "accent")
        else:
            self.footer.tell(f"no failed or open step {'after' if direction > 0 else 'before'} this one")

    def action_go(self) -> None:
        self._ask("go", f"go to step (0 to {self.session.last}):")

    def action_find(self) -> None:
        self._ask("find", "find:", self.session.text)

    def action_find_again(self, direction: int) -> None:
        if self.session.text:
            start = self.session.cursor + direction
            self.loader.find(self.session.text, start, direction < 0, self.session.filter)
        else:
            self.action_find()

    def action_filter(self) -> None:
        self.app.push_screen(FilterPage(self.session.filter, self.session.columns, self._filter))

    def _filter(self, filter: Filter) -> None:
        self.session.choose(filter)
        self.sync(rows=True)

    def action_mark(self) -> None:
        before = self.session.marked
        self.session.mark()
        self.timeline.changed([self.session.row_of(seq) for seq in (before, self.session.cursor) if seq is not None])

    def action_to_mark(self) -> None:
        step = self.session.to_mark()
        if step is None:
            self.footer.tell("no step is marked: m marks one")
        else:
            self.go(step)

    def action_follow(self) -> None:
        self.session.following = not self.session.following
        self.loader.follow(self.session.following)
        self.sync(state=False)

    def action_problems(self) -> None:
        self.app.push_screen(ProblemsPage(self.session.facts.problems if self.session.facts else ()))

    def _ask(self, kind: str, label: str, text: str = "") -> None:
        self.footer.display = False
        self.prompt.ask(kind, label, text)

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self.on_prompt_left()
        if event.kind == "find":
            self.session.text = event.text
            self.timeline.changed()
            self.action_find_again(1) if event.text else None
        elif event.kind == "go":
            self._go_to(event.text)

    def on_prompt_left(self) -> None:
        self.prompt.close()
        self.footer.display = True
        self._focus(self.pane if self.narrow and self.has_class("-state") else self.timeline)

    def _go_to(self, text: str) -> None:
        try:
            seq = int(text)
        except ValueError:
            self.footer.tell(f"{text!r} is no step: they are 0 to {self.session.last}")
            return
        self.go(self.session.cursor + seq if text.strip().startswith(("+", "-")) else seq)

    def back(self, escape: bool) -> bool:
        """Undo the last thing that was opened; False where there is none. `q` undoes a page alone."""
        if escape and self.session.search is not None:
            self.session.search = None
            self.loader.cancel_find()
        elif escape and self.session.seeking:
            self.session.seeking = 0
        elif self.narrow and self.has_class("-state"):
            self.action_other_pane()
        elif escape and self.session.text:
            self.session.text = ""
            self.timeline.changed()
        elif escape and self.session.filter:
            self._filter(Filter())
        else:
            return False
        return True
