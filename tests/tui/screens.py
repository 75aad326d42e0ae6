"""The app over made-up runs, and how to wait for it without waiting for a time."""

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import groupby
from typing import TypeVar

import pytest
from textual import events
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from inspector.model.source import RunSet
from inspector.tui.app import Inspector
from inspector.tui.line import text_of
from inspector.tui.rows import Rows
from inspector.tui.runscreen import RunScreen
from tests.tui import fakes

Kind = TypeVar("Kind")
WIDE = (120, 40)
NARROW = (80, 24)
LONGEST = 120
"""Seconds after which something that does not come is missing, also where much else runs."""


async def settle(pilot: Pilot[object]) -> None:
    """Wait until the loader is idle and every report is handled."""
    app = pilot.app
    assert isinstance(app, Inspector)
    calm, end = 0, time.monotonic() + LONGEST
    while time.monotonic() < end:
        await pilot.pause(0.005)
        calm = calm + 1 if app.desk and app.desk.loader.idle and _complete(app.desk.run) else 0
        if calm >= 3:
            await pilot.pause()
            return
    run = app.desk.run if app.desk else None
    wanted = run.session.wanted_rows(run.timeline.in_sight) if run is not None else None
    known = (len(run.session.columns), run.session.last, run.session.state()) if run is not None else None
    pytest.fail(
        f"the app does not come to rest: {app.screen}, idle {app.desk and app.desk.loader.idle}, {wanted}, {known}"
    )


async def until(pilot: Pilot[object], so: Callable[[], object]) -> None:
    """Wait for something that a thread brings about."""
    end = time.monotonic() + LONGEST
    while not so():
        assert time.monotonic() < end, "waited in vain"
        await pilot.pause(0.005)


def _complete(screen: RunScreen | None) -> bool:
    """Whether everything that is in sight is there; what another page covers asks for nothing until it is seen."""
    if screen is None or not screen.is_active:
        return True
    snapshot = screen.session.state()
    return (
        not screen.session.wanted_rows(screen.timeline.in_sight)
        and len(screen.session.columns) == screen.session.last
        and (snapshot is None or not snapshot.loading or not screen.pane.display)
    )


def app_for(
    monkeypatch: pytest.MonkeyPatch,
    runs: RunSet,
    path: str = "runs",
    gate: threading.Event | None = None,
    **options: object,
) -> Inspector:
    """The app, opening these runs instead of a file, when the `gate` opens."""
    monkeypatch.setattr("inspector.formats.open_path", fakes.opener(runs, gate))
    return Inspector(path, now=lambda: fakes.NOW, **options)  # type: ignore[arg-type]


@asynccontextmanager
async def shown(
    monkeypatch: pytest.MonkeyPatch, runs: RunSet, size: tuple[int, int] = WIDE, **options: object
) -> AsyncIterator[tuple[Inspector, Pilot[object], list[Message]]]:
    """The app at rest, its pilot, and the messages that pass from now on."""
    app = app_for(monkeypatch, runs, **options)
    messages: list[Message] = []
    async with app.run_test(size=size, message_hook=messages.append) as pilot:
        await settle(pilot)
        messages.clear()
        yield app, pilot, messages


class Pasted(str):
    """A text that is put where one types at once, as a terminal does: no key each, which takes its time."""


async def press(pilot: Pilot[object], *keys: str) -> None:
    """Press keys and wait for what they lead to."""
    for pasted, group in groupby(keys, lambda key: isinstance(key, Pasted)):
        if pasted:
            await until(pilot, lambda: isinstance(pilot.app.focused, Input))
            await settle(pilot)
            for text in group:
                pilot.app.post_message(events.Paste(text))
            await settle(pilot)
        else:
            await pilot.press(*group)
    await settle(pilot)


def run_screen(app: Inspector) -> RunScreen:
    assert app.desk is not None
    assert app.desk.run is not None
    return app.desk.run


def reports(messages: list[Message], kind: type[Kind]) -> list[Kind]:
    """The reports of a kind among the messages that passed."""
    found: list[Kind] = []
    for message in messages:
        if isinstance(message, Inspector.Reported) and isinstance(message.report, kind) and message.report not in found:
            found.append(message.report)
    return found


def texts(app: Inspector) -> list[str]:
    """The screen's rows of text as they are painted."""
    width, height = app.size
    lines = [""] * height
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        lines[y] = strip.text.rstrip()
    assert all(len(line) <= width for line in lines)
    return lines


def row_texts(rows: Rows) -> list[str]:
    """All lines of a list."""
    return [text_of(rows.lines[index]) for index in range(len(rows.lines))]
