"""Raw: the step's record as it stands in the file, and where it stands."""

from collections.abc import Hashable, Set

from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.panes.flow import Flow
from inspector.tui.panes.parts import Each, Fixed, Stack, note
from inspector.tui.session import StateSnapshot


def title(snapshot: StateSnapshot) -> str | None:
    """No count in the tab; None where the file does not tell."""
    return None if snapshot.raw is None else ""


def lines(snapshot: StateSnapshot, width: int, toggled: Set[Hashable] = frozenset()) -> Stack:
    """The pane's lines."""
    raw = snapshot.raw
    if raw is None:
        what = f"step {snapshot.step}" if snapshot.step else "what came before the first step"
        return note(f"this file has no record of its own for {what}")
    opens = Opens(raw.where, raw.text)
    heading = Line((Span(raw.where, "heading"), Span(f"  {len(raw.text):,} characters", "dim")), opens)
    flow = Flow(raw.text, width, ascii=snapshot.ascii)
    return Stack([Fixed([heading]), Each(flow, lambda at, text: plain(text, opens=opens))])
