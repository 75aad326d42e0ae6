"""The whole run in two lines: where the time went, what failed, and where one is."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from inspector.tui.bars import Bar
from inspector.tui.columns import Bucket
from inspector.tui.line import Line, Span
from inspector.tui.session import Session
from inspector.tui.snapshots import Overview

LEVELS = "▁▂▃▄▅▆▇█"
LEAD = 7
WIDE = 4
"""Cells of a step where there is room."""


def overview(snapshot: Overview, width: int) -> tuple[Line, Line]:
    """The two lines: a bar per stretch, and below it `!` for failures, `?` for open steps, `^` for where one
    is. Few steps are drawn wider."""
    most = max((bucket.seconds for bucket in snapshot.buckets), default=0.0)
    cells = max(min(width // max(len(snapshot.buckets), 1), WIDE), 1)
    bars = [_bar(bucket, most, cells) for bucket in snapshot.buckets]
    signs = [_sign(bucket, place == snapshot.at, cells) for place, bucket in enumerate(snapshot.buckets)]
    what = "time" if snapshot.timed else "steps"
    return Line((Span(f" {what:{LEAD - 1}}", "dim"), *merged(bars))), Line((Span(" " * LEAD), *merged(signs)))


def merged(spans: Sequence[Span]) -> Iterator[Span]:
    """The spans, with neighbours of one style as one."""
    for style, group in groupby(spans, key=lambda span: span.style):
        yield Span("".join(span.text for span in group), style)


def _bar(bucket: Bucket, most: float, cells: int) -> Span:
    if not bucket.steps:
        return Span(" " * cells)
    style = "failed" if bucket.failed else "waiting" if bucket.open else "bar"
    height = round(bucket.seconds / most * (len(LEVELS) - 1)) if most else 0
    return Span(LEVELS[height] * cells, style)


def _sign(bucket: Bucket, here: bool, cells: int) -> Span:
    if here:
        return Span("^" * cells, "failed" if bucket.failed else "heading")
    if bucket.failed:
        return Span("!".ljust(cells), "failed")
    return Span(("?" if bucket.open else "").ljust(cells), "waiting")


class OverviewBar(Bar):
    """The widget."""

    DEFAULT_CSS = "OverviewBar { height: 2; }"

    def __init__(self, session: Session) -> None:
        super().__init__(id="overview")
        self._session = session

    def lines(self) -> Sequence[Line]:
        width = max(self.size.width - LEAD - 1, 1)
        return overview(self._session.overview(width), width)
