"""Running the body of a firing: an async function in the loop, any other in a thread, so that none holds up another.

A run with one worker has no other firing to hold up, and a change of threads costs more than most bodies: there a
body without a timeout runs where the loop runs, if that is the main thread, in which a signal can end it. A body in
a thread is left to itself when it is given up: it goes on until it ends, and what it returns is not taken.
"""

import asyncio
import functools
import hashlib
import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import inspector
from inspector.dataflow import types
from inspector.dataflow.actors import Actor
from inspector.dataflow.codec import Unsavable
from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Link
from inspector.model.run import RunError
from inspector.model.text import clean
from inspector.model.values import Value, to_json
from inspector.runner.messages import words
from inspector.runner.threads import Threads, no_copy
from inspector.runner.tools import ToolError, ToolRefused

if TYPE_CHECKING:
    from inspector.runner.network.watch import Watch

Operation = tuple[Literal["set", "append", "merge"], str, Value]
"""A change of the shared context: what is done to which name, with which saved value."""

FRAMES = 10
"""Places in the user's code that are told of a failure."""
OURS = os.path.dirname(inspector.__file__) + os.sep


class OutOfTime(TimeoutError):
    """The timeout of an actor is over; a TimeoutError of the body's own is an error like any other."""


class FiringContext:
    """What a body that takes a parameter `context` gets: which firing this is, the number of the step that it will
    be (with one worker), its idempotency key (the same when the firing is tried again, also in another process),
    and the run's shared context. Changes of that become visible to others, in the journal too, when the firing
    succeeds, and not at all when it fails. They are made then to the values of that moment, so two firings that
    append at the same time both do."""

    def __init__(self, run: NetworkRun, firing: Firing, run_id: str, watch: "Watch | None" = None) -> None:
        self.run_id, self.node, self.firing_id = run_id, firing.node.name, firing.id
        self.step = run.seq + 1
        self._firing, self.watch = firing, watch
        self._values, self._known, self.changes = run.values, run.context, list[Operation]()

    @property
    def idempotency_key(self) -> str:
        """A key for the effects of this firing."""
        return idempotency_key(self.run_id, self._firing)

    def get(self, name: str, default: Any = None) -> Any:
        """A value of the shared context, as this firing sees it."""
        own = [change for change in self.changes if change[1] == name]
        found = applied(self._known, own) if own else self._known
        return self._values.decode(found[name]) if name in found else default

    def set(self, name: str, value: Any) -> None:
        """Set a value of the shared context. Raises Unsavable."""
        self._change("set", name, value)

    def append(self, name: str, value: Any) -> None:
        """Append to a list of the shared context; where there is none, it begins. Raises Unsavable, and TypeError
        where something else stands."""
        self._change("append", name, value)

    def merge(self, name: str, values: Mapping[str, Any]) -> None:
        """Put entries into a dict of the shared context; where there is none, it begins. Raises Unsavable, and
        TypeError where something else stands."""
        self._change("merge", name, dict(values))

    def _change(self, what: Literal["set", "append", "merge"], name: str, value: Any) -> None:
        change: Operation = (what, name, self._values.encode(value, f"context.{name}"))
        applied(self._known, [*self.changes, change])
        self.changes.append(change)


def applied(known: Mapping[str, Value], changes: Iterable[Operation]) -> dict[str, Value]:
    """The values that are changed, as they are then. Raises TypeError for what a change does not fit."""
    found: dict[str, Value] = {}
    for what, name, value in changes:
        old = found.get(name, known.get(name))
        if what == "set" or old is None:
            found[name] = [value] if what == "append" else value
        elif what == "append" and isinstance(old, list):
            found[name] = [*old, value]
        elif what == "merge" and isinstance(old, dict) and "$type" not in old and "$type" not in value:
            found[name] = {**old, **value}
        else:
            raise TypeError(f"context.{name} is no {'list' if what == 'append' else 'dict of texts'} to {what} to")
    return found


class Outcome:
    """What a body made: tokens by port, the state after it, changes of the shared context; all saved forms."""

    __slots__ = ("context", "puts", "state")

    def __init__(self, puts: list[tuple[str, Value]], state: dict[str, Value], context: dict[str, Value]) -> None:
        self.puts, self.state, self.context = puts, state, context


def idempotency_key(run_id: str, firing: Firing) -> str:
    """A key for the effects of a firing: the same when it is tried again, and another one for a firing of its number
    that takes other tokens, or has another state. A resumed run keeps the id of the run that it began as for this."""
    taken = to_json([dict(firing.tokens), dict(firing.state)])
    return "idem_" + hashlib.sha256(f"{run_id}\0{firing.id}\0{taken}".encode()).hexdigest()[:32]


Inline = Callable[[Callable[[], Any]], Any]


