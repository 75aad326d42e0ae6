"""The screen of a path that holds several runs."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from textual import events
from textual.binding import BindingType

from inspector.model.run import Problem
from inspector.tui.bars import Bar
from inspector.tui.keys import Where, bindings
from inspector.tui.line import Line, Span, plain
from inspector.tui.page import Page
from inspector.tui.pages import ProblemsPage, renew_problems
from inspector.tui.panes.cells import counted
from inspector.tui.prompt import Prompt
from inspector.tui.reports import Listed
from inspector.tui.runlist import Columns, RunLines, holds, ordered, titles
from inspector.tui.runlist import Listed as Entry

NONE_LISTED = "nothing is wrong with the list; what is wrong in a run is told in that"


class RunsPage(Page):
    """A row per run, in the order in which they need somebody. Enter gives its id to `choose`."""

    PLACES: ClassVar[tuple[Where, ...]] = ("rows", "runs", "app")
    BINDINGS: ClassVar[list[BindingType]] = bindings("runs")

    def __init__(
        self, report: Listed, now: Callable[[], datetime], choose: Callable[[str], None], note: str = ""
    ) -> None:
        self._now, self._choose, self._note = now, choose, note
        self._text = ""
        self._entries: Sequence[Entry] = ()
        self._shown: Sequence[Entry] = ()
        self.problems: Sequence[Problem] = ()
        super().__init__(_title(report) + note, heading=plain(""))
        self._report = report

    def on_mount(self) -> None:
        super().on_mount()
        self.listed(self._report)

    def on_resize(self, event: events.Resize) -> None:
        self._show()

    def listed(self, report: Listed) -> None:
        """Show these runs, with the cursor on the run it was on."""
        self._report = report
        self._entries, self.problems = ordered(report.rows), report.problems
        self.query_one("#header", Bar).set(plain(f" {_title(report)}{self._note}", "title"))
        self._show()
        renew_problems(self.app.screen_stack, report.problems)

    def _show(self) -> None:
        at = self._shown[self.rows.cursor].row.id if self._shown else None
        columns = Columns.of(self._entries, self.size.width - 2)
        self.query_one("#heading", Bar).set(Line((Span(" "), *titles(columns).spans)))
        self._shown = [entry for entry in self._entries if not self._text or holds(entry, self._text)]
        place = next((place for place, entry in enumerate(self._shown) if entry.row.id == at), 0)
        missing = f"no run's line holds {self._text!r}; Esc shows all" if self._text else "there are no runs any more"
        none = plain(f" {missing}", "dim")
        self.rows.show(RunLines(self._shown, columns, self._now()) if self._shown else (none,), place)

    def chosen(self, line: Line, index: int) -> None:
        if index < len(self._shown):
            self._choose(self._shown[index].row.id)

    def back(self) -> bool:
        if not self._text:
            return False
        self._text = ""
        self._show()
        return True

    def action_find(self) -> None:
        self.prompt.ask("runs", "runs with:", self._text)
        self.footer.display = False

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self._text = event.text
        self._show()

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self._leave_prompt()

    def on_prompt_left(self, event: Prompt.Left) -> None:
        self._text = ""
        self._leave_prompt()
        self._show()

    def _leave_prompt(self) -> None:
        self.prompt.close()
        self.footer.display = True
        self.set_focus(self.rows)

    def action_problems(self) -> None:
        self.app.push_screen(ProblemsPage(self.problems, NONE_LISTED))


def _title(report: Listed) -> str:
    source = report.source
    troubles = (counted(len(report.problems), "problem"),) if report.problems else ()
    return "   ".join((counted(len(report.rows), "run"), *troubles, source.format, source.path))
