"""Tools of an MCP server, through the `mcp` SDK (the extra `mcp`).

A server is started (stdio) or reached (streamable HTTP) when a run begins, and asked for its tools again
whenever it says that they changed. One that is lost is started or reached anew before its tools are needed again, and
has none while that fails; a call that it was lost in may have happened. What it says of itself (`idempotentHint`
and the like) counts only when it is trusted, since a call that may have happened would be repeated on its
word.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspector.errors import UsageError
from inspector.model.values import Value, to_json
from inspector.runner.errors import RequestError
from inspector.runner.messages import Json, Media, Text, shown
from inspector.runner.options import Seconds, option
from inspector.runner.tools import AnyTool, Approval, Came, Idempotency, ToolContext, ToolError, described

INSTALL = "needs the extra `mcp`: pip install 'runinspect[mcp]'"
CONNECT = 30.0
"""Seconds to wait for a server to answer at all."""

CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, -32001
"""The codes of the SDK for an answer that did not come."""


class MCPServer:
    """An MCP server as a source of tools: `command` with `args` is started and talked to by its standard
    streams, `url` is reached by streamable HTTP. `only` are the names of the tools to take; `prefix` stands
    before each name; `needs_approval` is for all tools, or the names of those that need it."""

    def __init__(
        self,
        name: str,
        *,
        command: str | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        url: str | None = None,
        only: Iterable[str] | None = None,
        prefix: str = "",
        needs_approval: Approval | Iterable[str] = False,
        timeout: float | None = None,
        trust_hints: bool = False,
    ) -> None:
        if (command is None) == (url is None):
            raise TypeError("an MCPServer has either a command or a url")
        self.name = name
        self._command, self._args, self._cwd, self._url = command, list(args), cwd, url
        self._env = None if env is None else dict(env)
        self._only = None if only is None else set(only)
        gated = isinstance(needs_approval, bool) or callable(needs_approval)
        self._approval: Approval | set[str] = needs_approval if gated else set(needs_approval)  # type: ignore[arg-type,assignment]
        self.prefix, self.trust_hints = prefix, trust_hints
        self.timeout = option("timeout", timeout, Seconds | None)
        self._client: Any = None
        self._serving: asyncio.Task[None] | None = None
        self._closing: asyncio.Event | None = None
        self._reaching: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[list[AnyTool]] | None = None
        self._users = 0
        self._stale = True
        self._known: list[AnyTool] = []

    async def open(self) -> None:
        """Connect. Raises RequestError when the server cannot be reached, UsageError without the extra."""
        self._users += 1
        if self._client is None:
            try:
                await self._reach()
            except BaseException:
                self._users = 0
                raise

    async def _reach(self) -> None:
        """Connect, once for all who wait for it."""
        if self._reaching is None:
            self._reaching = asyncio.create_task(self._connect())
        await asyncio.shield(self._reaching)

    async def _connect(self) -> None:
        try:
            await self._disconnect()
            await self._begin()
        finally:
            self._reaching = None

    async def _begin(self) -> None:
        self._closing, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
        self._serving = asyncio.create_task(self._serve(self._closing, ready))
        try:
            await asyncio.wait_for(asyncio.shield(ready), CONNECT)
        except (UsageError, RequestError):
            raise
        except Exception as error:
            await self._disconnect()
            cause: BaseException = error
            while isinstance(cause, BaseExceptionGroup):
                cause = cause.exceptions[0]
            reason = "did not answer" if isinstance(cause, TimeoutError) else f"{type(cause).__name__}: {cause}"
            raise RequestError(self.name, f"the MCP server cannot be reached: {reason}") from error

    async def close(self) -> None:
        """Disconnect, when nobody uses it any more."""
        self._users = max(self._users - 1, 0)
        if not self._users:
            await self._disconnect()

    async def _disconnect(self) -> None:
        if self._serving is None:
            return
        assert self._closing is not None
        self._closing.set()
        serving, self._serving = self._serving, None
        await asyncio.wait({serving}, timeout=CONNECT)

    async def _serve(self, closing: asyncio.Event, ready: "asyncio.Future[None]") -> None:
        """Holds the connection. It must be opened and closed in one task, so it has one of its own."""
        try:
            async with self._connected() as client:
                self._client, self._stale = client, True
                ready.set_result(None)
                listening = asyncio.create_task(self._listen(client))
                try:
                    await closing.wait()
                finally:
                    listening.cancel()
                    await asyncio.gather(listening, return_exceptions=True)
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
        finally:
            if closing is self._closing:  # not when there is a later connection
                self._client, self._known = None, []

    def _connected(self) -> Any:
        try:
            from mcp import Client, StdioServerParameters
        except ImportError as error:
            raise UsageError(self.name, INSTALL) from error
        server: Any = self._url
        if self._command is not None:
            server = StdioServerParameters(command=self._command, args=self._args, env=self._env, cwd=self._cwd)
        return Client(server, message_handler=self._heard)

    async def _heard(self, message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._stale = True

    async def _listen(self, client: Any) -> None:
        """Servers of the newer protocol tell of changes only to those who listen."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        with contextlib.suppress(ListenNotSupportedError, SubscriptionLost, Exception):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._stale = True

    async def tools(self, query: str | None) -> Sequence[AnyTool]:
        """What the server offers now; nothing when it is gone."""
        return await self.all_tools()

    async def all_tools(self) -> Sequence[AnyTool]:
        """The same: everything that it offers can be dispatched."""
        if self._reading is None:
            if self._client is not None and not self._stale:
                return self._known
            self._reading = asyncio.create_task(self._read())  # one for all who ask meanwhile
        return await asyncio.shield(self._reading)

    async def _read(self) -> list[AnyTool]:
        """What it offers, from a connection made anew where that was lost."""
        try:
            for _ in range(2):
                if self._client is None and self._users:
                    await self._reach()
                client = self._client
                if client is None:
                    break
                self._stale = False  # before asking: a change that comes meanwhile is not lost
                try:
                    self._known = [self._tool(item) for item in await self._listed(client)]
                except Exception:
                    self._lose(client)
                else:
                    return self._known
        except (UsageError, RequestError):
            pass
        finally:
            self._reading = None
        return []

    def _lose(self, client: Any) -> None:
        if self._client is client:
            self._client, self._known = None, []

    async def _listed(self, client: Any) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            found += [item for item in page.tools if self._only is None or item.name in self._only]
            cursor = page.next_cursor
            if cursor is None:
                return found

    def _tool(self, item: Any) -> "MCPTool":
        hints = item.annotations if self.trust_hints else None
        harmless = hints is not None and (hints.read_only_hint or hints.idempotent_hint)
        approval = item.name in self._approval if isinstance(self._approval, set) else self._approval
        return MCPTool(self, item, "supported" if harmless else "unknown", approval)

    async def call(self, name: str, arguments: Value) -> Came:
        """Call a tool by the server's own name for it."""
        client = self._client
        if client is None:
            raise ToolError(f"the MCP server {self.name} is gone", "network")
        try:
            result = await client.call_tool(name, arguments, read_timeout_seconds=self.timeout)
        except Exception as error:
            if (code := getattr(error, "code", None)) == REQUEST_TIMEOUT:
                raise TimeoutError from error
            if code not in (None, CONNECTION_CLOSED):
                # It answered, so it did not do what it was asked.
                raise ToolError(f"{type(error).__name__}: {error}", "provider") from error
            self._lose(client)
            raise ConnectionError(f"the MCP server {self.name} was lost, and the call may have happened") from error
        parts = tuple(_part(item) for item in result.content)
        if result.is_error:
            raise ToolError("\n".join(shown(part) for part in parts) or "the tool failed")
        if not parts and result.structured_content is not None:
            return Came(result.structured_content)
        if len(parts) == 1 and isinstance(parts[0], Text):
            return Came(parts[0].text)
        return Came("\n".join(shown(part) for part in parts), parts=parts)


