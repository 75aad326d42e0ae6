"""Agent runs: a machine that asks for effects, and one loop that performs them.

`messages`, `data` and `effects` are values; `machine` is the machine; nothing of these waits, reads a clock
or knows a model. Public names are loaded when they are asked for.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.runner.effects import CallModel, CallTools, Done, ResolveCall, Wait
    from inspector.runner.machine import AgentRun
    from inspector.runner.messages import Call, Json, Media, Message, ModelTurn, Reasoning, Result, Text, Usage

_WHERE = {
    "effects": ("CallModel", "CallTools", "Done", "ResolveCall", "Wait"),
    "machine": ("AgentRun",),
    "messages": ("Call", "Json", "Media", "Message", "ModelTurn", "Reasoning", "Result", "Text", "Usage"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "AgentRun",
    "Call",
    "CallModel",
    "CallTools",
    "Done",
    "Json",
    "Media",
    "Message",
    "ModelTurn",
    "Reasoning",
    "ResolveCall",
    "Result",
    "Text",
    "Usage",
    "Wait",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
