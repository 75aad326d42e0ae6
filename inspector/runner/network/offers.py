"""The tools that the agents of a network have from servers and the like: open while it runs, and in its definition."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from inspector.dataflow.plan import Plan
from inspector.model.run import Tool
from inspector.runner.agent import Agent


class Offers(msgspec.Struct):
    """What the sources of agents offer, by the number of the agent's node. `whole`: each of them could be asked."""

    tools: Mapping[int, Sequence[Tool]] = {}
    whole: bool = True


@contextlib.asynccontextmanager
async def opened(plan: Plan) -> AsyncIterator[Offers]:
    """The agents' sources, open. One that cannot be reached is left to the agent that needs it: it says so when it
    fires."""
    found, whole = dict[int, Sequence[Tool]](), True
    async with contextlib.AsyncExitStack() as stack:
        for number, node in enumerate(plan.nodes):
            agent = node.actor.target if node.actor is not None else None
            if not isinstance(agent, Agent) or not agent.setup.registry.sources:
                continue
            try:
                await stack.enter_async_context(agent)
                found[number] = (await agent.setup.registry.everything()).specs()
            except Exception:
                whole = False
        yield Offers(found, whole)
