"""From a path to its runs: a run folder or one file of it, a base folder, a run log."""

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from inspector.errors import InspectorError, UnreadableError, UsageError
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, parse
from inspector.formats.lines import Lines
from inspector.formats.memory import row
from inspector.formats.readers.wfpy.artifacts import Artifacts, Facts, in_folder, stamp
from inspector.formats.readers.wfpy.journal import Journal
from inspector.formats.readers.wfpy.names import LIVE, LOG, NAMES, is_run_folder
from inspector.formats.readers.wfpy.run import WfpyRun
from inspector.model.moments import chronological
from inspector.model.run import Problem, RunRow, SourceInfo
from inspector.model.source import RunSource
from inspector.model.text import one_line

COUNTED = 4 << 20
"""Bytes of a journal up to which its firings are counted one by one; in a larger one its lines are."""
ENTRIES = 10_000
"""Folders and log lines of a base folder that are looked at."""
GONE = "is gone since it was opened: the runs that were in it then are listed"
_OWN_ID = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z_")
"""wfpy's own ids begin with the time of the start."""


class OneRun:
    """The one run of a run folder, or of a single file."""

    def __init__(self, run: WfpyRun, label: str) -> None:
        self.source = run.source
        self._run, self._label = run, label

    def rows(self) -> Sequence[RunRow]:
        return (row_of(self._run, self._label),)

    def open(self, run_id: str | None = None) -> RunSource:
        known = self.rows()[0].id
        if run_id not in (None, known, self._label):
            raise UsageError(self.source.path, f"holds no run {run_id!r}; its only run is {known!r}")
        return self._run

    def problems(self) -> Sequence[Problem]:
        return ()

    def refresh(self) -> bool:
        return False

    def close(self) -> None:
        self._run.close()


def row_of(run: WfpyRun, label: str) -> RunRow:
    """A run's line in a list; its firings are counted, without indexing it."""
    return msgspec.structs.replace(row(run, label), steps=_count(run) if run.counted else None)


def _count(run: WfpyRun) -> int:
    file = run.artifacts.journal
    if len(run):
        return len(run)
    found = 0
    if file is not None:
        found = _count_lines(file) if file.size > COUNTED else _count_firings(file)
    if not found:
        for _ in run.index():
            pass
    return found or len(run)


def _count_firings(file: File) -> int:
    journal, count = Journal(file), 0
    for batch in journal.read():
        for number, line in batch:
            for _, entry in journal.entries(number, line):
                count = 0 if entry.header is not msgspec.UNSET else count + 1
    return count


def _count_lines(file: File) -> int:
    """The lines behind the last header; damaged ones count too."""
    count, before = 0, b"\n"
    for _, piece in file.chunks(file.start):
        text = before + piece
        header = text.rfind(b'\n{"header"')
        count = text.count(b'\n{"actor"', max(header, 0)) + (0 if header >= 0 else count)
        before = text[-9:]
        count -= before.count(b'\n{"actor"')
    return count


