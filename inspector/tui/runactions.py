"""What can be done with a run beyond looking at it: compared with something, resumed. The screens for it are
imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from inspector.errors import InspectorError
from inspector.tui import masking
from inspector.tui.bars import Bar
from inspector.tui.line import Line
from inspector.tui.means import Means
from inspector.tui.reports import Compared, Failed, Judged, Part, Report
from inspector.tui.rows import Rows
from inspector.tui.runkeys import RunKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.resume.judge import Verdict
    from inspector.tui.code import Code
    from inspector.tui.diffscreen import DiffPage

IMPORTS = (
    "Comparing and resuming import the code that you name, on this host, as you: whatever it does when it is "
    "imported, it does then. Nothing of the run is run by that.",
)


class RunActions(RunKeys):
    """The actions, and the line that tells the verdict on today's code."""

    means = Means()
    code: Code | None = None
    """Who knows today's code; None before the run is open."""
    verdict: Verdict | None = None
    """The last one, for the last step."""
    compared: Compared | None = None
    """The run's last step beside today's code."""

    def more_bars(self) -> tuple[Bar, ...]:
        return (VerdictBar(self),)

    @property
    def busy(self) -> bool:
        """Whether the run is driven here now: then nothing is to be said of going on with it."""
        return False

    def begin(self, means: Means, code: Callable[[], Code]) -> None:
        """What the command line says, and what to ask about code."""
        self.means, self._make_code = means, code
        self._badge()
        if means.app is not None and not means.read_only:
            self.named(means.app)

    def _badge(self) -> None:
        count = len(self.means.breaks)
        shown = (
            f"{count} break{'' if count == 1 else 's'}" if count else "",
            "read-only" if self.means.read_only else "",
            "REVEALED" if masking.revealed() else "",
        )
        self.session.badges = tuple(filter(None, shown))

    def action_reveal(self) -> None:
        """Show credentials, or mask them again. That somebody looked is written down."""
        on = not masking.revealed()
        if on:
            from inspector import audit

            run = self.session.facts.run.id if self.session.facts else None
            try:
                audit.record("reveal", run, step=self.session.cursor)
            except InspectorError as error:
                self.tell(str(error), "failed")
                return
        masking.reveal(on)
        self._badge()
        self.session.forget()
        self.sync(rows=True)
        for screen in self.app.screen_stack:
            for bar in screen.query(Bar):
                bar.redraw()
            for rows in screen.query(Rows):
                rows.changed()
        self.tell("credentials are shown; V masks them" if on else "credentials are masked", "problem")

    def named(self, target: str) -> None:
        """Somebody named the code, and that it may be imported."""
        self.code = self.code or self._make_code()
        self.verdict = self.compared = None
        self.code.name(target)
        self.update_verdict()

    def close(self) -> None:
        """The screen is left for good."""
        if self.code is not None:
            self.code.close()

    def update_verdict(self) -> None:
        """Show the verdict as it is known now."""
        for bar in self.query(VerdictBar):
            bar.update()

    def action_diff(self) -> None:
        from inspector.tui.diffscreen import DiffPage

        marked = self.session.marked is not None and self.session.marked != self.session.cursor
        what = "mark" if marked else "code" if self.code is not None else "before"
        self.app.push_screen(DiffPage(self, what))

    def compare(self, what: str, place: str) -> str | None:
        """Have the step compared; what is wrong with that, or None when the difference is on its way."""
        from inspector.tui import comparing

        step, marked = self.session.cursor, self.session.marked
        if what == "code":
            return self._compare_code()
        if what == "before" and step == 0:
            return "there is no step before this one"
        if what == "mark" and marked is None:
            return "no step is marked: m marks one on the timeline"
        if what == "mark":
            assert marked is not None
            job = comparing.steps(what, marked, step)
        elif what == "before":
            job = comparing.steps(what, step - 1, step)
        else:
            job = comparing.another(place, step, None)
        self.loader.compare("compare", job)
        return None

    def _compare_code(self) -> str | None:
        if self.code is None:
            self.ask_code(lambda: self.compare("code", ""))
        else:
            from inspector.tui import comparing

            step = self.session.cursor
            at_last = step == self.session.last
            if self.verdict is not None and self.verdict.code is not None:
                known = self.verdict if at_last else msgspec.structs.replace(self.verdict, plan=None)
                self.loader.compare("judge", comparing.code(self.code.target or "", step, known))
            self.code.judge(None if at_last else step, None if at_last else self.part(step))
            self.tell(f"importing {self.code.target} …", "accent")
        return None

    def part(self, step: int | None) -> Part | None:
        """Which run a step is of, with its number there; None for the last one, of the run that is open, and where
        there is no run."""
        return None

    def ask_code(self, then: Callable[[], object]) -> None:
        """Ask for the code, and whether it may be imported; then do it."""
        from inspector.tui.asking import Choice, TextPage, answer_of

        if self.means.read_only:
            self.tell("read-only: no code is imported")
            return

        def confirm(text: str) -> None:
            target = text.strip()
            if not target:
                return
            yes = ("yes", f"yes, import {target}")
            self.app.push_screen(Choice(f"Import {target}?", IMPORTS, (yes, ("no", "no"))), decided(target))

        def decided(target: str) -> Callable[[Line | None], None]:
            def decide(line: Line | None) -> None:
                if answer_of(line) == "yes":
                    self.named(target)
                    then()

            return decide

        told = ("The agent, network or workflow of this run, as module:attribute or path/to/file.py:attribute.",)
        self.app.push_screen(TextPage("Today's code", told, "code:", confirm, check=_target))

    def tell(self, text: str, style: str = "problem") -> None:
        """Say something on whichever screen is on top."""
        footer = getattr(self.app.screen, "footer", self.footer)
        footer.tell(text, style)

    @property
    def _diff(self) -> DiffPage | None:
        """The screen of a difference, where it is open."""
        from inspector.tui.diffscreen import DiffPage

        return next((screen for screen in self.app.screen_stack if isinstance(screen, DiffPage)), None)

    def take_more(self, report: Report) -> None:
        """Take a report about more than the run itself."""
        match report:
            case Judged():
                self._judged(report)
            case Compared():
                self._compared(report)
            case Failed() if self._diff is not None:
                self._diff.failed(str(report.error))

    def _judged(self, report: Judged) -> None:
        if self.code is None or report.target != self.code.target:
            return
        from inspector.tui import comparing

        verdict = report.verdict
        step = self.session.last if report.step is None else report.step
        if report.step is None:
            self.verdict = verdict
            self._look_again(verdict)
        if verdict.code is None:
            self.compared = None
            if self._diff is not None and self._diff.what == "code":
                self._diff.failed(verdict.error or "its definition cannot be told")
        else:
            self.loader.compare("judge", comparing.code(report.target, step, verdict))
        self._of_step = (step, verdict)
        self.update_verdict()

    def _look_again(self, verdict: Verdict) -> None:
        """Where nobody drives a run any more that is shown as running, it is something else by now."""
        facts, refusals = self.session.facts, verdict.plan.refusals if verdict.plan is not None else ()
        owned = any(refusal.code == "owned" for refusal in refusals)
        if facts is not None and facts.run.status == "running" and verdict.plan is not None and not owned:
            self.loader.look()

    _of_step: tuple[int, Verdict] | None = None

    def _compared(self, report: Compared) -> None:
        diff = self._diff
        if report.what == "code" and report.step == self.session.last:
            self.compared = report
            self.update_verdict()
        plan = self._of_step[1].plan if self._of_step is not None and self._of_step[0] == report.step else None
        if diff is not None and diff.what == report.what and report.step == self.session.cursor:
            diff.take(report, plan)


class VerdictBar(Bar):
    """The line below the header that tells how today's code stands to the run; not there without code."""

    def __init__(self, run: RunActions) -> None:
        super().__init__(id="verdict")
        self._run = run

    def lines(self) -> tuple[Line, ...]:
        run = self._run
        if run.code is None or run.code.target is None or run.busy:
            return ()
        from inspector.tui import difflines

        verdict = run.verdict
        plan, error = (verdict.plan, verdict.error) if verdict is not None else (None, None)
        return (difflines.bar(run.code.target, plan, run.compared, error),)

    def update(self) -> None:
        super().update()
        self.display = bool(self.lines())


def _target(text: str) -> str | None:
    place, colon, attribute = text.strip().rpartition(":")
    if not (place and colon and attribute):
        return "write module:attribute or path/to/file.py:attribute"
    return None