async def fire(
    run: NetworkRun,
    firing: Firing,
    run_id: str,
    threads: Threads,
    inline: Inline | None,
    watch: "Watch | None" = None,
) -> Outcome:
    """Run the body; one that blocks by `inline`, where that may be, else in a thread. Raises what the body raises,
    OutOfTime, and Unsavable for a token that cannot be saved."""
    actor, action = firing.node.actor, firing.action
    assert actor is not None
    assert action is not None
    if firing.broken is not None:
        raise firing.broken
    values = run.values
    body, instance = actor.bind(action, {name: values.decode(value) for name, value in firing.state.items()})
    arguments = {port: values.decode(token) for port, token in firing.tokens.items()}
    if passed := run.plan.passed:
        for queue, token in zip(firing.queues, arguments.values(), strict=True):
            if queue in passed:
                checked(run.plan.links[queue], token)
    context = FiringContext(run, firing, run_id, watch) if action.wants_context else None
    if context is not None:
        arguments["context"] = context
    try:
        tokens = await _timed(actor, body, arguments, threads, inline)
        puts = [(port, saved(run, firing, port, token)) for port, token in tokens]
        after = actor.state_of(instance) if instance is not None else {}
        state = {name: values.keep(value, f"{firing.node.name}.{name}") for name, value in after.items()}
    except BaseException:
        if instance is not None:
            actor.lent.renew()
        raise
    # Nothing comes between this and the commit: others' changes of the context are all there, or not yet.
    return Outcome(puts, state, applied(run.context, context.changes) if context is not None else {})


async def _timed(
    actor: Actor, body: Any, arguments: Mapping[str, Any], threads: Threads, inline: Inline | None
) -> list[tuple[str, Any]]:
    if actor.timeout is None:
        return await _tokens(actor, body, arguments, threads, inline)
    try:
        async with asyncio.timeout(actor.timeout) as limit:
            return await _tokens(actor, body, arguments, threads, None)
    except TimeoutError as error:
        if limit.expired():
            raise OutOfTime(f"no end after {actor.timeout} s") from error
        raise


def leaves_open(firing: Firing, error: BaseException) -> bool:
    """Whether a tool that is the node itself, and raised, may have done something: neither the error nor the tool says
    that it did not, and doing it again is not without harm."""
    actor = firing.node.actor
    if actor is None or actor.kind != "tool" or isinstance(error, ToolError | ToolRefused):
        return False
    return actor.idempotency != "supported" and getattr(actor.target, "failure", "unknown") != "definite"


def repeatable(firing: Firing) -> bool:
    """Whether a firing that may have happened is made again where nobody decides."""
    actor = firing.node.actor
    # What an agent did before it was cut short is in its own records: it goes on behind them.
    return actor is None or actor.kind == "agent" or actor.idempotency == "supported"


async def _tokens(
    actor: Actor, body: Any, arguments: Mapping[str, Any], threads: Threads, inline: Inline | None
) -> list[tuple[str, Any]]:
    way = _way(getattr(body, "__func__", body))
    if way == "stream":
        with no_copy():
            return [pair async for item in body(**arguments) for pair in actor.tokens(item)]
    if way == "async":
        with no_copy():
            return list(actor.tokens(await body(**arguments)))

    def work() -> list[tuple[str, Any]]:
        # A generator runs where it is iterated, so the whole of it is done there.
        with no_copy():
            return list(actor.tokens(body(**arguments)))

    found: list[tuple[str, Any]] = await threads.run(work) if inline is None else inline(work)
    return found


@functools.lru_cache(maxsize=1024)
def _way(body: Any) -> Literal["stream", "async", "plain"]:
    if inspect.isasyncgenfunction(body):
        return "stream"
    return "async" if inspect.iscoroutinefunction(body) else "plain"


def checked(link: Link, token: Any) -> None:
    """Raises TypeError for a token that the reader of a queue does not take."""
    if type(token) is not link.hint and not types.fits(token, link.hint):
        target = link.id.partition("-->")[2]
        raise TypeError(f"{target} takes {types.name(link.hint)}, not {type(token).__qualname__}: {token!r:.80}")


def saved(run: NetworkRun, firing: Firing, port: str, token: Any) -> Value:
    """The saved form of a token that a firing puts on a port. Raises TypeError for one that its readers do not take,
    and Unsavable."""
    queues = firing.node.writes.get(port, ())
    for queue in queues:
        checked(run.plan.links[queue], token)
    place = run.plan.links[queues[0]].id if queues else f"{firing.node.name}.{port}"
    try:
        return run.values.keep(token, place)
    except Unsavable as error:
        raise Unsavable(
            error.place, f"{error.reason}; a token must outlive its process, so register a Codec for it"
        ) from error


def described(firing: Firing, error: BaseException) -> RunError:
    """A failure of a body, with the places in the user's code that it comes from."""
    if isinstance(error, OutOfTime):
        return RunError(type="TimeoutError", message=str(error), where=firing.node.path)
    kind = type(error).__qualname__ if not isinstance(error, Unsavable) else "Unsavable"
    return RunError(type=kind, message=clean(words(error)), where=firing.node.path, frames=_frames(error))


def _frames(error: BaseException) -> tuple[str, ...]:
    """Where in the user's code an error comes from."""
    found = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in found if not frame.filename.startswith(OURS)]
    return tuple(clean(f"{frame.filename}:{frame.lineno} in {frame.name}") for frame in theirs[-FRAMES:])
