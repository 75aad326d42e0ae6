"""Run folders of wfpy, written by hand: journal lines with their digests, checkpoint, trace and record."""

import hashlib
import json
from pathlib import Path
from typing import Any

from inspector.formats.reader import Probe
from inspector.formats.readers.wfpy import READER
from inspector.formats.readers.wfpy.run import WfpyRun
from inspector.model.run import State

Json = Any
ROUND, REPORT = "bell.Round-->guard.Round", "guard.Report-->WF.Report"
SHAPE = {"actors": [["bell", "internal", "Bell"], ["guard", "internal", "Guard"]], "queues": [ROUND, REPORT]}
GRAPH = "sha256:" + hashlib.sha256(json.dumps(SHAPE, sort_keys=True).encode()).hexdigest()
"""The digest that wfpy would give the graph of `pipe`."""


def digest(tokens: list[Json]) -> str:
    """What wfpy writes of the tokens a firing took."""
    return hashlib.sha256(json.dumps(tokens, sort_keys=True).encode()).hexdigest()


def header(inputs: Json = None, **fields: Json) -> dict[str, Json]:
    """The journal's first line."""
    head = {"version": 1, "workflowName": "shop", "graph": GRAPH, **({"inputs": {}} if inputs is None else {})}
    if inputs is not None:
        head["inputs"] = inputs
    return {"header": head | fields}


class Writer:
    """Writes journal lines: numbers them, and counts the firings of each actor."""

    def __init__(self, *lines: Json) -> None:
        self.lines: list[Json] = list(lines or (header(),))
        self.counts: dict[str, int] = {}
        self.seq = 0

    def fire(
        self,
        actor: str,
        took: dict[str, list[Json]] | None = None,
        put: dict[str, list[Json]] | None = None,
        **fields: Json,
    ) -> "Writer":
        """One firing: what it took and put, by queue id."""
        self.seq += 1
        self.counts[actor] = self.counts.get(actor, 0) + 1
        consumed = [[queue, len(tokens), digest(tokens)] for queue, tokens in (took or {}).items()]
        line = {"actor": actor, "fireCount": self.counts[actor], "consumed": consumed}
        line |= {"produced": [[queue, tokens] for queue, tokens in (put or {}).items()], "state": {}}
        self.lines.append({name: value for name, value in (line | fields).items() if value is not ...})
        self.lines[-1]["seq"] = self.seq
        return self

    def text(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)


def pipe(count: int = 3, done: int = 1, **fields: Json) -> Writer:
    """A journal of `bell` that put `count` rounds, of which `guard` took `done`."""
    writer = Writer(header(**fields))
    for number in range(1, count + 1):
        writer.fire("bell", put={ROUND: [number]}, state={"_n": number})
    for number in range(1, done + 1):
        took, report = {ROUND: [number]}, {REPORT: [f"round {number} quiet"]}
        writer.fire("guard", took, report, state={"walked": number})
    return writer


def folder(place: Path, journal: Writer | str | bytes | None = None, **files: Json) -> Path:
    """A run folder: the journal, and other files by the middle of their name (`checkpoint`, `queues`, ...)."""
    place.mkdir(parents=True, exist_ok=True)
    if journal is not None:
        text = journal.text() if isinstance(journal, Writer) else journal
        data = text if isinstance(text, bytes) else text.encode()
        (place / "run.wf-journal.jsonl").write_bytes(data)
    for name, value in files.items():
        (place / f"run.wf-{name}.json").write_text(json.dumps(value, indent=2))
    return place


def checkpoint(queues: Json, actors: Json, failed: Json = None, **fields: Json) -> Json:
    """A checkpoint: queues as {id: tokens}, actors as {name: entry}."""
    error = failed or {"message": "it broke", "entityInstanceName": "guard", "entityInstancePath": ["guard"]}
    plan = {"queues": [{"id": name, "tokens": tokens} for name, tokens in queues.items()], "actors": actors}
    head = {"version": 1, "runId": "run", "workflowName": "shop", "sourcePath": "/tmp/x.py", "graph": GRAPH}
    context = {"store": {}, "journal": [], "version": 0, "commitSeq": 0}
    return head | {"failed": error, "resumable": True, "plan": plan, "context": context} | fields


def record(actors: list[tuple[str, str, str, int]], error: Json = None, **fields: Json) -> Json:
    """The run record: actors as (name, class, kind, firings)."""
    names = ("instanceName", "entityName", "entityKind", "fireCount")
    head = {"runId": "run", "workflowName": "shop", "startedAt": "2026-11-29T12:00:00+00:00", "outDir": "/tmp/run"}
    rows = [dict(zip(names, actor, strict=True)) for actor in actors]
    found = head | {"finishedAt": "2026-11-29T12:00:01+00:00", "outputs": {}, "actors": rows}
    return found | ({"error": error} if error else {}) | fields


def trace(*steps: tuple[str, str, int, int, dict[str, int]], scope: str = "shop") -> Json:
    """A queue trace: steps as (actor, kind, its firing, journal entry, sizes by queue id)."""
    rows = [
        {
            "step": number,
            "workflowName": scope,
            "actorInstanceName": actor,
            "actorKind": kind,
            "actorFireCount": fired,
            "queueSizes": [{"scope": scope, "queueId": name, "size": size} for name, size in sizes.items()],
            "journalSeq": seq,
        }
        for number, (actor, kind, fired, seq, sizes) in enumerate(steps, 1)
    ]
    return {"version": 1, "workflowName": scope, "stepCount": len(rows), "steps": rows, "leftovers": []}


def opened(path: Path, *, index: bool = True) -> WfpyRun:
    """The run behind a path, as this reader alone opens it."""
    probe = Probe(str(path))
    assert READER.claims(probe)
    run = READER.open(probe).open()
    assert isinstance(run, WfpyRun)
    for _ in run.index() if index else ():
        pass
    return run


def state_at(run: WfpyRun, step: int) -> State:
    state = run.state(step)
    assert state is not None
    return state


def sizes(run: WfpyRun, step: int) -> dict[str, int | None]:
    """Sizes by path and id."""
    return {"/".join((*queue.scope, queue.id)): queue.size for queue in state_at(run, step).queues or ()}


def contents(run: WfpyRun, step: int) -> dict[str, list[Json] | None]:
    """Tokens by path and id, None where they are not all known."""
    return {
        "/".join((*queue.scope, queue.id)): list(queue.tokens or ()) if queue.contents == "complete" else None
        for queue in state_at(run, step).queues or ()
    }


def told(run: WfpyRun) -> list[str]:
    """Problems as lines."""
    return [f"{problem.where}: {problem.message}" for problem in run.problems()]
