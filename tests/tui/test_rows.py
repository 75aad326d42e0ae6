"""The list of lines: what is drawn, what is not, and where the cursor goes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual import on
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from inspector.tui.line import Line, Lines, Opens, Span, plain
from inspector.tui.rows import Rows


class Numbered:
    """So many lines, made when asked for; `made` counts them."""

    def __init__(self, length: int, text: str = "line {}") -> None:
        self.length, self.text = length, text
        self.made = 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Line:
        self.made += 1
        return plain(self.text.format(index), opens=Opens(f"{index}", index))


class Shown(App[None]):
    """A list and what it told."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(ansi_color=True)
        self.rows = Rows(lines)
        self.told: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.rows

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        self.told.append(event.index)

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        self.told.append(event.line.opens)


@asynccontextmanager
async def shown(lines: Lines, size: tuple[int, int] = (20, 10)) -> AsyncIterator[tuple[Rows, Shown, Pilot[None]]]:
    app = Shown(lines)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app.rows, app, pilot


def painted(rows: Rows) -> list[str]:
    return [rows.render_line(y).text.rstrip() for y in range(rows.size.height)]


async def test_a_million_lines_make_only_what_is_in_sight() -> None:
    lines = Numbered(1_000_000)
    async with shown(lines) as (rows, _, pilot):
        for key in ("end", "pageup", "home", "G", "up"):
            await pilot.press(key)
        assert rows.cursor == 999_998
        assert lines.made <= 6 * 11
        assert painted(rows)[-2] == ">line 999998"


async def test_keys_move_the_cursor_and_tell() -> None:
    async with shown(Numbered(100)) as (rows, app, pilot):
        await pilot.press("down", "j", "up", "k", "k", "pagedown", "space", "enter")
        assert rows.cursor == 18
        assert app.told == [1, 2, 1, 0, 9, 18, Opens("18", 18)]


async def test_a_move_draws_two_lines_and_a_scroll_one_more() -> None:
    async with shown(Numbered(100)) as (rows, _, pilot):
        for _ in range(9):
            built = rows.built
            await pilot.press("down")
            assert rows.built - built == 2
        built = rows.built
        await pilot.press("down")
        assert rows.built - built == 3 - 1, "the row that was left and the new one"


async def test_other_lines_that_look_the_same_are_not_drawn_again() -> None:
    async with shown([plain(f"line {number}") for number in range(8)]) as (rows, _, pilot):
        built = rows.built
        rows.show([plain(f"line {number}" if number != 5 else "other") for number in range(8)])
        await pilot.pause()
        assert rows.built - built == 1
        rows.show([plain("one")])
        await pilot.pause()
        assert painted(rows) == [">one", *[""] * 9]
        rows.show([])
        await pilot.press("down", "enter", "end", "pageup")
        assert painted(rows) == [""] * 10


async def test_lines_that_came_and_went() -> None:
    lines = Numbered(3)
    async with shown(lines) as (rows, _, pilot):
        built = rows.built
        lines.length = 30
        rows.grown()
        await pilot.pause()
        assert rows.built - built == 7
        await pilot.press("end")
        lines.length = 5
        rows.grown()
        await pilot.pause()
        assert rows.cursor == 4
        assert painted(rows)[:6] == [" line 0", " line 1", " line 2", " line 3", ">line 4", ""]


async def test_what_is_further_right_is_reached() -> None:
    text = "0123456789" * 6
    async with shown([plain(text), plain("漢字" * 30)]) as (rows, _, pilot):
        assert painted(rows)[0] == ">" + text[:18] + "…"
        await pilot.press("greater_than_sign")
        assert painted(rows)[0] == "><" + text[17:34] + "…"
        await pilot.press("greater_than_sign", "greater_than_sign")
        assert painted(rows)[0] == "><" + text[49:60]
        await pilot.press("less_than_sign", "less_than_sign", "less_than_sign", "less_than_sign")
        assert rows.shift == 0


async def test_the_cursor_stays_in_sight_whatever_the_size() -> None:
    async with shown(Numbered(100), (20, 10)) as (rows, _, pilot):
        await pilot.press("end")
        for size in ((20, 5), (40, 30), (10, 1), (20, 12)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert rows.cursor in rows.in_sight


async def test_a_row_without_the_focus_is_marked_and_not_inverted() -> None:
    async with shown([plain("a"), plain("b")]) as (rows, app, pilot):
        assert "reverse" in str(rows.render_line(0)._segments)
        app.set_focus(None)
        await pilot.pause()
        assert "reverse" not in str(rows.render_line(0)._segments)
        assert painted(rows)[0] == ">a"


async def test_a_click_moves_and_a_second_one_chooses() -> None:
    async with shown(Numbered(5)) as (_, app, pilot):
        await pilot.click(Rows, offset=(2, 3))
        await pilot.click(Rows, offset=(2, 3))
        await pilot.click(Rows, offset=(2, 8))
        assert app.told == [3, Opens("3", 3)]


async def test_nothing_of_a_line_is_markup() -> None:
    async with shown([Line((Span("[/red][@click=app.quit]q[/]"),))], (40, 3)) as (rows, _, _):
        assert painted(rows)[0] == ">[/red][@click=app.quit]q[/]"


async def test_what_is_left_of_a_list_that_became_shorter_fills_the_screen() -> None:
    lines = Numbered(30)
    async with shown(lines) as (rows, _, pilot):
        rows.move(29)
        await pilot.pause()
        assert rows.scroll_offset.y == 20
        lines.length = 22
        rows.grown()
        await pilot.pause()
        assert (rows.scroll_offset.y, rows.cursor, painted(rows)[-1]) == (12, 21, ">line 21")
        rows.show(Numbered(4))
        await pilot.pause()
        assert (rows.scroll_offset.y, rows.cursor, painted(rows)[0]) == (0, 3, " line 0")
