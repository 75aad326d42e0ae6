"""Messages to a run that works: delivered behind the batch, reopening an answer, or refused; never lost."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, Control, Hook, RunClosed, ScriptedModel, tool


def agent_of(control: Control, at: str, message: str = "hurry", **options: Any) -> Agent:
    """An agent whose run is told something at an event."""

    @tool(needs_approval=options.pop("gate", False))
    def work() -> str:
        if at == "tool":
            control.steer(message)
        return "worked"

    class Tell(Hook):
        def __init__(self) -> None:
            setattr(self, f"on_{at}" if at != "tool" else "on_run_settled", self._tell)
            self.told = False

        def _tell(self, event: Any) -> None:
            if at != "tool" and not self.told:
                self.told = True
                control.steer(message)

    def answer(messages: Any) -> Any:
        texts = [item.text for item in messages if item.role == "user" and item.text]
        done = any(item.role == "user" and not item.text for item in messages)
        return " ".join(texts) if done else [Call("work")]

    return Agent("a", ScriptedModel(answer), tools=[work], hooks=[Tell()], **options)


@pytest.mark.parametrize("at", ["completion_call", "tool_call", "tool", "tool_result"])
async def test_a_message_is_delivered_behind_the_batch(at: str) -> None:
    control = Control()
    result = await agent_of(control, at).prompt("go").control(control).run()
    assert result.output == "go hurry"
    assert [message.text for message in result.messages] == ["go", "", "", "hurry", "go hurry"]


async def test_a_message_reopens_an_answer() -> None:
    control = Control()
    agent = agent_of(control, "model_turn_finished", max_turns=3)
    agent.setup.hooks[0].told = True  # type: ignore[attr-defined]

    class Late(Hook):
        def on_model_turn_finished(self, event: Any) -> None:
            if event.turn == 2:
                control.steer("one more thing")

    result = await agent.prompt("go").add_hook(Late()).control(control).run()
    assert result.output == "go one more thing"


async def test_a_message_without_a_turn_left_is_told_to_be_undelivered() -> None:
    control = Control()
    result = await agent_of(control, "tool_result", max_turns=2).prompt("go").control(control).run()
    assert result.output == "go hurry"

    class Late(Hook):
        def on_model_turn_finished(self, event: Any) -> None:
            if event.turn == 2:
                late.steer("too late")

    late = Control()
    result = await agent_of(late, "tool", max_turns=2).prompt("go").add_hook(Late()).control(late).run()
    assert (result.status, result.output) == ("completed", "go hurry")
    assert [message.text for message in result.undelivered] == ["too late"]
    with pytest.raises(RunClosed):
        late.steer("much too late")


async def test_a_message_to_a_suspended_run_is_saved_with_it(tmp_path: Path) -> None:
    control = Control()
    agent = agent_of(control, "model_turn_finished", gate=True)
    first = await agent.prompt("go").control(control).run(trace=str(tmp_path / "a.jsonl"))
    assert first.status == "suspended"
    with pytest.raises(RunClosed, match="suspended"):
        control.steer("now?")
    result = await agent.resume(first.trace).approve("c1").run()
    assert result.output == "go hurry"


async def test_a_message_to_a_stopped_run_is_saved_with_it() -> None:
    control = Control()

    class Stop(Hook):
        def on_tool_result(self, event: Any) -> None:
            control.stop()
            control.steer("and this")

    @tool
    def work() -> str:
        return "worked"

    agent = Agent("a", ScriptedModel([Call("work")], lambda m: m[-1].text), tools=[work], hooks=[Stop()])
    first = await agent.prompt("go").control(control).run()
    assert first.status in ("interrupted", "suspended")
    assert (await agent.resume(first.run).run()).output == "and this"


async def test_a_run_that_is_stopped_behind_its_last_call_tells_of_the_batch_once(tmp_path: Path) -> None:
    control = Control()

    class Stop(Hook):
        def on_tool_result(self, event: Any) -> None:
            control.stop()

    @tool
    def work() -> str:
        return "worked"

    agent = Agent("a", ScriptedModel([Call("work")], "done"), tools=[work], hooks=[Stop()])
    first = await agent.prompt("go").control(control).run(trace=str(tmp_path / "a.jsonl"))
    assert first.status == "suspended"
    records = [json.loads(line) for line in Path(first.trace).read_text().splitlines()]
    steps = [(record["step"]["kind"], record["step"]["status"]) for record in records if record["record"] == "step"]
    assert steps == [("model", "done"), ("tools", "done")]
    assert (await agent.resume(first.trace).run()).output == "done"


async def test_from_another_thread() -> None:
    control = Control()

    @tool
    async def wait() -> str:
        await asyncio.to_thread(threading.Thread(target=control.steer, args=("from afar",)).run)
        return "ok"

    agent = Agent("a", ScriptedModel([Call("wait")], lambda messages: messages[-1].text), tools=[wait])
    assert (await agent.prompt("go").control(control).run()).output == "from afar"
