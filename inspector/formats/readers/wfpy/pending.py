"""What is pending where a run ended: the firing that failed, or those that may have been in flight."""

from collections.abc import Iterator

from inspector.formats.readers.wfpy.checkpoint import Checkpoint
from inspector.formats.readers.wfpy.network import Actor
from inspector.formats.readers.wfpy.outcome import Outcome
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.formats.readers.wfpy.typed import typed
from inspector.model.run import Pending, PendingStatus
from inspector.model.values import equal, preview

WIDTH = 60


def at_end(
    outcome: Outcome, checkpoint: Checkpoint | None, rebuilt: Rebuilt | None, active: list[str]
) -> tuple[Pending, ...] | None:
    """What is pending after the last step of a run; None where no file says."""
    if outcome.status == "completed":
        return ()
    if outcome.status == "failed":
        return tuple(_failed(outcome, checkpoint, rebuilt)) or None
    if outcome.status in ("interrupted", "running", "cancelled") and rebuilt is not None:
        return tuple(_open(outcome, rebuilt, active))
    return None


def _failed(outcome: Outcome, checkpoint: Checkpoint | None, rebuilt: Rebuilt | None) -> Iterator[Pending]:
    """The failed firing gave its input back, so it is ready to run again."""
    where = outcome.error.where if outcome.error is not None else None
    if outcome.error is None or not where:
        return
    notes = [outcome.error.message or "failed, for a reason that is not recorded"]
    if checkpoint is not None and rebuilt is not None:
        notes += _drift(where, checkpoint, rebuilt)
    yield Pending(kind="firing", name="/".join(where), status="ready", note="; ".join(notes))


def _drift(where: tuple[str, ...], checkpoint: Checkpoint, rebuilt: Rebuilt) -> list[str]:
    """What the failed firing changed in its actor's state before it failed: that is not taken back."""
    actor = rebuilt.network.find(where)
    saved = next((saved for saved in checkpoint.actors if (*saved.scope, saved.name) == where), None)
    if actor is None or saved is None or not actor.firings:
        return []
    before = rebuilt.entry(actor.firings[-1]).get("state")
    after = checkpoint.clean(saved.entry.get("state"))
    if not isinstance(before, dict) or not isinstance(after, dict):
        return []
    return [
        f"it had changed {name} from {preview(typed(before[name]), WIDTH)} to {preview(typed(after[name]), WIDTH)}"
        for name in after
        if name in before and not equal(before[name], after[name])
    ]


def _open(outcome: Outcome, rebuilt: Rebuilt, active: list[str]) -> Iterator[Pending]:
    """Actors with tokens at every input: a firing of theirs may have begun, which no record says. A nested workflow is
    told where nothing inside of it is: it may have taken its tokens in."""
    last = rebuilt.replay.step
    begun: PendingStatus = "in_flight" if outcome.status == "running" else "ambiguous"
    unsure: PendingStatus = "ready" if active or outcome.status != "interrupted" else "ambiguous"
    actors = {"/".join(actor.path): actor for actor in rebuilt.network.actors()}
    found = {path for path, actor in actors.items() if path in active or _has_inputs(actor, last)}
    around = {above for path in found for above in _around(path)}
    for path, actor in actors.items():
        if path in found and (actor.child is None or path not in around):
            yield Pending(kind="firing", name=path, status=begun if path in active else unsure)


def _around(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _has_inputs(actor: Actor, step: int) -> bool:
    firsts = [queues[0] for queues in actor.ins.values() if queues]
    return bool(firsts) and all(queue.size(step) and not queue.is_vague(step) for queue in firsts)
