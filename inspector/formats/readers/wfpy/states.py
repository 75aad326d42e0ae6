"""States: of a rebuilt run after any step, of a checkpoint, of a trace's step, of a run record."""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.readers.wfpy.artifacts import Facts, whole
from inspector.formats.readers.wfpy.chat import messages
from inspector.formats.readers.wfpy.checkpoint import Checkpoint, SavedActor
from inspector.formats.readers.wfpy.doubt import NONE, doubt
from inspector.formats.readers.wfpy.network import Actor, Network
from inspector.formats.readers.wfpy.queues import Queue
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.formats.readers.wfpy.stretches import Stretches
from inspector.formats.readers.wfpy.telling import Telling
from inspector.formats.readers.wfpy.tokens import Store
from inspector.formats.readers.wfpy.trace import NO_TOKEN, Size, Trace
from inspector.formats.readers.wfpy.typed import typed
from inspector.model import run as model
from inspector.model.run import Message, Pending, State
from inspector.model.text import clean
from inspector.model.values import Value

ACTORS = 2000
"""Actors of which it is told who is ready."""
TOKEN_LIMIT = 4 << 20
SUB_PLAN = {"subPlan": True}


def shown(queue: Queue, size: int | None, contents: model.Contents, tokens: Sequence[Value] | None) -> model.Queue:
    """A queue of the network as one of the model."""
    return model.Queue(
        id=queue.id,
        scope=queue.scope.path,
        from_=queue.source,
        to=queue.target,
        size=size,
        contents=contents,
        tokens=tokens,
    )


