"""The rows of each trace of a file: found at once for all of them, since a file may hold very many."""

from array import array
from collections.abc import Sequence
from itertools import accumulate


class Grouped:
    """Rows by their number in `column`, of which there are `count`; at four bytes a row."""

    def __init__(self, column: "array[int]", count: int) -> None:
        self.known = len(column)
        sizes = array("I", bytes(4 * count))
        for number in column:
            sizes[number] += 1
        self._begins = array("I", accumulate(sizes, initial=0))
        free = self._begins[:]
        self._rows = array("I", bytes(4 * self.known))
        for row, number in enumerate(column):
            self._rows[free[number]] = row
            free[number] += 1

    def of(self, number: int) -> Sequence[int]:
        """The rows of a number, in order."""
        return self._rows[self._begins[number] : self._begins[number + 1]]
