"""The network of a run: plans inside plans, their actors and queues."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from inspector.formats.readers.wfpy.journal import Entry
from inspector.formats.readers.wfpy.queues import BOUNDARY, Queue
from inspector.model.text import clean

DEEPEST = 100
MOST_ACTORS = 20_000
MOST_QUEUES = 50_000

Path = tuple[str, ...]


class TooLarge(ValueError):
    """A network of more actors, queues or levels than anybody draws."""


class Actor:
    """An actor of a plan, or a composite with a plan of its own (`child`). `firings` are the steps in which
    it fired, as far as it is a leaf; of a composite, `starts` are the steps in which a firing of it began,
    `ends` the last step inside of each, and `over` is how many are over for certain. `base` is how often it
    had fired before."""

    __slots__ = (
        *("name", "scope", "kind", "class_name", "child", "ins", "outs"),
        *("firings", "base", "backlog", "starts", "ends", "over", "ids", "chats", "fired"),
    )

    def __init__(self, scope: "Scope", name: str) -> None:
        self.name, self.scope = name, scope
        self.kind: str | None = None
        self.class_name: str | None = None
        self.child: Scope | None = None
        self.ins: dict[str, list[Queue]] = {}
        self.outs: dict[str, list[Queue]] = {}
        self.ids: dict[str, list[Queue]] = {}
        self.fired = False
        self.chats = False
        self.firings = array("I")
        self.starts, self.ends = array("I"), array("I")
        self.backlog: deque[tuple[int, Entry]] = deque()
        self.base: int | None = 0
        self.over = 0

    @property
    def path(self) -> Path:
        return (*self.scope.path, self.name)

    def begun(self, step: int) -> int:
        """How many firings of a composite had begun by `step`, as far as the journal reaches back."""
        return bisect_right(self.starts, step)

    @property
    def is_control(self) -> bool:
        """Whether it is an if or a loop: those have no lines of their own."""
        if self.kind is not None:
            return self.kind.startswith("control")
        return not self.fired and self.child is None and bool({"cond", "iter"} & {*self.ins} or "item" in self.outs)

    def makes(self, port: str) -> bool:
        """Whether any line tells of tokens that it puts on a port. None does of a workflow that answers from
        a past run, nor of an input that a nested workflow hands straight on."""
        if self.child is None:
            return self.fired and self.kind != "workflow"
        return any(queue.target == BOUNDARY and queue.in_port == port for queue in self.child.queues)

    def hides(self, port: str) -> bool:
        """Whether tokens can come out of a nested workflow at a port of which no line tells: an if or a loop
        inside of it puts them."""
        ends = () if self.child is None else self.child.queues
        known = self.child is None or self.scope.network.complete
        if not known and self.child is not None and (self.child.has_loose_ends() or not self.makes(port)):
            return True  # by a queue that no line names
        inner = ((queue, queue.scope.actors.get(queue.source)) for queue in ends if queue.target == BOUNDARY)
        return any(
            actor is not None and (actor.is_control or actor.hides(queue.out_port))
            for queue, actor in inner
            if queue.in_port == port
        )

    def merges(self, port: str) -> bool:
        """Whether several actors inside put on one output: their order is not that of the journal's lines."""
        if self.child is None:
            return False
        ends = [queue for queue in self.child.queues if queue.target == BOUNDARY and queue.in_port == port]
        inner = [(self.child.actors.get(queue.source), queue.out_port) for queue in ends]
        return len(ends) > 1 or any(actor is not None and actor.merges(out) for actor, out in inner)

    def queues(self) -> Iterator[Queue]:
        """All queues at it."""
        for ports in (self.ins, self.outs):
            for queues in ports.values():
                yield from queues

    def queue(self, queue_id: str, occurrence: int = 0) -> Queue:
        """The queue of an id in the actor's plan; the n-th of several with one id."""
        known = self.ids.get(queue_id)
        if known is None or occurrence >= len(known):
            known = self.ids[queue_id] = self.scope.queues_of(clean(queue_id), occurrence + 1)
        return known[occurrence]


