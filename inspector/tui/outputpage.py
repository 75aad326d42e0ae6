"""What code of the user printed while it was imported or run here."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inspector.tui.line import Line, Opens, plain
from inspector.tui.page import Page
from inspector.tui.panes.cells import counted
from inspector.tui.viewer import Viewer

if TYPE_CHECKING:
    from inspector.tui.capture import Output


class OutputPage(Page):
    """The last lines; it stays at the end while the cursor does."""

    def __init__(self, output: "Output") -> None:
        self._output = output
        lines = _lines(output)
        super().__init__("Output of the code", lines, cursor=len(lines) - 1)

    def grown(self) -> None:
        """There is more."""
        at_end = self.rows.cursor >= len(self.rows.lines) - 1
        lines = _lines(self._output)
        self.rows.show(lines, len(lines) - 1 if at_end else None)

    def chosen(self, line: Line, index: int) -> None:
        if line.opens is not None:
            self.app.push_screen(Viewer(line.opens))


def _lines(output: "Output") -> Sequence[Line]:
    found = [plain(f" {text}", "", Opens("output", text)) for text in output.shown()]
    gone = output.count - len(output.lines)
    if gone > 0:
        found.insert(0, plain(f" {counted(gone, 'line')} before these are not kept", "dim"))
    return found or [plain(" nothing was printed", "dim")]
