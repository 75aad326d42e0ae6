"""Resuming from the screen of a run: the plan, the run that is driven here, and how it is steered."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from msgspec import structs
from textual.message import Message

from inspector.tui.bars import Bar
from inspector.tui.keys import Where
from inspector.tui.live import Live
from inspector.tui.livebar import LiveBar
from inspector.tui.reports import Judged, Part
from inspector.tui.runactions import RunActions

if TYPE_CHECKING:
    from collections.abc import Set

    from textual.timer import Timer

    from inspector.resume.plan import Decisions, Plan
    from inspector.tui.deciding import Deciding
    from inspector.tui.desk import Desk
    from inspector.tui.driving import Planned, Resumption, Told
    from inspector.tui.resumescreen import ResumePage


BEAT = 0.2
"""Seconds between two words on how a run goes: each costs a slow link some of them."""
LOOK = 1.0
"""Seconds between two looks whether a run that is followed goes on as another one."""


class RunResume(RunActions):
    """The actions. `live` is the run that was begun here, or that this screen shows as it is driven."""

    desk: Desk | None = None
    _kept: tuple[int, Deciding] | None = None
    _at_end = False
    """Whether the plan that was shown last is one of the run's end."""
    live: Live | None = None
    shows: Live | None = None
    """The run whose trace this screen shows, where it is driven here."""
    _telling: Timer | None = None
    """What is to tell how the run goes that was begun here."""
    _succeeded: int | None = None
    """How many runs this one was resumed as when it was followed first."""

    class Drove(Message, bubble=False):
        """Something of a resumption, on its way from its thread."""

        def __init__(self, resumption: Resumption, told: Told) -> None:
            super().__init__()
            self.resumption, self.told = resumption, told

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(LOOK, self._follow_on)

    def _follow_on(self) -> None:
        """Follow the run that this one, which is followed, goes on as elsewhere, as when somebody detached it."""
        claim = self.session.facts.claim if self.session.following and self.session.facts is not None else None
        if claim is None or self.live is not None or self.shows is not None:
            return
        from inspector.tui.apart import went_on

        before = self._succeeded
        try:
            count, trace = went_on(claim, sys.maxsize if before is None else before)
        except OSError:
            return  # whoever may not look into the folder of claims follows this run alone
        if before is None:
            self._succeeded = count
        elif trace is not None and self.app.screen is self and self.desk is not None:
            self._succeeded = count
            self.desk.enter(Part(trace), behind=self.desk.parts())

    def more_bars(self) -> tuple[Bar, ...]:
        return (*super().more_bars(), LiveBar(self))

    @property
    def driven(self) -> Live | None:
        """The run that goes on, and that this screen is about."""
        found = self.shows or self.live
        return found if found is not None and found.driven else None

    @property
    def busy(self) -> bool:
        return self.shows is not None and self.shows.driven

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("pause", "one_step", "detach"):
            return self.driven is not None and super().check_action(action, parameters)
        return super().check_action(action, parameters)

    def action_resume(self) -> None:
        if self.live is not None and self.live.driven and self.shows is None and self.live.trace is not None:
            self._show(self.live, self.live.trace)
        else:
            self.resume(None)

    def action_rerun(self) -> None:
        node = self._node()
        if node is not None:
            self.resume(None, node)
        else:
            self.resume(max(self.session.cursor - 1, 0))

    def hindrance(self) -> str | None:
        """Why the run cannot be resumed from here, whatever its code is; None where it can."""
        if self.means.read_only:
            return "read-only: nothing is resumed"
        if self.driven is not None:
            return "this run is being driven: Ctrl-C stops it"
        if self.desk is not None and self.desk.path == "-":
            return "a run is resumed from its own file, and this one came through a pipe"
        if self.session.driverless:
            return "nothing here resumes such a run; `runinspect formats` lists what can be"
        return None

    def first_places(self) -> tuple[Where, ...]:
        return ("live",) if self.driven is not None else ()

    def withheld(self) -> Set[str]:
        if self.hindrance() is None:
            editable = self.timeline.has_focus or self.session.uneditable() is None
            return frozenset() if editable else frozenset({"edit-value"})
        # The run that was begun from this screen is shown by the key.
        shows = self.driven is not None and self.shows is None
        return frozenset({"edit-value", "detach"} if shows else {"resume", "edit-value"})

    def decided_at(self, step: int) -> Deciding:
        """What was edited at a step, and decided in its plan; nothing yet where that was at another."""
        from inspector.tui.deciding import Deciding

        return self._kept[1] if self._kept is not None and self._kept[0] == step else Deciding()

    def keep(self, step: int, deciding: Deciding) -> None:
        """Remember what is edited and decided at a step, also when its plan is left, until the run begins."""
        self._kept = step, deciding

    def resume(self, step: int | None, rerun: str | None = None) -> None:
        """Show the plan of a resume after a step, or before the last step of the node `rerun`; with neither, after
        the last step."""
        why = self.hindrance()
        if why is not None:
            self.tell(why)
        elif self.code is None or self.code.target is None:
            self.ask_code(lambda: self.resume(step, rerun))
        else:
            self._plan(step, rerun)

    def _plan(self, step: int | None, rerun: str | None) -> None:
        from inspector.tui.driving import Resumption
        from inspector.tui.resumescreen import ResumePage

        assert self.desk is not None
        assert self.code is not None
        # Of a node that is run again, it is the last step in the run that one stands in.
        of_node = None if rerun is None else self.part(self.session.cursor)
        part = (self.part(step) if of_node is None else of_node._replace(step=None)) or self.desk.parts()[-1]
        before = self.shows or self.live
        resumption = Resumption(
            lambda told: self.post_message(self.Drove(resumption, told)),
            part,
            rerun=rerun,
            begins=self._begins(part),
            target=self.code.target or "",
            breaks=self.means.breaks,
            fatal=self.code.fatal,
            output=before.resumption.output if before is not None else None,
        )
        at = self.session.last if step is None else step
        deciding = self.decided_at(at)
        deciding.planned = None
        self._at_end = step is None and rerun is None
        if rerun is None:
            self.keep(at, deciding)
        self.app.push_screen(ResumePage(self, resumption, deciding if rerun is None else None))

    def part(self, step: int | None) -> Part | None:
        if step is None or self.desk is None:
            return None
        behind, own = self.session.part(step)
        return self.desk.parts()[-1 - behind]._replace(step=own)

    def _begins(self, part: Part) -> int:
        """What the timeline adds to the numbers of the steps of a part."""
        at = len(self._behind(part)) - 1
        seams = self.session.facts.seams if self.session.facts is not None else ()
        return seams[at - 1] if 0 < at <= len(seams) else 0

    def _behind(self, part: Part) -> tuple[Part, ...]:
        """What a run that goes on from a part stands behind: that, and what is before it."""
        assert self.desk is not None
        parts = self.desk.parts()
        at = next(at for at, other in enumerate(parts) if other._replace(step=None) == part._replace(step=None))
        return (*parts[:at], part)

    def start(self, resumption: Resumption, decisions: Decisions, plan: Plan) -> None:
        """Begin to drive."""
        self.live = Live(resumption, self._behind(resumption.part._replace(step=plan.step)))
        self.app.lives.append(self.live)  # type: ignore[attr-defined]
        resumption.start(decisions, plan.plan)

    def left(self, resumption: Resumption) -> None:
        """The plan was left: what was decided in it stays. The run may have become longer than it was as it came."""
        if self._at_end and self._kept is not None:
            self._kept = self.session.last, self._kept[1]
        if not resumption.driven:
            resumption.close()

    def on_run_resume_drove(self, event: RunResume.Drove) -> None:
        kind, page = type(event.told).__name__, self._page(event.resumption)
        if kind == "Printed":
            self._printed(event.resumption)
            return
        if kind == "Planned":
            if page is not None:
                page.planned(event.told)  # type: ignore[arg-type]
            return
        live = self.live
        if live is None or live.resumption is not event.resumption:
            return
        held = live.held
        live.take(event.told)
        self._kept = self._kept if live.run is None else None
        if live.driven and live.run is not None and live.held == held:
            self._tell_soon()
        else:
            self.update_live()
        if live.run is not None and page is not None and self.desk is not None:
            page.leave()
            self._show(live, live.trace)
        if kind == "Finished":
            self._finished(live, page, event.told)

    def _tell_soon(self) -> None:
        if self._telling is None:
            self._telling = self.set_timer(BEAT, self.update_live)

    def _finished(self, live: Live, page: ResumePage | None, told: Told) -> None:
        if page is not None:
            ended = live.ended
            if ended is not None and ended.trace and ended.trace != live.resumption.path:
                page.leave()
                live.resumption.close()
                self._show(live, ended.trace)
            else:
                # There is nothing to tell of it beside its plan.
                self.live = None
                self.update_live()
                page.finished(told)  # type: ignore[arg-type]
                if ended is not None and ended.status == "completed":
                    page.footer.tell(f"completed: {live.line_text()}", "done")
            return
        live.resumption.close()
        if self.desk is not None:
            self.desk.over(live)
            self.update_live()
        if self.code is not None and self.code.target is not None:
            self.code.judge(None)  # it stands otherwise now: it was gone on with

    def _show(self, live: Live, trace: str | None) -> None:
        """Show a run as it is driven: a new one in its own trace, one of a store where it is already open."""
        assert self.desk is not None
        if trace is not None and trace != self.desk.path:
            self.desk.enter(Part(trace), behind=live.behind, shows=live)
            return
        self.shows = live
        self.update_verdict()
        if not self.session.following:
            self.action_follow()

    def _judged(self, report: Judged) -> None:
        super()._judged(report)
        for page in self.app.screen_stack if report.step is None else ():
            if (renew := getattr(page, "renew", None)) is not None and page.run is self:  # type: ignore[attr-defined]
                renew()

    def _page(self, resumption: Resumption) -> ResumePage | None:
        from inspector.tui.resumescreen import ResumePage

        stack = self.app.screen_stack
        pages = (screen for screen in stack if isinstance(screen, ResumePage))
        return next((page for page in pages if page.resumption is resumption and page.is_running), None)

    def _printed(self, resumption: Resumption) -> None:
        from inspector.tui.outputpage import OutputPage

        screen = self.app.screen
        if isinstance(screen, OutputPage):
            screen.grown()

    def update_live(self) -> None:
        """Show how the run goes that is driven here."""
        if self._telling is not None:
            self._telling.stop()
            self._telling = None
        for screen in self.app.screen_stack:
            if isinstance(screen, RunResume) and screen.is_mounted:
                screen.session.driven = screen.busy
                if screen.shows is not None and screen.session.following:
                    screen.loader.look_soon()  # its steps come with the line that counts them
                for bar in screen.query(LiveBar):
                    bar.update()
                screen.update_footer()

    def action_pause(self) -> None:
        if self.driven is not None:
            steering = self.driven.resumption.steering
            (steering.go if steering.paused else steering.pause)()
            self.update_live()

    def action_one_step(self) -> None:
        if self.driven is not None:
            self.driven.resumption.steering.step()
            self.update_live()

    def action_break_at(self) -> None:
        """Ask where a run shall be held; what is said again is taken back."""
        from inspector.tui.asking import TextPage
        from inspector.tui.driving import wrong_break

        why = None if self.driven is not None else self.hindrance()
        if why is not None:
            self.tell(why)
            return
        breaks = self.means.breaks
        told = [
            "Before a tool, a node or a model call of a name (* stands for anything), or behind a step of which "
            "something holds: tool:refund  node:review/*  model:*  step:status=failed  step:seq>=40 (seq is the "
            "number in the timeline)",
            *(f"held at {text}: enter it once more to take it back" for text in breaks),
        ]
        self.app.push_screen(
            TextPage("Breakpoints", told, "hold at:", self._break, text=self._here(), check=wrong_break)
        )

    def _node(self) -> str | None:
        """The node of the graph that one stands on; None where that is none."""
        return None if self.timeline.has_focus else self.pane.node_at_cursor()

    def _here(self) -> str:
        """The breakpoint before the node of the graph that one stands on, else before what ran at the step."""
        node = self._node()
        if node is not None:
            return f"node:{node}"
        found = self.session.row(self.session.row_of(self.session.cursor)).timed
        if found is None:
            return ""
        kind = {"tools": "tool", "model": "model"}.get(found.step.kind, "node")
        name = found.step.name.partition(", ")[0]
        return "model:*" if kind == "model" else f"{kind}:{name}"

    def _break(self, text: str) -> None:
        breaks, text = self.means.breaks, text.strip()
        new = tuple(other for other in breaks if other != text) if text in breaks else (*breaks, text)
        self.means = structs.replace(self.means, breaks=new)
        if self.driven is not None:
            self.driven.resumption.hold_at(new)
        self._badge()
        self.sync(state=False)
        self.tell(f"held at {', '.join(new)}" if new else "held nowhere", "done")

    def action_detach(self) -> None:
        """Stop at the next boundary, and have another process go on from there."""
        live = self.driven
        if live is not None and self.shows is live:
            live.detaching = True
            live.stop()
            self.update_live()
            self.tell("at the next boundary, a process of its own goes on with the run", "waiting")

    def action_output(self) -> None:
        from inspector.tui.outputpage import OutputPage

        live = self.shows or self.live
        if live is None:
            self.tell("nothing was run from here")
        else:
            self.app.push_screen(OutputPage(live.resumption.output))

    def follow_owner(self, planned: Planned) -> None:
        """Show the run that somebody else drives, as it grows."""
        if self.desk is None:
            return
        page = self.app.screen
        successor = planned.successors[-1] if planned.successors else None
        if hasattr(page, "back"):
            page.back()
        self._succeeded = len(planned.successors)
        if successor is not None and successor.trace is not None:
            self.desk.enter(Part(successor.trace), behind=self.desk.parts())
        elif not self.session.following:
            self.action_follow()
