"""What the keys of a run do: to the session, to the loader, and to what is typed."""

from collections.abc import Set
from functools import partial

from inspector.tui.columns import Filter
from inspector.tui.keys import Where, typing
from inspector.tui.masking import masked
from inspector.tui.prompt import Prompt
from inspector.tui.runlayout import LATE, RunLayout


class RunKeys(RunLayout):
    """The actions of a run's screen."""

    _withheld: Set[str] = frozenset()

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
        self.focus_on(self.pane if to_state else self.timeline)
        self.ask_state()

    def on_descendant_focus(self) -> None:
        self._show_keys()
        # What can be done with a run is looked up behind what is to be seen of it.
        self.call_after_refresh(self.update_footer)

    def update_footer(self) -> None:
        self._withheld = self.withheld()
        self._show_keys()

    def _show_keys(self) -> None:
        places: tuple[Where, ...] = ("run", "app") if self.timeline.has_focus else ("rows", "state", "run", "app")
        self.footer.at(*self.first_places(), *places, without=self._withheld)

    def first_places(self) -> tuple[Where, ...]:
        """Places whose keys the footer shows before those of the run."""
        return ()

    def withheld(self) -> Set[str]:
        """The ids of the keys that can do nothing for this run."""
        return frozenset()

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
            number, start = self.session.begin_search(), self.session.cursor + direction
            self.loader.find(number, self.session.text, start, direction < 0, self.session.filter)
            self.set_timer(LATE, partial(self._say_finding, number))
        else:
            self.action_find()

    def _say_finding(self, number: int) -> None:
        begun = self.session.search
        if begun is not None and self.session.search_number == number and not begun.total:
            self.footer.tell(f"finding {self.session.text!r}: as soon as the file is read   Esc stops", "accent")

    def action_filter(self) -> None:
        from inspector.tui.pages import FilterPage

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
        if self.session.following:
            self.timeline.action_last()
        self.sync(state=False)

    def action_problems(self) -> None:
        from inspector.tui.pages import ProblemsPage

        self.app.push_screen(ProblemsPage(self.session.facts.problems if self.session.facts else ()))

    def action_export(self) -> None:
        facts = self.session.facts
        name = masked((facts.run.id or facts.run.name or "run") if facts else "run")
        safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name[:60])
        self._ask("export", "write a trace to:", f"{safe}.trace.jsonl")

    def _ask(self, kind: str, label: str, text: str = "") -> None:
        self.footer.display = False
        self.prompt.ask(kind, label, text, again=kind == "find")

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self.on_prompt_left()
        if event.kind == "find":
            self.session.text = event.text
            self.timeline.changed()
            self.action_find_again(1) if event.text else None
        elif event.kind == "go":
            self._go_to(event.text)
        elif event.text.strip():
            self.exporting = True
            self.loader.export(event.text.strip())

    def on_prompt_left(self) -> None:
        self.prompt.close()
        self.footer.display = True
        self.focus_on(self.pane if self.narrow and self.has_class("-state") else self.timeline)

    def _go_to(self, text: str) -> None:
        try:
            seq = int(text)
        except ValueError:
            self.footer.tell(f"{text!r} is no step: they are 0 to {self.session.last}")
            return
        self.go(self.session.cursor + seq if text.strip().startswith(("+", "-")) else seq)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not typing(self)

    def back(self, escape: bool) -> bool:
        """Undo the last thing that was opened; False where there is none. `q` undoes a page alone."""
        if escape and self.session.search is not None:
            self.session.search = None
            self.loader.cancel_find()
        elif escape and self.exporting:
            self.exporting = False
            self.loader.cancel_export()
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
