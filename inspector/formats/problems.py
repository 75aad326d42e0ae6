"""What is wrong with a source, gathered while it is read."""

from collections.abc import Iterable
from typing import Self

from inspector.model.moments import is_naive
from inspector.model.run import Problem


def zoneless(where: str, times: Iterable[str | None]) -> list[Problem]:
    """One problem for the first of these times that names no zone; none where each does."""
    naive = next((time for time in times if is_naive(time)), None)
    if naive is None:
        return []
    return [Problem(severity="warning", where=where, message=f"the times have no zone, as in {naive}")]


class Problems(list[Problem]):
    """Problems, each once, and no more than anybody reads."""

    LIMIT = 500

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[tuple[str, str]] = set()

    def append(self, problem: Problem) -> None:
        key = (problem.where, problem.message)
        if key in self._seen or len(self) > self.LIMIT:
            return
        self._seen.add(key)
        if len(self) == self.LIMIT:
            problem = Problem(severity="warning", where=problem.where, message="from here on problems are not listed")
        super().append(problem)

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.append(problem)

    def __iadd__(self, problems: Iterable[Problem]) -> Self:  # type: ignore[override, misc]
        self.extend(problems)
        return self
