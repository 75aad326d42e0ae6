"""MCP servers: real processes, by standard streams and by HTTP."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, Hook, MCPServer, RequestError, ScriptedModel, Started, open_store, tool
from inspector.runner.messages import Result

ROOT = Path(__file__).parent.parent.parent


def stdio(**options: Any) -> MCPServer:
    given = {"command": sys.executable, "args": ["-m", "tests.runner.mcp_server", "stdio"], "cwd": str(ROOT)}
    return MCPServer("shop", **given | options)  # type: ignore[arg-type]


def results(result: Any) -> list[tuple[str, str | None]]:
    parts = [part for message in result.messages for part in message.content if isinstance(part, Result)]
    return [(part.text, part.kind) for part in parts]


class Http:
    """A server that is reached by HTTP, and can be stopped and started."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.start()

    def start(self) -> None:
        arguments = [sys.executable, "-m", "tests.runner.mcp_server", "http", str(self.port)]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(arguments, cwd=ROOT, stdout=quiet, stderr=quiet)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None
            subprocess.run(["sleep", "0.05"], check=True)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def http() -> Iterator[Http]:
    server = Http()
    yield server
    server.stop()


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


async def test_by_http(http: Http) -> None:
    await talk(MCPServer("shop", url=http.url))


LOST = "ConnectionError: the MCP server shop was lost, and the call may have happened"


async def test_a_call_that_a_server_died_in_may_have_happened(tmp_path: Path) -> None:
    agent = Agent("a", ScriptedModel([Call("die")], [Call("price", {"item": "tea"})], "done"), tools=[stdio()])
    store = open_store(str(tmp_path / "runs.db"))
    first = await agent.prompt("go").durable(store, "k").run()
    assert (first.status, first.reason) == ("suspended", "reconciliation")
    outcome = await agent.resume(store, "k").reconcile("c1", "failure", "it did not").run()
    assert isinstance(outcome, Started)
    assert results(outcome.result) == [("it did not", "other"), ("tea: 5", None)]


async def test_a_server_that_was_away_is_reached_again(http: Http) -> None:
    agent = Agent("a", ScriptedModel([Call("price", {"item": "tea"})], "done"), tools=[MCPServer("shop", url=http.url)])
    async with agent:
        assert results(await agent.prompt("go").run()) == [("tea: 5", None)]
        http.stop()
        assert results(await agent.prompt("go").run()) == [(LOST, "network")]
        away = await agent.prompt("go").run()
        assert (away.status, away.reason) == ("failed", "unknown_tool")  # it has no tools now
        http.start()
        found = await asyncio.gather(*(agent.prompt("go").run() for _ in range(3)))
        assert [results(result) for result in found] == [[("tea: 5", None)]] * 3


async def test_when_one_server_cannot_be_reached_none_stays_open() -> None:
    there = stdio()
    agent = Agent("a", ScriptedModel("x"), tools=[there, MCPServer("gone", url="http://127.0.0.1:9/mcp")])
    with pytest.raises(RequestError, match="gone: the MCP server cannot be reached: ConnectError"):
        await agent.prompt("go").run()
    assert await there.all_tools() == []
    assert there._serving is None


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
    for server in (MCPServer("gone", command="no-such-program-here"), MCPServer("gone", url="http://127.0.0.1:9/mcp")):
        with pytest.raises(RequestError, match="gone: the MCP server cannot be reached"):
            await Agent("a", ScriptedModel("x"), tools=[server]).prompt("go").run()
    with pytest.raises(TypeError):
        MCPServer("both", command="x", url="y")


async def test_a_server_that_is_gone_has_no_tools() -> None:
    server = stdio()
    await server.open()
    assert len(await server.all_tools()) == 4
    await server.close()
    assert await server.all_tools() == []