class MCPTool:
    """A tool of an MCP server."""

    def __init__(self, server: MCPServer, item: Any, idempotency: Idempotency, needs_approval: Approval) -> None:
        self._server, self._name, self._schema = server, item.name, item.input_schema
        self.needs_approval, self.timeout = needs_approval, server.timeout
        name = f"{server.prefix}{item.name}"
        self.spec = described(name, item.description, item.input_schema, idempotency, needs_approval is not False)

    def check(self, arguments: Value) -> str | None:
        """By the schema that the server gave."""
        import jsonschema

        try:
            jsonschema.validate(_plain(arguments), self._schema)
        except (jsonschema.ValidationError, jsonschema.SchemaError) as error:
            return str(error.message)
        return None

    async def run(self, arguments: Value, context: ToolContext) -> Came:
        problem = self.check(arguments)
        if problem is not None:
            raise ToolError(f"invalid arguments: {problem}", "invalid_args")
        return await self._server.call(self._name, _plain(arguments))


def _plain(arguments: Value) -> Any:
    """The arguments as the SDK takes them: no arguments are an empty object."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    return json.loads(to_json(arguments))


def _part(item: Any) -> Text | Json | Media:
    if item.type == "text":
        return Text(item.text)
    if item.type in ("image", "audio"):
        return Media(item.type, {"type": "base64", "value": item.data}, item.mime_type)
    if item.type == "resource" and hasattr(item.resource, "text"):
        return Text(item.resource.text)
    return Json(item.model_dump(mode="json", exclude_none=True))
