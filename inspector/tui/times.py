"""Times and durations: what a row says about when, and how that is written in few cells."""

from datetime import datetime

from inspector.model.moments import instant
from inspector.model.run import Record, Step


def between(start: str | None, end: str | None) -> float | None:
    """Seconds from `start` to `end`, negative where the clock ran backwards; None where either is unknown
    or only one of them has a zone."""
    one, two = instant(start), instant(end)
    if one is None or two is None or (one.tzinfo is None) != (two.tzinfo is None):
        return None
    return (two - one).total_seconds()


class Timed(Record, frozen=True, kw_only=True):
    """A step with what its row says beside it: seconds `since` the step before, seconds it `took` (or the
    time since the step before, where the source has no duration: then `took_since` is set), and how deep it
    is nested."""

    step: Step
    since: float | None = None
    took: float | None = None
    took_since: bool = False
    depth: int = 0


def timed(step: Step, before: Step | None, depth: int = 0) -> Timed:
    """The step with its times."""
    since = _since(step, before)
    return Timed(
        step=step,
        since=since,
        took=took(step, before),
        took_since=since is not None and between(step.started, step.ended) is None,
        depth=depth,
    )


def took(step: Step, before: Step | None) -> float | None:
    """Seconds that the step took, or where the source has no duration, since the step before."""
    seconds = between(step.started, step.ended)
    if seconds is None:
        seconds = _since(step, before)
        return None if seconds is None or seconds < 0 else seconds
    return seconds


def _since(step: Step, before: Step | None) -> float | None:
    """None for one that had begun when the step before began, and was still under way then: side by side, neither is
    behind the other."""
    if before is None:
        return None
    seconds = between(before.started or before.ended, step.started or step.ended)
    if seconds is None or seconds >= 0 or step.started is None:
        return seconds
    beside = between(before.started, step.ended)
    return None if beside is not None and beside >= 0 else seconds


def duration(seconds: float | None) -> str:
    """At most six cells: `0.4ms`, `12ms`, `3.1s`, `4m05s`, `2h13m`, `5d02h`; negative with a sign."""
    if seconds is None:
        return ""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f}us" if seconds else "0s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02}h" if days < 100 else f"{days}d"


def age(then: str | None, now: datetime) -> str:
    """How long ago, in at most six cells; "" where that cannot be told."""
    return duration(between(then, now.isoformat())).removeprefix("-") if then else ""
