"""Makes refund-suspended.jsonl, refund-failed.jsonl and refund-killed.jsonl: `python examples/make_refund.py`.

Real runs of refund_agent.py: one waits for an approval, one has a model that is out of service, and one is
killed while the payment is under way, so that nobody knows whether it happened.
"""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from refund_agent import SCRIPT, agent

from inspector import Agent, ModelError, ModelTurn, Retries, ScriptedModel
from inspector.runner.models import ModelRequest

HERE = Path(__file__).parent
PROMPT = "Refund order A-17, the kettle was damaged on arrival"


def fresh(name: str) -> str:
    """The path of a trace that is not there yet."""
    path = HERE / name
    path.unlink(missing_ok=True)
    return str(path)


class OutOfService(ScriptedModel):
    """Answers the first turn, and then never again."""

    async def request(self, request: ModelRequest) -> ModelTurn:
        if any(message.role == "assistant" for message in request.messages):
            raise ModelError("scripted", "provider", "status 503: the model is overloaded", retry=True)
        return await SCRIPT.request(request)


async def suspended() -> None:
    """Stops where a person must decide."""
    await agent.prompt(PROMPT).id("refund-suspended").run(trace=fresh("refund-suspended.jsonl"))


async def failed() -> None:
    """Gives up after three tries; it can go on from there."""
    given = {"tools": agent.setup.registry.local, "hooks": agent.setup.hooks, "instructions": agent.setup.instructions}
    flaky = Agent("refunds", OutOfService(), retries=Retries(tries=3, first=0.01), **given)
    await flaky.prompt(PROMPT).id("refund-failed").run(trace=fresh("refund-failed.jsonl"))


async def killed() -> None:
    """Is killed inside of the payment."""
    refund = next(tool for tool in agent.setup.registry.local if tool.spec.name == "refund")

    async def pays(**_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    refund.function = pays  # type: ignore[attr-defined]
    refund.needs_approval = False
    await agent.prompt(PROMPT).id("refund-killed").run(trace=fresh("refund-killed.jsonl"))


if __name__ == "__main__":
    if sys.argv[1:] == ["killed"]:
        asyncio.run(killed())
    else:
        asyncio.run(suspended())
        asyncio.run(failed())
        subprocess.run([sys.executable, __file__, "killed"], check=False)
