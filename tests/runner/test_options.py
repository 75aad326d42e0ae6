"""Options that cannot be so are told by their names, where they are given."""

from collections.abc import Callable
from typing import Any

import pytest

from inspector import Agent, AgentRun, Ambiguity, Control, MCPServer, Network, Retries, ScriptedModel, UsageError, tool

MODEL = ScriptedModel("x")
AGENT = Agent("a", MODEL)
WRONG: dict[str, tuple[Any, ...]] = {
    "max_turns": ("3", 0, -1, 1.5, True, None),
    "max_invalid_retries": ("1", -1),
    "max_output_retries": ("1", -1),
    "token_budget": ("x", 0),
    "concurrency": ("2", None, -1),
    "temperature": ("hot", True),
    "max_tokens": ("12", -1),
    "params": ([1], "x", 3),
    "tool_choice": (3, "sometimes", [1], []),
    "instructions": (3, ["x"]),
    "memory": ("m",),
    "retries": (3,),
    "telemetry": (1,),
    "ambiguity": ("model",),
    "output": (3, int, {"type": "array"}),
    "output_mode": ("odd",),
    "hooks": (object(), "x"),
    "tools": ("abc", 3),
    "credentials": (3,),
    "name": (3, None, ""),
}
LATER: dict[str, tuple[Any, ...]] = {
    **{name: WRONG[name] for name in ("max_turns", "max_invalid_retries", "token_budget", "concurrency")},
    "tool_choice": WRONG["tool_choice"],
    "control": (3,),
    "observe": (3,),
    "claims": ("folder",),
}
ONCE: dict[str, tuple[Any, ...]] = {"history": ("x", [1], 3), "conversation": (3,), "id": (3, "")}
GOING_ON: dict[str, tuple[Any, ...]] = {
    "approve": (3, ["c1"]), "accept": (3,), "deny": (3,), "resolve": ("odd",), "because": ("x", {"c1": 3}),
}  # fmt: skip


def cases(table: dict[str, tuple[Any, ...]]) -> list[Any]:
    return [pytest.param(name, value, id=f"{name}={value!r:.12}") for name, values in table.items() for value in values]


def named(name: str, give: Callable[[], Any]) -> None:
    with pytest.raises(UsageError, match=f"^{name}") as caught:
        give()
    assert "null" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), cases(WRONG))
def test_of_an_agent(name: str, value: Any) -> None:
    named(name, lambda: Agent(**({"name": "a", "model": MODEL} | {name: value})))


@pytest.mark.parametrize(("name", "value"), cases(LATER))
def test_of_a_run(name: str, value: Any) -> None:
    for driving in (AGENT.prompt("go"), AGENT.resume(AgentRun.start("go"))):
        named(name, lambda driving=driving: getattr(driving, name)(value))  # type: ignore[misc]


@pytest.mark.parametrize(("name", "value"), cases(ONCE))
def test_of_a_new_run(name: str, value: Any) -> None:
    named(name, lambda: getattr(AGENT.prompt("go"), name)(value))


@pytest.mark.parametrize(("name", "value"), cases(GOING_ON))
def test_of_a_run_that_goes_on(name: str, value: Any) -> None:
    named(name, lambda: getattr(AGENT.resume(AgentRun.start("go")), name)(value))


def test_of_the_others() -> None:
    named("prompt", lambda: AGENT.prompt(3))  # type: ignore[arg-type]
    named("reconcile", lambda: AGENT.resume(AgentRun.start("go")).reconcile("c1", "odd"))
    for name, value in (("tries", 0), ("first", -1), ("cap", "x")):
        named(name, lambda name=name, value=value: Retries(**{name: value}))  # type: ignore[misc]
    for name in ("model", "tool", "raised"):
        named(name, lambda name=name: Ambiguity(**{name: "odd"}))  # type: ignore[misc]
    for name, value in (
        ("timeout", "3"), ("timeout", -1), ("idempotency", "yes"), ("needs_approval", "yes"), ("failure", "x"),
        ("thread", "x"),
    ):  # fmt: skip
        named(name, lambda name=name, value=value: tool(name="f", **{name: value})(lambda: 1))  # type: ignore[misc]
    named("timeout", lambda: MCPServer("m", command="x", timeout="3"))  # type: ignore[arg-type]
    named("workers", lambda: Network("n", workers="2"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is no model"):
        Agent("a", object())


async def test_what_can_be_so_is_taken() -> None:
    agent = Agent(
        "a", MODEL, max_turns=1, max_invalid_retries=0, token_budget=9, concurrency=0, temperature=1, max_tokens=1,
        params={"a": [1]}, tool_choice=["look"], output={"type": "object"}, output_mode="native",
        retries=Retries(first=0), tools=(made for made in (tool(name="look")(lambda: 1),)),
    )  # fmt: skip
    asked = (
        agent.prompt("go")
        .tool_choice(iter(["look"]))
        .tool_choice("auto")
        .concurrency(2)
        .history([])
        .conversation("")
        .control(Control())
    )
    result = await asked.token_budget(1000).run()
    assert result.status == "completed"
