"""MCP servers: real processes, by standard streams and by HTTP."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, Hook, MCPServer, ScriptedModel, tool
from inspector.runner.messages import Result

ROOT = Path(__file__).parent.parent.parent


def stdio(**options: Any) -> MCPServer:
    given = {"command": sys.executable, "args": ["-m", "tests.runner.mcp_server", "stdio"], "cwd": str(ROOT)}
    return MCPServer("shop", **given | options)  # type: ignore[arg-type]


def results(result: Any) -> list[tuple[str, str | None]]:
    parts = [part for message in result.messages for part in message.content if isinstance(part, Result)]
    return [(part.text, part.kind) for part in parts]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.runner.mcp_server", "http", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            subprocess.run(["sleep", "0.05"], check=True)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


SCRIPT = (
    [Call("price", {"item": "tea"}), Call("fail"), Call("price", {"thing": 1})],
    [Call("grow")],
    [Call("extra")],
    "done",
)


class Patient(Hook):
    """Waits for the word that the list changed, which comes when it comes."""

    def __init__(self, server: MCPServer) -> None:
        self.server = server

    async def on_tool_result(self, event: Any) -> None:
        for _ in range(400):
            if event.name != "grow" or self.server._stale:
                return
            await asyncio.sleep(0.05)


async def talk(server: MCPServer) -> None:
    agent = Agent("a", ScriptedModel(*SCRIPT), tools=[server], hooks=[Patient(server)])
    result = await agent.prompt("go").run()
    assert result.status == "completed", result.error
    told = results(result)
    assert told[0] == ("tea: 5", None)
    assert told[1][1] == "other"
    assert "out of order" in told[1][0]
    assert told[2][1] == "invalid_args"
    assert told[3:] == [("grown", None), ("here now", None)]  # offered after the list changed
    specs = result.run.data.definition.tools  # type: ignore[union-attr]
    assert specs is not None
    assert [spec.name for spec in specs][:2] == ["price", "fail"]
    assert specs[0].description == "What an item costs."


async def test_by_standard_streams() -> None:
    await talk(stdio())


async def test_by_http(url: str) -> None:
    await talk(MCPServer("shop", url=url))


async def test_approval_resume_and_trusted_hints() -> None:
    server = stdio(needs_approval={"price"}, trust_hints=True, prefix="shop_", only=["price"])
    agent = Agent("a", ScriptedModel([Call("shop_price", {"item": "tea"})], "done"), tools=[server])
    async with agent:
        first = await agent.prompt("go").run()
        assert (first.status, [call.name for call in first.pending]) == ("suspended", ["shop_price"])
        (spec,) = first.run.data.definition.tools  # type: ignore[union-attr,misc]
        assert (spec.idempotency, spec.needs_approval) == ("supported", True)
        result = await agent.resume(first.run).approve("c1").run()
    assert results(result) == [("tea: 5", None)]
    again = (
        await Agent("a", ScriptedModel([Call("x")], "done"), tools=[stdio(only=["price"], prefix="shop_")])
        .resume(first.run)
        .approve("c1")
        .accept("hook_missing", "tool_changed")
        .run()
    )
    assert again.status == "completed"


async def test_a_local_tool_of_the_name_wins_and_several_runs_share_a_connection() -> None:
    mine = tool(name="price")(lambda item: "mine")
    agent = Agent("a", ScriptedModel([Call("price", {"item": "x"})], "done"), tools=[stdio(), mine])
    async with agent:
        found = await asyncio.gather(*(agent.prompt("go").run() for _ in range(3)))
    assert [results(result) for result in found] == [[("mine", None)]] * 3


async def test_a_server_that_cannot_be_reached_fails_the_run_before_it_begins() -> None:
    from inspector import RequestError

    for server in (MCPServer("gone", command="no-such-program-here"), MCPServer("gone", url="http://127.0.0.1:9/mcp")):
        with pytest.raises(RequestError, match="gone: the MCP server cannot be reached"):
            await Agent("a", ScriptedModel("x"), tools=[server]).prompt("go").run()
    with pytest.raises(TypeError):
        MCPServer("both", command="x", url="y")


async def test_a_server_that_is_gone_has_no_tools() -> None:
    server = stdio()
    await server.open()
    assert len(await server.all_tools()) == 3
    await server.close()
    assert await server.all_tools() == []
