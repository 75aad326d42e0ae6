"""Steps: the firings of a journal, or those of the trace where there is no journal."""

from collections.abc import Iterator

from inspector.formats.readers.wfpy.journal import UNREAD, Entry
from inspector.formats.readers.wfpy.network import Actor
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.formats.readers.wfpy.trace import Trace
from inspector.model.run import Consumed, Produced, Step
from inspector.model.text import clean, shorten
from inspector.model.values import preview

SUMMARY = 160


def firing(rebuilt: Rebuilt, seq: int) -> Step:
    """Step `seq` of a rebuilt run. Of its line only the tokens are decoded."""
    number = rebuilt.replay.lines[seq - 1]
    entry = rebuilt.journal.entry(number)
    if entry is None:  # the file changed meanwhile
        return Step(seq=seq, kind="firing", name="unknown", status="unknown")
    actor = rebuilt.network.at(entry.actor)
    name, reason = "/".join(actor.path), entry.not_replayable
    traced = rebuilt.schedule.steps if rebuilt.schedule is not None else {}
    produced = None if reason is not None else tuple(_produced(rebuilt, number, entry))
    return Step(
        seq=seq,
        kind="firing",
        name=name,
        status="replayed" if entry.replayed else "done",
        consumed=None if reason is not None else tuple(_consumed(rebuilt, actor, entry, seq)),
        produced=produced,
        trace_step=traced.get((name, entry.fire_count)),
        summary=_summary(produced) if reason is None else shorten(f"cannot be replayed: {clean(reason)}", SUMMARY),
    )


def _produced(rebuilt: Rebuilt, number: int, entry: Entry) -> Iterator[Produced]:
    ref = number << 32
    for queue_id, tokens in entry.produced or ():
        texts = [bytes(memoryview(token)) for token in tokens]
        known = [text if text != UNREAD else None for text in texts]
        values = tuple(rebuilt.store.value(ref + at, text) for at, text in enumerate(known))
        ref += len(tokens)
        yield Produced(queue=clean(queue_id), tokens=values, count=len(values))


def _consumed(rebuilt: Rebuilt, actor: Actor, entry: Entry, seq: int) -> Iterator[Consumed]:
    seen: dict[str, int] = {}
    for queue_id, count, _ in entry.consumed or ():
        occurrence = seen[queue_id] = seen.get(queue_id, -1) + 1
        taken = actor.queue(queue_id, occurrence).taken(seq)[-count:] if count else ()
        known = len(taken) == count and not rebuilt.store.count_unknown(taken)
        yield Consumed(queue=clean(queue_id), count=count, tokens=tuple(rebuilt.store.list(taken)) if known else None)


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