class RebuiltStates:
    """States of a rebuilt run, after steps in its middle and at its end; `ended_well` of a run that finished,
    `failed` where one failed of which no checkpoint tells."""

    def __init__(
        self, rebuilt: Rebuilt, folder: str | None, *, ended_well: bool, failed: Sequence[str] | None = None
    ) -> None:
        self._rebuilt, self._folder, self._ended_well = rebuilt, folder, ended_well
        self._failed = failed
        self._telling = Telling(rebuilt, ended_well=ended_well)
        self._doubt = NONE
        self._places = {id(queue): at for at, queue in enumerate(rebuilt.places) if queue is not None}

    def at(self, step: int) -> State:
        """The state after a step, without what is pending at the run's end."""
        rebuilt = self._rebuilt
        actors = list(rebuilt.network.actors())
        chats = [message for actor in actors if actor.chats for message in self._chat(actor, step)]
        last = step >= rebuilt.replay.step
        self._doubt = doubt(rebuilt, self._failed) if last and self._failed else NONE
        return State(
            step=step,
            queues=tuple(self._queue(queue, step) for queue in rebuilt.network.queues()),
            actors=tuple(self._actor(actor, step) for actor in actors),
            pending=() if last else tuple(self._ready(actors, step)),
            messages=tuple(chats) if chats else None,
            values=self._context(step),
        )

    def _queue(self, queue: Queue, step: int) -> model.Queue:
        rebuilt = self._rebuilt
        if queue.is_vague(step):
            return self._from_trace_alone(queue, step)
        if id(queue) in self._doubt.queues or self._telling.unsure(queue, step):
            return self._from_trace_alone(queue, step)
        refs = queue.contents(step)
        tokens = rebuilt.store.list(refs)
        unknown = rebuilt.store.count_unknown(refs)
        if unknown:
            return shown(queue, len(refs), "size", tokens if unknown < len(refs) else None)
        if len(refs) > 1 and queue.shuffled():
            return shown(queue, len(refs), "size", None)
        return shown(queue, len(refs), "complete", tokens)

    def _from_trace_alone(self, queue: Queue, step: int) -> model.Queue:
        found = self._traced(queue, step)
        if found is None:
            return shown(queue, None, "unknown", None)
        return from_trace(queue, found, self._rebuilt.trace, self._folder)

    def _traced(self, queue: Queue, step: int) -> Size | None:
        """What the trace says of a queue after the firing that is step `step`."""
        trace, place = self._rebuilt.trace, self._places.get(id(queue))
        index = None if trace is None else trace.at_entry(self._rebuilt.seq_of(step))
        if trace is None or index is None or place is None:
            return None
        sizes = trace.sizes(index)
        return sizes[place] if place < len(sizes) else None

    def _actor(self, actor: Actor, step: int) -> model.Actor:
        if actor.child is not None or actor.path in self._doubt.cut:
            fired, unfinished = self._composite(actor, step)
            return model.Actor(id=actor.name, scope=actor.scope.path, fire_count=fired, unfinished=unfinished)
        if not actor.fired and (actor.is_control or (not actor.scope.path and self._silent(actor.name))):
            fired, unfinished = self._control(actor, step)
            return model.Actor(id=actor.name, scope=actor.scope.path, fire_count=fired, unfinished=unfinished)
        count = bisect_right(actor.firings, step)
        entry = self._rebuilt.entry(actor.firings[count - 1]) if count else self._before(actor)
        told = whole(entry.get("fireCount")) if entry else None
        fired = self._fired(actor, count, step, told)
        stale = told is not None and fired is None
        state = typed(entry["state"]) if "state" in entry and not stale else None
        return model.Actor(id=actor.name, scope=actor.scope.path, fire_count=fired, state=state)

    def _fired(self, actor: Actor, count: int, step: int, told: int | None) -> int | None:
        """How often an actor had fired, whose last of `count` firings so far is the one that is `told`. Behind a lost
        line that is not known of an actor whose next firing has not the number that follows."""
        replay = self._rebuilt.replay
        if replay.lost_at is None or count == len(actor.firings):
            return actor.base if told is None else told
        if told is None:
            told = None if replay.unknown_inputs else 0
        later = self._rebuilt.journal.entry(replay.lines[actor.firings[count] - 1])
        follows = told is not None and later is not None and later.fire_count == told + 1
        return told if follows or step <= replay.lost_at else None

    def _silent(self, name: str) -> bool:
        """Whether an actor fires without lines of its own."""
        schedule = self._rebuilt.schedule
        return schedule is not None and (name in schedule.firings or name in schedule.open)

    def _before(self, actor: Actor) -> dict[str, Value]:
        """What the checkpoint that the run continues says of an actor."""
        origin = self._rebuilt.origin
        if origin is None:
            return {}
        found = (saved for saved in origin.actors if (*saved.scope, saved.name) == actor.path)
        return next((clean_entry(origin, saved) for saved in found), {})

    def _composite(self, actor: Actor, step: int) -> tuple[int | None, Value]:
        """Completed firings of a nested workflow, and whether one is cut short: it is over with the last
        firing inside of it."""
        if actor.path in self._doubt.cut:
            vague = any(queue.is_vague(step) for queues in actor.ins.values() for queue in queues)
            certain = self._doubt.cut[actor.path] and actor.base is not None and actor.starts and not vague
            return (actor.base or 0) + len(actor.starts) - 1 if certain else None, SUB_PLAN
        if not actor.starts or any(queue.is_vague(step) for queues in actor.ins.values() for queue in queues):
            return (None if actor.starts or not actor.ins else actor.base), None
        begun = bisect_right(actor.starts, step)
        if self._telling.quiet(actor, step):
            return None, None
        if not begun:
            return actor.base, None
        last = begun == len(actor.starts)
        cut = step < actor.ends[begun - 1]
        if not cut and last and not self._ended_well:
            found = self._goes_on(actor, step)
            if found is None:
                return None, None
            cut = found
        return (None if actor.base is None else actor.base + begun - cut), SUB_PLAN if cut else None

    def _goes_on(self, composite: Actor, step: int) -> bool | None:
        """Whether somebody inside of a nested workflow could fire, so that its firing is not over; None where that is
        not known. What is left over for nobody does not matter."""
        doubtful = False
        for scope in composite.child.walk() if composite.child is not None else ():
            # Who is in a branch that was not taken, or in the body of a loop that is over, does not fire; and a loop
            # goes on with what it took before.
            active = not any(actor.is_control for actor in scope.actors.values())
            doubtful = doubtful or not active or scope.takes_unseen()
            for queue in scope.queues:
                if queue.leaves:
                    # What came out of a plan inside may have gone where no record names.
                    doubtful = doubtful or (scope is not composite.child and queue.size(step) > 0)
                elif queue.is_vague(step) or self._telling.unsure(queue, step):
                    doubtful = True
            for actor in scope.actors.values():
                needs = self._needs(actor)
                if any(not queue.size(step) for queue, count in needs if not count):
                    continue
                if needs and all(queue.size(step) >= max(count, 1) for queue, count in needs):
                    if active and all(count for _, count in needs):
                        return True
                    doubtful = True
        return None if doubtful else False

    def _needs(self, actor: Actor) -> list[tuple[Queue, int]]:
        """The queues that an actor takes from, and how many tokens its last firing took; 0 where it never fired."""
        heads = [queues[0] for queues in actor.ins.values() if queues]
        if actor.child is not None:
            return [(queue, 1) for queue in heads]
        entry = (
            self._rebuilt.journal.entry(self._rebuilt.replay.lines[actor.firings[-1] - 1]) if actor.firings else None
        )
        taken = {clean(queue_id): count for queue_id, count, _ in (entry.consumed if entry else None) or ()}
        return [(queue, taken.get(queue.id, 0)) for queue in heads]

    def _control(self, actor: Actor, step: int) -> tuple[int | None, Value]:
        schedule = self._rebuilt.schedule
        if schedule is None or self._rebuilt.trace is None or actor.scope.path:
            return None, None
        if not step and self._rebuilt.origin is not None:
            entry = self._before(actor)
            return whole(entry.get("fireCount")), typed(entry.get("pending"))
        final = schedule.final(actor)
        if self._ended_well and step >= self._rebuilt.replay.step and final is not None:
            return final, None
        told = not actor.is_control or self._telling.control(actor, step)
        firings = schedule.firings.get(actor.name) or Stretches()
        now, count = firings.holding(step), firings.over(step)
        within = now is not None and firings.begins[now] < step
        if not told and not within:
            return None, None
        inside = within or (actor.name in schedule.open and schedule.open[actor.name] < step)
        fired = firings.numbers[count - 1] if count else actor.base
        return (fired if now is None else firings.numbers[now] - 1), {"scopes": True} if inside else None

    def _ready(self, actors: list[Actor], step: int) -> Iterator[Pending]:
        """Who could fire: the next firing of each is known, and so is whether its tokens are there. Those of the step
        that follows are, also where a workflow around its actor has yet to take them in."""
        for actor in actors[:ACTORS]:
            index = bisect_right(actor.firings, step)
            if index >= len(actor.firings):
                continue
            if actor.firings[index] == step + 1:
                yield Pending(kind="firing", name="/".join(actor.path), status="ready")
                continue
            entry = self._rebuilt.journal.entry(self._rebuilt.replay.lines[actor.firings[index] - 1])
            wanted = entry.consumed if entry is not None else None
            if wanted is None:
                continue
            there = [(actor.scope.named(clean(queue_id)), count) for queue_id, count, _ in wanted]
            if all(
                queues and not queues[0].is_vague(step) and queues[0].size(step) >= count for queues, count in there
            ):
                yield Pending(kind="firing", name="/".join(actor.path), status="ready")

    def _chat(self, actor: Actor, step: int) -> Iterator[Message]:
        count = bisect_right(actor.firings, step)
        entry = self._rebuilt.entry(actor.firings[count - 1]) if count else self._before(actor)
        yield from messages(entry.get("chatHistory"), "/".join(actor.path))

    def _context(self, step: int) -> dict[str, Value] | None:
        contexts = self._rebuilt.replay.contexts
        count = bisect_right(contexts, step)
        context = self._rebuilt.entry(contexts[count - 1]).get("context") if count else None
        return store_of(context.get("store")) if isinstance(context, dict) else None


