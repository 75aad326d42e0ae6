"""The line that tells of the run that is driven here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.tui.bars import Bar

if TYPE_CHECKING:
    from inspector.tui.line import Line
    from inspector.tui.runresume import RunResume


class LiveBar(Bar):
    """The line that tells of the run that is driven here; not there without one."""

    def __init__(self, run: RunResume) -> None:
        super().__init__(id="live")
        self._run = run

    def lines(self) -> tuple[Line, ...]:
        live = self._run.shows or self._run.live
        told = live is not None and not live.left_behind
        return (live.line(self.size.width or self.app.size.width),) if live is not None and told else ()

    def update(self) -> None:
        super().update()
        self.display = bool(self.lines())
