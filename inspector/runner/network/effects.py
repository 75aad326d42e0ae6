"""What a network asks for, and when it is over: the dataflow machine as the drive loop sees it."""

from collections.abc import Callable
from typing import ClassVar

import msgspec

from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.model.run import RunError
from inspector.runner.effects import Busy, Effect


class Fire(Effect, frozen=True):
    """Run the body of this firing, which has begun."""

    exclusive: ClassVar[bool] = False
    firing: Firing


class FireAlone(Fire, frozen=True):
    """The same, where nothing else is under way meanwhile."""

    exclusive: ClassVar[bool] = True


class Decide(Effect, frozen=True):
    """Carry out this control node."""

    firing: Firing


class Rest(Effect, frozen=True):
    """Nothing can begin, and nothing is under way."""

    ending: ClassVar[bool] = True


class Failure(msgspec.Struct, frozen=True):
    """A firing that failed; `ambiguous`: it was given up while it ran, so it may have had its effects."""

    firing: Firing
    error: RunError
    ambiguous: bool = False


class NetworkMachine:
    """Asks for firings, up to `workers` at a time, until one fails or `stopped` says why no more shall begin; then it
    lets what is under way end."""

    def __init__(self, run: NetworkRun, workers: int) -> None:
        self.run, self.workers = run, workers
        self.failures: list[Failure] = []
        self.stopped: str | None = None
        self.checkpoint: Callable[[], None] = lambda: None
        """Writes down the whole state."""

    def next(self) -> Effect:
        """What is to be done now."""
        run = self.run
        if len(run.flying) < self.workers and not self.failures and self.stopped is None:
            firing = run.first()
            if firing is not None:
                run.begin(firing)
                if firing.node.actor is None:
                    return Decide(firing)
                return FireAlone(firing) if self.workers == 1 else Fire(firing)
        return Busy() if run.flying else Rest()

    def drop(self, effect: Effect) -> None:
        """Give back the firing that was begun for this effect."""
        if isinstance(effect, Fire | Decide):
            self.run.release(effect.firing, retry=True)
