"""The screen of a resume: what is resumed, the verdict, what is owed, what would happen; and the key that does it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from inspector.resume.sentences import sentence
from inspector.tui import difflines, planlines
from inspector.tui.asking import Choice, TextPage, answer_of
from inspector.tui.bars import Bar
from inspector.tui.deciding import Deciding
from inspector.tui.keys import Where, bindings
from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.outputpage import OutputPage
from inspector.tui.owing import called
from inspector.tui.page import Page
from inspector.tui.planlines import COMMON, DECISIONS, EDITED, SPENT, Row
from inspector.tui.valueedit import edit_here, edit_outside, read_json, uneditable, wrong, wrong_number
from inspector.tui.viewer import Viewer

if TYPE_CHECKING:
    from textual import events

    from inspector.model.values import Value
    from inspector.resume.jobs import Need
    from inspector.runner.preflight import Limit
    from inspector.tui.driving import Finished, Planned, Resumption
    from inspector.tui.runresume import RunResume

PAUSE = 1.0
"""Seconds without a key after which what was typed ahead of a plan has ended."""
OWNER = ("owner-follow", "owner-take")
"""The ids of the keys that are about whoever drives the run."""
UNDROPPED = ("ctrl+c", "ctrl+q", "ctrl+z", "escape")
"""Keys that lead out, whatever was typed ahead."""


class ResumePage(Page):
    """A plan, and what is decided about it. Every change makes the plan again."""

    PLACES: ClassVar[tuple[Where, ...]] = ("resume", "app")
    BINDINGS: ClassVar[list[BindingType]] = bindings("resume")

    def __init__(self, run: RunResume, resumption: Resumption, deciding: Deciding | None = None) -> None:
        super().__init__("Resume", [plain(" the plan is being made …", "dim")], heading=plain(""))
        self.run, self.resumption = run, resumption
        self.deciding = deciding or Deciding()
        self.starting = False
        self._told_to_wait = False
        self._renews: Planned | None = None
        self._pressed_at = 0.0
        self._ahead = False
        self._rows: list[Row] = []
        self.footer.at(*self.PLACES, without=self._withheld())

    def on_mount(self) -> None:
        super().on_mount()
        self.replan()

    def on_resize(self, event: events.Resize) -> None:
        self._show()

    def replan(self) -> None:
        """Have the plan made again, with the decisions as they are."""
        self.resumption.plan(self.deciding.decisions)

    def renew(self) -> None:
        """Have the plan made again, as what it was made of may have changed; not while there is none, or it runs."""
        if self.deciding.planned is not None and not self.starting and not self.resumption.driven:
            self._renews = self.deciding.planned
            self.replan()

    def planned(self, planned: Planned) -> None:
        """A plan has come."""
        first = self.deciding.planned is None and self.rows.cursor == 0
        self.deciding.take(planned)
        before, self._renews = self._renews, None
        if before is not None and before.decisions == planned.decisions and _made_of(before) != _made_of(planned):
            self.footer.tell("the file or the code changed: this is a new plan", "waiting")
        if self._told_to_wait:
            self._told_to_wait = False
            self.footer.tell("the plan is there: what was typed ahead of it was dropped", "waiting")
        self._show()
        if first:
            self._to_first_owed()

    def _to_first_owed(self) -> None:
        if (at := self._first_owed()) is not None:
            self.rows.move(at)

    def _first_owed(self) -> int | None:
        made = self.deciding.decisions
        owed = {need.call_id for need in self.deciding.needs() if not made.met(need)}
        rows = [at for at, row in enumerate(self._rows) if row.need is not None and row.need.call_id in owed]
        edits = [at for at, row in enumerate(self._rows) if row.edit is not None]
        waiting = self.deciding.unaccepted()
        codes = [at for at, row in enumerate(self._rows) if row.code in waiting]
        return next(iter((*rows, *edits, *codes)), None)

    def _stays(self, before: list[Row], cursor: int) -> int | None:
        """The row of what the cursor was on `before`: the next key is about that, wherever it went. Where it is gone,
        the first thing owed; None where it stays as it is."""
        subject = before[cursor].subject if cursor < len(before) else None
        if subject is None:
            return None
        there = [at for at, row in enumerate(self._rows) if row.subject == subject]
        offset = cursor - next(at for at, row in enumerate(before) if row.subject == subject)
        return there[min(offset, len(there) - 1)] if there else self._first_owed()

    def finished(self, finished: Finished) -> None:
        """The run did not begin."""
        self.starting = False
        if any(item.code == "plan_changed" for item in finished.refusals):
            self.footer.tell("not run: file or code changed; the plan is made again: look at it first")
        elif finished.refusals:
            first = finished.refusals[0]
            self.footer.tell(f"{first.code}: {first.subject}: {first.detail}", "failed")
        elif finished.error is not None:
            self.footer.tell(finished.error, "failed")
        else:
            self.footer.tell("nothing ran: what is open is still to be decided")
        self.replan()

    def _show(self) -> None:
        deciding, width = self.deciding, self.size.width
        planned, plan = deciding.planned, deciding.plan
        name = (planned.run if planned else None) or self.resumption.path
        where = f"after step {plan.step}/{planned.last}" if plan and planned else ""
        self._tell("header", plain(f" Resume {name} {where}   with {difflines.short(self.resumption.target)}", "title"))
        hindrance = deciding.hindrance()
        if hindrance is None:
            told = Line((Span(" r ", "key"), Span(planlines.purpose(deciding), "done")))
        else:
            told = plain(f" {hindrance}", "failed" if plan and plan.refusals else "waiting")
        self._tell("heading", told)
        before, at = self._rows, self.rows.cursor
        self._rows = planlines.rows(deciding, width, sentence)
        self.rows.show([row.line for row in self._rows], self._stays(before, at))
        self.footer.at(*self.PLACES, without=self._withheld())

    def _withheld(self) -> frozenset[str]:
        """The ids of the keys that can do nothing about this plan."""
        plan, every = self.deciding.plan, frozenset({"run", *DECISIONS, "accept", *OWNER})
        if plan is None:
            return every
        usable = {how for need in self.deciding.needs() for how, _ in planlines.options(need, self.deciding)}
        usable |= {"edit"} if self.deciding.decisions.edits or any(row.limit for row in self._rows) else set()
        usable |= {"accept"} if any(row.code and self._acceptable(row.code) for row in self._rows) else set()
        usable |= set() if plan.refusals else {"run"}
        usable |= set(OWNER) if self.deciding.owned else set()
        return every - usable

    def _tell(self, bar: str, line: Line) -> None:
        # Nothing is there any more when the page is being left.
        for found in self.query(f"#{bar}").results(Bar):
            found.set(line)

    @property
    def need(self) -> Need | None:
        """The decision that the cursor is on, else the only one that is owed."""
        owed = self.deciding.owed()
        return self._row.need or (owed[0] if len(owed) == 1 else None)

    def drops(self, key: str, at: float) -> bool:
        """Whether a key that was pressed `at` a time (in seconds) is to do nothing: it goes on with what was typed
        ahead of the plan and dropped, and would be the key of something else than was meant, as one of a reason."""
        since, self._pressed_at = at - self._pressed_at, at
        self._ahead = self._ahead and since < PAUSE and key not in UNDROPPED
        if self._ahead:
            self.footer.tell("typed ahead of the plan: dropped; once more after a pause", "waiting")
        return self._ahead

    def _waits(self, *, current: bool = False) -> bool:
        """Say so, when there is no plan yet (or none that is `current`, with what is decided by now): a key would be
        about what is not to be seen."""
        planned = self.deciding.planned
        waits = planned is None or (current and planned.decisions != self.deciding.decisions)
        if waits:
            self._told_to_wait = True
            self._ahead = planned is None
            self.footer.tell("the plan is still being made: once more when it is there", "waiting")
        return waits

    @property
    def _row(self) -> Row:
        """The row at the cursor; one that stands for nothing where there is none."""
        return self._rows[self.rows.cursor] if self.rows.cursor < len(self._rows) else Row(plain(""))

    def _changed(self) -> None:
        self._show()
        self.replan()

    def chosen(self, line: Line, index: int) -> None:
        row = self._rows[index] if index < len(self._rows) else None
        if row is not None and row.need is not None:
            self._menu(row.need)
        elif row is not None and row.edit is not None:
            self._edit_menu(row.edit)
        elif row is not None and row.limit is not None:
            self._limit(row.limit)
        elif row is not None and row.code is not None and self._acceptable(row.code):
            self.action_accept()
        elif line.opens is not None:
            self.app.push_screen(Viewer(line.opens))

    def _menu(self, need: Need) -> None:
        def choose(line: Line | None) -> None:
            how = answer_of(line)
            if how is not None:
                self.decide(how, need)

        detail = [need.detail] if need.detail else []
        self.app.push_screen(Choice(f"What about {called(need)}?", detail, planlines.menu(need, self.deciding)), choose)

    def _edit_menu(self, place: str) -> None:
        def choose(line: Line | None) -> None:
            how = answer_of(line)
            if how is not None:
                self.redo(how, place)

        self.app.push_screen(Choice(f"What about {place}?", [], EDITED), choose)

    def redo(self, how: str, place: str) -> None:
        """Edit something once more, say why, or take the edit back."""
        deciding, value = self.deciding, self.deciding.decisions.edits[place]
        json = place.endswith(".arguments")

        def done(new: Value) -> None:
            deciding.change(place, value, new)
            self._changed()

        match how:
            case "edit":
                edit_here(self.app, f"Edit {place}", (), value, done, json=json)
            case "editor":
                self._trouble(edit_outside(self.app, value, done, json=json))
            case "deny":
                deciding.unchange(place)
                self._changed()
            case "why":
                self._why(place, place)
            case "open":
                self.app.push_screen(Viewer(Opens(place, value)))

    def action_decide(self, how: str) -> None:
        """Decide about the call at the cursor."""
        need, edit, limit = self.need, self._row.edit, self._row.limit
        if self._waits():
            return
        if edit is not None and how in dict(EDITED):
            self.redo(how, edit)
        elif limit is not None and how == "edit":
            self._limit(limit)
        elif need is None:
            self.footer.tell("move to a decision first")
        elif how in dict((*planlines.options(need, self.deciding), *COMMON)):
            self.decide(how, need)
        else:
            self.footer.tell(f"{need.call_id}: {planlines.KEYS[need.question]}")

    def decide(self, how: str, need: Need) -> None:
        """Decide about a call, asking for what has to be said with it."""
        deciding, call = self.deciding, need.call_id
        title = called(need)
        told, label = planlines.asking(how, need, firing=deciding.firing(call))
        match how:
            case "retry" | "skip" | "fail" | "stop" if need.question == "resolve":
                self._ask(title, told, label, lambda text: deciding.decide(need, how, text or None))
            case "deny":
                self._ask(title, told, label, lambda text: deciding.decide(need, "deny", text or None))
            case "answer" | "result":
                self._ask(title, told, label, lambda new: deciding.decide(need, how, read_json(new)), check=wrong)
            case "failure":
                self._ask(title, told, label, lambda text: deciding.decide(need, how, text))
            case "edit" | "editor":
                self._edit(title, call, outside=how == "editor")
            case "why":
                self._why(title, call)
            case "open":
                self.app.push_screen(Viewer(planlines.about(need, deciding)))
            case "undo":
                deciding.undo(need)
                self._changed()
            case _:
                deciding.decide(need, how)
                self._changed()

    def _ask(
        self,
        title: str,
        told: tuple[str, ...],
        label: str,
        take: Callable[[str], None],
        text: str = "",
        *,
        check: Callable[[str], str | None] = lambda text: None,
    ) -> None:
        def done(text: str) -> None:
            take(text)
            self._changed()

        self.app.push_screen(TextPage(title, [line for line in told if line], label, done, text=text, check=check))

    def _limit(self, limit: Limit) -> None:
        told, now = "The run goes on from where it was spent.", getattr(self.deciding.decisions, limit) or ""
        raised = partial(self.deciding.limit, limit)
        self._ask(f"Another {SPENT[limit]}", (told,), "limit:", raised, str(now), check=wrong_number)

    def _why(self, title: str, subject: str) -> None:
        told = ("It is written into the new run's journal, with your name.",)
        before = self.deciding.decisions.why.get(subject, "")
        self._ask(title, told, "because:", lambda text: self.deciding.because(subject, text), before)

    def _edit(self, title: str, call: str, *, outside: bool) -> None:
        value = self.deciding.arguments(call)

        def done(new: Value) -> None:
            self.deciding.edit(call, new)
            self._changed()

        if (why := uneditable(value)) is not None:
            self._trouble(why)
        elif outside:
            self._trouble(edit_outside(self.app, value, done, json=True))
        else:
            told = ("The call runs with these arguments, if they fit the tool. The old run keeps its own.",)
            edit_here(self.app, title, told, value, done, label="arguments:", json=True)

    def _trouble(self, text: str | None) -> None:
        if text:
            self.footer.tell(text, "failed")

    def _acceptable(self, code: str) -> bool:
        plan = self.deciding.plan
        if plan is None:
            return False
        wanted = any(item.code == code and item.accept for item in plan.warnings)
        switch = any(item.code == code and item.remedy == "accept" for item in plan.refusals)
        return wanted or switch or code in self.deciding.decisions.accept

    def action_accept(self) -> None:
        """Accept what the cursor is on, or no longer."""
        if self._waits():
            return
        code = self._row.code
        waiting = self.deciding.unaccepted()
        if len(waiting) == 1 and (code is None or not self._acceptable(code)):
            code = waiting[0]
        if code is None or not self._acceptable(code):
            self.footer.tell("this is nothing that can be accepted" if code else "move to a warning first")
            return
        self.deciding.accept(code)
        self._changed()

    def action_run(self) -> None:
        """Do what the plan says."""
        hindrance, plan = self.deciding.hindrance(), self.deciding.plan
        if self.starting or self._waits(current=True):
            return
        if hindrance is not None:
            if plan is not None and not plan.refusals:
                self._to_first_owed()
            self.footer.tell(hindrance, "failed")
            self.renew()
            return
        assert plan is not None
        self.starting = True
        self.footer.tell("starting …", "running")
        self.run.start(self.resumption, self.deciding.decisions, plan)

    def action_owner(self, how: str) -> None:
        """Follow whoever drives the run, or take it over."""
        planned = self.deciding.planned
        if self._waits():
            return
        if planned is None or not self.deciding.owned:
            self.footer.tell("nobody drives this run")
        elif how == "follow":
            self.run.follow_owner(planned)
        else:
            told, before = planlines.taking(planned), self.deciding.decisions.take_over or ""
            self._ask("Take the run over?", told, "because:", self.deciding.take_over, before)

    def action_output(self) -> None:
        """What the code printed."""
        self.app.push_screen(OutputPage(self.resumption.output))

    def back(self) -> bool:
        self.run.left(self.resumption)
        self.dismiss(None)
        return True


def _made_of(planned: Planned) -> object:
    plan = planned.plan
    return plan and (plan.plan, [item.code for item in plan.refusals])
