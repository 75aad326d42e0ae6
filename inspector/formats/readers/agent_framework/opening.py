"""Opening checkpoints of the agent-framework, once they are known to be that."""

import os
from collections.abc import Sequence

from inspector.errors import UnreadableError
from inspector.formats.jsontext import Damaged
from inspector.formats.memory import ManyRuns, OneRun, row
from inspector.formats.reader import Probe
from inspector.formats.readers.agent_framework import FORMAT
from inspector.formats.readers.agent_framework.chains import Chain, chains
from inspector.formats.readers.agent_framework.checkpoint import Header, read_header
from inspector.formats.readers.agent_framework.run import CheckpointRun
from inspector.model.run import Problem, SourceInfo
from inspector.model.source import RunSet
from inspector.model.text import one_line

FILES = 10_000
"""Files of a folder that are looked at."""


def open_runs(probe: Probe, names: Sequence[str]) -> RunSet:
    """The runs of a file, or of the files `names` of a folder. Raises UnreadableError."""
    path = one_line(probe.path)
    if not probe.is_folder:
        label = probe.file.label
        headers, problems = _headers([(probe.path, label)])
        if not headers:
            raise UnreadableError(probe.path, f"{problems[0].where}: {problems[0].message}")
        return OneRun(CheckpointRun(Chain(headers), path, problems), headers[0].id)
    headers, problems = _headers([(os.path.join(probe.path, name), name) for name in names[:FILES]])
    if len(names) > FILES:
        message = f"{len(names) - FILES} more files were not looked at"
        problems.append(Problem(severity="warning", where=path, message=message))
    if not headers:
        reason = f"{problems[0].where}: {problems[0].message}" if problems else "holds no checkpoint"
        raise UnreadableError(probe.path, reason)
    found = chains(headers, problems)
    if len(found) == 1:
        return OneRun(CheckpointRun(found[0], path, problems), headers[0].id)
    return _many(found, path, problems)


def _headers(files: Sequence[tuple[str, str]]) -> tuple[list[Header], list[Problem]]:
    headers: list[Header] = []
    known: set[str] = set()
    problems: list[Problem] = []
    for path, label in files:
        try:
            found = read_header(path, label)
        except (UnreadableError, Damaged) as error:
            problems.append(Problem(severity="error", where=one_line(label), message=error.reason))
            continue
        if found is None:
            problems.append(Problem(severity="error", where=one_line(label), message="a checkpoint without its id"))
            continue
        header, told = found
        problems += told
        if header.id in known:
            message = f"the checkpoint {header.id} stands in another file too; this one is left out"
            problems.append(Problem(severity="error", where=header.label, message=message))
            continue
        known.add(header.id)
        headers.append(header)
    return headers, problems


def _many(found: Sequence[Chain], path: str, problems: Sequence[Problem]) -> RunSet:
    known = {chain.headers[0].id: chain for chain in found}
    # A run holds contents of its last checkpoint: of those that are only listed, none stays.
    rows = [row(CheckpointRun(chain, path), run_id) for run_id, chain in known.items()]
    return ManyRuns(
        SourceInfo(path=path, format=FORMAT), rows, lambda run_id: CheckpointRun(known[run_id], path), problems
    )
