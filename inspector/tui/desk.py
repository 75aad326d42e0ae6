"""What is on the screen: which run or list is open, reports to it, and the way back."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import structs

from inspector.errors import InspectorError, UnreadableError
from inspector.tui import keys
from inspector.tui.bars import Footer
from inspector.tui.keys import Where
from inspector.tui.line import Line
from inspector.tui.means import LOOKING, Means
from inspector.tui.reports import Failed, Listed, Opened, Part, Report
from inspector.tui.runscreen import RunScreen
from inspector.tui.session import Session

if TYPE_CHECKING:
    from inspector.tui.app import Inspector
    from inspector.tui.code import Code
    from inspector.tui.live import Live
    from inspector.tui.runsscreen import RunsPage
    from inspector.tui.start import Opening


class Desk:
    """The screens over one path that is being opened. Reports come to `take`."""

    def __init__(
        self,
        app: "Inspector",
        opening: "Opening",
        *,
        follow: bool,
        ascii: bool,
        now: Callable[[], datetime],
        means: Means = LOOKING,
        parent: "Desk | None" = None,
        behind: Sequence[Part] = (),
    ) -> None:
        self.app = app
        self.parent, self._behind = parent, behind
        self.child: Desk | None = None
        self.opened_run: str | None = None
        """The id that the open run was asked for by."""
        self._shows: Live | None = None
        self.means = means
        self.loader = opening.loader
        self._opening, self._now = opening, now
        self.error: InspectorError | None = None
        self.runs: RunsPage | None = None
        """The list of runs, where the path holds several."""
        self._follow, self._ascii = follow, ascii

    @property
    def run(self) -> RunScreen | None:
        """The screen of the open run, also while another one covers it."""
        screens = (screen for screen in self.app.screen_stack if isinstance(screen, RunScreen))
        return next((screen for screen in screens if screen.loader is self.loader), None)

    def take(self, report: Report) -> None:
        """Show what the loader reports."""
        run = self.run
        match report:
            case Listed():
                self._listed(report)
            case Opened():
                screen = self.screen_of(report)
                self.app.push_screen(screen)
                if self._shows is not None:  # what it has told until the screen was there
                    if self._shows.ended is not None:
                        screen.call_after_refresh(self.over, self._shows)
                    screen.call_after_refresh(screen.update_live)
            case Failed() if run is None:
                self._failed(report)
            case _ if run is not None:
                run.take(report)

    def _listed(self, report: Listed) -> None:
        if self.runs is not None:
            self.runs.listed(report)
        elif report.again:
            return
        elif report.rows:
            from inspector.tui.runsscreen import RunsPage

            note = "   read-only" if self.means.read_only else ""
            self.runs = RunsPage(report, self._now, self.loader.open_run, note)
            self.app.push_screen(self.runs)
            self.loader.follow(True)
        else:
            self._fail(UnreadableError(self._opening.path, "holds no run"))

    def screen_of(self, report: Opened) -> RunScreen:
        """The screen of a run that is open."""
        session = Session(step=self._opening.step, follow=self._follow, ascii=self._ascii)
        session.opened(report)
        self.opened_run = report.run_id
        screen = RunScreen(session, self.loader)
        screen.desk, screen.shows = self, self._shows
        session.driven = screen.busy
        screen.begin(self.means, self._code)
        return screen

    def parts(self) -> tuple[Part, ...]:
        """Where the open run is, the last of these, and before it those that it goes on from."""
        return (*self._behind, Part(self.path, self.opened_run, self.format))

    def _code(self) -> "Code":
        from inspector.tui.code import Code

        return Code(self._opening.post, self.parts()[-1])

    @property
    def path(self) -> str:
        """What is open."""
        return self._opening.path

    @property
    def format(self) -> str | None:
        """What it was said to be read as."""
        return self._opening.format

    def enter(
        self,
        part: Part,
        *,
        behind: Sequence[Part] = (),
        shows: "Live | None" = None,
        follow: bool = True,
    ) -> None:
        """Open another run over this one, `behind` those that it goes on from: one that is driven, here (`shows`) or
        elsewhere, which is then followed; or one to look at, at its step."""
        from inspector.tui.start import Opening

        opening = Opening(part.path, run=part.run, step=part.step, format=part.format, behind=behind)
        child = Desk(
            self.app,
            opening,
            behind=behind,
            follow=follow,
            ascii=self._ascii,
            now=self._now,
            means=self._named(),
            parent=self,
        )
        self.child = child
        child._shows = shows
        self.app.desk = child
        self.app.listen(opening, child)

    def _named(self) -> Means:
        run = self.run
        if run is None:
            return self.means
        return run.means if run.code is None else structs.replace(run.means, app=run.code.target)

    def over(self, live: "Live") -> None:
        """The run that was begun from here has ended: back to its plan where there is more to decide."""
        from inspector.tui.asking import GiveUp

        for screen in [screen for screen in self.app.screen_stack if isinstance(screen, GiveUp)]:
            screen.leave()  # it has stopped
        desk = self.child or self
        run = desk.run
        if run is None or live.ended is None or run.shows is not live:
            return
        if live.resumption.steering.stopping:
            run.footer.key_pressed()  # what was said of the stop is over
        if live.detaching and live.ended.status in ("suspended", "interrupted", "cancelled"):
            from inspector.tui.apart import go_on

            go_on(desk, live)
            return
        if run.code is not None:
            run.verdict = run.compared = None  # the last one is of a run that was driven
            run.code.judge(None)
        run.update_verdict()
        if live.ended.status == "suspended" and self.app.screen is run:
            run.resume(None)

    def leave(self) -> None:
        """Go back to the desk below."""
        assert self.parent is not None
        self.loader.close()
        self.parent.child = None
        self.app.desk = self.parent
        run = self.parent.run
        if run is not None and self._shows is not None and not self._shows.driven:
            for live in (run.shows, self._shows):
                if live is not None:
                    live.left_behind = True
            run.update_live()

    def close(self) -> None:
        """End the threads of all desks."""
        self.loader.close()
        if self.parent is not None:
            self.parent.close()

    @property
    def driven(self) -> "Live | None":
        """The run that is driven here now; None where there is none."""
        runs = (desk.run for desk in self.chain())
        return next((run.driven for run in runs if run is not None and run.driven), None)

    def stops(self) -> bool:
        """Ctrl-C: stop the run that is driven here. False where there is none."""
        live = self.driven
        if live is None:
            return False
        if not live.resumption.steering.stopping:
            live.stop()
            if self.run is not None:
                self.run.update_live()
                self.run.tell("stopping at the next boundary; a second Ctrl-C does not wait for it", "waiting")
        else:
            self._give_up(live)
        return True

    def chain(self) -> "Iterator[Desk]":
        """This desk and those below."""
        yield self
        if self.parent is not None:
            yield from self.parent.chain()

    def _give_up(self, live: "Live") -> None:
        from inspector.tui.asking import GiveUp, answer_of

        if any(isinstance(screen, GiveUp) for screen in self.app.screen_stack):
            return

        def choose(line: Line | None) -> None:
            how = answer_of(line)
            if how == "give up":
                live.resumption.steering.give_up()
            elif how == "leave":
                self.app.exit(return_code=1)

        told = [
            "The run stops as soon as what is under way has ended. What is given up before that may have happened: "
            "it waits for a word of yours at the next resume. Everything that has ended is written down. A body that "
            "blocks goes on in its thread until it ends, or the inspector does; what it returns is not taken. An async "
            "body that awaits nothing cannot be given up: only leaving ends it, and it may then have happened.",
            live.line_text(),
        ]
        answers = (
            ("wait", "wait for the boundary"),
            ("give up", "give up what is under way now"),
            ("leave", "leave the inspector now, whatever is under way"),
        )
        self.app.push_screen(GiveUp("The run has not stopped yet", told, answers), choose)

    def _failed(self, report: Failed) -> None:
        if self.runs is None:
            self._fail(report.error)
        else:
            self.runs.footer.tell(str(report.error), "failed")

    def _fail(self, error: InspectorError) -> None:
        from inspector.tui.pages import ErrorPage

        self.error = error
        self.app.push_screen(ErrorPage(error))

    def key_pressed(self, key: str, at: float) -> bool:
        """Before a key acts that was pressed `at` a time, in seconds; true where it is not to act."""
        self.loader.touch()
        footer = getattr(self.app.screen, "footer", None)
        if isinstance(footer, Footer):
            footer.key_pressed()
        drops: Callable[[str, float], bool] | None = getattr(self.app.screen, "drops", None)
        return drops is not None and drops(key, at)

    def places(self) -> tuple[Where, ...]:
        """Whose keys work here."""
        from inspector.tui.page import Page

        screen = self.app.screen
        if isinstance(screen, RunScreen):
            return (*(("live",) if screen.driven else ()), "run", "rows", "state", "app")
        places = (*screen.PLACES[:-1], "rows", "app") if isinstance(screen, Page) else ("app",)
        return tuple(dict.fromkeys(places))

    def help(self) -> None:
        """Show the keys of where one is."""
        from inspector.tui.pages import help_page

        self.app.push_screen(help_page(*self.places()))

    def palette(self) -> None:
        """Let choose from what the keys of where one is do, and do it."""
        from inspector.tui.pages import Palette

        below = self.app.screen
        choices = [key for key in keys.of(*self.places()) if key.where != "rows" and "{" not in key.action]

        def do(line: Line | None) -> None:
            if line and line.opens:
                of_app = any(key.action == line.opens.title for key in keys.of("app"))
                self.app.call_later(self.app.run_action, line.opens.title, self.app if of_app else below)

        self.app.push_screen(Palette(choices), do)

    def back(self, escape: bool) -> bool:
        """Go back; False where there is nothing to go back to."""
        screen = self.app.screen
        if isinstance(screen, RunScreen):
            if screen.back(escape):
                return True
            if self.parent is not None:
                screen.close()
                self.app.pop_screen()
                self.leave()
                return True
            if self.runs is None:
                return False
            if screen.driven is not None:
                screen.tell("a run is driven from here: Ctrl-C stops it, r shows it")
                return True
            screen.close()
            self.app.pop_screen()
            self.loader.leave_run()
            self.loader.follow(True)
            return True
        from inspector.tui.page import Page

        return isinstance(screen, Page) and screen.back()
