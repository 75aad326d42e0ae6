"""The screen of a difference: the run at a step beside another step, another run, or today's code."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from inspector.tui import difflines
from inspector.tui.bars import Bar
from inspector.tui.keys import Where, bindings
from inspector.tui.line import Line, plain
from inspector.tui.page import Page
from inspector.tui.prompt import Prompt
from inspector.tui.viewer import Viewer

if TYPE_CHECKING:
    from textual import events

    from inspector.resume.jobs import Plan
    from inspector.tui.reports import Compared
    from inspector.tui.runactions import RunActions


class DiffPage(Page):
    """What is different. It asks the run's screen for differences, and is shown them."""

    PLACES: ClassVar[tuple[Where, ...]] = ("diff", "app")
    BINDINGS: ClassVar[list[BindingType]] = bindings("diff")

    def __init__(self, run: RunActions, what: str) -> None:
        super().__init__("What is different", [plain(" comparing …", "dim")], heading=plain(""))
        self.run, self.what = run, what
        self.compared: Compared | None = None
        self._plan: Plan | None = None
        self._place = ""

    def on_mount(self) -> None:
        super().on_mount()
        self._ask()

    def _ask(self) -> None:
        trouble = self.run.compare(self.what, self._place)
        if trouble and self.compared is None:
            self.failed(trouble)
        elif trouble:
            self.footer.tell(trouble)

    def take(self, compared: Compared, plan: Plan | None) -> None:
        """Show a difference."""
        self.compared = compared
        self.footer.key_pressed()
        self._tell("header", plain(f" {compared.left} → {compared.right}", "title"))
        self._tell("heading", plain(f" {difflines.summary(compared)}", "heading"))
        self._plan = plan if compared.what == "code" else None
        self._show(0)

    def on_resize(self, event: events.Resize) -> None:
        self._show(self.rows.cursor)

    def _show(self, cursor: int) -> None:
        if self.compared is not None:
            self.rows.show(difflines.lines(self.compared, self._plan, self.size.width), cursor)

    def _tell(self, bar: str, line: Line) -> None:
        # Nothing is there any more when the page is being left.
        for found in self.query(f"#{bar}").results(Bar):
            found.set(line)

    def failed(self, text: str) -> None:
        """Say why there is no difference to show."""
        self.footer.tell(text, "failed")
        if self.compared is None:
            self.rows.show([plain(f" {text}", "failed")])

    def chosen(self, line: Line, index: int) -> None:
        if line.opens is not None:
            self.app.push_screen(Viewer(line.opens))

    def action_beside(self, what: str) -> None:
        """Compare with something else."""
        if what == "other":
            self.footer.display = False
            self.prompt.ask("other", "compare with (PATH or PATH@STEP):", self._place)
            return
        self._choose(what)

    def _choose(self, what: str) -> None:
        before, self.what = self.what, what
        trouble = self.run.compare(what, self._place)
        if trouble:
            self.what = before
            self.footer.tell(trouble)

    def action_step(self, by: int) -> None:
        """The same for the step before or behind."""
        self.run.go(self.run.session.cursor + by)
        self._ask()

    def on_prompt_left(self, event: Prompt.Left | None = None) -> None:
        self.prompt.close()
        self.footer.display = True
        self.set_focus(self.rows)

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self.on_prompt_left()
        if event.text.strip():
            self._place = event.text.strip()
            self._choose("other")
