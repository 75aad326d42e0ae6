"""Times that are kept as RFC 3339 texts: which point in time they name, and their order."""

import re
from datetime import UTC, datetime
from functools import lru_cache

Moment = tuple[float, str, str]

_FRACTION = re.compile(r"[.,](\d+)")
_UNKNOWN = float("-inf")


@lru_cache(maxsize=256)  # neighbours share their times
def instant(text: str | None) -> datetime | None:
    """The point in time that a text names, naive where it names no zone; None where it is none."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def chronological(text: str | None) -> Moment:
    """What a time is sorted by: texts of one moment differ in zone and in the number of their digits, so their own
    order is none. A naive time counts as UTC; what is no time comes first."""
    found = instant(text)
    try:
        seconds = found.replace(tzinfo=found.tzinfo or UTC, microsecond=0).timestamp() if found else _UNKNOWN
    except OverflowError:
        seconds = _UNKNOWN
    # The digits below microseconds count too: spans are told apart by them.
    fraction = _FRACTION.search(text or "") if found else None
    return seconds, fraction[1].rstrip("0") if fraction else "", text or ""


def is_naive(text: str | None) -> bool:
    """Whether a time names no zone, so that nobody knows which moment it is. What is no time is not naive."""
    found = instant(text)
    return found is not None and found.tzinfo is None
