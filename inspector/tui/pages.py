"""The lists of the screen that are not a run: keys, what can be done, problems, filters, errors."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from inspector.errors import InspectorError
from inspector.model.run import Problem
from inspector.tui import keys
from inspector.tui.bars import Prompt
from inspector.tui.columns import KINDS, STATUSES, Columns, Filter
from inspector.tui.keys import Key, Where
from inspector.tui.line import STEP_SIGNS, Line, Opens, Span, plain
from inspector.tui.page import Page

TITLES: dict[Where, str] = {
    "run": "In a run",
    "runs": "In the list of runs",
    "rows": "In every list",
    "state": "In the state pane",
    "viewer": "In an opened value",
    "app": "Everywhere",
    "prompt": "While typing",
}


def help_page(*places: Where) -> Page:
    """All keys of these places."""
    lines: list[Line] = []
    for place in places:
        found = list(keys.of(place))
        if found:
            lines += [*([plain("")] if lines else []), plain(TITLES[place], "heading")]
            lines += [Line((Span(f"  {keys.shown(key):<18}", "key"), Span(key.help))) for key in found]
    lines += [plain(""), *(plain(text, "dim") for text in NOTES)]
    return Page("Keys", lines)


NOTES = (
    "Timeline: number, time since the step before, a bar for how long the step took (pale: the time since",
    "the step before, where no duration is recorded), kind, name, status, summary. * marked, ! damage before.",
)


class Palette(Page):
    """What can be done here, narrowed down by typing; gives the key's action."""

    AUTO_FOCUS = "Input"

    def __init__(self, choices: Sequence[Key]) -> None:
        self._choices = choices
        super().__init__("What to do", self._lines(""))

    def on_mount(self) -> None:
        super().on_mount()
        self.prompt.ask("palette", "do:")
        self.footer.display = False

    def _lines(self, text: str) -> list[Line]:
        words = text.lower().split()
        return [
            Line((Span(f" {keys.shown(key):<12}", "key"), Span(key.help)), Opens(key.action, None))
            for key in self._choices
            if all(word in key.help.lower() or word == key.id for word in words)
        ]

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self.rows.show(self._lines(event.text), 0)

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self.rows.action_choose()

    def on_prompt_left(self, event: Prompt.Left) -> None:
        self.dismiss(None)

    def key_down(self) -> None:
        self.rows.action_row(1)

    def key_up(self) -> None:
        self.rows.action_row(-1)


def problems_page(problems: Sequence[Problem]) -> Page:
    """All problems with their places; Enter on one gives it."""
    lines = [
        Line(
            (
                Span(f" {problem.severity:<8}", "failed" if problem.severity == "error" else "problem"),
                Span(problem.where, "accent"),
                Span("  " + problem.message),
            ),
            Opens(problem.where, f"{problem.severity}\n{problem.where}\n\n{problem.message}"),
        )
        for problem in problems
    ]
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    return Page(
        f"Problems: {count}", lines or [plain(" nothing is wrong with this file, as far as it was read", "dim")]
    )


class FilterPage(Page):
    """Kinds and statuses to show; each change is applied at once."""

    PLACES: ClassVar[tuple[Where, ...]] = ("app",)

    def __init__(self, filter: Filter, columns: Columns, apply: Callable[[Filter], None]) -> None:
        self._filter, self._apply = filter, apply
        counts = columns.counts()
        self._entries: list[tuple[str, str, int]] = [("all", "", len(columns))]
        for place, names, at in (("kind", KINDS, 0), ("status", STATUSES, 1)):
            for name in names:
                number = sum(count for key, count in counts.items() if key[at] == name)
                if number or name in filter.kinds or name in filter.statuses:
                    self._entries.append((place, name, number))
        super().__init__("Show only steps of: (Enter switches one on or off, Esc goes back)", self._lines())

    def _lines(self) -> list[Line]:
        lines = []
        for place, name, number in self._entries:
            on = not self._filter if place == "all" else name in (*self._filter.kinds, *self._filter.statuses)
            word = name if place != "status" else f"{name} ({STEP_SIGNS[name].text})"  # type: ignore[index]
            lines.append(
                Line(
                    (
                        Span(" [x] " if on else " [ ] ", "accent" if on else ""),
                        Span(f"{place:<8}", "dim"),
                        Span(f"{word or 'every step':<20}"),
                        Span(f"{number:>10,}", "dim"),
                    )
                )
            )
        return lines

    def chosen(self, line: Line, index: int) -> None:
        place, name, _ = self._entries[index]
        kinds, statuses = set(self._filter.kinds), set(self._filter.statuses)
        if place == "all":
            kinds, statuses = set(), set()
        else:
            (kinds if place == "kind" else statuses).symmetric_difference_update({name})  # type: ignore[arg-type]
        self._filter = Filter(
            kinds=tuple(kind for kind in KINDS if kind in kinds),
            statuses=tuple(status for status in STATUSES if status in statuses),
        )
        self._apply(self._filter)
        self.rows.show(self._lines())


class ErrorPage(Page):
    """Nothing can be shown: what, where, and what to do."""

    def __init__(self, error: InspectorError) -> None:
        reason, _, advice = error.reason.partition("; ")
        lines = [
            plain(""),
            Line((Span("  what   ", "dim"), Span(reason, "failed"))),
            Line((Span("  where  ", "dim"), Span(error.place))),
            Line(
                (Span("  to do  ", "dim"), Span(advice or "press q to leave; `runinspect formats` lists what is read"))
            ),
        ]
        super().__init__("This cannot be opened", lines)

    def chosen(self, line: Line, index: int) -> None:
        pass

    def back(self) -> bool:
        return False
