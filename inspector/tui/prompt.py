"""The line that is typed into, in the footer's place."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.message import Message

from inspector.tui.bars import Bar
from inspector.tui.line import plain

if TYPE_CHECKING:
    from textual.widgets import Input

    from inspector.tui.field import Field

LONGEST = 1.0
"""Seconds that keys wait at most for the page to hear what ended the typing."""


class Prompt(Horizontal):
    """The widget. `kind` tells what it was opened for. What it is made of comes when it is opened first: no
    first paint waits for it."""

    DEFAULT_CSS = """
    Prompt { height: 1; display: none; background: transparent; }
    Prompt > Input { width: 1fr; }
    """

    class Entered(Message):
        """Enter: `text` as it was typed."""

        def __init__(self, kind: str, text: str) -> None:
            super().__init__()
            self.kind, self.text = kind, text

    class Typed(Message):
        """A character more or less."""

        def __init__(self, kind: str, text: str) -> None:
            super().__init__()
            self.kind, self.text = kind, text

    class Left(Message):
        """Escape."""

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self.kind = ""
        self._label = Bar()
        self._field: Field | None = None
        self._heard = asyncio.Event()

    def _made(self) -> "Field":
        if self._field is None:
            from inspector.tui.field import Field

            self._field = Field(compact=True, select_on_focus=False)
            self._field.cursor_blink = False
            self.mount(self._label, self._field)
        return self._field

    def ask(self, kind: str, label: str, text: str = "", *, again: bool = False) -> None:
        """Open it; nothing when its page has gone or the app is leaving, as after a key behind `q`. `again`: the text
        is the last one, for Enter alone; what is typed takes its place."""
        if not self.is_attached:
            return
        self.kind, field = kind, self._made()
        self._label.styles.width = len(label) + 2
        self._label.set(plain(f" {label} ", "key"))
        field.value = text
        field.cursor_position = len(text)
        if again:
            field.select_all()
        self.display = True
        self.screen.set_focus(field)

    def close(self) -> None:
        self.display = False

    def on_input_submitted(self, event: "Input.Submitted") -> None:
        event.stop()
        self._tell(self.Entered(self.kind, event.value))

    def on_input_changed(self, event: "Input.Changed") -> None:
        event.stop()
        if self.display:
            self.post_message(self.Typed(self.kind, event.value))

    def key_escape(self) -> None:
        self._tell(self.Left(self.kind))

    def _tell(self, message: Message) -> None:
        page = self.screen
        self.post_message(message)
        # Each is behind the message, in its own queue.
        self.call_later(lambda: page.call_later(self._heard.set))

    async def heard(self) -> None:
        """Wait until the page has heard the key that ends the typing, and was just handed to the field."""
        self._heard.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._heard.wait(), LONGEST)
