"""Memory: what was said in a conversation before, and what is said now."""

import asyncio
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from inspector.errors import UnreadableError
from inspector.journal import sync_folder
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


WORDS = 60
"""Letters of a conversation's name that its file begins with."""
T = TypeVar("T")
_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number)


def _read(text: str, kind: type[T]) -> T:
    """What was kept, each number as it was written."""
    return msgspec.convert(_decoder.decode(text), kind, str_keys=True)


class _Line(msgspec.Struct):
    key: str
    messages: tuple[Message, ...]


class FileMemory:
    """Memory in a folder: one file a conversation, one line a run, flushed to the disk. Any name of a conversation will
    do: its file is named by the digest of that, behind as much of it as every file system takes and tells apart. A
    file that is named by the name alone, as they once were, is used on. Raises UnreadableError for a damaged line."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _path(self, conversation: str) -> str:
        once = "".join(char if char.isalnum() or char in "-_" else f"%{ord(char):x}" for char in conversation)
        path = os.path.join(self.folder, f"{once}.jsonl")
        # Where case does not count, a file of another name may answer to this one.
        if os.path.exists(path) and os.path.basename(path) in os.listdir(self.folder):
            return path
        words = re.sub(r"[^a-z0-9_-]+", "-", conversation.lower())[:WORDS]
        digest = hashlib.sha256(conversation.encode("utf-8", "surrogatepass")).hexdigest()
        return os.path.join(self.folder, f"{words}.{digest[:40]}.jsonl")

    async def load(self, conversation: str) -> Sequence[Message]:
        lines = await asyncio.to_thread(self._load, conversation)
        return [message for line in lines for message in line.messages]

    def _load(self, conversation: str) -> list[_Line]:
        try:
            with open(self._path(conversation), "rb") as file:
                return _lines(file, file.name)
        except FileNotFoundError:
            return []

    async def append(self, conversation: str, messages: Sequence[Message], *, key: str) -> None:
        await asyncio.to_thread(self._append, conversation, _Line(key, tuple(messages)))

    def _append(self, conversation: str, line: _Line) -> None:
        os.makedirs(self.folder, exist_ok=True)
        with open(self._path(conversation), "ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
            file.seek(0)
            if any(known.key == line.key for known in _lines(file, file.name)):
                return
            end = file.seek(0, os.SEEK_END)
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                text = os.pread(file.fileno(), end, 0)
                file.truncate(text.rfind(b"\n") + 1)
            file.write(to_json(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if not end:
            sync_folder(self.folder)


def _lines(file: Iterable[bytes], path: str) -> list[_Line]:
    found = []
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            break  # it was cut short, and belongs to an append that will be made again
        try:
            found.append(_read(line.decode(), _Line))
        except (ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise UnreadableError(f"{path}:{number}", f"is damaged: {error}") from error
    return found


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
        return [_read(item, Message) for item in await asyncio.to_thread(self.store.session, conversation)]

    async def append(self, conversation: str, messages: Sequence[Message], *, key: str) -> None:
        items = [to_json(message) for message in messages]
        await asyncio.to_thread(self.store.add_once, conversation, key, items)
