"""The registry: the tools of an agent, in order, and the snapshot that one turn is offered.

The last registration of a name wins and keeps its slot. A snapshot pins definitions and implementations, so
a tool that comes or goes shows in the next turn, never in the middle of one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from inspector.model.run import Tool
from inspector.runner.errors import RequestError
from inspector.runner.tools import AnyTool, as_tool


@runtime_checkable
class ToolSource(Protocol):
    """Something that has tools which may change: an MCP server, a retriever. `query` is the text that the
    turn is about; None on a resume, when nothing is searched for. `offered` False: its tools can be
    dispatched, and only those that it retrieves for a query are offered."""

    name: str

    async def tools(self, query: str | None) -> Sequence[AnyTool]:
        """What it offers now."""

    async def all_tools(self) -> Sequence[AnyTool]:
        """Everything that it can dispatch."""

    async def open(self) -> None:
        """Connect, if it must. Called before each run; opening twice is nothing."""

    async def close(self) -> None:
        """Give back what `open` took."""


class Snapshot:
    """The tools of one turn, by name."""

    def __init__(self, tools: Mapping[str, AnyTool]) -> None:
        self.tools = tools

    def specs(self) -> tuple[Tool, ...]:
        """Their definitions, in order."""
        return tuple(tool.spec for tool in self.tools.values())

    def narrowed(self, names: Iterable[str] | None) -> "Snapshot":
        """Only these tools. Raises RequestError for one that is not there."""
        if names is None:
            return self
        wanted = list(names)
        if missing := [name for name in wanted if name not in self.tools]:
            raise RequestError("active_tools", f"there is no tool {', '.join(missing)}")
        return Snapshot({name: tool for name, tool in self.tools.items() if name in wanted})


class Registry:
    """All tools of an agent: functions, and sources of others."""

    def __init__(self, given: Iterable[object]) -> None:
        self.sources: list[ToolSource] = []
        self._local: dict[str, AnyTool] = {}
        for item in given:
            if isinstance(item, ToolSource):
                self.sources.append(item)
            else:
                made = as_tool(item)
                self._local[made.spec.name] = made

    @property
    def local(self) -> Sequence[AnyTool]:
        """The tools that need no source."""
        return list(self._local.values())

    async def snapshot(self, query: str | None) -> Snapshot:
        """What a turn about `query` is offered: retrieved tools first; local ones win over others of their
        name."""
        found: dict[str, AnyTool] = {}
        for source in self.sources:
            for tool in await source.tools(query):
                found[tool.spec.name] = tool
        return Snapshot(found | self._local)

    async def everything(self) -> Snapshot:
        """Whatever can be dispatched, also what is only retrieved: for a batch that was offered in an
        earlier process. Nothing is searched for."""
        found: dict[str, AnyTool] = {}
        for source in self.sources:
            for tool in await source.all_tools():
                found[tool.spec.name] = tool
        return Snapshot(found | self._local)
