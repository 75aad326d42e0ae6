"""Telling others what happens in a durable run: its events go from the store to a sink, each at least once.

An event has its id and its text from the write that made it; it is never made again. A sink that drops an id which
it has taken in before sees each once.
"""

import asyncio
import contextlib
import fcntl
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from inspector.errors import StoreError
from inspector.journal import ClaimedJournal
from inspector.runner.threads import Threads, being_cancelled

Sink = Callable[[str, Mapping[str, Any]], Awaitable[None] | None]
"""Takes an event's id and what it says; when it returns, the event counts as delivered. A plain function is called in a
thread, one call at a time, so that it may block; an `async` one in the loop."""


class JsonLines:
    """A sink that appends events to a file, each once, also when several processes do: a line with its `id`, flushed to
    the disk."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: set[str] = set()
        self._read = 0

    def __call__(self, event_id: str, event: Mapping[str, Any]) -> None:
        """Append an event, unless it is there. Raises OSError."""
        with open(self.path, "ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
            self._catch_up(file)
            if event_id in self._known:
                return
            end = file.seek(0, os.SEEK_END)
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                file.write(b"\n")  # a line that was cut short is none
            file.write(json.dumps({"id": event_id, **event}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _catch_up(self, file: BinaryIO) -> None:
        if os.fstat(file.fileno()).st_size < self._read:
            self._known, self._read = set(), 0  # it was begun anew
        file.seek(self._read)
        for line in file:
            if line.endswith(b"\n"):  # else it may have been cut short
                self._read += len(line)
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                self._known.add(json.loads(line)["id"])


class Outbox:
    """Delivers the events of a run while it is driven, and what is left of them at its end. What a sink does not
    take stays pending for the next time."""

    def __init__(self, journal: ClaimedJournal, sink: Sink | None) -> None:
        self.journal, self.sink = journal, sink
        self.left = 0
        """How many events are pending at the end."""
        self._inline = sink is not None and _is_async(sink)
        self._threads = Threads("events")
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self.sink is not None:
            self.journal.wrote = self._wake.set
            self._task = asyncio.ensure_future(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            if kind is None:
                self._closing = True  # what is being delivered is not delivered again beside it
                self._wake.set()
            else:
                self._task.cancel()
                self._threads.close()
            await asyncio.gather(self._task, return_exceptions=True)
        if kind is None:
            await self.finish()

    async def finish(self) -> None:
        """Deliver what is left, and acknowledge the end of the run when nothing is."""
        try:
            if self.sink is not None:
                await self._deliver()
            self.left = len(self.journal.pending())
            self.journal.acknowledge()
        except StoreError:
            pass  # the run's end is written: the rest can be done by whoever asks next
        finally:
            self._threads.close()

    async def _follow(self) -> None:
        while not self._closing:
            await self._wake.wait()
            self._wake.clear()
            await self._deliver()

    async def _deliver(self) -> None:
        assert self.sink is not None
        for event in self.journal.pending():
            try:
                await self._tell(event.id, msgspec.json.decode(event.payload))
            except (Exception, SystemExit, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and being_cancelled():
                    raise
                return  # those behind it wait for it: events are told in their order
            self.journal.delivered(event)

    async def _tell(self, event_id: str, event: Mapping[str, Any]) -> None:
        sink = self.sink
        assert sink is not None
        taken = sink(event_id, event) if self._inline else await self._threads.run(lambda: sink(event_id, event))
        if taken is not None:
            await taken


def _is_async(sink: Sink) -> bool:
    return inspect.iscoroutinefunction(sink) or inspect.iscoroutinefunction(type(sink).__call__)
