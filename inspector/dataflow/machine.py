"""The dataflow run as a machine: it says which firings may begin, and absorbs what became of them. It never
awaits and runs no body; it evaluates guards, which are without effects by contract.

    ready → begin → commit     the firing succeeded: tokens are taken and put, state and context change, one step
                  → release    it failed or was cancelled: everything is as it was
                  → hold       it is an agent that waits for somebody: as it was, with what the agent holds

Tokens stay in their queues until the firing that reads them is committed, so the state between two steps is
whole at any moment. A node has at most one firing under way; an input port that several queues lead to takes
tokens in the order in which they arrived. With one worker the nodes take turns in the order in which they were
added, so a run is the same each time.
"""

from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from inspector.dataflow import shown
from inspector.dataflow.actors import Action
from inspector.dataflow.codec import Values
from inspector.dataflow.firing import Committed, Firing, guarded, items_of
from inspector.dataflow.plan import Node, Plan
from inspector.dataflow.queues import Queues
from inspector.model.changes import Change
from inspector.model.run import Actor, State, Step
from inspector.model.values import Value, preview

EXHAUSTED = "$exhausted"
"""The state field of a source that has put its last token."""
Times = tuple[str | None, str | None]


class NetworkRun:
    """One run of a plan. `values` saves and reads tokens."""

    def __init__(self, plan: Plan, values: Values | None = None) -> None:
        self.plan, self.values = plan, values or Values()
        self.seq = 0
        self.context: dict[str, Value] = {}
        self.queues = Queues(plan)
        self._states: list[dict[str, Value]] = [self._fresh(node) for node in plan.nodes]
        self._counts = [0] * len(plan.nodes)
        self._held: dict[int, Value] = {}
        self._flying: dict[int, Firing] = {}
        self._enabled: list[int] = []
        self._firings: dict[int, Firing] = {}
        self._loops: list[tuple[int, ...]] = [
            tuple(outer for outer, other in enumerate(plan.nodes) if number in other.body)
            for number in range(len(plan.nodes))
        ]
        self._active = [0] * len(plan.nodes)
        self._opened: dict[int, tuple[Value, list[Value]]] = {}
        self._last = -1
        self._told = shown.Firings(self._firings, self._flying, self._held)
        self._check(range(len(plan.nodes)))

    def _fresh(self, node: Node) -> dict[str, Value]:
        state = node.actor.fresh_state() if node.actor else {}
        return {name: self.values.encode(value, f"{node.name}.{name}") for name, value in state.items()}

    def feed(self, inputs: Mapping[str, Iterable[Any]]) -> dict[str, list[Value]]:
        """Put the run's inputs, by port, before the first step; returns their saved forms. Raises KeyError for an
        unknown port and codec.Unsavable for a token that cannot be saved."""
        kept = {
            port: [self.values.keep(token, f"input {port}[{index}]") for index, token in enumerate(tokens)]
            for port, tokens in inputs.items()
        }
        for port, tokens in kept.items():
            for token in tokens:
                for queue in self.plan.inputs[port]:
                    self.queues.put(queue, token)
        self._check(range(len(self.plan.nodes)))
        return kept

    def ready(self) -> list[Firing]:
        """The firings that may begin now, in turn, beginning behind the node that fired last."""
        start = bisect_right(self._enabled, self._last)
        return [self._firings[number] for number in (*self._enabled[start:], *self._enabled[:start])]

    def first(self) -> Firing | None:
        """The firing whose turn it is; None when none may begin."""
        if not self._enabled:
            return None
        at = bisect_right(self._enabled, self._last)
        return self._firings[self._enabled[at if at < len(self._enabled) else 0]]

    def begin(self, firing: Firing) -> None:
        """The firing is under way: it is no longer `ready`."""
        number = firing.number
        del self._firings[number]
        self._enabled.remove(number)
        self._told.began(number)
        self._flying[number] = firing

    def start(self, firing: Firing) -> None:
        """The body of a firing under way begins: from now on it may have happened."""
        self._told.started(firing.number)

    @property
    def flying(self) -> Collection[Firing]:
        """The firings under way."""
        return self._flying.values()

    @property
    def held(self) -> Mapping[int, Value]:
        """What agents that wait for somebody hold, by node."""
        return self._held

    @property
    def resting(self) -> bool:
        """Whether nothing can begin and nothing is under way."""
        return not self._enabled and not self._flying

    def completed(self, number: int) -> int:
        """How many firings of a node are completed."""
        return self._counts[number]

    def commit(
        self,
        firing: Firing,
        puts: Sequence[tuple[str, Value]],
        state: dict[str, Value],
        context: Mapping[str, Value] | None = None,
        times: Times = (None, None),
    ) -> Committed:
        """The firing succeeded: it put `puts` (port, saved token), its state is now `state`, and it set `context`.
        `times` are when the step began and ended."""
        self._land(firing)
        exhausts = firing.node.kind == "source" and not puts and not (firing.action and firing.action.guard)
        self._states[firing.number] = {**state, EXHAUSTED: True} if exhausts else state
        self._held.pop(firing.number, None)
        return self._commit(firing, "firing", puts, context, times, preview([token for _, token in puts], 120))

    def decide(self, firing: Firing, outcome: bool = True, times: Times = (None, None)) -> Committed:
        """Carry out a control node: a `when` whose condition was `outcome`, or the next turn of a loop."""
        self._land(firing)
        if firing.node.kind == "when":
            branch = "then" if outcome else "otherwise"
            return self._commit(firing, "node", [(branch, firing.tokens["value"])], None, times, branch)
        # The token stays in its queue until its last item is through, so a step of a long loop is small.
        items = self._items(firing.number, firing.tokens["items"])
        index = self._states[firing.number].get("index", 0)
        if index < len(items):
            item = self.values.apart(items[index])
            self._states[firing.number] = {"index": index + 1}
            going = msgspec.structs.replace(firing, queues=())
            return self._commit(going, "node", [("item", item)], None, times, f"item {index + 1} of {len(items)}")
        self._states[firing.number] = {}
        self._opened.pop(firing.number, None)
        return self._commit(firing, "node", [("done", len(items))], None, times, f"{len(items)} items done")

    def _items(self, number: int, token: Value) -> list[Value]:
        if number not in self._opened or self._opened[number][0] is not token:
            self._opened[number] = token, items_of(self.values.whole(token))
        return self._opened[number][1]

    def release(self, firing: Firing, *, retry: bool = False) -> None:
        """The firing failed or was cancelled: everything is as it was. It may begin again only with `retry`."""
        self._land(firing)
        if retry:
            self._check([firing.number])

    def fail(self, firing: Firing, why: str, *, doubted: bool = False) -> None:
        """The state tells of a firing that was released or held that it failed, and why; `doubted`: that it may have
        had its effects already. Its node may fire again after `reopen`."""
        self._told.failed(firing, why)
        if doubted:
            self._told.doubt(firing.number)

    def reopen(self, number: int) -> None:
        """A node whose firing was released may fire again."""
        self._check([number])

    def doubt(self, number: int) -> None:
        """A node whose firing was released may fire again, and may have had its effects already, which the state
        tells."""
        self._told.doubt(number)
        self._check([number])

    def hold(self, firing: Firing, inner: Value) -> None:
        """The firing is an agent that waits for somebody; `inner` is what it holds."""
        self._land(firing)
        self._held[firing.number] = inner
        self._count(firing.number, 1)

    def keep(self, number: int, inner: Value) -> None:
        """The node is an agent whose firing was cut short before; `inner` is what it held."""
        if number in self._firings:
            self._disable(number)
        if number not in self._held:
            self._count(number, 1)
        self._held[number] = inner

    def drop(self, number: int) -> None:
        """Forget what an agent holds: its firing begins anew."""
        if self._held.pop(number, None) is not None:
            self._count(number, -1)
            self._check([number])

    def unhold(self, number: int) -> None:
        """Somebody has answered: the agent's firing may go on."""
        if self._held.get(number) is not None:
            self._count(number, -1)
            self._check([number], waking=True)

    def set_state(self, number: int, field: str, value: Value) -> None:
        """Put another saved value into a node's state; whether it fires is looked at by `reopen`."""
        self._states[number] = {**self._states[number], field: value}

    def _land(self, firing: Firing) -> None:
        del self._flying[firing.number]
        self._told.landed(firing.number)
        self._count(firing.number, -1)

    def _commit(
        self,
        firing: Firing,
        kind: Any,
        puts: Sequence[tuple[str, Value]],
        context: Mapping[str, Value] | None,
        times: Times,
        summary: str,
    ) -> Committed:
        number, node, queues = firing.number, firing.node, self.queues
        taken = {queue: queues.take(queue) for queue in firing.queues}
        put: dict[int, list[Value]] = {}
        for port, token in puts:
            for queue in node.writes.get(port, ()):
                put.setdefault(queue, []).append(token)
        # The arrival order of what one firing puts is by queue, so that the journal tells it.
        placed = sorted(put.items()) if len(put) > 1 else list(put.items())
        for queue, tokens in placed:
            for token in tokens:
                queues.put(queue, token)
        self._counts[number] += 1
        self._last = number
        if context:
            self.context.update(context)
        self.seq += 1
        self._check(self._touched(number, taken, put))
        consumed, produced, moved = shown.moves(self.plan.links, taken, placed)
        step = Step(
            seq=self.seq,
            kind=kind,
            name=node.name,
            status="done",
            started=times[0],
            ended=times[1],
            summary=summary,
            consumed=consumed,
            produced=produced,
        )
        pending, begun, owed = self._told.news()
        acted, values = {str(number): self._actor(number)}, dict(context) if context else UNSET
        change = Change(pending=pending, begun=begun, owed=owed, moved=moved, acted=acted, values=values)
        return Committed(step, change)

    def _touched(self, number: int, taken: Iterable[int], put: Iterable[int]) -> set[int]:
        links, found = self.plan.links, {number, *self._loops[number]}
        for queue in put:
            target = links[queue].target
            # A token behind others changes nothing for what can fire in one way only, and can already.
            if target is not None and not (target in self._firings and len(self.plan.nodes[target].actions) == 1):
                found.update((target, *self._loops[target]))
        for queue in taken:
            link = links[queue]
            if link.capacity is not None and link.source is not None:
                found.add(link.source)
        return found

    def _check(self, numbers: Iterable[int], *, waking: bool = False) -> None:
        loops = []
        for number in sorted(numbers):
            if self.plan.nodes[number].kind == "loop":
                loops.append(number)
            else:
                self._recheck(number, waking)
        # Inner loops first: whether an outer one is at rest depends on them.
        for number in reversed(loops):
            self._recheck(number, waking)

    def _recheck(self, number: int, waking: bool) -> None:
        if number in self._flying or (number in self._held and not waking):
            return
        firing = self.firing(number)
        if number in self._firings:
            self._disable(number)
        if firing is not None:
            self._firings[number] = firing
            insort(self._enabled, number)
            self._told.toggled.add(number)
            self._count(number, 1)

    def _disable(self, number: int) -> None:
        del self._firings[number]
        self._enabled.remove(number)
        self._told.toggled.add(number)
        self._count(number, -1)

    def _count(self, number: int, by: int) -> None:
        for loop in self._loops[number]:
            self._active[loop] += by
            if self._active[loop] == 0 or (self._active[loop] == by == 1):
                self._recheck(loop, False)

    def firing(self, number: int, *, full: bool = False) -> Firing | None:
        """What a node may fire; with `full`, what it would fire if the full queues behind it could hold more."""
        node = self.plan.nodes[number]
        if self.queues.full(number) is not full:
            return None
        if node.kind == "loop":
            return None if self._active[number] else self._with_tokens(number, node, None, ("items",))
        if node.kind == "when":
            return self._with_tokens(number, node, None, ("value",))
        for act in node.actions:
            found = self._with_tokens(number, node, act, act.inputs)
            if found is not None and (admitted := guarded(found, self.values)) is not None:
                return admitted
        return None

    def _with_tokens(self, number: int, node: Node, act: Action | None, ports: Sequence[str]) -> Firing | None:
        queues, tokens = [], {}
        for port in ports:
            queue = self.queues.front(number, port)
            if queue is None:
                return None
            queues.append(queue)
            tokens[port] = self.queues[queue][0]
        if act is not None and not ports and not self._goes_on(number, node, act):
            return None
        count = self._counts[number] + 1
        return Firing(f"{node.name}#{count}", number, node, act, tuple(queues), tokens, self._states[number], count)

    def _goes_on(self, number: int, node: Node, act: Action) -> bool:
        """Whether a source fires again: a function once, a class until it puts nothing or its guard says no."""
        if node.actor is not None and node.actor.factory is None:
            return self._counts[number] == 0
        return act.guard is not None or not self._states[number].get(EXHAUSTED)

    def state(self) -> State:
        """The state after the last step; firings under way are pending."""
        return State(
            step=self.seq,
            queues=tuple(shown.queue(link, self.queues[number]) for number, link in enumerate(self.plan.links)),
            actors=tuple(self._actor(number) for number in range(len(self.plan.nodes))),
            pending=tuple(self._told.pending()),
            values=dict(self.context),
        )

    def _actor(self, number: int) -> Actor:
        node, held = self.plan.nodes[number], self._held.get(number)
        return shown.actor(node, self._counts[number], self._states[number], held)

    def machine(self) -> Value:
        """What the state alone does not hold: in which order tokens arrived at ports with several queues."""
        return {"orders": self.queues.orders(), "last": self._last}

    @classmethod
    def restore(cls, plan: Plan, state: State, machine: Value, values: Values | None = None) -> "NetworkRun":
        """The run at a state that `state()` and `machine()` gave. Raises ValueError when they do not fit the plan."""
        run = cls(plan, values)
        queues, actors = state.queues or (), state.actors or ()
        if [(q.scope, q.id) for q in queues] != [(link.scope, link.id) for link in plan.links]:
            raise ValueError("the queues of the state are not those of the network")
        if [(*a.scope, a.id) for a in actors] != [node.path for node in plan.nodes]:
            raise ValueError("the actors of the state are not those of the network")
        run.seq, run.context = state.step, dict(state.values or {})
        run.queues.restore([queue.tokens or () for queue in queues], machine["orders"])
        # A field that the class did not have then begins as in a new run.
        run._states = [{**fresh, **(actor.state or {})} for fresh, actor in zip(run._states, actors, strict=True)]
        run._counts = [actor.fire_count or 0 for actor in actors]
        run._last = machine["last"]
        run._held |= {number: actor.unfinished for number, actor in enumerate(actors) if actor.unfinished is not None}
        run._enabled, run._active = [], [0] * len(plan.nodes)
        run._firings.clear()
        for number in run._held:
            run._count(number, 1)
        run._check(range(len(plan.nodes)))
        return run

    def replay(self, change: Change) -> None:
        """Apply the change of a recorded step without its firing: what the journal says was taken and put."""
        for moved in change.moved:
            for _ in range(moved.taken):
                self.queues.take(moved.index)
        for moved in change.moved:
            for token in moved.put:
                self.queues.put(moved.index, token)
        for number, actor in change.acted.items():
            if actor.unfinished is None and self._held.pop(int(number), None) is not None:
                self._count(int(number), -1)
            self._states[int(number)] = dict(actor.state or {})
            self._counts[int(number)] = actor.fire_count or 0
            self._last = int(number)
        if isinstance(change.values, dict):
            self.context.update(change.values)
        self.seq += 1
