"""The lists of the screen that are not a run: keys, what can be done, problems, filters, errors."""

from collections.abc import Callable, Iterable, Sequence
from textwrap import wrap
from typing import ClassVar

from textual import events

from inspector.errors import InspectorError
from inspector.model.run import Problem
from inspector.tui import keys
from inspector.tui.bars import Bar
from inspector.tui.columns import KINDS, STATUSES, Columns, Filter
from inspector.tui.keys import Key, Where
from inspector.tui.line import STEP_SIGNS, Line, Opens, Span, plain
from inspector.tui.masking import masked
from inspector.tui.page import Page
from inspector.tui.prompt import Prompt
from inspector.tui.viewer import Viewer

TITLES: dict[Where, str] = {
    "run": "In a run",
    "runs": "In the list of runs",
    "rows": "In every list",
    "state": "In the state pane",
    "viewer": "In an opened value",
    "diff": "In a difference",
    "resume": "In the plan of a resume",
    "live": "While a run is driven here",
    "choice": "At a question",
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
    "Timeline: number, time since the step before, a bar for how long the step took",
    "(pale: the time since the step before, where no duration is recorded), kind,",
    "name, status, summary. * marked, ! damage before, ── where another run goes on.",
)


class Palette(Page):
    """What can be done here, narrowed down by typing; gives the key's action."""

    AUTO_FOCUS = "Input"
    asks = True

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


NOTHING_WRONG = "nothing is wrong with this file, as far as it was read"


class ProblemsPage(Page):
    """All problems with their places; Enter on one shows all of it."""

    def __init__(self, problems: Sequence[Problem], none: str = NOTHING_WRONG) -> None:
        self._problems, self._none = tuple(problems), none
        super().__init__(self._count(), self._lines())

    def renew(self, problems: Sequence[Problem]) -> None:
        """Others are known by now."""
        if self._problems != tuple(problems):
            self._problems = tuple(problems)
            self.query_one("#header", Bar).set(plain(f" {self._count()}", "title"))
            self.rows.show(self._lines())

    def _count(self) -> str:
        number = len(self._problems)
        return f"{number} problem{'' if number == 1 else 's'}" if number else "Problems"

    def _lines(self) -> list[Line]:
        return [_problem(problem) for problem in self._problems] or [plain(f" {self._none}", "dim")]

    def chosen(self, line: Line, index: int) -> None:
        if line.opens:
            self.app.push_screen(Viewer(line.opens))


def _problem(problem: Problem) -> Line:
    return Line(
        (
            Span(f" {problem.severity:<8}", "failed" if problem.severity == "error" else "problem"),
            Span(problem.where, "accent"),
            Span("  " + problem.message),
        ),
        Opens(problem.where, f"{problem.severity}\n\n{problem.where}\n\n{problem.message}"),
    )


def renew_problems(screens: Iterable[object], problems: Sequence[Problem]) -> None:
    """The list of problems, where one of these screens is that, shows these."""
    for screen in screens:
        if isinstance(screen, ProblemsPage):
            screen.renew(problems)


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
            sign = STEP_SIGNS[name].text if place == "status" else name  # type: ignore[index]
            word = name if sign == name else f"{name} ({sign})"
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
        self._error = error
        super().__init__("This cannot be opened")

    def on_resize(self, event: events.Resize) -> None:
        reason, _, advice = self._error.reason.partition("; ")
        told = (
            ("what", reason, "failed"),
            ("where", self._error.place, ""),
            ("to do", advice or "q leaves; `runinspect formats` lists what can be read", ""),
        )
        lines = []
        for name, text, style in told:
            for part in wrap(masked(text), max(event.size.width - 12, 20)):
                lines.append(Line((Span(f" {name:<7}", "dim"), Span(part, style))))
                name = ""
        self.rows.show(lines)

    def chosen(self, line: Line, index: int) -> None:
        pass

    def back(self) -> bool:
        return False