class Scope:
    """A plan: the run's own, or the one inside of a nested workflow (`owner`)."""

    def __init__(self, network: "Network", path: Path, owner: Actor | None) -> None:
        self.network, self.path, self.owner = network, path, owner
        self.queues: list[Queue] = []
        self.actors: dict[str, Actor] = {}
        self._by_id: dict[str, list[Queue]] = {}
        self.entries: dict[str, list[Queue]] = {}
        """Queues from the workflow's own input ports, by port."""

    def actor(self, name: str) -> Actor:
        actor = self.actors.get(name)
        if actor is None:
            self.network.count_actor()
            actor = self.actors[name] = Actor(self, name)
        return actor

    def inside(self, name: str) -> "Scope":
        """The plan inside of an actor."""
        owner = self.actor(name)
        if owner.child is None:
            if len(self.path) >= DEEPEST:
                raise TooLarge(f"workflows nested more than {DEEPEST} deep")
            owner.child = Scope(self.network, (*self.path, name), owner)
            owner.kind = owner.kind or "workflow"
        return owner.child

    def queues_of(self, queue_id: str, count: int) -> list[Queue]:
        """The queues of an id, at least `count` of them; those that were not known are now."""
        found = self._by_id.setdefault(queue_id, [])
        while len(found) < count:
            found.append(self._add(queue_id, len(found)))
        return found

    def named(self, queue_id: str) -> Sequence[Queue]:
        return self._by_id.get(queue_id, ())

    def _add(self, queue_id: str, ordinal: int) -> Queue:
        self.network.count_queue()
        queue = Queue(self, queue_id, ordinal)
        self.queues.append(queue)
        if queue.source == BOUNDARY or not queue.source:
            self.entries.setdefault(queue.out_port, []).append(queue)
        else:
            self.actor(queue.source).outs.setdefault(queue.out_port, []).append(queue)
        if queue.target != BOUNDARY and queue.target:
            self.actor(queue.target).ins.setdefault(queue.in_port, []).append(queue)
        self.network.discovered(queue)
        return queue

    def has_controls(self) -> bool:
        """Whether there is an if or loop in this plan, or in one inside of it."""
        return any(actor.is_control for scope in self.walk() for actor in scope.actors.values())

    def has_loose_ends(self) -> bool:
        """Whether an if, a loop or a nested workflow in this plan may put on queues that no line names, beside those
        that one does."""
        return any(actor.is_control or actor.child is not None for actor in self.actors.values())

    def takes_unseen(self) -> bool:
        """Whether a port of the nested workflow leads to somebody inside of it who has no line yet."""
        ports = self.owner.ins.keys() if self.owner is not None else set[str]()
        return not self.network.complete and bool(ports - self.entries.keys())

    def walk(self) -> "Iterator[Scope]":
        """This plan and all inside of it, depth first."""
        stack = [self]
        while stack:
            scope = stack.pop()
            yield scope
            stack += reversed([actor.child for actor in scope.actors.values() if actor.child is not None])


class Network:
    """All plans of a run. `late` is set when a queue at the edge of a nested workflow shows up after tokens
    went past it: then what was rebuilt must be rebuilt again. `complete`: a file names all of its queues."""

    def __init__(self) -> None:
        self._actors = self._queues = 0
        self._paths: dict[str, Actor] = {}
        self.root = Scope(self, (), None)
        self.late = False
        self.running = self.complete = False
        self._unknown = False

    def count_actor(self) -> None:
        self._actors += 1
        if self._actors > MOST_ACTORS:
            raise TooLarge(f"more than {MOST_ACTORS} actors")

    def count_queue(self) -> None:
        self._queues += 1
        if self._queues > MOST_QUEUES:
            raise TooLarge(f"more than {MOST_QUEUES} queues")

    def discovered(self, queue: Queue) -> None:
        """A queue that was not known before. The beginnings and ends of nested plans matter."""
        if self._unknown:
            queue.blur(0)
        if not self.running:
            return
        actors = queue.scope.actors
        ends = [actors[name] for name in (queue.source, queue.target) if name in actors]
        if queue.scope.owner is not None and len(ends) < 2:
            self.late = True
        self.late = self.late or any(actor.child is not None for actor in ends)

    def begin_unknown(self) -> None:
        """Nobody knows what the queues began with, nor how often the actors had fired."""
        self._unknown = True
        for queue in self.queues():
            queue.blur(0)
        for actor in self.actors():
            actor.base = None

    def at(self, path: str) -> Actor:
        """The actor of a path like `line/machine/ink`. Raises TooLarge."""
        actor = self._paths.get(path)
        if actor is None:
            *outer, name = clean(path).split("/")
            actor = self._paths[path] = self.plan(outer).actor(name)
        return actor

    def plan(self, path: Sequence[str]) -> Scope:
        """The plan at an instance path, made where it is not known yet. Raises TooLarge."""
        scope = self.root
        for part in path:
            scope = scope.inside(part)
        return scope

    def note(self, entry: Entry) -> None:
        """Learn actor and queues of a journal line, without doing what it says. Raises TooLarge."""
        actor = self._paths.get(entry.actor) or self.at(entry.actor)
        if not actor.fired:
            actor.fired = True
            # What it put was taken for an unknown token, as long as it seemed never to fire.
            self.late = self.late or any(queue.puts for queue in actor.queues() if queue.source == actor.name)
        if entry.chat_history is not msgspec.UNSET:
            actor.chats = True
        for groups in (entry.consumed, entry.produced):
            if not groups or (len(groups) == 1 and groups[0][0] in actor.ids):
                continue
            seen: dict[str, int] = {}
            for group in groups:
                occurrence = seen[group[0]] = seen.get(group[0], -1) + 1
                actor.queue(group[0], occurrence)

    def merge(self, other: "Network") -> None:
        """Learn all that another network of the same run knows. Raises TooLarge."""
        for scope in other.scopes():
            mine = self.plan(scope.path)
            for name, actor in scope.actors.items():
                mine.actor(name).fired |= actor.fired
                mine.actor(name).chats |= actor.chats
            for queue in scope.queues:
                mine.queues_of(queue.id, queue.ordinal + 1)

    def scopes(self) -> Iterator[Scope]:
        return self.root.walk()

    def queues(self) -> Iterator[Queue]:
        """All queues, plan by plan."""
        for scope in self.scopes():
            yield from scope.queues

    def actors(self) -> Iterator[Actor]:
        """All actors, plan by plan."""
        for scope in self.scopes():
            yield from scope.actors.values()

    def find(self, path: Sequence[str]) -> Actor | None:
        """The actor at a path, if there is one."""
        scope: Scope | None = self.root
        for part in islice(path, max(len(path) - 1, 0)):
            actor = scope.actors.get(part) if scope else None
            scope = actor.child if actor else None
        return scope.actors.get(path[-1]) if scope and path else None
