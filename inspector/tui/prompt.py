"""The line that is typed into, in the footer's place."""

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from inspector.model.text import one_line
from inspector.tui.bars import Bar
from inspector.tui.line import plain

ACTIONS = {
    key: binding.action for binding in Input.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
}


class Field(Input):
    """What is typed or pasted into. What could act on the terminal becomes an escape. Its keys act in the
    order in which they come: Textual would insert all characters of a packet first and then do what a
    Backspace between them asks for."""

    def validate_value(self, value: str) -> str:
        return one_line(value)

    async def on_key(self, event: events.Key) -> None:
        if event.key in ACTIONS:
            event.stop()
            event.prevent_default()
            await self.run_action(ACTIONS[event.key])


class Prompt(Horizontal):
    """The widget. `kind` tells what it was opened for."""

    DEFAULT_CSS = """
    Prompt { height: 1; display: none; background: transparent; }
    Prompt Bar { width: auto; }
    Prompt Input { width: 1fr; height: 1; border: none; padding: 0; background: transparent; }
    Prompt Input:focus { border: none; }
    """

    @dataclass
    class Entered(Message):
        """Enter: `text` as it was typed."""

        kind: str
        text: str

    @dataclass
    class Typed(Message):
        """A character more or less."""

        kind: str
        text: str

    @dataclass
    class Left(Message):
        """Escape."""

        kind: str

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self.kind = ""
        self._label = Bar()
        self._input = Field(compact=True, select_on_focus=False)
        self._input.cursor_blink = False

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._input

    def ask(self, kind: str, label: str, text: str = "") -> None:
        """Open it."""
        self.kind = kind
        self._label.styles.width = len(label) + 2
        self._label.set(plain(f" {label} ", "key"))
        self._input.value = text
        self._input.cursor_position = len(text)
        self.display = True
        self.screen.set_focus(self._input)

    def close(self) -> None:
        self.display = False

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Entered(self.kind, event.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Typed(self.kind, event.value))

    def key_escape(self) -> None:
        self.post_message(self.Left(self.kind))
