from random import Random

import pytest

from inspector.model.moments import chronological

IN_ORDER = (
    None,
    "2026-11-29T23:59:59+05:00",
    "2026-11-29T20:00:00-00:30",
    "2026-11-30T10:00:00Z",
    "2026-11-30T10:00:00.000000001Z",
    "2026-11-30T10:00:00.1Z",
    "2026-11-30T12:00:00.25+02:00",
    "2026-11-30T10:00:00.5",
    "2026-11-30T10:00:01Z",
)


def test_times_are_in_order_whatever_their_zone_and_their_digits() -> None:
    shuffled = list(IN_ORDER)
    Random(1).shuffle(shuffled)
    assert sorted(shuffled, key=chronological) == list(IN_ORDER)


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01T00:00:00Z", "9999999999"])
def test_what_is_no_time_comes_first(text: str) -> None:
    assert chronological(text) < chronological("0001-01-02T00:00:00Z")
