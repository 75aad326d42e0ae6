"""Our own trace files: the records of `model.records`, one a line."""

import re

from inspector.errors import UnreadableError
from inspector.formats.reader import Probe, Reader
from inspector.model.records import FORMAT, KIND, RECORDS
from inspector.model.source import RunSet


def _claims(probe: Probe) -> bool:
    kinds = (KIND.match(line) for line in probe.lines)
    return any(kind and kind[1].decode() in RECORDS for kind in kinds)


def _open(probe: Probe) -> RunSet:
    from inspector.formats.memory import OneRun
    from inspector.formats.tracerun import TraceRun

    _refuse_later(probe)
    return OneRun(TraceRun(probe.file, probe.path, probe.head), probe.file.label)


def _refuse_later(probe: Probe) -> None:
    match = re.search(rb'^\s*\{\s*"record"\s*:\s*"header"\s*,\s*"format"\s*:\s*(\d{1,9})', probe.head, re.MULTILINE)
    if match and int(match[1]) > FORMAT:
        raise UnreadableError(
            probe.path,
            f"a trace of format {int(match[1])}: this runinspect reads up to {FORMAT}; a newer one is needed",
        )


READER = Reader(
    name="runinspect",
    what="trace files that this runner writes (JSON lines)",
    drivers=("agent", "dataflow"),
    claims=_claims,
    open=_open,
)
