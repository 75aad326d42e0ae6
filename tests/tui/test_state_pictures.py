"""How each tab looks: everything, nothing, not told; narrow, in ASCII, without colours."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from textual.app import App, ComposeResult

from inspector.tui.line import Opens
from inspector.tui.rows import Rows
from inspector.tui.session import StateSnapshot
from inspector.tui.statepane import StatePane, tabs
from inspector.tui.viewer import Viewer
from tests.tui import states

Snap = Callable[..., bool]
NAMES = [tab.name.lower() for tab in tabs()]


class Pane(App[None]):
    """The state pane alone."""

    CSS = "Screen { background: transparent; }"

    def __init__(self, snapshot: StateSnapshot, tab: int) -> None:
        super().__init__(ansi_color=True)
        self._snapshot, self._tab = snapshot, tab

    def compose(self) -> ComposeResult:
        yield StatePane()

    def on_mount(self) -> None:
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        pane = self.query_one(StatePane)
        pane.show(self._snapshot)
        pane.open_tab(self._tab)
        pane.rows.focus()


@pytest.fixture(params=range(1, len(tabs()) + 1), ids=NAMES)
def tab(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rows, "ascii", True)


def test_everything(snap_compare: Snap, tab: int) -> None:
    assert snap_compare(Pane(states.EVERYTHING, tab), terminal_size=(100, 42))


def test_narrow(snap_compare: Snap, tab: int) -> None:
    assert snap_compare(Pane(states.EVERYTHING, tab), terminal_size=(80, 21))


def test_ascii(snap_compare: Snap, tab: int, in_ascii: None) -> None:
    snapshot = msgspec.structs.replace(states.EVERYTHING, ascii=True)
    assert snap_compare(Pane(snapshot, tab), terminal_size=(80, 30))


def test_without_colours(snap_compare: Snap, tab: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(Pane(states.EVERYTHING, tab), terminal_size=(80, 30))


def test_nothing_there(snap_compare: Snap, tab: int) -> None:
    assert snap_compare(Pane(states.EMPTY, tab), terminal_size=(80, 6))


def test_not_told(snap_compare: Snap, tab: int) -> None:
    assert snap_compare(Pane(states.UNTOLD, tab), terminal_size=(80, 6))


def test_state_unknown(snap_compare: Snap, tab: int) -> None:
    assert snap_compare(Pane(states.UNKNOWN, tab), terminal_size=(80, 6))


def test_loading(snap_compare: Snap) -> None:
    snapshot = msgspec.structs.replace(states.UNKNOWN, loading=True)
    assert snap_compare(Pane(snapshot, 1), terminal_size=(60, 6))


class Opened(App[None]):
    """A value full-screen."""

    CSS = "Screen { background: transparent; }"

    def __init__(self, opens: Opens) -> None:
        super().__init__(ansi_color=True)
        self._opens = opens

    def on_mount(self) -> None:
        self.push_screen(Viewer(self._opens))


TEXT = Opens("message 2, user", "Print 受取人確認 twice.\n\tAnd bind it.\n" + "a long line of words " * 20)
VALUE = Opens("c2", {"order": {"id": "J-1", "pages": [1, 2, {"n": 3}]}, "note": "needle in hay", "needle": None})


@pytest.mark.parametrize("opens", [TEXT, VALUE], ids=["text", "value"])
def test_viewer(snap_compare: Snap, opens: Opens) -> None:
    assert snap_compare(Opened(opens), terminal_size=(80, 16))


@pytest.mark.parametrize("opens", [TEXT, VALUE], ids=["text", "value"])
def test_viewer_finding(snap_compare: Snap, opens: Opens) -> None:
    word = "words" if opens is TEXT else "needle"
    assert snap_compare(Opened(opens), terminal_size=(80, 16), press=["slash", *word, "enter", "n"])


def test_viewer_not_wrapped(snap_compare: Snap) -> None:
    assert snap_compare(Opened(TEXT), terminal_size=(80, 10), press=["w", "greater_than_sign"])
