"""What the screens look like. A picture that changed on purpose: `pytest tests/tui/test_look.py
--snapshot-update`, and look at it before it is kept."""

import threading
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from inspector.errors import UnreadableError
from inspector.formats.memory import OneRun
from inspector.model.source import RunSet
from tests.tui import fakes
from tests.tui.screens import NARROW, WIDE, app_for, press, settle

LARGE = (200, 50)
Compare = Callable[..., bool]


@pytest.fixture
def looks(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Whether the app, after these keys, looks as it did."""

    def compare(
        *keys: str, runs: RunSet | None = None, size: tuple[int, int] = NARROW, path: str = "runs", **options: object
    ) -> bool:
        async def before(pilot: Pilot[object]) -> None:
            await settle(pilot)
            await press(pilot, *keys)

        app = app_for(monkeypatch, runs or fakes.one(), path, **options)
        return snap_compare(app, terminal_size=size, run_before=before)

    return compare


@pytest.mark.parametrize("size", [NARROW, WIDE, LARGE], ids=lambda size: f"{size[0]}x{size[1]}")
def test_run(looks: Compare, size: tuple[int, int]) -> None:
    assert looks(size=size)


def test_run_state_page(looks: Compare) -> None:
    assert looks("tab")


def test_run_wide_with_the_focus_in_the_state(looks: Compare) -> None:
    assert looks("tab", "down", size=WIDE)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=lambda size: f"{size[0]}x{size[1]}")
def test_run_ascii(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("left", size=size, ascii=True)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=lambda size: f"{size[0]}x{size[1]}")
def test_run_without_colour(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert looks(size=size)


def test_run_that_failed(looks: Compare) -> None:
    assert looks(runs=fakes.failed_run())


def test_run_filtered(looks: Compare) -> None:
    assert looks("f", "down", "down", "down", "enter", "escape")


def test_run_searched_and_marked(looks: Compare) -> None:
    assert looks("m", "slash", *"order", "enter")


def test_run_followed_at_its_first_step(looks: Compare) -> None:
    assert looks("home", follow=True)


def test_run_at_a_filter_that_shows_nothing(looks: Compare) -> None:
    assert looks("f", "end", "enter", "up", "up", "up", "up", "up", "up", "enter", "escape")


def test_run_without_steps(looks: Compare) -> None:
    assert looks(runs=OneRun(fakes.refund((), (), status="interrupted", reason=None), "x"), size=WIDE)


def test_run_of_a_hundred_thousand_steps(looks: Compare) -> None:
    assert looks("g", *"2990", "enter", runs=OneRun(fakes.Long(3000), "x"), size=WIDE)


def test_run_while_it_is_read(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    app = app_for(monkeypatch, OneRun(fakes.Long(2400, batch=1200, gate=gate), "x"))

    async def before(pilot: Pilot[object]) -> None:
        while not (app.desk and app.desk.run and app.desk.run.session._rows):  # type: ignore[union-attr]
            await pilot.pause(0.01)
        await pilot.pause(0.05)

    assert snap_compare(app, terminal_size=NARROW, run_before=before)
    gate.set()


@pytest.mark.parametrize("size", [NARROW, WIDE, LARGE], ids=lambda size: f"{size[0]}x{size[1]}")
def test_runs(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("down", runs=fakes.several(), size=size)


def test_runs_filtered(looks: Compare) -> None:
    assert looks("slash", *"4705", runs=fakes.several())


def test_runs_ascii(looks: Compare) -> None:
    assert looks(runs=fakes.several(), ascii=True)


@pytest.mark.parametrize(
    "keys", [["question_mark"], ["ctrl+p"], ["p"], ["f"], ["g"]], ids=["help", "palette", "problems", "filter", "go"]
)
def test_page(looks: Compare, keys: list[str]) -> None:
    assert looks(*keys)


def test_palette_narrowed_down(looks: Compare) -> None:
    assert looks("ctrl+p", *"step")


def test_help_wide(looks: Compare) -> None:
    assert looks("question_mark", size=WIDE)


def test_notice(looks: Compare) -> None:
    assert looks("home", "left_square_bracket")


def _show(snap_compare: Compare, app: object, wait: Callable[[Pilot[object]], Awaitable[None]]) -> bool:
    return snap_compare(app, terminal_size=NARROW, run_before=wait)


def test_error(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str, format: str | None = None) -> RunSet:
        keys = "alpha, beta, gamma, delta, epsilon"
        raise UnreadableError(
            path, f"JSON of no known kind (an object with the keys {keys}); `runinspect formats` lists what can be read"
        )

    app = app_for(monkeypatch, fakes.one(), "var/log/agents/2026-03-01/something.json")
    monkeypatch.setattr("inspector.formats.open_path", fail)
    assert _show(snap_compare, app, settle)


def test_opening(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    app = app_for(monkeypatch, fakes.one(), "var/log/agents/2026-03-01/large.jsonl", gate)

    async def before(pilot: Pilot[object]) -> None:
        await pilot.pause(0.1)

    assert _show(snap_compare, app, before)
    gate.set()