def clean_entry(checkpoint: Checkpoint, saved: SavedActor) -> dict[str, Value]:
    """What a checkpoint says of an actor, clean; its plan inside, and the tags of values, stay."""
    return {
        name: checkpoint.clean(saved.entry[name])
        for name in ("fireCount", "state", "chatHistory", "pending", "control")
        if name in saved.entry
    }


def store_of(value: Value) -> dict[str, Value] | None:
    """The shared context as values by name."""
    found = typed(value)
    return found if isinstance(found, dict) else None


def saved_state(checkpoint: Checkpoint, network: Network, step: int) -> State:
    """The state that a checkpoint holds."""
    store = Store(None)
    queues, actors = [], []
    chats: list[Message] = []
    for saved in checkpoint.queues:
        queue = network.plan(saved.scope).queues_of(saved.id, saved.ordinal + 1)[saved.ordinal]
        if not saved.whole:
            queues.append(shown(queue, None, "unknown", None))
            continue
        refs = [checkpoint.token(store, saved, index) for index in range(len(saved.tokens))]
        unknown = store.count_unknown(refs)
        queues.append(shown(queue, len(refs), "size" if unknown else "complete", store.list(refs)))
    for entry in checkpoint.actors:
        found = clean_entry(checkpoint, entry)
        state = typed(found.get("control" if entry.control is not None else "state"))
        if "subPlan" in entry.entry and state == {}:
            state = None  # a nested workflow has no fields of its own
        pending = typed(found.get("pending"))
        actors.append(
            model.Actor(id=entry.name, scope=entry.scope, fire_count=entry.fire_count, state=state, unfinished=pending)
        )
        chats += messages(found.get("chatHistory"), "/".join((*entry.scope, entry.name)))
    context = checkpoint.field("context")
    return State(
        step=step,
        queues=tuple(queues),
        actors=tuple(actors),
        messages=tuple(chats) if chats else None,
        values=store_of(context.get("store")) if isinstance(context, dict) else None,
    )


