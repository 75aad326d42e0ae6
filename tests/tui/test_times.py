"""Times as rows show them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.model.run import Step
from inspector.tui.times import age, between, duration, instant, timed
from tests.tui.examples import examples


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, ""),
        (0, "0s"),
        (0.00004, "40us"),
        (0.0123, "12ms"),
        (0.9996, "1.0s"),
        (59.94, "59.9s"),
        (59.96, "1m00s"),
        (3599.9, "1h00m"),
        (8000, "2h13m"),
        (90_000, "1d01h"),
        (1e7, "115d"),
        (-0.1, "-100ms"),
    ],
)
def test_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@given(st.floats(0, 8e8))
@examples(100)
def test_a_duration_fits_its_column(seconds: float) -> None:
    assert len(duration(seconds)) <= 6


@pytest.mark.parametrize(
    "text", ["", "x", "24:00", "2026-13-01T00:00:00Z", "-1", "2026-03-01T09:30:00+99:00", "9999-12-31T23:59:59-14:00"]
)
def test_what_is_no_time_is_none_or_a_time(text: str) -> None:
    assert instant(text) is None or text.startswith("9999")


def test_a_naive_time_compares_with_naive_ones_alone() -> None:
    assert between("2026-03-01T09:30:00", "2026-03-01T09:30:02") == 2
    assert between("2026-03-01T09:30:00", "2026-03-01T09:30:02Z") is None
    assert between("2026-03-01T09:30:00+01:00", "2026-03-01T09:30:00Z") == 3600


def a_step(started: str | None, ended: str | None = None) -> Step:
    return Step(seq=2, kind="model", name="m", status="done", started=started, ended=ended)


def test_a_row_tells_a_duration_from_the_time_since_the_step_before() -> None:
    before = a_step("2026-03-01T09:30:00Z")
    measured = timed(a_step("2026-03-01T09:30:05Z", "2026-03-01T09:30:06Z"), before)
    assert (measured.since, measured.took, measured.took_since) == (5, 1, False)
    unmeasured = timed(a_step("2026-03-01T09:30:05Z"), before)
    assert (unmeasured.since, unmeasured.took, unmeasured.took_since) == (5, 5, True)
    backwards = timed(a_step("2026-03-01T09:29:58Z"), before)
    assert (backwards.since, backwards.took) == (-2, None)
    early = timed(a_step("2026-03-01T09:29:55Z", "2026-03-01T09:29:59Z"), before)
    assert (early.since, early.took) == (-5, 4), "a clock that ran backwards"
    beside = timed(a_step("2026-03-01T09:29:58Z", "2026-03-01T09:30:03Z"), before)
    assert (beside.since, beside.took) == (None, 5), "both were under way"
    assert timed(a_step("2026-03-01T09:30:05Z"), None).since is None


def test_age() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert age("2026-03-01T09:00:00Z", now) == "3h00m"
    assert age(None, now) == age("soon", now) == ""
