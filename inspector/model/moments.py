"""The order of times that are kept as RFC 3339 texts."""

import re
from datetime import UTC, datetime
from functools import lru_cache

Moment = tuple[float, str, str]

_FRACTION = re.compile(r"[.,](\d+)")
_UNKNOWN = float("-inf")


@lru_cache(maxsize=1024)
def moment(text: str | None) -> Moment:
    """What a time is sorted by: texts of one moment differ in zone and in the number of their digits, so their own
    order is none. A naive time counts as UTC; what is no time comes first."""
    try:
        found = datetime.fromisoformat(text or "")
        seconds = found.replace(tzinfo=found.tzinfo or UTC, microsecond=0).timestamp()
    except (ValueError, OverflowError):
        return _UNKNOWN, "", text or ""
    # The digits below microseconds count too: spans are told apart by them.
    fraction = _FRACTION.search(text or "")
    return seconds, fraction[1].rstrip("0") if fraction else "", text or ""


def is_naive(text: str | None) -> bool:
    """Whether a time names no zone, so that nobody knows which moment it is. What is no time is not naive."""
    try:
        return text is not None and datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False
