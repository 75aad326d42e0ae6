"""The screen of a difference: against the step before, a mark, another run, and today's code as it is now."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from inspector.diff import Side, Weighed, compare
from inspector.model.run import Definition
from inspector.tui import difflines
from inspector.tui.app import Inspector
from inspector.tui.diffscreen import DiffPage
from inspector.tui.line import text_of
from inspector.tui.means import Means
from inspector.tui.reports import Compared
from tests.tui import fakes
from tests.tui.screens import NARROW, Pasted, press, row_texts, settle, shown, texts, until

RUN = "examples/refund-suspended.jsonl"
AGENT = "examples/refund_agent.py:agent"
CHANGED = """
import sys
sys.path.append({examples!r})
from refund_agent import *
@tool(needs_approval=True)
def refund(order: str, amount: str) -> str:
    "Pay it back."
    return "x"
agent = Agent("refunds", model=SCRIPT, tools=[lookup_order, check_policy, refund{more}], hooks=[Audit()])
"""


def changed(folder: Path, more: str = "") -> str:
    file = folder / "changed_app.py"
    text = CHANGED.format(examples=os.path.abspath("examples"), more=more)
    file.write_text(text)
    return f"{file}:agent"


@asynccontextmanager
async def opened(
    path: str, *, app: str | None = None, size: tuple[int, int] = NARROW, read_only: bool = False
) -> AsyncIterator[tuple[Inspector, Pilot[object]]]:
    inspector = Inspector(path, now=lambda: fakes.NOW, means=Means(app=app, read_only=read_only))
    async with inspector.run_test(size=size) as pilot:
        await settle(pilot)
        yield inspector, pilot


def page(app: Inspector) -> DiffPage:
    assert isinstance(app.screen, DiffPage)
    return app.screen


async def test_the_step_before_and_on_from_step_to_step() -> None:
    async with opened(RUN) as (app, pilot):
        await press(pilot, "d")
        await until(pilot, lambda: page(app).compared)
        assert "step 3 → step 4" in texts(app)[0]
        assert any("status" in row and "waiting" in row for row in row_texts(page(app).rows))
        await press(pilot, "left")
        await until(pilot, lambda: page(app).compared and page(app).compared.step == 3)  # type: ignore[union-attr]
        assert "step 2 → step 3" in texts(app)[0]
        await press(pilot, "left", "left", "left")
        await until(pilot, lambda: "no step before" in texts(app)[-1])


async def test_where_there_is_no_step_before_nothing_is_being_compared() -> None:
    async with opened(RUN) as (app, pilot):
        await press(pilot, "home", "d")
        await until(pilot, lambda: "no step before" in texts(app)[-1])
        assert not any("comparing" in row for row in row_texts(page(app).rows))


async def test_a_marked_step(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, fakes.one()) as (app, pilot, _):
        await press(pilot, "d", "m")
        assert "m marks one" in texts(app)[-1]
        await press(pilot, "q", "left", "m", "right", "d")
        await until(pilot, lambda: page(app).compared)
        assert "step 8 → step 9" in texts(app)[0]


async def test_another_run_and_what_is_wrong_with_its_path() -> None:
    async with opened(RUN) as (app, pilot):
        await press(pilot, "d", "o", Pasted("examples/refund-failed.jsonl@2"), "enter")
        await until(pilot, lambda: page(app).compared and page(app).what == "other")
        assert "refund-failed step 2" in texts(app)[0]
        await press(pilot, "o", "ctrl+u", Pasted("nowhere.json"), "enter")
        await until(pilot, lambda: "nowhere.json" in texts(app)[-1])


async def test_code_is_imported_after_a_yes_and_not_before(tmp_path: Path) -> None:
    target = changed(tmp_path)
    async with opened(RUN) as (app, pilot):
        await press(pilot, "d", "c", Pasted(target), "enter")
        assert "Import" in texts(app)[0]
        await press(pilot, "down", "enter")
        assert app.desk is not None
        assert app.desk.run is not None
        assert app.desk.run.code is None, "no is no"
        await press(pilot, "c", Pasted(target), "enter", "enter")
        await until(pilot, lambda: page(app).compared and page(app).compared.what == "code")  # type: ignore[union-attr]
        rows = row_texts(page(app).rows)
        assert any(row.startswith(" x arguments_invalid  refund") for row in rows)
        assert any(row.startswith(" x ~ refund  schema.properties.amount.type") for row in rows)
        assert any("- send_email" in row for row in rows)
        assert any("nothing that is pending needs it" in row for row in rows)


async def test_the_verdict_stands_below_the_header_and_is_made_again_when_the_code_changes(tmp_path: Path) -> None:
    target = changed(tmp_path)
    async with opened(RUN, app=target, size=(200, 50)) as (app, pilot):
        await until(pilot, lambda: "refused: arguments_invalid refund" in texts(app)[1])
        Path(target.rpartition(":")[0]).write_text(
            f"import sys\nsys.path.append({os.path.abspath('examples')!r})\nfrom refund_agent import agent\n"
        )
        await until(pilot, lambda: "can be resumed" in texts(app)[1])
        await until(pilot, lambda: "tools: same" in texts(app)[1])


async def test_read_only_imports_nothing() -> None:
    async with opened(RUN, app=AGENT, read_only=True) as (app, pilot):
        assert app.desk is not None
        assert app.desk.run is not None
        assert app.desk.run.code is None
        await press(pilot, "d", "c")
        assert "read-only" in texts(app)[-1]


@pytest.mark.parametrize("size", [NARROW, (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("what", ["before", "code"])
def test_look(
    what: str, size: tuple[int, int], snap_compare: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    changed(tmp_path, more=", send_email")
    app = Inspector(RUN, means=Means(app="changed_app:agent" if what == "code" else None), now=lambda: fakes.NOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        run = app.desk.run if app.desk else None
        assert run is not None
        if what == "code":
            await until(pilot, lambda: run.compared)
        await press(pilot, "d")
        await until(pilot, lambda: page(app).compared and "importing" not in texts(app)[-1])
        await settle(pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)


def test_what_cannot_be_compared_is_not_called_the_same() -> None:
    diff = msgspec.structs.replace(
        compare(Side(definition=Definition(), state=None), Side(definition=Definition(), state=None)),
        unknown=("tools", "graph", "hooks"),
    )
    compared = Compared("code", "step 2", "app.py:agent", 2, diff, (), graphs=False)
    assert difflines.summary(compared) == "nothing of it can be compared"
    part = msgspec.structs.replace(compared, diff=msgspec.structs.replace(diff, unknown=("tools",)))
    assert difflines.summary(part) == "the same, as far as it can be compared"
    whole = msgspec.structs.replace(compared, diff=msgspec.structs.replace(diff, unknown=("graph",)))
    assert difflines.summary(whole) == "the same"


def test_of_many_differences_only_those_in_sight_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    many = tuple(
        Weighed(section="State", sign="+", subject="", path=f"pending.c{at}", weight=None) for at in range(500)
    )
    alike = compare(Side(definition=Definition(), state=None), Side(definition=Definition(), state=None))
    built: list[str] = []
    item = difflines._item
    monkeypatch.setattr(difflines, "_item", lambda one, *rest: built.append(one.path) or item(one, *rest))
    found = difflines.lines(Compared("before", "step 0", "step 1", 1, alike, many), None, 80)
    assert len(found) > 500
    assert not built
    assert "pending.c499" in text_of(found[4 + 499])
    assert built == ["pending.c499"]


def test_of_long_sides_both_are_seen_on_a_narrow_screen() -> None:
    token = {"fruit": "pear", "washed": True, "note": "no stones"}
    assert difflines._sides([token], [token, token], "queue", 38) == "[1 entry] → [2 entries]"
    assert difflines._sides([], [token], "queue", 38) == "[] → [1 entry]"
    assert difflines._sides(3, 4, "fire_count", 38) == "3 → 4"
    told = difflines._sides("a" * 40, "b" * 40, "text", 38)
    assert "…" in told
    assert "b" in told
    assert len(told) <= 38
    other = difflines._sides([token, 1], [1, token], "queue", 38)
    assert other.startswith('[{"fruit')
    assert " → [1, {" in other, "as many entries: then what they are"
