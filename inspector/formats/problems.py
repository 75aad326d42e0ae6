"""What is wrong with a source, gathered while it is read."""

from collections.abc import Iterable
from typing import Self

from inspector.model.run import Problem


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
