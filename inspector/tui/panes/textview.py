"""A text opened full-screen: its rows, and the places where a searched text stands in it."""

from inspector.model.lazy import Lazy
from inspector.tui.line import Line, Span
from inspector.tui.panes.cells import counted
from inspector.tui.panes.flow import Flow

MOST_SHOWN = 20_000
"""Characters of a row that can be scrolled to."""
MOST_SPANS = 400
"""Pieces of a row, so that a text with a place at every character stays fast."""


class TextView(Lazy[Line]):
    """The lines of a text. `found` is the text searched for; `at` the offset of the place one stands on."""

    def __init__(self, text: str, *, ascii: bool = False) -> None:
        self._text, self._ascii = text, ascii
        self.wrap = True
        self.found = ""
        self.at: int | None = None
        self._flow = Flow("", 1)
        self._laid: tuple[int, bool] | None = None

    def flow(self, width: int) -> Flow:
        """The text laid out for a width, for `lay`. Shows nothing yet, so that another thread may make it."""
        if self._laid == (width, self.wrap):
            return self._flow
        return Flow(self._text, width, wrap=self.wrap, ascii=self._ascii)

    def lay(self, flow: Flow) -> None:
        """Take the rows of a flow from now on."""
        self._flow, self._laid = flow, (flow.width, flow.wrap)

    def about(self) -> str:
        """What is shown, in words."""
        wrapped = self._flow.wrap
        rows = counted(len(self._flow), "row" if wrapped else "line")
        return f"text, {counted(len(self._text), 'character')}, {rows}{'' if wrapped else ', not wrapped'}"

    def __len__(self) -> int:
        return len(self._flow)

    def item(self, at: int) -> Line:
        start, stop = self._flow.span(at)
        return Line(tuple(self._spans(start, min(stop, start + MOST_SHOWN))))

    def _spans(self, start: int, stop: int) -> list[Span]:
        """A row with the places of `found` in it marked, also of those that begin in the row before."""
        text, found = self._flow.text, self.found
        if not found:
            return [Span(text[start:stop])]
        spans: list[Span] = []
        at = start
        hit = text.find(found, max(start - len(found) + 1, 0), stop + len(found) - 1)
        while 0 <= hit < stop and len(spans) < MOST_SPANS:
            begin, end = max(hit, at), min(hit + len(found), stop)
            if end > at:
                spans += [Span(text[at:begin]), Span(text[begin:end], "match")]
                at = end
            hit = text.find(found, hit + len(found), stop + len(found) - 1)
        return [*spans, Span(text[at:stop])]

    def find(self, row: int, direction: int) -> int | None:
        """The row of the next place where `found` stands, from the place one stands on or the row; on from
        the other end behind the last. None where there is no such place."""
        text, found = self._flow.text, self.found
        start, stop = self._flow.span(row) if len(self) else (0, 0)
        at = self.at if self.at is not None and start <= self.at < max(stop, start + 1) else None
        if direction > 0:
            hit = text.find(found, start if at is None else at + 1)
            hit = text.find(found) if hit < 0 else hit
        else:
            hit = text.rfind(found, 0, (start if at is None else at) + len(found) - 1)
            hit = text.rfind(found) if hit < 0 else hit
        self.at = hit if hit >= 0 else None
        return self._flow.row_of(hit) if hit >= 0 else None

    def place(self, row: int) -> str:
        """Which of the places one stands on."""
        text, found = self._flow.text, self.found
        if self.at is None or not found:
            return ""
        return f"{text.count(found, 0, self.at + len(found)):,} of {text.count(found):,}"
