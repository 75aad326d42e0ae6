"""What the agent loop costs by itself, beside others that drive the same script with their fake models.

    python -m tests.benchmarks.agentloop [--turns N] [--openai-agents PYTHON]

A script of N turns, each with one call of a tool that adds two numbers; a step is a model call or a tool
batch. Ours is measured without a journal, with the journal on tmpfs (which is the fair one: it does more than
the others), and with the journal on this disk, where each fsync is waited for. pydantic-ai is measured where
it is installed; openai-agents in the interpreter of a venv of its own that has it.
"""

import argparse
import asyncio
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from inspector import Agent, Call, ScriptedModel, tool
from tests.benchmarks.measure import ROOT, row

TIMES = 5


def shortest(run: Callable[[], Awaitable[object]], steps: int) -> float:
    """Microseconds a step: the shortest of several runs."""
    found = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        asyncio.run(run())  # type: ignore[arg-type]
        found.append(time.perf_counter() - begin)
    return min(found) / steps * 1e6


def ours(turns: int, folder: str | None) -> float:
    """The loop of this package; `folder` is where the journal goes."""

    @tool
    async def add(a: int, b: int) -> int:
        return a + b

    model = ScriptedModel(
        lambda messages: [Call("add", {"a": len(messages), "b": 1})] if len(messages) < 2 * turns else "done"
    )
    agent = Agent("adder", model, tools=[add], max_turns=turns + 1)

    async def run() -> None:
        trace = os.path.join(folder, f"{time.monotonic_ns()}.jsonl") if folder else None
        result = await agent.prompt("go").run(trace=trace)
        assert (result.status, result.steps) == ("completed", 2 * turns + 1)
        if trace:
            os.unlink(trace)

    return shortest(run, 2 * turns + 1)


def pydantic_ai(turns: int) -> float:
    """pydantic-ai with its FunctionModel."""
    from pydantic_ai import Agent as TheirAgent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.usage import UsageLimits

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) < 2 * turns:
            return ModelResponse(parts=[ToolCallPart("add", {"a": len(messages), "b": 1})])
        return ModelResponse(parts=[TextPart("done")])

    agent = TheirAgent(FunctionModel(answer))

    @agent.tool_plain
    async def add(a: int, b: int) -> int:
        return a + b

    async def run() -> None:
        result = await agent.run("go", usage_limits=UsageLimits(request_limit=None))
        assert result.output == "done"

    return shortest(run, 2 * turns + 1)


OPENAI_AGENTS = """
import asyncio, sys, time
from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
turns, times = int(sys.argv[1]), int(sys.argv[2])


class Fake(Model):
    async def get_response(self, system_instructions, input, *args, **kwargs):
        made = 0 if isinstance(input, str) else len(input) // 2
        if made < turns:
            arguments = '{"a": %d, "b": 1}' % made
            output = ResponseFunctionToolCall(arguments=arguments, call_id=f"c{made}", name="add", type="function_call")
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            output = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool
async def add(a: int, b: int) -> int:
    return a + b


agent = Agent("adder", model=Fake(), tools=[add])
found = []
for _ in range(times):
    begin = time.perf_counter()
    assert asyncio.run(Runner.run(agent, "go", max_turns=turns + 1)).final_output == "done"
    found.append(time.perf_counter() - begin)
print(min(found) / (2 * turns + 1) * 1e6)
"""


def openai_agents(python: str, turns: int) -> float:
    """openai-agents with a fake model, in its own interpreter."""
    done = subprocess.run(
        [python, "-c", OPENAI_AGENTS, str(turns), str(TIMES)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{python} cannot run openai-agents: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.agentloop", description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=50, help="turns with a call (default: 50)")
    parser.add_argument("--openai-agents", metavar="PYTHON", help="an interpreter that has openai-agents")
    options = parser.parse_args()
    turns = options.turns
    others = {}
    if importlib.util.find_spec("pydantic_ai") is not None:
        others["pydantic-ai"] = pydantic_ai(turns)
    if options.openai_agents:
        others["openai-agents"] = openai_agents(options.openai_agents, turns)
    bound = min(others.values()) if others else None
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, tempfile.TemporaryDirectory(dir=ROOT) as disk:
        os.environ.update(XDG_STATE_HOME=memory, XDG_DATA_HOME=memory)
        bare, journaled, synced = ours(turns, None), ours(turns, memory), ours(turns, disk)
    print(f"microseconds a step, {turns} turns, best of {TIMES}:")
    for name, value in others.items():
        row(name, f"{value:.0f}")
    row("ours, no journal", f"{bare:.0f}")
    goal = f"not above {bound:.0f}" if bound is not None else ""
    row("ours, journal on tmpfs", f"{journaled:.0f}", goal, None if bound is None else journaled <= bound)
    row("the wait for fsync on this disk", f"{synced - journaled:.0f}", f"({Path(disk).parent})")


if __name__ == "__main__":
    sys.exit(main())