def traced_state(trace: Trace, places: Sequence[Queue | None], folder: str | None, step: int) -> State:
    """What the trace says of the state after its step number `step`; nothing of the state before the first."""
    if step == 0:
        unknown = [shown(queue, None, "unknown", None) for queue in places if queue is not None]
        return State(step=0, queues=tuple(unknown))
    pairs = zip(trace.sizes(step - 1), places, strict=False)
    queues = [from_trace(queue, size, trace, folder) for size, queue in pairs if queue is not None]
    actors = tuple(model.Actor(id=name, fire_count=count) for name, count in trace.counts(step).items())
    return State(step=step, queues=tuple(queues), actors=actors)


def from_trace(queue: Queue, size: Size, trace: Trace | None, folder: str | None) -> model.Queue:
    """A queue as the trace has it: its size, and the token put last."""
    token = trace.last_token(size) if trace is not None else NO_TOKEN
    if not size.size:
        return shown(queue, 0, "complete", ())
    if token is NO_TOKEN:
        return shown(queue, size.size, "size", None)
    return shown(queue, size.size, "last", (edge_token(token, folder),))


def edge_token(token: Value, folder: str | None) -> Value:
    """The last token of a queue. Anything but a text stands in a file of the run's work folder, of which the
    trace has the path as it was; a text and a path look alike, so a path that leads nowhere stays a text."""
    if not isinstance(token, str) or folder is None or "/edge-tokens/" not in token:
        return typed(token)
    _, work, rest = token.rpartition("/work/")
    parts = rest.split("/")
    if not work or ".." in parts or not token.endswith(".json"):
        return token
    try:
        file = File(os.path.join(folder, "work", *parts))
    except UnreadableError:
        return token
    try:
        return typed(parse(file.read(file.start, TOKEN_LIMIT), Place(file.label), []))
    except (Damaged, UnreadableError):
        return token
    finally:
        file.close()


def recorded_state(record: Facts | None, network: Network, step: int) -> State:
    """What the run record says of the end: how often the actors fired, and the outputs."""
    actors, chats, outputs = [], list[model.Message](), record.object("outputs") if record is not None else {}
    for entry in record.objects("actors") if record is not None else ():
        name = entry.get("instanceName")
        if isinstance(name, str):
            actors.append(model.Actor(id=name, fire_count=whole(entry.get("fireCount"))))
    for entry in (*record.objects("actors"), *record.objects("agents")) if record is not None else ():
        chats += messages(entry.get("chatHistory"), str(entry.get("instanceName") or "agent"))
    queues = []
    for queue in network.queues():
        out = outputs.get(queue.in_port) if not queue.scope.path else None
        known = isinstance(out, list) and len([q for q in network.root.queues if q.in_port == queue.in_port]) == 1
        tokens = tuple(typed(token) for token in out) if known and isinstance(out, list) else None
        kind: model.Contents = "unknown" if tokens is None else "complete"
        queues.append(shown(queue, None if tokens is None else len(tokens), kind, tokens))
    store = None
    if record is not None:
        store = record.object("context").get("contextStore", record.value("contextStore"))
    return State(
        step=step,
        queues=tuple(queues) if queues else None,
        actors=tuple(actors) if actors else None,
        messages=tuple(chats) or None,
        values=store_of(store),
    )
