"""Steering a run from outside, from any thread: stop at the next boundary, pause before one, step by step, and
breakpoints.

A boundary is before an effect: before a model call, a batch of tools, a firing. A run that is held there has
everything behind it written down, and nothing of what comes next begun.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from inspector.errors import UsageError
from inspector.model.run import Record
from inspector.runner.drive import Control
from inspector.runner.effects import CallModel, CallTools, Effect, ResolveCall

Kind = Literal["tool", "node", "model", "step"]
FIELDS = ("seq", "kind", "name", "status")
SIGNS = (">=", "<=", "!=", "=", ">", "<")
LOOK = 0.02
"""Seconds between two looks whether a held run may go on."""


class Break(Record, frozen=True, kw_only=True):
    """A breakpoint: before a tool, node or model call of a name (`*` and `?` stand for any letters), or, for
    `step`, before what follows a step of which a condition holds."""

    kind: Kind
    text: str
    field: str = "name"
    sign: str = "="

    def __str__(self) -> str:
        return f"{self.kind}:{self.text}" if self.kind != "step" else f"step:{self.field}{self.sign}{self.text}"

    def before(self, kind: str, names: Sequence[str]) -> bool:
        """Whether it stands before an effect."""
        return kind == self.kind and any(fnmatchcase(name, self.text) for name in names)

    def after(self, step: dict[str, Any]) -> bool:
        """Whether its condition holds of a step that has ended."""
        if self.kind != "step" or step.get(self.field) is None:
            return False
        value = step[self.field]
        if self.sign in ("=", "!="):
            return fnmatchcase(str(value), self.text) == (self.sign == "=")
        number, limit = int(value), int(self.text)
        return {">=": number >= limit, "<=": number <= limit, ">": number > limit, "<": number < limit}[self.sign]


def read_break(text: str) -> Break:
    """A breakpoint as it is written: `tool:refund`, `node:review/*`, `model:*` or just `model`, `step:status=failed`,
    `step:seq>=40`. Raises UsageError."""
    kind, colon, rest = text.strip().partition(":")
    if not colon and kind in ("tool", "node", "model"):
        rest = "*"
    if kind in ("tool", "node", "model") and rest:
        return Break(kind=kind, text=rest)  # type: ignore[arg-type]
    if kind == "step":
        for sign in SIGNS:
            field, found, limit = rest.partition(sign)
            if not found:
                continue
            numeric = sign not in ("=", "!=")
            if field in FIELDS and limit and (not numeric or (field == "seq" and limit.isdecimal())):
                return Break(kind="step", field=field, sign=sign, text=limit)
            break
    raise UsageError(
        text, "is no breakpoint: tool:NAME, node:NAME, model:NAME, step:status=failed, step:name=NAME, step:seq>=N"
    )


class Steering(Control):
    """The control of a run that somebody watches. `tell` is called, in the run's thread, with a `held` event
    when it is held, and a `going` event when it goes on. `models` are the names of its models. `stops`: nobody watches,
    so it stops where it would be held; `leaves`: what it begins with is what it was stopped before, and is not held."""

    def __init__(
        self,
        tell: Callable[[dict[str, Any]], object],
        breaks: Sequence[Break] = (),
        *,
        stops: bool = False,
        leaves: bool = False,
    ) -> None:
        super().__init__()
        self._stops, self._leaves = stops, leaves
        self.breaks = tuple(breaks)
        self.models: tuple[str, ...] = ()
        self.begins = 0
        """What whoever watches adds to the numbers of the run's steps, and means by a breakpoint at one."""
        self.held: str | None = None
        """What the run is held before; None while it is not."""
        self._tell = tell
        self._paused = False
        self._steps = 0
        """Effects that may still begin before the run is held again; only counts while it is paused."""
        self._due: str | None = None

    @property
    def paused(self) -> bool:
        """Whether the run is held at its next boundary, or is already."""
        return self._paused

    def pause(self) -> None:
        """Hold the run at its next boundary."""
        self._steps, self._paused = 0, True

    def go(self) -> None:
        """Go on."""
        self._paused = False

    def step(self) -> None:
        """Go on by one effect, then hold again."""
        self._steps, self._paused = 1, True

    def heard(self, emit: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], None]:
        """`emit`, with an ear for the steps that breakpoints are on."""

        def hear(event: dict[str, Any]) -> None:
            emit(event)
            if event.get("event") == "step":
                # What runs within a firing has numbers that are nobody's but its own.
                step = event | {"seq": None if "within" in event else event["seq"] + self.begins}
                found = next((item for item in self.breaks if item.after(step)), None)
                if found is not None:
                    self._due = str(found)

        return hear

    def holds(self, effect: Effect) -> bool:
        kind, names = subject(effect, self.models)
        # What goes on between a model's answer and its calls is no step of its own.
        return kind != "hooks" and self.holds_before(kind, names)

    def holds_before(self, kind: str, names: Sequence[str]) -> bool:
        """Whether the run is to be held before an effect of this kind and these names."""
        if self._leaves:
            self._leaves = False
            return False
        if self._due is None:
            self._due = next((str(item) for item in self.breaks if item.before(kind, names)), None)
        if self._due is not None:
            self._steps, self._paused = 0, True
        if self._paused and self._steps > 0:
            self._steps -= 1
            return False
        return self._paused

    async def hold(self, effect: Effect) -> None:
        self._hold(*subject(effect, self.models))
        while self._waits():
            await asyncio.sleep(LOOK)
        self._goes()

    def hold_here(self, kind: str, names: Sequence[str]) -> None:
        """The same in a thread that may be blocked."""
        self._hold(kind, names)
        while self._waits():
            time.sleep(LOOK)
        self._goes()

    def _hold(self, kind: str, names: Sequence[str]) -> None:
        self.held = f"{kind} {', '.join(names)}"
        why, self._due = (f"breakpoint {self._due}" if self._due else "paused"), None
        self._tell({"event": "held", "before": self.held, "why": why})
        if self._stops:
            self.broke = True
            self.stop()

    def _waits(self) -> bool:
        return self._paused and self._steps == 0 and not self.stopping

    def _goes(self) -> None:
        self._steps = max(self._steps - 1, 0)
        if not self._stops:
            self.held = None
            self._tell({"event": "going"})


def subject(effect: Effect, models: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """What an effect is about: (kind, names), as breakpoints name it."""
    if isinstance(effect, CallTools):
        return "tool", tuple(call.name for call in effect.calls)
    if isinstance(effect, ResolveCall):
        return "tool", (effect.call.name,)
    if isinstance(effect, CallModel):
        return "model", (*(models or ("model",)),)
    firing = getattr(effect, "firing", None)
    return ("node", (firing.node.name,)) if firing is not None else ("hooks", (type(effect).__name__.lower(),))
