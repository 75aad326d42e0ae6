"""The traces of a file, each a run."""

from collections.abc import Sequence

from inspector.errors import UsageError
from inspector.formats.linefile import CHECKED
from inspector.formats.memory import row
from inspector.formats.readers.opentelemetry.run import Trace
from inspector.formats.readers.opentelemetry.units import SpanFile
from inspector.model.moments import chronological
from inspector.model.run import Problem, RunRow
from inspector.model.source import RunSource

LISTED = 10_000
"""Traces of a file that are listed; of more, the last."""


class Traces:
    """A RunSet: the traces of a file. One of a large file in whose beginning only one trace stands is opened
    before the file was read; other traces are known when it was."""

    def __init__(self, file: SpanFile) -> None:
        self.file, self.source = file, file.source
        index = file.index()
        next(index, None)
        if file.file.size <= CHECKED or len(file.traces) != 1:
            for _ in index:
                pass

    def _ids(self) -> list[str]:
        return list(self.file.traces)

    def _trace(self, number: int) -> Trace:
        return Trace(self.file, number, self._ids()[number])

    def rows(self) -> Sequence[RunRow]:
        last = list(enumerate(self._ids()))[-LISTED:]
        found = [row(Trace(self.file, number, trace), trace) for number, trace in last]
        return sorted(found, key=lambda one: chronological(one.started))

    def open(self, run_id: str | None = None) -> RunSource:
        ids = self._ids()
        if run_id is None and len(ids) == 1:
            return self._trace(0)
        if run_id is None:
            raise UsageError(self.source.path, f"holds {len(ids)} traces: choose one with --run")
        for _ in self.file.index() if run_id not in ids else ():
            pass
        if run_id not in self.file.traces:
            shown = ", ".join(self._ids()[-10:])
            raise UsageError(self.source.path, f"holds no trace {run_id!r}; it holds {shown}")
        return self._trace(self.file.traces[run_id])

    def problems(self) -> Sequence[Problem]:
        return ()

    def refresh(self) -> bool:
        known = len(self.file.traces)
        self.file.refresh()
        return len(self.file.traces) != known

    def close(self) -> None:
        self.file.close()
