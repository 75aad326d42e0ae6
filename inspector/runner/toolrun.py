"""Running one call of a tool: every way in which it can end is a value."""

import asyncio
import contextvars
import inspect
from typing import Any

import msgspec

from inspector.runner.effects import ToRun
from inspector.runner.messages import ErrorKind, own, words
from inspector.runner.threads import ends
from inspector.runner.tools import AnyTool, Came, NeedsInput, ToolContext, ToolError, ToolRefused

_KINDS: tuple[tuple[type[BaseException], ErrorKind], ...] = (
    (TimeoutError, "timeout"),
    (PermissionError, "permission_denied"),
    (ConnectionError, "network"),
)

current: contextvars.ContextVar[ToolContext | None] = contextvars.ContextVar("inspector.tool", default=None)
"""The call that runs here; for code below a tool that needs to know."""


def not_found(name: str) -> Came:
    """A call of a tool that nobody has."""
    return Came(f"tool `{name}` not found", "error", "not_found")


async def needs_approval(tool: AnyTool, call: ToRun) -> bool:
    """Whether somebody must decide before this call runs. A predicate that fails, or says anything but False, asks:
    never the other way round."""
    gate = tool.needs_approval
    if isinstance(gate, bool):
        return gate
    try:
        found = gate(msgspec.structs.replace(call, arguments=own(call.arguments), call=own(call.call)))
        return (await found if inspect.isawaitable(found) else found) is not False
    except BaseException as error:
        if ends(error):
            raise
        return True


async def came(tool: AnyTool, arguments: Any, context: ToolContext) -> Came:
    """Run a call. Raises NeedsInput, and what ends the process or the task; nothing else."""
    mark = current.set(context)
    arguments = own(arguments)  # what a tool does to them is not done to the conversation
    try:
        if tool.timeout is None:
            return await tool.run(arguments, context)
        async with asyncio.timeout(tool.timeout):
            return await tool.run(arguments, context)
    except NeedsInput:
        raise
    except ToolRefused as refused:
        return Came(words(refused), "refused")
    except ToolError as error:
        return Came(words(error), "error", error.kind)
    except TimeoutError as error:
        limit = "in time" if tool.timeout is None else f"within {tool.timeout} s"
        return Came(words(error) or f"no answer {limit}; it may still happen", "error", "timeout", definite=False)
    except BaseException as error:
        if ends(error):
            raise
        if isinstance(error, asyncio.CancelledError):
            return Came("cancelled from inside; it may still happen", "error", "cancelled", definite=False)
        kind: ErrorKind = next((kind for known, kind in _KINDS if isinstance(error, known)), "other")
        return Came(f"{type(error).__name__}: {words(error)}", "error", kind, definite=False)
    finally:
        current.reset(mark)
