"""An agent that refunds orders: two tools, an approval, a hook, and a scripted model, so that it runs
without a key.

    runinspect run examples/refund_agent.py:agent --input '"Refund order A-17"' --trace refund.jsonl
    runinspect refund.jsonl
    runinspect resume refund.jsonl --app examples/refund_agent.py:agent --approve c3

With a model of your own: REFUND_MODEL=openai:gpt-5-mini (or anthropic:..., or any other that
`pip install 'runinspect[models]'` knows; with OPENAI_BASE_URL, any endpoint that speaks OpenAI's chat protocol).
"""

import os
from typing import Any

from inspector import Agent, Call, Hook, ScriptedModel, ToolContext, ToolError, tool

ORDERS = {"A-17": {"kettle": 4200}, "B-02": {"teapot": 6900, "cups": 1800}}


@tool(idempotency="supported")
def lookup_order(order: str) -> dict[str, int]:
    """The lines of an order and their amounts, in cents."""
    if order not in ORDERS:
        raise ToolError(f"there is no order {order}", "not_found")
    return ORDERS[order]


@tool(idempotency="supported")
def check_policy(order: str, reason: str) -> str:
    """Whether an order may be refunded for a reason."""
    return f"{order}: damaged goods are refunded within 30 days" if "damaged" in reason else f"{order}: ask a person"


@tool(needs_approval=True, timeout=30)
async def refund(order: str, amount: int, context: ToolContext) -> str:
    """Pay an amount, in cents, back to the customer."""
    # A payment provider takes the key, so that a second call with it pays nothing.
    return f"refunded {amount} for {order} (key {context.idempotency_key})"


@tool
def send_email(to: str, text: str) -> str:
    """Write to the customer."""
    return f"sent to {to}: {len(text)} characters"


class Audit(Hook):
    """Counts calls in the scratchpad, and keeps amounts sane whatever a model makes up."""

    async def on_tool_call(self, event: Any) -> Any:
        event.scratch["calls"] = event.scratch.get("calls", 0) + 1
        if event.name == "refund" and event.arguments["amount"] > 100_000:
            return event.skip("amounts over 1000.00 EUR are paid by hand")
        return event.proceed()

    async def on_run_settled(self, event: Any) -> None:
        event.scratch["settled"] = event.status


SCRIPT = ScriptedModel(
    ["Let me look.", Call("lookup_order", {"order": "A-17"})],
    [
        Call("check_policy", {"order": "A-17", "reason": "damaged on arrival"}),
        Call("refund", {"order": "A-17", "amount": 4200}),
    ],
    [Call("send_email", {"to": "customer@example.org", "text": "Your money is on its way."})],
    "42.00 EUR are on their way.",
)

agent = Agent(
    "refunds",
    model=os.environ.get("REFUND_MODEL") or SCRIPT,
    instructions="You handle refunds. Look an order up and check the policy before you pay anything.",
    tools=[lookup_order, check_policy, refund, send_email],
    hooks=[Audit()],
    max_turns=8,
)
