"""Memory: what was said in a conversation before, and what is said now."""

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from inspector.model.values import Number, decimal, integer, to_json
from inspector.runner.messages import Message


@runtime_checkable
class Memory(Protocol):
    """Where conversations are kept. `append` is told a key: one that it has taken in before must change
    nothing, since a process may end between the two."""

    async def load(self, conversation: str) -> Sequence[Message]:
        """All messages of a conversation, oldest first; none for an unknown one."""

    async def append(self, conversation: str, messages: Sequence[Message], *, key: str) -> None:
        """Add the messages of a finished run."""


class InMemory:
    """Memory that lasts as long as the process."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, list[Message]]] = {}

    async def load(self, conversation: str) -> Sequence[Message]:
        return [message for batch in self._kept.get(conversation, {}).values() for message in batch]

    async def append(self, conversation: str, messages: Sequence[Message], *, key: str) -> None:
        self._kept.setdefault(conversation, {}).setdefault(key, list(messages))


class _Line(msgspec.Struct):
    key: str
    messages: tuple[Message, ...]


class FileMemory:
    """Memory in a folder: one file a conversation, one line a run, flushed to the disk."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _path(self, conversation: str) -> str:
        safe = "".join(char if char.isalnum() or char in "-_" else f"%{ord(char):x}" for char in conversation)
        return os.path.join(self.folder, f"{safe}.jsonl")

    def _lines(self, conversation: str) -> list[_Line]:
        try:
            with open(self._path(conversation), "rb") as file:
                # A line that was cut short belongs to an append that will be made again.
                return [msgspec.json.decode(line, type=_Line) for line in file if line.endswith(b"\n")]
        except FileNotFoundError:
            return []

    async def load(self, conversation: str) -> Sequence[Message]:
        lines = await asyncio.to_thread(self._lines, conversation)
        return [message for line in lines for message in line.messages]

    async def append(self, conversation: str, messages: Sequence[Message], *, key: str) -> None:
        await asyncio.to_thread(self._append, conversation, _Line(key, tuple(messages)))

    def _append(self, conversation: str, line: _Line) -> None:
        if any(known.key == line.key for known in self._lines(conversation)):
            return
        os.makedirs(self.folder, exist_ok=True)
        with open(self._path(conversation), "ab+") as file:
            end = file.tell()
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                text = os.pread(file.fileno(), end, 0)
                file.truncate(text.rfind(b"\n") + 1)
            file.write(to_json(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


class Sessions(Protocol):
    """What a store of durable runs keeps besides: items in their order, each commit of them once."""

    def add_once(self, session: str, commit: str, items: Sequence[str]) -> bool:
        """Items behind a session's end; False when the commit was made before. Raises StoreError."""

    def session(self, session: str) -> Sequence[str]:
        """The items of a session."""


class StoreMemory:
    """Memory in the store of durable runs. A run that is appended again with other messages is refused."""

    def __init__(self, store: Sessions) -> None:
        self.store = store

    async def load(self, conversation: str) -> Sequence[Message]:
        return [
            msgspec.convert(_decoder.decode(item), Message, str_keys=True)
            for item in await asyncio.to_thread(self.store.session, conversation)
        ]

    async def append(self, conversation: str, messages: Sequence[Message], *, key: str) -> None:
        items = [to_json(message) for message in messages]
        await asyncio.to_thread(self.store.add_once, conversation, key, items)


_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number)
