"""runinspect: look at runs of agents and dataflow networks, and resume them.

The names of the library are loaded when they are asked for, so that the command starts quickly.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_WHERE = {
    "dataflow.actors": ("action", "actor", "emit"),
    "dataflow.codec": ("Codec",),
    "runner.agent": ("Agent",),
    "runner.ambiguity": ("Ambiguity",),
    "runner.drive": ("Control",),
    "runner.errors": ("ModelError", "RequestError", "ResumeRefused", "RunClosed", "RunFailed", "RunnerError"),
    "runner.hooks": ("Hook",),
    "runner.leg": ("Retries", "Telemetry"),
    "runner.machine": ("AgentRun",),
    "runner.mcp": ("MCPServer",),
    "runner.memory": ("FileMemory", "InMemory", "Memory", "StoreMemory"),
    "runner.messages": ("Call", "Media", "Message", "ModelTurn", "Reasoning", "Result", "Text", "Usage"),
    "runner.models": ("Model", "ModelRequest", "ScriptedModel"),
    "runner.network.result": ("NetworkResult",),
    "runner.network.run": ("Network",),
    "runner.otel": ("OpenTelemetry",),
    "runner.outbox": ("JsonLines",),
    "runner.outcomes": ("ExistingOwner", "Started", "TerminalReplay"),
    "runner.providers": ("openai_model",),
    "runner.result": ("PendingCall", "RunResult"),
    "runner.tools": ("ToolContext", "ToolError", "ToolRefused", "tool"),
    "errors": ("InspectorError", "StoreError", "UsageError"),
    "store": ("open_store",),
    "store.store": ("Store",),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

if TYPE_CHECKING:
    from inspector.dataflow.actors import action as action
    from inspector.dataflow.actors import actor as actor
    from inspector.dataflow.actors import emit as emit
    from inspector.dataflow.codec import Codec as Codec
    from inspector.errors import InspectorError as InspectorError
    from inspector.errors import StoreError as StoreError
    from inspector.errors import UsageError as UsageError
    from inspector.runner.agent import Agent as Agent
    from inspector.runner.ambiguity import Ambiguity as Ambiguity
    from inspector.runner.drive import Control as Control
    from inspector.runner.errors import ModelError as ModelError
    from inspector.runner.errors import RequestError as RequestError
    from inspector.runner.errors import ResumeRefused as ResumeRefused
    from inspector.runner.errors import RunClosed as RunClosed
    from inspector.runner.errors import RunFailed as RunFailed
    from inspector.runner.errors import RunnerError as RunnerError
    from inspector.runner.hooks import Hook as Hook
    from inspector.runner.leg import Retries as Retries
    from inspector.runner.leg import Telemetry as Telemetry
    from inspector.runner.machine import AgentRun as AgentRun
    from inspector.runner.mcp import MCPServer as MCPServer
    from inspector.runner.memory import FileMemory as FileMemory
    from inspector.runner.memory import InMemory as InMemory
    from inspector.runner.memory import Memory as Memory
    from inspector.runner.memory import StoreMemory as StoreMemory
    from inspector.runner.messages import Call as Call
    from inspector.runner.messages import Media as Media
    from inspector.runner.messages import Message as Message
    from inspector.runner.messages import ModelTurn as ModelTurn
    from inspector.runner.messages import Reasoning as Reasoning
    from inspector.runner.messages import Result as Result
    from inspector.runner.messages import Text as Text
    from inspector.runner.messages import Usage as Usage
    from inspector.runner.models import Model as Model
    from inspector.runner.models import ModelRequest as ModelRequest
    from inspector.runner.models import ScriptedModel as ScriptedModel
    from inspector.runner.network.result import NetworkResult as NetworkResult
    from inspector.runner.network.run import Network as Network
    from inspector.runner.otel import OpenTelemetry as OpenTelemetry
    from inspector.runner.outbox import JsonLines as JsonLines
    from inspector.runner.outcomes import ExistingOwner as ExistingOwner
    from inspector.runner.outcomes import Started as Started
    from inspector.runner.outcomes import TerminalReplay as TerminalReplay
    from inspector.runner.providers import openai_model as openai_model
    from inspector.runner.result import PendingCall as PendingCall
    from inspector.runner.result import RunResult as RunResult
    from inspector.runner.tools import ToolContext as ToolContext
    from inspector.runner.tools import ToolError as ToolError
    from inspector.runner.tools import ToolRefused as ToolRefused
    from inspector.runner.tools import tool as tool
    from inspector.store import open_store as open_store
    from inspector.store.store import Store as Store

__all__ = [
    "Agent",
    "AgentRun",
    "Ambiguity",
    "Call",
    "Codec",
    "Control",
    "ExistingOwner",
    "FileMemory",
    "Hook",
    "InMemory",
    "InspectorError",
    "JsonLines",
    "MCPServer",
    "Media",
    "Memory",
    "Message",
    "Model",
    "ModelError",
    "ModelRequest",
    "ModelTurn",
    "Network",
    "NetworkResult",
    "OpenTelemetry",
    "PendingCall",
    "Reasoning",
    "RequestError",
    "Result",
    "ResumeRefused",
    "Retries",
    "RunClosed",
    "RunFailed",
    "RunResult",
    "RunnerError",
    "ScriptedModel",
    "Started",
    "Store",
    "StoreError",
    "StoreMemory",
    "Telemetry",
    "TerminalReplay",
    "Text",
    "ToolContext",
    "ToolError",
    "ToolRefused",
    "Usage",
    "UsageError",
    "action",
    "actor",
    "emit",
    "open_store",
    "openai_model",
    "tool",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
