"""Steps: the firings of a journal, or those of the trace where there is no journal."""

from collections.abc import Iterator

from inspector.formats.readers.wfpy.network import Actor
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.formats.readers.wfpy.trace import Trace
from inspector.formats.readers.wfpy.typed import typed
from inspector.model.run import Consumed, Produced, Step
from inspector.model.text import shorten
from inspector.model.values import Value, preview

SUMMARY = 160


def firing(rebuilt: Rebuilt, seq: int) -> Step:
    """Step `seq` of a rebuilt run."""
    entry = rebuilt.entry(seq)
    path = entry.get("actor")
    name = path if isinstance(path, str) else "unknown"
    actor = rebuilt.network.at(name)
    reason = entry.get("notReplayable")
    produced = None if reason is not None else tuple(_produced(entry.get("produced")))
    traced = rebuilt.schedule.steps if rebuilt.schedule is not None else {}
    fired = entry.get("fireCount")
    return Step(
        seq=seq,
        kind="firing",
        name=name,
        status="replayed" if entry.get("replayed") is True else "done",
        consumed=None if reason is not None else tuple(_consumed(rebuilt, actor, entry.get("consumed"), seq)),
        produced=produced,
        trace_step=traced.get((name, fired)) if isinstance(fired, int) else None,
        summary=shorten(f"cannot be replayed: {reason}", SUMMARY) if reason is not None else _summary(produced),
    )


def _groups(value: Value, least: int) -> Iterator[list[Value]]:
    for group in value if isinstance(value, list) else ():
        if isinstance(group, list) and len(group) >= least and isinstance(group[0], str):
            yield group


def _produced(value: Value) -> Iterator[Produced]:
    for queue_id, tokens, *_ in _groups(value, 2):
        if isinstance(tokens, list):
            found = tuple(typed(token) for token in tokens)
            yield Produced(queue=queue_id, tokens=found, count=len(found))


def _consumed(rebuilt: Rebuilt, actor: Actor, value: Value, seq: int) -> Iterator[Consumed]:
    seen: dict[str, int] = {}
    for queue_id, count, *_ in _groups(value, 2):
        occurrence = seen[queue_id] = seen.get(queue_id, -1) + 1
        queues = actor.scope.named(queue_id)
        if not isinstance(count, int):
            continue
        taken = queues[occurrence].taken(seq)[-count:] if count and occurrence < len(queues) else ()
        known = len(taken) == count and not any(map(rebuilt.store.is_unknown, taken))
        tokens = tuple(rebuilt.store.list(taken)) if known else None
        yield Consumed(queue=queue_id, count=count, tokens=tokens)


def _summary(produced: tuple[Produced, ...] | None) -> str:
    """What the firing made, by output port."""
    ports: dict[str, str] = {}
    for group in produced or ():
        port = group.queue.partition("-->")[0].partition(".")[2] or group.queue
        ports.setdefault(port, ", ".join(preview(token, SUMMARY) for token in (group.tokens or ())[:10]))
    return shorten("; ".join(f"{port}: {tokens}" for port, tokens in ports.items()), SUMMARY)


def traced(trace: Trace, seq: int) -> Step:
    """Step `seq` of a run of which only the trace is left."""
    step = trace.steps[seq - 1]
    return Step(
        seq=seq,
        kind="firing",
        name=step.actor_instance_name or "unknown",
        status="replayed" if step.replayed else "done",
        summary=f"firing {step.actor_fire_count}" + (f" ({step.actor_kind})" if step.actor_kind else ""),
        trace_step=step.step or None,
    )
