"""A run that is driven here, as the screen tells of it: plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from inspector.model.text import one_line
from inspector.model.values import preview
from inspector.tui.line import Line, Span, text_of
from inspector.tui.masking import masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.resume.plan import Ended
    from inspector.tui.apart import Apart
    from inspector.tui.driving import Resumption, Told
    from inspector.tui.reports import Part

SAID = 400
"""Characters of what a model says that are kept for the line."""
OVER = {"completed": "done", "suspended": "waiting", "interrupted": "waiting"}


class Live:
    """The run of a resumption, from when it is told to begin. `behind` are the runs that it goes on from."""

    def __init__(self, resumption: Resumption, behind: Sequence[Part] = ()) -> None:
        self.resumption, self.behind = resumption, behind
        self.run: str | None = None
        self.trace: str | None = None
        """Where its journal is; None before there is one."""
        self.ended: Ended | None = None
        self.error: str | None = None
        self.steps = 0
        self.apart: Apart | None = None
        """The process that goes on with it, once it left this one."""
        self.detaching = False
        """Whether another process is to go on from where it stops."""
        self.left_behind = False
        """Whether it was over as its screen was left: the one before it tells of it no more."""
        self.leftovers: list[str] = []
        """Tokens that nobody took: how many, in which queue."""
        self.held: str | None = None
        """What it is held before, and why."""
        self._at = ""
        self._said = ""

    @property
    def driven(self) -> bool:
        """Whether it goes on."""
        return self.ended is None and self.error is None

    def take(self, told: Told) -> None:
        """Take in what happened."""
        kind = type(told).__name__
        if kind == "Happened":
            self._happened(told.event)  # type: ignore[union-attr]
        elif kind == "Said":
            self._said = (self._said + told.text)[-SAID:]  # type: ignore[union-attr]
        elif kind == "Finished":
            self.ended, self.error = told.ended, told.error  # type: ignore[union-attr]
            if told.refusals:  # type: ignore[union-attr]
                self.error = "refused"

    def _happened(self, event: dict[str, object]) -> None:
        kind = event.get("event")
        if kind == "run":
            self.run = str(event.get("run"))
            self.trace = str(event["trace"]) if event.get("trace") else None
        elif kind == "held":
            self.held = f"{event['before']} ({event['why']})"
        elif kind == "going":
            self.held = None
        elif kind == "leftover":
            self.leftovers.append(f"{event['count']} in {event['queue']} ({event['kind']})")
        elif kind == "step":
            # Those of an agent in a firing stand in no timeline.
            self.steps += "within" not in event
            self._said, self._at = "", ""
        elif kind == "operation":
            self._at = f"{event.get('name')} {event.get('status')}"

    def stop(self) -> None:
        """Stop at the next boundary."""
        self.resumption.steering.stop()

    def line(self, width: int = 80) -> Line:
        """How it goes, in one line of `width` cells: of what a model says, the end."""
        if self.error is not None:
            return Line((Span(" ended: ", "failed"), Span(self.error, "failed")))
        if self.apart is not None:
            return Line((Span(f" {self.apart.told()}", "running" if self.apart.process.poll() is None else "dim"),))
        if self.ended is not None:
            return self._over(self.ended)
        steering, count = self.resumption.steering, f"{self.steps} step{'' if self.steps == 1 else 's'}"
        if self.detaching:
            told = Span(" leaving at the next boundary  ", "waiting")
        elif steering.stopping:
            told = Span(" stopping at the next boundary  ", "waiting")
        elif self.held is not None:
            told = Span(f" held before {self.held}  ", "waiting")
        elif steering.paused:
            told = Span(" pausing at the next boundary  ", "waiting")
        else:
            told = Span(" running  ", "running")
        keys = "Ctrl-C once more does not wait" if steering.stopping else "Ctrl-C stops"
        parts = [told, Span(f"{count}  "), Span(f"{keys}  ", "dim")]
        said = "" if self.held else masked(self._said.replace("\n", " "))
        room = max(width - cell_len(text_of(Line(tuple(parts)))), 1)
        while cell_len(said) > room:
            said = said[1 + (cell_len(said) - room) // 2 :]
        return Line((*parts, Span(said or ("" if self.held else self._at), "accent")))

    def line_text(self) -> str:
        """The same without its styles."""
        return text_of(self.line()).strip()

    def parting(self) -> str | None:
        """What is said of it when the screen is left, with how to see it again; None of one that did not begin."""
        if self.run is None:
            return None
        import shlex

        resumption, how = self.resumption, self.error or "left as it ran"
        if self.apart is not None:
            how = self.apart.told()
        elif self.ended is not None:
            how = self.ended.status + (f" ({self.ended.reason})" if self.ended.reason else "")
        place = [self.trace] if self.trace else [resumption.path, *(("--run", self.run) if resumption.part.run else ())]
        return one_line(f"{self.run}: {how}; runinspect {' '.join(map(shlex.quote, place))} shows it")

    def _over(self, ended: Ended) -> Line:
        word = ended.status + (f": {ended.reason}" if ended.reason else "")
        word += ", as somebody else took it over" if self.resumption.steering.taken_over else ""
        step = self.resumption.begins + ended.replayed
        counts = f"from step {step} on, ran {ended.ran} step{'' if ended.ran == 1 else 's'}"
        if ended.status in ("failed", "interrupted") and not ended.final:
            counts += "  r goes on from there"
        spans = [Span(f" {word}  ", OVER.get(ended.status, "failed")), Span(counts, "dim")]
        if self.leftovers:
            spans.append(Span(f"  tokens left: {'; '.join(self.leftovers)}", "waiting"))
        if ended.output is not None:
            spans.append(Span(f"  {preview(ended.output, 300)}"))
        return Line(tuple(spans))
