"""What a resume would replay, run, and run again, and what should be known before."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from inspector.formats.readers.wfpy.names import CHECKPOINT, LOG, TRACE
from inspector.formats.readers.wfpy.run import WfpyRun
from inspector.model.text import clean
from inspector.resume.drivers.wfpy.digests import has_set
from inspector.resume.drivers.wfpy.graph import plans
from inspector.resume.drivers.wfpy.saved import Firings, checkpoint_of
from inspector.resume.jobs import Job
from inspector.resume.plan import Planned, Warned, warn
from inspector.runner.claims import Claims

NAMED = 50
"""Actors that a plan names; of a longer run, only how many there are."""


def replays(job: Job, firings: Firings | None) -> Iterator[Planned]:
    """The firings that are taken over, by actor."""
    note = "restored from the checkpoint" if firings is None else "replayed from the journal"
    for name, count in Counter(step.name for step in job.source.steps(1, job.step + 1)).most_common(NAMED):
        yield Planned(name=name, kind="firing", note=f"{count} {note}")


def again(job: Job) -> Counter[str]:
    """How often each actor fired behind the step: those firings run again."""
    return Counter(step.name for step in job.source.steps(job.step + 1, len(job.source) + 1))


def runs(job: Job, plan: Any) -> Iterator[Planned]:
    """What can fire first: the firing that failed, and actors with a token at each of their inputs."""
    run = job.source.run()
    # Of a run that was stopped, wfpy names the last actor that fired, and without its path.
    error = run.error if job.at_last and run.status == "failed" else None
    failed = "/".join(error.where or ()) if error is not None else ""
    if failed:
        yield Planned(name=failed, kind="firing", note="failed, and runs once more")
    state = job.source.state(job.step)
    sizes: dict[str, dict[str, int]] = {}
    for queue in state.queues or () if state is not None else ():
        port = queue.id.rpartition(".")[2]
        waiting = sizes.setdefault("/".join((*queue.scope, queue.id.partition("-->")[2].partition(".")[0])), {})
        waiting[port] = waiting.get(port, 0) + (queue.size or 0)
    found = 0
    for path, inner in plans(plan):
        for actor in inner.actors:
            name = "/".join((*path, actor.name))
            waiting = sizes.get(name, {})
            if name == failed or actor.sub_plan is not None or not all(waiting.get(port) for port in actor.in_queues):
                continue
            found += 1
            if found > NAMED:
                return
            note = "has a token at each input" if actor.in_queues else "has no inputs: its guard decides"
            yield Planned(name=name, kind="firing", note=note)


def warnings(job: Job, run: WfpyRun, plan: Any, firings: Firings | None) -> Iterator[Warned]:
    """What should be known before."""
    name = clean(str(plan.name))
    detail = "wfpy records no parameters, prompts, models, guards or tools: whether those changed cannot be told"
    yield warn("parameters_unknown", name, detail)
    yield from _resumed_already(job, run)
    yield from _behind(job)
    yield from _branches(plan)
    if firings is None:
        yield from _checkpoint(run)
        yield from _agent(job, plan)
    else:
        yield from _replay(run, firings)
        if checkpoint_of(run) is None and job.at_last:
            detail = "no file tells what was under way when the run was cut off: it runs again, with its effects"
            yield warn("side_effects", name, detail)


def _resumed_already(job: Job, run: WfpyRun) -> Iterator[Warned]:
    found = job.source.run().id or ""
    for successor in Claims().successors(run.claim):
        yield warn("already_resumed", found, f"was resumed as {successor.run} at {successor.at}")
    for other in _successors(run, found):
        yield warn("already_resumed", found, f"was resumed as {other}, which is beside it")


def _successors(run: WfpyRun, run_id: str) -> Iterator[str]:
    if run.artifacts.folder is None:
        return
    try:
        with open(os.path.join(run.artifacts.folder, os.pardir, LOG), encoding="utf-8", errors="replace") as file:
            for line in file:
                if '"resumedFrom"' not in line:
                    continue
                record = json.loads(line)
                if isinstance(record, dict) and record.get("resumedFrom") == run_id:
                    yield clean(str(record.get("runId")))
    except (OSError, ValueError, RecursionError):
        return


def _behind(job: Job) -> Iterator[Warned]:
    later = again(job)
    for name, count in later.items():
        detail = f"{count} firing{'' if count == 1 else 's'} behind the step: effects are not undone, and come again"
        yield warn("side_effects", name, detail)
    if later:
        total = sum(later.values())
        detail = f"{total} completed firings stand behind step {job.step}"
        yield warn("runs_again", job.source.run().id or "", detail)


def _branches(plan: Any) -> Iterator[Warned]:
    """Ifs inside of a loop or another if: wfpy runs both of their branches."""
    for path, inner in plans(plan):
        for node in inner.control_nodes.values():
            if node.kind == "if" and node.parent_scope_id != "scope:root":
                detail = "stands in the body of a loop or an if, where wfpy runs both of its branches"
                yield warn("both_branches", "/".join((*path, node.name)), detail)


def _checkpoint(run: WfpyRun) -> Iterator[Warned]:
    """Where the checkpoint is not what the journal comes to, as after a firing that failed with half of its
    outputs put."""
    for problem in run.problems():
        if CHECKPOINT in problem.where:
            yield warn("checkpoint_differs", problem.where, problem.message)


def _agent(job: Job, plan: Any) -> Iterator[Warned]:
    error = job.source.run().error
    failed = "/".join(error.where or ()) if error is not None else ""
    for path, inner in plans(plan):
        for actor in inner.actors:
            if actor.kind == "agent" and failed == "/".join((*path, actor.name)):
                detail = "failed in the middle: tools that it had called are in no file, and are called again"
                yield warn("side_effects", failed, detail)


def _replay(run: WfpyRun, firings: Firings) -> Iterator[Warned]:
    rebuilt = run.rebuilt
    if rebuilt is not None and any(step <= firings.step for step in rebuilt.replay.contexts):
        detail = "the shared context is restored, and what it was changed by is not"
        yield warn("context_journal", TRACE, detail)


def sets(entries: Iterable[dict[str, Any]]) -> Iterator[Warned]:
    """Actors that took sets: what wfpy checks of one depends on its order in memory."""
    putters: dict[str, int] = {}
    for entry in entries:
        for queue, tokens in entry.get("produced") or ():
            if has_set(tokens):
                putters.setdefault(queue, entry["seq"])
    for queue, seq in putters.items():
        detail = (
            f"sets pass here, from firing {seq} on; their order differs from process to process, so their digests "
            "are computed again; where that does not help, wfpy stops the replay and runs what is left"
        )
        yield warn("replay_may_stop", clean(queue), detail)
