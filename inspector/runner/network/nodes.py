"""Tools and agents as nodes of a network, and what a network's code is with them.

A tool has a port for each of its parameters, and `out` for what it returns; an agent has `prompt` and `answer`.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from inspector.dataflow.actors import CONTEXT, Action, Actor
from inspector.dataflow.codec import Values
from inspector.dataflow.definition import definition
from inspector.dataflow.network import ADAPTERS
from inspector.dataflow.plan import Plan
from inspector.errors import UsageError
from inspector.model.run import Definition, Tool
from inspector.model.values import Value
from inspector.runner import hookchain
from inspector.runner.agent import Agent
from inspector.runner.hooks import ToolCall, ToolResult
from inspector.runner.messages import Message
from inspector.runner.network.bodies import FiringContext
from inspector.runner.network.offers import Offers
from inspector.runner.tools import AnyTool, Came, NeedsInput, ToolContext, ToolError

if TYPE_CHECKING:
    from inspector.runner.network.watch import Watch

PROMPT, ANSWER = "prompt", "answer"


def node_of(thing: Any) -> Actor | None:
    """The actor that a tool or an agent is; None for anything else. Raises UsageError for a tool that cannot be a
    node."""
    if isinstance(thing, Agent):
        return _agent(thing)
    if hasattr(thing, "spec") and hasattr(thing, "run") and hasattr(thing, "check"):
        return _tool(thing)
    return None


ADAPTERS.append(node_of)


def described(plan: Plan, values: Values | None = None, offers: Offers | None = None) -> Definition:
    """The definition of a plan, with the tools of its tool nodes and its agents, also those that they are offered."""
    tools: dict[str, Tool] = {}
    offers = offers or Offers()
    for number, node in enumerate(plan.nodes):
        target = node.actor.target if node.actor is not None else None
        if isinstance(target, Agent):
            local = [tool.spec for tool in target.setup.registry.local]
            tools |= {tool.name: tool for tool in (*offers.tools.get(number, ()), *local)}
        elif target is not None:
            tools[target.spec.name] = target.spec
    found = definition(plan, values, tuple(tools.values()))
    return found if offers.whole else msgspec.structs.replace(found, tools_known="called")


def prompt_of(token: Any) -> str | Message:
    """What an agent is asked: a text or message as it is, any other token as JSON."""
    return token if isinstance(token, str | Message) else msgspec.json.encode(token).decode()


def _agent(agent: Agent) -> Actor:
    setup = agent.setup
    model = setup.model if isinstance(setup.model, str) else getattr(setup.model, "name", "")
    tools = [tool.spec.name for tool in setup.registry.local]
    return Actor(
        kind="agent",
        class_name=agent.name,
        inputs=(PROMPT,),
        outputs=(ANSWER,),
        actions=(Action(name="run", inputs=(PROMPT,)),),
        parameters={"model": str(model), "tools": tools, **agent.settings, "max_turns": agent.limits.max_turns},
        default_name=agent.name,
        target=agent,
    )


def _tool(tool: AnyTool) -> Actor:
    spec = tool.spec
    if tool.needs_approval is not False:
        raise UsageError(spec.name, "needs an approval, which an agent can wait for, and a node cannot")
    schema = spec.schema if isinstance(spec.schema, dict) else {}
    ports = tuple(schema.get("properties") or {})
    if CONTEXT in ports:
        raise UsageError(spec.name, f"has a parameter {CONTEXT!r}, which is no name for a port")
    required = set(schema.get("required") or ())
    function = getattr(tool, "function", None)
    return Actor(
        kind="tool",
        class_name=spec.name,
        inputs=ports,
        outputs=("out",),
        actions=(Action(name="run", inputs=ports, wants_context=True),),
        bodies=(function,) if function is not None else (),
        idempotency=spec.idempotency or "unknown",
        timeout=tool.timeout,
        default_name=spec.name,
        function=_body(tool),
        optional=frozenset(port for port in ports if port not in required),
        target=tool,
    )


def _body(tool: AnyTool) -> Callable[..., Coroutine[Any, Any, Value]]:
    """What a firing of a tool runs. Raises what the tool raises, and ToolError for arguments that do not fit."""

    async def run(context: FiringContext, **tokens: Any) -> Value:
        about = ToolContext(
            run_id=context.run_id,
            agent="",
            turn=0,
            call_id=context.firing_id,
            internal_id=context.firing_id,
            idempotency_key=context.idempotency_key,
            attempt=1,
            conversation=None,
            scratch={},
        )
        arguments = msgspec.to_builtins(tokens)
        if context.watch is None or not context.watch.hooks:
            return _value(await _ran(tool, arguments, about))
        return await _heard(context, context.watch, tool, arguments, about)

    return run


async def _ran(tool: AnyTool, arguments: Value, about: ToolContext) -> Came:
    try:
        return await tool.run(arguments, about)
    except NeedsInput as error:
        raise ToolError(f"asks {error.question!r}, and nobody can answer a node", "other") from error


async def _heard(context: FiringContext, watch: "Watch", tool: AnyTool, arguments: Value, about: ToolContext) -> Value:
    """The same with the hooks of the network, as a tool call of an agent is heard. Raises hookchain.Stopped."""
    hooks = watch.at(context.node)
    call: dict[str, Any] = {"name": tool.spec.name, "call_id": context.firing_id, "internal_id": context.firing_id}
    told, action = await hookchain.rewritten(
        hooks, ToolCall(**watch.heard(), **call, arguments=arguments, approved=False)
    )
    if action.kind == "stop":
        raise hookchain.Stopped(action.value)
    skipped = action.kind == "skip"
    came = Came(action.value) if skipped else await _ran(tool, told.arguments, about)
    value = _value(came)
    result = ToolResult(
        **watch.heard(),
        **call,
        arguments=told.arguments,
        raw=value,
        value=value,
        outcome="skipped" if skipped else came.outcome,
        error_kind=came.kind,
    )
    heard, action = await hookchain.rewritten(hooks, result)
    if action.kind == "stop":
        raise hookchain.Stopped(action.value)
    return heard.value


def _value(came: Came) -> Value:
    if came.outcome != "success":
        raise ToolError(str(came.value), came.kind or "other")
    return came.value
