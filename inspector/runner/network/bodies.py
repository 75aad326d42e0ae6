"""Running the body of a firing: an async function in the loop, any other in a thread, so that none holds up another.

A run with one worker has no other firing to hold up, and a change of threads costs more than most bodies: there a
body without a timeout runs where the loop runs.
"""

import asyncio
import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

from inspector.dataflow.codec import Unsavable
from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.model.values import Value


class FiringContext:
    """What a body that takes a parameter `context` gets: which firing this is, its idempotency key (the same when
    the firing is tried again, also in another process), and the run's shared context. What is `set` becomes
    visible to others when the firing succeeds."""

    def __init__(self, run: NetworkRun, firing: Firing, run_id: str) -> None:
        self.run_id, self.node, self.firing_id = run_id, firing.node.name, firing.id
        self.idempotency_key = idempotency_key(run_id, firing)
        self._values, self._known, self.changes = run.values, run.context, dict[str, Value]()

    def get(self, name: str, default: Any = None) -> Any:
        """A value of the shared context, as this firing sees it."""
        if name in self.changes:
            return self._values.decode(self.changes[name])
        return self._values.decode(self._known[name]) if name in self._known else default

    def set(self, name: str, value: Any) -> None:
        """Change the shared context, if the firing succeeds. Raises Unsavable."""
        self.changes[name] = self._values.encode(value, f"context.{name}")


class Outcome:
    """What a body made: tokens by port, the state after it, changes of the shared context; all saved forms."""

    __slots__ = ("context", "puts", "state")

    def __init__(self, puts: list[tuple[str, Value]], state: dict[str, Value], context: dict[str, Value]) -> None:
        self.puts, self.state, self.context = puts, state, context


def idempotency_key(run_id: str, firing: Firing) -> str:
    """A key for the effects of a firing. A resumed run keeps the id of the run that it began as for this."""
    return "idem_" + hashlib.sha256(f"{run_id}\0{firing.id}".encode()).hexdigest()[:32]


async def fire(run: NetworkRun, firing: Firing, context: FiringContext, *, alone: bool) -> Outcome:
    """Run the body; `alone`: the run has one worker. Raises what the body raises, TimeoutError, and Unsavable for a
    token that cannot be saved."""
    actor, action = firing.node.actor, firing.action
    assert actor is not None
    assert action is not None
    decode = run.values.decode
    body, instance = actor.bind(action, {name: decode(value) for name, value in firing.state.items()})
    arguments = {port: decode(token) for port, token in firing.tokens.items()}
    if action.wants_context:
        arguments["context"] = context
    async with asyncio.timeout(actor.timeout):
        tokens = await _tokens(actor, body, arguments, inline=alone and actor.timeout is None)
    puts = [(port, _saved(run, firing, port, token)) for port, token in tokens]
    state = {
        name: run.values.encode(value, f"{firing.node.name}.{name}") for name, value in actor.state_of(instance).items()
    }
    return Outcome(puts, state, context.changes)


async def _tokens(actor: Any, body: Any, arguments: Mapping[str, Any], *, inline: bool) -> list[tuple[str, Any]]:
    if inspect.isasyncgenfunction(body):
        return [pair async for item in body(**arguments) for pair in actor.tokens(item)]
    if inspect.iscoroutinefunction(body):
        return list(actor.tokens(await body(**arguments)))
    if inline:
        return list(actor.tokens(body(**arguments)))
    # A generator runs where it is iterated, so the whole of it goes to the thread.
    return await asyncio.to_thread(lambda: list(actor.tokens(body(**arguments))))


def _saved(run: NetworkRun, firing: Firing, port: str, token: Any) -> Value:
    queues = firing.node.writes.get(port, ())
    place = run.plan.links[queues[0]].id if queues else f"{firing.node.name}.{port}"
    try:
        return run.values.encode(token, place)
    except Unsavable as error:
        raise Unsavable(
            error.place, f"{error.reason}; a token must outlive its process, so register a Codec for it"
        ) from error
