"""Stretches of steps, one behind the other: of a run with very many, the one that holds a step is found by halves."""

from array import array
from bisect import bisect_right


class Stretches:
    """Stretches by the step behind which each begins and the one with which it is over, each with a number. The next
    begins where the one before it is over, or later."""

    def __init__(self) -> None:
        self.begins, self.ends, self.numbers = array("q"), array("q"), array("q")

    def add(self, begin: int, end: int, number: int = 0) -> None:
        """One more, behind the others."""
        self.begins.append(begin)
        self.ends.append(end)
        self.numbers.append(number)

    def over(self, step: int) -> int:
        """How many are over after a step."""
        return bisect_right(self.ends, step)

    def holding(self, step: int) -> int | None:
        """Which one a step is in, its beginning included; None where it is in none."""
        at = self.over(step)
        return at if at < len(self.begins) and self.begins[at] <= step else None
