"""Checkpoints of Microsoft's agent-framework: a folder of JSON files, one per checkpoint, or one such file."""

import os
from collections.abc import Sequence

from inspector.errors import InspectorError, UnreadableError
from inspector.formats.jsontext import Damaged
from inspector.formats.memory import ManyRuns, OneRun, row
from inspector.formats.reader import Probe, Reader
from inspector.formats.readers.agent_framework.chains import Chain, chains
from inspector.formats.readers.agent_framework.checkpoint import Header, read_header
from inspector.formats.readers.agent_framework.run import FORMAT, CheckpointRun
from inspector.model.run import Problem, SourceInfo
from inspector.model.source import RunSet
from inspector.model.text import one_line

FILES = 10_000
"""Files of a folder that are looked at."""
LOOKED_AT = 50
"""Files of a folder by which it is told."""


def _claims(probe: Probe) -> bool:
    if not probe.is_folder:
        return _is_checkpoint(probe)
    told = [_claims_file(probe.path, name) for name in _files(probe)[:LOOKED_AT]]
    return True in told and False not in told


def _is_checkpoint(probe: Probe) -> bool:
    return {"workflow_name", "graph_signature_hash"} <= probe.keys.keys() and len(probe.keys) > 2


def _claims_file(folder: str, name: str) -> bool | None:
    """Whether a file of a folder is a checkpoint; None where it cannot be told, since it is damaged."""
    probe = Probe(os.path.join(folder, name))
    try:
        return _is_checkpoint(probe) or (None if not probe.keys else False)
    except InspectorError:
        return None
    finally:
        probe.close()


def _files(probe: Probe) -> list[str]:
    return [name for name in probe.names if name.endswith(".json") and not name.startswith(".")]


def _open(probe: Probe) -> RunSet:
    path = one_line(probe.path)
    if not probe.is_folder:
        label = probe.file.label
        headers, problems = _headers([(probe.path, label)])
        if not headers:
            raise UnreadableError(probe.path, f"{problems[0].where}: {problems[0].message}")
        return OneRun(CheckpointRun(Chain(headers), path, problems), headers[0].id)
    names = _files(probe)
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
    runs = {chain.headers[0].id: CheckpointRun(chain, path) for chain in found}
    rows = [row(run, run_id) for run_id, run in runs.items()]
    return ManyRuns(SourceInfo(path=path, format=FORMAT), rows, runs.__getitem__, problems)


READER = Reader(
    name=FORMAT,
    what="workflow checkpoints of Microsoft's agent-framework (JSON files, alone or in a folder)",
    drivers=(FORMAT,),
    claims=_claims,
    open=_open,
)
