"""LangGraph stores made by hand: the tables, and a thread that keeps its versions as LangGraph does."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

NULL = "00000000-0000-0000-0000-000000000000"


def ext(code: int, *parts: Any) -> msgspec.msgpack.Ext:
    """An extension as LangGraph's serializer writes it: 0 (module, name, argument), 1 (.., arguments),
    2 (.., keywords), 3 (.., argument, method), 4 and 5 (.., fields, method), 7 (a snapshot's value)."""
    return msgspec.msgpack.Ext(code, msgspec.msgpack.encode(parts[0] if code == 7 else parts))


def human(text: str) -> msgspec.msgpack.Ext:
    fields = {"content": text, "type": "human", "id": None}
    return ext(5, "langchain_core.messages.human", "HumanMessage", fields, "model_validate_json")


def ai(text: Any, *calls: tuple[str, str, Any], **more: Any) -> msgspec.msgpack.Ext:
    asked = [
        {"name": name, "args": arguments, "id": call_id, "type": "tool_call"} for call_id, name, arguments in calls
    ]
    fields = {"content": text, "type": "ai", "tool_calls": asked, "invalid_tool_calls": [], **more}
    return ext(5, "langchain_core.messages.ai", "AIMessage", fields, "model_validate_json")


def result(call_id: str, text: str) -> msgspec.msgpack.Ext:
    fields = {"content": text, "type": "tool", "tool_call_id": call_id, "name": None}
    return ext(5, "langchain_core.messages.tool", "ToolMessage", fields, "model_validate_json")


def send(node: str, argument: Any, module: str = "langgraph.types") -> msgspec.msgpack.Ext:
    return ext(1, module, "Send", [node, argument])


def interrupt(value: Any, name: str = "int-1", **more: Any) -> msgspec.msgpack.Ext:
    return ext(2, "langgraph.types", "Interrupt", {"value": value, "id": name, **more})


def packed(value: Any) -> tuple[str, bytes]:
    """The type and bytes of a value, as LangGraph stores it."""
    return ("null", b"") if value is None else ("msgpack", msgspec.msgpack.encode(value))


class Base:
    """The database at `path`; `paths`: whether writes name their task by its path (checkpoint-sqlite 3)."""

    def __init__(self, path: Path, *, paths: bool = True) -> None:
        self.path, self.paths = path, paths
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(
            "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', "
            "checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, "
            "PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));"
            "CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', "
            "checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, "
            + ("task_path TEXT NOT NULL DEFAULT '', " if paths else "")
            + "idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB, "
            "PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));"
        )

    def checkpoint(self, key: Sequence[Any], kind: Any, data: Any, metadata: Any) -> None:
        """A row: `key` is thread, namespace, id, parent."""
        self.connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", (*key, kind, data, metadata))

    def write(
        self, key: Sequence[Any], task: str, path: str, position: int, channel: str, kind: Any, data: Any
    ) -> None:
        named = (path,) if self.paths else ()
        values = (*key, task, *named, position, channel, kind, data)
        marks = ", ".join("?" * len(values))
        self.connection.execute(f"INSERT OR REPLACE INTO writes VALUES ({marks})", values)

    def close(self) -> Path:
        self.connection.close()
        return self.path


class Thread:
    """A thread in one namespace. Each method stands for something LangGraph does."""

    def __init__(
        self,
        base: Base,
        name: str = "t",
        namespace: str = "",
        *,
        version: int = 4,
        begin: int = 1,
        pack: Callable[[Any], tuple[str, bytes]] = packed,
    ) -> None:
        self.base, self.name, self.namespace, self.version, self.pack = base, name, namespace, version, pack
        self.number, self.step = begin, -2
        self.id: str | None = None
        self.values: dict[str, Any] = {}
        self.versions: dict[str, str] = {}
        self.seen: dict[str, dict[str, str]] = {"__input__": {}}
        self.metadata: dict[str, Any] = {}

    def input(self, value: Any) -> str:
        """What `invoke` is given."""
        self._bump({"__start__": value})
        return self._put("input")

    def start(self, sets: Mapping[str, Any], then: Sequence[str] = ()) -> str:
        """The step that takes the input in."""
        return self.ran({"__start__": sets}, then=then)

    def ran(
        self,
        nodes: Mapping[str, Mapping[str, Any]],
        *,
        then: Sequence[str] = (),
        sends: Sequence[Any] = (),
        stored: bool = True,
    ) -> str:
        """A step: what each node set, the nodes that come next, and the tokens for others. `stored`: whether
        the writes are kept, as they are unless the durability is `exit`."""
        pushed = len(self.values.pop("__pregel_tasks", []))
        triggers = {f"branch:to:{node}": None for node in then} | ({"__pregel_tasks": list(sends)} if sends else {})
        for index, (node, sets) in enumerate(nodes.items()):
            trigger = "__start__" if node == "__start__" else f"branch:to:{node}"
            if trigger in self.values:
                self.seen.setdefault(node, {})[trigger] = self.versions[trigger]
                del self.values[trigger]
                path = f"~__pregel_pull, {node}"
            else:
                self.seen.setdefault(node, {})
                path = f"~__pregel_push, {index % max(pushed, 1):010}, 0000000000"
            if stored:
                self.wrote(node, {**sets, **(triggers if index == 0 else {})} or {"__no_writes__": None}, path=path)
        self._bump({channel: value for sets in nodes.values() for channel, value in sets.items()} | triggers)
        return self._put("loop")

    def wrote(self, node: str, values: Mapping[str, Any], *, path: str | None = None, task: str | None = None) -> None:
        """What a task has written since the last checkpoint; errors, questions and answers too."""
        named = f"~__pregel_pull, {node}" if path is None else path
        fixed = {"__error__": -1, "__interrupt__": -3, "__resume__": -4}
        key = (self.name, self.namespace, self.id)
        told = {channel: value for channel, value in values.items() if value is not ABSENT}
        for position, (channel, value) in enumerate(told.items()):
            for more, item in enumerate(value if channel == "__pregel_tasks" else [value]):
                place = fixed.get(channel, position + more)
                self.base.write(key, task or f"task-{node}-{named}", named, place, channel, *self.pack(item))

    def resumed(self, value: Any) -> None:
        """What `Command(resume=...)` leaves."""
        self.base.write((self.name, self.namespace, self.id), NULL, "", -4, "__resume__", *self.pack(value))

    def made(self, source: str, sets: Mapping[str, Any], then: Sequence[str] = ()) -> str:
        """A checkpoint by hand: `update` or `fork`."""
        self._bump({**sets, **{f"branch:to:{node}": None for node in then}})
        return self._put(source)

    def back(self, checkpoint_id: str | None, values: Mapping[str, Any], step: int) -> None:
        """Goes on from an earlier checkpoint."""
        self.id, self.values, self.step = checkpoint_id, dict(values), step

    def _bump(self, values: Mapping[str, Any]) -> None:
        self.number += 1
        for channel, value in values.items():
            self.values[channel] = value
            self.versions[channel] = f"{self.number:032}.0.5"

    def _put(self, source: str) -> str:
        self.step += 1
        made = f"1f1ec0b0-{self.number:04x}-6{self.number:03x}-8000-00000000{hash_of(self.name):04x}"
        checkpoint = {
            "v": self.version,
            "ts": f"2026-11-29T13:08:{self.number % 60:02}.000000+00:00",
            "id": made,
            "channel_values": {name: value for name, value in self.values.items() if value is not ABSENT},
            "channel_versions": self.versions,
            "versions_seen": self.seen,
        }
        metadata = {"source": source, "step": self.step, "parents": {}, **self.metadata}
        key = (self.name, self.namespace, made, self.id)
        self.base.checkpoint(key, *self.pack(checkpoint), json.dumps(metadata).encode())
        self.id = made
        return made


ABSENT = object()
"""A channel that is not in the checkpoint: only its version is."""


def hash_of(text: str) -> int:
    """A small number for a name, the same each time."""
    return sum(index * byte for index, byte in enumerate(text.encode(), 1)) % 0xFFFF
