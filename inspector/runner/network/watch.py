"""Hooks and telemetry of a network: heard before and after a firing, and handed on to the agents in it."""

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from inspector.dataflow import network as dataflow
from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.network import Loop, When
from inspector.dataflow.plan import Plan
from inspector.model.run import RunError
from inspector.model.values import Value, to_json
from inspector.runner import hookchain
from inspector.runner import hooks as hooking
from inspector.runner.agent import Agent
from inspector.runner.hooks import Ambiguous, FiringBegins, FiringResult, RunSettled
from inspector.runner.leg import Telemetry
from inspector.runner.network.bodies import idempotency_key

Path = tuple[str, ...]


class Scoped(msgspec.Struct, frozen=True):
    """A hook of the network at `path` (() is the top); it hears what happens below."""

    path: Path
    hook: Any


def scoped(network: dataflow.Network, path: Path = ()) -> Iterator[Scoped]:
    """The hooks of a network and of all networks in it, outer ones first."""
    yield from (Scoped(path, hook) for hook in getattr(network, "hooks", ()))
    for name, body in network.nodes.items():
        here = (*path, name)
        if isinstance(body, dataflow.Network):
            yield from scoped(body, here)
        elif isinstance(body, Loop):
            yield from scoped(body.body, here)
        elif isinstance(body, When):
            for branch, inner in body.branches.items():
                yield from scoped(inner, (*here, branch))


def dressed(plan: Plan, hooks: Sequence[Scoped], telemetry: Telemetry) -> Plan:
    """The plan with agents that have the network's hooks behind their own, and its telemetry where they have none."""
    nodes = []
    for node in plan.nodes:
        agent = node.actor.target if node.actor is not None else None
        if isinstance(agent, Agent):
            agent, setup = copy.copy(agent), agent.setup
            agent.setup = msgspec.structs.replace(
                setup,
                hooks=(*setup.hooks, *heard_at(hooks, node.path)),
                telemetry=telemetry if type(setup.telemetry) is Telemetry else setup.telemetry,
            )
            assert node.actor is not None
            node = dataclasses.replace(node, actor=dataclasses.replace(node.actor, target=agent))
        nodes.append(node)
    return dataclasses.replace(plan, nodes=tuple(nodes))


def heard_at(hooks: Sequence[Scoped], path: Path) -> tuple[object, ...]:
    """The hooks that hear what happens at a node."""
    return tuple(each.hook for each in hooks if path[: len(each.path)] == each.path)


class Watch:
    """The hooks and the telemetry of one run. `scratch` is the scratchpad of the hooks, saved with the run; `carried`
    what the telemetry of a process that goes on links to."""

    def __init__(self, name: str, run_id: str, hooks: Sequence[Scoped], telemetry: Telemetry) -> None:
        self.name, self.run_id, self.hooks, self.telemetry = name, run_id, hooks, telemetry
        self.scratch: dict[str, Any] = {}
        self.carried: dict[str, str] = {}
        self._written = to_json(self.scratch)

    def at(self, node: str) -> tuple[object, ...]:
        """The hooks that hear what happens at the node of this name."""
        return heard_at(self.hooks, tuple(node.split("/")))

    @property
    def idle(self) -> bool:
        """Whether nobody listens."""
        return not self.hooks and type(self.telemetry) is Telemetry

    def heard(self) -> dict[str, Any]:
        """What every event says of the run."""
        return {"run_id": self.run_id, "agent": self.name, "turn": 0, "is_streaming": False, "scratch": self.scratch}

    async def begins(self, firing: Firing, tokens: Mapping[str, Any], key: str) -> None:
        """A firing is about to begin. Raises hookchain.Stopped."""
        event = FiringBegins(
            **self.heard(), node=firing.node.name, firing_id=firing.id, tokens=dict(tokens), idempotency_key=key
        )
        await hookchain.first(heard_at(self.hooks, firing.node.path), event)

    def consulted(self, node: str) -> bool:
        """Whether a hook is asked about a firing of the node of this name that may have happened."""
        return any(hooking.heard(hook, Ambiguous.kind) for hook in self.at(node))

    async def doubts(self, run: NetworkRun, firing: Firing, origin: str) -> tuple[str, Value] | None:
        """What the hooks say of a firing that may have happened, and with which value; None when they leave it to the
        rules. Raises hookchain.Stopped."""
        actor = firing.node.actor
        event = Ambiguous(
            **self.heard(),
            operation="firing",
            name=firing.node.name,
            call_id=firing.id,
            arguments={port: run.values.whole(token) for port, token in firing.tokens.items()},
            idempotency=actor.idempotency if actor is not None else None,
            idempotency_key=idempotency_key(origin, firing),
        )
        action = await hookchain.first(heard_at(self.hooks, firing.node.path), event)
        return None if action.kind == "proceed" else (action.kind, action.value)

    async def ended(
        self, firing: Firing, tokens: Mapping[str, Any], puts: Sequence[tuple[str, Value]], error: RunError | None
    ) -> None:
        """A firing was committed, or has failed. Raises hookchain.Stopped."""
        event = FiringResult(
            **self.heard(),
            node=firing.node.name,
            firing_id=firing.id,
            tokens=dict(tokens),
            put=tuple(puts),
            error=None if error is None else error.message or error.type or "",
        )
        await hookchain.first(heard_at(self.hooks, firing.node.path), event)

    async def settled(self, status: str, output: Value, error: RunError | None) -> None:
        """The run is over."""
        event = RunSettled(**self.heard(), status=status, output=output, error=None if error is None else error.message)
        await hookchain.first(heard_at(self.hooks, ()), event)

    def run_span(self) -> AbstractContextManager[Any]:
        """The span of the whole run."""
        return self.telemetry.span("network", self.name, watch=self)

    def span(self, firing: Firing) -> AbstractContextManager[Any]:
        """The span of a firing."""
        return self.telemetry.span("firing", firing.node.name, watch=self, firing=firing)

    def changed(self) -> dict[str, Any] | None:
        """The scratchpad, when it is not what it was the last time. Raises Stopped."""
        text = hookchain.written(self.scratch)
        if text == self._written:
            return None
        self._written = text
        return self.scratch

    def kept(self) -> dict[str, Value]:
        """What a process that goes on needs."""
        return {} if self.idle else {"scratch": dict(self.scratch), "telemetry": dict(self.carried)}

    def take_over(self, scratch: Mapping[str, Any], carried: Mapping[str, str]) -> None:
        """Go on with what an earlier process left."""
        self.scratch, self.carried = dict(scratch), dict(carried)
        self._written = to_json(self.scratch)
