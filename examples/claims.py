"""An agent that waits for an approval inside of a network: claims are assessed, a clerk pays them, a ledger adds up.

    runinspect run examples/claims.py:net --input '{"claim": ["a bicycle", "a house"]}' --trace claims.jsonl
    runinspect check claims.jsonl --app examples/claims.py:net
    runinspect resume claims.jsonl --app examples/claims.py:net --approve c2

The clerk looks a claim up and asks to pay; paying needs an approval, so its firing is held, with its turns and its open
batch, while the other branch of the network goes on. Each claim asks for an approval of its own.
"""

from typing import Any

from inspector import Agent, Call, Network, ScriptedModel, actor, tool

WORTH = {"a bicycle": 350, "a house": 240_000}


@actor
def assess(claim: str) -> str:
    """The question for the clerk."""
    return f"pay for {claim}"


@actor(idempotency="supported")
def acknowledge(claim: str) -> str:
    """What the customer is told at once."""
    return f"we look into {claim}"


@tool(idempotency="supported")
def worth(thing: str) -> int:
    """What a thing is worth."""
    return WORTH.get(thing, 0)


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay an amount to the customer."""
    return f"paid {amount}"


@actor
class Ledger:
    """Counts what was settled."""

    settled: int = 0

    def fire(self, answer: str) -> str:
        self.settled += 1
        return f"{self.settled}: {answer}"


def clerk(messages: Any) -> Any:
    """What the clerk's model says: it looks the thing up, asks to pay, and tells what came of it."""
    thing = messages[0].text.removeprefix("pay for ")
    if len(messages) == 1:
        return [Call("worth", {"thing": thing})]
    if len(messages) == 3:
        return [Call("pay", {"amount": WORTH.get(thing, 0)})]
    return f"{messages[-1].content[0].text} for {thing}"


def claims() -> Network:
    """The whole network."""
    net = Network("claims")
    assessing, telling, ledger = net.add(assess), net.add(acknowledge), net.add(Ledger())
    asking = net.add(
        Agent("clerk", ScriptedModel(clerk), tools=[worth, pay], instructions="Pay what a thing is worth.")
    )
    net.connect(net.input("claim"), assessing.claim)
    net.connect(net.input("claim"), telling.claim)
    net.connect(assessing.out, asking.prompt)
    net.connect(asking.answer, ledger.answer)
    net.connect(ledger.out, net.output("settled"))
    net.connect(telling.out, net.output("letters"))
    return net


net = claims()
