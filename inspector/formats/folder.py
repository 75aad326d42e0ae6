"""A folder of runs that no single reader claims: each entry is opened by the reader that knows it."""

import os
from collections.abc import Callable

from inspector.errors import InspectorError, UnreadableError
from inspector.formats.memory import ManyRuns
from inspector.formats.reader import Probe, Reader, readers
from inspector.model.moments import chronological
from inspector.model.run import Problem, RunRow, SourceInfo
from inspector.model.source import RunSet, RunSource
from inspector.model.text import one_line

ENTRIES = 10_000
"""Entries of a folder that are looked at."""


def open_folder(path: str, claimant: Callable[[Probe], Reader | None]) -> RunSet:
    """The runs of the entries of a folder, newest last. An entry that no reader knows is left out; one
    that a reader knows and cannot read is a problem. Files that make runs together are opened together. An id that two
    entries share is told apart by the entry's name. Raises UnreadableError when there is no run."""
    sets: dict[str, RunSet] = {}
    joined: dict[str, list[str]] = {}
    problems: list[Problem] = []
    names = sorted(os.listdir(path))
    if names and not os.access(path, os.X_OK):
        raise UnreadableError(path, "its entries cannot be looked at: Permission denied")
    for name in names[:ENTRIES]:
        entry = os.path.join(path, name)
        try:
            if not (os.path.isfile(entry) or os.path.isdir(entry)):
                continue
            probe = Probe(entry)
            reader = claimant(probe)
            if reader is not None and (reader.together is None or probe.is_folder):
                sets[name] = reader.open(probe)
                continue
            probe.close()
            if reader is not None:
                joined.setdefault(reader.name, []).append(name)
        except InspectorError as error:
            problems.append(Problem(severity="error", where=one_line(name), message=error.reason))
        except OSError as error:
            problems.append(Problem(severity="error", where=one_line(name), message=error.strerror or str(error)))
    for reader in readers() if joined else ():
        if reader.together is not None and (own := joined.get(reader.name)):
            try:
                sets[own[0]] = reader.together(Probe(path), own)
            except InspectorError as error:
                problems.append(Problem(severity="error", where=one_line(own[0]), message=error.reason))
    if len(names) > ENTRIES:
        rest = len(names) - ENTRIES
        problems.append(
            Problem(severity="warning", where=one_line(path), message=f"{rest} more entries were not looked at")
        )
    if not sets:
        reason = "; ".join(f"{problem.where}: {problem.message}" for problem in problems[:3])
        raise UnreadableError(path, reason or "holds no run that a reader knows; `runinspect formats` lists them")
    rows, places = _merge(sets)
    formats = {runs.source.format for runs in sets.values()}
    source = SourceInfo(path=one_line(path), format=formats.pop() if len(formats) == 1 else "unknown")

    def opener(run_id: str) -> RunSource:
        name, inner = places[run_id]
        return sets[name].open(inner)

    def close() -> None:
        for runs in sets.values():
            runs.close()

    problems += [problem for runs in sets.values() for problem in runs.problems()]
    return ManyRuns(source, rows, opener, problems, close)


def _merge(sets: dict[str, RunSet]) -> tuple[list[RunRow], dict[str, tuple[str, str]]]:
    found = [(name, row) for name, runs in sets.items() for row in runs.rows()]
    taken: dict[str, tuple[str, str]] = {}
    rows = []
    for name, row in sorted(found, key=lambda item: (chronological(item[1].started), item[0])):
        shown = one_line(name)
        run_id = row.id
        if run_id in taken:
            run_id = f"{shown}:{row.id}"
        taken[run_id] = (name, row.id)
        rows.append(RunRow(**{field: getattr(row, field) for field in row.__struct_fields__} | {"id": run_id}))
    return rows, taken
