"""How the actions of several hooks on one event combine.

The first action that is not to proceed wins, but for: patches of a request, which merge; rewrites, which
chain, each hook hearing what the one before made; the choice of a model, which chains too. A stop always
ends the chain; a rewrite before it is kept, so that it can be reported.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from inspector.model.values import to_json
from inspector.runner.hooks import (
    EVENTS,
    Action,
    CompletionCall,
    HookEvent,
    ModelSelect,
    Patch,
    RunStart,
    ToolCall,
    ToolResult,
    heard,
    hook_name,
)
from inspector.runner.messages import own, sound, words
from inspector.runner.threads import ends
from inspector.runner.tools import ToolError, plain

TEXTS = ("stop", "fail", "retry", "repair", "failure")
VALUES = ("rewrite", "skip", "result")
"""Actions whose value is told to the model or the run, and is saved with it."""


SHARED = ("scratch", "model")
"""Fields of events that are handed on as they are."""


class Stopped(Exception):
    """A hook ended the run."""

    kind = "hook"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def written(scratch: dict[str, Any]) -> str:
    """A scratchpad as JSON. What cannot be saved is dropped from it; raises Stopped, which names that."""
    try:
        return to_json(scratch)
    except (TypeError, ValueError, RecursionError) as error:
        bad = [name for name, value in scratch.items() if not _savable(value)]
        for name in bad:
            del scratch[name]
        raise Stopped(f"the scratchpad was given what cannot be saved as {', '.join(bad)}: {error}") from error


def _savable(value: object) -> bool:
    try:
        to_json(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


async def first(hooks: Sequence[object], event: HookEvent) -> Action:
    """The first action that is not to proceed. Raises Stopped."""
    for method, name in _hearing(hooks, event.kind):
        action = await _asked(method, name, event)
        if action.kind != "proceed":
            return action
    return event.proceed()


async def patched(hooks: Sequence[object], event: CompletionCall) -> Patch:
    """All patches merged: documents are appended, parameters laid over one another, active tools cut down
    to what every hook left; of everything else the last one counts. Raises Stopped."""
    patch = Patch()
    for method, name in _hearing(hooks, event.kind):
        action = await _asked(method, name, event)
        if action.kind == "patch":
            patch = merged(patch, action.value)
    return patch


def merged(one: Patch, other: Patch) -> Patch:
    """`other` over `one`."""
    active = other.active_tools
    if one.active_tools is not None:
        active = one.active_tools if active is None else tuple(name for name in one.active_tools if name in active)
    return Patch(
        _last(one.instructions, other.instructions),
        _last(one.temperature, other.temperature),
        _last(one.max_tokens, other.max_tokens),
        _last(one.choice, other.choice),
        active,
        None if one.params is None and other.params is None else {**(one.params or {}), **(other.params or {})},
        (*one.documents, *other.documents),
        _last(one.history, other.history),
    )


def _last(one: Any, other: Any) -> Any:
    return one if other is None else other


async def rewritten(hooks: Sequence[object], event: ToolCall | ToolResult | RunStart) -> tuple[Any, Action]:
    """(the event as the last rewrite left it, the action that ended the chain or the last one)."""
    now: Any = event
    action = event.proceed()
    for method, name in _hearing(hooks, event.kind):
        try:
            action = await _asked(method, name, now)
        except Stopped as stopped:
            return now, Action(event.kind, "stop", stopped.reason)
        if action.kind == "rewrite":
            now = replace(now, **{_rewritten_field(event): action.value})
        elif action.kind != "proceed":
            return now, action
    return now, action


def _rewritten_field(event: HookEvent) -> str:
    return {"tool_call": "arguments", "tool_result": "value", "run_start": "prompt"}[event.kind]


def selected(hooks: Sequence[object], event: ModelSelect, resolve: Callable[[object], Any]) -> Any:
    """The model that the last hook chose. Raises Stopped. These hooks are sync: a request is about to be
    made of what they say."""
    for method, name in _hearing(hooks, event.kind):
        found = _called(method, name, event)
        if inspect.iscoroutine(found):
            found.close()
            raise Stopped(f"the hook {name} is async on {event.kind}, which is heard synchronously")
        action = _valid(found, name, event)
        if action.kind == "select":
            event = replace(event, model=resolve(action.value))
    return event.model


def _apart(event: HookEvent) -> HookEvent:
    """The event with values of its own: what a hook does to them in place is done to nothing else, so that nothing
    changes a run but what is written down. The scratchpad is the run's, and is."""
    changed = {}
    for name in event.__struct_fields__:
        if name not in SHARED and (mine := own(value := getattr(event, name))) is not value:
            changed[name] = mine
    return replace(event, **changed) if changed else event


def _hearing(hooks: Sequence[object], event: str) -> list[tuple[Callable[[Any], Any], str]]:
    return [(method, hook_name(hook)) for hook in hooks if (method := heard(hook, event))]


def _called(method: Callable[[Any], Any], name: str, event: HookEvent) -> Any:
    try:
        return method(_apart(event))
    except BaseException as error:
        if ends(error):
            raise
        raise _raised(name, error) from error


async def _asked(method: Callable[[Any], Any], name: str, event: HookEvent) -> Action:
    found = _called(method, name, event)
    if inspect.isawaitable(found):
        try:
            found = await found
        except BaseException as error:
            if ends(error):
                raise
            raise _raised(name, error) from error
    return _valid(found, name, event)


def _raised(name: str, error: BaseException) -> Stopped:
    return Stopped(f"the hook {name} raised {type(error).__name__}: {words(error)}")


def _valid(found: object, name: str, event: HookEvent) -> Action:
    if found is None:
        return event.proceed()
    if not isinstance(found, Action) or found.event != event.kind or found.kind not in EVENTS[event.kind]:
        allowed = ", ".join(EVENTS[event.kind])
        raise Stopped(f"the hook {name} returned {found!r} for {event.kind}, which takes {allowed}")
    value = found.value
    if (found.kind in TEXTS or event.kind == "invalid_tool_call") and value is not None:
        value = sound(str(value))
    elif found.kind in VALUES and event.kind != "run_start" and value is not None:
        try:
            value = plain(value)
        except ToolError as error:
            raise Stopped(f"the hook {name} on {event.kind}: {found.kind} was given what cannot be saved") from error
    if found.kind == "stop":
        raise Stopped(str(value))
    return found if value is found.value else replace(found, value=value)
