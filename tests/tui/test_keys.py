"""The table of keys: that it is sound, that every place has what it names, and that the README knows it."""

import re
from collections import Counter
from pathlib import Path

import pytest
from textual.binding import Binding

from inspector.tui import keys
from inspector.tui.app import Inspector
from inspector.tui.bars import hints
from inspector.tui.desk import Desk
from inspector.tui.diffscreen import DiffPage
from inspector.tui.keys import KEYS
from inspector.tui.line import text_of
from inspector.tui.pages import TITLES, Palette, help_page
from inspector.tui.resumescreen import ResumePage
from inspector.tui.rows import Rows
from inspector.tui.runscreen import RunScreen
from inspector.tui.runsscreen import RunsPage
from inspector.tui.viewer import Viewer

PLACES = {
    "app": (Inspector,),
    "run": (RunScreen,),
    "state": (RunScreen,),
    "runs": (RunsPage,),
    "rows": (Rows,),
    "viewer": (Viewer,),
    "diff": (DiffPage,),
    "resume": (ResumePage,),
    "live": (RunScreen,),
    "choice": (Rows,),
}
TOGETHER = (
    ("run", "state", "rows", "app"),
    ("runs", "rows", "app"),
    ("viewer", "rows", "app"),
    ("diff", "rows", "app"),
    ("resume", "rows", "app"),
    ("live", "run", "state", "app"),
    ("choice", "app"),
)


def names(key: keys.Key) -> list[str]:
    return key.keys.split(",")


@pytest.mark.parametrize("key", keys.KEYS, ids=lambda key: key.id)
def test_every_key_has_an_action_where_it_works(key: keys.Key) -> None:
    name = "action_" + key.action.partition("(")[0]
    assert any(hasattr(place, name) for place in PLACES[key.where])
    assert key.help


@pytest.mark.parametrize("places", TOGETHER, ids=lambda places: places[0])
def test_no_key_means_two_things_in_one_place(places: tuple[keys.Where, ...]) -> None:
    used = Counter(name for key in keys.of(*places) for name in names(key))
    assert [name for name, count in used.items() if count > 1] == []


def test_ids_are_unique_and_every_place_has_a_title() -> None:
    assert len({key.id for key in keys.KEYS}) == len(keys.KEYS)
    assert {key.where for key in keys.KEYS} <= set(TITLES)


def test_bindings_are_run_as_keys_come() -> None:
    for where in PLACES:
        for binding in keys.bindings(where):  # type: ignore[arg-type]
            assert isinstance(binding, Binding)
            assert binding.priority
            assert not binding.show


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_footer_keeps_to_its_width_and_always_tells_of_help(width: int) -> None:
    for places in (("run", "app"), ("state", "run", "app"), ("runs", "app"), ("app",)):
        shown = text_of(hints(places, width))  # type: ignore[arg-type]
        assert len(shown) <= width
        assert shown.endswith("? all keys")


def test_the_readme_names_keys_that_there_are() -> None:
    text = Path("README.md").read_text()
    screen = text.partition("## The screen")[2].partition("```")[0]
    named = set(re.findall(r"`(\S{1,3})`", screen))
    known = {shown for key in keys.KEYS for shown in keys.shown(key).split()} | {"←", "→", "↑", "↓"}
    assert named, "the README tells of keys"
    assert named <= known


def test_the_desk_has_what_the_app_asks_of_it() -> None:
    assert all(hasattr(Desk, name) for name in ("help", "palette", "back", "take", "key_pressed"))


def test_no_row_of_the_help_or_of_the_palette_is_cut_at_80_cells() -> None:
    everywhere = help_page("live", "run", "rows", "state", "viewer", "diff", "resume", "runs", "prompt", "app")
    rows = [text_of(line) for page in (everywhere, Palette(KEYS)) for line in page.rows.lines]
    assert len(rows) > 2 * len(KEYS)
    assert [row for row in rows if len(row) > 79] == []
