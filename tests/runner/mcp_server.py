"""A real MCP server for the tests: python -m tests.runner.mcp_server stdio|http [PORT]."""

import os
import sys
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

server = MCPServer("shop")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def price(item: str) -> str:
    """What an item costs."""
    return f"{item}: 5"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("out of order")


@server.tool()
def die() -> str:
    """Ends the server, as a crash would."""
    os._exit(1)


def extra() -> str:
    """Came later."""
    return "here now"


@server.tool()
async def grow(context: Context[Any]) -> str:
    """Gives the server one more tool."""
    server.add_tool(extra)
    await context.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
