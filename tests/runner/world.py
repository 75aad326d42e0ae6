"""A small world to drive runs in: scripts of random shape, tools that write down their effects, a memory
and a hook that write down that they were called. Its program is the same in every process."""

import json
import os
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from inspector import Agent, AgentRun, Call, Control, Hook, ScriptedModel, ToolContext, tool
from inspector.runner.hooks import EVENTS
from inspector.runner.memory import FileMemory
from inspector.runner.toolstep import idempotency_key


class StopAt(Control):
    """Stops when it was asked so many times."""

    def __init__(self, at: int) -> None:
        self.at, self.asked = at, 0
        super().__init__()

    @property
    def stopping(self) -> bool:
        self.asked += 1
        return self.asked > self.at

    @stopping.setter
    def stopping(self, value: bool) -> None: ...


TOOLS = ("look", "pay", "ask", "broken", "nothere")
Script = list[list[str] | str]
"""Turns: names of tools to call, or a text that ends the run."""

scripts = st.lists(st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3), max_size=3).map(
    lambda turns: [*turns, "end"]
)


class World:
    """Where effects are written down: `note` takes a kind and a word, and keeps them in order."""

    def __init__(self, folder: str, script: Script, note: Callable[[str, str], None]) -> None:
        self.folder, self.script, self.note = folder, script, note

    def agent(self, **options: Any) -> Agent:
        """The program of this world."""
        note = self.note

        @tool(idempotency="supported")
        async def look(context: ToolContext, n: int) -> dict[str, int]:
            note("look", context.idempotency_key)
            return {"seen": n}

        @tool
        async def pay(context: ToolContext, n: int) -> str:
            note("pay", context.idempotency_key)
            return f"paid {n}"

        @tool(needs_approval=True)
        async def ask(context: ToolContext, n: int) -> str:
            note("ask", context.idempotency_key)
            return f"done {n}"

        @tool
        async def broken(context: ToolContext, n: int) -> str:
            note("broken", context.idempotency_key)
            raise ValueError(f"no {n}")

        class Listen(Hook):
            def __init__(self) -> None:
                for event in EVENTS:
                    setattr(self, f"on_{event}", self._heard)

            def _heard(self, event: Any) -> Any:
                detail = f"{event.turn}"
                if event.kind in ("tool_call", "tool_result"):
                    detail = event.internal_id
                    event.scratch["last"] = event.internal_id
                note(event.kind, detail)
                return event.skip("not here") if event.kind == "invalid_tool_call" else None

        class Remembers(FileMemory):
            async def append(self, conversation: str, messages: Any, *, key: str) -> None:
                note("append", key)
                await super().append(conversation, messages, key=key)

        turns: list[Any] = [
            [Call(name, {"n": at}) for at, name in enumerate(turn)] if isinstance(turn, list) else turn
            for turn in self.script
        ]
        memory = Remembers(os.path.join(self.folder, "memory"))
        given: dict[str, Any] = {"model": ScriptedModel(*turns), "memory": memory, "max_turns": 20} | options
        return Agent("world", tools=[look, pay, ask, broken], hooks=[Listen()], **given)


def decided(asked: Any, run: AgentRun, happened: Callable[[str], bool], *, approve: bool) -> Any:
    """Approve what waits, and say of what may have happened whether it did, as somebody would who looks."""
    for slot in run.slots:
        internal = slot.call.internal_id
        if slot.status == "waiting" and approve:
            asked.approve(internal)
        elif slot.status == "started" and slot.call.name != "look":
            n = slot.call.arguments["n"]
            if not happened(idempotency_key(run.data.id, slot.call, slot.effective)):
                asked.reconcile(internal, "retry")
            elif slot.call.name == "broken":
                asked.reconcile(internal, "failure", f"ValueError: no {n}")
            else:
                asked.reconcile(internal, "result", f"{'paid' if slot.call.name == 'pay' else 'done'} {n}")
    return asked


def told(run: AgentRun) -> Any:
    """What must be the same however a run was cut: messages, usage, calls of the model, the scratchpad."""
    data = json.loads(run.to_json())
    return {name: data[name] for name in ("messages", "usage", "calls", "turn", "scratch", "phase", "remembered")}
