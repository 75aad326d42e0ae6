"""Random networks, run by a plain model of wfpy: queues are lists, and a firing moves tokens between them.

`Model` fires leaves one by one, feeds nested workflows and hands their outputs on, and notes what wfpy would
journal and what every queue holds after each firing. `late` then writes lines later than they happened, as
several workers do.
"""

import random
from collections.abc import Iterator
from typing import Any

from tests.formats.wfpy.folders import Writer, header

Json = Any
Path = tuple[str, ...]
Queues = dict[str, list[Json]]


class Plan:
    """A plan: leaves with how many tokens they take of each port, nested plans, and connections."""

    def __init__(self, rng: random.Random, depth: int, inputs: list[str]) -> None:
        self.inputs, self.outputs = inputs, ["Out"]
        self.leaves: dict[str, dict[str, int]] = {}
        self.budget: dict[str, int] = {}
        self.nested: dict[str, Plan] = {}
        self.edges: list[tuple[str, str, str, str]] = []
        self._build(rng, depth)

    def _build(self, rng: random.Random, depth: int) -> None:
        open_ends: list[tuple[str, str]] = []
        for port in self.inputs:
            # Whoever reads an input of the workflow can fire as soon as there is a token.
            for number in range(rng.choice((1, 1, 2))):
                name = f"head{port}{number}"
                self.leaves[name] = {"In": 1}
                self.edges.append(("WF", port, name, "In"))
                open_ends.append((name, "Out"))
        if not self.inputs:
            for number in range(rng.choice((1, 2))):
                name = f"source{number}"
                self.leaves[name], self.budget[name] = {}, rng.randrange(2, 6)
                open_ends += [(name, "Out")] * rng.choice((1, 1, 2))
        for number in range(rng.randrange(1, 4)):
            rng.shuffle(open_ends)
            ports = ["A", "B"][: rng.choice((1, 1, 2))][: len(open_ends)]
            name = f"part{number}"
            if depth and rng.random() < 0.6:
                self.nested[name] = Plan(rng, depth - 1, ports)
            else:
                self.leaves[name] = {port: rng.choice((1, 1, 1, 2)) for port in ports}
            for port in ports:
                source, out = open_ends.pop()
                self.edges.append((source, out, name, port))
            open_ends += [(name, "Out")] * rng.choice((1, 1, 2))
        self.edges += [(source, out, "WF", "Out") for source, out in dict.fromkeys(open_ends)]

    def ids(self) -> list[str]:
        return [f"{source}.{out}-->{target}.{port}" for source, out, target, port in self.edges]


class Model:
    """A run of a plan. `truth` has all queues after each firing, by path; `took` what each firing took."""

    def __init__(self, rng: random.Random, depth: int) -> None:
        self.rng = rng
        self.root = Plan(rng, depth, [])
        self.queues: dict[Path, Queues] = {}
        self.open: dict[Path, bool] = {}
        self.writer = Writer(header())
        self.truth: list[dict[str, list[Json]]] = []
        self.took: dict[tuple[str, int], dict[str, list[Json]]] = {}
        self._tokens = 0
        self._lay(self.root, ())

    def _lay(self, plan: Plan, path: Path) -> None:
        self.queues[path] = {name: [] for name in plan.ids()}
        for name, inner in plan.nested.items():
            self.open[*path, name] = False
            self._lay(inner, (*path, name))

    def run(self, firings: int) -> "Model":
        for _ in range(firings):
            ready = list(self._ready(self.root, ()))
            if not ready:
                break
            plan, path, name = self.rng.choice(ready)
            self._fire(plan, path, name)
            self.truth.append(self.snapshot())
        return self

    def snapshot(self) -> dict[str, list[Json]]:
        return {
            "/".join((*path, name)): list(tokens)
            for path, queues in self.queues.items()
            for name, tokens in queues.items()
        }

    def _into(self, plan: Plan, name: str) -> dict[str, str]:
        """The first queue of each input port."""
        found: dict[str, str] = {}
        for queue_id, (_, _, target, port) in zip(plan.ids(), plan.edges, strict=True):
            if target == name:
                found.setdefault(port, queue_id)
        return found

    def _ready(self, plan: Plan, path: Path) -> Iterator[tuple[Plan, Path, str]]:
        """Leaves that can fire, also those that can as soon as their workflow is fed."""
        queues = self.queues[path]
        for name, takes in plan.leaves.items():
            into = self._into(plan, name)
            if self._left(plan, path, name) and all(len(queues[into[port]]) >= count for port, count in takes.items()):
                yield plan, path, name
        for name, inner in plan.nested.items():
            inside = (*path, name)
            found = list(self._ready(inner, inside))
            if found:
                yield from found
            elif all(queues[queue_id] for queue_id in self._into(plan, name).values()):
                yield plan, path, name

    def _left(self, plan: Plan, path: Path, name: str) -> bool:
        return self.writer.counts.get("/".join((*path, name)), 0) < plan.budget.get(name, 1 << 30)

    def _fire(self, plan: Plan, path: Path, name: str) -> None:
        """Fire a leaf; feed a nested workflow that has nothing left to do, and fire a leaf in it."""
        while name in plan.nested:
            inner, inside = plan.nested[name], (*path, name)
            for port, queue_id in self._into(plan, name).items():
                token = self.queues[path][queue_id].pop(0)
                for inner_id, (source, out, _, _) in zip(inner.ids(), inner.edges, strict=True):
                    if source == "WF" and out == port:
                        self.queues[inside][inner_id].append(token)
            plan, path, name = self.rng.choice(list(self._ready(inner, inside)))
        queues, into = self.queues[path], self._into(plan, name)
        took = {
            into[port]: [queues[into[port]].pop(0) for _ in range(count)] for port, count in plan.leaves[name].items()
        }
        self._tokens += 1
        token = self.rng.choice((self._tokens, {"z": self._tokens, "a": [1]}, f"t{self._tokens}", [self._tokens, None]))
        put = {}
        for queue_id, (source, _, _, _) in zip(plan.ids(), plan.edges, strict=True):
            if source == name:
                put[queue_id] = [token]
                self._put(path, queue_id, token)
        actor = "/".join((*path, name))
        self.writer.fire(actor, took, put)
        self.took[actor, self.writer.counts[actor]] = took

    def _put(self, path: Path, queue_id: str, token: Json) -> None:
        target, _, port = queue_id.partition("-->")[2].partition(".")
        if target != "WF" or not path:
            self.queues[path][queue_id].append(token)
            return
        outer, name = path[:-1], path[-1]
        for other in self.queues[outer]:
            if other.startswith(f"{name}.{port}-->"):
                self._put(outer, other, token)


def late(writer: Writer, rng: random.Random, most: int) -> Writer:
    """The same lines, each written up to `most` lines later, but those of one actor in their order."""
    head, *lines = writer.lines
    due = [(index + rng.randrange(most + 1), index, line) for index, line in enumerate(lines)]
    ordered: list[Json] = []
    following: dict[str, list[Json]] = {}
    for line in lines:
        following.setdefault(line["actor"], []).append(line)
    for _, _, line in sorted(due, key=lambda entry: entry[:2]):
        ordered.append(following[line["actor"]].pop(0))
    found = Writer(head)
    found.lines += [line | {"seq": seq} for seq, line in enumerate(ordered, 1)]
    return found
