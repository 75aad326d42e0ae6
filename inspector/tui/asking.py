"""Questions that are answered before something is done: a line of text, or yes and no."""

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import ClassVar

from inspector.model.text import one_line
from inspector.tui.keys import Where
from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.masking import masked
from inspector.tui.page import Page
from inspector.tui.prompt import Prompt

WIDTH = 76
"""Characters of a row of what is explained."""


def paragraphs(texts: Sequence[str], style: str = "") -> list[Line]:
    """Texts in rows of words."""
    return [plain(f" {row}", style) for text in texts for row in wrap(masked(one_line(text)), WIDTH) or [""]]


class Choice(Page):
    """Some answers, one a row. Dismissed with the row, whose `opens.value` is the answer."""

    PLACES: ClassVar[tuple[Where, ...]] = ("choice", "app")

    def __init__(self, title: str, told: Sequence[str], answers: Sequence[tuple[str, str]], cursor: int = 0) -> None:
        lines = paragraphs(told)
        lines += [plain("")] if told else []
        lines += [Line((Span(f" {text}", "key"),), Opens(text, value)) for value, text in answers]
        first = len(lines) - len(answers)
        super().__init__(title, lines, cursor=first + cursor)

    def chosen(self, line: Line, index: int) -> None:
        if line.opens is not None:
            self.dismiss(line)


class GiveUp(Choice):
    """What to do about a run that does not stop; there as long as it is so."""


def answer_of(line: Line | None) -> str | None:
    """The answer that a Choice was dismissed with."""
    return str(line.opens.value) if line is not None and line.opens is not None else None


class TextPage(Page):
    """One line of text, with what there is to say about it above. `check` gives what is wrong with a text, or
    None; `done` takes one that is right."""

    AUTO_FOCUS = "Input"
    asks = True

    def __init__(
        self,
        title: str,
        told: Sequence[Line | str],
        label: str,
        done: Callable[[str], None],
        *,
        text: str = "",
        check: Callable[[str], str | None] = lambda text: None,
    ) -> None:
        self._told = [line for part in told for line in ([part] if isinstance(part, Line) else paragraphs([part]))]
        super().__init__(title, self._told)
        self._label, self._text, self._done, self._check = label, text, done, check

    def on_mount(self) -> None:
        super().on_mount()
        self.prompt.ask("text", self._label, self._text)
        self.footer.display = False

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self.rows.show(self._told)

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        wrong = self._check(event.text)
        if wrong is not None:
            self.rows.show([*self._told, plain(""), *paragraphs([wrong], "failed")])
            return
        self.dismiss(None)
        # A screen that this one opens would wait for an answer in its name, and it is gone by then.
        self.app.call_later(self._done, event.text)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        self.dismiss(None)
