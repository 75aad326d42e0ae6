"""The library as its users write it."""

import subprocess
import sys
from pathlib import Path

import inspector

PROGRAM = '''
from inspector import Agent, Call, Hook, ScriptedModel, ToolContext, tool

@tool(idempotency="supported")
def lookup_order(order: str) -> dict[str, int]:
    """The lines of an order and their amounts, in cents."""
    return {"kettle": 4200}

@tool(needs_approval=True, timeout=30)
async def refund(order: str, amount: int, context: ToolContext) -> str:
    """Pay an amount, in cents, back to the customer."""
    assert context.idempotency_key and context.run_id and context.call_id == "c2"
    return f"refunded {amount} for {order}"

class Audit(Hook):
    async def on_tool_call(self, event):
        return event.proceed()

agent = Agent(
    "refunds",
    model=ScriptedModel(
        [Call("lookup_order", {"order": "A-17"})],
        [Call("refund", {"order": "A-17", "amount": 4200})],
        "42.00 EUR are on their way.",
    ),
    instructions="You handle refunds.",
    tools=[lookup_order, refund],
    hooks=[Audit()],
    max_turns=8,
)

async def main():
    result = await agent.prompt("Refund order A-17").run(trace="refund.jsonl")
    assert result.status == "suspended", result.status
    (pending,) = result.pending
    assert (pending.name, pending.call_id) == ("refund", "c2")
    run = result.run
    result = await agent.resume("refund.jsonl").approve("c2").run()
    assert (result.status, result.output) == ("completed", "42.00 EUR are on their way.")
    result = await agent.resume(run).deny("c2", "not that one").max_turns(12).run()
    assert result.status == "completed"
    items = []
    async for item in agent.resume("refund.jsonl").accept("already_resumed").approve("c2").stream():
        items.append(item)
    assert items[-1].result.status == "completed"

import asyncio
asyncio.run(main())
assert agent.prompt("Refund order A-17").run_sync().status == "suspended"
print("fine")
'''

BY_HAND = """
from inspector.runner import AgentRun, CallModel, CallTools, Done, ModelTurn

run = AgentRun.start("What is 2 + 2?", max_turns=3)
while not isinstance(effect := run.next(), Done):
    match effect:
        case CallModel(messages=messages): run.absorb(ModelTurn(text="4"))
        case CallTools(calls=calls):       run.absorb_result(calls[0].call_id, "4")
data = run.to_json()
assert AgentRun.from_json(data).next().output == "4"
print("fine")
"""


def run(program: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_agent(tmp_path: Path) -> None:
    assert run(PROGRAM, tmp_path) == "fine\n"


def test_the_machine_by_hand(tmp_path: Path) -> None:
    assert run(BY_HAND, tmp_path) == "fine\n"


def test_importing_the_library_costs_nothing_and_every_name_is_there() -> None:
    program = "import inspector, sys; print(sorted(name for name in sys.modules if name.startswith('inspector')))"
    assert run(program, Path.cwd()) == "['inspector']\n"
    for name in inspector.__all__:
        assert getattr(inspector, name) is not None
    assert set(inspector.__all__) == set(inspector._MODULES)
