"""The screen of a run: what the loader reports goes to the session, and from there to what is to be seen."""

from typing import ClassVar

from textual.binding import BindingType

from inspector.model.run import RunLink
from inspector.tui import masking
from inspector.tui.editing import RunEditing
from inspector.tui.header import percent, rate
from inspector.tui.keys import bindings
from inspector.tui.reports import Damaged, Exported, Failed, Fetched, Known, Report, Scanned, Searched, Stood
from inspector.tui.rows import Rows
from inspector.tui.timeline import Timeline, TitlesBar


class RunScreen(RunEditing):
    """A run. It decides nothing: the session does."""

    # All of them here: Textual goes through those of a class once more for each class made of it.
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("run"), *bindings("state"), *bindings("live")]

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
            case Damaged() if report.before != self.session.damage:
                self.session.damage = report.before
                self.timeline.changed()
            case Damaged():
                pass
            case Searched():
                self._searched(report)
            case Exported():
                self._exported(report)
            case Failed() if report.what not in ("compare", "judge"):
                self._failed(report)
            case _:
                self.take_more(report)

    def _known(self, report: Known) -> None:
        facts, before = report.facts, self.session.facts
        self.session.known(report)
        stands_otherwise = before is None or before.run.status != facts.run.status
        if before is not None and before.problems != facts.problems:
            from inspector.tui.pages import renew_problems

            renew_problems(self.app.screen_stack, facts.problems)
        if self.code is not None and stands_otherwise and facts.done and not self.busy:
            self.code.judge(None)  # whether it can be resumed is another question now
        if stands_otherwise or (before is not None and before.resume != facts.resume):
            self.call_after_refresh(self.update_footer)
        self.sync(rows=report.revised is not None, state=True)

    def _fetched(self, report: Fetched) -> None:
        self.timeline.fetched(list(self.session.fetched(report)))
        self.query_one(TitlesBar).update()

    def _scanned(self, report: Scanned) -> None:
        longest = self.session.columns.longest
        stood, rows = self.session.cursor, self.session.scanned(report)
        self.sync(rows=rows or longest != self.session.columns.longest, state=self.session.cursor != stood)
        if self.session.seeking:
            self.action_odd(self.session.seeking)

    def _searched(self, report: Searched) -> None:
        before = self.session.cursor
        if not self.session.searched(report):
            return
        if not report.ended:
            self.footer.tell(f"finding {self.session.text!r}: {percent(report.progress)}   Esc stops", "accent")
        elif report.seq is None:
            self.footer.tell(f"{self.session.text!r} stands in no step of this run")
        else:
            self.footer.key_pressed()
            self.sync(state=before != self.session.cursor)

    def _exported(self, report: Exported) -> None:
        if not self.exporting:
            return
        self.exporting = not report.ended
        if report.ended:
            told = "; credentials stay masked in it" if masking.revealed() else ""
            told = "; nothing is masked in it" if report.whole else told
            self.footer.tell(f"wrote {report.path}{told}", "done")
        else:
            self.footer.tell(f"writing {report.path}: {rate(report.progress)}   Esc stops", "accent")

    def _failed(self, report: Failed) -> None:
        self.footer.tell(str(report.error), "failed")
        if report.what == "find":
            self.session.search = None
        elif report.what == "export":
            self.exporting = False
        elif report.what == "state" and self.session.stood(Stood(self.session.cursor, None, None, None, None)):
            self.ask_state()

    def on_timeline_wanted(self, event: Timeline.Wanted) -> None:
        if event.ranges:
            self.loader.rows(event.ranges)
        if event.near:
            self.loader.near(event.near)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        if event.rows is self.timeline:
            event.stop()
            link = self.session.facts.run.resumed_from if self.session.facts is not None else None
            if link is not None and self.session.cursor == 0:
                self._open_before(link)
            else:
                self.action_other_pane()

    def _open_before(self, link: RunLink) -> None:
        """Open the run that this one goes on from, over it, at the step that it goes on from."""
        from inspector.tui.apart import whereabouts

        assert self.desk is not None
        place = whereabouts(link, self.desk.parts()[0].path)
        if place is None:
            self.footer.tell(f"where {link.run} is cannot be told: open it by its path")
        else:
            self.desk.enter(place, follow=False)
