"""`runs` and `import` on a terminal or a pipe: what runs there are, and a trace taken into a store."""

import os

from inspector.errors import UnreadableError, UsageError
from inspector.formats import open_path
from inspector.formats.largevalues import Beside, LargeValues
from inspector.model.moments import chronological
from inspector.model.run import Problem, RunRow, RunStatus
from inspector.model.source import Narrowing
from inspector.model.text import one_line
from inspector.policy import read_only
from inspector.report.text import list_report
from inspector.report.told import told
from inspector.report.view import RunList
from inspector.streams import complain, say

STATUSES: tuple[RunStatus, ...] = ("running", "suspended", "completed", "failed", "interrupted", "cancelled", "unknown")


def runs_command(
    place: str | None, *, format: str | None, status: str | None, name: str | None, limit: int | None, json: bool
) -> None:
    """Print the runs of a place, newest last, at most the newest `limit`; without a place, those of this user's
    store, traces and folders of wfpy."""
    if status is not None and status not in STATUSES:
        raise UsageError("--status", f"{status!r} is none of {', '.join(STATUSES)}")
    if limit is not None and limit < 1:
        raise UsageError("--limit", "is the number of runs to list: 1 or more")
    places = [place] if place is not None else _own()
    rows: list[RunRow] = []
    problems: list[Problem] = []
    for at in places:
        if place is None and not _holds(at):
            continue
        try:
            found = open_path(at, format)
        except UnreadableError as error:
            if place is not None:
                raise
            problems.append(Problem(severity="error", where=at, message=error.reason))
            continue
        rows += found.some(status, name, limit) if isinstance(found, Narrowing) else found.rows()
        problems += found.problems()
    if place is None:
        rows.sort(key=lambda row: chronological(row.started))
        if not rows:
            complain(f"{one_line(os.path.dirname(places[0]))}: there are no runs yet")
    shown = [row for row in rows if status in (None, row.status) and name in (None, row.name)]
    document = RunList(runs=shown if limit is None else shown[-limit:], problems=problems)
    for problem in problems:
        complain(f"{one_line(problem.where)}: {one_line(problem.message)}")
    say(told(document, list_report, json, masked=read_only()))


def import_command(path: str, store: str | None, key: str | None) -> None:
    """Take a trace of ours into a store, under its own key or another."""
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines(keepends=True)
    except OSError as error:
        raise UsageError(path, error.strerror or "cannot be read") from error
    from inspector.store import open_store

    large = LargeValues(Beside(path), lambda problem: None)
    into = open_store(store)
    try:
        run = into.import_([line for line in lines if line.strip()], key, large.data)
        say([one_line(f"{run.key}  {run.kind}  {run.status}  {run.steps} steps  {into.url}")])
    finally:
        into.close()


def _own() -> list[str]:
    """Where the runs of this user are."""
    from inspector.store import default_path

    store = default_path()
    return [store, *(os.path.join(os.path.dirname(store), name) for name in ("traces", "wfpy"))]


def _holds(place: str) -> bool:
    return os.path.isfile(place) or (os.path.isdir(place) and bool(os.listdir(place)))