class Base:
    """A base folder: its run folders, and the runs of its log whose folders are gone."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.source = SourceInfo(path=one_line(path), format="wfpy")
        self._problems: list[Problem] = []
        self._open: dict[str, WfpyRun] = {}
        self._rows: list[RunRow] = []
        self._known: dict[str, tuple[object, RunRow]] = {}
        self._folders: dict[str, str] = {}
        self._logged: dict[str, Facts] = {}
        self._look()
        if not self._rows:
            raise UnreadableError(path, "a base folder of wfpy without a run in it")

    def _look(self) -> None:
        self._problems, self._folders, self._logged = [], {}, {}
        found = [(chronological(self._began(row, name)), name, row) for name, row in self._found()]
        self._rows = [row for _, _, row in sorted(found, key=lambda entry: entry[:2])]

    def _found(self) -> Iterator[tuple[str, RunRow]]:
        for name in _run_folders(self._path):
            try:
                found = self._row(name)
            except InspectorError as error:
                self._problems.append(Problem(severity="error", where=one_line(name), message=error.reason))
                continue
            if found.id in self._folders:
                found = msgspec.structs.replace(found, id=one_line(name))
            self._folders[found.id] = name
            yield name, found
        for run_id, facts in _log(os.path.join(self._path, LOG), self._problems):
            if run_id not in self._folders and run_id not in self._logged:
                self._logged[run_id] = facts
                yield run_id, row_of(self._run_of_log(run_id), run_id)

    def _row(self, name: str) -> RunRow:
        """The row of a folder; it is looked into again only when a file in it changed."""
        look = [stamp(os.path.join(self._path, *part)) for part in ((LIVE,), *((name, file) for file in NAMES))]
        known = self._known.get(name)
        if known is None or known[0] != look:
            run = self._run_in(name)
            known = self._known[name] = look, row_of(run, one_line(name))
            run.close()
        return known[1]

    def _run_in(self, name: str) -> WfpyRun:
        path = os.path.join(self._path, name)
        return WfpyRun(path, in_folder(path))

    def _run_of_log(self, run_id: str) -> WfpyRun:
        artifacts = Artifacts({}, None)
        artifacts.record = self._logged[run_id]
        return WfpyRun(os.path.join(self._path, LOG), artifacts)

    def _began(self, found: RunRow, name: str) -> str:
        """When a run began, as well as can be told: for the order of the list alone."""
        own = _OWN_ID.match(found.id)
        if found.started or own is None:
            return found.started or self._changed(name)
        return f"{own[1]}T{own[2]}:{own[3]}:{own[4]}.{own[5]}"

    def _changed(self, name: str) -> str:
        try:
            changed = os.stat(os.path.join(self._path, name)).st_mtime
            return datetime.fromtimestamp(changed, UTC).isoformat()
        except (OSError, ValueError, OverflowError):
            return ""

    def rows(self) -> Sequence[RunRow]:
        return self._rows

    def open(self, run_id: str | None = None) -> RunSource:
        ids = [found.id for found in self._rows]
        if run_id is None and len(ids) == 1:
            run_id = ids[0]
        if run_id is None:
            raise UsageError(self.source.path, f"holds {len(ids)} runs: choose one with --run")
        if run_id not in ids:
            raise UsageError(self.source.path, f"holds no run {run_id!r}; it holds {', '.join(ids[-10:])}")
        if run_id not in self._open:
            logged = run_id in self._logged
            self._open[run_id] = self._run_of_log(run_id) if logged else self._run_in(self._folders[run_id])
        return self._open[run_id]

    def problems(self) -> Sequence[Problem]:
        return self._problems

    def refresh(self) -> bool:
        if not os.path.exists(self._path):
            before = self._problems
            self._problems = [Problem(severity="warning", where=self.source.path, message=GONE)]
            return self._problems != before
        rows = self._rows
        self._look()
        return self._rows != rows

    def close(self) -> None:
        for run in self._open.values():
            run.close()


def _run_folders(path: str) -> Iterator[str]:
    """The names of folders that hold an artifact of a run."""
    for name in sorted(os.listdir(path))[:ENTRIES]:
        if is_run_folder(os.path.join(path, name)):
            yield name


def _log(path: str, problems: list[Problem]) -> Iterator[tuple[str, Facts]]:
    """The lines of a run log, by run id."""
    try:
        file = File(path)
    except UnreadableError:
        return
    lines = Lines(file)
    for _ in lines.scan():
        pass
    for number in range(max(len(lines) - ENTRIES, 0), len(lines)):
        line = lines.read(number)
        try:
            value = parse(line, lines.place(number), problems) if line.strip() else None
        except Damaged as damage:
            where = lines.place(number).at(line, min(damage.offset, len(line)))
            problems.append(Problem(severity="error", where=where, message=f"{damage.reason}; left out"))
            continue
        if isinstance(value, dict) and isinstance(value.get("runId"), str):
            yield value["runId"], Facts(value)
    file.close()


class Log(Base):
    """A run log without its folder."""

    def _found(self) -> Iterator[tuple[str, RunRow]]:
        for run_id, facts in _log(self._path, self._problems):
            self._logged[run_id] = facts
        for run_id in self._logged:
            yield run_id, row_of(self._run_of_log(run_id), run_id)
