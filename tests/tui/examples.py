"""How many examples a property is tried with."""

from hypothesis import settings

from tests.fuzz import TIMES


def examples(number: int) -> settings:
    """That many, or as many times more as RUNINSPECT_FUZZ says; however long one takes on a busy machine."""
    return settings(max_examples=number * TIMES, deadline=None)
